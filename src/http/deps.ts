import type { Connected, ConnectRequest } from '../actors/application-connections.ts';
import type { Applications } from '../actors/applications.ts';
import type { BridgeOperations } from '../actors/bridge-operations.ts';
import type { Broadcasts } from '../actors/broadcasts.ts';
import type { ChannelOperations } from '../actors/channel-operations.ts';
import type { Contacts } from '../actors/contacts.ts';
import type { EventGroups } from '../actors/event-groups.ts';
import type { ExternalMedia } from '../actors/external-media.ts';
import type { Listening } from '../actors/listening.ts';
import type { Messages } from '../actors/messages.ts';
import type { ObjectOwnership } from '../actors/object-ownership.ts';
import type { Playbacks } from '../actors/playbacks.ts';
import type { RecordingOperations } from '../actors/recording-operations.ts';
import type { Registrations } from '../actors/registrations.ts';
import type { Snoops } from '../actors/snoops.ts';
import type { Watchers } from '../actors/watchers.ts';
import type { WebrtcCalls } from '../actors/webrtc-calls.ts';
import type { Transfers } from '../calls/transfers.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Alarm, History } from '../models/alarm.ts';
import type { ServerInfo } from '../models/server-info.ts';
import type { Usage } from '../models/usage.ts';
import type { Live } from '../recorder/live.ts';
import type { KnownCalls } from '../recorder/stored-calls.ts';
import type { Bans } from '../stores/bans.ts';
import type { DeviceStates } from '../stores/device-states.ts';
import type { DynamicConfig } from '../stores/dynamic-config.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import type { LogChannels } from '../stores/log-channels.ts';
import type { Mailboxes } from '../stores/mailboxes.ts';
import type { Modules } from '../stores/modules.ts';
import type { Charts } from '../stores/page-files.ts';
import type { Sounds } from '../stores/sounds.ts';
import type { StoredRecordings } from '../stores/stored-recordings.ts';
import type { System } from '../stores/system.ts';
import type { LogLevelControl } from '../watch/log-levels.ts';
import type { Sessions } from './sessions.ts';
import type { TokenOperations } from './token-operations.ts';

/**
 * The owners behind the interface: for each resource one with a method per operation. They refuse by throwing
 * `AriError`. Parameters are already parsed; the owner checks their meaning and order. `variables` and other objects
 * come as the client sent them.
 */

/** Registers the applications of a WebSocket. `close` is called once, when the socket is gone. */
export type Connect = (connection: ConnectRequest) => { close(): void; acknowledge?: Connected['acknowledge'] };

/** Every owner by the name operations ask for. */
export type Owners = {
  /** Commands return when they are accepted; events report their results. */
  channels: Omit<ChannelOperations, 'play'>;
  playbacks: Pick<Playbacks, 'get' | 'possible' | 'stop' | 'control'> & { playOnChannel: ChannelOperations['play'] };
  applications: Pick<
    Applications,
    'list' | 'get' | 'subscribe' | 'unsubscribe' | 'filter' | 'userEvent' | 'requireRegistrable' | 'eventsAfter'
  > & {
    connect: Connect;
    /** Brings what other nodes of a cluster know of applications here; left out for a server on its own. */
    bring?: Cluster['bring'];
  };
  bridges: BridgeOperations;
  /** Progress reports of applications for transfers that they handle. */
  transfers: Transfers;
  broadcasts: Broadcasts;
  recordings: RecordingOperations;
  storedRecordings: StoredRecordings;
  snoops: Snoops;
  externalMedia: ExternalMedia;
  endpoints: Pick<Endpoints, 'list' | 'get'> & { listByTech: Endpoints['listByTechnology'] };
  messages: Messages;
  system: System;
  sounds: Sounds;
  deviceStates: DeviceStates;
  mailboxes: Mailboxes;
  logChannels: LogChannels;
  modules: Modules;
  dynamicConfig: DynamicConfig;
  charts: Charts;
  contacts: Contacts;
  registrations: Pick<Registrations, 'list'>;
  watchers: Watchers;
  /** Information about the server, its replacement by the next version or another node, and whether it takes new calls. @throws AriError */
  server: {
    get(): ServerInfo | Promise<ServerInfo>;
    upgrade(): Promise<void>;
    drain(): Promise<ServerInfo> | ServerInfo;
    undrain(): Promise<ServerInfo> | ServerInfo;
    moveCalls(): Promise<void>;
  };
  /** What an operator should look at, and figures of each minute. */
  alarms: { list(): Promise<Alarm[]>; history(): History };
  /** Log-ins of pages; made by the interface itself where left out. */
  sessions: Sessions;
  /** Counts wrong log-ins over SIP and HTTP. */
  bans: Bans;
  /** Which lines are logged. */
  logLevels: LogLevelControl;
  /** The calls that are recorded. */
  calls: Omit<KnownCalls, 'record'> & Partial<Pick<KnownCalls, 'record'>>;
  /** The application that owns channels and bridges. */
  objectOwnership: Pick<
    ObjectOwnership,
    'callOf' | 'applicationOf' | 'ranDialplan' | 'membersOf' | 'creatorOf' | 'by' | 'channelsOf'
  >;
  /** Sends changes to subscribers. */
  live: Pick<Live, 'watch' | 'require'>;
  /** Lets users listen to calls. */
  listening: Pick<Listening, 'require' | 'begin'>;
  /** Connections that share applications; made by the interface itself. */
  groups: Pick<EventGroups, 'list' | 'drain' | 'connect'>;
  /** Tokens of users; created by the interface itself. */
  tokens: TokenOperations;
  /** Browsers that call and are called without SIP. */
  webrtc: WebrtcCalls;
  /** The nodes of the cluster. */
  cluster: Pick<Cluster, 'nodes' | 'forget' | 'markedNode' | 'nodeOfChannel'>;
  /** Counts what the server holds. */
  usage: { get(): Promise<Usage> };
};

/** The present owners. Operations of a missing owner do not exist: they are a 404 and in no document. */
export type Deps = { readonly [K in keyof Owners]?: Owners[K] | undefined };
