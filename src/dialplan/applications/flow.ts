import { Cause } from '../../telephony/causes.ts';
import { parseSeconds } from '../arguments.ts';
import { isTrue } from '../calculation.ts';
import { isFunction, writeFunction } from '../functions.ts';
import type { Position } from '../host.ts';
import { type Application, type ConfiguredCall, type Step, sleep, type Verdict } from './application.ts';

export const noOp: Application = { name: 'NoOp', usage: 'NoOp(text): nothing', run: () => undefined };

export const wait: Application = {
  name: 'Wait',
  usage: 'Wait(seconds): waits; decimals are allowed',
  check: ({ args }) =>
    parseSeconds(args[0] ?? '') === undefined ? `"${args[0] ?? ''}" is no number of seconds` : undefined,
  run: (step) => {
    const ms = parseSeconds(step.args[0] ?? '');
    if (ms === undefined) step.warn(`"${step.args[0] ?? ''}" is no number of seconds, not waited`);
    return ms ? sleep(step, ms).then(() => undefined) : undefined;
  },
};

/** Name and value of a Set; undefined without `=` or name. */
function assignment(data: string): { name: string; value: string } | undefined {
  const equals = data.indexOf('=');
  const name = data.slice(0, equals).trim();
  return equals > 0 && name !== '' ? { name, value: data.slice(equals + 1) } : undefined;
}

export const set: Application = {
  name: 'Set',
  usage: 'Set(NAME=value), Set(FUNCTION(…)=value): sets a variable or writes a function',
  check: ({ data }) => (assignment(data) ? undefined : `"${data}" is not NAME=value`),
  run: ({ data, channel, warn }) => {
    const pair = assignment(data);
    if (!pair) warn(`"${data}" is not NAME=value`);
    else if (!isFunction(pair.name)) {
      if (!channel.setVariable(pair.name, pair.value)) warn(`${pair.name} is not set: there are too many variables`);
    } else {
      const written = writeFunction(channel, pair.name, pair.value);
      if (!written.ok) warn(written.message);
    }
    return undefined;
  },
};

export const stasis: Application = {
  name: 'Stasis',
  usage: 'Stasis(application[,argument…]): hands the channel to an application',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no application is named'),
  run: ({ args: [name = '', ...args], position, warn }) => {
    const app = name.trim();
    if (app !== '') return { type: 'stasis', app, args, next: { ...position, priority: position.priority + 1 } };
    warn('no application is named');
    return { type: 'hangup', cause: Cause.normalClearing };
  },
};

/** A place as written: `[[context,]extension,]priority-or-label`, what is missing taken from where the step stands. */
function destination(args: readonly string[], from: Position): { context: string; extension: string; target: string } {
  const [target = '', extension = from.extension, context = from.context] = args.map((each) => each.trim()).reverse();
  return { context: context || from.context, extension: extension || from.extension, target };
}

/** Where a place leads; undefined when its label does not exist or its priority is none. `+1` and `-1` are relative. */
function resolve(args: readonly string[], { position, resolveLabel }: Step): Position | undefined {
  const { context, extension, target } = destination(args, position);
  const relative = /^[+-]\d+$/.test(target) ? position.priority : 0;
  const priority = /^[+-]?\d+$/.test(target) ? relative + Number(target) : resolveLabel(context, extension, target);
  return priority !== undefined && priority >= 1 && priority <= 1_000_000
    ? { context, extension, priority }
    : undefined;
}

function goTo(args: readonly string[], step: Step): Verdict {
  const position = resolve(args, step);
  if (position) return { type: 'goto', position };
  step.warn(`there is no place ${args.join(',')}`);
  return { type: 'hangup', cause: Cause.normalClearing };
}

function checkDestination(args: readonly string[], { position, exists }: ConfiguredCall): string | undefined {
  const { context, extension, target } = destination(args, position);
  if (args.length === 0 || args.length > 3 || target === '') return 'a priority or label is needed';
  const relative = /^[+-]\d+$/.test(target);
  const place = relative ? String(position.priority + Number(target)) : target;
  return exists(context, extension, place) ? undefined : `there is no place ${context},${extension},${place}`;
}

export const goto: Application = {
  name: 'Goto',
  usage: 'Goto([[context,]extension,]priority or label): goes on elsewhere',
  check: (call) => checkDestination(call.args, call),
  run: (step) => goTo(step.args, step),
};

/** The two places of `condition?place:place`, as written; '' where one is missing. */
function branches(data: string): { condition: string; yes: string; no: string } | undefined {
  const question = data.indexOf('?');
  if (question < 0) return undefined;
  const [yes = '', ...no] = data.slice(question + 1).split(':');
  return { condition: data.slice(0, question).trim(), yes: yes.trim(), no: no.join(':').trim() };
}

export const gotoIf: Application = {
  name: 'GotoIf',
  usage: 'GotoIf(condition?[place][:[place]]): goes on elsewhere when the condition is neither empty nor 0',
  check: ({ data }) => (branches(data) ? undefined : 'condition?place:place is needed'),
  run: (step) => {
    const choice = branches(step.data);
    if (!choice) step.warn(`"${step.data}" is not condition?place:place`);
    const place = choice && (isTrue(choice.condition) ? choice.yes : choice.no);
    return place ? goTo(place.split(','), step) : undefined;
  },
};

export const userEvent: Application = {
  name: 'UserEvent',
  usage: 'UserEvent(name[,key: value…]): sends a ChannelUserevent',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'the event has no name'),
  run: ({ args: [name = '', ...pairs], channel, warn }) => {
    if (name.trim() === '') {
      warn('the event has no name');
      return undefined;
    }
    const fields: [string, string][] = [];
    for (const pair of pairs) {
      const colon = pair.indexOf(':');
      if (colon > 0) fields.push([pair.slice(0, colon).trim(), pair.slice(colon + 1).trim()]);
      else warn(`"${pair}" is not key: value, left out`);
    }
    channel.userEvent(name.trim(), Object.fromEntries(fields));
    return undefined;
  },
};
