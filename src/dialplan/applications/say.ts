import type { Application, Step, StepResult } from './application.ts';
import { played } from './media.ts';

/** Says a media URI; on a channel that is not up it is early media. */
async function say(step: Step, uri: string | undefined, what: string): Promise<StepResult> {
  if (uri === undefined) step.warn(`"${step.data}" cannot be said: ${what} is expected`);
  else if ((await played(step, [uri])) === 'failed' && !step.signal.aborted) step.warn(`${uri} cannot be said`);
  return undefined;
}

export const sayDigits: Application = {
  name: 'SayDigits',
  usage: 'SayDigits(digits): says digit by digit',
  run: (step) => {
    const digits = (step.args[0] ?? '').trim();
    return say(step, /^[\d*#-]{1,80}$/.test(digits) ? `digits:${digits}` : undefined, 'digits');
  },
};

export const sayNumber: Application = {
  name: 'SayNumber',
  usage: 'SayNumber(number): says a number',
  run: (step) => {
    const number = (step.args[0] ?? '').trim();
    return say(step, /^[+-]?\d{1,9}$/.test(number) ? `number:${number}` : undefined, 'a number of up to nine digits');
  },
};

export const sayAlpha: Application = {
  name: 'SayAlpha',
  usage: 'SayAlpha(text): spells a text',
  run: (step) => {
    const text = step.data.trim();
    return say(
      step,
      text !== '' && text.length <= 80 ? `characters:${text}` : undefined,
      'a text of up to 80 characters',
    );
  },
};
