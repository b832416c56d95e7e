import type { AnyStateMachine } from 'xstate';
import type { SnapshotImage } from '../../src/actors/step.ts';
import { bridgeMachine } from '../../src/machines/bridge.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { consultationMachine } from '../../src/machines/consultation.ts';
import { dialMachine } from '../../src/machines/dial.ts';
import { liveRecordingMachine } from '../../src/machines/live-recording.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import { transferMachine } from '../../src/machines/transfer.ts';
import { eventName } from '../../src/models/event-name.ts';

/** What decides the next transitions of a chart: its own guards, and its deadlines. */

const machines: ReadonlyMap<string, AnyStateMachine> = new Map<string, AnyStateMachine>(
  Object.entries({
    ...{ bridge: bridgeMachine, channel: channelMachine, consultation: consultationMachine, dial: dialMachine },
    ...{ liveRecording: liveRecordingMachine, ownership: ownershipMachine, playback: playbackMachine },
    transfer: transferMachine,
  }),
);

/** Thrown by a guard that reads more of its event than the type. */
class NeedsEvent extends Error {}

const needed = (): never => {
  throw new NeedsEvent();
};

/** An event of which only the type is known. */
const eventOf = (type: string): object =>
  new Proxy({ type }, { get: (_, name) => (name === 'type' ? type : needed()), has: needed, ownKeys: needed });

type Guard = (args: { context: unknown; event: object }, params: undefined) => boolean;

/** Whether a guard holds now; undefined where that depends on the event, or the chart's guards are not known here. */
export function guardNow(chart: string, guard: string, event: string, { context }: SnapshotImage): boolean | undefined {
  const combined = /^(not|and|or)\((.*)\)$/.exec(guard);
  if (combined) {
    const [, how, inner = ''] = combined;
    // Those inside are names: none of the charts combines further.
    const held = inner.split(', ').map((name) => guardNow(chart, name, event, { context } as SnapshotImage));
    if (how === 'not') return held[0] === undefined ? undefined : !held[0];
    const decides = how === 'or';
    if (held.includes(decides)) return decides;
    return held.includes(undefined) ? undefined : !decides;
  }
  const run = (machines.get(chart)?.implementations.guards as Record<string, Guard> | undefined)?.[guard];
  if (typeof run !== 'function') return undefined;
  try {
    return run({ context, event: eventOf(event) }, undefined);
  } catch {
    // It needs its event, or what a mask or a bound has taken away.
    return undefined;
  }
}

/** When the chart is sent an event such as `after dialTimeout`, in ms since the epoch; undefined for others. */
export function dueAt(event: string, { context }: SnapshotImage): number | undefined {
  const { deadlines = {} } = context as { deadlines?: Record<string, { at: number; event: { type: string } }> };
  return Object.values(deadlines).find((deadline) => eventName(deadline.event.type) === event)?.at;
}
