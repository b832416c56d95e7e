// Written from the operations and models by `npm run client`; do not edit.

import type { RequestOptions } from './requests.ts';

/** The requesting user, and its rights. */
export interface Access {
  /** The user. */
  user: string;
  /** Name of the token that it came with. */
  token?: string;
  /** Whether it may only read. */
  read_only: boolean;
  /** Its scopes; all apply. */
  scopes: AccessScope[];
  /** Its operations, as `resource:operation`. */
  operations: string[];
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  expires?: string;
}

/** Limits of a user or token. A list that is left out limits nothing. */
export interface AccessScope {
  /** Applications to be, to look at and to send channels to; `*` stands for any letters. */
  applications?: string[];
  /** `resource`, `resource:read`, `resource:change`, `resource:operation`. */
  operations?: string[];
  /** Contexts of the dialplan that channels may be sent to. */
  contexts?: string[];
  /** Endpoints that may be called; `*` does not match `/` or `@`. */
  endpoints?: string[];
}

/** A parameter that a technology added. */
export interface AdditionalParam {
  /** Name of the parameter. */
  parameter_name: string;
  /** Its value. */
  parameter_value: string;
}

/** Something that an operator should look at now. */
export interface Alarm {
  /** The kind of alarm. */
  kind: 'registration' | 'application' | 'one_way_audio' | 'media_late' | 'state_store' | 'disk' | 'lost_records' | 'certificate' | 'phones' | 'attack' | 'failed_calls' | 'stuck' | 'event_loop_late' | 'sip_unanswered' | 'limit';
  /** `critical`: calls fail or are lost. */
  severity: 'critical' | 'warning';
  /** The problem, in words. */
  text: string;
  /** What to do about it. */
  advice: string;
  /** The endpoint, application, certificate or setting that it is about. */
  object?: string;
  /** Its start in ms since the Unix epoch, if known. */
  since?: number;
  /** How many objects, calls or times. */
  count: number;
  /** Ids of its calls, newest first: 20 at most. */
  calls: string[];
}

/** An operation, and whether it may be done now. */
export interface AllowedOperation {
  /** The command. */
  operation: string;
  /** Whether it may be done now. */
  allowed: boolean;
  /** Why it changes nothing, although it is allowed. */
  without_effect?: string;
  /** Name of the refusal. */
  error?: string;
  /** HTTP status of the refusal. */
  status?: number;
  /** Words of the refusal. */
  message?: string;
  /** A sentence with the current state and what must happen first. */
  reason?: string;
  /** The chart that refuses it. */
  chart?: string;
  /** States of that chart that would allow it, if nothing else changes. */
  allowed_in?: string[];
}

/** The operations that an object allows now, and reasons for the others. */
export interface AllowedOperations {
  /** The kind of object. */
  kind: 'channel' | 'bridge' | 'playback' | 'recording';
  /** Its id; the name of a recording. */
  id: string;
  /** The state of each chart behind it. */
  states: { [name: string]: string };
  operations: AllowedOperation[];
}

/** A client application and what it listens to. */
export interface Application {
  /** Name it connected with. */
  name: string;
  /** Channels it is subscribed to. */
  channel_ids: string[];
  /** Bridges it is subscribed to. */
  bridge_ids: string[];
  /** Endpoints it is subscribed to, as technology/resource, or a technology alone. */
  endpoint_ids: string[];
  /** Devices it is subscribed to. */
  device_names: string[];
  /** Event types that it receives; empty for all. */
  events_allowed: ({ [name: string]: unknown })[];
  /** Event types that it does not receive. */
  events_disallowed: ({ [name: string]: unknown })[];
}

/** The system, in sections that can be asked for one by one. */
export interface AsteriskInfo {
  /** How the running program was made. */
  build?: BuildInfo;
  /** The running system. */
  system?: SystemInfo;
  /** Configured values; unset limits are left out. */
  config?: ConfigInfo;
  /** Since when the system runs. */
  status?: StatusInfo;
}

/** The answer to a ping. */
export interface AsteriskPing {
  /** Id of this system. */
  asterisk_id: string;
  /** Always pong. */
  ping: string;
  /** When it was answered. */
  timestamp: string;
}

/** Results of audit log lines since the start. */
export interface AuditCounts {
  /** Lines that were written, or should have been. */
  lines: number;
  /** Lines that were lost: the disk did not take them. */
  lost: number;
}

/** An address that gave wrong passwords of late. */
export interface Ban {
  /** Address, or for IPv6 the network of 64 bits. */
  address: string;
  /** Wrong log-ins that count against it. */
  attempts: number;
  /** User names that were tried; only the first few are kept. */
  users: string[];
  /** Protocols of these log-ins. */
  protocols: ('sip' | 'http')[];
  /** Old name of `protocols`, until 0.3. */
  doors: ('sip' | 'http')[];
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  first: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  last: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  ignored_until?: string;
}

/** Channels that hear each other, or that wait together. */
export interface Bridge {
  /** Unique id: given by the creator, or a UUID. */
  id: string;
  /** How its channels are joined now: simple_bridge, softmix or holding_bridge. */
  technology: string;
  /** mixing: all hear each other; holding: all wait. */
  bridge_type: 'mixing' | 'holding';
  /** stasis for bridges of applications, basic for those of the dialplan. */
  bridge_class: string;
  /** Creator: Stasis for applications, else empty. */
  creator: string;
  /** Name given by the creator, or empty. */
  name: string;
  /** Ids of the channels in it. */
  channels: string[];
  /** Whose video is shown: talker, single or sfu; none by default. */
  video_mode?: string;
  /** Channel whose video is shown, if known. */
  video_source_id?: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  creationtime: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  creation?: string;
  /** Variables that a client asked to see, with their values. */
  bridgevars?: { [name: string]: string };
}

/** How the running program was made. */
export interface BuildInfo {
  /** Operating system. */
  os: string;
  /** Version of its kernel. */
  kernel: string;
  /** Options the program was made with. */
  options: string;
  /** Processor architecture. */
  machine: string;
  /** When it was made. */
  date: string;
  /** Creator. */
  user: string;
}

/** A call: channels that belong together. */
export interface Call {
  /** Its id: the `linkedid` of its channels. */
  id: string;
  /** Whether a channel is left. */
  state: 'live' | 'ended';
  /** When its first channel came, in ms since the Unix epoch. */
  began: number;
  /** When its last channel went. */
  ended?: number;
  /** How long it has been, or was, in ms. */
  duration_ms: number;
  /** The outcome of a call or of a leg. */
  outcome: CallOutcome;
  /** Its channels, in the order in which they came. */
  channels: CallChannel[];
  /** Applications that were in control of a channel of it. */
  applications: string[];
  /** Bridges that a channel of it was in. */
  bridges: string[];
  /** Its stuck objects. */
  stuck: WaitingFor[];
  /** Entries of its timeline. */
  entries: number;
  /** Entries that have gone because there were too many. */
  gone: number;
  /** Place in the order of the last thing that was recorded of it. */
  seq: number;
  /** Hidden parts of a call. */
  masked?: CallMask;
}

/** A channel of a call. */
export interface CallChannel {
  /** Its id. */
  id: string;
  /** Its name. */
  name: string;
  /** The state that clients see. */
  state: string;
  /** The state of its life's chart. */
  life: string;
  /** `technology/resource` of the endpoint that it belongs to. */
  endpoint?: string;
  /** The dialed target: `bob`, or `0301234@provider`. Left out for incoming channels. */
  dialed?: string;
  /** A party of a call, with the identity that it presents. */
  caller: CallerID;
  /** A party of a call, with the identity that it presents. */
  connected: CallerID;
  /** The application in control of it. */
  application?: string;
  /** `extension@context` of the dialplan that it is or was at. */
  extension: string;
  /** When it came, in ms since the Unix epoch. */
  began: number;
  /** When it went, in ms since the Unix epoch. */
  ended?: number;
  /** Whether it came in or went out. */
  direction: 'in' | 'out';
  /** Q.850 cause that it ended or is ending with; 0 while there is none. */
  cause: number;
  /** The SIP status that it ended with. */
  sip_status?: number;
  /** The outcome of a call or of a leg. */
  outcome: CallOutcome;
  /** Why it failed, where the cause does not say so: its application was not connected. */
  failure?: string;
}

/** A call with everything that was recorded of it. */
export interface CallDetail {
  /** Its id: the `linkedid` of its channels. */
  id: string;
  /** Whether a channel is left. */
  state: 'live' | 'ended';
  /** When its first channel came, in ms since the Unix epoch. */
  began: number;
  /** When its last channel went. */
  ended?: number;
  /** How long it has been, or was, in ms. */
  duration_ms: number;
  /** The outcome of a call or of a leg. */
  outcome: CallOutcome;
  /** Its channels, in the order in which they came. */
  channels: CallChannel[];
  /** Applications that were in control of a channel of it. */
  applications: string[];
  /** Bridges that a channel of it was in. */
  bridges: string[];
  /** Its stuck objects. */
  stuck: WaitingFor[];
  /** Entries of its timeline. */
  entries: number;
  /** Entries that have gone because there were too many. */
  gone: number;
  /** Place in the order of the last thing that was recorded of it. */
  seq: number;
  /** Hidden parts of a call. */
  masked?: CallMask;
  /** It was read from the disk: the recorder no longer has it in memory. */
  stored?: boolean;
  /** In order. */
  timeline: (StepEntry | RequestEntry | EventEntry | SipEntry | MediaEntry)[];
}

/** A party of a call, with the identity that it presents. */
export interface CallerID {
  /** Name to show; empty when unknown. */
  name: string;
  /** Number to show; empty when unknown. */
  number: string;
}

/** Hidden parts of a call. */
export interface CallMask {
  /** Digits that were pressed or sent. */
  digits: boolean;
  /** Variables whose values are not shown. */
  variables: string[];
}

/** The outcome of a call or of a leg. */
export interface CallOutcome {
  /**
   * `pending`: not decided yet. `answered`: the parties could talk. `refused`: turned down. `abandoned`: the calling
   * side gave it up. `failed`: everything else, also a call that was dropped.
   */
  result: 'pending' | 'answered' | 'failed' | 'refused' | 'abandoned';
  /** Why, in words; empty while it is pending. */
  reason: string;
  /** Who decided it; left out while it is pending or unknown. */
  by?: 'caller' | 'callee' | 'application' | 'dialplan' | 'server' | 'timeout' | 'fault';
}

/** Some of the calls that were asked for. */
export interface CallPage {
  calls: Call[];
  /** How many there are in all. */
  total: number;
  /** The `offset` of the next page; left out at the end. */
  next?: number;
  /**
   * Stored calls that ended before this were not looked at (`recorder.disk.searched`), in ms since the Unix epoch: ask
   * again with it as `to`.
   */
  unsearched_before?: number;
  /** Ended calls that went before their time because everything together took too much memory. */
  evicted: number;
}

/** The connection between this system and one party of a call. */
export interface Channel {
  /** Unique id, given by the creator or the system. */
  id: string;
  /** The technology's own id of the call, e.g. the SIP Call-ID; empty when it has none. */
  protocol_id: string;
  /** Technology, resource and a unique tail, e.g. PJSIP/alice-0a1b2c3d. */
  name: string;
  /** The channel's state. */
  state: 'Down' | 'Rsrvd' | 'OffHook' | 'Dialing' | 'Ring' | 'Ringing' | 'Up' | 'Busy' | 'Dialing Offhook' | 'Pre-ring' | 'Mute' | 'Unknown';
  /** A party of a call, with the identity that it presents. */
  caller: CallerID;
  /** A party of a call, with the identity that it presents. */
  connected: CallerID;
  /** Account that the call is charged to. */
  accountcode: string;
  /** A dialplan position, and its application. */
  dialplan: DialplanCEP;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  creationtime: string;
  /** Language that sounds are played in. */
  language: string;
  /** Variables that the configuration or a client asked to see, with their values. */
  channelvars?: { [name: string]: string };
  /** Number that redirected the call here. */
  caller_rdnis?: string;
  /** Tenant that the channel belongs to. */
  tenantid?: string;
}

/** A chart with everything it says. */
export interface Chart {
  /** Its name, as steps have it. */
  name: string;
  /** The same for people. */
  title: string;
  /** Its subject. */
  about: string;
  /** Its source file. */
  file: string;
  states: ChartState[];
  transitions: ChartTransition[];
  events: ChartEvent[];
  /** Its delays, in words. */
  delays: { [name: string]: string };
}

/** An event that a chart is sent at a time. */
export interface ChartDeadline {
  /** The event, as the chart names it: `after qualifyInterval`. */
  event: string;
  /** When, in ms since the Unix epoch. */
  at: number;
}

/** The transitions of one event in each state. */
export interface ChartEvent {
  /** The command, report or operation. */
  event: string;
  /** `command` comes from above, `report` from below. */
  kind: 'command' | 'report';
  /** By state, in words: the action, the error for the client, or the reason why it is ignored. */
  in: { [name: string]: string };
}

/** A state of a chart. */
export interface ChartState {
  /** Its path in the chart, e.g. `up` or `there.mute.mutedIn`; the SVG has it as `state:<id>`. */
  id: string;
  /** As in xstate. */
  kind: 'atomic' | 'compound' | 'parallel' | 'final';
  /** The state that it lies in. */
  parent?: string;
  /** It is entered first. */
  initial?: boolean;
  /** The public state. */
  shown?: string;
  /** Effects on entry. */
  effects: string[];
  /** Facts on entry. */
  facts: string[];
}

/** A chart. */
export interface ChartSummary {
  /** Its name, as steps have it. */
  name: string;
  /** The same for people. */
  title: string;
  /** Its subject. */
  about: string;
  /** Ids of its states. */
  states: string[];
}

/** A transition of a state by an event. */
export interface ChartTransition {
  /** The state that declares it; `` for the chart as a whole. */
  from: string;
  /** The next state. Left out if the state stays. */
  to?: string;
  /** The event, or `after …`, or `always`. */
  event: string;
  /** Only when this holds. */
  guard?: string;
  /** Its effects. */
  effects: string[];
  /** Its facts. */
  facts: string[];
  /** Id of its line in the SVG. */
  edge?: string;
}

/** A node of the cluster, as the answering node sees it. */
export interface ClusterNode {
  /** Its name, with which the ids of its objects begin. */
  name: string;
  /** Whether it is the node that answers. */
  self: boolean;
  /**
   * `member`: it is heard. `suspect`: it has been silent for `cluster.suspect_after`. `away`: for `cluster.away_after`.
   * A node that ends in an orderly way is listed no more. `joining`: not heard yet. The answering node is `away` while
   * NATS cannot be reached, and `excluded` while another server has its name.
   */
  state: 'joining' | 'member' | 'suspect' | 'away' | 'excluded';
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  heard?: string;
  /** Figures that a node of the cluster reports. */
  figures?: NodeFigures;
}

/** Configured values; unset limits are left out. */
export interface ConfigInfo {
  /** Name of the system. */
  name: string;
  /** Language of sounds where none is asked for. */
  default_language: string;
  /** Most channels at the same time. */
  max_channels?: number;
  /** Most open files. */
  max_open_files?: number;
  /** Load above which no calls are taken. */
  max_load?: number;
  /** User of the process. */
  setid: SetId;
}

/** One attribute of a configured object. */
export interface ConfigTuple {
  /** Name of the attribute. */
  attribute: string;
  /** Its value. */
  value: string;
}

/** An address that an endpoint is reached at, and whether it answers. */
export interface ContactInfo {
  /** Where requests are sent. */
  uri: string;
  /** Result of the last check. */
  contact_status: 'Unreachable' | 'Reachable' | 'Unknown' | 'NonQualified' | 'Removed';
  /** Address of record that the contact belongs to. */
  aor: string;
  /** Round trip of the last answered check, in microseconds. */
  roundtrip_usec?: string;
}

/** An address that an endpoint is reached at, and how it is doing. */
export interface ContactView {
  /** Endpoint that it belongs to, as `technology/resource`. */
  endpoint: string;
  /** Where requests are sent. */
  uri: string;
  /** Address of record that the contact belongs to. */
  aor: string;
  /** Result of the last check. */
  contact_status: 'Unreachable' | 'Reachable' | 'Unknown' | 'NonQualified' | 'Removed';
  /** Round trip of the last answered check, in microseconds. */
  roundtrip_usec?: string;
  /** Its state, as its chart names it: `reachable.resting`. */
  state: string;
  /** The pending deadlines of its chart: event and time. */
  deadlines: ChartDeadline[];
}

/** How busy a device is. */
export interface DeviceState {
  /** Name of the device, e.g. Stasis:queue or PJSIP/alice. */
  name: string;
  /** Its state. */
  state: 'UNKNOWN' | 'NOT_INUSE' | 'INUSE' | 'BUSY' | 'INVALID' | 'UNAVAILABLE' | 'RINGING' | 'RINGINUSE' | 'ONHOLD';
}

/** A dialplan position, and its application. */
export interface DialplanCEP {
  /** Context of the dialplan. */
  context: string;
  /** Extension within the context. */
  exten: string;
  /** Step within the extension, from 1; null when the channel is at none. */
  priority: number | unknown;
  /** Dialplan application that runs now; empty when none does. */
  app_name: string;
  /** Arguments of that application. */
  app_data: string;
}

/** Something that can be called, e.g. a phone. */
export interface Endpoint {
  /** Technology it is reached by, e.g. PJSIP. */
  technology: string;
  /** Name within the technology. */
  resource: string;
  /** Whether a call would reach it. */
  state?: 'unknown' | 'offline' | 'online';
  /** Ids of its channels. */
  channel_ids: string[];
  /** Our registrations at its provider; left out where there are none. */
  registrations?: Registration[];
}

/** An event that an application was sent, or missed. */
export interface EventEntry {
  kind: 'event';
  /** Place in the order of everything that the server has recorded; grows, with gaps. */
  seq: number;
  /** When it was, in ms since the Unix epoch. */
  at: number;
  /** Application that it was for. */
  application: string;
  /** Its `seq` among the application's events. */
  number: number;
  /** Type of the event. */
  type: string;
  /** True when the application had no connection. */
  missed: boolean;
  /** The event. */
  event: { [name: string]: unknown };
}

/** Connections that share the events of an application. */
export interface EventGroup {
  /** Name of the application. */
  application: string;
  /** Name of the group. */
  group: string;
  /** Its members in the order in which they joined. */
  members: EventGroupMember[];
}

/** A connection that shares the events of an application. */
export interface EventGroupMember {
  /** Name of the member. */
  name: string;
  /** A draining member gets no new calls. One that is away has not come back since the server was restarted. */
  state: 'active' | 'draining' | 'away';
  /** Calls of the member that are in the application. */
  calls: number;
}

/** A language and a format that a sound exists in. */
export interface FormatLangPair {
  /** Language, e.g. en. */
  language: string;
  /** Format of the file, e.g. wav. */
  format: string;
}

/** The collector that SIP messages are sent to (HOMER), and how that goes. */
export interface HepCollector {
  /** Its address. */
  address: string;
  /** Its port. */
  port: number;
  /** udp or tcp. Over udp a missing collector is not noticed. */
  transport: string;
  /**
   * Whether messages go there; `behind`: it does not read them, and so many wait that further ones are left out. Of a
   * connection that is lost, a new one is tried every 30 s at least.
   */
  state: 'sending' | 'behind' | 'connecting' | 'lost';
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  since: string;
  /** Why it is lost or behind. */
  reason?: string;
  /** Messages that were not sent since the start. */
  left_out: number;
  /** Why the newly configured collector could not be used. */
  refused?: string;
}

/** Figures of each minute, oldest first. They survive a restart; minutes without a server are 0. */
export interface History {
  /** Seconds between two values. */
  interval_s: number;
  /** End of the first interval, in ms since the Unix epoch. */
  from: number;
  /** Live calls at the end of the minute. */
  live_calls: number[];
  /** Calls that began. */
  new_calls: number[];
  /** Calls that were answered. */
  answered_calls: number[];
  /** Calls that failed or were refused. */
  failed_calls: number[];
  /** Answered calls that began to lack the audio of their far side. */
  one_way_calls: number[];
  /** Calls that asked for an application that was not connected. */
  missing_applications: number[];
  /** Ticks that media threads left out. */
  skipped_ticks: number[];
  /** SIP requests without response. */
  sip_timeouts: number[];
  /** Call records and audit lines that were lost. */
  lost_records: number[];
  /** 99th percentile of the event loop's delay, in ms. */
  loop_delay_ms: number[];
  /** Memory of the process at the end of the minute, in MB. */
  memory_mb: number[];
}

/** A STUN or TURN server, as RTCPeerConnection takes it. */
export interface IceServer {
  /** Its addresses. */
  urls: string[];
  /** The name to log in with; it ends with the credential. */
  username?: string;
  /** The password, good for `media.webrtc.turn.lifetime`. */
  credential?: string;
}

/** The first message to a listener: the format of the binary ones. */
export interface Listened {
  type: 'listening';
  /** Id of the channel. */
  channel: string;
  /** Samples a second. */
  sample_rate: number;
  /** Bits of a sample; one channel, linear, signed, little end first. */
  bits: number;
}

/** An application in numbers. */
export interface LiveApplication {
  /** Its name. */
  name: string;
  /** Whether its WebSocket is there. */
  connected: boolean;
  /** Its state, as its chart names it: `inactive`. */
  state: string;
  /** Events made for it so far. */
  events: number;
  /** How many of these it missed since its connection went. */
  missed: number;
  /** Its WebSockets; left out where there are none. */
  sockets?: LiveSocket[];
}

/** The events of one application. */
export interface LiveApplicationEvents {
  type: 'application';
  /** When it was made, in ms since the Unix epoch. */
  at: number;
  /** Place in the order of the last thing that it knows of. */
  seq: number;
  /** An application in numbers. */
  application: LiveApplication;
  /** Those since the last message, in order. */
  events: EventEntry[];
  /** Events that were left out because there were too many. */
  skipped: number;
}

/** One call: what was recorded of it since the last message. */
export interface LiveCall {
  type: 'call';
  /** When it was made, in ms since the Unix epoch. */
  at: number;
  /** Place in the order of the last thing that it knows of. */
  seq: number;
  /** True when `entries` are all there are: forget those of before. */
  whole?: boolean;
  /** A call: channels that belong together. */
  call: Call;
  /** In order. */
  entries: (StepEntry | RequestEntry | EventEntry | SipEntry | MediaEntry)[];
  /**
   * When its entries were dropped, in ms since the Unix epoch (`recorder.off`, or it ended too long ago). Earlier
   * messages stay valid, and no more follow.
   */
  let_go?: number;
}

/** The server in numbers. */
export interface LiveFigures {
  /** Calls with a channel. */
  live_calls: number;
  /**
   * Calls that began since recording started. For a user that does not see all calls: those that the user sees, since
   * the WebSocket opened.
   */
  begun_calls: number;
  /** Calls that are kept, live ones among them. */
  kept_calls: number;
  /** Ended calls that went before their time because everything together took too much memory. */
  evicted: number;
  /** Things that were recorded since the server started. */
  recorded: number;
  /** Approximate memory of the kept records. */
  octets: number;
  /** Whether anything is recorded (`recorder.off`); if not, no calls are shown. */
  recording: boolean;
}

/** Overview: the calls that have changed. */
export interface LiveOverview {
  type: 'overview';
  /** When it was made, in ms since the Unix epoch. */
  at: number;
  /** Place in the order of the last thing that it knows of. */
  seq: number;
  /**
   * Calls that began, changed or ended. The first message has the newest; the following ones add other live calls, as
   * many as `recorder.live.calls_burst` allows. While more change than `recorder.live.calls_per_second` for long, it is
   * a sample: failures and new live calls. A call that a client has seen is always updated.
   */
  calls: Call[];
  /** Ids of calls that were dropped or merged into others. */
  removed: string[];
  /** The server in numbers. */
  figures: LiveFigures;
  /** All applications. */
  applications: LiveApplication[];
  /** Stuck objects, longest first; at most `recorder.live.stuck`. */
  stuck: WaitingFor[];
  /** Further stuck objects; left out where `stuck` has all. */
  stuck_left_out?: number;
  /** Inbound calls that were refused before they had a channel, the newest first; up to `recorder.refused_calls`. */
  refused?: RefusedCall[];
}

/** A recording that is being made of a channel or bridge. */
export interface LiveRecording {
  /** Name that it will be stored by. */
  name: string;
  /** Format of its file, e.g. wav. */
  format: string;
  /** The recorded object: channel:<id> or bridge:<id>. */
  target_uri: string;
  /** The recording's state. */
  state: 'queued' | 'recording' | 'paused' | 'done' | 'failed' | 'canceled';
  /** Length of the recording, in s; known at its end. */
  duration?: number;
  /** How much of it is talking, in s; known at its end where silence was looked for. */
  talking_duration?: number;
  /** How much of it is silence, in s; known at its end where silence was looked for. */
  silence_duration?: number;
  /** Why it failed. */
  cause?: string;
}

/** A WebSocket that an application has opened. */
export interface LiveSocket {
  /** Its applications and where it comes from. */
  client: string;
  /** Octets of events that its client has not read yet. */
  unread: number;
  /** Whether it asked for the events that were missed before. */
  resumed: boolean;
}

/** Somewhere that log lines go. */
export interface LogChannel {
  /** Path of the file; empty for the console. */
  channel: string;
  /** Console, File or Syslog. */
  type: string;
  /** Enabled or Disabled. */
  status: string;
  /** Levels it takes, in upper case, each followed by a space. */
  configuration: string;
}

/** The present log levels. */
export interface Logging {
  /** The least serious kind of line that is written: trace, debug, info, warn, error, fatal, silent. */
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Parts with their own level, by the field `part` of their lines. */
  parts: { calls?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; charts?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; sip?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; media?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; http?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; dialplan?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; bans?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; outbound?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; external?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; records?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'; };
}

/** A log-in: a token that stands for name and password for a while. */
export interface LogInSession {
  /** Sent as `Authorization: Bearer <token>`. To be kept in memory only. */
  token: string;
  /** Its user. */
  user: string;
  /** Whether that user may only read. */
  read_only: boolean;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  expires: string;
}

/** Delays of a thread's event loop since the last request; in ms. */
export interface LoopDelay {
  /** On average. */
  mean: number;
  /** 99th percentile. */
  p99: number;
  /** At most. */
  max: number;
}

/** How many messages wait in a mailbox. */
export interface Mailbox {
  /** Name of the mailbox. */
  name: string;
  /** Messages already heard. */
  old_messages: number;
  /** Messages not heard yet. */
  new_messages: number;
}

/** A report of the media plane about a channel. */
export interface MediaEntry {
  kind: 'media';
  /** Place in the order of everything that the server has recorded; grows, with gaps. */
  seq: number;
  /** When it was, in ms since the Unix epoch. */
  at: number;
  /** Id of the channel. */
  object: string;
  /**
   * Measurements by name. Since the start: `codec`, `flow`, packets, loss, `late` packets and `digits`; jitter and
   * round trip in ms. `remote` is the address of the far side's RTP. `level_db` and `level_sent_db` are the present
   * levels received and sent. A channel without RTP has levels, and for a server's audio `waiting_ms` and `dropped_ms`.
   * Each active video stream has the same, its number as `video`, key frames, retransmissions, dropped packets and
   * `switches`. `shows` is the channel in it, `awaits` the channel that is not visible yet, with the reason in
   * `unseen`.
   */
  report: { [name: string]: unknown };
}

/** Objects of the media plane. */
export interface MediaUsage {
  /** Media sessions: one for each call with audio. */
  sessions: number;
  /** Pairs of ports for RTP and RTCP that are open. */
  ports: number;
  /** Sessions that play something. */
  players: number;
  /** Timers of the media thread. */
  timers: number;
  /** Audio of servers that is not heard yet, in ms, of all connections that are open. */
  externalWaitingMs: number;
  /** Audio that such servers have sent too early and that was left out, in ms. */
  externalDroppedMs: number;
  /** Frames of 20 ms that were left out because such servers do not read. */
  externalUnsentFrames: number;
}

/** A message on the events WebSocket. */
export interface Message {
  /** The type of message. */
  type: string;
  /** Id of the system that it comes from. */
  asterisk_id?: string;
}

/** A part of the system. */
export interface Module {
  /** Name of the module. */
  name: string;
  /** Its purpose. */
  description: string;
  /** How many things use it now. */
  use_count: number;
  /** Running or Not Running. */
  status: string;
  /** core, extended, deprecated or unknown. */
  support_level: string;
}

/** A token that was just made. */
export interface NewToken {
  /** Given in place of the password, or as `Authorization: Bearer`. It is shown this once. */
  token: string;
  /** Name for revoking it. */
  name: string;
  /** Its user. */
  user: string;
  /** Scopes that limit it besides the user's own; all apply. */
  scopes: AccessScope[];
  /** Whether it may only read. */
  read_only: boolean;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  created: string;
  /** The user that made it. */
  made_by: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  expires: string;
}

/** Figures that a node of the cluster reports. */
export interface NodeFigures {
  /** Its version. */
  version: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  started: string;
  /** Its channels. */
  channels: number;
  /** Its bridges. */
  bridges: number;
  /** Applications that are connected to it. */
  applications: number;
  /** Whether it takes no new calls. */
  draining: boolean;
  /** CPU time of its process per second, averaged since its last heartbeat, in s. 1 is one core. */
  load: number;
}

/** Whether an endpoint can be reached. */
export interface Peer {
  /** Reachable or Unreachable; other technologies have more words. */
  peer_status: string;
  /** Why the status changed. */
  cause?: string;
  /** IP address of the peer. */
  address?: string;
  /** Port of the peer. */
  port?: string;
  /** When it was last seen. */
  time?: string;
}

/** Media being played: one item, or a list of them, one after another. */
export interface Playback {
  /** Unique id, given by the client or a UUID. */
  id: string;
  /** Item played now, or played last. */
  media_uri: string;
  /** Item that follows; absent on the last. */
  next_media_uri?: string;
  /** The target: channel:<id> or bridge:<id>. */
  target_uri: string;
  /** Language that sounds are looked up in. */
  language?: string;
  /** The playback's state. */
  state: 'queued' | 'playing' | 'paused' | 'continuing' | 'done' | 'failed';
  /** Items that could not be played, in order; absent while there are none. */
  failed_media_uris?: string[];
}

/** Results of call detail records since the start. */
export interface RecordCounts {
  /** Records that were made. */
  made: number;
  /** Records that were lost: a disk or the webhook did not take them. */
  lost: number;
  /** Octets that wait for the webhook. */
  waiting_octets: number;
}

/** The transferring party. */
export interface ReferredBy {
  /** The connection between this system and one party of a call. */
  source_channel: Channel;
  /** The connection between this system and one party of a call. */
  connected_channel?: Channel;
  /** Channels that hear each other, or that wait together. */
  bridge?: Bridge;
}

/** The target of a transfer. */
export interface ReferTo {
  /** The transfer target that a party requests. */
  requested_destination: RequiredDestination;
  /** The connection between this system and one party of a call. */
  destination_channel?: Channel;
  /** The connection between this system and one party of a call. */
  connected_channel?: Channel;
  /** Channels that hear each other, or that wait together. */
  bridge?: Bridge;
}

/** Inbound calls that were refused alike, before they had a channel. */
export interface RefusedCall {
  /** When the first one came, in ms since the Unix epoch. */
  first: number;
  /** When the last one came. */
  last: number;
  /** How many there were. */
  count: number;
  /** The technology, e.g. PJSIP. */
  technology: string;
  /** Name of the endpoint that they belonged to. */
  endpoint: string;
  /** Number of the caller, of the last one. */
  from: string;
  /** Extension that was called, of the last one. */
  to: string;
  /** Dialplan context of the endpoint. */
  context: string;
  /** Where the last one came from, `address:port`. */
  source: string;
  /** The technology's own id of the last one: SIP's Call-ID. */
  protocol_id: string;
  /** The SIP status that it was refused with. */
  status: number;
  /** The same as a Q.850 cause. */
  cause: number;
  /** Why, in words. */
  reason: string;
}

/** A registration of ours at a provider. */
export interface Registration {
  /** The registrar. */
  server: string;
  /** The registered address of record. */
  client: string;
  /** Whether the registrar knows where we are. `Standby`: another node of the cluster holds it. */
  status: 'Unregistered' | 'Registered' | 'Rejected' | 'Standby';
  /** Why it does not, as of the last try. */
  reason?: string;
  /** Node of the cluster that holds it; left out where none is known to. */
  node?: string;
}

/** A registration of ours at a provider, and how it is doing. */
export interface RegistrationView {
  /** Endpoint that it belongs to, as `technology/resource`. */
  endpoint: string;
  /** The registrar. */
  server: string;
  /** The registered address of record. */
  client: string;
  /** Whether the registrar knows where we are. `Standby`: another node of the cluster holds it. */
  status: 'Unregistered' | 'Registered' | 'Rejected' | 'Standby';
  /** Why it does not, as of the last try. */
  reason?: string;
  /** Node of the cluster that holds it; left out where none is known to. */
  node?: string;
  /** Its state, as its chart names it: `backingOff`. */
  state: string;
  /** What its chart is sent at a time, unless it changes before. */
  deadlines: ChartDeadline[];
}

/** A request of a client, with its answer. */
export interface RequestEntry {
  kind: 'request';
  /** Place in the order of everything that the server has recorded; grows, with gaps. */
  seq: number;
  /** When it was, in ms since the Unix epoch. */
  at: number;
  /** Its X-Request-Id. */
  request_id: string;
  /** Method. */
  method: string;
  /** Path. */
  path: string;
  /** Query, without secrets; empty when there was none. */
  query: string;
  /** Who asked. */
  user: string;
  /** The transport. */
  over: 'http' | 'websocket';
  /** Status of the answer; 0 while there is none. */
  status: number;
  /** How long the answer took, in ms. */
  duration_ms: number;
}

/** The transfer target that a party requests. */
export interface RequiredDestination {
  /** The technology's id of the call that is asked for. */
  protocol_id?: string;
  /** Extension or address that is asked for. */
  destination?: string;
  /** Details of the technology. */
  additional_protocol_params?: AdditionalParam[];
}

/** Figures of a channel's RTP stream; times in seconds. */
export interface RTPstat {
  /** Packets sent. */
  txcount: number;
  /** Packets received. */
  rxcount: number;
  /** Jitter of what we send, as the far side reports it. */
  txjitter?: number;
  /** Jitter of what we receive. */
  rxjitter?: number;
  /** Largest jitter the far side reported. */
  remote_maxjitter?: number;
  /** Smallest jitter the far side reported. */
  remote_minjitter?: number;
  /** Mean jitter the far side reported. */
  remote_normdevjitter?: number;
  /** Standard deviation of the jitter the far side reported. */
  remote_stdevjitter?: number;
  /** Largest jitter we saw. */
  local_maxjitter?: number;
  /** Smallest jitter we saw. */
  local_minjitter?: number;
  /** Mean jitter we saw. */
  local_normdevjitter?: number;
  /** Standard deviation of the jitter we saw. */
  local_stdevjitter?: number;
  /** Packets lost of those we sent, as the far side reports it. */
  txploss: number;
  /** Packets lost of those sent to us. */
  rxploss: number;
  /** Most packets lost between two reports of the far side. */
  remote_maxrxploss?: number;
  /** Fewest packets lost between two reports of the far side. */
  remote_minrxploss?: number;
  /** Packets lost between two reports of the far side, on average. */
  remote_normdevrxploss?: number;
  /** Standard deviation of these. */
  remote_stdevrxploss?: number;
  /** Most packets lost between two reports of ours. */
  local_maxrxploss?: number;
  /** Fewest packets lost between two reports of ours. */
  local_minrxploss?: number;
  /** Packets lost between two reports of ours, on average. */
  local_normdevrxploss?: number;
  /** Standard deviation of these. */
  local_stdevrxploss?: number;
  /** Last round trip. */
  rtt?: number;
  /** Longest round trip. */
  maxrtt?: number;
  /** Shortest round trip. */
  minrtt?: number;
  /** Mean round trip. */
  normdevrtt?: number;
  /** Standard deviation of the round trip. */
  stdevrtt?: number;
  /** SSRC that we send with. */
  local_ssrc: number;
  /** SSRC that we receive. */
  remote_ssrc: number;
  /** Octets of payload sent. */
  txoctetcount: number;
  /** Octets of payload received. */
  rxoctetcount: number;
  /** Received packets that were forwarded unchanged: it grows while a bridge forwards, and stays while it mixes. */
  forwarded: number;
  /** Id of the channel. */
  channel_uniqueid: string;
  /** Its streams of video, where it has any. */
  video?: ({ stream: number; codec: string; txcount: number; rxcount: number; txjitter?: number; rxjitter?: number; txploss: number; rxploss: number; rtt?: number; local_ssrc: number; remote_ssrc: number; txoctetcount: number; rxoctetcount: number; key_frames: number; key_frames_asked: number; bitrate_asked?: number; bitrate_taken?: number; bitrate_sent: number; size?: number; sizes?: number; sent_again: number; asked_again: number; shows?: string; awaits?: string; unseen?: string; switches: number; left_out: number; })[];
}

/** The server: its version and the addresses for phones. */
export interface ServerInfo {
  /** Name of the program. */
  name: string;
  /** Its version. */
  version: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  started: string;
  /** Whether it takes no new calls. */
  draining: boolean;
  /** Live channels. */
  channels: number;
  sip: SipListener[];
  /** Who may listen to calls: users with full rights, read-only users too, or none. */
  listening: 'nobody' | 'operators' | 'everyone';
  /** Audio sessions of each media thread, in their order. */
  media_threads: number[];
  /** How each media thread keeps up, in their order. */
  media_load: ThreadLoad[];
  /** Delays of a thread's event loop since the last request; in ms. */
  event_loop: LoopDelay;
  /** Results of call detail records since the start. */
  records?: RecordCounts;
  /** Results of audit log lines since the start. */
  audit?: AuditCounts;
  /** The collector that SIP messages are sent to (HOMER), and how that goes. */
  hep?: HepCollector;
  /** The state store: what a crash would leave to the next process. */
  state_store?: StateStoreInfo;
  /** Its name as a node of a cluster. Left out: it is on its own. */
  cluster?: string;
}

/** User of the process. */
export interface SetId {
  /** User of the process. */
  user: string;
  /** Group of the process. */
  group: string;
}

/** A SIP message. */
export interface SipEntry {
  kind: 'sip';
  /** Place in the order of everything that the server has recorded; grows, with gaps. */
  seq: number;
  /** When it was, in ms since the Unix epoch. */
  at: number;
  /** Whether it came in or went out. */
  direction: 'in' | 'out';
  /** The transport, e.g. `udp`. */
  protocol: string;
  /** Our address and port. */
  local: string;
  /** The far side's address and port. */
  remote: string;
  /** First line. */
  first_line: string;
  /** Headers as they were written, without credentials. */
  headers: string;
  /** Body; left out unless bodies are recorded. */
  body?: string;
  /** Octets of the body. */
  body_length: number;
}

/** An address and port where SIP listens. */
export interface SipListener {
  /** udp, tcp, tls, ws or wss. */
  protocol: string;
  /** Address that it listens on. */
  host: string;
  /** Port. */
  port: number;
}

/** Objects of the SIP side. */
export interface SipUsage {
  /** Dialogs of calls, early ones included, until their last request is answered. */
  dialogs: number;
  /** Calls placed that are not decided. */
  pending: number;
  /** SIP legs of channels. */
  legs: number;
  /** Registered contacts of phones. */
  bindings: number;
  /** OPTIONS that wait for their answer. */
  qualifying: number;
  /** Phones that watch a mailbox. */
  subscriptions: number;
  /** Lines that are or were registered at providers. */
  lines: number;
  /** REFERs outside calls whose outcome is not known. */
  referrals: number;
  /** Nonces that are remembered to detect replays. */
  nonces: number;
  /** Transactions, client and server. */
  transactions: number;
}

/** A sound that can be played by its id. */
export interface Sound {
  /** Id, used in a media URI as sound:<id>. */
  id: string;
  /** The spoken text. */
  text?: string;
  /** Languages and formats it exists in. */
  formats: FormatLangPair[];
}

/** The state store: what a crash would leave to the next process. */
export interface StateStoreInfo {
  /** Size of its file. */
  octets: number;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  failing_since?: string;
  /** Why it cannot be written. Calls go on; a crash now would end them. */
  reason?: string;
}

/** Since when the system runs. */
export interface StatusInfo {
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  startup_time: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  last_reload_time: string;
}

/** The changes of a step in the snapshot of its chart. */
export interface StepChange {
  /** True when it holds the whole snapshot: nothing from before is left. */
  whole?: boolean;
  /** `done` or `error` when the chart came to its end. */
  status?: string;
  /** The state, if it is different. */
  value?: unknown;
  /** Members of the context that are new or have another value. */
  set?: { [name: string]: unknown };
  /** Members of the context that are gone. */
  unset?: string[];
}

/** One step of one chart: an event, and all that came of it. */
export interface StepEntry {
  kind: 'step';
  /** Place in the order of everything that the server has recorded; grows, with gaps. */
  seq: number;
  /** When it was, in ms since the Unix epoch. */
  at: number;
  /** Counts the steps of the process. */
  step: number;
  /** Id of the object, e.g. of a channel. */
  object: string;
  /** Id of its chart, e.g. `channel`, `ownership`, `playback`. */
  chart: string;
  /** The event; `xstate.init` at the start. */
  event: { [name: string]: unknown };
  /** Its state before; left out when it began. */
  from?: unknown;
  /** Its state after. */
  to: unknown;
  /** Its facts, in order. */
  facts: ({ [name: string]: unknown })[];
  /** Its effects, in order. */
  effects: ({ [name: string]: unknown })[];
  /** The step that led to it, or the name of a cause. */
  caused_by?: number | string;
  /** Id of the request that it follows from. */
  request_id?: string;
  /** The changes of a step in the snapshot of its chart. */
  change: StepChange;
}

/** A recording that is kept. */
export interface StoredRecording {
  /** Its name; parts of it may be directories. */
  name: string;
  /** Format of its file, e.g. wav. */
  format: string;
}

/** The running system. */
export interface SystemInfo {
  /** Version of the program. */
  version: string;
  /** Id of this system, the same as asterisk_id in events. */
  entity_id: string;
}

/** A text message. */
export interface TextMessage {
  /** Sender, as a URI. */
  from: string;
  /** Recipient, as a URI. */
  to: string;
  /** The text. */
  body: string;
  /** Additional variables: names and values. */
  variables?: { [name: string]: string };
}

/** How a media thread keeps up: audio is made every 20 ms. */
export interface ThreadLoad {
  /** Ticks that ran late since the start. */
  late: number;
  /** Ticks that were left out since the start. */
  skipped: number;
  /** Delays of a thread's event loop since the last request; in ms. */
  delay?: LoopDelay;
}

/** A one-time ticket, for the address of a WebSocket. */
export interface Ticket {
  /** Sent as the query parameter `ticket`. */
  ticket: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  expires: string;
}

/** A token that represents a user until it expires or is revoked. */
export interface Token {
  /** Name for revoking it. */
  name: string;
  /** Its user. */
  user: string;
  /** Scopes that limit it besides the user's own; all apply. */
  scopes: AccessScope[];
  /** Whether it may only read. */
  read_only: boolean;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  created: string;
  /** The user that made it. */
  made_by: string;
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  expires: string;
}

/** Counts of the server's present objects. */
export interface Usage {
  /** Channels. */
  channels: number;
  /** Playbacks that play or wait. */
  playbacks: number;
  /** Bridges, those included that are being destroyed. */
  bridges: number;
  /** Recordings that are made or wait. */
  recordings: number;
  /** Channels that listen to others. */
  snoops: number;
  /** Channels with mute, hold or music of their own. */
  channelAudio: number;
  /** Contacts of endpoints, registered or configured. */
  contacts: number;
  /** Registrations at providers, those included that are tried again. */
  registrations: number;
  /** WebSockets to applications, open or being opened. */
  outboundConnections: number;
  /** Connections of channels to servers, open or being opened. */
  externalConnections: number;
  /** Objects of the media plane. */
  media: MediaUsage;
  /** Objects of the SIP side. */
  sip: SipUsage;
}

/** The value of a variable. */
export interface Variable {
  /** Its value; empty when it is set to nothing. */
  value: string;
}

/** Several variables with their values. */
export interface Variables {
  /** Names and values. */
  variables: { [name: string]: string };
}

/** The sources that a member of a bridge sees, and reasons for the others. */
export interface VideoVisibility {
  /** Id of the member. */
  channel: string;
  /** The members that have video, beside itself. */
  others: ({ channel: string; seen: boolean; why?: string; codec?: string; bitrate?: number; size?: number; sizes?: number; })[];
}

/** Something that stays longer than it is expected to. */
export interface WaitingFor {
  /** The kind of object. */
  kind: 'object' | 'application' | 'mailbox' | 'socket';
  /** Its id: of a channel, playback, application… */
  object: string;
  /** Id of its chart. */
  chart?: string;
  /** The state that it is in. */
  state?: string;
  /** Since when, in ms since the Unix epoch. */
  since: number;
  /** How long it is expected to stay so at most, in ms. */
  expected_ms: number;
  /** The awaited event, in words. */
  waits_for: string;
  /** Id of its call. */
  call?: string;
}

/** The subscription of a phone to BLF or to waiting messages. */
export interface WatcherView {
  /** Endpoint that has subscribed, as `technology/resource`. */
  endpoint: string;
  /** Its subject: `device:pjsip/alice`, `mailbox:alice`. */
  topics: string[];
  /** Its state, as its chart names it. */
  state: string;
  /** Number of NOTIFYs. */
  told: number;
}

/** A notification to a page about calls to its name. */
export interface WebrtcNews {
  /** Which news it is. */
  type: 'listening' | 'incoming' | 'answered' | 'ended';
  /** `listening`, the first message: the name that the page is called by. */
  name?: string;
  /** The call: `/hookswitch/webrtc/sessions/<call>` is its session. */
  call?: string;
  /** `incoming`: who calls. */
  caller?: { name: string; number: string; };
  /** `ended`: the Q.850 cause. */
  cause?: number;
}

/** What a browser needs to call and be called. */
export interface WebrtcTerms {
  /** Its name: `WebRTC/<name>` calls it. That of its token, or else of its user. */
  name: string;
  /** Servers for its side of ICE. */
  ice_servers: IceServer[];
}

/** What every event has. */
export interface EventStamp {
  /** Local time, e.g. 2026-01-31T12:00:00.123+0000. */
  timestamp: string;
  /** Application that the event is for. */
  application: string;
  /** Id of the system that the event comes from. */
  asterisk_id: string;
  /**
   * Counts the events made for this application, from 1; a gap means that events were lost. ApplicationReplaced, which
   * concerns a connection alone, has that of the event before it.
   */
  seq?: number;
  /** Id of the request that it follows from (its X-Request-Id), when it follows from one. */
  caused_by?: string;
  /** Trace context of the request that caused it, else of its call (W3C Trace Context). Only with tracing. */
  traceparent?: string;
  /** The vendor part of the trace context, if any (W3C Trace Context). */
  tracestate?: string;
}

/** A channel has come to life. */
export interface ChannelCreated extends EventStamp {
  type: 'ChannelCreated';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** A channel has ended for good. */
export interface ChannelDestroyed extends EventStamp {
  type: 'ChannelDestroyed';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Q.850 code of why it ended. */
  cause: number;
  /** The same in words. */
  cause_txt: string;
  /** The technology's own code, e.g. the SIP status. */
  tech_cause?: number;
}

/** The state of a channel is another. */
export interface ChannelStateChange extends EventStamp {
  type: 'ChannelStateChange';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** A channel has moved in the dialplan. */
export interface ChannelDialplan extends EventStamp {
  type: 'ChannelDialplan';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Dialplan application that is about to run. */
  dialplan_app: string;
  /** Its arguments. */
  dialplan_app_data: string;
}

/** The name or number that a channel presents is another. */
export interface ChannelCallerId extends EventStamp {
  type: 'ChannelCallerId';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Code of whether it may be shown. */
  caller_presentation: number;
  /** The same in words. */
  caller_presentation_txt: string;
}

/** The party that a channel is connected to is another. */
export interface ChannelConnectedLine extends EventStamp {
  type: 'ChannelConnectedLine';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** A variable has been set. */
export interface ChannelVarset extends EventStamp {
  type: 'ChannelVarset';
  /** Name of the variable, as written. */
  variable: string;
  /** Its new value; empty when it was removed. */
  value: string;
  /** The connection between this system and one party of a call. */
  channel?: Channel;
}

/** The end of a channel has been asked for. */
export interface ChannelHangupRequest extends EventStamp {
  type: 'ChannelHangupRequest';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Q.850 code that was given. */
  cause?: number;
  /** True when asked for by software, absent when by the device. */
  soft?: boolean;
  /** The technology's own code, e.g. the SIP status. */
  tech_cause?: number;
}

/** A digit came from the far side; told when it ends. */
export interface ChannelDtmfReceived extends EventStamp {
  type: 'ChannelDtmfReceived';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** 0-9, A-D, * or #. */
  digit: string;
  /** How long it lasted, in ms. */
  duration_ms: number;
}

/** The far side put us on hold. */
export interface ChannelHold extends EventStamp {
  type: 'ChannelHold';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Music it suggested; N/A when none. */
  musicclass?: string;
}

/** The far side took us back from hold. */
export interface ChannelUnhold extends EventStamp {
  type: 'ChannelUnhold';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** Talking began on the channel. */
export interface ChannelTalkingStarted extends EventStamp {
  type: 'ChannelTalkingStarted';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** The talking on the channel ended. */
export interface ChannelTalkingFinished extends EventStamp {
  type: 'ChannelTalkingFinished';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** How long it lasted, in ms. */
  duration: number;
}

/** A tone that was listened for was heard. */
export interface ChannelToneDetected extends EventStamp {
  type: 'ChannelToneDetected';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** An event of the user’s own making. */
export interface ChannelUserevent extends EventStamp {
  type: 'ChannelUserevent';
  /** Name that the user gave it. */
  eventname: string;
  /** The user's content. */
  userevent: { [name: string]: unknown };
  /** The connection between this system and one party of a call. */
  channel?: Channel;
  /** Channels that hear each other, or that wait together. */
  bridge?: Bridge;
  /** Something that can be called, e.g. a phone. */
  endpoint?: Endpoint;
}

/** A party asks for a transfer, or one that it asked for goes on. */
export interface ChannelTransfer extends EventStamp {
  type: 'ChannelTransfer';
  /** The target of a transfer. */
  refer_to: ReferTo;
  /** The transferring party. */
  referred_by: ReferredBy;
  /** How far the transfer is. */
  state?: string;
}

/** A channel is being dialed; one event for each step. */
export interface Dial extends EventStamp {
  type: 'Dial';
  /** The connection between this system and one party of a call. */
  peer: Channel;
  /** The connection between this system and one party of a call. */
  caller?: Channel;
  /** How far dialing is; empty when it begins. */
  dialstatus: '' | 'RINGING' | 'PROCEEDING' | 'PROGRESS' | 'ANSWER' | 'BUSY' | 'CONGESTION' | 'NOANSWER' | 'CHANUNAVAIL' | 'CANCEL';
  /** The dialed resource. */
  dialstring?: string;
  /** The new target of a forwarded call. */
  forward?: string;
  /** The connection between this system and one party of a call. */
  forwarded?: Channel;
}

/** A channel came into the application. */
export interface StasisStart extends EventStamp {
  type: 'StasisStart';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Arguments it came with. */
  args: string[];
  /** The connection between this system and one party of a call. */
  replace_channel?: Channel;
}

/** A channel left the application. */
export interface StasisEnd extends EventStamp {
  type: 'StasisEnd';
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** A bridge has been made. */
export interface BridgeCreated extends EventStamp {
  type: 'BridgeCreated';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
}

/** A bridge was destroyed. */
export interface BridgeDestroyed extends EventStamp {
  type: 'BridgeDestroyed';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
}

/** The channels of a bridge have gone over to another. */
export interface BridgeMerged extends EventStamp {
  type: 'BridgeMerged';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
  /** Channels that hear each other, or that wait together. */
  bridge_from: Bridge;
}

/** The picture that a bridge shows is of another channel. */
export interface BridgeVideoSourceChanged extends EventStamp {
  type: 'BridgeVideoSourceChanged';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
  /** Channel whose video was shown. */
  old_video_source_id?: string;
}

/** A channel has sent those it was joined with somewhere else. */
export interface BridgeBlindTransfer extends EventStamp {
  type: 'BridgeBlindTransfer';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** The connection between this system and one party of a call. */
  replace_channel?: Channel;
  /** The connection between this system and one party of a call. */
  transferee?: Channel;
  /** Extension they were sent to. */
  exten: string;
  /** Context of the extension. */
  context: string;
  /** Its result: Success, Fail, Invalid or Not Permitted. */
  result: string;
  /** True when the party asked for it, false when an application did. */
  is_external: boolean;
  /** Channels that hear each other, or that wait together. */
  bridge?: Bridge;
}

/** A party has joined the two calls that it had. */
export interface BridgeAttendedTransfer extends EventStamp {
  type: 'BridgeAttendedTransfer';
  /** The connection between this system and one party of a call. */
  transferer_first_leg: Channel;
  /** The connection between this system and one party of a call. */
  transferer_second_leg: Channel;
  /** The connection between this system and one party of a call. */
  replace_channel?: Channel;
  /** The connection between this system and one party of a call. */
  transferee?: Channel;
  /** The connection between this system and one party of a call. */
  transfer_target?: Channel;
  /** Its result: Success, Fail, Invalid or Not Permitted. */
  result: string;
  /** True when the party asked for it, false when an application did. */
  is_external: boolean;
  /** Channels that hear each other, or that wait together. */
  transferer_first_leg_bridge?: Bridge;
  /** Channels that hear each other, or that wait together. */
  transferer_second_leg_bridge?: Bridge;
  /** How they were joined: bridge, application, link, threeway or fail. */
  destination_type: string;
  /** Bridge that they are in. */
  destination_bridge?: string;
  /** Application that they went to. */
  destination_application?: string;
  /** The connection between this system and one party of a call. */
  destination_link_first_leg?: Channel;
  /** The connection between this system and one party of a call. */
  destination_link_second_leg?: Channel;
  /** The connection between this system and one party of a call. */
  destination_threeway_channel?: Channel;
  /** Channels that hear each other, or that wait together. */
  destination_threeway_bridge?: Bridge;
}

/** A channel came into a bridge. */
export interface ChannelEnteredBridge extends EventStamp {
  type: 'ChannelEnteredBridge';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
  /** The connection between this system and one party of a call. */
  channel?: Channel;
}

/** A channel left a bridge. */
export interface ChannelLeftBridge extends EventStamp {
  type: 'ChannelLeftBridge';
  /** Channels that hear each other, or that wait together. */
  bridge: Bridge;
  /** The connection between this system and one party of a call. */
  channel: Channel;
}

/** An item of a playback began, or went on after a pause. */
export interface PlaybackStarted extends EventStamp {
  type: 'PlaybackStarted';
  /** Media being played: one item, or a list of them, one after another. */
  playback: Playback;
}

/** An item of a playback ended and another follows. */
export interface PlaybackContinuing extends EventStamp {
  type: 'PlaybackContinuing';
  /** Media being played: one item, or a list of them, one after another. */
  playback: Playback;
}

/** A playback is over. */
export interface PlaybackFinished extends EventStamp {
  type: 'PlaybackFinished';
  /** Media being played: one item, or a list of them, one after another. */
  playback: Playback;
}

/** A recording began. */
export interface RecordingStarted extends EventStamp {
  type: 'RecordingStarted';
  /** A recording that is being made of a channel or bridge. */
  recording: LiveRecording;
}

/** A recording is over. */
export interface RecordingFinished extends EventStamp {
  type: 'RecordingFinished';
  /** A recording that is being made of a channel or bridge. */
  recording: LiveRecording;
}

/** A recording could not be made. */
export interface RecordingFailed extends EventStamp {
  type: 'RecordingFailed';
  /** A recording that is being made of a channel or bridge. */
  recording: LiveRecording;
}

/** The state of a device is another. */
export interface DeviceStateChanged extends EventStamp {
  type: 'DeviceStateChanged';
  /** How busy a device is. */
  device_state: DeviceState;
}

/** An endpoint is another: its state or its channels. */
export interface EndpointStateChange extends EventStamp {
  type: 'EndpointStateChange';
  /** Something that can be called, e.g. a phone. */
  endpoint: Endpoint;
}

/** An endpoint became reachable or stopped being so. */
export interface PeerStatusChange extends EventStamp {
  type: 'PeerStatusChange';
  /** Something that can be called, e.g. a phone. */
  endpoint: Endpoint;
  /** Whether an endpoint can be reached. */
  peer: Peer;
}

/** An address of an endpoint became reachable or stopped being so. */
export interface ContactStatusChange extends EventStamp {
  type: 'ContactStatusChange';
  /** Something that can be called, e.g. a phone. */
  endpoint: Endpoint;
  /** An address that an endpoint is reached at, and whether it answers. */
  contact_info: ContactInfo;
}

/** A text message came from an endpoint. */
export interface TextMessageReceived extends EventStamp {
  type: 'TextMessageReceived';
  /** A text message. */
  message: TextMessage;
  /** Something that can be called, e.g. a phone. */
  endpoint?: Endpoint;
}

/** Another connection took the application over. */
export interface ApplicationReplaced extends EventStamp {
  type: 'ApplicationReplaced';
}

/** The application is registered (connections made by this system only). */
export interface ApplicationRegistered extends EventStamp {
  type: 'ApplicationRegistered';
}

/** The application is no longer registered (connections made by this system only). */
export interface ApplicationUnregistered extends EventStamp {
  type: 'ApplicationUnregistered';
}

/** A channel could not be moved; it stays where it is. */
export interface ApplicationMoveFailed extends EventStamp {
  type: 'ApplicationMoveFailed';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Application it should have moved to. */
  destination: string;
  /** Arguments it should have come with. */
  args: string[];
}

/** A channel is offered to several applications; one may claim it. */
export interface CallBroadcast extends EventStamp {
  type: 'CallBroadcast';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Number that calls. */
  caller?: string;
  /** Number that was called. */
  called?: string;
}

/** A channel that was offered has been claimed. */
export interface CallClaimed extends EventStamp {
  type: 'CallClaimed';
  /** The connection between this system and one party of a call. */
  channel: Channel;
  /** Application that claimed it. */
  winner_app: string;
}

/** Every event by its type. */
export interface Events {
  ChannelCreated: ChannelCreated;
  ChannelDestroyed: ChannelDestroyed;
  ChannelStateChange: ChannelStateChange;
  ChannelDialplan: ChannelDialplan;
  ChannelCallerId: ChannelCallerId;
  ChannelConnectedLine: ChannelConnectedLine;
  ChannelVarset: ChannelVarset;
  ChannelHangupRequest: ChannelHangupRequest;
  ChannelDtmfReceived: ChannelDtmfReceived;
  ChannelHold: ChannelHold;
  ChannelUnhold: ChannelUnhold;
  ChannelTalkingStarted: ChannelTalkingStarted;
  ChannelTalkingFinished: ChannelTalkingFinished;
  ChannelToneDetected: ChannelToneDetected;
  ChannelUserevent: ChannelUserevent;
  ChannelTransfer: ChannelTransfer;
  Dial: Dial;
  StasisStart: StasisStart;
  StasisEnd: StasisEnd;
  BridgeCreated: BridgeCreated;
  BridgeDestroyed: BridgeDestroyed;
  BridgeMerged: BridgeMerged;
  BridgeVideoSourceChanged: BridgeVideoSourceChanged;
  BridgeBlindTransfer: BridgeBlindTransfer;
  BridgeAttendedTransfer: BridgeAttendedTransfer;
  ChannelEnteredBridge: ChannelEnteredBridge;
  ChannelLeftBridge: ChannelLeftBridge;
  PlaybackStarted: PlaybackStarted;
  PlaybackContinuing: PlaybackContinuing;
  PlaybackFinished: PlaybackFinished;
  RecordingStarted: RecordingStarted;
  RecordingFinished: RecordingFinished;
  RecordingFailed: RecordingFailed;
  DeviceStateChanged: DeviceStateChanged;
  EndpointStateChange: EndpointStateChange;
  PeerStatusChange: PeerStatusChange;
  ContactStatusChange: ContactStatusChange;
  TextMessageReceived: TextMessageReceived;
  ApplicationReplaced: ApplicationReplaced;
  ApplicationRegistered: ApplicationRegistered;
  ApplicationUnregistered: ApplicationUnregistered;
  ApplicationMoveFailed: ApplicationMoveFailed;
  CallBroadcast: CallBroadcast;
  CallClaimed: CallClaimed;
}

/** Call control over REST. */
export interface AriOperations {
  /** The system itself. */
  asterisk: {
    /** Look at the system. */
    getInfo(params?: {
      /** Sections wanted; all when left out. */
      only?: string | readonly string[];
    }, options?: RequestOptions): Promise<AsteriskInfo>;
    /** Ask whether the system is there. */
    ping(params?: Record<string, never>, options?: RequestOptions): Promise<AsteriskPing>;
    /** Read a global variable. */
    getGlobalVar(params: {
      /** Name of the variable, or function with arguments. */
      variable: string;
    }, options?: RequestOptions): Promise<Variable>;
    /** Set a global variable. */
    setGlobalVar(params: {
      /** Name of the variable, or function with arguments. */
      variable: string;
      /** Its new value; removed when left out. */
      value?: string;
    }, options?: RequestOptions): Promise<void>;
    /** List the parts of the system. */
    listModules(params?: Record<string, never>, options?: RequestOptions): Promise<Module[]>;
    /** Look at one part of the system. */
    getModule(params: {
      /** Name of the module. */
      moduleName: string;
    }, options?: RequestOptions): Promise<Module>;
    /** Load a part of the system. */
    loadModule(params: {
      /** Name of the module. */
      moduleName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Unload a part of the system. */
    unloadModule(params: {
      /** Name of the module. */
      moduleName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Reload a part of the system. */
    reloadModule(params: {
      /** Name of the module. */
      moduleName: string;
    }, options?: RequestOptions): Promise<void>;
    /** List where log lines go. */
    listLogChannels(params?: Record<string, never>, options?: RequestOptions): Promise<LogChannel[]>;
    /** Write log lines to a file of this name, too. */
    addLog(params: {
      /** Name of the log channel. */
      logChannelName: string;
      /** Levels it takes, comma-separated. */
      configuration: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop writing to a log channel that a client made. */
    deleteLog(params: {
      /** Name of the log channel. */
      logChannelName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Put the file of a log channel aside and begin a new one. */
    rotateLog(params: {
      /** Name of the log channel. */
      logChannelName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Look at a configured object. */
    getObject(params: {
      /** The object's module, e.g. res_pjsip. */
      configClass: string;
      /** Kind of the object, e.g. endpoint. */
      objectType: string;
      /** Id of the object. */
      id: string;
    }, options?: RequestOptions): Promise<ConfigTuple[]>;
    /** Make or change a configured object. */
    updateObject(params: {
      /** The object's module, e.g. res_pjsip. */
      configClass: string;
      /** Kind of the object, e.g. endpoint. */
      objectType: string;
      /** Id of the object. */
      id: string;
      /** Attributes: a list of objects with attribute and value. */
      fields?: object;
    }, options?: RequestOptions): Promise<ConfigTuple[]>;
    /** Remove a configured object. */
    deleteObject(params: {
      /** The object's module, e.g. res_pjsip. */
      configClass: string;
      /** Kind of the object, e.g. endpoint. */
      objectType: string;
      /** Id of the object. */
      id: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Endpoints: what can be called. */
  endpoints: {
    /** List all endpoints. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Endpoint[]>;
    /** Send a text message to a URI or endpoint. */
    sendMessage(params: {
      /** Recipient: technology/resource or a URI. */
      to: string;
      /** Sender: technology/resource or a URI. */
      from: string;
      /** The text. */
      body?: string;
      /** Additional variables: names and values. */
      variables?: object;
    }, options?: RequestOptions): Promise<void>;
    /** Refer an endpoint to somewhere else. */
    refer(params: {
      /** Recipient: technology/resource or a URI. */
      to: string;
      /** The referring party: technology/resource or a URI. */
      from: string;
      /** The target of the transfer. */
      refer_to: string;
      /** Refer it to its own call. */
      to_self?: boolean;
      /** Additional variables: names and values. */
      variables?: object;
    }, options?: RequestOptions): Promise<void>;
    /** List the endpoints of a technology. */
    listByTech(params: {
      /** Technology, e.g. PJSIP. */
      tech: string;
    }, options?: RequestOptions): Promise<Endpoint[]>;
    /** Look at one endpoint. */
    get(params: {
      /** Technology, e.g. PJSIP. */
      tech: string;
      /** Name within the technology. */
      resource: string;
    }, options?: RequestOptions): Promise<Endpoint>;
    /** Send a text message to an endpoint. */
    sendMessageToEndpoint(params: {
      /** Technology, e.g. PJSIP. */
      tech: string;
      /** Name within the technology. */
      resource: string;
      /** Sender: technology/resource or a URI. */
      from: string;
      /** The text. */
      body?: string;
      /** Additional variables: names and values. */
      variables?: object;
    }, options?: RequestOptions): Promise<void>;
    /** Refer this endpoint to somewhere else. */
    referToEndpoint(params: {
      /** Technology, e.g. PJSIP. */
      tech: string;
      /** Name within the technology. */
      resource: string;
      /** The referring party: technology/resource or a URI. */
      from: string;
      /** The target of the transfer. */
      refer_to: string;
      /** Refer it to its own call. */
      to_self?: boolean;
      /** Additional variables: names and values. */
      variables?: object;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Bridges: channels that hear each other. */
  bridges: {
    /** List all bridges of the system. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Bridge[]>;
    /** Make a bridge. */
    create(params?: {
      /**
       * Type and flags, comma-separated: mixing or holding; dtmf_events, proxy_media, video_sfu, video_single,
       * sdp_label.
       */
      type?: string;
      /** Name to show. */
      name?: string;
      /** Defaults for members that enter: an object with the booleans mute and suppress_dtmf. */
      features?: object;
      /** Variables to set on the bridge: a value, or an object with value and report_events. */
      variables?: object;
      /** Id for the bridge. */
      bridgeId?: string;
    }, options?: RequestOptions): Promise<Bridge>;
    /** Make a bridge with an id of your own. */
    createWithId(params: {
      /**
       * Type and flags, comma-separated: mixing or holding; dtmf_events, proxy_media, video_sfu, video_single,
       * sdp_label.
       */
      type?: string;
      /** Name to show. */
      name?: string;
      /** Defaults for members that enter: an object with the booleans mute and suppress_dtmf. */
      features?: object;
      /** Variables to set on the bridge: a value, or an object with value and report_events. */
      variables?: object;
      /** Id for the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<Bridge>;
    /** Look at one bridge. */
    get(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<Bridge>;
    /** Destroy a bridge; the channels in it stay in their applications. */
    destroy(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Add channels to a bridge, out of their present one. */
    addChannel(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Ids of the channels. */
      channel: string | readonly string[];
      /** Their role in a holding bridge: announcer or holding_participant. */
      role?: string;
      /** Their digits cause events but are not sent to the others. */
      absorbDTMF?: boolean;
      /** The others do not hear them. */
      mute?: boolean;
      /** The others get no connected-line update. */
      inhibitConnectedLineUpdates?: boolean;
    }, options?: RequestOptions): Promise<void>;
    /** Let channels out of a bridge; they stay in their applications. */
    removeChannel(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Ids of the channels. */
      channel: string | readonly string[];
    }, options?: RequestOptions): Promise<void>;
    /** Show everyone the picture of one channel. */
    setVideoSource(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Show all members the video of the talker. */
    clearVideoSource(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Play music to everyone in a bridge. */
    startMoh(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Class of music. */
      mohClass?: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop the music of a bridge. */
    stopMoh(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Play media to everyone in a bridge. */
    play(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Id for the playback. */
      playbackId?: string;
      /** Media URIs: sound:, recording:, number:, digits:, characters: or tone:. */
      media: string | readonly string[];
      /** Language of sounds; that of the channel, or the default, when left out. */
      lang?: string;
      /** Start position in the first item, in ms. */
      offsetms?: number;
      /** How far forward and reverse move, in ms. */
      skipms?: number;
      /** Format to play in; the best that the members have when left out. */
      announcer_format?: string;
    }, options?: RequestOptions): Promise<Playback>;
    /** Play media to everyone in a bridge. */
    playWithId(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Id for the playback. */
      playbackId: string;
      /** Media URIs: sound:, recording:, number:, digits:, characters: or tone:. */
      media: string | readonly string[];
      /** Language of sounds; that of the channel, or the default, when left out. */
      lang?: string;
      /** Start position in the first item, in ms. */
      offsetms?: number;
      /** How far forward and reverse move, in ms. */
      skipms?: number;
      /** Format to play in; the best that the members have when left out. */
      announcer_format?: string;
    }, options?: RequestOptions): Promise<Playback>;
    /** Record the mixed audio of a bridge. */
    record(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Name to store it by; parts of it may be directories. */
      name: string;
      /** Format of the file: wav, wav16, ulaw, alaw, sln, sln16, g722 or ogg. */
      format: string;
      /** Longest recording, in s; 0 for no limit. */
      maxDurationSeconds?: number;
      /** Silence that ends it, in s; 0 for none. */
      maxSilenceSeconds?: number;
      /** What to do if a stored recording of that name exists. */
      ifExists?: 'fail' | 'overwrite' | 'append';
      /** Play a beep first. */
      beep?: boolean;
      /** Digit that ends it. */
      terminateOn?: 'none' | 'any' | '*' | '#';
      /** Format to record from; that of the file when left out. */
      recorder_format?: string;
    }, options?: RequestOptions): Promise<LiveRecording>;
    /** Read a variable of a bridge. */
    getBridgeVar(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Name, or function with arguments. */
      variable: string;
    }, options?: RequestOptions): Promise<Variable>;
    /** Set a variable of a bridge. */
    setBridgeVar(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Name, or function with arguments. */
      variable: string;
      /** Its new value; removed when left out. */
      value?: string;
      /** Show it in every event from now on. */
      report_events?: boolean;
    }, options?: RequestOptions): Promise<void>;
    /** Read several variables of a bridge. */
    getBridgeVars(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Names. */
      variables: string | readonly string[];
    }, options?: RequestOptions): Promise<Variables>;
    /** Set several variables of a bridge. */
    setBridgeVars(params: {
      /** Id of the bridge. */
      bridgeId: string;
      /** Names, each with a value or an object with value and report_events. */
      variables: object;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Channels: the connections between this system and the parties of calls. */
  channels: {
    /** Make a channel that exchanges audio with a server. */
    externalMedia(params: {
      /** Id for the new channel; up to 149 characters. */
      channelId?: string;
      /** Application that gets the channel. */
      app: string;
      /** Variables to set on the channel: a value, or an object with value and report_events. */
      variables?: object;
      /** The server as host:port, or the name of a configured WebSocket client. */
      external_host?: string;
      /** The encapsulation of the audio. */
      encapsulation?: 'rtp' | 'audiosocket' | 'none';
      /** The transport. */
      transport?: 'udp' | 'tcp' | 'websocket';
      /** Whether this system connects, or waits to be connected to. */
      connection_type?: 'client' | 'server';
      /** Format of the audio, e.g. ulaw or slin16. */
      format: string;
      /** Which way audio goes, seen from the channel. */
      direction?: 'both' | 'in' | 'out';
      /** Arguments for the application; AudioSocket: the UUID of the call. */
      data?: string;
      /** More for the transport. */
      transport_data?: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** List all channels of the system. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Channel[]>;
    /** Call an endpoint. */
    originate(params: {
      /** The target, as technology/resource. */
      endpoint: string;
      /** Arguments for the application, comma-separated. */
      appArgs?: string;
      /** Id for the second half of a Local channel. */
      otherChannelId?: string;
      /** Id of the channel for which the new one is made. Excludes `formats`. */
      originator?: string;
      /** Formats the channel may use, comma-separated; excludes originator. */
      formats?: string;
      /** Variables to set on the channel: a value, or an object with value and report_events. */
      variables?: object;
      /** Application that gets the channel once it answers. */
      app?: string;
      /** Extension that the channel goes to once it answers, when no application is given. */
      extension?: string;
      /** Context of the extension; default when left out. */
      context?: string;
      /** Priority within the extension; 1 when left out. */
      priority?: number;
      /** Label within the extension, instead of a priority. */
      label?: string;
      /** Caller id to show, e.g. "Alice" <100>. */
      callerId?: string;
      /** How long it may ring, in s; -1: no limit. */
      timeout?: number;
      /** Id for the new channel; up to 149 characters. */
      channelId?: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Make a channel that enters an application without being dialed. */
    create(params: {
      /** The target, as technology/resource. */
      endpoint: string;
      /** Arguments for the application, comma-separated. */
      appArgs?: string;
      /** Id for the second half of a Local channel. */
      otherChannelId?: string;
      /** Id of the channel for which the new one is made. Excludes `formats`. */
      originator?: string;
      /** Formats the channel may use, comma-separated; excludes originator. */
      formats?: string;
      /** Variables to set on the channel: a value, or an object with value and report_events. */
      variables?: object;
      /** Application that the channel enters. */
      app: string;
      /** Id for the new channel; up to 149 characters. */
      channelId?: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Look at one channel. */
    get(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Call an endpoint, with an id of your own for the channel. */
    originateWithId(params: {
      /** The target, as technology/resource. */
      endpoint: string;
      /** Arguments for the application, comma-separated. */
      appArgs?: string;
      /** Id for the second half of a Local channel. */
      otherChannelId?: string;
      /** Id of the channel for which the new one is made. Excludes `formats`. */
      originator?: string;
      /** Formats the channel may use, comma-separated; excludes originator. */
      formats?: string;
      /** Variables to set on the channel: a value, or an object with value and report_events. */
      variables?: object;
      /** Application that gets the channel once it answers. */
      app?: string;
      /** Extension that the channel goes to once it answers, when no application is given. */
      extension?: string;
      /** Context of the extension; default when left out. */
      context?: string;
      /** Priority within the extension; 1 when left out. */
      priority?: number;
      /** Label within the extension, instead of a priority. */
      label?: string;
      /** Caller id to show, e.g. "Alice" <100>. */
      callerId?: string;
      /** How long it may ring, in s; -1: no limit. */
      timeout?: number;
      /** Id for the new channel; up to 149 characters. */
      channelId: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Dial a channel that was created. */
    dial(params: {
      /** Id of the channel. */
      channelId: string;
      /** Id of the channel that calls. */
      caller?: string;
      /** How long it may ring, in s; 0: no limit. */
      timeout?: number;
    }, options?: RequestOptions): Promise<void>;
    /** Hang a channel up. */
    hangup(params: {
      /** Id of the channel. */
      channelId: string;
      /** Q.850 cause, e.g. 17; excludes reason. */
      reason_code?: string;
      /** Why, in a word; excludes reason_code. */
      reason?: 'normal' | 'busy' | 'congestion' | 'no_answer' | 'timeout' | 'rejected' | 'unallocated' | 'normal_unspecified' | 'number_incomplete' | 'codec_mismatch' | 'interworking' | 'failure' | 'answered_elsewhere';
    }, options?: RequestOptions): Promise<void>;
    /** Send a channel out of the application into the dialplan. */
    continueInDialplan(params: {
      /** Id of the channel. */
      channelId: string;
      /** Context to go to; where it was when left out. */
      context?: string;
      /** Extension to go to. */
      extension?: string;
      /** Priority to go to. */
      priority?: number;
      /** Label to go to, instead of a priority. */
      label?: string;
    }, options?: RequestOptions): Promise<void>;
    /** Hand a channel to another application. */
    move(params: {
      /** Id of the channel. */
      channelId: string;
      /** Application that gets the channel. */
      app: string;
      /** Arguments for it, comma-separated. */
      appArgs?: string;
    }, options?: RequestOptions): Promise<void>;
    /** Tell the far side to call somewhere else. */
    redirect(params: {
      /** Id of the channel. */
      channelId: string;
      /** The new target, as technology/resource of the same technology. */
      endpoint: string;
    }, options?: RequestOptions): Promise<void>;
    /** Tell a party how the transfer goes that it has asked for. */
    transfer_progress(params: {
      /** Id of the channel. */
      channelId: string;
      /** How it goes. */
      states: 'channel_progress' | 'channel_answered' | 'channel_unavailable' | 'channel_declined';
    }, options?: RequestOptions): Promise<void>;
    /** Answer a channel. */
    answer(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Tell the caller that it rings. */
    ring(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop the ringing tone. */
    ringStop(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Open the audio path before the answer. */
    progress(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Send digits. */
    sendDTMF(params: {
      /** Id of the channel. */
      channelId: string;
      /** Digits 0-9 * # A-D; w waits 500 ms, W 1 s. */
      dtmf?: string;
      /** Wait before the first, in ms. */
      before?: number;
      /** Wait between two, in ms. */
      between?: number;
      /** Length of each, in ms. */
      duration?: number;
      /** Wait after the last, in ms. */
      after?: number;
    }, options?: RequestOptions): Promise<void>;
    /** Mute a channel. */
    mute(params: {
      /** Id of the channel. */
      channelId: string;
      /** in: what comes from the channel; out: what goes to it. */
      direction?: 'both' | 'in' | 'out';
    }, options?: RequestOptions): Promise<void>;
    /** Unmute a channel. */
    unmute(params: {
      /** Id of the channel. */
      channelId: string;
      /** in: what comes from the channel; out: what goes to it. */
      direction?: 'both' | 'in' | 'out';
    }, options?: RequestOptions): Promise<void>;
    /** Put the far side on hold. */
    hold(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Take the far side back from hold. */
    unhold(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Play music on hold. */
    startMoh(params: {
      /** Id of the channel. */
      channelId: string;
      /** Class of music. */
      mohClass?: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop music on hold. */
    stopMoh(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Send silence until something else is played. */
    startSilence(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop sending silence. */
    stopSilence(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Play media to a channel. */
    play(params: {
      /** Id of the channel. */
      channelId: string;
      /** Id for the playback. */
      playbackId?: string;
      /** Media URIs: sound:, recording:, number:, digits:, characters: or tone:. */
      media: string | readonly string[];
      /** Language of sounds; that of the channel, or the default, when left out. */
      lang?: string;
      /** Start position in the first item, in ms. */
      offsetms?: number;
      /** How far forward and reverse move, in ms. */
      skipms?: number;
    }, options?: RequestOptions): Promise<Playback>;
    /** Play media to a channel. */
    playWithId(params: {
      /** Id of the channel. */
      channelId: string;
      /** Id for the playback. */
      playbackId: string;
      /** Media URIs: sound:, recording:, number:, digits:, characters: or tone:. */
      media: string | readonly string[];
      /** Language of sounds; that of the channel, or the default, when left out. */
      lang?: string;
      /** Start position in the first item, in ms. */
      offsetms?: number;
      /** How far forward and reverse move, in ms. */
      skipms?: number;
    }, options?: RequestOptions): Promise<Playback>;
    /** Record the audio from a channel. */
    record(params: {
      /** Id of the channel. */
      channelId: string;
      /** Name to store it by; parts of it may be directories. */
      name: string;
      /** Format of the file: wav, wav16, ulaw, alaw, sln, sln16, g722 or ogg. */
      format: string;
      /** Longest recording, in s; 0 for no limit. */
      maxDurationSeconds?: number;
      /** Silence that ends it, in s; 0 for none. */
      maxSilenceSeconds?: number;
      /** What to do if a stored recording of that name exists. */
      ifExists?: 'fail' | 'overwrite' | 'append';
      /** Play a beep first. */
      beep?: boolean;
      /** Digit that ends it. */
      terminateOn?: 'none' | 'any' | '*' | '#';
      /** Tracks: 2 records both sides, 1 only the audio from the channel. */
      channels?: number;
    }, options?: RequestOptions): Promise<LiveRecording>;
    /** Listen to a channel, or whisper to it, with a new channel. */
    snoopChannel(params: {
      /** Id of the channel. */
      channelId: string;
      /** Id for the channel that listens. */
      snoopId?: string;
      /** The side to hear: `in` is audio from the channel, `out` audio to it. */
      spy?: 'none' | 'both' | 'out' | 'in';
      /** The side that hears audio from the new channel. */
      whisper?: 'none' | 'both' | 'out' | 'in';
      /** Application that gets the new channel. */
      app: string;
      /** Arguments for the application, comma-separated. */
      appArgs?: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Listen to a channel, or whisper to it, with a new channel. */
    snoopChannelWithId(params: {
      /** Id of the channel. */
      channelId: string;
      /** Id for the channel that listens. */
      snoopId: string;
      /** The side to hear: `in` is audio from the channel, `out` audio to it. */
      spy?: 'none' | 'both' | 'out' | 'in';
      /** The side that hears audio from the new channel. */
      whisper?: 'none' | 'both' | 'out' | 'in';
      /** Application that gets the new channel. */
      app: string;
      /** Arguments for the application, comma-separated. */
      appArgs?: string;
    }, options?: RequestOptions): Promise<Channel>;
    /** Look at the figures of a channel's RTP. */
    rtpstatistics(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<RTPstat>;
    /** Read a variable or function of a channel. */
    getChannelVar(params: {
      /** Id of the channel. */
      channelId: string;
      /** Name, or function with arguments. */
      variable: string;
    }, options?: RequestOptions): Promise<Variable>;
    /** Set a variable or function of a channel. */
    setChannelVar(params: {
      /** Id of the channel. */
      channelId: string;
      /** Name, or function with arguments. */
      variable: string;
      /** Its new value; removed when left out. */
      value?: string;
      /** Show it in every event from now on. */
      report_events?: boolean;
    }, options?: RequestOptions): Promise<void>;
    /** Read several variables or functions of a channel. */
    getChannelVars(params: {
      /** Id of the channel. */
      channelId: string;
      /** Names. */
      variables: string | readonly string[];
    }, options?: RequestOptions): Promise<Variables>;
    /** Set several variables or functions of a channel. */
    setChannelVars(params: {
      /** Id of the channel. */
      channelId: string;
      /** Names, each with a value or an object with value and report_events. */
      variables: object;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Recordings of channels and bridges: live and stored ones. */
  recordings: {
    /** List the recordings that are kept. */
    listStored(params?: Record<string, never>, options?: RequestOptions): Promise<StoredRecording[]>;
    /** Look at a recording that is kept. */
    getStored(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<StoredRecording>;
    /** Delete a recording that is kept. */
    deleteStored(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Fetch the file of a recording, or a range of its bytes. */
    getStoredFile(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** Copy a recording that is kept. */
    copyStored(params: {
      /** Name of the recording. */
      recordingName: string;
      /** Name of the copy. */
      destinationRecordingName: string;
    }, options?: RequestOptions): Promise<StoredRecording>;
    /** Look at a recording that is being made; it is gone once it is over. */
    getLive(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<LiveRecording>;
    /** Stop a recording and throw it away. */
    cancel(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Stop a recording and keep it. */
    stop(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Pause the recording: leaves audio out until it is unpaused. */
    pause(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Resume a paused recording. */
    unpause(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Resume a paused recording. */
    unpauseByPost(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Record silence. */
    mute(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Unpause the recording. */
    unmute(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
    /** Unpause the recording. */
    unmuteByPost(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Playbacks: media being played. */
  playbacks: {
    /** Look at a playback; it is gone once it is over. */
    get(params: {
      /** Id of the playback. */
      playbackId: string;
    }, options?: RequestOptions): Promise<Playback>;
    /** Stop a playback, including the rest of its list. */
    stop(params: {
      /** Id of the playback. */
      playbackId: string;
    }, options?: RequestOptions): Promise<void>;
    /** Move within the item that is played, or pause it. */
    control(params: {
      /** Id of the playback. */
      playbackId: string;
      /** The command. */
      operation: 'restart' | 'pause' | 'unpause' | 'reverse' | 'forward';
    }, options?: RequestOptions): Promise<void>;
  };
  /** Device states: how busy devices are. */
  deviceStates: {
    /** List the device states that clients keep. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<DeviceState[]>;
    /** Look at the state of any device. */
    get(params: {
      /** Name of the device. */
      deviceName: string;
    }, options?: RequestOptions): Promise<DeviceState>;
    /** Set the state of a device that clients keep. */
    update(params: {
      /** Name of the device. */
      deviceName: string;
      /** Its new state. */
      deviceState: 'NOT_INUSE' | 'INUSE' | 'BUSY' | 'INVALID' | 'UNAVAILABLE' | 'RINGING' | 'RINGINUSE' | 'ONHOLD';
    }, options?: RequestOptions): Promise<void>;
    /** Forget the state of a device that clients keep. */
    delete(params: {
      /** Name of the device. */
      deviceName: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Mailboxes: counts of messages that wait. */
  mailboxes: {
    /** List all mailboxes. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Mailbox[]>;
    /** Look at one mailbox. */
    get(params: {
      /** Name of the mailbox. */
      mailboxName: string;
    }, options?: RequestOptions): Promise<Mailbox>;
    /** Set the counts of a mailbox; it is made when there is none. */
    update(params: {
      /** Name of the mailbox. */
      mailboxName: string;
      /** Messages already heard. */
      oldMessages: number;
      /** Messages not heard yet. */
      newMessages: number;
    }, options?: RequestOptions): Promise<void>;
    /** Forget a mailbox. */
    delete(params: {
      /** Name of the mailbox. */
      mailboxName: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Events: their WebSocket, and user events. */
  events: {
    /** Tell an application an event of your own. */
    userEvent(params: {
      /** Name of the event. */
      eventName: string;
      /** Application that gets it. */
      application: string;
      /** The subject: channel:id, bridge:id, endpoint:technology/resource. */
      source?: string | readonly string[];
      /** Variables of the event: names and values. */
      variables?: object;
    }, options?: RequestOptions): Promise<void>;
    /** Take a call that is offered to several applications. */
    claimChannel(params: {
      /** Id of the channel that is offered. */
      channelId: string;
      /** Application that takes it. */
      application: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Applications: the clients of this interface and what they listen to. */
  applications: {
    /** List all applications. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Application[]>;
    /** Look at one application. */
    get(params: {
      /** Name of the application. */
      applicationName: string;
    }, options?: RequestOptions): Promise<Application>;
    /** Listen to something; counted, once per call. */
    subscribe(params: {
      /** Name of the application. */
      applicationName: string;
      /** Event sources: channel:id, bridge:id, endpoint:technology/resource or deviceState:name. Without an id: all. */
      eventSource: string | readonly string[];
    }, options?: RequestOptions): Promise<Application>;
    /** Take one subscription back. */
    unsubscribe(params: {
      /** Name of the application. */
      applicationName: string;
      /** Event sources: channel:id, bridge:id, endpoint:technology/resource or deviceState:name. Without an id: all. */
      eventSource: string | readonly string[];
    }, options?: RequestOptions): Promise<Application>;
    /** Say which event types the application gets. */
    filter(params: {
      /** Name of the application. */
      applicationName: string;
      /** The lists. */
      filter?: object;
    }, options?: RequestOptions): Promise<Application>;
  };
  /** Sounds that can be played. */
  sounds: {
    /** List sounds. */
    list(params?: {
      /** Only those in this language. */
      lang?: string;
      /** Only those in this format. */
      format?: string;
    }, options?: RequestOptions): Promise<Sound[]>;
    /** Look at one sound. */
    get(params: {
      /** Id of the sound; a slash in it is sent as %2F. */
      soundId: string;
    }, options?: RequestOptions): Promise<Sound>;
  };
}

/** Operations of this server beyond ARI. */
export interface OwnOperations {
  /** Operations: what an object allows now. For the others, the reason and the states that would allow it. */
  operations: {
    /** The operations that a channel allows now. */
    channel(params: {
      /** Id of the channel. */
      channelId: string;
    }, options?: RequestOptions): Promise<AllowedOperations>;
    /** The operations that a bridge allows now. */
    bridge(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<AllowedOperations>;
    /** The operations that a playback allows now. */
    playback(params: {
      /** Id of the playback. */
      playbackId: string;
    }, options?: RequestOptions): Promise<AllowedOperations>;
    /** The operations that a live recording allows now. */
    recording(params: {
      /** Name of the recording. */
      recordingName: string;
    }, options?: RequestOptions): Promise<AllowedOperations>;
  };
  /** Bans: addresses that gave wrong passwords of late, by SIP or HTTP, and are slowed or ignored for it. */
  bans: {
    /** List the addresses that something counts against. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Ban[]>;
    /** Clear the wrong log-ins of an address and stop ignoring it. */
    lift(params: {
      /** The address, as listed (with `/` as `%2F`) or any that belongs to it. */
      address: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Calls: channels that belong together, live and ended, with everything that was recorded of them. */
  calls: {
    /** List calls, newest first. */
    list(params?: {
      /** Part of the number of a party, or of the extension that was called. */
      number?: string;
      /** Application that is or was in control of a channel of it. */
      app?: string;
      /** Endpoint of a channel of it: `technology/resource`, or the resource. */
      endpoint?: string;
      /** Whether a channel is left. */
      state?: 'live' | 'ended';
      /** Began at least so many seconds ago. */
      older_than?: number;
      /** Something of it stays longer than it is expected to. */
      stuck?: boolean;
      /** Search the calls on the disk, too. */
      stored?: boolean;
      /** Words that its ids, names, numbers, applications and outcome contain. */
      text?: string;
      /** The outcome. */
      outcome?: string | readonly string[];
      /** Q.850 cause of one of its channels. */
      cause?: number;
      /** Began at this time or later: `2026-11-26T10:00:00Z`, or ms since the Unix epoch. */
      from?: string;
      /** Began at this time or earlier. */
      to?: string;
      /** It lasted at least so many seconds. */
      longer_than?: number;
      /** It lasted at most so many seconds. */
      shorter_than?: number;
      /** How many to leave out at the beginning. */
      offset?: number;
      /** How many to list at most, up to 1000. */
      limit?: number;
    }, options?: RequestOptions): Promise<CallPage>;
    /** Get a call with its timeline. */
    get(params: {
      /** Id of the call, or of a channel of it. */
      callId: string;
    }, options?: RequestOptions): Promise<CallDetail>;
    /** Get a call as the source of a Mermaid sequence diagram. */
    getDiagram(params: {
      /** Id of the call, or of a channel of it. */
      callId: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** Get the SIP messages of a call as a capture file. */
    getCapture(params: {
      /** Id of the call, or of a channel of it. */
      callId: string;
      /** Which packets of audio to add. */
      rtp?: 'none' | 'headers';
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** Hide digits or variables of a call, before a party enters private data. */
    mask(params: {
      /** Id of the call, or of a channel of it. */
      callId: string;
      /** Hide the digits that are pressed or sent. */
      digits?: boolean;
      /** Hide the values of these variables. */
      variables?: string | readonly string[];
    }, options?: RequestOptions): Promise<CallMask>;
    /** Get everything about a call in one file, for a report of a fault. */
    getBundle(params: {
      /** Id of the call, or of a channel of it. */
      callId: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** List stuck objects, and what each one waits for. */
    stuck(params?: Record<string, never>, options?: RequestOptions): Promise<WaitingFor[]>;
  };
  /** Charts: the states of every kind of object, and what is done in each. */
  charts: {
    /** List the charts. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<ChartSummary[]>;
    /** A whole chart: states, transitions, and the result of each event in each state. */
    get(params: {
      /** Name of the chart, as steps have it, e.g. `channel`. */
      chartName: string;
    }, options?: RequestOptions): Promise<Chart>;
    /** A chart as a drawing. */
    getSvg(params: {
      /** Name of the chart, as steps have it, e.g. `channel`. */
      chartName: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** A chart as the configuration of an xstate machine. */
    getJson(params: {
      /** Name of the chart, as steps have it, e.g. `channel`. */
      chartName: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
    /** A chart as SCXML. */
    getScxml(params: {
      /** Name of the chart, as steps have it, e.g. `channel`. */
      chartName: string;
    }, options?: RequestOptions): Promise<Uint8Array>;
  };
  /** Groups: connections that share the events of an application (`group` of the events WebSocket). */
  groups: {
    /** List the groups with their members. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<EventGroup[]>;
    /** Give a member no more new calls; GroupMemberDrained tells it when its last call is over. */
    drain(params: {
      /** Name of the application. */
      applicationName: string;
      /** Name of the group. */
      groupName: string;
      /** Name of the member. */
      memberName: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /**
   * Listening: what both sides of a live channel say, over a WebSocket or with a browser as a phone. Only where
   * `listening.on` is set.
   */
  listening: {
    /** Listen to a channel with a browser, and talk to it. */
    supervise(params: {
      /** Id of the channel. */
      channelId: string;
      /** The offer, as application/sdp. */
      offer: string;
      /** Who hears the browser. */
      mode?: 'listen' | 'whisper' | 'barge';
      /** Id for the channel of the browser; up to 149 characters. */
      supervisorId?: string;
      /** Formats that may be used, e.g. `ulaw,opus`. */
      formats?: string;
    }, options?: RequestOptions): Promise<string>;
  };
  /** Logging: which lines are written, of all parts of the server and of single ones. */
  logging: {
    /** Tell which lines are written. */
    get(params?: Record<string, never>, options?: RequestOptions): Promise<Logging>;
    /** Change the log levels, until the configuration is read again. */
    set(params?: {
      /** The least serious kind of line that is written. */
      level?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
      /** Levels of parts, `{"sip":"trace"}`; parts that it does not name have none of their own. */
      parts?: object;
    }, options?: RequestOptions): Promise<Logging>;
  };
  /** Nodes: the servers of a cluster. */
  nodes: {
    /** List the nodes of the cluster, with their state and load. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<ClusterNode[]>;
    /** Remove a node that was lost and does not come back. */
    forget(params: {
      /** The name of the node. */
      nodeName: string;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Server: version, addresses, contacts of phones and their subscriptions. */
  server: {
    /** The server's version, start time, and SIP addresses. */
    get(params?: Record<string, never>, options?: RequestOptions): Promise<ServerInfo>;
    /**
     * Start the installed version, which takes over all calls and connections of the running one. Answered when it is
     * about to.
     */
    upgrade(params?: Record<string, never>, options?: RequestOptions): Promise<void>;
    /** Take no new calls. Live calls continue and may place others. */
    drain(params?: Record<string, never>, options?: RequestOptions): Promise<ServerInfo>;
    /** Have another node of the cluster go on with all calls, and end this server. Answered when it is about to. */
    moveCalls(params?: Record<string, never>, options?: RequestOptions): Promise<void>;
    /** Take new calls again. */
    undrain(params?: Record<string, never>, options?: RequestOptions): Promise<ServerInfo>;
    /** List the alarms, critical ones first. */
    listAlarms(params?: Record<string, never>, options?: RequestOptions): Promise<Alarm[]>;
    /** Get the figures of each minute since the start, for as long as `alarms.history`. */
    getHistory(params?: Record<string, never>, options?: RequestOptions): Promise<History>;
    /** List the contacts of all endpoints, registered and configured, with the result of their last check. */
    listContacts(params?: Record<string, never>, options?: RequestOptions): Promise<ContactView[]>;
    /** List our registrations at providers, with their state and its next deadlines. */
    listRegistrations(params?: Record<string, never>, options?: RequestOptions): Promise<RegistrationView[]>;
    /** List the subscriptions of phones to BLF and to waiting messages. */
    listWatchers(params?: Record<string, never>, options?: RequestOptions): Promise<WatcherView[]>;
  };
  /** Sessions: log-ins of web pages, which shall not keep a password. */
  sessions: {
    /** Log in: get a token for the name and password that the request comes with. */
    open(params?: Record<string, never>, options?: RequestOptions): Promise<LogInSession>;
    /** Log out: the request's token becomes invalid. */
    close(params?: Record<string, never>, options?: RequestOptions): Promise<void>;
    /** Get a ticket. It opens one WebSocket (`?ticket=…`) as the same user. */
    ticket(params?: Record<string, never>, options?: RequestOptions): Promise<Ticket>;
  };
  /** Video visibility: which member of a bridge sees which, and why not. */
  videoVisibility: {
    /** Which member of a bridge sees which, and why not. */
    bridge(params: {
      /** Id of the bridge. */
      bridgeId: string;
    }, options?: RequestOptions): Promise<VideoVisibility[]>;
  };
  /** Tokens: what stands for a user in place of its password, narrower than that, until it expires. */
  tokens: {
    /** List the valid tokens. A scoped user sees its own. */
    list(params?: Record<string, never>, options?: RequestOptions): Promise<Token[]>;
    /** Make a token. */
    make(params: {
      /** Name for revoking it: up to 64 letters, digits, `.`, `-`, `_` and `@`. */
      name: string;
      /** Its user; default: the requesting user. */
      user?: string;
      /** How long it is good, in s; at most `http.tokens.longest_lifetime`, and 30 days when left out. */
      expires_in?: number;
      /** It may only read. */
      read_only?: boolean;
      /** Applications that it is limited to. */
      applications?: string | readonly string[];
      /** Operations that it is limited to. */
      operations?: string | readonly string[];
      /** Contexts that it is limited to. */
      contexts?: string | readonly string[];
      /** Endpoints that it may call. */
      endpoints?: string | readonly string[];
    }, options?: RequestOptions): Promise<NewToken>;
    /** Revoke a token. Its connections are closed. */
    revoke(params: {
      /** Name of the token. */
      tokenName: string;
    }, options?: RequestOptions): Promise<void>;
    /** The requesting user, and its rights. */
    access(params?: Record<string, never>, options?: RequestOptions): Promise<Access>;
  };
  /** Usage: objects in memory, for monitoring and for finding leaks. */
  usage: {
    /** Count the objects in memory. */
    get(params?: Record<string, never>, options?: RequestOptions): Promise<Usage>;
  };
  /**
   * WebRTC: browsers call and are called over HTTP, without SIP. Clients of WHIP (RFC 9725) can send, clients of WHEP
   * can listen.
   */
  webrtc: {
    /** The name that calls the browser, and servers for its side of ICE. */
    terms(params?: Record<string, never>, options?: RequestOptions): Promise<WebrtcTerms>;
    /** Call: answers an SDP offer and makes its channel. */
    call(params: {
      /** The offer, as application/sdp. */
      offer: string;
      /** Application that gets the channel. */
      app?: string;
      /** Arguments for the application. */
      appArgs?: string;
      /** Extension of the dialplan to call, without an application. */
      extension?: string;
      /** Its context. */
      context?: string;
      /** Id for the channel; up to 149 characters. */
      channelId?: string;
      /** Formats that may be used, e.g. `ulaw,opus`. */
      formats?: string;
      /** The waiting call that this offer takes; nothing else is read then. */
      call?: string;
    }, options?: RequestOptions): Promise<string>;
    /** Change a session: another offer, or a fragment of SDP with ICE. */
    update(params: {
      /** The session, from `Location`. */
      sessionId: string;
      /** An offer, or a fragment of SDP. */
      offer: string;
    }, options?: RequestOptions): Promise<string>;
    /** Hang up, or refuse a call that waits. */
    end(params: {
      /** The session, from `Location`. */
      sessionId: string;
    }, options?: RequestOptions): Promise<void>;
  };
}

export const ariOperations = {
  asterisk: {
    getInfo: 'GET /ari/asterisk/info',
    ping: 'GET /ari/asterisk/ping',
    getGlobalVar: 'GET /ari/asterisk/variable',
    setGlobalVar: 'POST /ari/asterisk/variable',
    listModules: 'GET /ari/asterisk/modules',
    getModule: 'GET /ari/asterisk/modules/{moduleName}',
    loadModule: 'POST /ari/asterisk/modules/{moduleName}',
    unloadModule: 'DELETE /ari/asterisk/modules/{moduleName}',
    reloadModule: 'PUT /ari/asterisk/modules/{moduleName}',
    listLogChannels: 'GET /ari/asterisk/logging',
    addLog: 'POST /ari/asterisk/logging/{logChannelName}',
    deleteLog: 'DELETE /ari/asterisk/logging/{logChannelName}',
    rotateLog: 'PUT /ari/asterisk/logging/{logChannelName}/rotate',
    getObject: 'GET /ari/asterisk/config/dynamic/{configClass}/{objectType}/{id}',
    updateObject: 'PUT /ari/asterisk/config/dynamic/{configClass}/{objectType}/{id} fields',
    deleteObject: 'DELETE /ari/asterisk/config/dynamic/{configClass}/{objectType}/{id}',
  },
  endpoints: {
    list: 'GET /ari/endpoints',
    sendMessage: 'PUT /ari/endpoints/sendMessage variables',
    refer: 'POST /ari/endpoints/refer variables',
    listByTech: 'GET /ari/endpoints/{tech}',
    get: 'GET /ari/endpoints/{tech}/{resource}',
    sendMessageToEndpoint: 'PUT /ari/endpoints/{tech}/{resource}/sendMessage variables',
    referToEndpoint: 'POST /ari/endpoints/{tech}/{resource}/refer variables',
  },
  bridges: {
    list: 'GET /ari/bridges',
    create: 'POST /ari/bridges features variables',
    createWithId: 'POST /ari/bridges/{bridgeId} features variables',
    get: 'GET /ari/bridges/{bridgeId}',
    destroy: 'DELETE /ari/bridges/{bridgeId}',
    addChannel: 'POST /ari/bridges/{bridgeId}/addChannel',
    removeChannel: 'POST /ari/bridges/{bridgeId}/removeChannel',
    setVideoSource: 'POST /ari/bridges/{bridgeId}/videoSource/{channelId}',
    clearVideoSource: 'DELETE /ari/bridges/{bridgeId}/videoSource',
    startMoh: 'POST /ari/bridges/{bridgeId}/moh',
    stopMoh: 'DELETE /ari/bridges/{bridgeId}/moh',
    play: 'POST /ari/bridges/{bridgeId}/play',
    playWithId: 'POST /ari/bridges/{bridgeId}/play/{playbackId}',
    record: 'POST /ari/bridges/{bridgeId}/record',
    getBridgeVar: 'GET /ari/bridges/{bridgeId}/variable',
    setBridgeVar: 'POST /ari/bridges/{bridgeId}/variable',
    getBridgeVars: 'GET /ari/bridges/{bridgeId}/variables',
    setBridgeVars: 'POST /ari/bridges/{bridgeId}/variables variables',
  },
  channels: {
    externalMedia: 'POST /ari/channels/externalMedia variables',
    list: 'GET /ari/channels',
    originate: 'POST /ari/channels variables',
    create: 'POST /ari/channels/create variables',
    get: 'GET /ari/channels/{channelId}',
    originateWithId: 'POST /ari/channels/{channelId} variables',
    dial: 'POST /ari/channels/{channelId}/dial',
    hangup: 'DELETE /ari/channels/{channelId}',
    continueInDialplan: 'POST /ari/channels/{channelId}/continue',
    move: 'POST /ari/channels/{channelId}/move',
    redirect: 'POST /ari/channels/{channelId}/redirect',
    transfer_progress: 'POST /ari/channels/{channelId}/transfer_progress',
    answer: 'POST /ari/channels/{channelId}/answer',
    ring: 'POST /ari/channels/{channelId}/ring',
    ringStop: 'DELETE /ari/channels/{channelId}/ring',
    progress: 'POST /ari/channels/{channelId}/progress',
    sendDTMF: 'POST /ari/channels/{channelId}/dtmf',
    mute: 'POST /ari/channels/{channelId}/mute',
    unmute: 'DELETE /ari/channels/{channelId}/mute',
    hold: 'POST /ari/channels/{channelId}/hold',
    unhold: 'DELETE /ari/channels/{channelId}/hold',
    startMoh: 'POST /ari/channels/{channelId}/moh',
    stopMoh: 'DELETE /ari/channels/{channelId}/moh',
    startSilence: 'POST /ari/channels/{channelId}/silence',
    stopSilence: 'DELETE /ari/channels/{channelId}/silence',
    play: 'POST /ari/channels/{channelId}/play',
    playWithId: 'POST /ari/channels/{channelId}/play/{playbackId}',
    record: 'POST /ari/channels/{channelId}/record',
    snoopChannel: 'POST /ari/channels/{channelId}/snoop',
    snoopChannelWithId: 'POST /ari/channels/{channelId}/snoop/{snoopId}',
    rtpstatistics: 'GET /ari/channels/{channelId}/rtp_statistics',
    getChannelVar: 'GET /ari/channels/{channelId}/variable',
    setChannelVar: 'POST /ari/channels/{channelId}/variable',
    getChannelVars: 'GET /ari/channels/{channelId}/variables',
    setChannelVars: 'POST /ari/channels/{channelId}/variables variables',
  },
  recordings: {
    listStored: 'GET /ari/recordings/stored',
    getStored: 'GET /ari/recordings/stored/{recordingName}',
    deleteStored: 'DELETE /ari/recordings/stored/{recordingName}',
    getStoredFile: 'GET /ari/recordings/stored/{recordingName}/file <',
    copyStored: 'POST /ari/recordings/stored/{recordingName}/copy',
    getLive: 'GET /ari/recordings/live/{recordingName}',
    cancel: 'DELETE /ari/recordings/live/{recordingName}',
    stop: 'POST /ari/recordings/live/{recordingName}/stop',
    pause: 'POST /ari/recordings/live/{recordingName}/pause',
    unpause: 'DELETE /ari/recordings/live/{recordingName}/pause',
    unpauseByPost: 'POST /ari/recordings/live/{recordingName}/unpause',
    mute: 'POST /ari/recordings/live/{recordingName}/mute',
    unmute: 'DELETE /ari/recordings/live/{recordingName}/mute',
    unmuteByPost: 'POST /ari/recordings/live/{recordingName}/unmute',
  },
  playbacks: {
    get: 'GET /ari/playbacks/{playbackId}',
    stop: 'DELETE /ari/playbacks/{playbackId}',
    control: 'POST /ari/playbacks/{playbackId}/control',
  },
  deviceStates: {
    list: 'GET /ari/deviceStates',
    get: 'GET /ari/deviceStates/{deviceName}',
    update: 'PUT /ari/deviceStates/{deviceName}',
    delete: 'DELETE /ari/deviceStates/{deviceName}',
  },
  mailboxes: {
    list: 'GET /ari/mailboxes',
    get: 'GET /ari/mailboxes/{mailboxName}',
    update: 'PUT /ari/mailboxes/{mailboxName}',
    delete: 'DELETE /ari/mailboxes/{mailboxName}',
  },
  events: {
    userEvent: 'POST /ari/events/user/{eventName} variables',
    claimChannel: 'POST /ari/events/claim',
  },
  applications: {
    list: 'GET /ari/applications',
    get: 'GET /ari/applications/{applicationName}',
    subscribe: 'POST /ari/applications/{applicationName}/subscription',
    unsubscribe: 'DELETE /ari/applications/{applicationName}/subscription',
    filter: 'PUT /ari/applications/{applicationName}/eventFilter =filter',
  },
  sounds: {
    list: 'GET /ari/sounds',
    get: 'GET /ari/sounds/{soundId}',
  },
} as const;

export const ownOperations = {
  operations: {
    channel: 'GET /hookswitch/channels/{channelId}/operations',
    bridge: 'GET /hookswitch/bridges/{bridgeId}/operations',
    playback: 'GET /hookswitch/playbacks/{playbackId}/operations',
    recording: 'GET /hookswitch/recordings/{recordingName}/operations',
  },
  bans: {
    list: 'GET /hookswitch/bans',
    lift: 'DELETE /hookswitch/bans/{address}',
  },
  calls: {
    list: 'GET /hookswitch/calls',
    get: 'GET /hookswitch/calls/{callId}',
    getDiagram: 'GET /hookswitch/calls/{callId}.mmd <',
    getCapture: 'GET /hookswitch/calls/{callId}.pcap <',
    mask: 'PUT /hookswitch/calls/{callId}/mask',
    getBundle: 'GET /hookswitch/calls/{callId}/bundle <',
    stuck: 'GET /hookswitch/stuck',
  },
  charts: {
    list: 'GET /hookswitch/charts',
    get: 'GET /hookswitch/charts/{chartName}',
    getSvg: 'GET /hookswitch/charts/{chartName}.svg <',
    getJson: 'GET /hookswitch/charts/{chartName}.json <',
    getScxml: 'GET /hookswitch/charts/{chartName}.scxml <',
  },
  groups: {
    list: 'GET /hookswitch/groups',
    drain: 'POST /hookswitch/groups/{applicationName}/{groupName}/members/{memberName}/drain',
  },
  listening: {
    supervise: 'POST /hookswitch/channels/{channelId}/supervise =offer',
  },
  logging: {
    get: 'GET /hookswitch/logging',
    set: 'PUT /hookswitch/logging parts',
  },
  nodes: {
    list: 'GET /hookswitch/nodes',
    forget: 'DELETE /hookswitch/nodes/{nodeName}',
  },
  server: {
    get: 'GET /hookswitch/server',
    upgrade: 'POST /hookswitch/server/upgrade',
    drain: 'POST /hookswitch/server/drain',
    moveCalls: 'POST /hookswitch/server/move',
    undrain: 'DELETE /hookswitch/server/drain',
    listAlarms: 'GET /hookswitch/alarms',
    getHistory: 'GET /hookswitch/history',
    listContacts: 'GET /hookswitch/contacts',
    listRegistrations: 'GET /hookswitch/registrations',
    listWatchers: 'GET /hookswitch/watchers',
  },
  sessions: {
    open: 'POST /hookswitch/sessions',
    close: 'DELETE /hookswitch/sessions',
    ticket: 'POST /hookswitch/sessions/tickets',
  },
  videoVisibility: {
    bridge: 'GET /hookswitch/bridges/{bridgeId}/video-visibility',
  },
  tokens: {
    list: 'GET /hookswitch/tokens',
    make: 'POST /hookswitch/tokens',
    revoke: 'DELETE /hookswitch/tokens/{tokenName}',
    access: 'GET /hookswitch/access',
  },
  usage: {
    get: 'GET /hookswitch/usage',
  },
  webrtc: {
    terms: 'GET /hookswitch/webrtc',
    call: 'POST /hookswitch/webrtc =offer',
    update: 'PATCH /hookswitch/webrtc/sessions/{sessionId} =offer',
    end: 'DELETE /hookswitch/webrtc/sessions/{sessionId}',
  },
} as const;
