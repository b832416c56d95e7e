import { bridgeTopic, type Topic } from '../bus/topics.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type BridgeMember, isOpen, memberOf } from '../machines/bridge.ts';
import { isEnding } from '../machines/channel.ts';
import { type MemberMusicEvent, memberMusicTable } from '../machines/member-music.ts';
import { isControlled } from '../machines/ownership.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { AriError } from '../models/errors.ts';
import {
  type BridgeEntry,
  bridgeSnapshot,
  type Entry,
  type Guest,
  isAnnouncer,
  isPart,
  linkMember,
  mixMember,
  type Stay,
  staysIn,
} from './bridge-entry.ts';
import { forgetPeers, type Met, MetChannel, meet } from './bridge-meeting.ts';
import type { BridgeVideos } from './bridge-video.ts';
import type { ChannelAudio } from './channel-audio.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import type { Channels } from './channels.ts';
import type { Turn } from './turn.ts';

/** Which applications get the events of a bridge because of its members. */
export type Interests = {
  addInterest(app: string, topic: Topic): void;
  removeInterest(app: string, topic: Topic): void;
  forget(topic: Topic): void;
};

type BridgeMembersOptions = {
  channels: Pick<Channels, 'tell'>;
  audio: Pick<ChannelAudio, 'tell'>;
  applications: Interests;
  videos: BridgeVideos;
  tables: TableWatch | undefined;
  /** Most channels in one bridge. */
  limit: number;
  turn: Pick<Turn, 'changed'>;
};

/** A stay that begins; `hasMusic`: the bridge plays music on hold to it already. */
type NewStay = Omit<Stay, 'music'> & { readonly hasMusic: boolean };

/** The stays of all channels in bridges, and the effects of the bridge chart that concern one member. */
export type BridgeMembers = ReturnType<typeof createBridgeMembers>;

type Music = MemberMusicEvent<ChannelEntry>;

/** How music for all members affects their audio. @param changed is called first. */
const musicEffects = (audio: Pick<ChannelAudio, 'tell'>, changed: (member: ChannelEntry) => void) => ({
  startMusic({ member, musicClass }: Extract<Music, { musicClass: string }>): void {
    changed(member);
    audio.tell(member, { type: 'startMoh', musicClass });
  },
  stopMusic({ member }: Music): void {
    changed(member);
    audio.tell(member, { type: 'stopMoh' });
  },
});

function setMusic({ channel: member, music }: Stay, musicClass: string | undefined): void {
  if (musicClass === undefined) music.send({ type: 'music.stopped', member });
  else music.send({ type: 'music.started', member, musicClass });
}

/** One of two members has music played to the other, or no longer. Of a part the node of its bridge decides. */
function setOtherMusic(bridge: BridgeEntry | undefined, channelId: string, musicClass: string | undefined): void {
  if (!bridge || isPart(bridge)) return;
  const { type, members } = bridgeSnapshot(bridge).context;
  if (type !== 'mixing' || members.length !== 2) return;
  const other = members.find((member) => member.channelId !== channelId);
  if (other) playTo(bridge, other.channelId, musicClass);
}

/** Plays music on hold to one member, at this node or another one. */
function playTo(bridge: BridgeEntry, channelId: string, musicClass: string | undefined): void {
  const stay = bridge.stays.get(channelId);
  if (stay) setMusic(stay, musicClass);
  else bridge.guests.get(channelId)?.entertain(musicClass);
}

/** Ends the music of a member that the other of two holds. In a holding bridge music is for waiting and stays. */
function endHoldMusic(bridge: BridgeEntry): void {
  const { type, members } = bridgeSnapshot(bridge).context;
  if (type !== 'mixing') return;
  for (const { channelId } of members) playTo(bridge, channelId, undefined);
}

/** @param entering is in it already, maybe. @throws AriError bridgeFull if it would have more members than `limit` */
function requireRoom(bridge: BridgeEntry, limit: number, more: number, entering?: string): void {
  const { members } = bridgeSnapshot(bridge).context;
  const others = members.filter(({ channelId }) => channelId !== entering);
  if (others.length + more > limit) throw new AriError('bridgeFull', { bridge: bridge.id, members: String(limit) });
}

/** An announcer has come or gone: links are heard, or hear. */
function turnLinks(bridge: BridgeEntry): void {
  if (bridgeSnapshot(bridge).context.type !== 'holding') return;
  for (const [session, node] of bridge.links) bridge.mix.change(session, linkMember(bridge, node));
}

/** A member is about to leave: it has no peers any more. Those of a part that ends may go on in another one, with their peers. */
function forgetOthers(channels: Pick<Channels, 'tell'>, bridge: BridgeEntry, channelId: string): void {
  const stay = bridge.stays.get(channelId);
  const isMoving = isPart(bridge) && bridgeSnapshot(bridge).value === 'emptying';
  if (stay && !isMoving) forgetPeers([new MetChannel(channels, stay.channel)]);
}

/** The members meet, after one entered or left. Those of a part meet at the node of its bridge. */
function gather(channels: Pick<Channels, 'tell'>, bridge: BridgeEntry, newcomer?: string): void {
  if (isPart(bridge)) return;
  const { context } = bridgeSnapshot(bridge);
  const metOf = ({ channel }: Stay): Met => new MetChannel(channels, channel);
  const present =
    bridge.guests.size === 0
      ? staysIn(bridge).map(metOf)
      : context.members.flatMap(({ channelId }) => {
          const stay = bridge.stays.get(channelId);
          return (stay ? metOf(stay) : bridge.guests.get(channelId)?.met) ?? [];
        });
  meet(context, present, newcomer);
}

/** What happens when a member at another node has come (`newcomer`) or gone. */
const guestsChange =
  (channels: Pick<Channels, 'tell'>) =>
  (bridge: BridgeEntry, newcomer?: string): void => {
    endHoldMusic(bridge);
    gather(channels, bridge, newcomer);
  };

/** The application that controls a channel. */
function appOf({ ownership }: ChannelEntry): string | undefined {
  const owner = ownership.getSnapshot();
  return isControlled(owner) ? owner.context.app : undefined;
}

function change(bridge: BridgeEntry, channelId: string): void {
  const member = memberOf(bridgeSnapshot(bridge), channelId);
  const stay = bridge.stays.get(channelId);
  if (member && stay) bridge.mix.change(stay.channel.leg.media, mixMember(member));
}

/** Where channels are, and the music that bridges play to them. */
function createStays({ audio, tables, turn }: Pick<BridgeMembersOptions, 'audio' | 'tables' | 'turn'>) {
  const whereabouts = new SlotMap<string, Stay>();

  // The music of a member is a part of what a bridge saves.
  const effects = musicEffects(audio, ({ id }) => {
    const bridge = whereabouts.get(id)?.bridge;
    if (bridge) turn.changed?.({ id: bridge.id, chart: 'bridge' });
  });

  const addStay = ({ hasMusic, ...place }: NewStay): void => {
    const watched = { watch: tables, id: place.channel.id, lazily: true } as const;
    const stay = { ...place, music: new TableRun(memberMusicTable, hasMusic ? 'playing' : 'silent', effects, watched) };
    stay.bridge.stays.set(stay.channel.id, stay);
    whereabouts.set(stay.channel.id, stay);
  };

  return { whereabouts, addStay };
}

/** Creates the table of stays. A channel is in one bridge at most. */
export function createBridgeMembers(options: BridgeMembersOptions) {
  const { channels, applications, videos, limit } = options;
  const { whereabouts, addStay } = createStays(options);

  /** A member leaves. It forgets its peers, and its video ends first. */
  const letGo = (bridge: BridgeEntry, channelId: string): void => {
    forgetOthers(channels, bridge, channelId);
    videos.told(bridge.id, { type: 'member.leaving', channelId });
    bridge.actor.send({ type: 'leave', channelId });
  };

  const changed = guestsChange(channels);
  const guests = createBridgeGuests({ applications, letGo, changed });

  const leave = (channelId: string): void => {
    const stay = whereabouts.get(channelId);
    if (stay) letGo(stay.bridge, channelId);
  };

  return {
    addStay,
    letGo,
    /** As `Bridges.leave`. */
    leave,
    change,
    welcome: guests.welcome,
    requireRoom: (bridge: BridgeEntry, more: number) => requireRoom(bridge, limit, more),
    bridgeOf: (channelId: string): BridgeEntry | undefined => whereabouts.get(channelId)?.bridge,

    /** As `Bridges.enter`. */
    enter(bridge: BridgeEntry, channel: ChannelEntry, entry: Entry): void {
      const { id: channelId } = channel;
      requireRoom(bridge, limit, 1, channelId);
      const others = bridgeSnapshot(bridge).context.members.filter((member) => member.channelId !== channelId);
      leave(channelId);
      const app = appOf(channel);
      addStay({ bridge, channel, app, hasMusic: false });
      if (app !== undefined) applications.addInterest(app, bridgeTopic(bridge.id));
      bridge.actor.send({ type: 'enter', member: { channelId, ...entry } });
      // There is one announcer at a time: a second one is sent out again, as in Asterisk.
      const isHolding = bridgeSnapshot(bridge).context.type === 'holding';
      if (isHolding && isAnnouncer(entry) && others.some(isAnnouncer)) leave(channelId);
    },

    /** Effect: the member joins the mix, and meets the others. */
    join(bridge: BridgeEntry, member: BridgeMember): void {
      turnLinks(bridge);
      // The audio of other nodes is in the mix already.
      if (member.node !== undefined) return void changed(bridge, member.channelId);
      const stay = bridge.stays.get(member.channelId);
      if (!stay) return;
      const { channel } = stay;
      bridge.mix.join(channel.leg.media, mixMember(member));
      if (channel.leg.video) videos.tell(bridge.id, { type: 'members.changed' });
      endHoldMusic(bridge);
      channels.tell(channel, { type: 'bridge.entered', bridgeId: bridge.id });
      // An explicit participant of a holding bridge hears music (behaviour of Asterisk). Others hear announcers only.
      if (bridgeSnapshot(bridge).context.type === 'holding' && member.role === 'holding_participant')
        setMusic(stay, 'default');
      gather(channels, bridge, member.channelId);
    },

    /** Effect: the member has left. */
    part(bridge: BridgeEntry, channelId: string): void {
      turnLinks(bridge);
      const guest = bridge.guests.get(channelId);
      if (guest) return void guests.part(bridge, guest);
      const stay = bridge.stays.get(channelId);
      if (!stay) return;
      bridge.stays.delete(channelId);
      whereabouts.delete(channelId);
      bridge.mix.leave(stay.channel.leg.media);
      if (stay.channel.leg.video) {
        bridge.views.left(stay);
        videos.told(bridge.id, { type: 'members.changed' });
      }
      stay.music.send({ type: 'member.left', member: stay.channel });
      endHoldMusic(bridge);
      // Of a channel that ends in the bridge the application still hears how the bridge ends, as in Asterisk.
      const hasEnded = isEnding(snapshotOf(stay.channel));
      if (stay.app !== undefined && !hasEnded) applications.removeInterest(stay.app, bridgeTopic(bridge.id));
      channels.tell(stay.channel, { type: 'bridge.left' });
      // Those who leave together are not told of each other: the work would grow with the square of their number.
      if (isOpen(bridgeSnapshot(bridge))) gather(channels, bridge);
    },

    /** As `Bridges.held`. */
    held: (channelId: string, musicClass: string | undefined): void =>
      setOtherMusic(whereabouts.get(channelId)?.bridge, channelId, musicClass),
    /** As `Bridges.guestHolds`. */
    guestHolds: setOtherMusic,
    /** As `Bridges.playTo`. */
    playTo,

    /** As `Bridges.entertain`. */
    entertain(bridge: BridgeEntry, musicClass: string): void {
      for (const stay of staysIn(bridge)) setMusic(stay, musicClass);
    },
  };
}

type BridgeGuestsOptions = {
  applications: { addInterest(app: string, topic: Topic): void; removeInterest(app: string, topic: Topic): void };
  /** A member leaves. */
  letGo(bridge: BridgeEntry, channelId: string): void;
  /** The members at this node meet, after one has come or gone. */
  changed(bridge: BridgeEntry): void;
};

/** The stays of channels of other nodes in bridges of this one. Their audio comes by links. */
const createBridgeGuests = ({ applications, letGo, changed }: BridgeGuestsOptions) => ({
  /** As `Bridges.welcome`. */
  welcome(bridge: BridgeEntry, guest: Guest, entry: Entry): void {
    const { channelId, node, app } = guest;
    if (bridge.guests.has(channelId)) letGo(bridge, channelId);
    bridge.guests.set(channelId, guest);
    if (app !== undefined) applications.addInterest(app, bridgeTopic(bridge.id));
    bridge.actor.send({ type: 'enter', member: { channelId, ...entry, node } });
  },

  /** Effect: the member has left. */
  part(bridge: BridgeEntry, { channelId, app, hasEnded }: Guest): void {
    bridge.guests.delete(channelId);
    if (app !== undefined && !hasEnded) applications.removeInterest(app, bridgeTopic(bridge.id));
    changed(bridge);
  },
});
