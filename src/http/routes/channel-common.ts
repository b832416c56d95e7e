import type { AriErrorCode } from '../../models/errors.ts';
import { pathParam } from '../operation.ts';

/** Common parts of operations on one channel. */

export const channelId = pathParam('Id of the channel.', 'channel');

/** Refusals of operations that need an application in control. */
export const controlErrors = ['channelNotFound', 'channelNotInStasis'] as const satisfies AriErrorCode[];
/** Refusals of operations that also depend on the call's state. */
export const commandErrors = [...controlErrors, 'channelInvalidState'] as const satisfies AriErrorCode[];
