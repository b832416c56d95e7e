import type { DialplanChannel, Subroutine } from './host.ts';
import type { Position } from './position.ts';

/** Subroutines of the dialplan: where they came from, and the variables that are theirs. */

/** Sets a variable (`undefined`: removes it) for the duration of a subroutine; false at the limit of variables. */
export function setWithin(
  channel: DialplanChannel,
  { outside }: Subroutine,
  name: string,
  value: string | undefined,
): boolean {
  if (!Object.hasOwn(outside, name)) outside[name] = channel.variable(name) ?? null;
  return channel.setVariable(name, value);
}

/** Enters a subroutine with its arguments, `ARG1`… and their number `ARGC`. */
export function enterSubroutine(channel: DialplanChannel, back: Position, args: readonly string[]): void {
  const frame: Subroutine = { back, outside: {} };
  const before = Number(channel.variable('ARGC')) || 0;
  for (let n = 1; n <= Math.max(args.length, Math.min(before, mostArguments)); n++)
    if (args[n - 1] !== undefined || channel.variable(`ARG${n}`) !== undefined)
      setWithin(channel, frame, `ARG${n}`, args[n - 1]);
  setWithin(channel, frame, 'ARGC', String(args.length));
  channel.subroutines.push(frame);
}

/** A number of arguments that a client may have set is no reason to count that far. */
const mostArguments = 1_000;

/** Leaves the innermost subroutine and puts back what its variables were outside; undefined when there is none. */
export function leaveSubroutine(channel: DialplanChannel): Position | undefined {
  const frame = channel.subroutines.pop();
  if (!frame) return undefined;
  for (const [name, value] of Object.entries(frame.outside))
    if (channel.variable(name) !== (value ?? undefined)) channel.setVariable(name, value ?? undefined);
  return frame.back;
}
