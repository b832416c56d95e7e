import type { Application } from '../models/application.ts';
import type { Channel } from '../models/channel.ts';
import type { DeviceState } from '../models/device-state.ts';
import type { Endpoint } from '../models/endpoint.ts';
import type { Mailbox } from '../models/mailbox.ts';
import type { Playback } from '../models/playback.ts';
import type { RTPstat } from '../models/rtp-statistics.ts';
import type { Sound } from '../models/sound.ts';
import type { AsteriskInfo, AsteriskPing, ConfigTuple, LogChannel, Module } from '../models/system.ts';
import type { Variable, Variables } from '../models/variable.ts';

/**
 * What the interface asks of the rest of the system: for each resource an owner with one method per operation. All
 * of them throw {@link AriError} to refuse. Parameters have been read and coerced; whether they make sense, and in
 * which order that is checked, is the owner's business. `variables` and other objects come as the client sent them.
 */

/** Parameters of an originate, by the names of the interface. `timeout` in s. */
export type OriginateParams = {
  endpoint?: string;
  extension?: string;
  context?: string;
  priority?: number;
  label?: string;
  app?: string;
  appArgs?: string;
  callerId?: string;
  timeout?: number;
  channelId?: string;
  otherChannelId?: string;
  originator?: string;
  formats?: string;
  variables?: unknown;
};

/** Parameters of a create, by the names of the interface. */
export type CreateParams = {
  endpoint?: string;
  app?: string;
  appArgs?: string;
  channelId?: string;
  otherChannelId?: string;
  originator?: string;
  formats?: string;
  variables?: unknown;
};

/** Owner of all channels. Commands return once they are taken; what came of them is told by events. */
export interface ChannelsOwner {
  list(): Channel[];
  get(id: string): Channel;
  originate(params: OriginateParams): Channel;
  create(params: CreateParams): Channel;
  hangup(id: string, params: { reason?: string; reason_code?: string }): void;
  continueInDialplan(
    id: string,
    params: { context?: string; extension?: string; priority?: number; label?: string },
  ): void;
  move(id: string, params: { app?: string; appArgs?: string }): void;
  redirect(id: string, params: { endpoint?: string }): void;
  /** Done when the channel is Up. */
  answer(id: string): void | Promise<void>;
  ring(id: string): void;
  ringStop(id: string): void;
  progress(id: string): void;
  /** Times in ms. */
  sendDtmf(
    id: string,
    params: { dtmf?: string; before?: number; between?: number; duration?: number; after?: number },
  ): void;
  mute(id: string, params: { direction?: string }): void;
  unmute(id: string, params: { direction?: string }): void;
  hold(id: string): void;
  unhold(id: string): void;
  startMoh(id: string, params: { mohClass?: string }): void;
  stopMoh(id: string): void;
  startSilence(id: string): void;
  stopSilence(id: string): void;
  getVariable(id: string, params: { variable?: string }): Variable;
  setVariable(id: string, params: { variable?: string; value?: string; report_events?: boolean }): void;
  getVariables(id: string, params: { variables?: string[] }): Variables;
  setVariables(id: string, params: { variables?: unknown }): void;
  /** `timeout` in s, 0 for none. */
  dial(id: string, params: { caller?: string; timeout?: number }): void;
  rtpStatistics(id: string): Promise<RTPstat>;
}

/** Owner of all playbacks. */
export interface PlaybacksOwner {
  /** `offsetms` and `skipms` in ms. */
  playOnChannel(
    channelId: string,
    params: { media?: string[]; lang?: string; offsetms?: number; skipms?: number; playbackId?: string },
  ): Playback;
  get(id: string): Playback;
  stop(id: string): void;
  control(id: string, params: { operation?: string }): void;
}

/** One connection of one or more applications; see {@link ApplicationsOwner.connect}. */
export type ApplicationConnection = {
  /** Trimmed, 1 to 73 characters each. */
  names: string[];
  subscribeAll: boolean;
  /** Takes an event as JSON text; never throws. */
  send(json: string): void;
  /** Who it is, for the log: address and port. */
  describe: string;
};

/** Owner of all applications. */
export interface ApplicationsOwner {
  list(): Application[];
  get(name: string): Application;
  subscribe(name: string, eventSources: string[] | undefined): Application;
  unsubscribe(name: string, eventSources: string[] | undefined): Application;
  /** `body` is the whole JSON body; undefined when there was none. */
  filter(name: string, body: unknown): Application;
  userEvent(eventName: string, params: { application?: string; source?: string[]; variables?: unknown }): void;
  /** Registers the applications. `close` is called once, when the socket is gone. */
  connect(connection: ApplicationConnection): { close(): void };
}

/** Owner of all endpoints. */
export interface EndpointsOwner {
  list(): Endpoint[];
  listByTech(tech: string): Endpoint[];
  get(tech: string, resource: string): Endpoint;
}

/** Sends text messages and referrals outside of calls. */
export interface MessagesOwner {
  sendMessage(params: { to?: string; from?: string; body?: string; variables?: unknown }): Promise<void>;
  sendMessageToEndpoint(
    tech: string,
    resource: string,
    params: { from?: string; body?: string; variables?: unknown },
  ): Promise<void>;
  refer(params: ReferParams & { to?: string }): Promise<void>;
  referToEndpoint(tech: string, resource: string, params: ReferParams): Promise<void>;
}

/** Parameters of a refer, by the names of the interface. */
export type ReferParams = { from?: string; refer_to?: string; to_self?: boolean; variables?: unknown };

/** Owner of what concerns the system as a whole. */
export interface SystemOwner {
  ping(): AsteriskPing;
  /** The sections named; all of them when undefined. Unknown names are ignored. */
  info(only: string[] | undefined): AsteriskInfo;
  getGlobalVar(variable: string | undefined): Variable;
  setGlobalVar(variable: string | undefined, value: string | undefined): void;
}

export interface SoundsOwner {
  list(filter: { lang?: string; format?: string }): Sound[];
  get(id: string): Sound;
}

export interface DeviceStatesOwner {
  list(): DeviceState[];
  get(name: string): DeviceState;
  update(name: string, state: string | undefined): void;
  delete(name: string): void;
}

export interface MailboxesOwner {
  list(): Mailbox[];
  get(name: string): Mailbox;
  update(name: string, counts: { oldMessages?: number; newMessages?: number }): void;
  delete(name: string): void;
}

export interface LogChannelsOwner {
  list(): LogChannel[];
  add(name: string, configuration: string | undefined): void;
  delete(name: string): void;
  rotate(name: string): void;
}

export interface ModulesOwner {
  list(): Module[];
  get(name: string): Module;
  load(name: string): void;
  unload(name: string): void;
  reload(name: string): void;
}

export interface DynamicConfigOwner {
  get(configClass: string, objectType: string, id: string): ConfigTuple[];
  /** `fields` as the client sent it. */
  update(configClass: string, objectType: string, id: string, fields: unknown): ConfigTuple[] | Promise<ConfigTuple[]>;
  delete(configClass: string, objectType: string, id: string): void | Promise<void>;
}

/** Every owner by the name operations ask for. */
export type Owners = {
  channels: ChannelsOwner;
  playbacks: PlaybacksOwner;
  applications: ApplicationsOwner;
  endpoints: EndpointsOwner;
  messages: MessagesOwner;
  system: SystemOwner;
  sounds: SoundsOwner;
  deviceStates: DeviceStatesOwner;
  mailboxes: MailboxesOwner;
  logChannels: LogChannelsOwner;
  modules: ModulesOwner;
  dynamicConfig: DynamicConfigOwner;
};

/** The owners there are. Where one is absent, its operations do not exist: they are a 404 and in no document. */
export type Deps = { readonly [K in keyof Owners]?: Owners[K] | undefined };
