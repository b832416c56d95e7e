import type { AriErrorCode } from '../../models/errors.ts';
import { bodyParam, queryParam } from '../operation.ts';

/** Common parts of variable operations, on channels and on bridges. */

/** Refusals of a `variables` object. */
export const entryErrors = [
  'variablesNotObject',
  'variableValueMissing',
  'variableReportEventsInvalid',
  'variableValueInvalid',
] as const satisfies AriErrorCode[];

export const readParams = {
  variable: queryParam('string', 'Name, or function with arguments.', { required: true, names: 'variable' }),
} as const;

export const writeParams = {
  ...readParams,
  value: queryParam('string', 'Its new value; removed when left out.', { hidden: true }),
  report_events: queryParam('boolean', 'Show it in every event from now on.', { default: false }),
} as const;

export const readAllParams = {
  variables: queryParam('list', 'Names.', { required: true, names: 'variable' }),
} as const;

export const writeAllParams = {
  variables: bodyParam('Names, each with a value or an object with value and report_events.', {
    required: true,
    names: 'variables',
  }),
} as const;
