import {
  type ActorOptions,
  type ActorRefFrom,
  type AnyStateMachine,
  createActor,
  type EmittedFrom,
  type InputFrom,
  type SnapshotFrom,
} from 'xstate';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { fastLogic } from './table-logic.ts';

/** What every actor runs on. `inspect` sees each transition; it costs about a third of the speed, so only for debugging. */
export type Runtime = {
  clock: Clock;
  log: Logger;
  inspect?: NonNullable<ActorOptions<AnyStateMachine>['inspect']>;
};

export type SpawnOptions<M extends AnyStateMachine> = {
  /** The object's public id, shown in logs. */
  id: string;
  input: InputFrom<M>;
  runtime: Runtime;
  /**
   * Hears every fact in order, after the commit: `snapshot` is the state that the whole transition led to, which for a
   * fact of an intermediate step is later than the fact. What it throws is logged and harms nobody.
   */
  onEmitted?: (fact: EmittedFrom<M>, snapshot: SnapshotFrom<M>) => void;
  /** Runs exactly once, after the last fact: the chart reached a final state, or crashed with `error`. Release here. */
  onEnded: (error?: unknown) => void;
  /** Gets the actor before it starts, so that facts and effects of its first state already find it. */
  onCreated?: (actor: ActorRefFrom<M>) => void;
};

/**
 * The only call to `createActor`: one root actor per call-control object, so that a crash stays inside it.
 * The actor is started when this returns. It ends by events that lead to a final state, never by `stop()`, because
 * then neither exit actions nor `onEnded` would run.
 */
export function spawn<M extends AnyStateMachine>(machine: M, options: SpawnOptions<M>): ActorRefFrom<M> {
  const { id, input, runtime, onEmitted, onEnded, onCreated } = options;
  const { clock, log, inspect } = runtime;
  const settings: object = inspect ? { id, input, clock, inspect } : { id, input, clock };
  // An inspector wants to see each microstep, which only xstate's own way has.
  const logic = inspect ? machine : fastLogic(machine);
  const actor = createActor(logic, settings as ActorOptions<M>);
  const ref = actor as unknown as ActorRefFrom<M>;

  if (onEmitted)
    actor.on('*', (fact) => {
      try {
        onEmitted(fact as EmittedFrom<M>, actor.getSnapshot() as SnapshotFrom<M>);
      } catch (error) {
        log.error({ id, fact: (fact as { type: string }).type, error }, 'publishing a fact failed');
      }
    });

  const end = (error?: unknown): void => {
    try {
      onEnded(error);
    } catch (failure) {
      log.error({ id, error: failure }, 'releasing an ended actor failed');
    }
  };
  actor.subscribe({
    complete: end,
    error: (error) => {
      log.error({ id, machine: machine.id, error }, 'an actor crashed');
      end(error);
    },
  });

  onCreated?.(ref);
  actor.start();
  return ref;
}
