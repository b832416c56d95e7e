import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SrtpKeys } from '../../src/lib/srtp.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { MediaEngine } from '../../src/media/engine.ts';
import { audioSocketFrame } from '../../src/media/external/audio-socket.ts';
import type { Wire, WireListener } from '../../src/media/external/wires.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import { newStreamMemory } from '../../src/media/video/stream-memory.ts';
import type { ExternalRequest } from '../../src/telephony/external.ts';
import type { Codec, MixCommand, RecordRequest, SessionCommand } from '../../src/telephony/media.ts';
import type { VideoFlow } from '../../src/telephony/video.ts';
import { anyDeed, likewise } from '../support/deeds.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { untilAsked } from '../support/waiting.ts';
import { encodePacket, FakeNetwork, memoryLogger, noExternal, ramp, rampLoader, settle, usualFlow } from './support.ts';

/**
 * Calls in the clear and in secret, halves of a Local channel, servers outside and who listens to any of them, in two mixes,
 * while packets, messages and commands come that nobody has thought of.
 */

const key = { suite: 'AES_CM_128_HMAC_SHA1_80', key: Buffer.alloc(30, 7).toString('base64') } as const;
const keys: SrtpKeys = { local: key, remote: key };
/** Sessions with RTP and the codecs that they have; the rest are what their names say. */
const codecs: readonly Codec[] = ['ulaw', 'alaw', 'g722', 'slin16'];
const secret = 3;
const [near, far, audioSocket, webSocket] = [5, 6, 7, 8];
const sessions = [1, 2, 3, 4, near, far, audioSocket, webSocket, 9, 10];
const talk = { frameOctets: 320, start: { connectionId: 'c', channel: 'c', channelId: 'c', variables: {} } };
const servers: Record<number, ExternalRequest> = {
  [audioSocket]: {
    ...{ transport: 'audioSocket', host: 'server.example', port: 9092, codec: 'slin', direction: 'both' },
    uuid: '40325ec2-5efd-4bd3-805f-53576e581d13',
  },
  [webSocket]: {
    ...{ transport: 'webSocket', url: 'ws://server.example', headers: {}, protocols: [], codec: 'slin' },
    ...{ direction: 'both', json: true, ...talk },
  },
};

class FakeWire implements Wire {
  paused = false;
  unsent = 0;
  isOpen = false;
  isOver = false;
  readonly listener: WireListener;

  constructor(listener: WireListener) {
    this.listener = listener;
  }

  send(octets: Uint8Array | string): void {
    this.unsent += octets.length;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.isOver = true;
  }
}

class World {
  readonly clock = new ManualClock(0);
  readonly network = new FakeNetwork(this.clock);
  readonly log = memoryLogger();
  readonly reports: EngineReport[] = [];
  readonly wires = new Map<number, FakeWire>();
  readonly directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  readonly engine: MediaEngine;
  readonly #ports = new Map<number, number>();
  readonly #sealer = new Sealer(key, { audio: 0, control: 0 });
  #sequence = 65_500;
  #random = 1;
  /** Items and recordings that were asked for. */
  plays = 0;
  recordings = 0;

  constructor() {
    const wire = (listener: WireListener): FakeWire => {
      const made = new FakeWire(listener);
      this.wires.set(this.#opening, made);
      return made;
    };
    this.engine = new MediaEngine({
      config: { ...defaultMediaConfig, ports: { first: 10_000, last: 10_199 }, measureMs: 1000, rtpTimeoutMs: 2000 },
      ...{ clock: this.clock, log: this.log, sockets: this.network, loader: rampLoader },
      wires: {
        connect: (_host, _port, listener) => wire(listener),
        openWebSocket: (_target, listener) => wire(listener),
      },
      random32: () => (this.#random = (this.#random * 1_103_515_245 + 12_345) >>> 0),
      report: (report) => this.reports.push(report),
    });
  }
  #opening = 0;

  async open(session: number): Promise<void> {
    this.engine.apply({ type: 'close', session });
    if (session <= 4) {
      this.#ports.set(session, (await this.engine.openRtp(session)).port);
      this.engine.apply({ type: 'configure', session, flow: this.#flow(session) });
    } else if (session === near || session === far) this.engine.openLocal(session, undefined, near + far - session);
    else if (servers[session]) {
      this.#opening = session;
      this.engine.openExternal(session, servers[session]);
    } else this.engine.openSnoop(session, session - 8, { spy: 'both', whisper: 'both' });
  }

  #flow(session: number) {
    const codec = codecs[session - 1]!;
    const payloadType = { ulaw: 0, alaw: 8, g722: 9 }[codec as string] ?? 96;
    const remote = { address: `192.0.2.${session}`, port: 4000 };
    return { ...usualFlow, remote, codec, payloadType, ...(session === secret && { srtp: keys }) };
  }

  packet(session: number, { kind, octets, from, ahead }: Extract<Act, { kind: string; ahead: number }>): void {
    const port = this.#ports.get(session);
    if (port === undefined) return;
    const { payloadType } = this.#flow(session);
    this.#sequence = (this.#sequence + ahead) & 0xffff;
    const head = { marker: false, sequence: this.#sequence, timestamp: 160 * this.#sequence, ssrc: session };
    const audio = encodePacket({ ...head, payloadType, payload: ramp(160, octets[0] ?? 0) });
    const event = encodePacket({ ...head, payloadType: 101, payload: [...octets, 0, 0x8a, 3, 0].slice(0, 4) });
    const likely = Uint8Array.from([0x80, ...octets]);
    const video = encodePacket({ ...head, payloadType: 96, payload: [0x90, 0x80, ...octets] });
    const packets = { audio, event, likely, video, octets: Uint8Array.from(octets), control: likely };
    const plain = packets[kind];
    const sealed = session === secret && kind !== 'octets' ? this.#sealer.audio(plain) : undefined;
    const to = port + (kind === 'control' ? 1 : kind === 'video' ? 2 : 0);
    const source = { address: `192.0.2.${from === 0 ? session : 9}`, port: 4000 + (kind === 'control' ? 1 : 0) };
    if (this.network.listeners.get(to)) this.network.deliver(to, sealed ?? plain, source);
  }

  server(session: number, what: string, octets: readonly number[]): void {
    const wire = this.wires.get(session);
    if (!wire || wire.isOver) return;
    if (what === 'opened' && !wire.isOpen) {
      wire.isOpen = true;
      wire.listener.opened({ address: '127.0.0.1', port: 4000 });
    } else if (what === 'closed') {
      wire.isOver = true;
      wire.listener.closed('the far side is gone');
    } else if (what === 'reads') wire.unsent = 0;
    else if (!wire.isOpen) return;
    else if (what === 'frame')
      wire.listener.received(
        session === audioSocket ? audioSocketFrame(0x10, Uint8Array.from(ramp(320))) : Uint8Array.from(ramp(320)),
      );
    else if (what === 'octets') wire.listener.received(Uint8Array.from(octets));
    else if (session === webSocket) wire.listener.told?.(what);
  }

  command(session: number, word: string, value: number): void {
    const { engine } = this;
    const request: RecordRequest = {
      ...{
        path: join(this.directory, `${value % 3}.wav`),
        format: ['wav', 'ulaw', 'nothing'][value % 3]!,
        ifExists: 'overwrite',
      },
      ...{
        beep: value % 2 === 0,
        channels: 1,
        maxDurationMs: (value % 4) * 500,
        maxSilenceMs: (value % 3) * 500,
        terminateOn: 'any',
      },
    };
    const play = () =>
      ({
        type: 'play',
        play: ++this.plays,
        item: { uri: ['ramp:800', 'ramp:99999', 'fail:x'][value % 3]!, language: 'en', offsetMs: value },
      }) as const;
    const record = () => ({ type: 'record', recording: ++this.recordings, request }) as const;
    const both: Record<string, () => SessionCommand> = {
      play,
      record,
      control: () => ({
        type: 'control',
        play: this.plays,
        action: (['stop', 'pause', 'resume', 'restart'] as const)[value % 4]!,
      }),
      seek: () => ({ type: 'seek', play: this.plays, ms: value - 500 }),
      controlRecording: () => ({
        type: 'controlRecording',
        recording: this.recordings - (value % 2),
        action: (['stop', 'discard', 'pause', 'resume', 'mute', 'unmute'] as const)[value % 6]!,
      }),
      music: () => ({ type: 'music', musicClass: value % 2 ? '440' : undefined }),
      close: () => ({ type: 'close' }),
    };
    const own: Record<string, () => SessionCommand> = {
      ...both,
      digits: () => ({
        type: 'sendDigits',
        sequence: { digits: '1w#', beforeMs: value % 50, betweenMs: 40, durationMs: 60, afterMs: 0 },
      }),
      digit: () => ({ type: 'hearDigit', digit: '5', durationMs: value }),
      indicate: () => ({ type: 'indicate', indication: value % 2 ? 'ringing' : undefined }),
      silence: () => ({ type: 'silence', on: value % 2 === 1 }),
      echo: () => ({ type: 'echo', on: value % 2 === 0 }),
      mute: () => ({ type: 'mute', in: value % 2 === 0, out: value % 3 === 0 }),
      talking: () => ({
        type: 'detectTalking',
        detection: value % 3 ? { thresholdLevel: 256, silenceMs: value } : undefined,
      }),
      tone: () => ({
        type: 'detectTone',
        detection: value % 3 ? { hertz: 1100, durationMs: value, direction: 'both', signals: ['busy'] } : undefined,
      }),
      hold: () => ({
        type: 'configure',
        flow: { ...this.#flow(Math.min(session, 4)), send: value % 2 === 0, receive: value % 3 === 0 },
      }),
      video: () => ({ type: 'configureVideo', stream: 0, flow: value % 4 ? this.#video(session) : undefined }),
      keyFrame: () => ({ type: 'askKeyFrame' }),
    };
    const command = own[word]?.();
    if (command) engine.apply({ ...command, session });
    const mixCommands: Record<string, () => MixCommand> = {
      join: () => ({
        type: 'join',
        session,
        member: { role: value % 5 ? 'participant' : 'announcer', muted: value % 4 === 0, passDigits: true },
      }),
      leave: () => ({ type: 'leave', session }),
      show: () => ({ type: 'show', session, sources: [1 + (value % 4), undefined] }),
      videoMode: () => ({
        type: 'video',
        mode: (['none', 'talker', 'single'] as const)[value % 3]!,
        source: 1 + (value % 4),
      }),
      mixPlay: play,
      mixRecord: record,
      mixMusic: both['music'] as () => MixCommand,
      mixControl: both['control'] as () => MixCommand,
    };
    const asked = mixCommands[word]?.();
    if (asked) engine.applyToMix(1 + (value % 2), asked);
    if (word === 'reopenMix') {
      engine.applyToMix(2, { type: 'close' });
      engine.openMix(2, value % 2 ? 'mixing' : 'holding');
    }
    if (word === 'overhear')
      engine.overhear({
        type: 'overhear',
        session,
        overhearer: value % 2,
        action: (['begin', 'taken', 'end'] as const)[value % 3]!,
      });
  }

  #video(session: number): VideoFlow {
    const feedback = { nack: true, pli: true, fir: true, tmmbr: true, remb: true };
    const remote = { address: `192.0.2.${session}`, port: 4000 };
    return { remote, codec: 'vp8', payloadType: 96, feedback, send: true, receive: true };
  }

  async openVideo(session: number): Promise<void> {
    const opening = this.engine.openVideo(session, { stream: 0, memory: newStreamMemory() });
    await opening.then(
      () => this.engine.apply({ type: 'configureVideo', session, stream: 0, flow: this.#video(session) }),
      () => {},
    );
  }
}

const session = fc.constantFrom(...sessions);
const withRtp = fc.constantFrom(1, 1, 2, 2, 3, 4);
const octets = fc.oneof(
  fc.array(fc.nat(255), { maxLength: 60 }),
  fc
    .tuple(
      fc.constantFrom(200, 201, 202, 203, 204, 205, 206, 0, 101, 229, 13, 96, 224),
      fc.array(fc.nat(255), { maxLength: 60 }),
    )
    .map(([type, rest]) => [type, 0, rest.length >> 2, ...rest]),
);
const says = ['frame', 'frame', 'octets', 'opened', 'opened', 'closed', 'reads'];
const mediaCommands = [
  'ANSWER',
  'HANGUP',
  'START_MEDIA_BUFFERING',
  'STOP_MEDIA_BUFFERING',
  'MARK_MEDIA',
  'FLUSH_MEDIA',
  'REPORT_QUEUE_DRAINED',
  'GET_STATUS',
  'PAUSE_MEDIA',
  'CONTINUE_MEDIA',
  'SET_MEDIA_DIRECTION',
  'X',
];
const told = fc.oneof(
  fc
    .record({
      command: fc.constantFrom(...mediaCommands),
      correlation_id: fc.constantFrom('1', '', 7),
      direction: fc.constantFrom('in', 'out', 'both', 'x'),
    })
    .map((each) => JSON.stringify(each)),
  fc.string(),
);
const words = [
  ...[
    'play',
    'record',
    'control',
    'seek',
    'controlRecording',
    'music',
    'digits',
    'indicate',
    'echo',
    'mute',
    'talking',
    'tone',
    'hold',
    'video',
    'keyFrame',
  ],
  ...[
    'join',
    'join',
    'join',
    'leave',
    'show',
    'videoMode',
    'mixPlay',
    'mixRecord',
    'mixMusic',
    'mixControl',
    'reopenMix',
    'overhear',
    'close',
  ],
];
const act = anyDeed({
  ...likewise(
    ['audio', 'audio', 'event', 'likely', 'video', 'octets', 'control'],
    {
      session: withRtp,
      octets,
      from: fc.constantFrom(0, 0, 0, 0, 1),
      ahead: fc.constantFrom(1, 1, 1, 1, 0, 2, -1, 30, 5000),
    },
    3,
  ),
  server: [
    5,
    { session: fc.constantFrom(audioSocket, webSocket), what: fc.oneof(fc.constantFrom(...says), told), octets },
  ],
  command: [12, { session, word: fc.constantFrom(...words), value: fc.nat(1000) }],
  ...likewise(['open', 'openVideo'], { session }),
  wait: [8, { ms: fc.constantFrom(1, 10, 20, 20, 40, 500, 3000) }],
});
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

async function happen(world: World, each: Act): Promise<void> {
  if (each.kind === 'wait') world.clock.advance(each.ms);
  else if (each.kind === 'open') await world.open(each.session);
  else if (each.kind === 'openVideo') await world.openVideo(each.session);
  else if (each.kind === 'command') world.command(each.session, each.word, each.value);
  else if (each.kind === 'server') world.server(each.session, each.what, each.octets);
  else world.packet(each.session, each);
  await settle();
}

/** What is told of an item or a recording when it is over. */
const ends = new Set(['media.finished', 'media.failed', 'record.finished', 'record.failed', 'record.discarded']);
const endsIn = (reports: readonly EngineReport[]) =>
  reports.flatMap((each) =>
    'report' in each && ends.has(each.report.type)
      ? ['play' in each ? `play ${each.play}` : `recording ${each.recording}`]
      : [],
  );
const numbered = (what: string, count: number) => Array.from({ length: count }, (_, index) => `${what} ${index + 1}`);

test('random input and random requests cause no failure, each report comes once, and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 120, size: 'max' }), async (acts) => {
      const world = new World();
      const { engine, clock, network, log, reports, directory } = world;
      for (const mix of [1, 2]) engine.openMix(mix, 'mixing');
      for (const each of sessions) await world.open(each);
      for (const each of [1, 2, 3]) {
        await world.openVideo(each);
        world.command(each, 'join', 2);
      }
      for (const each of acts) await happen(world, each);
      for (const each of sessions) engine.apply({ type: 'close', session: each });
      for (const mix of [1, 2]) engine.applyToMix(mix, { type: 'close' });
      const expected = [...numbered('play', world.plays), ...numbered('recording', world.recordings)].sort();
      await untilAsked(
        async () => endsIn(reports).length >= expected.length,
        () => `${endsIn(reports)} of ${expected}`,
      );
      assert.equal(endsIn(reports).sort(), expected);
      assert.equal(
        log.lines.filter(({ level }) => level === 'error'),
        [],
      );
      assert.equal(engine.usage(), { ...noExternal, sessions: 0, ports: 0, players: 0, timers: 0 });
      engine.close();
      assert.equal(
        [clock.pending, network.listeners.size, [...world.wires.values()].filter(({ isOver }) => !isOver).length],
        [0, 0, 0],
      );
      assert.equal(
        readdirSync(directory).filter((name) => name.endsWith('.part')),
        [],
      );
      rmSync(directory, { recursive: true });
    }),
    { numRuns: 15 },
  );
});

test.run();
