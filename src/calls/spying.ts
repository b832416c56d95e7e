import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import type { Snoops } from '../actors/snoops.ts';
import type { Ongoing, SpyRequest } from '../dialplan/calls.ts';
import { isEnding } from '../machines/channel.ts';
import { plainEntry } from './plain-bridges.ts';

/** Channels that listen to others for the dialplan: each with a snoop channel, in a bridge of the two. */

type SpyingOptions = {
  channels: Channels;
  bridges: Bridges;
  snoops: Pick<Snoops, 'open' | 'targetOf'>;
  /** @throws AriError where there are as many bridges as may be. */
  openBridge(): BridgeEntry;
  /** Runs what a limit may refuse, which is then logged. */
  attempt<T>(entry: ChannelEntry, what: () => T): T | undefined;
};

/** `in` is the audio from a channel's party, `out` the audio to it. */
const sidesHeard = { party: 'in', both: 'both', none: 'none' } as const;
const sidesTold = { nobody: 'none', party: 'out', both: 'both' } as const;

/** Makes what lets a channel listen to another, until that ends. Undefined where there is no such one. */
export function createSpying({ channels, bridges, snoops, openBridge, attempt }: SpyingOptions) {
  const mayBeHeard = (entry: ChannelEntry): boolean =>
    !isEnding(snapshotOf(entry)) && snoops.targetOf(entry.id) === undefined;

  const targetFor = (listener: ChannelEntry, name: string): ChannelEntry | undefined => {
    if (name === '') return undefined;
    const isTarget = (each: ChannelEntry): boolean => each !== listener && mayBeHeard(each);
    const exact = channels.findByIdOrName(name);
    if (exact) return isTarget(exact) ? exact : undefined;
    return channels.all().find((each) => each.name.startsWith(name) && isTarget(each));
  };

  /** The restored bridge of a channel that listened before a restart, with its snoop channel. */
  const restored = (listener: ChannelEntry, target: ChannelEntry): readonly [BridgeEntry, ChannelEntry] | undefined => {
    const bridge = bridges.bridgeOf(listener.id);
    if (!bridge) return undefined;
    const { members } = bridges.snapshot(bridge).context;
    const snoop = members.find(({ channelId }) => snoops.targetOf(channelId) === target.id);
    return snoop && [bridge, channels.get(snoop.channelId)];
  };

  const join = (
    listener: ChannelEntry,
    target: ChannelEntry,
    { hears, talksTo }: SpyRequest,
  ): readonly [BridgeEntry, ChannelEntry] | undefined => {
    const bridge = attempt(listener, openBridge);
    if (!bridge) return undefined;
    const snoop = attempt(listener, () => snoops.open(target, { spy: sidesHeard[hears], whisper: sidesTold[talksTo] }));
    if (!snoop) bridges.destroy(bridge);
    else for (const member of [listener, snoop]) bridges.enter(bridge, member, plainEntry);
    return snoop && [bridge, snoop];
  };

  return (listener: ChannelEntry, request: SpyRequest): Ongoing<void> | undefined => {
    const target = targetFor(listener, request.channel);
    if (!target) return undefined;
    const joined = restored(listener, target) ?? join(listener, target, request);
    if (!joined) return { done: Promise.resolve(), stop: () => {} };
    const [bridge, snoop] = joined;
    const part = (): void => {
      bridges.destroy(bridge);
      channels.tell(snoop, { type: 'finish', cause: 16 });
    };
    return { done: alone(bridge, bridges).then(part), stop: part };
  };
}

/** Resolves when fewer than two channels are in a bridge. */
export function alone({ id, actor }: BridgeEntry, bridges: Pick<Bridges, 'facts'>): Promise<void> {
  const isAlone = (): boolean => actor.getSnapshot().context.members.length < 2;
  if (isAlone()) return Promise.resolve();
  return new Promise((resolve) => {
    const unwatch = hearBridge(bridges, id, () => {
      if (!isAlone()) return;
      unwatch();
      resolve();
    });
  });
}
