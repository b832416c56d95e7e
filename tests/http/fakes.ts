import { Writable } from 'node:stream';
import { createApp, type HttpApp } from '../../src/http/app.ts';
import type { Deps, Owners } from '../../src/http/deps.ts';
import type { AppDeps, HttpOptions } from '../../src/http/env.ts';
import type { FileAnswer } from '../../src/http/file-answers.ts';
import { apis } from '../../src/http/routes/index.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import type { Channel } from '../../src/models/channel.ts';
import { checkOf } from '../../src/models/validator.ts';

/** Owners that remember what was asked of them and answer with samples, and the interface over them. */

const timestamp = '2026-01-31T12:00:00.123+0000';

export const channel: Channel = {
  id: 'c1',
  name: 'PJSIP/alice-0a1b2c3d',
  state: 'Up',
  protocol_id: '',
  caller: { name: '', number: '100' },
  connected: { name: '', number: '' },
  accountcode: '',
  dialplan: { context: 'default', exten: 's', priority: 1, app_name: 'Stasis', app_data: 'hello' },
  creationtime: timestamp,
  language: 'en',
};

export const samples = {
  channel,
  playback: {
    id: 'p/1',
    media_uri: 'sound:beep',
    target_uri: 'channel:c1',
    language: 'en',
    state: 'playing',
  },
  bridge: {
    id: 'b/1',
    technology: 'simple_bridge',
    bridge_type: 'mixing',
    bridge_class: 'stasis',
    creator: 'Stasis',
    name: '',
    channels: ['c1'],
    video_mode: 'talker',
    creationtime: timestamp,
    creation: timestamp,
  },
  visibility: { channel: 'c1', others: [{ channel: 'c2', seen: false, why: 'codec' }] },
  recording: { name: 'r/1', format: 'wav', target_uri: 'channel:c1', state: 'recording' },
  stored: { name: 'r/1', format: 'wav' },
  application: {
    name: 'hello',
    channel_ids: [],
    bridge_ids: [],
    endpoint_ids: ['PJSIP/alice'],
    device_names: [],
    events_allowed: [{ type: 'StasisStart', more: 1 }],
    events_disallowed: [],
  },
  endpoint: { technology: 'PJSIP', resource: 'alice', state: 'online', channel_ids: ['c1'] },
  variable: { value: 'v' },
  variables: { variables: { a: 'b' } },
  ping: { asterisk_id: '02:00:00:00:00:01', ping: 'pong', timestamp },
  info: { system: { version: '1', entity_id: 'x' } },
  sound: { id: 'beep', text: 'beep', formats: [{ language: 'en', format: 'wav' }] },
  deviceState: { name: 'Stasis:q', state: 'INUSE' },
  mailbox: { name: 'm', old_messages: 1, new_messages: 2 },
  logChannel: { channel: '/var/log/x', type: 'File', status: 'Enabled', configuration: 'ERROR ' },
  module: { name: 'm', description: 'd', use_count: 0, status: 'Running', support_level: 'core' },
  tuple: { attribute: 'a', value: 'b' },
  access: { user: 'writer', read_only: false, scopes: [], operations: ['channels:get'] },
  token: {
    ...{ name: 'ci', user: 'writer', scopes: [{ operations: ['channels'] }], read_only: false, made_by: 'writer' },
    ...{ created: timestamp, expires: timestamp },
  },
  group: { application: 'hello', group: 'g', members: [{ name: 'm', state: 'active', calls: 1 }] },
  ban: {
    address: '192.0.2.1',
    attempts: 3,
    users: ['a'],
    protocols: ['http'],
    doors: ['http'],
    first: timestamp,
    last: timestamp,
  },
  possible: {
    kind: 'playback',
    id: 'p/1',
    states: { playback: 'done' },
    operations: [
      { operation: 'stop', allowed: true },
      {
        operation: 'pause',
        allowed: false,
        error: 'playbackNotPlaying',
        status: 409,
        message: 'Can only pause while media is playing',
        chart: 'playback',
        allowed_in: ['playing'],
      },
    ],
  },
  session: { token: 't', user: 'writer', read_only: false, expires: timestamp },
  ticket: { ticket: 'k', expires: timestamp },
  server: {
    name: 'Hookswitch',
    version: '1.2.3',
    started: timestamp,
    draining: false,
    channels: 4,
    sip: [{ protocol: 'udp', host: '::', port: 5060 }],
    listening: 'nobody',
    media_threads: [3, 0],
    media_load: [{ late: 2, skipped: 1, delay: { mean: 0.1, p99: 1.5, max: 12 } }],
    event_loop: { mean: 0.2, p99: 2, max: 30.5 },
    records: { made: 7, lost: 1, waiting_octets: 300 },
    audit: { lines: 12, lost: 0 },
  },
  node: {
    name: 'a',
    self: true,
    state: 'member',
    heard: timestamp,
    figures: {
      ...{ version: '1.2.3', started: timestamp, channels: 3, bridges: 1, applications: 2, draining: false },
      load: 0.25,
    },
  },
  watcher: { endpoint: 'PJSIP/bob', topics: ['device:pjsip/alice'], state: 'settled', told: 3 },
  contact: {
    endpoint: 'PJSIP/alice',
    uri: 'sip:alice@192.0.2.1',
    aor: 'alice',
    contact_status: 'Reachable',
    roundtrip_usec: '1200',
    state: 'reachable.resting',
    deadlines: [{ event: 'after qualifyInterval', at: 1_000 }],
  },
  registration: {
    endpoint: 'PJSIP/trunk',
    server: 'sip:192.0.2.7',
    client: 'sip:us@192.0.2.7',
    status: 'Unregistered',
    reason: 'no answer',
    state: 'backingOff',
    deadlines: [{ event: 'after wait', at: 1_000 }],
  },
  chartSummary: { name: 'door', title: 'Door', about: 'A door.', states: ['open', 'shut'] },
  chart: {
    name: 'door',
    title: 'Door',
    about: 'A door.',
    file: 'src/machines/door.ts',
    states: [{ id: 'open', kind: 'atomic', initial: true, effects: ['squeak'], facts: [] }],
    transitions: [{ from: 'open', to: 'shut', event: 'close', effects: [], facts: ['Closed'], edge: 'edge:open:shut' }],
    events: [{ event: 'close', kind: 'command', in: { open: '→ shut / Closed' } }],
    delays: { patience: '5 ms' },
  },
  alarm: {
    kind: 'disk',
    severity: 'warning',
    text: 'Only 9.0 % of the disk with the data directory are free',
    advice: 'Delete files.',
    count: 1,
    calls: [],
  },
  history: {
    interval_s: 60,
    from: 60_000,
    ...{ live_calls: [1], new_calls: [2], answered_calls: [3], failed_calls: [4], one_way_calls: [5] },
    ...{ missing_applications: [6], skipped_ticks: [7], sip_timeouts: [8], lost_records: [9] },
    ...{ loop_delay_ms: [10], memory_mb: [11] },
  },
  usage: {
    channels: 1,
    playbacks: 2,
    channelAudio: 3,
    contacts: 4,
    bridges: 19,
    recordings: 20,
    snoops: 21,
    outboundConnections: 5,
    externalConnections: 22,
    registrations: 23,
    media: {
      sessions: 6,
      ports: 7,
      players: 8,
      timers: 9,
      externalWaitingMs: 10,
      externalDroppedMs: 11,
      externalUnsentFrames: 12,
    },
    sip: {
      dialogs: 10,
      pending: 11,
      legs: 12,
      bindings: 13,
      qualifying: 14,
      subscriptions: 15,
      lines: 24,
      referrals: 16,
      nonces: 17,
      transactions: 18,
    },
  },
  statistics: {
    txcount: 1,
    forwarded: 1,
    rxcount: 2,
    txploss: 0,
    rxploss: 0,
    local_ssrc: 3,
    remote_ssrc: 4,
    txoctetcount: 160,
    rxoctetcount: 320,
    channel_uniqueid: 'c1',
  },
  logging: { level: 'info', parts: { sip: 'trace' } },
} as const;

/** A call, as the recorder shows it. */
export const call: CallDetail = {
  id: 'c1',
  state: 'live',
  began: 1,
  duration_ms: 2,
  outcome: { result: 'answered', reason: 'answered' },
  channels: [],
  applications: ['hello'],
  bridges: [],
  stuck: [],
  entries: 1,
  gone: 0,
  seq: 3,
  timeline: [{ kind: 'media', seq: 3, at: 1, object: 'c1', report: { codec: 'ulaw' } }],
};
const { timeline: _all, ...listed } = call;
export const callPage: CallPage = { calls: [listed], total: 1, evicted: 0 };

/** A file with that text. */
export const storedFile = (text: string): FileAnswer => ({
  type: 'audio/wav',
  size: text.length,
  etag: '"v1"',
  read: (start, end) => new Blob([text.slice(start, end + 1)]).stream(),
});

/** What each owner's methods answer. One that is not here answers {@link fitting}. */
const answers: { [K in Exclude<keyof Owners, 'objectOwnership'>]: Partial<Record<keyof Owners[K], unknown>> } = {
  channels: {
    list: [samples.channel],
    get: samples.channel,
    originate: samples.channel,
    create: samples.channel,
    getVariable: samples.variable,
    getVariables: samples.variables,
    rtpStatistics: Promise.resolve(samples.statistics),
    possible: samples.possible,
  },
  logLevels: { get: samples.logging, set: samples.logging },
  externalMedia: { externalMedia: Promise.resolve(samples.channel) },
  webrtc: {
    call: Promise.resolve({ session: 's1', channelId: 'c1', sdp: 'v=0\r\n', tag: 'abcd', iceServers: [] }),
    supervise: Promise.resolve({ session: 's1', channelId: 'c9', sdp: 'v=0\r\n', tag: 'abcd', iceServers: [] }),
    change: Promise.resolve({ session: 's1', channelId: 'c1', sdp: 'v=0\r\n', tag: 'abcd', isFragment: false }),
    terms: { name: 'alice', ice_servers: [] },
    listen: () => undefined,
  },
  playbacks: { playOnChannel: samples.playback, get: samples.playback, possible: samples.possible },
  server: { get: samples.server, drain: samples.server, undrain: samples.server },
  cluster: { nodes: [samples.node], forget: Promise.resolve() },
  contacts: { list: [samples.contact] },
  registrations: { list: [samples.registration] },
  watchers: { list: [samples.watcher] },
  sessions: { open: samples.session, ticket: samples.ticket },
  charts: {
    list: [samples.chartSummary],
    get: samples.chart,
    svg: Promise.resolve(storedFile('<svg/>')),
    json: Promise.resolve(storedFile('{}')),
    scxml: Promise.resolve(storedFile('<scxml/>')),
  },
  applications: {
    list: [samples.application],
    get: samples.application,
    subscribe: samples.application,
    unsubscribe: samples.application,
    filter: samples.application,
    connect: { close: () => undefined },
    bring: Promise.resolve(),
  },
  transfers: {},
  bridges: {
    list: [samples.bridge],
    create: samples.bridge,
    createWithId: samples.bridge,
    get: samples.bridge,
    possible: samples.possible,
    videoVisibility: Promise.resolve([samples.visibility]),
    play: samples.playback,
    record: samples.recording,
    getVariable: samples.variable,
    getVariables: samples.variables,
  },
  broadcasts: { claim: undefined },
  recordings: { recordOnChannel: samples.recording, get: samples.recording, possible: samples.possible },
  storedRecordings: {
    list: Promise.resolve([samples.stored]),
    get: Promise.resolve(samples.stored),
    copy: Promise.resolve(samples.stored),
    file: Promise.resolve(storedFile('0123456789')),
  },
  snoops: { snoop: samples.channel },
  endpoints: {
    list: [samples.endpoint],
    listByTech: [samples.endpoint],
    get: samples.endpoint,
  },
  messages: {
    sendMessage: Promise.resolve(),
    sendMessageToEndpoint: Promise.resolve(),
    refer: Promise.resolve(),
    referToEndpoint: Promise.resolve(),
  },
  system: { ping: samples.ping, info: samples.info, getGlobalVar: samples.variable },
  sounds: { list: [samples.sound], get: samples.sound },
  deviceStates: { list: [samples.deviceState], get: samples.deviceState },
  mailboxes: { list: [samples.mailbox], get: samples.mailbox },
  logChannels: { list: [samples.logChannel] },
  modules: { list: [samples.module], get: samples.module },
  dynamicConfig: { get: [samples.tuple], update: [samples.tuple] },
  alarms: { list: Promise.resolve([samples.alarm]), history: samples.history },
  usage: { get: Promise.resolve(samples.usage) },
  groups: { list: [samples.group] },
  bans: { list: [samples.ban], lift: true },
  calls: {
    list: callPage,
    get: call,
    mermaid: 'sequenceDiagram',
    pcap: Buffer.from('pcap'),
    mask: { digits: true, variables: ['PIN'] },
    bundle: {},
    stuck: [],
  },
  live: { watch: () => undefined },
  listening: { begin: () => () => undefined },
  tokens: {
    list: [samples.token],
    make: { token: 'hst_x', ...samples.token },
    revoke: undefined,
    access: samples.access,
  },
};

/** The first sample that fits the model of the operation of that name; nothing if there is none. */
function fitting(owner: string, method: string): unknown {
  const returns = declared.find((operation) => operation.owner === owner && operation.nickname === method)?.returns;
  return returns && Object.values(samples).find(checkOf(returns).fits);
}
const declared = apis.flatMap(({ resources }) => resources.flatMap(({ operations }) => operations));

export type Call = [method: string, ...args: unknown[]];

export type Fakes = {
  owners: Deps;
  /** What was asked, in order: `owner.method` and its arguments. */
  calls: Call[];
  /** When set, every method does this instead of answering. */
  instead: ((method: string) => unknown) | undefined;
};

export function createFakes(): Fakes {
  const fakes: Fakes = { owners: {}, calls: [], instead: undefined };
  const owner = (name: keyof typeof answers) =>
    new Proxy(
      {},
      {
        get:
          (_target, method: string) =>
          (...args: unknown[]) => {
            // Asked at every log-in, not by an operation.
            if (method === 'check' || method === 'failed') return { action: 'admit' };
            fakes.calls.push([`${name}.${method}`, ...args]);
            if (fakes.instead) return fakes.instead(`${name}.${method}`);
            const own = answers[name] as Record<string, unknown>;
            return method in own ? own[method] : fitting(name, method);
          },
      },
    );
  const names = Object.keys(answers) as (keyof typeof answers)[];
  fakes.owners = Object.fromEntries(names.map((name) => [name, owner(name)])) as Deps;
  return fakes;
}

export const options: HttpOptions = {
  users: [
    { name: 'writer', password: 'secret', read_only: false },
    { name: 'reader', password: 'look:only', read_only: true },
  ],
  auth_realm: 'Asterisk REST Interface',
  allowed_origins: [],
  pretty: false,
  validate: true,
  refusalForm: (refusal) => refusal,
  sessions: { lifetime: 3600, most: 3, ticket_lifetime: 30 },
  tokens: { most: 3, longest_lifetime: 86_400 },
  media_sockets: { log_in: true, message: 1_048_576 },
  limits: {
    body: 40_960,
    websocket_message: 65_535,
    websocket_queue: 262_144,
    unread_total: 1_048_576,
    connections: 256,
    address_share: 1,
    pipelined: 16,
    password_queue: 64,
    answer_timeout: 60,
    response_timeout: 30,
  },
};

export const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;
export const authorization = basic('writer:secret');

export type TestApp = HttpApp & {
  /** Lines that were logged. */
  logged: Record<string, unknown>[];
  /** Asks as `writer`, unless headers say otherwise. */
  ask(request: string, init?: { headers?: Record<string, string>; body?: string }): Promise<Response>;
};

/** The interface over `owners`. `ask('POST /ari/…')` goes through it without a socket. */
export function createTestApp(
  owners: Deps,
  changes: Partial<HttpOptions> = {},
  clock: Clock = systemClock,
  page: AppDeps['page'] = { version: '1.2.3', files: undefined },
  more: Pick<AppDeps, 'tokens' | 'keptAnswers' | 'audit' | 'hit' | 'answers' | 'changes' | 'cluster'> = {},
): TestApp {
  const logged: Record<string, unknown>[] = [];
  let secrets = 0;
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const http = createApp({
    owners,
    options: { ...options, ...changes },
    entityId: '02:00:00:00:00:01',
    page,
    ...more,
    secret: () => `secret-${++secrets}`,
    clock,
    log: createLogger({ level: 'debug', destination }),
  });
  return {
    ...http,
    logged,
    ask: async (request, { headers = { authorization }, body } = {}) => {
      const [method = 'GET', path = '/'] = request.split(/ (.*)/);
      return http.app.request(path, { method, headers, ...(body !== undefined && { body }) }, {});
    },
  };
}

/** Headers of a request with a JSON body. */
export const json = { authorization, 'content-type': 'application/json' };
/** Headers of a request with a form body. */
export const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
