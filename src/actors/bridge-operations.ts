import type { Ids } from '../lib/ids.ts';
import {
  type BridgeContext,
  type BridgeFeatures,
  type BridgeOperation,
  firstVideoMode,
  memberOf,
  refuseBridgeOperation,
} from '../machines/bridge.ts';
import { videoModeOf } from '../machines/bridge-video.ts';
import { isEnding, lifeOf } from '../machines/channel.ts';
import { refuseOwnershipOperation } from '../machines/ownership.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import type { Bridge } from '../models/bridge.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { LiveRecording } from '../models/live-recording.ts';
import type { Playback } from '../models/playback.ts';
import type { Variable, Variables } from '../models/variable.ts';
import type { VideoVisibility } from '../models/video-visibility.ts';
import { allowedOnBridge } from './allowed-operations.ts';
import type { BridgeEntry, Entry } from './bridge-entry.ts';
import { type BridgeRequest, readBridgeType, readFeatures } from './bridge-requests.ts';
import type { Bridges } from './bridges.ts';
import type { CallPolicy } from './call-policy.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import { readVariables } from './channel-requests.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';
import { isFormat, type RecordingRequest, readRecordingRequest, refuseNegativeLimits } from './recording-requests.ts';
import type { Recordings } from './recordings.ts';
import { videoVisibilityOf } from './video-visibility.ts';

/** The commands of clients for bridges, by the names of the interface. */
export type BridgeOperations = ReturnType<typeof createBridgeOperations>;

/** Parameters of `addChannel`, by their names in the interface. */
type AddChannelRequest = {
  channel?: string[] | undefined;
  role?: string | undefined;
  absorbDTMF?: boolean | undefined;
  mute?: boolean | undefined;
  inhibitConnectedLineUpdates?: boolean | undefined;
};

type BridgePlayRequest = {
  media?: string[] | undefined;
  announcer_format?: string | undefined;
  lang?: string | undefined;
  offsetms?: number | undefined;
  skipms?: number | undefined;
  playbackId?: string | undefined;
};

type VariableRequest = {
  variable?: string | undefined;
  value?: string | undefined;
  report_events?: boolean | undefined;
};

/** The other nodes of a cluster, as far as their channels are members of bridges of this one. */
export type BridgesBeyond = {
  /** The node of a channel that is not here; undefined if none is known. @throws (rejects) AriError */
  nodeOf(channelId: string): Promise<string | undefined>;
  /** Whether a node really has a channel. @throws (rejects) AriError if it does not answer */
  isAt(channelId: string, node: string): Promise<boolean>;
  /**
   * Opens the audio between a bridge and another node if there is none yet, and checks whether channels there may enter.
   * @throws (rejects) AriError
   */
  prepare(bridge: BridgeEntry, node: string, channelIds: readonly string[]): Promise<void>;
  /** Adds channels of another node that was prepared. @throws (rejects) AriError */
  enter(bridge: BridgeEntry, node: string, channelIds: readonly string[], entry: Entry): Promise<void>;
  /**
   * Takes an answered channel of another node out of its call there, which may be a Dial, and adds it.
   * @param how as what it enters, and the application that it enters unless it is in one
   * @throws (rejects) AriError
   */
  bring(bridge: BridgeEntry, node: string, channelId: string, how: { entry: Entry; app?: string }): Promise<void>;
  /** Lets channels of other nodes out. @throws (rejects) AriError; then they may be in it still */
  leave(bridge: BridgeEntry, channelIds: readonly string[]): Promise<void>;
};

type BridgeOperationsOptions = {
  bridges: Bridges;
  channels: Pick<Channels, 'findByIdOrName' | 'tell'>;
  playbacks: Pick<Playbacks, 'playOn'>;
  recordings: Pick<Recordings, 'recordOn' | 'running'>;
  ids: Ids;
  clock: { now(): number };
  policy: Pick<CallPolicy, 'recordsInBridges'>;
  /** Variables that a bridge may have. */
  variablesLimit: number;
  /** Left out: this server is on its own. */
  beyond?: BridgesBeyond | undefined;
};

/** Finds the bridges and channels that requests name. */
function createLookup({ bridges, channels }: Pick<BridgeOperationsOptions, 'bridges' | 'channels'>) {
  const allowedOn = (bridge: BridgeEntry): AllowedOperations =>
    allowedOnBridge(bridges.snapshot(bridge), bridges.videoSnapshot(bridge));

  /** The bridge, when the operation may be done to it now. @throws AriError 404, 409. */
  const controlled = (id: string, operation: BridgeOperation): BridgeEntry => {
    const bridge = bridges.find(id);
    if (!bridge) throw new AriError('bridgeNotFound');
    const refusal = refuseBridgeOperation(bridges.snapshot(bridge), operation);
    if (refusal) throw new AriError(refusal, {}, { allowed: () => allowedOn(bridge) });
    return bridge;
  };

  /** A channel that a bridge is asked about. @throws AriError memberNotFound, memberNotInStasis. */
  const candidate = (id: string): ChannelEntry => {
    const channel = channels.findByIdOrName(id);
    // One that has been hung up only waits for its end.
    if (!channel || isEnding(snapshotOf(channel))) throw new AriError('memberNotFound');
    if (refuseOwnershipOperation(channel.ownership.getSnapshot(), 'bridge')) throw new AriError('memberNotInStasis');
    return channel;
  };

  /** @throws AriError memberRequired. */
  const required = (named: readonly string[] | undefined): string[] => {
    const wanted = (named ?? []).filter((id) => id !== '');
    if (wanted.length === 0) throw new AriError('memberRequired');
    return wanted;
  };

  /** All of them, before anything is done to one. @throws AriError memberNotFound, memberNotInStasis. */
  const candidates = (wanted: readonly string[]): ChannelEntry[] => [...new Set(wanted.map(candidate))];

  const inside = (bridge: BridgeEntry, channel: ChannelEntry): ChannelEntry => {
    if (!memberOf(bridges.snapshot(bridge), channel.id)) throw new AriError('memberNotInBridge');
    return channel;
  };

  return { allowedOn, controlled, candidate, required, candidates, inside };
}

type Lookup = ReturnType<typeof createLookup>;

/** A bridge that channels of other nodes may enter. @throws AriError bridgeOfOneNode */
function requireSpanning({ flags }: BridgeContext, channel: string, node: string): void {
  if (flags.includes('video_sfu') || flags.includes('video_single'))
    throw new AriError('bridgeOfOneNode', { channel, node });
}

/** What the request says about each of its channels, or else the bridge. */
const entryOf = (request: AddChannelRequest, { mute, suppressDtmf }: BridgeFeatures): Entry => ({
  role: request.role ?? '',
  muted: request.mute || mute,
  absorbsDigits: request.absorbDTMF || suppressDtmf,
  inhibitsConnectedLine: request.inhibitConnectedLineUpdates ?? false,
});

/** Commands about members of which some are at other nodes. */
function createSpanningOperations(
  { bridges, channels }: BridgeOperationsOptions,
  { controlled, candidates }: Lookup,
  beyond: BridgesBeyond,
) {
  /** The node of each. @throws (rejects) AriError memberNotFound */
  const byNode = async (ids: readonly string[]): Promise<Map<string, string[]>> => {
    const found = new Map<string, string[]>();
    const nodes = await Promise.all(ids.map((id) => beyond.nodeOf(id)));
    for (const [index, id] of ids.entries()) {
      const node = nodes[index];
      if (node === undefined) throw new AriError('memberNotFound');
      found.set(node, [...(found.get(node) ?? []), id]);
    }
    return found;
  };
  /** A member at another node by its id or name, and its id. */
  const guestNamed = ({ guests }: BridgeEntry, wanted: string): [string, string][] => {
    if (guests.has(wanted)) return [[wanted, wanted]];
    const found = [...guests.values()].find(({ channel }) => channel.name === wanted);
    return found ? [[wanted, found.channelId]] : [];
  };
  const areHere = (ids: readonly string[]): string[] => ids.filter((id) => channels.findByIdOrName(id));

  return {
    /** Whether a channel is at no other node. */
    isHere: (id: string): boolean => channels.findByIdOrName(id) !== undefined,

    /** As `addChannel`. All are checked before one of them enters. */
    async add(id: string, wanted: readonly string[], enter: (bridge: BridgeEntry, here: ChannelEntry[]) => Entry) {
      const bridge = controlled(id, 'addChannel');
      const { context } = bridges.snapshot(bridge);
      const here = areHere(wanted);
      candidates(here);
      const others = await byNode([...new Set(wanted.filter((each) => !here.includes(each)))]);
      for (const [node, [first = '']] of others) requireSpanning(context, first, node);
      bridges.requireRoom(bridge, wanted.length);
      await Promise.all([...others].map(([node, ids]) => beyond.prepare(bridge, node, ids)));
      if (controlled(id, 'addChannel') !== bridge) throw new AriError('bridgeNotFound');
      const entry = enter(bridge, candidates(here));
      for (const [node, ids] of others) await beyond.enter(bridge, node, ids, entry);
    },

    /** The party of another call, for a transfer. */
    async bring(bridge: BridgeEntry, channelId: string, how: { entry: Entry; app?: string }) {
      const [node = ''] = (await byNode([channelId])).keys();
      requireSpanning(bridges.snapshot(bridge).context, channelId, node);
      bridges.requireRoom(bridge, 1);
      await beyond.bring(bridge, node, channelId, how);
    },

    /** As `removeChannel`. */
    async remove(bridge: BridgeEntry, wanted: readonly string[], leave: (here: readonly string[]) => void) {
      const guests = new Map(wanted.flatMap((each) => guestNamed(bridge, each)));
      const rest = wanted.filter((each) => !guests.has(each));
      const unknown = rest.filter((each) => !areHere([each]).length);
      for (const [node, ids] of await byNode(unknown))
        for (const each of ids)
          throw new AriError((await beyond.isAt(each, node)) ? 'memberNotInBridge' : 'memberNotFound');
      leave(rest);
      await beyond.leave(bridge, [...guests.values()]);
    },
  };
}

/** Commands about the members of bridges. */
function createMemberOperations(options: BridgeOperationsOptions, lookup: Lookup) {
  const { bridges, recordings, policy, beyond } = options;
  const { controlled, candidate, required, candidates, inside } = lookup;
  const spanning = beyond && createSpanningOperations(options, lookup, beyond);

  const requireUnrecorded = (channel: ChannelEntry): void => {
    if (!policy.recordsInBridges && recordings.running('channel', channel.id) > 0)
      throw new AriError('memberRecording', { channel: channel.id });
  };
  const enterAll = (bridge: BridgeEntry, entering: readonly ChannelEntry[], entry: Entry): void => {
    for (const channel of entering) {
      // As in Asterisk, this stops at the first one that is being recorded; those before it are in by then.
      requireUnrecorded(channel);
      bridges.enter(bridge, channel, entry);
    }
  };
  const leaveAll = (bridge: BridgeEntry, wanted: readonly string[]): void => {
    const leaving = candidates(wanted).map((channel) => inside(bridge, channel));
    for (const channel of leaving) bridges.leave(channel.id);
  };

  return {
    addChannel(id: string, request: AddChannelRequest): void | Promise<void> {
      const bridge = controlled(id, 'addChannel');
      const wanted = required(request.channel);
      const entry = entryOf(request, bridges.snapshot(bridge).context.features);
      if (!spanning || wanted.every(spanning.isHere)) return enterAll(bridge, candidates(wanted), entry);
      return spanning.add(id, wanted, (same, here) => {
        enterAll(same, here, entry);
        return entry;
      });
    },

    /**
     * Adds the party of another call for a transfer, also to a bridge of the dialplan. One of another node may be in a Dial.
     * @param app the application that it enters there, unless it is in one
     * @throws (rejects) AriError
     */
    async bring(bridge: BridgeEntry, channelId: string, app: string | undefined): Promise<void> {
      const entry = entryOf({}, bridges.snapshot(bridge).context.features);
      if (spanning && !spanning.isHere(channelId))
        return spanning.bring(bridge, channelId, { entry, ...(app !== undefined && { app }) });
      enterAll(bridge, candidates([channelId]), entry);
    },

    removeChannel(id: string, request: { channel?: string[] | undefined }): void | Promise<void> {
      const bridge = controlled(id, 'removeChannel');
      const wanted = required(request.channel);
      if (!spanning || wanted.every(spanning.isHere)) return leaveAll(bridge, wanted);
      return spanning.remove(bridge, wanted, (here) => here.length > 0 && leaveAll(bridge, here));
    },

    /** The channels of this node that enter a bridge of another one. @throws AriError as addChannel */
    candidates(ids: readonly string[]): ChannelEntry[] {
      const entering = candidates(ids);
      entering.forEach(requireUnrecorded);
      return entering;
    },

    setVideoSource(id: string, channelId: string): void {
      const bridge = controlled(id, 'setVideoSource');
      const channel = inside(bridge, candidate(channelId));
      bridges.tellVideo(bridge, { type: 'setVideoSource', channelId: channel.id });
    },
    clearVideoSource: (id: string): void =>
      bridges.tellVideo(controlled(id, 'clearVideoSource'), { type: 'clearVideoSource' }),
  };
}

/** Commands about what the members of bridges hear, and recordings of it. */
function createMediaOperations(options: BridgeOperationsOptions, { controlled }: Lookup) {
  const { bridges, channels, playbacks, recordings } = options;

  /** Members that are not answered get an early audio path, or they would not hear what is played. */
  const openEarlyMedia = (bridge: BridgeEntry): void => {
    for (const { channel } of bridge.stays.values())
      if (lifeOf(snapshotOf(channel)) === 'ring') channels.tell(channel, { type: 'progress' });
  };

  return {
    startMoh: (id: string, request: { mohClass?: string | undefined }): void =>
      bridges.tell(controlled(id, 'startMoh'), { type: 'startMoh', musicClass: request.mohClass || 'default' }),
    stopMoh: (id: string): void => bridges.tell(controlled(id, 'stopMoh'), { type: 'stopMoh' }),

    play(id: string, { announcer_format: format, ...request }: BridgePlayRequest): Playback {
      const bridge = controlled(id, 'play');
      if (format && !isFormat(format)) throw new AriError('announcerFormatUnknown');
      const playback = playbacks.playOn(bridges.playTarget(bridge), { ...request, media: request.media ?? [] });
      openEarlyMedia(bridge);
      return playback;
    },

    record(id: string, request: RecordingRequest): LiveRecording {
      const bridge = controlled(id, 'record');
      const plan = readRecordingRequest(request, 'bridge');
      refuseNegativeLimits(request);
      return recordings.recordOn(bridges.recordTarget(bridge), plan);
    },
  };
}

/** Commands about the variables of bridges. */
function createVariableOperations({ bridges, variablesLimit }: BridgeOperationsOptions, { controlled }: Lookup) {
  /** @throws AriError limitReached when the bridge would have too many variables with these. */
  const requireRoom = (bridge: BridgeEntry, names: readonly string[]): void => {
    const { variables } = bridges.snapshot(bridge).context;
    const added = new Set(names.filter((name) => !Object.hasOwn(variables, name))).size;
    if (added > 0) requireWithin('channel_variables', Object.keys(variables).length + added, variablesLimit);
  };

  const readVariable = (bridge: BridgeEntry, name: string): string => {
    const { variables } = bridges.snapshot(bridge).context;
    if (!Object.hasOwn(variables, name)) throw new AriError('variableNotFound');
    return variables[name] ?? '';
  };

  /** The bridge whose variables are requested. Every error is reported as not found. */
  const withVariables = (id: string): BridgeEntry => {
    const bridge = bridges.find(id);
    if (!bridge || refuseBridgeOperation(bridges.snapshot(bridge), 'variable'))
      throw new AriError('bridgeVariablesNotFound');
    return bridge;
  };

  return {
    getVariable(id: string, { variable }: VariableRequest): Variable {
      if (!variable) throw new AriError('variableNameRequired');
      return { value: readVariable(controlled(id, 'variable'), variable) };
    },

    setVariable(id: string, request: VariableRequest): void {
      if (!request.variable) throw new AriError('variableNameRequired');
      const bridge = controlled(id, 'variable');
      const name = request.variable;
      requireRoom(bridge, [name]);
      bridges.tell(bridge, {
        type: 'variable.set',
        name,
        value: request.value || undefined,
        report: request.report_events ?? false,
      });
    },

    getVariables(id: string, { variables }: { variables?: string[] | undefined }): Variables {
      if (!variables || variables.length === 0) throw new AriError('variableNameNeeded');
      const bridge = withVariables(id);
      // The first name that is wrong decides.
      const read = (name: string) => {
        if (name === '') throw new AriError('variableNamesRequired');
        // Functions are of channels; of a bridge there are none.
        if (name.endsWith(')')) throw new AriError('functionUnreadable');
        return [name, readVariable(bridge, name)];
      };
      return { variables: Object.fromEntries(variables.map((name) => read(name))) };
    },

    setVariables(id: string, { variables }: { variables?: unknown }): void {
      if (variables === undefined || variables === null) throw new AriError('variablesRequired');
      const bridge = withVariables(id);
      const requested = readVariables(variables);
      requireRoom(
        bridge,
        requested.map(({ name }) => name),
      );
      for (const { name, value, report } of requested)
        bridges.tell(bridge, {
          type: 'variable.set',
          name,
          value: value || undefined,
          ...(report === undefined ? {} : { report }),
        });
    },
  };
}

/** Creates the commands of clients for bridges: each reads the request, then refuses it or carries it out. */
export function createBridgeOperations(options: BridgeOperationsOptions) {
  const { bridges, ids, clock, variablesLimit } = options;
  const lookup = createLookup(options);
  const { allowedOn, controlled } = lookup;

  const make = (request: BridgeRequest, id: string, invalid: AriError): Bridge => {
    const requested = readVariables(request.variables);
    requireWithin('channel_variables', new Set(requested.map(({ name }) => name)).size, variablesLimit);
    const features = readFeatures(request.features);
    const kind = readBridgeType(request.type);
    if (!kind) throw invalid;
    const bridge = bridges.open({
      id,
      name: request.name ?? '',
      ...kind,
      features,
      class: 'stasis',
      creationTime: clock.now(),
      variables: Object.fromEntries(requested.map(({ name, value }) => [name, value])),
      reported: requested.filter(({ report }) => report === true).map(({ name }) => name),
    });
    return bridges.model(bridge);
  };

  return {
    list: (): Bridge[] => bridges.list(),
    get: (id: string): Bridge => bridges.get(id),
    /** The operations that it allows now, and reasons for the others. @throws AriError bridgeNotFound. */
    possible(id: string): AllowedOperations {
      const bridge = bridges.find(id);
      if (!bridge) throw new AriError('bridgeNotFound');
      return allowedOn(bridge);
    },

    /** Which member sees which, and reasons. @throws AriError bridgeNotFound. */
    async videoVisibility(id: string): Promise<VideoVisibility[]> {
      const bridge = bridges.find(id);
      if (!bridge) throw new AriError('bridgeNotFound');
      const present = [...bridge.stays.values()];
      const told = await Promise.all(
        present.map(async ({ channel: { id: member, leg } }) => {
          // A session that has ended meanwhile has no figures.
          const figures = await leg.video?.statistics().catch(() => []);
          return [member, figures ?? []] as const;
        }),
      );
      const video = bridges.videoSnapshot(bridge);
      const mode = video ? videoModeOf(video) : firstVideoMode(bridges.snapshot(bridge).context);
      return videoVisibilityOf({ mode, views: bridge.views, present, figures: new Map(told) });
    },

    create(request: BridgeRequest): Bridge {
      const id = request.bridgeId || ids.uuid();
      return make(request, id, new AriError('bridgeTypeInvalid', { bridge: id }));
    },
    createWithId: (id: string, request: BridgeRequest): Bridge =>
      make(request, id, new AriError('bridgeTypeInvalidWithId')),

    destroy: (id: string): void => bridges.destroy(controlled(id, 'destroy')),
    ...createMemberOperations(options, lookup),
    ...createMediaOperations(options, lookup),
    ...createVariableOperations(options, lookup),
  };
}
