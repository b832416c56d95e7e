import { Cause } from '../../telephony/causes.ts';
import { parseSeconds } from '../arguments.ts';
import { isFunction, writeFunction } from '../functions.ts';
import { type Application, sleep } from './application.ts';

export const noOp: Application = { name: 'NoOp', usage: 'NoOp(text): nothing', run: () => undefined };

/** The levels of Verbose and Log in front of a text, as they are left out of it. */
const said = (args: readonly string[]): string => {
  const [first = '', ...rest] = args;
  return rest.length > 0 && /^\s*(?:\d{1,2}|[A-Za-z]{1,10})\s*$/.test(first) ? rest.join(',') : args.join(',');
};

export const verbose: Application = {
  name: 'Verbose',
  usage: 'Verbose([level,]text): writes a line to the log',
  run: ({ args, inform }) => {
    inform(said(args));
    return undefined;
  },
};

export const logApplication: Application = {
  name: 'Log',
  usage: 'Log(level,text): writes a line to the log, one of the levels ERROR and WARNING as a warning',
  run: ({ args, inform, warn }) => {
    const isWarning = /^\s*(?:ERROR|WARNING)\s*$/i.test(args[0] ?? '');
    (isWarning ? warn : inform)(said(args));
    return undefined;
  },
};

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
  check: ({ args }) => (args[0]?.trim() ? undefined : 'the name of the application is missing'),
  run: ({ args: [name = '', ...args], position, warn }) => {
    const app = name.trim();
    if (app !== '') return { type: 'stasis', app, args, next: { ...position, priority: position.priority + 1 } };
    warn('the name of the application is missing');
    return { type: 'hangup', cause: Cause.normalClearing };
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
