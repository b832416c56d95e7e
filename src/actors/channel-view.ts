import { isFunction, readFunction } from '../dialplan/functions.ts';
import { type ChannelSnapshot, channelModel } from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import type { Channel } from '../models/channel.ts';
import { type ChannelAccess, createChannelDialplan } from './channel-dialplan.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { PlayTarget } from './playbacks.ts';

/** A channel's model as clients, the dialplan and playbacks see it. */
export interface ChannelView {
  /** Its state now. */
  snapshot(entry: ChannelEntry): ChannelSnapshot;
  /** The channel as clients see it now, shown variables included. */
  model(entry: ChannelEntry): Channel;
  /** The channel as the dialplan's functions read and write it. */
  dialplanChannel(entry: ChannelEntry): ReturnType<typeof createChannelDialplan>;
  /** It as the target of playbacks. */
  playTarget(entry: ChannelEntry): PlayTarget;
  /** Other variables and functions are shown in every event from now on; models made before are not to be used again. */
  show(channelvars: readonly string[]): void;
}

type ChannelViewOptions = Pick<
  ChannelAccess,
  'tell' | 'playbacks' | 'system' | 'variablesLimit' | 'hit' | 'callsOf'
> & {
  /** Wall-clock time, in ms since the epoch. */
  now(): number;
  /** Variables and functions shown in every event of a channel. */
  channelvars: readonly string[];
};

/** Makes the view of all channels. */
export function createChannelView({ channelvars: first, ...neighbours }: ChannelViewOptions): ChannelView {
  let channelvars = first;
  /** Values of functions can change without a step of the channel. */
  let functions = channelvars.filter(isFunction);

  const snapshot = (entry: ChannelEntry): ChannelSnapshot => entry.actor.getSnapshot();

  const shownVariables = (entry: ChannelEntry, current: ChannelSnapshot): Record<string, string> | undefined => {
    const { variables, reported } = current.context;
    if (channelvars.length === 0 && reported.length === 0) return undefined;
    const shown = (name: string) => (isFunction(name) ? read(entry, name) : (ownVariable(variables, name) ?? ''));
    return Object.fromEntries([...channelvars, ...reported].map((name) => [name, shown(name)]));
  };

  const read = (entry: ChannelEntry, name: string): string => {
    // The function may ask for the channel, whose shown variables are just being made: give it the bare one.
    const bare: ChannelAccess = { ...access, model: (other) => channelModel(snapshot(other)) };
    const host = createChannelDialplan(bare, entry);
    const result = readFunction(host, name, { value: (of) => host.variable(of) ?? '', now: () => neighbours.now() });
    return result.ok ? result.value : '';
  };

  const isCurrent = (entry: ChannelEntry, { channelvars: shown }: Channel): boolean =>
    functions.every((name) => shown?.[name] === read(entry, name));

  const model = (entry: ChannelEntry): Channel => {
    const current = snapshot(entry);
    if (entry.seen?.snapshot !== current || !isCurrent(entry, entry.seen.model))
      entry.seen = { snapshot: current, model: channelModel(current, shownVariables(entry, current)) };
    return entry.seen.model;
  };

  const playTarget = (entry: ChannelEntry): PlayTarget => ({
    kind: 'channel',
    id: entry.id,
    language: snapshot(entry).context.language,
    topics: entry.topics,
    media: entry.leg.media,
  });

  const access: ChannelAccess = { ...neighbours, model, snapshot, playTarget };
  const show = (names: readonly string[]): void => {
    channelvars = names;
    functions = names.filter(isFunction);
  };
  return { snapshot, model, playTarget, show, dialplanChannel: (entry) => createChannelDialplan(access, entry) };
}
