import type { Clock } from '../lib/clock.ts';
import { type FunctionRead, isFunction, readFunction } from './functions.ts';
import type { DialplanChannel } from './host.ts';
import type { Position } from './position.ts';

type BuiltIn = (channel: DialplanChannel, clock: Clock, position: Position | undefined) => string;

/** Built-in names: their values cannot be overridden. */
const builtIns: ReadonlyMap<string, BuiltIn> = new Map<string, BuiltIn>([
  ['CHANNEL', (channel) => channel.channel().name],
  ['UNIQUEID', (channel) => channel.id],
  ['HANGUPCAUSE', (channel) => String(channel.hangupCause())],
  ['EPOCH', (_channel, clock) => String(Math.floor(clock.now() / 1000))],
  ['CONTEXT', (channel, _clock, position) => position?.context ?? channel.channel().dialplan.context],
  ['EXTEN', (channel, _clock, position) => position?.extension ?? channel.channel().dialplan.exten],
  ['PRIORITY', (channel, _clock, position) => String(position?.priority ?? channel.channel().dialplan.priority ?? '')],
]);

/** How variables are read. */
type Reading = {
  /** The dialplan's position, if the channel's own is not up to date. */
  position?: Position | undefined;
  /** A variable that the channel does not have is not looked for among the global ones. */
  ownOnly?: boolean | undefined;
};

/**
 * The value of a name on a channel: a built-in variable, else the channel's, else a global one. `LANGUAGE` is the
 * channel's language unless set. Undefined for an unknown name. Never throws.
 */
export function readVariable(
  channel: DialplanChannel,
  name: string,
  clock: Clock,
  { position, ownOnly = false }: Reading = {},
): string | undefined {
  const builtIn = builtIns.get(name);
  if (builtIn) return builtIn(channel, clock, position);
  const set = channel.variable(name) ?? (ownOnly ? undefined : channel.system.globalVariable(name));
  return set ?? (name === 'LANGUAGE' ? channel.channel().language : undefined);
}

/** A variable or, when the name ends with `)`, a function. Undefined: a variable that is not set. */
export function readVariableOrFunction(
  channel: DialplanChannel,
  name: string,
  clock: Clock,
  reading: Reading = {},
): FunctionRead | undefined {
  if (isFunction(name))
    return readFunction(channel, name, {
      value: (of) => {
        const read = isFunction(of) ? undefined : readVariable(channel, of, clock, reading);
        return read ?? '';
      },
      now: () => clock.now(),
    });
  const value = readVariable(channel, name, clock, reading);
  return value === undefined ? undefined : { ok: true, value };
}
