import type { AriErrorCode } from '../../models/errors.ts';
import { pathParam } from '../operation.ts';

/** What all operations on one channel have in common. */

export const channelId = pathParam('Id of the channel.', 'channel');

/** Refusals of what only the application in control may do. */
export const controlErrors = ['channelNotFound', 'channelNotInStasis'] as const satisfies AriErrorCode[];
/** Refusals of what also depends on the state of the call. */
export const commandErrors = [...controlErrors, 'channelInvalidState'] as const satisfies AriErrorCode[];
