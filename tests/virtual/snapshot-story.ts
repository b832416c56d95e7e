import { mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVirtualPhone } from '../../packages/testing/src/sip-phone.ts';
import { loadConfig } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import type { CountedIds } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/log.ts';
import { parseMessage } from '../../src/sip/message/parse.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type VirtualHost, VirtualNetwork } from '../../src/virtual/network.ts';
import { startVirtualServer, type VirtualServer } from '../../src/virtual/server.ts';
import { whatIs } from '../sip/transaction/fake-transports.ts';

/** A story of one server, two phones and an application; the server may lose its power at any settled moment. */

export const serverAddress = '10.0.0.1';
export const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;

const settings = {
  general: { validate: true, data_directory: 'data', entity_id: 'story' },
  http: { users: [{ name: 'tester', password: 'secret' }] },
  sip: {
    transports: [{ protocol: 'udp', bind: serverAddress, port: 5060 }],
    endpoints: {
      alice: { match: ['10.0.0.2'] },
      bob: { match: ['10.0.0.3'], aor: { contacts: ['sip:bob@10.0.0.3:5060'], qualify_frequency: 60 } },
    },
  },
  media: { rtp_address: serverAddress },
  away_policies: { patient: { after: 20, action: 'hangup', music_class: 'default', music_for: 20 } },
  dialplan: {
    default: {
      app: ['Answer', 'Stasis(app)'],
      echo: ['Answer', 'Echo'],
      patient: ['Answer', 'Stasis(patient)'],
      dial: ['Dial(PJSIP/bob,2,rtT)'],
      room: ['Answer', 'ConfBridge(1)'],
      wait: ['Answer', 'Wait(1)', 'Stasis(app)'],
      timed: ['Answer(400)', 'Wait(3)', 'Read(PIN,,4,,2,3)', 'Stasis(app,${PIN},${READSTATUS})'],
      prompts: [
        'Answer',
        'Playback(tone:!440/1500&tone:!880/1500)',
        'Background(tone:!440/2000)',
        'WaitExten(2)',
        'Stasis(app)',
      ],
      forward: ['Dial(Local/app@default)'],
    },
  },
};

/** What happened, in words that two tellings of a story have in common. */
export type Account = {
  events: Record<string, unknown>[];
  sip: string[];
  /** What the server sent of each RTP stream, by the order in which they began. */
  streams: { packets: number; first: number; steps: Record<string, number> }[];
  replies: string[];
  end: unknown;
  errors: string[];
};

/** What can be done: by the application, or by alice. */
export const words = [
  'call',
  'hangUpAtAlice',
  'holdAtAlice',
  'takeBackAtAlice',
  'originate',
  'local',
  'play',
  'stop',
  'pause',
  'unpause',
  'mute',
  'unmute',
  'hold',
  'unhold',
  'variable',
  'hangup',
  'bridge',
  'join',
  'leave',
  'destroy',
  'ring',
  'ringOff',
  'silence',
  'progress',
  'answer',
  'snoop',
  'create',
  'dial',
  'sfu',
  'redirect',
  'continue',
  'move',
] as const;

/** One thing that is done, to the nth of the channels that there are. */
export type Deed = { word: (typeof words)[number]; nth: number };

/** Counted up over all processes of a story; secrets, of which each process makes its own, apart. */
function createStoryIds(now: () => number): CountedIds {
  let next = 0;
  let secrets = 0;
  let channels = 0;
  const hex = (digits: number) => (++next).toString(16).padStart(digits, '0');
  return {
    mark: '',
    channel: () => `${Math.floor(now() / 1000)}.${channels++}`,
    get channels() {
      return channels;
    },
    goOn(made) {
      channels = made;
    },
    uuid: () => hex(12),
    hex,
    secret: (length) => (++secrets).toString(16).padStart(length, '0'),
  };
}

/** What a process does that somebody else can know of. */
type Point = 'write' | 'sip' | 'event';
/** The moment at which a process is killed: before or behind the nth such thing, or in the middle of a write. */
export type Cut = { point: Point; nth: number; when: 'before' | 'behind' | 'within' };

/** Does what is done, unless the process is dead by then. @param half does a part of it. */
type Pass = (point: Point, act: () => void, half?: () => void) => void;

/** The cut that is to come, and whether the process that runs is dead. */
function createCuts() {
  let next: Cut | undefined;
  let left = 0;
  let process = { isDead: false };
  return {
    get isDead() {
      return process.isDead;
    },
    plan(cut: Cut | undefined): void {
      next = cut;
      left = cut?.nth ?? 0;
    },
    /** Another process runs. */
    begin(): void {
      process = { isDead: false };
    },
    /** What the process that runs now does at its points. */
    get pass(): Pass {
      const own = process;
      return (point, act, half = () => {}) => {
        if (own.isDead) return;
        const isCut = next?.point === point && left-- === 0;
        own.isDead = isCut;
        if (!isCut || next?.when === 'behind') act();
        else if (next?.when === 'within') half();
      };
    },
  };
}

/** @param keeps the server writes its state after each change. @param more further settings */
export async function createStory(seed: number, keeps = false, more: Record<string, object> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const file = join(directory, 'hookswitch.yaml');
  writeFileSync(file, JSON.stringify({ ...settings, ...more, state_store: { on: keeps } }));
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  const clock = new ManualClock();
  const begun = clock.now();
  const network = new VirtualNetwork({ clock, seed, quality: { delayMs: 4 } });
  const errors: string[] = [];
  const console = {
    write: (line: string) => {
      if ((JSON.parse(line) as { level: number }).level >= 50) errors.push(line);
    },
  };
  const logChannels = createLogChannels({ directory, console, consoleLevels: ['ERROR'], clock });
  const log = createLogger({ level: 'info', destination: logChannels.destination });
  const events: Record<string, unknown>[] = [];
  const replies: string[] = [];
  const cuts = createCuts();
  const wire = watch(
    network.host(serverAddress),
    () => clock.now() - begun,
    () => cuts.pass,
  );
  const ids = createStoryIds(() => clock.now());

  const start = async (from?: unknown, endpoints = Object.keys(config.sip.endpoints)) => {
    const known = Object.entries(config.sip.endpoints).filter(([name]) => endpoints.includes(name));
    cuts.begin();
    const { pass } = cuts;
    const server = await startVirtualServer({
      writeState(descriptor, octets, position) {
        const write = (length: number) => void writeSync(descriptor, octets, 0, length, position);
        pass(
          'write',
          () => write(octets.length),
          () => write(octets.length >> 1),
        );
        return octets.length;
      },
      ...{ clock, host: wire.host, logging: { log, logChannels }, seed, ids, from },
      config: { ...config, sip: { ...config.sip, endpoints: Object.fromEntries(known) } },
    });
    connect(server);
    return server;
  };
  let application: { close(): void };
  const connect = (to: VirtualServer): void => {
    const { pass } = cuts;
    application = to.connect({
      names: ['app'],
      subscribeAll: true,
      send: (json) => pass('event', () => events.push(JSON.parse(json) as Record<string, unknown>)),
      describe: 'story',
    });
  };
  let server: VirtualServer = await start();
  const phones = {
    alice: await createVirtualPhone('alice', network.host('10.0.0.2'), { clock, seed: seed + 1 }),
    bob: await createVirtualPhone('bob', network.host('10.0.0.3'), { clock, seed: seed + 2 }),
  };

  const ask = async (method: string, path: string): Promise<unknown> => {
    const request = new Request(`http://${serverAddress}/ari${path}`, { method, headers: { authorization } });
    const response = await server.ask(request);
    const text = await response.text();
    replies.push(`${method} ${path}: ${response.status}`);
    return text === '' ? undefined : JSON.parse(text);
  };

  let made = 0;
  const answers = {
    play: ['POST', '/play?media=tone:!440/700,tone:!880/1900'],
    mute: ['POST', '/mute?direction=both'],
    unmute: ['DELETE', '/mute?direction=both'],
    hold: ['POST', '/hold'],
    unhold: ['DELETE', '/hold'],
    variable: ['POST', '/variable?variable=X&value=1'],
    hangup: ['DELETE', ''],
    ring: ['POST', '/ring'],
    ringOff: ['DELETE', '/ring'],
    silence: ['POST', '/silence'],
    progress: ['POST', '/progress'],
    answer: ['POST', '/answer'],
    dial: ['POST', '/dial?timeout=20'],
    redirect: ['POST', '/redirect?endpoint=PJSIP/bob'],
    continue: ['POST', '/continue?context=default&extension=app'],
    move: ['POST', '/move?app=app'],
  } as const;

  const toPlayback = async (word: 'stop' | 'pause' | 'unpause', nth: number): Promise<void> => {
    if (word === 'stop') await ask('DELETE', `/playbacks/p${nth}`);
    else await ask('POST', `/playbacks/p${nth}/control?operation=${word}`);
  };

  const toAlice = (word: Deed['word'], nth: number): void => {
    const { calls } = phones.alice;
    const { leg } = calls[nth % Math.max(1, calls.length)] ?? {};
    if (word === 'call') phones.alice.dial(`sip:app@${serverAddress}:5060`);
    else if (word === 'hangUpAtAlice') leg?.hangup(16);
    else if (word === 'holdAtAlice') leg?.hold();
    else leg?.unhold();
  };

  const act = async ({ word, nth }: Deed): Promise<void> => {
    switch (word) {
      case 'call':
      case 'hangUpAtAlice':
      case 'holdAtAlice':
      case 'takeBackAtAlice':
        toAlice(word, nth);
        return;
      case 'originate':
        await ask('POST', `/channels?endpoint=PJSIP/bob&app=app&channelId=out${made++}`);
        return;
      case 'local':
        await ask('POST', `/channels?endpoint=Local/app@default&app=app&channelId=l${made}&otherChannelId=m${made++}`);
        return;
      case 'create':
        await ask('POST', `/channels/create?endpoint=PJSIP/bob&app=app&channelId=made${made++}`);
        return;
      case 'bridge':
        await ask('POST', `/bridges?type=${nth % 3 === 2 ? 'holding' : 'mixing'}&bridgeId=b${nth % 2}`);
        return;
      case 'sfu':
        await ask('POST', `/bridges?type=mixing,video_sfu&bridgeId=b${nth % 2}`);
        return;
      case 'destroy':
        await ask('DELETE', `/bridges/b${nth % 2}`);
        return;
      case 'stop':
      case 'pause':
      case 'unpause':
        return toPlayback(word, nth);
    }
    const channels = (await ask('GET', '/channels')) as { id: string }[];
    const channel = channels[nth % Math.max(1, channels.length)];
    if (!channel) return;
    if (word === 'join' || word === 'leave') {
      await ask('POST', `/bridges/b${nth % 2}/${word === 'join' ? 'add' : 'remove'}Channel?channel=${channel.id}`);
      return;
    }
    if (word === 'snoop') {
      await ask(
        'POST',
        `/channels/${channel.id}/snoop/s${made++}?spy=both&whisper=${nth % 2 ? 'out' : 'none'}&app=app`,
      );
      return;
    }
    const [method, path] = answers[word];
    const named = word === 'play' ? `&playbackId=p${plays++}` : '';
    await ask(method, `/channels/${channel.id}${path.replaceAll('!', '%21')}${named}`);
  };
  let plays = 0;

  return {
    clock,
    cuts,
    ask,
    act,
    phones,
    get server() {
      return server;
    },
    /** The application goes away; it comes back. */
    leave: () => application.close(),
    comeBack: () => connect(server),
    /** Somebody else hears everything from now on. */
    observe(): Record<string, unknown>[] {
      const heard: Record<string, unknown>[] = [];
      server.connect({
        names: ['observer'],
        subscribeAll: true,
        send: (json) => void heard.push(JSON.parse(json) as Record<string, unknown>),
        describe: 'observer',
      });
      return heard;
    },
    /** The server loses its power, and another process goes on with what it had saved just before. */
    async restoreSnapshot(endpoints?: string[]): Promise<void> {
      const data: unknown = JSON.parse(JSON.stringify(server.dump()));
      server.powerOff();
      server = await start(data, endpoints);
      await clock.run(0);
    },
    /** The process is killed; another one goes on with what it had written. */
    async crash(): Promise<void> {
      server.powerOff();
      server = await start();
      await clock.run(0);
    },
    directory: config.general.data_directory,
    /** Starts another server with what is no story of its own: one that is refused leaves nothing. */
    start,
    /** Goes on in another process with what was saved. */
    async goOn(data: unknown): Promise<void> {
      server = await start(data);
    },
    async close(): Promise<Account> {
      const end = await server.usage();
      await Promise.all([phones.alice.close(), phones.bob.close(), server.close()]);
      rmSync(directory, { recursive: true, force: true });
      return { events, sip: wire.sip, streams: wire.streams(), replies, end, errors };
    },
  };
}

/** Looks at what a host sends. */
function watch(host: VirtualHost, now: () => number, passOf: () => Pass) {
  const sip: string[] = [];
  type Sent = { at: number; sequence: number; timestamp: number };
  const packets = new Map<number, Sent[]>();
  const ports = new Map<string, string[]>();
  /** Ports are drawn by lot, and free again sooner in a new process: those of each call are counted. */
  const named = (callId: string, text: string): string =>
    text.replace(/m=audio (\d+)/, (_all, port: string) => {
      const known = ports.get(callId) ?? [];
      ports.set(callId, known);
      if (!known.includes(port)) known.push(port);
      return `m=audio ${known.indexOf(port) + 1}`;
    });

  const noteRtp = (packet: Uint8Array): void => {
    const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    if (packet.byteLength < 12 || (view.getUint8(1) >= 200 && view.getUint8(1) <= 207)) return;
    const ssrc = view.getUint32(8);
    const sent = packets.get(ssrc) ?? [];
    packets.set(ssrc, sent);
    sent.push({ at: now(), sequence: view.getUint16(2), timestamp: view.getUint32(4) });
  };

  const watched: VirtualHost = {
    address: host.address,
    openUdp: async (options) => {
      const socket = await host.openUdp(options);
      const pass = passOf();
      return {
        ...socket,
        send: (bytes, to, port, done) =>
          pass('sip', () => {
            const parsed = parseMessage(Buffer.from(bytes));
            if (parsed.ok) {
              const { message } = parsed;
              sip.push(
                `${now()} ${to}:${port} ${whatIs(message)} ${message.cseq.number} ${message.callId}\n${named(message.callId, message.bodyText)}`,
              );
            }
            socket.send(bytes, to, port, done);
          }),
      };
    },
    sockets: {
      async bind(address, port) {
        const socket = await host.sockets.bind(address, port);
        return {
          port: socket.port,
          send(packet, to, at) {
            noteRtp(packet);
            socket.send(packet, to, at);
          },
          listen: (listener) => socket.listen(listener),
          close: () => socket.close(),
        };
      },
    },
  };

  /** Of each stream: how many packets, when the first came, and how often which step was taken from one to the next. */
  const streams = () =>
    [...packets.values()].map((sent) => {
      const steps: Record<string, number> = {};
      for (const [index, next] of sent.entries()) {
        const last = sent[index - 1];
        if (!last) continue;
        const step = `+${(next.sequence - last.sequence) & 0xffff} +${(next.timestamp - last.timestamp) >>> 0} ${next.at - last.at} ms`;
        steps[step] = (steps[step] ?? 0) + 1;
      }
      return { packets: sent.length, first: sent[0]?.at ?? 0, steps };
    });
  return { host: watched, sip, streams };
}
