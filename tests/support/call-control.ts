import { createApplications } from '../../src/actors/applications.ts';
import { createBridgeOperations } from '../../src/actors/bridge-operations.ts';
import { createBridges } from '../../src/actors/bridges.ts';
import { createBroadcasts } from '../../src/actors/broadcasts.ts';
import { createChannelOperations } from '../../src/actors/channel-operations.ts';
import { createChannels } from '../../src/actors/channels.ts';
import { createContacts } from '../../src/actors/contacts.ts';
import { createDialplanSystem } from '../../src/actors/dialplan-system.ts';
import type { OutboundConnectionSettings } from '../../src/actors/outbound-connection-entry.ts';
import { createOutboundConnections } from '../../src/actors/outbound-connections.ts';
import { createPlaybacks } from '../../src/actors/playbacks.ts';
import { createRecordingOperations } from '../../src/actors/recording-operations.ts';
import { createRecordings } from '../../src/actors/recordings.ts';
import { createRegistrations } from '../../src/actors/registrations.ts';
import { createSnoops } from '../../src/actors/snoops.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createWatchers } from '../../src/actors/watchers.ts';
import { createBus } from '../../src/bus/bus.ts';
import { Companies } from '../../src/calls/companies.ts';
import { createConsultations } from '../../src/calls/consultations.ts';
import { createDialplanCalls } from '../../src/calls/dialplan-calls.ts';
import { createFeatureKeys } from '../../src/calls/feature-keys.ts';
import { createPlaces } from '../../src/calls/places.ts';
import { createReplacing } from '../../src/calls/replacing.ts';
import { RunningDials } from '../../src/calls/running-dials.ts';
import { createTransfers } from '../../src/calls/transfers.ts';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import type { ConfiguredContexts } from '../../src/dialplan/parse.ts';
import { createLocalDriver } from '../../src/drivers/local/local.ts';
import { createSnoopDriver } from '../../src/drivers/snoop/snoop.ts';
import { createIds } from '../../src/lib/ids.ts';
import type { Logger } from '../../src/lib/log.ts';
import { createEventCheck } from '../../src/models/check-event.ts';
import { AriError } from '../../src/models/errors.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import { createGlobalVariables } from '../../src/stores/variables.ts';
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
import { ManualClock } from './manual-clock.ts';

/** A simulated clock whose turns of the event loop are over at once: what is done soon is done now. */
export class PromptClock extends ManualClock {
  override soon(fn: () => void): void {
    fn();
  }
}

export { FakeMedia } from './fake-audio.ts';

/** A log that keeps what it is told, for tests that expect words in it. */
export function recordingLog(): Logger & { lines: { level: string; message: string; fields: object }[] } {
  const lines: { level: string; message: string; fields: object }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields });
  const log = {
    lines,
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
    enabled: () => true,
  };
  return log;
}

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

/** Call control with everything real but the network: Local channels, a fake technology, a simulated clock. */
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
  limits?: { bridges: number; members: number };
  /** Wall-clock time to begin with, in ms since the epoch. */
  now?: number;
} = {}) {
  const clock = new PromptClock(now);
  const log = recordingLog();
  const bus = createBus({ log });
  const ids = createIds(clock);
  const runtime = createRuntime(clock, log);
  const endpoints = createEndpoints({ bus });
  const contacts = createContacts({ bus, runtime, log, endpoints });
  endpoints.add('Fake', 'phone');
  const playbacks = createPlaybacks({ bus, runtime, ids, log });
  /** Names of recordings that are stored, and what was thrown away. */
  const stored = { names: new Set<string>(), discarded: [] as string[] };
  const recordings = createRecordings({
    bus,
    runtime,
    log,
    stored: {
      has: (name) => stored.names.has(name),
      placeFor(name, format) {
        if (name.includes('..')) throw new AriError('recordingNameInvalid');
        return `/recordings/${name}.${format}`;
      },
      discard(path) {
        stored.discarded.push(path);
        return Promise.resolve();
      },
    },
    most: 1_000,
  });
  const dialplan = createDialplan({ contexts: { default: { s: ['Wait(60)'] }, ...contexts }, clock, log });
  const applications = createApplications({
    bus,
    clock,
    log,
    runtime,
    entityId: '02:00:00:00:00:01',
    check: createEventCheck(),
    resolve: {
      channel: (id) => {
        const entry = channels.findByIdOrName(id);
        return entry && channels.model(entry);
      },
      bridge: (id) => (bridges.find(id) ? bridges.get(id) : undefined),
      endpoint: (technology, resource) => endpoints.find(technology, resource),
      technology: (name) => endpoints.technology(name),
    },
  });
  const registrations = createRegistrations({ runtime, log, ids, endpoints });
  const watchers = createWatchers({ runtime, log });
  const outbound = createOutboundConnections({ connections, applications, bus, runtime, log, queueLimit: 2_000 });
  const system = createDialplanSystem();
  system.add({ globals: createGlobalVariables({ bus }), dialplan });
  const channels = createChannels({
    bus,
    runtime,
    ids,
    dialplan,
    applications: { ...applications, admit: outbound.admit },
    playbacks,
    recordings,
    endpoints,
    system,
    settings: { channelvars, defaultLanguage: 'en', asteriskEvents: compatibility === 'asterisk' },
  });

  const meeting = new FakeMeeting();
  const bridges = createBridges({
    bus,
    runtime,
    log,
    media: meeting,
    channels,
    playbacks,
    recordings,
    applications,
    defaultLanguage: 'en',
    limits,
  });
  const companies = new Companies();
  const places = createPlaces({ channels, bridges, companies, log });
  const consultations = createConsultations({ runtime, channels, bridges, companies, places, log });
  const transfers = createTransfers({
    ...{ bus, runtime, ids, log, channels, bridges, places, dialplan },
    consultations,
    timeoutMs: 60_000,
    ...transferring,
    asteriskEvents: compatibility === 'asterisk',
  });
  channels.onTransferAsked((channel, request) => transfers.ask(channel, request));
  channels.onReplacing(createReplacing({ channels, bridges, places, log }));
  channels.onEnding(transfers.departing);
  channels.onDeparture(transfers.departing);
  channels.onDeparture(bridges.leave);
  channels.onHold(bridges.held);
  channels.onVideo(bridges.videoChanged);
  const broadcasts = createBroadcasts({ bus, clock, ids, applications, model: channels.model });
  const featureKeys = createFeatureKeys({
    ...{ runtime, clock, ids, log, channels, bridges, transfers, recordings, dialplan },
    settings: {
      codes: {
        ...{ blindxfer: '#1', disconnect: '*0', automon: '*1', automixmon: '*3' },
        ...{ atxfer: '*2', atxferabort: '*1', atxfercomplete: '*2' },
      },
      ...{ digitTimeoutMs: 1_000, numberTimeoutMs: 3_000, attempts: 2, noAnswerTimeoutMs: 15_000, beep: false },
    },
  });
  const dials = new RunningDials();
  channels.onGone((id) => dials.forget(id));
  channels.bringTogether(
    createDialplanCalls({
      runtime,
      media: meeting,
      featureKeys,
      running: dials,
      channels,
      bridges,
      companies,
      broadcasts,
      stored: { placeFor: (name, format) => `/recordings/${name}.${format}` },
      ids,
      clock,
      log,
    }),
  );

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
  const pairs: FakeMedia[] = [];
  const media = {
    openPair: (pair: [string, string]) => {
      const halves = pair.map((id) => new FakeMedia(id, () => {}));
      pairs.push(...halves);
      return halves;
    },
  } as unknown as MediaPlane;
  channels.addDriver(fake);
  channels.addDriver(
    createLocalDriver({
      ...{ media, ids, freshId: channels.freshId },
      hasContext: (name) => name === 'default' || name in contexts,
    }),
  );
  const servers = createFakeServers({ channels, runtime, ids });
  const operations = createChannelOperations({
    channels,
    playbacks,
    applications,
    dialplan,
    formats: new Set(['ulaw', 'alaw']),
    clock,
  });
  const bridgeOperations = createBridgeOperations({
    bridges,
    channels,
    playbacks,
    recordings,
    ids,
    clock,
    compatibility,
    variablesLimit: 1000,
  });
  const recordingOperations = createRecordingOperations({ channels, bridges, playbacks, recordings, compatibility });
  const snoops = createSnoops({
    channels,
    driver: createSnoopDriver({ media: meeting, ids }),
  });

  return {
    clock,
    log,
    bus,
    runtime,
    channels,
    operations,
    bridges,
    transfers,
    featureKeys,
    companies,
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
      channels.host.incoming({
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
