import { createCallStory } from '../../src/actors/call-story.ts';
import { createChannelFacts } from '../../src/actors/channel-entry.ts';
import { createExternalMedia } from '../../src/actors/external-media.ts';
import type { OutboundConnectionSettings } from '../../src/actors/outbound-connection-entry.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import type { Base } from '../../src/build/base.ts';
import { buildCallControl } from '../../src/build/call-control.ts';
import type { Network } from '../../src/build/network.ts';
import { buildState } from '../../src/build/state.ts';
import { defaults } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import type { ConfiguredContexts } from '../../src/dialplan/parse.ts';
import { createLocalDriver } from '../../src/drivers/local/local.ts';
import { TurnChanges } from '../../src/lib/changes.ts';
import { createIds } from '../../src/lib/ids.ts';
import { LimitCounts } from '../../src/lib/limit-counts.ts';
import { Scope } from '../../src/lib/scope.ts';
import { AriError } from '../../src/models/errors.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { Recorder } from '../../src/recorder/recorder.ts';
import { recorderSettings } from '../../src/settings.ts';
import type { StoredRecordings } from '../../src/stores/stored-recordings.ts';
import type {
  DialDetails,
  Driver,
  IncomingCall,
  Leg,
  LegReport,
  LegVideo,
  Report,
} from '../../src/telephony/driver.ts';
import type { MediaPlane } from '../../src/telephony/media.ts';
import type { Party } from '../../src/telephony/party.ts';
import { FakeMedia, FakeMeeting } from './fake-audio.ts';
import { createFakeServers } from './fake-servers.ts';
import { recordingLog } from './log.ts';
import { ManualClock } from './manual-clock.ts';

/** A simulated clock whose turns of the event loop are over at once: what is done soon is done now. */
export class PromptClock extends ManualClock {
  override soon(fn: () => void): void {
    fn();
  }
}

export { FakeMedia } from './fake-audio.ts';

/** A leg that writes down what it is asked; the test reports for the far side. */
export class FakeLeg implements Leg {
  readonly protocolId = 'call-1';
  formats: readonly string[] = ['ulaw', 'alaw'];
  /** The formats that it was last to answer with, or to open early audio with. */
  prefers: readonly string[] | undefined;
  readonly media: FakeMedia;
  video: LegVideo | undefined;
  readonly calls: string[] = [];
  readonly report: Report;
  /** Whether `hangup` is answered with `leg.ended` at once. */
  ends = true;
  /** Whether `answer` connects it at once; else the test reports it. */
  answers = true;
  /** An operation that shall throw. */
  broken: string | undefined;

  constructor(id: string, report: Report) {
    this.report = report;
    this.media = new FakeMedia(id, () => {});
  }

  #asked(what: string): void {
    this.calls.push(what);
    if (this.broken === what) throw new Error(`${what} is broken`);
  }
  /** What it was dialed with. */
  dialed: DialDetails | undefined;
  dial(details?: DialDetails): void {
    this.dialed = details;
    this.#asked('dial');
  }
  ring(): void {
    this.#asked('ring');
  }
  stopRinging(): void {
    this.#asked('stopRinging');
  }
  progress(prefers?: readonly string[]): void {
    this.prefers = prefers;
    this.#asked('progress');
  }
  answer(prefers?: readonly string[]): void {
    this.prefers = prefers;
    this.#asked('answer');
    if (this.answers) this.report({ type: 'leg.answered' });
  }
  hangup(cause: number): void {
    this.#asked(`hangup ${cause}`);
    if (this.ends) this.report({ type: 'leg.ended' });
  }
  sendDigits({ digits }: { digits: string }): void {
    this.#asked(`sendDigits ${digits}`);
  }
  hold(): void {
    this.#asked('hold');
  }
  unhold(): void {
    this.#asked('unhold');
  }
  present({ name, number }: Party): void {
    this.#asked(`present ${name} <${number}>`);
  }
  redirect(target: string): boolean {
    this.#asked(`redirect ${target}`);
    return true;
  }
  tellTransfer(id: string, status: number): void {
    this.#asked(`transfer ${id}: ${status}`);
  }
  header(): undefined {}
  addHeader(name: string, value: string): boolean {
    this.#asked(`header ${name}: ${value}`);
    return true;
  }
  updateHeader(): boolean {
    return false;
  }
  removeHeader(): void {}
  dump(): { version: number } {
    return { version: 1 };
  }
  release(): void {
    this.calls.push('release');
    this.media.close();
  }
}

const usual: Config = {
  ...defaults(),
  recorder: { ...defaults().recorder, off: true },
  media: { ...defaults().media, codecs: ['ulaw', 'alaw'] },
  recordings: { ...defaults().recordings, directory: '/recordings', live: 1_000 },
};

/** A connection as the configuration has it. */
const configured = ({ kind, target, ...connection }: OutboundConnectionSettings): Config['applications'][string] => ({
  ...{ type: kind === 'persistent' ? 'persistent' : 'per_call', url: target.url, protocols: [...target.protocols] },
  ...{ username: target.username, password: target.password, token: target.token ?? '' },
  ...{ local_user: target.localUser, local_token: target.localToken ?? '' },
  ...{ apps: [...connection.apps], subscribe_all: connection.subscribeAll },
  connection_timeout: connection.connectionTimeoutMs / 1000,
  reconnect_interval: connection.reconnectIntervalMs / 1000,
  reconnect_attempts: connection.reconnectAttempts,
});

/** Call control as the server builds it, but for the network: Local channels, a fake technology, a simulated clock. */
export function createCallControl({
  contexts = {},
  channelvars = [],
  connections = [],
  compatibility = 'hookswitch',
  limits = { bridges: 100, members: 100 },
  transferring = {},
  now,
}: {
  contexts?: ConfiguredContexts;
  channelvars?: string[];
  /** WebSockets to applications; the test starts `outbound` with sockets of its own. */
  connections?: OutboundConnectionSettings[];
  compatibility?: 'hookswitch' | 'asterisk';
  /** What happens to those whose transfers fail; nobody is called back when left out. */
  transferring?: { callsBack?: boolean; byeTimeoutMs?: number };
  limits?: { bridges: number; members: number; channels?: number };
  /** Wall-clock time to begin with, in ms since the epoch. */
  now?: number;
} = {}) {
  const clock = new PromptClock(now);
  const log = recordingLog();
  const ids = createIds(clock);
  const runtime = createRuntime(clock, log);
  const channelFacts = createChannelFacts(log);
  const config: Config = {
    ...usual,
    general: { ...usual.general, channelvars, compatibility, validate: true, data_directory: '/nowhere' },
    dialplan: { default: { s: ['Wait(60)'] }, ...contexts },
    // Few events fill it.
    ...(connections.length > 0 && {
      http: { ...usual.http, limits: { ...usual.http.limits, websocket_queue: 4_000 } },
    }),
    applications: Object.fromEntries(connections.map((connection) => [connection.name, configured(connection)])),
    limits: { ...usual.limits, channels: limits.channels ?? 0 },
    bridges: { ...usual.bridges, most: limits.bridges, channels: limits.members },
    features: { ...usual.features, transfer_attempts: 2 },
    sip: {
      ...usual.sip,
      transfers: {
        ...{ ...usual.sip.transfers, timeout: 60, call_back: transferring.callsBack ?? false },
        bye_timeout: (transferring.byeTimeoutMs ?? 0) / 1000,
      },
    },
  };
  /** Names of recordings that are stored, and what was thrown away. */
  const stored = { names: new Set<string>(), discarded: [] as string[] };
  const meeting = new FakeMeeting();
  const pairs: FakeMedia[] = [];
  const media = Object.assign(meeting, {
    openPair: (pair: [string, string]) => {
      const halves = pair.map((id) => new FakeMedia(id, () => {}));
      pairs.push(...halves);
      return halves;
    },
  }) as unknown as FakeMeeting & MediaPlane;
  const base = {
    ...{
      config,
      clock,
      ids,
      log,
      runtime,
      scope: new Scope(),
      channelFacts,
      story: createCallStory(runtime, channelFacts),
    },
    recorder: new Recorder({
      ...runtime,
      log,
      settings: recorderSettings(usual),
    }),
    ...{ limitCounts: new LimitCounts(), entityId: '02:00:00:00:00:01', tracing: undefined },
    ...{ changes: new TurnChanges(clock), stateStore: undefined },
    io: {
      stored: {
        has: (name: string) => stored.names.has(name),
        placeFor(name: string, format: string) {
          if (name.includes('..')) throw new AriError('recordingNameInvalid');
          return `/recordings/${name}.${format}`;
        },
        discard(path: string) {
          stored.discarded.push(path);
          return Promise.resolve();
        },
      } as StoredRecordings,
    },
  } as unknown as Base;
  const state = buildState(base);
  const { bus, applications, endpoints, contacts, registrations, watchers } = state;
  endpoints.add('Fake', 'phone');
  const calls = buildCallControl(base, state, { media } as unknown as Network);
  const { playbacks, recordings, channels, views, audio, operations, snoops, outbound, broadcasts } = calls;
  const { bridges, transfers, consultations, dials, dialSessions, featureKeys, bridgeOperations, recordingOperations } =
    calls.meeting;

  const legs = new Map<string, FakeLeg>();
  const fake: Driver = {
    technology: 'Fake',
    open({ channelId, resource }, report) {
      const leg = new FakeLeg(channelId, report);
      legs.set(channelId, leg);
      return { name: `Fake/${resource}-${ids.hex(8)}`, endpoint: ['Fake', 'phone'], leg };
    },
    resume(_data, channelId, report) {
      const leg = new FakeLeg(channelId, report);
      legs.set(channelId, leg);
      return leg;
    },
  };
  channels.addDriver(fake);
  channels.addDriver(
    createLocalDriver({
      ...{ media, ids, freshId: () => channels.freshId() },
      hasContext: (name) => name === 'default' || name in contexts,
    }),
  );
  const { servers, connections: toServers, driver: external } = createFakeServers({ channels, runtime, ids });
  const outside = {
    connections: toServers,
    media: createExternalMedia({
      ...{ channels, views, log, applications, driver: external, turn: runtime.turn, variablesLimit: 100 },
    }),
  };
  return {
    clock,
    log,
    bus,
    runtime,
    channels,
    channelFacts,
    views,
    audio,
    operations,
    bridges,
    transfers,
    featureKeys,
    dialSessions,
    bridgeOperations,
    recordings,
    recordingOperations,
    snoops,
    broadcasts,
    stored,
    meeting,
    playbacks,
    applications,
    outbound,
    endpoints,
    owners: {
      ...{
        channels,
        bridges,
        transfers,
        consultations,
        dials,
        playbacks,
        recordings,
        applications,
        contacts,
        outbound,
      },
      ...{ registrations, watchers },
    },
    registrations,
    watchers,
    legs,
    /** Connections to servers, by the id of their channel. */
    servers,
    outside,
    /** The media of Local channels, half by half. */
    pairs,

    /** Registers applications on one connection; their events, in order. */
    connect(names: string | string[], subscribeAll = false) {
      const events: AriEvent[] = [];
      const connection = applications.connect({
        names: [names].flat(),
        subscribeAll,
        send: (json) => void events.push(JSON.parse(json) as AriEvent),
        describe: 'test',
      });
      return { events, close: () => connection.close() };
    },

    /** A call that comes in from the fake technology. */
    incoming(channelId: string, extension = 's', context = 'default', more: Partial<IncomingCall> = {}): FakeLeg {
      let leg!: FakeLeg;
      channels.incoming({
        technology: 'Fake',
        name: `Fake/phone-${ids.hex(8)}`,
        endpoint: ['Fake', 'phone'],
        channelId,
        context,
        extension,
        caller: { name: 'Alice', number: '100' },
        state: 'ring',
        ...more,
        open: (id, report) => {
          leg = new FakeLeg(id, report);
          return leg;
        },
      });
      return leg;
    },

    /** What the far side of a channel tells. */
    report: (channelId: string, report: LegReport) => legs.get(channelId)?.report(report),
  };
}

export type CallControl = ReturnType<typeof createCallControl>;

/** An event in one line: its type and what tells it from others of that type. */
export function inShort(event: AriEvent): string {
  const channel =
    'channel' in event && event.channel
      ? event.channel
      : 'peer' in event && 'state' in event.peer
        ? event.peer
        : undefined;
  const details: Partial<Record<AriEvent['type'], string>> = {
    Dial: 'dialstatus' in event ? event.dialstatus : '',
    ChannelVarset: 'variable' in event ? `${event.variable}=${event.value}` : '',
    ChannelStateChange: channel?.state ?? '',
    StasisStart: channel?.state ?? '',
    ChannelDestroyed: 'cause' in event ? String(event.cause) : '',
    ChannelHangupRequest: 'cause' in event ? `${event.cause}${'soft' in event && event.soft ? ' soft' : ''}` : '',
    ChannelDialplan: 'dialplan_app' in event ? event.dialplan_app : '',
    PlaybackFinished: 'playback' in event ? event.playback.state : '',
    RecordingFinished: 'recording' in event ? event.recording.state : '',
    RecordingFailed: 'recording' in event ? (event.recording.cause ?? '') : '',
  };
  return [event.type, details[event.type]].filter(Boolean).join(' ');
}

/** Lets promises that are ready go on (dialplan runs that ended). */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
