import { isTrue } from '../calculation.ts';
import type { Application, Step, StepResult } from './application.ts';

/** Loops of one extension: While and EndWhile belong together as brackets do. */

/** The priority of the other end of a loop, looked for in one direction from a step; undefined when there is none. */
function otherEnd({ position, dialplan }: Step, direction: 1 | -1, inside: number): number | undefined {
  const [deeper, shallower] = direction === 1 ? ['While', 'EndWhile'] : ['EndWhile', 'While'];
  let depth = inside;
  for (let priority = position.priority + direction; priority >= 1; priority += direction) {
    const name = dialplan.applicationAt({ ...position, priority });
    if (name === undefined) return undefined;
    if (name === deeper) depth++;
    if (name === shallower && depth-- === 0) return priority;
  }
  return undefined;
}

function goTo(step: Step, priority: number | undefined): StepResult {
  if (priority === undefined) step.warn('the other end of this loop is missing');
  return priority === undefined ? undefined : { type: 'goto', position: { ...step.position, priority } };
}

const behindEnd = (step: Step): StepResult => {
  const end = otherEnd(step, 1, 0);
  return goTo(step, end === undefined ? undefined : end + 1);
};

export const whileApplication: Application = {
  name: 'While',
  usage: 'While(condition): repeats the steps up to EndWhile while the condition is neither empty nor 0',
  run: (step) => (isTrue(step.data.trim()) ? undefined : behindEnd(step)),
};

export const endWhile: Application = {
  name: 'EndWhile',
  usage: 'EndWhile(): goes back to its While',
  run: (step) => goTo(step, otherEnd(step, -1, 0)),
};

export const exitWhile: Application = {
  name: 'ExitWhile',
  usage: 'ExitWhile(): continues after the EndWhile of its loop',
  run: behindEnd,
};

export const continueWhile: Application = {
  name: 'ContinueWhile',
  usage: 'ContinueWhile(): goes back to the While of the loop it is in',
  run: (step) => goTo(step, otherEnd(step, -1, 0)),
};
