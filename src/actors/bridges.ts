import type { Bus } from '../bus/bus.ts';
import { allBridges, bridgeTopic, bridgeTopics } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import {
  type BridgeCommand,
  type BridgeFact,
  type BridgeInput,
  type BridgeSnapshot,
  bridgeMachine,
  bridgeModel,
  isOpen,
} from '../machines/bridge.ts';
import type { BridgeVideoCommand, BridgeVideoFact } from '../machines/bridge-video.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { Bridge } from '../models/bridge.ts';
import { AriError } from '../models/errors.ts';
import type { AriEventBody } from '../models/events.ts';
import type { AudioMeeting, MediaSession, MixReport } from '../telephony/media.ts';
import {
  type BridgeEntry,
  type BridgeFacts,
  bridgeEvent,
  bridgeSnapshot,
  type Entry,
  type Guest,
  isPart,
  linkMember,
  mixMember,
  type Stray,
  staysIn,
} from './bridge-entry.ts';
import { type BridgeMembers, createBridgeMembers, type Interests } from './bridge-members.ts';
import { type BridgeVideos, createBridgeVideos } from './bridge-video.ts';
import { BridgeViews } from './bridge-views.ts';
import type { ChannelAudio } from './channel-audio.ts';
import type { ChannelEntry, ChannelFacts } from './channel-entry.ts';
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
  applications: Interests;
  /** Sees the charts of members; left out: nobody. */
  tables?: TableWatch | undefined;
  /** Language of what is played to a bridge when the request names none. */
  defaultLanguage: string;
  limits: {
    /** Most bridges at a time. */
    bridges: number;
    /** Most channels in one. */
    members: number;
  };
};

/** Owns every bridge and its members. A channel is in one bridge at most. */
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
  /** Adds a channel of another node, whose audio comes by a link. */
  welcome(bridge: BridgeEntry, guest: Guest, entry: Entry): void;
  /** Lets a channel of another node out of the bridge. */
  dismiss(bridge: BridgeEntry, channelId: string): void;
  /** @throws AriError bridgeFull if so many more members are too many */
  requireRoom(bridge: BridgeEntry, more: number): void;
  /** Joins the audio of all members at another node. @returns a function that takes it out again */
  connect(bridge: BridgeEntry, session: MediaSession, node: string): () => void;
  /** The members at other nodes that restored bridges had, once. */
  takeStrays(): Stray[];
  /** The members at this node of a bridge of another one. */
  findPart(id: string): BridgeEntry | undefined;
  /** Ends a part: its members leave. @param orphaned whether applications hear of it from this node. */
  endPart(part: BridgeEntry, orphaned: boolean): void;
  /** Lets a channel out of the bridge that it is in; nothing happens when it is in none. */
  leave(channelId: string): void;
  /** One of two lets the other hear music of a class (it holds us), or no longer. */
  held(channelId: string, musicClass: string | undefined): void;
  /** The same of a member at another node. */
  guestHolds(bridge: BridgeEntry, channelId: string, musicClass: string | undefined): void;
  /** Plays music on hold to one member; undefined ends it. */
  playTo(bridge: BridgeEntry, channelId: string, musicClass: string | undefined): void;
  /** Plays music of a class to the members until one enters or leaves. */
  entertain(bridge: BridgeEntry, musicClass: string): void;
  /** The bridge that a channel is in. */
  bridgeOf(channelId: string): BridgeEntry | undefined;
  tell(bridge: BridgeEntry, command: BridgeCommand): void;
  /** Sets which members it shows. */
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
type BridgeRegistry = Registry<BridgeEntry>;
type Models = { model(bridge: BridgeEntry, leaving?: string): Bridge };

/** Sends reports of the media plane about a mix to the charts of its bridge. */
const mixReports =
  (registry: BridgeRegistry, videos: BridgeVideos, log: Logger) =>
  (id: string) =>
  (report: MixReport): void => {
    const bridge = registry.find(id);
    if (report.type === 'mix.videoSource' && bridge) {
      const { session: channelId } = report;
      bridge.views.lastSource = channelId;
      // A member that has left has no events.
      if (channelId === undefined || bridge.stays.has(channelId))
        videos.tell(id, { type: 'mix.videoSource', channelId });
    }
    if (report.type !== 'mix.lost') return;
    log.error({ bridge: id, reason: report.reason }, 'the media plane lost a bridge; its members are joined again');
    bridge?.actor.send({ type: 'mix.lost' });
  };

/** All members join a mix that knows nothing yet. */
function joinAll(bridge: BridgeEntry, videos: BridgeVideos): void {
  const { members, musicClass } = bridgeSnapshot(bridge).context;
  for (const member of members) {
    const stay = bridge.stays.get(member.channelId);
    if (stay) bridge.mix.join(stay.channel.leg.media, mixMember(member));
  }
  for (const [session, node] of bridge.links) bridge.mix.join(session, linkMember(bridge, node));
  if (musicClass !== undefined) bridge.mix.music(musicClass);
  videos.arrange(bridge.id);
}

/** Ends playbacks and recordings. The chart hears when they have ended. */
function endWorks({ playbacks, recordings }: BridgesOptions, { id, actor }: BridgeEntry): void {
  playbacks.targetGone('bridge', id);
  recordings.targetGone('bridge', id);
  recordings.whenSettled('bridge', id, () => actor.send({ type: 'works.ended' }));
}

type Parts = {
  options: BridgesOptions;
  registry: BridgeRegistry;
  videos: BridgeVideos;
  members: BridgeMembers;
  openMix(id: string, type: BridgeInput['type']): BridgeEntry['mix'];
};

/** The bridge chart with its effects. They run when the transition is committed and its facts are published. */
function bindEffects({ options, registry, videos, members, openMix }: Parts) {
  const perform = (id: string, effect: (bridge: BridgeEntry) => void): void => {
    const bridge = registry.find(id);
    if (bridge) effect(bridge);
  };

  const reopen = (bridge: BridgeEntry): void => {
    bridge.mix.close();
    bridge.mix = openMix(bridge.id, bridgeSnapshot(bridge).context.type);
    bridge.views.reset();
    joinAll(bridge, videos);
  };

  return bridgeMachine.provide({
    actions: {
      joinMix: ({ context }, { member }) => perform(context.id, (bridge) => members.join(bridge, member)),
      leaveMix: ({ context }, { channelId }) => perform(context.id, (bridge) => members.part(bridge, channelId)),
      changeMix: ({ context }, { channelId }) => perform(context.id, (bridge) => members.change(bridge, channelId)),
      reopenMix: ({ context }) => perform(context.id, reopen),
      playMusic: ({ context }, { musicClass }) => perform(context.id, ({ mix }) => mix.music(musicClass)),
      removeMembers: ({ context }) =>
        perform(context.id, (bridge) => {
          for (const { channelId } of context.members) members.letGo(bridge, channelId);
        }),
      endWorks: ({ context }) => perform(context.id, (bridge) => endWorks(options, bridge)),
    },
  });
}

/** Publishes the end to members and subscribers: after a crash the chart publishes nothing. */
function tellCrash({ options, members }: Pick<Parts, 'options' | 'members'>, bridge: BridgeEntry, last: Bridge): void {
  const { bus, views, playbacks, recordings } = options;
  const tell = (event: AriEventBody): void => {
    // The node of the bridge tells it.
    if (!isPart(bridge)) bus.publish({ event, topics: bridge.topics });
  };
  const left = [
    ...staysIn(bridge).map((stay) => views.model(stay.channel)),
    ...[...bridge.guests.values()].map((guest) => guest.channel),
  ];
  for (const channel of left) {
    last.channels = last.channels.filter((id) => id !== channel.id);
    tell({ type: 'ChannelLeftBridge', bridge: { ...last }, channel });
    members.part(bridge, channel.id);
  }
  playbacks.targetGone('bridge', bridge.id);
  recordings.targetGone('bridge', bridge.id);
  tell({ type: 'BridgeDestroyed', bridge: { ...last, channels: [] } });
}

type Start = (id: string, type: BridgeInput['type'], beginning: Beginning<BridgeInput>) => BridgeEntry;

/** Starts the actors of bridges, publishes their facts, and releases what they held. */
function createStart(parts: Parts, facts: BridgeFacts, { model }: Models): Start {
  const { options, registry, videos, openMix } = parts;
  const { bus, runtime, log, views, applications } = options;
  const machine = onFirstUse(() => bindEffects(parts));

  const publish = (bridge: BridgeEntry, fact: BridgeFact): void => {
    // The node of the bridge tells of all members, as long as it is there.
    const { orphaned } = bridgeSnapshot(bridge).context;
    if (isPart(bridge) && !(orphaned && fact.type === 'ChannelLeftBridge')) return;
    const event = bridgeEvent(bridge, fact, { shown: model(bridge), views });
    // No subscription can exist before the bridge.
    if (event) bus.publish({ event, topics: fact.type === 'BridgeCreated' ? [allBridges] : bridge.topics });
  };

  const ended = (bridge: BridgeEntry, error: unknown): void => {
    videos.told(bridge.id, { type: 'bridge.gone' });
    registry.remove(bridge.id);
    if (error !== undefined) tellCrash(parts, bridge, model(bridge));
    facts.forget(bridge.id);
    bridge.mix.close();
    applications.forget(bridgeTopic(bridge.id));
  };

  return (id, type, beginning) => {
    const bridge: BridgeEntry = {
      id,
      topics: bridgeTopics(id),
      actor: undefined as never,
      mix: openMix(id, type),
      views: new BridgeViews(),
      stays: new Map(),
      guests: new Map(),
      links: new Map(),
    };
    spawn(machine(), {
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
}

/** Dump and restore of all bridges. */
function createSaved({ options, registry, videos, members }: Parts, start: Start) {
  const shownTo = ({ views }: BridgeEntry, id: string): { shown?: string[] } => {
    const shown = views.shownTo(id);
    return shown === undefined ? {} : { shown };
  };

  const videoOf = ({ id }: BridgeEntry): Pick<BridgeDump, 'video'> => {
    const video = videos.dump(id);
    return video === undefined ? {} : { video };
  };

  const strays: Stray[] = [];

  return {
    takeStrays: () => strays.splice(0, strays.length),

    dump: (id?: string): BridgeDump[] =>
      registry.those(id).map((bridge) => ({
        actor: bridge.actor.dump() as BridgeDump['actor'],
        ...videoOf(bridge),
        stays: staysIn(bridge).map(({ channel, app, music }) => ({
          channelId: channel.id,
          hasMusic: music.state === 'playing',
          ...(app === undefined ? {} : { app }),
          ...shownTo(bridge, channel.id),
        })),
      })),

    restore(dumps: readonly BridgeDump[]): void {
      for (const { actor, video, stays } of dumps) {
        const { id, type } = actor.context;
        const bridge = start(id, type, { from: withoutFeatureKeys(actor) });
        for (const { channelId, app, hasMusic, shown } of stays) {
          const channel = options.channels.find(channelId);
          if (!channel) continue;
          members.addStay({ bridge, channel, app, hasMusic });
          bridge.views.restore(channelId, shown);
        }
        if (video) videos.restore(video);
        joinAll(bridge, videos);
      }
    },

    resume(): void {
      for (const bridge of registry.all()) {
        const { context } = bridgeSnapshot(bridge);
        // Links are not restored: the nodes of the bridges ask for their members again.
        if (isPart(bridge)) bridge.actor.send({ type: 'destroy' });
        strays.push(...context.members.flatMap(({ node, ...member }) => (node ? [{ bridge, node, member }] : [])));
        for (const { channelId } of context.members) if (!bridge.stays.has(channelId)) members.letGo(bridge, channelId);
        if (!isOpen(bridgeSnapshot(bridge))) endWorks(options, bridge);
      }
    },
  };
}

/** What concerns members at other nodes. @param findOpen finds a bridge or part that is not being destroyed */
const spanning = (
  { welcome, letGo, requireRoom, guestHolds, playTo }: BridgeMembers,
  findOpen: (id: string) => BridgeEntry | undefined,
): Pick<
  Bridges,
  'welcome' | 'dismiss' | 'requireRoom' | 'connect' | 'findPart' | 'endPart' | 'guestHolds' | 'playTo'
> => ({
  ...{ welcome, dismiss: letGo, requireRoom, guestHolds, playTo },
  connect(bridge, session, node) {
    bridge.links.set(session, node);
    bridge.mix.join(session, linkMember(bridge, node));
    return () => {
      if (bridge.links.delete(session)) bridge.mix.leave(session);
    };
  },
  findPart(id) {
    const bridge = findOpen(id);
    return bridge && isPart(bridge) ? bridge : undefined;
  },
  endPart(part, orphaned) {
    part.actor.send({ type: 'destroy', orphaned });
  },
});

export function createBridges(options: BridgesOptions): Bridges {
  const { bus, runtime, tables, log, media, channels, audio, playbacks, recordings, applications, limits } = options;
  const facts: BridgeFacts = new Facts(log);
  const registry: BridgeRegistry = new Registry<BridgeEntry>('bridgeNotFound');

  /** @param leaving a member to leave out. */
  const model = (bridge: BridgeEntry, leaving?: string): Bridge => {
    const unseen = (playbacks.isBusy('bridge', bridge.id) ? 1 : 0) + recordings.running('bridge', bridge.id);
    return bridgeModel(bridgeSnapshot(bridge), { video: videos.snapshot(bridge.id), unseen, leaving });
  };

  const videos = createBridgeVideos({
    runtime,
    log,
    roomOf(id) {
      const bridge = registry.find(id);
      if (!bridge) return undefined;
      const { mix, views } = bridge;
      return { context: bridgeSnapshot(bridge).context, mix, views, present: staysIn(bridge) };
    },
    publish(id, { old, leaving }: BridgeVideoFact) {
      const bridge = registry.find(id);
      if (!bridge) return;
      const source = old === undefined ? {} : { old_video_source_id: old };
      const event = { type: 'BridgeVideoSourceChanged', bridge: model(bridge, leaving), ...source } as const;
      bus.publish({ event, topics: bridge.topics });
    },
  });
  const members = createBridgeMembers({
    ...{ channels, audio, applications, videos, tables, limit: limits.members, turn: runtime.turn },
  });
  const { bridgeOf, leave, held } = members;
  const hear = mixReports(registry, videos, log);
  const parts: Parts = {
    ...{ options, registry, videos, members },
    openMix: (id, type) => media.openMix(id, type, hear(id)),
  };
  const start = createStart(parts, facts, { model });

  /** One that is not being destroyed. */
  const findOpen = (id: string): BridgeEntry | undefined => {
    const bridge = registry.find(id);
    return bridge && isOpen(bridgeSnapshot(bridge)) ? bridge : undefined;
  };
  const find = (id: string): BridgeEntry | undefined => {
    const bridge = findOpen(id);
    return bridge && !isPart(bridge) ? bridge : undefined;
  };

  options.channelFacts.on('channel.departed', ({ id }) => leave(id));
  options.channelFacts.on('peer.held', ({ id }, { musicClass }) => held(id, musicClass));
  options.channelFacts.on('video.changed', ({ id: channelId }) => {
    const bridge = bridgeOf(channelId);
    if (bridge) videos.tell(bridge.id, { type: 'member.videoChanged', channelId });
  });

  return {
    ...{ facts, find, model, bridgeOf, leave, held, enter: members.enter, entertain: members.entertain },
    ...spanning(members, findOpen),
    ...createSaved(parts, start),
    list: () =>
      registry
        .all()
        .filter((bridge) => isOpen(bridgeSnapshot(bridge)) && !isPart(bridge))
        .map((bridge) => model(bridge)),
    get(id) {
      const bridge = find(id);
      if (!bridge) throw new AriError('bridgeNotFound');
      return model(bridge);
    },
    open(input) {
      const { id, type } = input;
      if (registry.has(id)) throw new AriError('bridgeIdExists', { bridge: id });
      if (registry.size >= limits.bridges) throw new AriError('tooManyBridges', { bridges: String(limits.bridges) });
      return start(id, type, { input });
    },
    destroy: ({ actor }) => actor.send({ type: 'destroy' }),
    tell: ({ actor }, command) => actor.send(command),
    tellVideo: ({ id }, command) => videos.tell(id, command),
    snapshot: bridgeSnapshot,
    videoSnapshot: ({ id }) => videos.snapshot(id),
    playTarget: ({ id, topics, mix }) => ({
      kind: 'bridge',
      id,
      language: options.defaultLanguage,
      topics,
      media: mix,
    }),
    recordTarget: ({ id, topics, mix }) => ({ kind: 'bridge', id, topics, media: mix }),
    get size() {
      return registry.size;
    },
  };
}
