import { createRuntime } from '../../../src/actors/spawn.ts';
import { createWatchers } from '../../../src/actors/watchers.ts';
import {
  defaultAor,
  defaultEndpoint,
  defaultIdentity,
  defaultSipConfig,
  type EndpointConfig,
  type SipConfig,
} from '../../../src/drivers/sip/config.ts';
import { createSipDriver, type SipDriver, type SipDriverData } from '../../../src/drivers/sip/driver.ts';
import type { LogIns } from '../../../src/drivers/sip/endpoints.ts';
import type { TextMessage } from '../../../src/drivers/sip/services.ts';
import type { Watched } from '../../../src/drivers/sip/watched-state.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIds } from '../../../src/lib/ids.ts';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import type { NameServer } from '../../../src/sip/location/names.ts';
import { buildRequest, type HeaderLines } from '../../../src/sip/message/build.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { Protocol } from '../../../src/sip/transport/kind.ts';
import { createKnownPeers } from '../../../src/sip/transport/known-peers.ts';
import { openUdpProbe } from '../../../src/sip/transport/probes.ts';
import type { Transports } from '../../../src/sip/transport/transport.ts';
import { createTransports } from '../../../src/sip/transport/transports.ts';
import type { ContactDetails } from '../../../src/telephony/contacts.ts';
import type { IncomingCall, Leg, LegReport, LegRequest, OpenedLeg } from '../../../src/telephony/driver.ts';
import type { MediaPlane, MediaReport, RtpFlow, RtpSession } from '../../../src/telephony/media.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';
import { freePort } from '../../support/free-port.ts';
import { silentLog } from '../../support/log.ts';
import { driverData } from '../../support/snapshots.ts';
import { untilHolds } from '../../support/waiting.ts';

/** Sends SUBSCRIBEs as a phone does, from one to another; resolves with the final response. */
export function subscriber(
  client: Phone,
  server: Phone,
  { from, to, callId }: { from: string; to(user: string): string; callId: string },
) {
  let cseq = 0;
  return (
    headers: HeaderLines,
    user: string,
    { toTag, named = callId }: { toTag?: string | undefined; named?: string },
  ) =>
    new Promise<SipResponse>((resolve, reject) => {
      const message = buildRequest({
        method: 'SUBSCRIBE',
        uri: `sip:${user}@127.0.0.1:${server.port}`,
        from,
        to: `<${to(user)}>${toTag === undefined ? '' : `;tag=${toTag}`}`,
        callId: named,
        cseq: ++cseq,
        contact: `<${client.uri}>`,
        headers,
      });
      const target = { protocol: 'udp', address: '127.0.0.1', port: server.port } as const;
      client.transactions.request(message, target, { onFinal: resolve, onTimeout: reject, onTransportError: reject });
    });
}

/** A session that remembers what was asked of it. */
export type FakeSession = RtpSession & {
  flows: RtpFlow[];
  /** How its streams of video flow, and which have ports. */
  videos: Map<number, VideoFlow>;
  videoPorts: Map<number, number>;
  asked: string[];
  told(report: MediaReport): void;
  closed: boolean;
};

/** A media plane without media: ports are numbers, everything asked is written down. */
export class FakeMedia implements MediaPlane {
  readonly sessions = new Map<string, FakeSession>();
  failWith: Error | undefined;
  failVideo = false;
  /** Where its ports are. */
  host = '127.0.0.1';
  /** Below those that the system gives to whoever asks: what a real server sends here comes to nobody. */
  #port = 10_000;

  protected nextPort(): number {
    return (this.#port += 2);
  }

  async openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession> {
    if (this.failWith) throw this.failWith;
    const asked: string[] = [];
    const ask = (what: string) => () => void asked.push(what);
    const session: FakeSession = {
      id,
      local: { address: this.host, port: (this.#port += 2) },
      flows: [],
      videos: new Map(),
      videoPorts: new Map(),
      asked,
      told,
      closed: false,
      configure: (flow) => void session.flows.push(flow),
      openVideo: async (stream) => {
        if (this.failVideo) throw new Error('no port is free');
        const port = session.videoPorts.get(stream) ?? this.nextPort();
        session.videoPorts.set(stream, port);
        return { address: '127.0.0.1', port };
      },
      configureVideo: (stream, flow) => {
        if (flow) session.videos.set(stream, flow);
        else {
          session.videos.delete(stream);
          session.videoPorts.delete(stream);
        }
      },
      askKeyFrame: ask('askKeyFrame'),
      videoStatistics: async () => [],
      play: (item) => {
        asked.push(`play ${item.uri}`);
        return {
          stop: ask('stop'),
          pause: ask('pause'),
          resume: ask('resume'),
          restart: ask('restart'),
          seek: ask('seek'),
        };
      },
      sendDigits: ({ digits }) => void asked.push(`digits ${digits}`),
      hearDigit: (digit) => void asked.push(`heard ${digit}`),
      indicate: (indication) => void asked.push(`indicate ${indication}`),
      silence: (on) => void asked.push(`silence ${on}`),
      echo: (on) => void asked.push(`echo ${on}`),
      mute: () => void asked.push('mute'),
      music: (musicClass) => void asked.push(`music ${musicClass}`),
      detectTalking: ask('detectTalking'),
      detectTone: ask('detectTone'),
      record: () => {
        asked.push('record');
        const control = (what: string) => ask(`record ${what}`);
        return {
          stop: control('stop'),
          discard: control('discard'),
          pause: control('pause'),
          resume: control('resume'),
          mute: control('mute'),
          unmute: control('unmute'),
          progress: () => ({ durationMs: 0, talkingMs: 0 }),
        };
      },
      dump: () => ({ version: 1, id, standing: [] }),
      statistics: async () => undefined,
      close: () => {
        session.closed = true;
        this.sessions.delete(id);
      },
    };
    this.sessions.set(id, session);
    return session;
  }

  openPair(): never {
    throw new Error('no pairs here');
  }

  reopenRtp(_from: { id: string }, _told: (report: MediaReport) => void): Promise<RtpSession> {
    throw new Error('nothing is reopened here');
  }

  openMix(): never {
    throw new Error('no mixes here');
  }

  openSnoop(): never {
    throw new Error('no snoops here');
  }

  async usage() {
    return {
      ...{ sessions: this.sessions.size, ports: this.sessions.size, players: 0, timers: 0 },
      ...{ externalWaitingMs: 0, externalDroppedMs: 0, externalUnsentFrames: 0 },
    };
  }

  async close(): Promise<void> {}
}

/** Waits for facts instead of time: `until` resolves as soon as its condition holds after some change. */
export class Facts {
  readonly #waiting = new Set<() => void>();

  changed(): void {
    for (const check of [...this.#waiting]) check();
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, condition, () => `never happened: ${what}`);
  }
}

/** A channel as call control would have it: the leg and what it told. */
export class TestChannel {
  readonly id: string;
  readonly reports: LegReport[] = [];
  readonly #facts: Facts;
  leg!: Leg;
  call: IncomingCall | undefined;

  constructor(id: string, facts: Facts) {
    this.id = id;
    this.#facts = facts;
  }

  readonly report = (report: LegReport): void => {
    this.reports.push(report);
    this.#facts.changed();
  };

  get told(): string[] {
    return this.reports.map((report) =>
      report.type === 'leg.hungUp' ? `${report.type} ${report.cause}` : report.type,
    );
  }

  /** Resolves when a report of that type has come (or comes), with the report. */
  async heard<T extends LegReport['type']>(type: T): Promise<Extract<LegReport, { type: T }>> {
    const find = () => this.reports.find((report) => report.type === type);
    await this.#facts.until(() => find() !== undefined, `${type} on ${this.id}; told: ${this.told}`);
    return find() as Extract<LegReport, { type: T }>;
  }
}

/** Subscribers are told of changes almost at once. */
const subscriptions = { ...defaultSipConfig.subscriptions, intervalMs: 10 };

export type Phone = Awaited<ReturnType<typeof createPhone>>;

/** What a user agent was, for another one in its place: plain JSON. */
export type HandedOver = {
  port: number;
  driver: SipDriverData;
  legs: { id: string; data: { version: number } }[];
};

export type PhoneOptions = {
  config?: Partial<SipConfig>;
  protocol?: Protocol;
  /** Sees each datagram before it is sent; false drops it. */
  lets?: (text: string) => boolean;
  accepts?: boolean;
  mailbox?: (name: string) => { newMessages: number; oldMessages: number } | undefined;
  /** What lamps show. */
  hint?: Watched['hint'];
  /** Counts wrong log-ins. */
  logIns?: LogIns;
  /** What it knows of DNS. */
  names?: NameServer;
  /** What another one was, in whose place it is: see `handOver`. */
  from?: HandedOver;
  /** TCP on the same port as well. */
  alsoTcp?: boolean;
  /** Hears of each message that comes in, by what. */
  hears?: (protocol: Protocol) => void;
  /** Times of its transactions in ms; as RFC 3261 suggests when left out: nothing is repeated or given up meanwhile. */
  timers?: typeof usual;
};

export const usual = { t1: 500, t2: 4_000, t4: 5_000 };
/** Times for who repeats what is lost, or gives it up. */
export const quick: typeof usual = { t1: 50, t2: 200, t4: 100 };

/** One user agent with real sockets on loopback, and call control made of lists. */
export async function createPhone({
  config = {},
  protocol = 'udp',
  lets = () => true,
  accepts = true,
  mailbox = () => undefined,
  hint = () => undefined,
  logIns,
  names,
  alsoTcp = false,
  from,
  hears = () => {},
  timers = usual,
}: PhoneOptions = {}) {
  const clock = systemClock;
  const ids = createIds(clock);
  const facts = new Facts();
  const media = new FakeMedia();
  const channels: TestChannel[] = [];
  const incoming: IncomingCall[] = [];
  const contacts = new Map<string, ContactDetails>();
  const messages: TextMessage[] = [];
  const contactEvents: string[] = [];
  const transports = createTransports({ clock, log: silentLog });
  const port = from?.port ?? (alsoTcp ? await freePort() : 0);
  const [listener] = await transports.bind([{ protocol, host: '127.0.0.1', port }]);
  if (alsoTcp) await transports.bind([{ protocol: 'tcp', host: '127.0.0.1', port: listener!.port }]);
  const wrapped: Transports = {
    bind: (listens) => transports.bind(listens),
    get listeners() {
      return transports.listeners;
    },
    onMessage: (handler) =>
      transports.onMessage((message, source) => {
        hears(source.protocol);
        handler(message, source);
      }),
    onMalformed: (handler) => transports.onMalformed(handler),
    onConnectionClosed: (handler) => transports.onConnectionClosed(handler),
    send: (bytes, target, onFailure) => {
      if (lets(bytes.toString())) transports.send(bytes, target, onFailure);
    },
    localAddress: (target) => transports.localAddress(target),
    isConnected: (target) => transports.isConnected(target),
    waitedMs: 0,
    counts: () => transports.counts(),
    close: () => transports.close(),
  };
  const peers = createKnownPeers();
  const transactions = createTransactionLayer({ transports: wrapped, clock, ids, log: silentLog, timers, peers });
  const watchers = createWatchers({ runtime: createRuntime(clock, silentLog), log: silentLog });
  let next = 0;
  const limits = new LimitCounts();
  const driver: SipDriver = createSipDriver({
    hit: limits.hit,
    config: { ...defaultSipConfig, subscriptions, t1Ms: timers.t1, t2Ms: timers.t2, ...config },
    transports: wrapped,
    transactions,
    media,
    ...(names && { names, openProbe: openUdpProbe }),
    host: {
      incoming(call) {
        incoming.push(call);
        if (!accepts) return false;
        const channel = new TestChannel(`in-${next++}`, facts);
        channel.call = call;
        channel.leg = call.open(channel.id, channel.report);
        channels.push(channel);
        facts.changed();
        return true;
      },
    },
    contacts: {
      registered(contact) {
        contacts.set(contact.id, contact);
        contactEvents.push(`registered ${contact.endpoint}`);
        facts.changed();
      },
      removed(id) {
        contactEvents.push(`removed ${contacts.get(id)?.endpoint}`);
        contacts.delete(id);
        facts.changed();
      },
    },
    clock,
    ids,
    log: silentLog,
    mailbox,
    hint,
    watchers,
    peers,
    ...(logIns && { logIns }),
    messageReceived(message) {
      messages.push(message);
      facts.changed();
    },
  });
  watchers.attach(driver);
  if (from) driver.restore(from.driver);
  for (const { id, data } of from?.legs ?? []) {
    const channel = new TestChannel(id, facts);
    channel.leg = driver.resume!(data, id, channel.report);
    channels.push(channel);
  }
  driver.start();
  return {
    driver,
    /** The bounds that were met. */
    limits,
    watchers,
    media,
    channels,
    incoming,
    contacts,
    contactEvents,
    messages,
    transactions,
    transports: wrapped,
    peers,
    facts,
    port: listener!.port,
    uri: `sip:127.0.0.1:${listener!.port}${protocol === 'tcp' ? ';transport=tcp' : ''}`,
    /** Opens an outbound leg without dialing. */
    open(resource: string, request: Partial<LegRequest> = {}): TestChannel & { opened: OpenedLeg } {
      const channel = new TestChannel(`out-${next++}`, facts);
      const caller = { name: 'Carol', number: '100' };
      const opened = driver.open(
        { channelId: channel.id, resource, caller, variables: {}, ...request },
        channel.report,
      );
      channel.leg = opened.leg;
      channels.push(channel);
      return Object.assign(channel, { opened });
    },
    /** The next inbound channel. */
    async rung(index = 0): Promise<TestChannel> {
      const inbound = () => channels.filter(({ call }) => call !== undefined);
      await facts.until(() => inbound().length > index, 'an incoming call');
      return inbound()[index]!;
    },
    /** Hangs up and lets go of everything; resolves when no dialog is left. */
    async finish() {
      for (const channel of channels) {
        channel.leg.hangup(16);
        channel.leg.release();
      }
      const poll = setInterval(() => facts.changed(), 5);
      try {
        await facts.until(() => driver.counts().dialogs === 0 && driver.counts().pending === 0, 'all dialogs ended');
      } finally {
        clearInterval(poll);
      }
    },
    /** Everything that it is, for another one in its place; this one is closed without a word. */
    async handOver(): Promise<HandedOver> {
      const legs = channels.map(({ id, leg }) => ({ id, data: leg.dump() }));
      const dump = JSON.stringify({ port: listener!.port, driver: driverData(driver), legs });
      await this.close();
      return JSON.parse(dump) as HandedOver;
    },
    async close() {
      driver.close();
      await watchers.close();
      transactions.close();
      await transports.close();
    },
  };
}

export const endpoint = (name: string, rest: Partial<EndpointConfig> = {}): EndpointConfig => ({
  ...defaultEndpoint,
  name,
  ...rest,
});
export const trunkTo = (uri: string, rest: Partial<EndpointConfig> = {}): EndpointConfig =>
  endpoint('trunk', { aor: { ...defaultAor, contacts: [uri] }, ...rest });
/** Believes who the other side says is calling, and tells it. */
export const trusted = { trustIdentity: true, identity: { ...defaultIdentity, pai: true } } as const;

/** Lets everybody on this machine in. */
export const anybody = endpoint('anybody', { match: ['127.0.0.1'], context: 'default' });
