import { parseSeconds } from './arguments.ts';
import type { DialplanChannel } from './host.ts';

/** How long the dialplan waits for keys, in s: for the first one, and for each that follows. By the variable that keeps it. */
const standardTimeouts = { 'TIMEOUT(response)': 10, 'TIMEOUT(digit)': 5 } as const;

type TimeoutVariable = keyof typeof standardTimeouts;

/** The variable that keeps a timeout (`digit`, `response`, in any case); undefined for one that there is not. */
export function timeoutVariable(name: string): TimeoutVariable | undefined {
  const variable = `TIMEOUT(${name.trim().toLowerCase()})`;
  return Object.hasOwn(standardTimeouts, variable) ? (variable as TimeoutVariable) : undefined;
}

/** A timeout of a channel, in ms. */
export const timeoutMs = (channel: DialplanChannel, variable: TimeoutVariable): number =>
  parseSeconds(channel.variable(variable) ?? '') ?? standardTimeouts[variable] * 1000;
