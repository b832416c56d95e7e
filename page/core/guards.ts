import type { AnyStateMachine } from 'xstate';
import type { SnapshotImage } from '../../src/actors/step.ts';
import { applicationMachine } from '../../src/machines/application.ts';
import { bridgeMachine } from '../../src/machines/bridge.ts';
import { bridgeVideoMachine } from '../../src/machines/bridge-video.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { channelAudioMachine } from '../../src/machines/channel-audio.ts';
import { consultationMachine } from '../../src/machines/consultation.ts';
import { contactMachine } from '../../src/machines/contact.ts';
import { dialMachine } from '../../src/machines/dial.ts';
import { externalConnectionMachine } from '../../src/machines/external-connection.ts';
import { featureKeysMachine } from '../../src/machines/feature-keys.ts';
import { liveRecordingMachine } from '../../src/machines/live-recording.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import { registrationMachine } from '../../src/machines/registration.ts';
import { transferMachine } from '../../src/machines/transfer.ts';
import { eventName } from '../../src/models/event-name.ts';

/** What decides the next transitions of a chart: its own guards, and its deadlines. */

/** The charts of calls, contacts, registrations and applications that have guards: the others have nothing to decide. */
const machines: ReadonlyMap<string, AnyStateMachine> = new Map<string, AnyStateMachine>(
  Object.entries({
    ...{ bridge: bridgeMachine, channel: channelMachine, consultation: consultationMachine, dial: dialMachine },
    ...{ bridgeVideo: bridgeVideoMachine, channelAudio: channelAudioMachine, featureKeys: featureKeysMachine },
    ...{ liveRecording: liveRecordingMachine, ownership: ownershipMachine, playback: playbackMachine },
    ...{ transfer: transferMachine, contact: contactMachine, externalConnection: externalConnectionMachine },
    ...{ application: applicationMachine, registration: registrationMachine },
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

type Guard = (args: { context: unknown; event: object }, params: object) => boolean;

/**
 * What a guard says now. `event`: that depends on the event that comes, beyond its type. `unknown`: a mask or a bound has
 * taken away what it reads.
 */
export type GuardNow = boolean | 'event' | 'unknown';

/** `and` and `or` of what the inner ones say: one that decides is enough, whatever the others say. */
function combine(held: readonly GuardNow[], decides: boolean): GuardNow {
  if (held.includes(decides)) return decides;
  return held.find((each) => typeof each === 'string') ?? !decides;
}

/** What a guard of a chart says of an object now. */
export function guardNow(chart: string, guard: string, event: string, { context }: SnapshotImage): GuardNow {
  const combined = /^(not|and|or)\((.*)\)$/.exec(guard);
  if (combined) {
    const [, how, inner = ''] = combined;
    // Those inside are names: none of the charts combines further.
    const held = inner.split(', ').map((name) => guardNow(chart, name, event, { context } as SnapshotImage));
    const [first = 'unknown'] = held;
    if (how === 'not') return typeof first === 'string' ? first : !first;
    return combine(held, how === 'or');
  }
  const run = (machines.get(chart)?.implementations.guards as Record<string, Guard> | undefined)?.[guard];
  if (typeof run !== 'function') return 'unknown';
  try {
    // Parameters of guards are made of the event.
    return run({ context, event: eventOf(event) }, eventOf(event));
  } catch (error) {
    return error instanceof NeedsEvent ? 'event' : 'unknown';
  }
}

/** When the chart is sent an event such as `after dialTimeout`, in ms since the epoch; undefined for others. */
export function dueAt(event: string, { context }: SnapshotImage): number | undefined {
  const { deadlines = {} } = (context ?? {}) as {
    deadlines?: Record<string, { at: number; event: { type: string } }>;
  };
  return Object.values(deadlines).find((deadline) => eventName(deadline.event.type) === event)?.at;
}
