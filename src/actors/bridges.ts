import type { Bus } from '../bus/bus.ts';
import { allBridges, bridgeTopic, bridgeTopics, type Topic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type BridgeCommand,
  type BridgeEvent,
  type BridgeFact,
  type BridgeInput,
  type BridgeMember,
  type BridgeSnapshot,
  bridgeMachine,
  bridgeModel,
  isOpen,
  memberOf,
} from '../machines/bridge.ts';
import type { BridgeVideoCommand, BridgeVideoFact } from '../machines/bridge-video.ts';
import { isEnding } from '../machines/channel.ts';
import { isControlled } from '../machines/ownership.ts';
import type { Bridge } from '../models/bridge.ts';
import { AriError } from '../models/errors.ts';
import type { AudioMeeting, Mix, MixReport } from '../telephony/media.ts';
import {
  type BridgeEntry,
  type BridgeFacts,
  bridgeEvent,
  type Entry,
  isAnnouncer,
  mixMember,
  type Stay,
} from './bridge-entry.ts';
import { meet } from './bridge-meeting.ts';
import { type BridgeVideos, createBridgeVideos } from './bridge-video.ts';
import { BridgeViews } from './bridge-views.ts';
import type { ChannelAudio } from './channel-audio.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import type { ChannelFacts } from './channel-facts.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { BridgeDump } from './dumps.ts';
import { Facts } from './facts.ts';
import type { Playbacks, PlayTarget } from './playbacks.ts';
import type { Recordings, RecordTarget } from './recordings.ts';
import { Registry } from './registry.ts';
import { type Beginning, type Runtime, spawn } from './spawn.ts';

type BridgesOptions = {
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  media: Pick<AudioMeeting, 'openMix'>;
  channels: Pick<Channels, 'find' | 'tell'>;
  /** Hears when channels leave their bridge, and what they do there. */
  channelFacts: ChannelFacts;
  views: Pick<ChannelViews, 'model'>;
  audio: Pick<ChannelAudio, 'tell'>;
  playbacks: Pick<Playbacks, 'targetGone' | 'isBusy'>;
  recordings: Pick<Recordings, 'targetGone' | 'whenSettled' | 'running'>;
  applications: {
    addInterest(app: string, topic: Topic): void;
    removeInterest(app: string, topic: Topic): void;
    forget(topic: Topic): void;
  };
  /** Language of what is played to a bridge when the request names none. */
  defaultLanguage: string;
  limits: {
    /** Most bridges at a time. */
    bridges: number;
    /** Most channels in one. */
    members: number;
  };
};

/** Owns every bridge and who is in it: a channel is in one at most. */
export interface Bridges {
  /** The facts of all bridges. */
  readonly facts: Pick<BridgeFacts, 'of'>;
  list(): Bridge[];
  /** @throws AriError bridgeNotFound, also of one that is being destroyed. */
  get(id: string): Bridge;
  /** A bridge that is not being destroyed. */
  find(id: string): BridgeEntry | undefined;
  /** Makes a bridge without channels. @throws AriError bridgeIdExists, tooManyBridges. */
  open(input: BridgeInput): BridgeEntry;
  /** Lets everyone leave, ends what plays and records, and destroys it. */
  destroy(bridge: BridgeEntry): void;
  /**
   * Adds a channel, after it left its previous bridge. @throws AriError bridgeFull; then the channel stays where it is.
   */
  enter(bridge: BridgeEntry, channel: ChannelEntry, entry: Entry): void;
  /** Lets a channel out of the bridge that it is in; nothing happens when it is in none. */
  leave(channelId: string): void;
  /** One of two lets the other hear music of a class (it holds us), or no longer. */
  held(channelId: string, musicClass: string | undefined): void;
  /** Plays music of a class to the members until one enters or leaves. */
  entertain(bridge: BridgeEntry, musicClass: string): void;
  /** The bridge that a channel is in. */
  bridgeOf(channelId: string): BridgeEntry | undefined;
  tell(bridge: BridgeEntry, command: BridgeCommand): void;
  /** Says whom it is to show. */
  tellVideo(bridge: BridgeEntry, command: BridgeVideoCommand): void;
  snapshot(bridge: BridgeEntry): BridgeSnapshot;
  /** Its video snapshot; undefined without video. */
  videoSnapshot(bridge: BridgeEntry): ReturnType<BridgeVideos['snapshot']>;
  model(bridge: BridgeEntry): Bridge;
  /** Playback target of all members. */
  playTarget(bridge: BridgeEntry): PlayTarget;
  /** Recording target of all members. */
  recordTarget(bridge: BridgeEntry): RecordTarget;
  /** All bridges with their members, also those that are being destroyed. */
  dump(id?: string): BridgeDump[];
  /** Restores bridges after their channels: opens their mixes and joins the members. No events are published. */
  restore(dumps: readonly BridgeDump[]): void;
  /** Removes members that have ended, and continues destroying bridges. */
  resume(): void;
  /** Number of bridges, also those that are being destroyed. */
  readonly size: number;
}

/** Feature keys stay hidden from the other party once the Dial listens again. */
const withoutFeatureKeys = (dump: BridgeDump['actor']): BridgeDump['actor'] => {
  const { context } = dump;
  if (context.class !== 'basic') return dump;
  return {
    ...dump,
    context: { ...context, members: context.members.map((each) => ({ ...each, absorbsDigits: false })) },
  };
};

export function createBridges(options: BridgesOptions): Bridges {
  const { bus, runtime, log, media, channels, views, audio, playbacks, recordings, applications, limits } = options;
  const facts: BridgeFacts = new Facts(log);
  const registry = new Registry<BridgeEntry>('bridgeNotFound');
  /** The one stay of each channel that is in a bridge. */
  const whereabouts = new SlotMap<string, Stay>();

  const snapshot = ({ actor }: BridgeEntry): BridgeSnapshot => actor.getSnapshot();
  const tell = ({ actor }: BridgeEntry, event: BridgeEvent): void => actor.send(event);

  /** @param leaving a member to leave out. */
  const model = (bridge: BridgeEntry, leaving?: string): Bridge => {
    const unseen = (playbacks.isBusy('bridge', bridge.id) ? 1 : 0) + recordings.running('bridge', bridge.id);
    return bridgeModel(snapshot(bridge), { video: videos.snapshot(bridge.id), unseen, leaving });
  };

  const staysIn = ({ stays }: BridgeEntry): Stay[] => [...stays.values()];

  const videos = createBridgeVideos({
    runtime,
    log,
    roomOf(id) {
      const bridge = registry.find(id);
      return (
        bridge && { context: snapshot(bridge).context, mix: bridge.mix, views: bridge.views, present: staysIn(bridge) }
      );
    },
    publish(id, { old, leaving }: BridgeVideoFact) {
      const bridge = registry.find(id);
      if (!bridge) return;
      const source = old === undefined ? {} : { old_video_source_id: old };
      const event = { type: 'BridgeVideoSourceChanged', bridge: model(bridge, leaving), ...source } as const;
      bus.publish({ event, topics: bridge.topics });
    },
  });

  /* ---- Effects: named by the chart, performed when its transition is over and told ------------------------------ */

  const perform = (id: string, effect: (bridge: BridgeEntry) => void): void => {
    const bridge = registry.find(id);
    if (bridge) effect(bridge);
  };

  const mixReports = (id: string) => (report: MixReport) => {
    const bridge = registry.find(id);
    if (report.type === 'mix.videoSource' && bridge) {
      const { session: channelId } = report;
      bridge.views.lastSource = channelId;
      // A member that has left has no events.
      if (channelId === undefined || bridge.stays.has(channelId))
        videos.tell(id, { type: 'mix.videoSource', channelId });
    }
    if (report.type !== 'mix.lost') return;
    log.error({ bridge: id, reason: report.reason }, 'the media plane lost a bridge; it is joined again');
    if (bridge) tell(bridge, { type: 'mix.lost' });
  };

  const openMix = (id: string, type: 'mixing' | 'holding'): Mix => media.openMix(id, type, mixReports(id));

  const join = (bridge: BridgeEntry, member: BridgeMember): void => {
    const stay = bridge.stays.get(member.channelId);
    if (!stay) return;
    const { channel } = stay;
    bridge.mix.join(channel.leg.media, mixMember(member));
    if (channel.leg.video) videos.tell(bridge.id, { type: 'members.changed' });
    endHoldMusic(bridge);
    channels.tell(channel, { type: 'bridge.entered', bridgeId: bridge.id });
    // An explicit participant of a holding bridge hears music (behaviour of Asterisk). Others hear announcers only.
    if (snapshot(bridge).context.type === 'holding' && member.role === 'holding_participant') setMusic(stay, 'default');
    meet(channels, snapshot(bridge).context, staysIn(bridge), member.channelId);
  };

  const videoChanged = (channelId: string): void => {
    const bridge = whereabouts.get(channelId)?.bridge;
    if (bridge) videos.tell(bridge.id, { type: 'member.videoChanged', channelId });
  };

  const part = (bridge: BridgeEntry, channelId: string): void => {
    const stay = bridge.stays.get(channelId);
    if (!stay) return;
    bridge.stays.delete(channelId);
    whereabouts.delete(channelId);
    bridge.mix.leave(stay.channel.leg.media);
    if (stay.channel.leg.video) {
      bridge.views.left(stay);
      videos.told(bridge.id, { type: 'members.changed' });
    }
    setMusic(stay, undefined);
    endHoldMusic(bridge);
    // Of a channel that ends in the bridge the application still hears how the bridge ends, as in Asterisk.
    const hasEnded = isEnding(snapshotOf(stay.channel));
    if (stay.app !== undefined && !hasEnded) applications.removeInterest(stay.app, bridgeTopic(bridge.id));
    channels.tell(stay.channel, { type: 'bridge.left' });
    meet(channels, snapshot(bridge).context, staysIn(bridge));
  };

  const change = (bridge: BridgeEntry, channelId: string): void => {
    const member = memberOf(snapshot(bridge), channelId);
    const stay = bridge.stays.get(channelId);
    if (member && stay) bridge.mix.change(stay.channel.leg.media, mixMember(member));
  };

  /** Music of one who was held by the other of two goes with that; in a holding bridge it is for waiting. */
  const endHoldMusic = (bridge: BridgeEntry): void => {
    if (snapshot(bridge).context.type === 'mixing') for (const stay of staysIn(bridge)) setMusic(stay, undefined);
  };

  const setMusic = (stay: Stay, musicClass: string | undefined): void => {
    if (musicClass !== undefined) audio.tell(stay.channel, { type: 'startMoh', musicClass });
    else if (stay.hasMusic) audio.tell(stay.channel, { type: 'stopMoh' });
    stay.hasMusic = musicClass !== undefined;
  };

  const held: Bridges['held'] = (channelId, musicClass) => {
    const bridge = whereabouts.get(channelId)?.bridge;
    if (!bridge || snapshot(bridge).context.type !== 'mixing' || bridge.stays.size !== 2) return;
    for (const stay of staysIn(bridge)) if (stay.channel.id !== channelId) setMusic(stay, musicClass);
  };

  const reopen = (bridge: BridgeEntry): void => {
    bridge.mix.close();
    bridge.mix = openMix(bridge.id, snapshot(bridge).context.type);
    bridge.views.reset();
    joinAll(bridge);
  };

  const joinAll = (bridge: BridgeEntry): void => {
    const { members, musicClass } = snapshot(bridge).context;
    for (const member of members) {
      const stay = bridge.stays.get(member.channelId);
      if (stay) bridge.mix.join(stay.channel.leg.media, mixMember(member));
    }
    if (musicClass !== undefined) bridge.mix.music(musicClass);
    videos.arrange(bridge.id);
  };

  const endWorks = (bridge: BridgeEntry): void => {
    playbacks.targetGone('bridge', bridge.id);
    recordings.targetGone('bridge', bridge.id);
    recordings.whenSettled('bridge', bridge.id, () => tell(bridge, { type: 'works.ended' }));
  };

  const machine = bridgeMachine.provide({
    actions: {
      joinMix: ({ context }, { member }) => perform(context.id, (bridge) => join(bridge, member)),
      leaveMix: ({ context }, { channelId }) => perform(context.id, (bridge) => part(bridge, channelId)),
      changeMix: ({ context }, { channelId }) => perform(context.id, (bridge) => change(bridge, channelId)),
      reopenMix: ({ context }) => perform(context.id, reopen),
      playMusic: ({ context }, { musicClass }) => perform(context.id, ({ mix }) => mix.music(musicClass)),
      removeMembers: ({ context }) =>
        perform(context.id, (bridge) => {
          for (const { channelId } of context.members) letGo(bridge, channelId);
        }),
      endWorks: ({ context }) => perform(context.id, endWorks),
    },
  });

  /* ---- Facts: told by the chart after the commit, published as events ------------------------------------------- */

  const publish = (bridge: BridgeEntry, fact: BridgeFact): void => {
    const event = bridgeEvent(bridge, fact, { shown: model(bridge), views });
    // No subscription can exist before the bridge.
    if (event) bus.publish({ event, topics: fact.type === 'BridgeCreated' ? [allBridges] : bridge.topics });
  };

  /** After a crash the chart publishes nothing, so its members and subscribers get the end from here. */
  const tellCrash = (bridge: BridgeEntry): void => {
    const last = model(bridge);
    for (const stay of staysIn(bridge)) {
      last.channels = last.channels.filter((id) => id !== stay.channel.id);
      const event = { type: 'ChannelLeftBridge', bridge: { ...last }, channel: views.model(stay.channel) } as const;
      bus.publish({ event, topics: bridge.topics });
      part(bridge, stay.channel.id);
    }
    playbacks.targetGone('bridge', bridge.id);
    recordings.targetGone('bridge', bridge.id);
    bus.publish({ event: { type: 'BridgeDestroyed', bridge: { ...last, channels: [] } }, topics: bridge.topics });
  };

  const ended = (bridge: BridgeEntry, error: unknown): void => {
    videos.told(bridge.id, { type: 'bridge.gone' });
    registry.remove(bridge.id);
    if (error !== undefined) tellCrash(bridge);
    facts.forget(bridge.id);
    bridge.mix.close();
    applications.forget(bridgeTopic(bridge.id));
  };

  const open = (input: BridgeInput): BridgeEntry => {
    const { id, type } = input;
    if (registry.has(id)) throw new AriError('bridgeIdExists', { bridge: id });
    if (registry.size >= limits.bridges) throw new AriError('tooManyBridges', { bridges: String(limits.bridges) });
    return start(id, type, { input });
  };

  const start = (id: string, type: BridgeInput['type'], beginning: Beginning<BridgeInput>): BridgeEntry => {
    const bridge: BridgeEntry = {
      id,
      topics: bridgeTopics(id),
      actor: undefined as never,
      mix: openMix(id, type),
      views: new BridgeViews(),
      stays: new Map(),
    };
    spawn(machine, {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        bridge.actor = actor;
        registry.add(id, bridge);
      },
      onEmitted: (fact) => {
        publish(bridge, fact);
        facts.publishTo(bridge, fact);
      },
      onChanged: (current) => {
        if (facts.isHeard(id)) facts.publishTo(bridge, { type: 'bridge.changed', snapshot: current });
      },
      onEffectFailed: (error) => log.error({ bridge: id, error }, 'an effect of a bridge failed'),
      onEnded: (error) => ended(bridge, error),
    });
    return bridge;
  };

  /** A member leaves. Its video ends first. */
  const letGo = (bridge: BridgeEntry, channelId: string): void => {
    videos.told(bridge.id, { type: 'member.leaving', channelId });
    tell(bridge, { type: 'leave', channelId });
  };

  const leave = (channelId: string): void => {
    const stay = whereabouts.get(channelId);
    if (stay) letGo(stay.bridge, channelId);
  };

  const enter: Bridges['enter'] = (bridge, channel, entry) => {
    const { id: channelId, ownership } = channel;
    const { members } = snapshot(bridge).context;
    const others = members.filter((member) => member.channelId !== channelId);
    if (others.length >= limits.members)
      throw new AriError('bridgeFull', { bridge: bridge.id, members: String(limits.members) });
    leave(channelId);
    const owner = ownership.getSnapshot();
    const app = isControlled(owner) ? owner.context.app : undefined;
    const stay = { bridge, channel, app, hasMusic: false };
    bridge.stays.set(channelId, stay);
    whereabouts.set(channelId, stay);
    if (app !== undefined) applications.addInterest(app, bridgeTopic(bridge.id));
    tell(bridge, { type: 'enter', member: { channelId, ...entry } });
    // There is one announcer at a time: a second one is sent out again, as in Asterisk.
    if (snapshot(bridge).context.type === 'holding' && isAnnouncer(entry) && others.some(isAnnouncer)) leave(channelId);
  };

  const shownTo = ({ views }: BridgeEntry, id: string): { shown?: string[] } => {
    const shown = views.shownTo(id);
    return shown === undefined ? {} : { shown };
  };

  const videoOf = ({ id }: BridgeEntry): Pick<BridgeDump, 'video'> => {
    const video = videos.dump(id);
    return video === undefined ? {} : { video };
  };

  const find = (id: string): BridgeEntry | undefined => {
    const bridge = registry.find(id);
    return bridge && isOpen(snapshot(bridge)) ? bridge : undefined;
  };

  options.channelFacts.on('channel.departed', ({ id }) => leave(id));
  options.channelFacts.on('peer.held', ({ id }, { musicClass }) => held(id, musicClass));
  options.channelFacts.on('video.changed', ({ id }) => videoChanged(id));

  return {
    facts,
    list: () =>
      registry
        .all()
        .filter((bridge) => isOpen(snapshot(bridge)))
        .map((bridge) => model(bridge)),
    get(id) {
      const bridge = find(id);
      if (!bridge) throw new AriError('bridgeNotFound');
      return model(bridge);
    },
    find,
    open,
    destroy: (bridge) => tell(bridge, { type: 'destroy' }),
    enter,
    leave,
    held,
    entertain(bridge, musicClass) {
      for (const stay of staysIn(bridge)) setMusic(stay, musicClass);
    },
    bridgeOf: (channelId) => whereabouts.get(channelId)?.bridge,
    tell,
    tellVideo: ({ id }, command) => videos.tell(id, command),
    snapshot,
    videoSnapshot: ({ id }) => videos.snapshot(id),
    model,
    playTarget: ({ id, topics, mix }) => ({
      kind: 'bridge',
      id,
      language: options.defaultLanguage,
      topics,
      media: mix,
    }),
    dump: (id) =>
      registry.those(id).map((bridge) => ({
        actor: bridge.actor.dump() as BridgeDump['actor'],
        ...videoOf(bridge),
        stays: staysIn(bridge).map(({ channel, app, hasMusic }) => ({
          channelId: channel.id,
          hasMusic,
          ...(app === undefined ? {} : { app }),
          ...shownTo(bridge, channel.id),
        })),
      })),

    restore(dumps) {
      for (const { actor, video, stays } of dumps) {
        const { id, type } = actor.context;
        const bridge = start(id, type, { from: withoutFeatureKeys(actor) });
        for (const { channelId, app, hasMusic, shown } of stays) {
          const channel = channels.find(channelId);
          if (!channel) continue;
          const stay: Stay = { bridge, channel, app, hasMusic };
          bridge.stays.set(channelId, stay);
          whereabouts.set(channelId, stay);
          bridge.views.restore(channelId, shown);
        }
        if (video) videos.restore(video);
        joinAll(bridge);
      }
    },

    resume() {
      for (const bridge of registry.all()) {
        for (const { channelId } of snapshot(bridge).context.members)
          if (!bridge.stays.has(channelId)) letGo(bridge, channelId);
        if (!isOpen(snapshot(bridge))) endWorks(bridge);
      }
    },

    recordTarget: ({ id, topics, mix }) => ({ kind: 'bridge', id, topics, media: mix }),
    get size() {
      return registry.size;
    },
  };
}
