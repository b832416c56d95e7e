import { Cause } from '../../telephony/causes.ts';
import { splitBranches } from '../branches.ts';
import { isTrue } from '../calculation.ts';
import { behind, type Position } from '../position.ts';
import { enterSubroutine, leaveSubroutine } from '../subroutines.ts';
import type { Application, Step, StepResult } from './application.ts';
import { checkDestination, resolve } from './jumps.ts';
import { asItIs, branchesOf, callOf } from './texts.ts';

/** Subroutines: places that are gone to, and come back from, with arguments and variables of their own. */

const refused: StepResult = { type: 'hangup', cause: Cause.normalClearing };

const call = (text: string, step: Step, reading: Pick<Step, 'expand' | 'expandArguments'> = step): StepResult => {
  const { place, args } = callOf(text, reading);
  return visit({ position: resolve(place, step), args, place: place.join(',') }, behind(step.position), step);
};

/** Goes through a subroutine and on at `back`; where there is no such place, or one too many, the call is hung up. */
export function visit(
  { position, args, place }: { position: Position | undefined; args: readonly string[]; place: string },
  back: Position,
  step: Step,
): StepResult {
  const { subroutines } = step.channel;
  if (!position) step.warn(`there is no location ${place}`);
  else if (subroutines.length >= step.dialplan.subroutineDepth) {
    step.dialplan.hit('limits.subroutines');
    step.warn(`more than ${step.dialplan.subroutineDepth} subroutines are inside one another`);
  } else {
    enterSubroutine(step.channel, back, args);
    return { type: 'goto', position };
  }
  return refused;
}

export const gosub: Application = {
  name: 'Gosub',
  usage: 'Gosub([[context,]extension,]priority[(argument…)]): runs a subroutine until Return; ARG1… are the arguments',
  check: (configured) => checkDestination(callOf(configured.data, asItIs).place, configured),
  run: (step) => call(step.text, step),
};

export const gosubIf: Application = {
  name: 'GosubIf',
  usage: 'GosubIf(condition?[location[(argument…)]][:[location[(argument…)]]]): the same, by a condition',
  check: ({ data }) => (splitBranches(data) ? undefined : 'condition?place:place is needed'),
  run: (step) => {
    const choice = branchesOf(step);
    if (!choice) step.warn(`"${step.data}" is not condition?place:place`);
    const chosen = choice && (isTrue(choice.reading.expand(choice.condition).trim()) ? choice.yes : choice.no);
    return chosen ? call(chosen, step, choice.reading) : undefined;
  },
};

export const returnApplication: Application = {
  name: 'Return',
  usage: 'Return([value]): continues after the Gosub; GOSUB_RETVAL is the value',
  run: ({ channel, data, warn }) => {
    const position = leaveSubroutine(channel);
    if (!position) {
      warn('there is no subroutine to return from');
      return refused;
    }
    channel.note('GOSUB_RETVAL', data);
    return { type: 'goto', position };
  },
};

export const stackPop: Application = {
  name: 'StackPop',
  usage: 'StackPop(): forgets the innermost subroutine without going back',
  run: ({ channel, warn }) => {
    if (!leaveSubroutine(channel)) warn('there is no subroutine to forget');
    return undefined;
  },
};
