import { onFirstUse } from '../lib/on-first-use.ts';
import { lifeOf } from '../machines/channel.ts';
import { type ChannelAudioEvent, type ChannelAudioSnapshot, channelAudioMachine } from '../machines/channel-audio.ts';
import type { Leg } from '../telephony/driver.ts';
import { type ChannelEntry, deliver, snapshotOf } from './channel-entry.ts';
import type { ChannelDump } from './dumps.ts';
import { Registry } from './registry.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

/** Owns what applications do to the sound of channels; an actor exists only where something was done. */
export interface ChannelAudio {
  /** Commands and reports for one channel; the actor is made by its first command. */
  tell(channel: ChannelEntry, event: ChannelAudioEvent): void;
  /** The channel left its application, or is gone: where nothing was ever done, nothing happens. */
  left(channelId: string): void;
  gone(channelId: string): void;
  /** The audio chart of a channel; undefined without one. */
  dump(channelId: string): AudioDump | undefined;
  /** Takes it up again, and does it to the leg's new media. */
  restore(channel: ChannelEntry, dump: AudioDump): void;
  /** For tests and debugging. */
  snapshot(channelId: string): ChannelAudioSnapshot | undefined;
  readonly size: number;
}

type AudioDump = NonNullable<ChannelDump['audio']>;
type Entry = { actor: Actor<typeof channelAudioMachine>; channel: ChannelEntry };

/** Takes over a hold or its end if the channel only reports it (HOLD_INTERCEPT). @returns whether it does. */
function intercepts(channel: ChannelEntry, hold: boolean): boolean {
  const snapshot = snapshotOf(channel);
  if (lifeOf(snapshot) !== 'up' || !snapshot.context.interceptsHold) return false;
  deliver(channel, { type: hold ? 'leg.held' : 'leg.unheld' });
  return true;
}

export function createChannelAudio(runtime: Runtime): ChannelAudio {
  const registry = new Registry<Entry>('channelNotFound');
  const channelOf = (id: string): ChannelEntry | undefined => registry.find(id)?.channel;
  const legOf = (id: string): Leg | undefined => channelOf(id)?.leg;
  const hold = (id: string, holds: boolean): void => {
    const channel = channelOf(id);
    if (!channel || intercepts(channel, holds)) return;
    if (holds) channel.leg.hold();
    else channel.leg.unhold();
  };

  /** The class that a channel hears where one is asked for: its own, if it has one. */
  const musicOf = (id: string, asked: string): string => {
    const channel = channelOf(id);
    return (channel && snapshotOf(channel).context.musicClass) || asked;
  };

  /** Sets what the far side hears while no playback and no tone runs. */
  const hear = (id: string, { silence, musicClass }: { silence: boolean; musicClass?: string }): void => {
    const media = legOf(id)?.media;
    media?.silence(silence);
    media?.music(musicClass === undefined ? undefined : musicOf(id, musicClass));
  };

  /** The same instead of a tone. */
  const hearNow = (id: string, background: { silence: boolean; musicClass?: string }): void => {
    legOf(id)?.media.indicate(undefined);
    hear(id, background);
  };

  const machine = onFirstUse(() =>
    channelAudioMachine.provide({
      actions: {
        muteMedia: ({ context }, muted) => legOf(context.id)?.media.mute(muted),
        holdLeg: ({ context }) => hold(context.id, true),
        unholdLeg: ({ context }) => hold(context.id, false),
        startMusic: ({ context }, { musicClass }) => hearNow(context.id, { silence: false, musicClass }),
        startSilence: ({ context }) => hearNow(context.id, { silence: true }),
        stopBackground: ({ context }) => hear(context.id, { silence: false }),
      },
    }),
  );

  const make = (channel: ChannelEntry, beginning: Beginning<{ id: string }>): Entry => {
    const { id } = channel;
    const actor = spawn(machine(), { id, ...beginning, runtime, onEnded: () => registry.remove(id) });
    const entry = { actor, channel };
    registry.add(id, entry);
    return entry;
  };

  return {
    tell: (channel, event) =>
      (registry.find(channel.id) ?? make(channel, { input: { id: channel.id } })).actor.send(event),
    left: (id) => registry.find(id)?.actor.send({ type: 'application.left' }),
    gone: (id) => registry.find(id)?.actor.send({ type: 'channel.gone' }),
    dump: (id) => registry.find(id)?.actor.dump() as AudioDump | undefined,
    restore(channel, dump) {
      const { leg } = channel;
      const { value } = make(channel, { from: dump }).actor.getSnapshot();
      if (typeof value === 'string' || !value.there) return;
      const { mute, background } = value.there;
      const both = mute === 'mutedBoth';
      if (mute !== 'unmuted') leg.media.mute({ in: both || mute === 'mutedIn', out: both || mute === 'mutedOut' });
      if (background === 'music') leg.media.music(musicOf(channel.id, dump.context.musicClass));
      if (background === 'silence') leg.media.silence(true);
    },
    snapshot: (id) => registry.find(id)?.actor.getSnapshot(),
    get size() {
      return registry.size;
    },
  };
}
