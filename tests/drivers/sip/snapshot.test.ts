import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, defaultSipConfig } from '../../../src/drivers/sip/config.ts';
import { createSipDriver, type SipDriver } from '../../../src/drivers/sip/driver.ts';
import type { Ids } from '../../../src/lib/ids.ts';
import { parseMessage } from '../../../src/sip/message/parse.ts';
import { formatVia } from '../../../src/sip/message/via.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { TransactionLayer } from '../../../src/sip/transaction/transaction.ts';
import { stampedVia } from '../../../src/sip/transport/routing.ts';
import type { MessageHandler, Source, Target, Transports } from '../../../src/sip/transport/transport.ts';
import type { Leg, LegData, LegReport } from '../../../src/telephony/driver.ts';
import type { MediaReport, RtpSession } from '../../../src/telephony/media.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';
import { settle, whatIs } from '../../sip/transaction/fake-transports.ts';
import { anyDeed, likewise } from '../../support/deeds.ts';
import { silentLog } from '../../support/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { createProcessClock } from '../../support/process-clock.ts';
import { driverData } from '../../support/snapshots.ts';
import { endpoint, FakeMedia } from './support.ts';

/**
 * Two servers call each other on simulated time and a network that loses messages. The same story is told twice: once as
 * it is, once with the first server saved and restored from JSON at random moments. Nobody may notice: the same messages
 * at the same times, the same reports, the same flows of audio.
 */
const test = suite('legs that are saved and restored');

/** Everything happens in steps of so many ms. */
const STEP_MS = 5;
const HOP_MS = 10;

type Word = 'call' | 'ring' | 'progress' | 'answer' | 'hangup' | 'hold' | 'unhold' | 'digits' | 'redirect' | 'show';
type Told = { at: number; who: string; what: string };
type Act = { after: number; node: 0 | 1; kind: Word; channel: number };
/** @param reopensMs how long ports of restored legs take to open. @param pictures hears of each video flow: node and remote port. */
type Story = {
  acts: Act[];
  snapshots: number[];
  lost: number[];
  reopensMs?: number;
  hasVideo?: boolean;
  pictures?: string[];
};

const portOf = (node: number): number => 5060 + 10 * node;

/** Sockets of one process: when the next one takes its place, what the last one does is heard by nobody. */
class Wire {
  readonly #clock: ManualClock;
  readonly #handlers = new Map<number, MessageHandler>();
  readonly #lost: ReadonlySet<number>;
  readonly #note: (who: string, what: string) => void;
  #sent = 0;

  constructor(clock: ManualClock, lost: readonly number[], note: (who: string, what: string) => void) {
    this.#clock = clock;
    this.#lost = new Set(lost);
    this.#note = note;
  }

  socket(
    node: number,
    alive: () => boolean,
  ): Pick<Transports, 'onMessage' | 'onMalformed' | 'onConnectionClosed' | 'send' | 'localAddress' | 'isConnected'> {
    const port = portOf(node);
    const source: Source = { protocol: 'udp', address: '192.0.2.1', port, listener: 1 };
    return {
      onMessage: (handler) => void this.#handlers.set(port, handler),
      onMalformed() {},
      onConnectionClosed() {},
      localAddress: () => ({ host: '192.0.2.1', port }),
      isConnected: () => true,
      send: (bytes, target) => {
        if (alive()) this.#carry(bytes, target, source, `node ${node}`);
      },
    };
  }

  #carry(bytes: Buffer, target: Target, source: Source, who: string): void {
    const parsed = parseMessage(Buffer.from(bytes));
    if (!parsed.ok) throw new Error(`sent a malformed message: ${parsed.failure.problem}`);
    const { message } = parsed;
    this.#note(
      who,
      `${whatIs(message)} ${message.cseq.number} ${message.header('Contact') ?? ''}\n${message.bodyText}`,
    );
    if (this.#lost.has(++this.#sent)) return;
    const stamped = message.kind === 'request' && stampedVia(message.topVia!, source);
    if (message.kind === 'request' && stamped) message.setTopVia(formatVia(stamped));
    this.#clock.setTimeout(() => this.#handlers.get(target.port)?.(message, source), HOP_MS);
  }
}

/** Gives a leg that is restored the port that it had. */
class StableMedia extends FakeMedia {
  readonly #locals = new Map<string, { address: string; port: number }>();
  readonly #videos = new Map<string, number>();
  #next = 40_000;
  readonly #clock: ManualClock;
  readonly #reopensMs: number | undefined;

  readonly #shown: (port: number) => void;

  constructor(clock: ManualClock, reopensMs: number | undefined, shown: (port: number) => void) {
    super();
    this.#shown = shown;
    this.#clock = clock;
    this.#reopensMs = reopensMs;
  }

  override reopenRtp({ id }: { id: string }, told: (report: MediaReport) => void): Promise<RtpSession> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(() => resolve(this.openRtp(id, told)), this.#reopensMs ?? 0);
    });
  }

  override async openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession> {
    const session = await super.openRtp(id, told);
    const local = this.#locals.get(id) ?? { address: '127.0.0.1', port: (this.#next += 2) };
    this.#locals.set(id, local);
    const openVideo = async (stream: number) => {
      const name = `${id} ${stream}`;
      const port = this.#videos.get(name) ?? 50_000 + 2 * this.#videos.size;
      this.#videos.set(name, port);
      return { address: '127.0.0.1', port };
    };
    const dump = () => ({ version: 1, id, local, standing: [] });
    const { configureVideo: keep } = session;
    const configureVideo = (stream: number, flow: VideoFlow | undefined) => {
      if (flow) this.#shown(flow.remote.port);
      keep(stream, flow);
    };
    return Object.assign(session, { local, openVideo, configureVideo, ...(this.#reopensMs !== undefined && { dump }) });
  }
}

type Process = {
  driver: SipDriver;
  transactions: TransactionLayer;
  legs: Map<string, Leg>;
  end(): void;
};

/** Counted up, so that both tellings of a story have the same; secrets, of which each process makes its own, apart. */
function countedIds(): Ids {
  let next = 0;
  let secrets = 0;
  const hex = (digits: number) => (++next).toString(16).padStart(digits, '0');
  return {
    mark: '',
    channel: () => hex(8),
    uuid: () => hex(12),
    hex,
    secret: (length) => (++secrets).toString(16).padStart(length, '0'),
  };
}

async function tell({ acts, snapshots, lost, reopensMs, hasVideo = true, pictures = [] }: Story): Promise<Told[]> {
  const clock = new ManualClock();
  const start = clock.now();
  const story: Told[] = [];
  const note = (who: string, what: string) => void story.push({ at: clock.now() - start, who, what });
  const wire = new Wire(clock, lost, note);
  const ids = [countedIds(), countedIds()];
  /** Counted for each by itself: which of two calls comes in first at the same moment is nobody's business. */
  const channels = [0, 0];
  const media = [0, 1].map((node) => new StableMedia(clock, reopensMs, (port) => pictures.push(`${node}: ${port}`)));

  /** A process on the place of a node: its timers and sockets end with it. */
  const begin = (node: number): Process => {
    const life = createProcessClock(clock);
    const own = life.clock;
    const transports = wire.socket(node, () => life.alive);
    const transactions = createTransactionLayer({ transports, clock: own, ids: ids[node]!, log: silentLog });
    const legs = new Map<string, Leg>();
    const driver = createSipDriver({
      config: {
        ...defaultSipConfig,
        endpoints: [
          endpoint('other', {
            match: ['192.0.2.1'],
            aor: { ...defaultAor, contacts: [`sip:other@192.0.2.1:${portOf(1 - node)}`] },
            videoCodecs: hasVideo ? ['vp8'] : [],
            maxVideoStreams: 3,
            digits: node === 0 ? 'auto' : 'info',
            reliable: node === 0 ? 'yes' : 'peer_supported',
          }),
        ],
      },
      transports,
      transactions,
      media: media[node]!,
      host: {
        incoming(call) {
          const id = `channel ${channels[node]!++}`;
          legs.set(id, call.open(id, reportOf(node, id)));
          return true;
        },
      },
      contacts: { registered() {}, removed() {} },
      clock: own,
      ids: ids[node]!,
      log: silentLog,
    });
    return {
      driver,
      transactions,
      legs,
      end() {
        life.end();
      },
    };
  };
  const reportOf = (node: number, id: string) => (report: LegReport) => {
    note(`${id} of node ${node}`, JSON.stringify(report));
    if (report.type === 'leg.ended') queueMicrotask(() => letGo(node, id));
  };
  /** A leg that is over is not saved: what its call still owes the far side is the driver's. */
  const letGo = (node: number, id: string): void => {
    const { legs } = processes[node]!;
    legs.get(id)?.release();
    legs.delete(id);
  };

  const processes = [begin(0), begin(1)] as [Process, Process];
  for (const { driver } of processes) driver.start();

  const restoreSnapshot = (node: 0 | 1) => {
    const old = processes[node];
    const put = JSON.stringify({
      transactions: old.transactions.dump(),
      driver: driverData(old.driver),
      legs: [...old.legs].map(([id, leg]) => [id, leg.dump()]),
    });
    old.end();
    const data = JSON.parse(put);
    const next = begin(node);
    next.transactions.restore(data.transactions);
    next.driver.restore(data.driver);
    for (const [id, leg] of data.legs as [string, LegData][])
      next.legs.set(id, next.driver.resume(leg, id, reportOf(node, id)));
    processes[node] = next;
  };

  const act = ({ node, kind: word, channel }: Act) => {
    const { driver, legs } = processes[node];
    if (word === 'call') {
      const id = `channel ${channels[node]!++}`;
      const request = { channelId: id, resource: 'other', caller: { name: '', number: '100' }, variables: {} };
      const { leg } = driver.open(request, reportOf(node, id));
      legs.set(id, leg);
      return leg.dial();
    }
    const leg = [...legs.values()][channel % Math.max(1, legs.size)];
    if (!leg) return;
    if (word === 'hangup') leg.hangup(16);
    else if (word === 'digits')
      leg.sendDigits({ digits: '12', beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 });
    else if (word === 'show') {
      const shown = [...Array(1 + (channel % 3)).keys()].map(
        (label) => ({ codec: 'vp8', label: `c${label}` }) as const,
      );
      leg.video?.show(shown);
    } else if (word === 'redirect') leg.redirect('sip:elsewhere@192.0.2.7');
    else leg[word]();
  };

  const until = async (end: number, step = STEP_MS) => {
    while (clock.now() - start < end) {
      clock.advance(step);
      await settle();
      if (snapshots.includes(clock.now() - start)) {
        restoreSnapshot(0);
        await settle();
      }
    }
  };
  let at = 0;
  for (const each of acts) {
    await until((at += each.after * STEP_MS));
    act(each);
    await settle();
  }
  await until(at + 2_000);
  for (const { legs } of processes) for (const leg of legs.values()) leg.hangup(16);
  await until(at + 80_000, 100);
  for (const { driver } of processes) note('the end', JSON.stringify(driver.counts()));
  return story;
}

/** What happens in the same moment has no order. */
const ordered = (story: readonly Told[]): string[] =>
  story.map(({ at, who, what }) => `${String(at).padStart(6, '0')} ${who}: ${what}`).sort();

const acts = fc.array(
  anyDeed(
    likewise(
      [
        'call',
        'call',
        'ring',
        'progress',
        'answer',
        'answer',
        'hangup',
        'hold',
        'unhold',
        'digits',
        'redirect',
        'show',
      ],
      {
        after: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 400 })),
        node: fc.constantFrom<(0 | 1)[]>(0, 1),
        channel: fc.nat(3),
      },
    ),
  ),
  { minLength: 1, maxLength: 12 },
);

const say = (after: number, node: 0 | 1, kind: Word): Act => ({ after, node, kind, channel: 0 });

for (const [what, begun] of [
  ['before the far side has said anything', [say(1, 0, 'call'), say(2, 0, 'hangup')]],
  ['while it rings', [say(1, 0, 'call'), say(8, 1, 'ring'), say(8, 0, 'hangup')]],
  ['while the answer is on its way', [say(1, 0, 'call'), say(8, 1, 'answer'), say(0, 0, 'hangup')]],
  ['after the answer', [say(1, 0, 'call'), say(8, 1, 'answer'), say(16, 0, 'hangup')]],
  ['after it has answered', [say(1, 1, 'call'), say(8, 0, 'answer'), say(16, 0, 'hangup')]],
] as const)
  test(`a call that is hung up ${what} is ended by the process that goes on`, async () => {
    const last = begun.reduce((at, { after }) => at + after * STEP_MS, 0);
    for (const later of [0, STEP_MS, 2 * STEP_MS, 3 * STEP_MS]) {
      const plain = await tell({ acts: [...begun], snapshots: [], lost: [] });
      const interrupted = await tell({ acts: [...begun], snapshots: [last + STEP_MS + later], lost: [] });
      assert.equal(ordered(interrupted), ordered(plain));
    }
  });

for (const hasVideo of [false, true])
  test(`a call ${hasVideo ? 'with video ' : ''}is answered before its port is open again, and saved once more meanwhile`, async () => {
    const begun = [say(1, 0, 'call'), say(8, 1, 'ring'), say(8, 1, 'answer'), say(400, 0, 'hangup')];
    const heard = async (snapshots: number[], pictures: string[] = []) =>
      (await tell({ acts: begun, snapshots, lost: [], reopensMs: 200, hasVideo, pictures }))
        .filter(({ who }) => who.startsWith('channel 0 of node 0'))
        .map(({ who, what }) =>
          what.startsWith('{') ? (JSON.parse(what) as { type: string }).type : `${who}: ${what}`,
        );
    const plain = await heard([]);
    assert.ok(plain.includes('leg.answered'), plain.join());
    for (const snapshots of [[75], [70, 80]]) {
      const pictures: string[] = [];
      assert.equal(await heard(snapshots, pictures), plain);
      // The caller's picture goes to the port that the other side has named.
      assert.equal(pictures.includes('0: 50000'), hasVideo, pictures.join());
    }
  });

test('nobody notices that a server was saved and restored', async () => {
  const moments = fc.array(fc.integer({ min: 1, max: 800 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      acts,
      moments,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }),
      async (told, at, lost) => {
        const begun: Act[] = [{ after: 1, node: 0, kind: 'call', channel: 0 }, ...told];
        const plain = await tell({ acts: begun, snapshots: [], lost });
        const interrupted = await tell({ acts: begun, snapshots: at.map((step) => step * STEP_MS), lost });
        assert.equal(ordered(interrupted), ordered(plain));
      },
    ),
    { numRuns: 60 },
  );
});

test.run();
