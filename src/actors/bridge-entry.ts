import type { Topic } from '../bus/topics.ts';
import type { BridgeFact, BridgeMember, BridgeSnapshot, bridgeMachine } from '../machines/bridge.ts';
import type { MemberMusicRun } from '../machines/member-music.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import type { MediaSession, Mix, MixMember } from '../telephony/media.ts';
import type { Met } from './bridge-meeting.ts';
import type { BridgeViews } from './bridge-views.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Facts } from './facts.ts';
import type { Actor } from './spawn.ts';

/** A running bridge, its members, and its facts. */

type BridgeActor = Actor<typeof bridgeMachine>;

/** A running bridge: its actor, and what it holds outside the chart. */
export type BridgeEntry = {
  readonly id: string;
  readonly topics: readonly Topic[];
  actor: BridgeActor;
  mix: Mix;
  readonly views: BridgeViews;
  /** The channels in it by id, in the order of entering; each until its leaving has been told. */
  readonly stays: Map<string, Stay>;
  /** The members that are channels of other nodes, likewise. */
  readonly guests: Map<string, Guest>;
  /** The audio of other nodes, with their names: one session for all members there. */
  readonly links: Map<MediaSession, string>;
};

/** A channel of another node in a bridge of this one. */
export type Guest = {
  readonly channelId: string;
  readonly node: string;
  /** Names the stay: a channel that comes again has another one. */
  readonly stay: string;
  /** As clients see the channel. */
  channel: Channel;
  /** The application that gets the bridge's events because of it. */
  readonly app: string | undefined;
  /** The member as the others meet it; undefined for one of a node of an older version. */
  readonly met: Met | undefined;
  /** Plays music on hold to it, because the other of two holds it; undefined ends it. */
  readonly entertain: (musicClass: string | undefined) => void;
  /** The channel ends: its application still hears how the bridge ends. */
  hasEnded: boolean;
};

/** A channel's role in the bridge that it enters. */
export type Entry = Omit<BridgeMember, 'channelId'>;

/** A member at another node whose link is lost. */
export type Stray = {
  readonly bridge: BridgeEntry;
  readonly node: string;
  readonly member: Omit<BridgeMember, 'node'>;
};

/** A channel's stay in a bridge. */
export type Stay = {
  bridge: BridgeEntry;
  channel: ChannelEntry;
  /** The application that gets the bridge's events because of it. */
  app: string | undefined;
  /** The music on hold that this bridge plays to it. */
  readonly music: MemberMusicRun<ChannelEntry>;
};

export const bridgeSnapshot = ({ actor }: BridgeEntry): BridgeSnapshot => actor.getSnapshot();

/** Whether it is the part of a bridge of another node. */
export const isPart = (bridge: BridgeEntry): boolean => bridgeSnapshot(bridge).context.home !== undefined;

/** The channels in a bridge, in the order of entering. */
export const staysIn = ({ stays }: BridgeEntry): Stay[] => [...stays.values()];

/** Notifications of a bridge: the facts of its chart and, after the facts of a step, the change of its snapshot. */
type BridgeNews = BridgeFact | { type: 'bridge.changed'; snapshot: BridgeSnapshot };
/** The facts of all bridges. */
export type BridgeFacts = Facts<BridgeEntry, BridgeNews>;

/** Hears every change of a bridge, with its state. @returns a function that stops it. */
export const hearBridge = (
  { facts }: { facts: Pick<BridgeFacts, 'of'> },
  bridgeId: string,
  listener: (snapshot: BridgeSnapshot) => void,
): (() => void) =>
  facts.of(bridgeId, (fact) => {
    if (fact.type === 'bridge.changed') listener(fact.snapshot);
  });

/** Whether a member speaks to all others of a holding bridge. */
export const isAnnouncer = ({ role }: Pick<BridgeMember, 'role'>): boolean => role === 'announcer';

/** A member as its mix sees it. */
export const mixMember = ({ role, muted, absorbsDigits }: BridgeMember): MixMember => ({
  role: role === 'announcer' ? 'announcer' : 'participant',
  muted,
  passDigits: !absorbsDigits,
});

/**
 * All members of another node as its mix sees them: they are muted there, and their digits were let through. In a holding
 * bridge a link brings the audio of an announcer, or takes it to the other node. A part hears the others by its link, unless
 * it has the announcer itself.
 */
export function linkMember(bridge: BridgeEntry, node: string): MixMember {
  const { type, home, members } = bridgeSnapshot(bridge).context;
  const isSource = type === 'holding' && members.some((each) => isAnnouncer(each) && each.node === node);
  const isFed = type === 'holding' && home !== undefined && !members.some(isAnnouncer);
  return { role: isSource || isFed ? 'announcer' : 'participant', muted: false, passDigits: true };
}

/** The event of a fact; undefined about a channel that has left. */
export function bridgeEvent(
  { stays, guests }: BridgeEntry,
  fact: BridgeFact,
  { shown, views }: { shown: Bridge; views: Pick<ChannelViews, 'model'> },
): AriEventBody | undefined {
  switch (fact.type) {
    case 'BridgeCreated':
    case 'BridgeDestroyed':
      return { type: fact.type, bridge: shown };
    case 'ChannelEnteredBridge':
    case 'ChannelLeftBridge': {
      const stay = stays.get(fact.channelId);
      const channel = stay ? views.model(stay.channel) : guests.get(fact.channelId)?.channel;
      return channel && { type: fact.type, bridge: shown, channel };
    }
  }
}
