import { Cause } from '../../telephony/causes.ts';
import { splitBranches } from '../branches.ts';
import { isTrue } from '../calculation.ts';
import type { Position } from '../position.ts';
import { readTimes } from '../times.ts';
import type { Application, ConfiguredCall, Step, StepResult } from './application.ts';
import { branchesOf, listsOf, placeOf } from './texts.ts';

/** Applications that go on elsewhere. */

/** A place as written: `[[context,]extension,]priority-or-label`, what is missing taken from where the step stands. */
function destination(args: readonly string[], from: Position): { context: string; extension: string; target: string } {
  const [target = '', extension = from.extension, context = from.context] = args.map((each) => each.trim()).reverse();
  return { context: context || from.context, extension: extension || from.extension, target };
}

/** The position of a jump; undefined for an unknown label or invalid priority. `+1` and `-1` are relative. */
export function resolve(args: readonly string[], { position, dialplan }: Step): Position | undefined {
  const { context, extension, target } = destination(args, position);
  const relative = /^[+-]\d+$/.test(target) ? position.priority : 0;
  const priority = /^[+-]?\d+$/.test(target)
    ? relative + Number(target)
    : dialplan.resolveLabel(context, extension, target);
  return priority !== undefined && priority >= 1 && priority <= 1_000_000
    ? { context, extension, priority }
    : undefined;
}

/** Goes on at a place as written; where there is none the call is hung up, and that is logged. */
function goTo(args: readonly string[], step: Step): StepResult {
  const position = resolve(args, step);
  if (position) return { type: 'goto', position };
  step.warn(`there is no location ${args.join(',')}`);
  return { type: 'hangup', cause: Cause.normalClearing };
}

/** Says what is wrong with a place as written, while loading. */
export function checkDestination(args: readonly string[], { position, exists }: ConfiguredCall): string | undefined {
  const { context, extension, target } = destination(args, position);
  if (args.length === 0 || args.length > 3 || target === '') return 'a priority or label is needed';
  const relative = /^[+-]\d+$/.test(target);
  const place = relative ? String(position.priority + Number(target)) : target;
  return exists(context, extension, place) ? undefined : `there is no location ${context},${extension},${place}`;
}

export const goto: Application = {
  name: 'Goto',
  usage: 'Goto([[context,]extension,]priority or label): continues there',
  check: (call) => checkDestination(call.args, call),
  run: (step) => goTo(step.args, step),
};

/** One of the places of `condition?place:place`; the next step where there is none. */
const goToEither = (place: string, step: Step, reading: Pick<Step, 'expand' | 'expandArguments'>): StepResult => {
  const parts = place === '' ? [] : placeOf(place, reading);
  return parts.every((part) => part === '') ? undefined : goTo(parts, step);
};

export const gotoIf: Application = {
  name: 'GotoIf',
  usage: 'GotoIf(condition?[position][:[position]]): jumps if the condition is neither empty nor 0',
  check: ({ data }) => (splitBranches(data) ? undefined : 'condition?place:place is needed'),
  run: (step) => {
    const choice = branchesOf(step);
    if (!choice) step.warn(`"${step.data}" is not condition?place:place`);
    if (!choice) return undefined;
    const { condition, yes, no, reading } = choice;
    return goToEither(isTrue(reading.expand(condition).trim()) ? yes : no, step, reading);
  },
};

export const gotoIfTime: Application = {
  name: 'GotoIfTime',
  usage: 'GotoIfTime(times,weekdays,days,months[,zone]?[location][:[location]]): continues there at these times',
  check({ data }) {
    // `9:00` has a colon of its own; the places are behind the question mark.
    const choice = splitBranches(data);
    if (!choice) return 'times,weekdays,days,months?place:place is needed';
    const times = readTimes(choice.condition.split(',').map((part) => part.split('&')));
    return typeof times === 'string' ? times : undefined;
  },
  run: (step) => {
    const choice = branchesOf(step);
    const times = choice ? readTimes(listsOf(choice.condition, choice.reading)) : 'a question mark is missing';
    const isNow = typeof times === 'string' ? undefined : times(step.clock.now());
    if (isNow === undefined) step.warn(typeof times === 'string' ? times : 'there is no such time zone');
    return choice && goToEither(isNow ? choice.yes : choice.no, step, choice.reading);
  },
};
