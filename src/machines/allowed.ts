import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from 'xstate';
import type { Ignores } from './ignores.ts';

/**
 * Lists what a chart refuses now, and the states that would allow it. This file knows no operation: every answer comes
 * from a `refuse…` function beside a chart, called for other states.
 */

/** A refusal of a chart, asked for one of its states. */
type Refusal<S, O, E> = (snapshot: S, operation: O) => E | undefined;

/** The answer for one operation. */
export type Verdict<E> =
  /** `withoutEffect`: it may be asked for and does nothing, for this reason. */
  | { allowed: true; withoutEffect?: string }
  /** `allowedIn`: the states of the chart that would allow it, everything else being as it is; final ones left out. */
  | { allowed: false; error: E; allowedIn: string[] };

/** States in which a chart can rest: neither transient nor final. */
const isResting = ({ type, always }: AnyStateNode): boolean =>
  type !== 'final' && !(always ?? []).some(({ guard }) => guard === undefined);

/**
 * Makes the test whether a flat chart allows an operation in its present state. The states that would allow it are
 * computed once for all operations.
 */
export function verdicts<M extends AnyStateMachine, S extends AnyMachineSnapshot, O, E extends string>(
  machine: M,
  snapshot: S,
  { refuse, ignores }: { refuse: Refusal<S, O, E>; ignores: Ignores<M> },
): (operation: O) => Verdict<E> {
  const { context } = snapshot;
  let others: readonly (readonly [string, S])[] | undefined;
  const restingSnapshots = () =>
    Object.values(machine.states as Record<string, AnyStateNode>)
      .filter(isResting)
      .map(({ key }) => [key, machine.resolveState({ value: key, context } as never) as unknown as S] as const);
  return (operation) => {
    const error = refuse(snapshot, operation);
    if (error === undefined) return { allowed: true, ...ignoredBecause(ignores, snapshot.value as string, operation) };
    others ??= restingSnapshots();
    const allowedIn = others.filter(([, other]) => refuse(other, operation) === undefined).map(([state]) => state);
    return { allowed: false, error, allowedIn };
  };
}

function ignoredBecause(ignores: Ignores<AnyStateMachine>, state: string, operation: unknown) {
  const event = typeof operation === 'string' ? operation : (operation as { type?: string }).type;
  const ignored = ignores.find(
    ({ events, in: states }) =>
      (events as readonly unknown[]).includes(event) &&
      (states === undefined || (states as readonly string[]).includes(state)),
  );
  return ignored ? { withoutEffect: ignored.why } : {};
}
