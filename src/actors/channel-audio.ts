import { type ChannelAudioEvent, type ChannelAudioSnapshot, channelAudioMachine } from '../machines/channel-audio.ts';
import type { Leg } from '../telephony/driver.ts';
import { Registry } from './registry.ts';
import { type Actor, type Runtime, spawn } from './spawn.ts';

/** Owns what applications do to the sound of channels; an actor exists only where something was done. */
export interface ChannelAudio {
  /** Commands and reports for one channel; the actor is made by its first command. */
  tell(channelId: string, leg: Leg, event: ChannelAudioEvent): void;
  /** The channel left its application, or is gone: where nothing was ever done, nothing happens. */
  left(channelId: string): void;
  gone(channelId: string): void;
  /** For tests and debugging. */
  snapshot(channelId: string): ChannelAudioSnapshot | undefined;
  readonly size: number;
}

type Entry = { actor: Actor<typeof channelAudioMachine>; leg: Leg };

export function createChannelAudio(runtime: Runtime): ChannelAudio {
  const registry = new Registry<Entry>('channelNotFound');
  const legOf = (id: string): Leg | undefined => registry.find(id)?.leg;

  const machine = channelAudioMachine.provide({
    actions: {
      muteMedia: ({ context }, muted) => legOf(context.id)?.media.mute(muted),
      holdLeg: ({ context }) => legOf(context.id)?.hold(),
      unholdLeg: ({ context }) => legOf(context.id)?.unhold(),
      // Music is kept as a state; until there are music sources the far side hears silence, so that RTP goes on.
      startMusic: ({ context }) => legOf(context.id)?.media.indicate('silence'),
      startSilence: ({ context }) => legOf(context.id)?.media.indicate('silence'),
      stopBackground: ({ context }) => legOf(context.id)?.media.indicate(undefined),
    },
  });

  const make = (id: string, leg: Leg): Entry => {
    const actor = spawn(machine, { id, input: { id }, runtime, onEnded: () => registry.remove(id) });
    const entry = { actor, leg };
    registry.add(id, entry);
    return entry;
  };

  return {
    tell: (id, leg, event) => (registry.find(id) ?? make(id, leg)).actor.send(event),
    left: (id) => registry.find(id)?.actor.send({ type: 'application.left' }),
    gone: (id) => registry.find(id)?.actor.send({ type: 'channel.gone' }),
    snapshot: (id) => registry.find(id)?.actor.getSnapshot(),
    get size() {
      return registry.size;
    },
  };
}
