import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { membersKeepTheirCalls } from '../support/group-story.ts';
import { Caller, ownCertificates } from '../support/hostile.ts';
import { Phone } from '../support/phone.ts';
import { type SupervisedServer, startSupervised } from '../support/supervised-server.ts';
import { untilAsked } from '../support/waiting.ts';

/** A supervisor with real calls whose server is killed and replaced. HOOKSWITCH_TEST_CALLS=200 makes so many calls. */
const supervised = suite('a supervised server');
const calls = Number(process.env['HOOKSWITCH_TEST_CALLS'] ?? 20);

const dialplan = { default: { echo: ['Answer', 'Echo'], '600': ['Answer', 'Echo'], desk: ['Stasis(desk)'] } };
const certificates = new CertificateFiles();
supervised.after(() => certificates.close());

type Channel = { id: string; state: string };

/** A sender that hears refusals (ICMP) of a port. */
class Probe {
  readonly refusals: string[] = [];
  readonly #socket: Socket = createSocket('udp4');
  #sending: NodeJS.Timeout | undefined;

  static async open(port: number): Promise<Probe> {
    const probe = new Probe();
    probe.#socket.on('error', (error: NodeJS.ErrnoException) => probe.refusals.push(`${error.code} ${port}`));
    probe.#socket.connect(port, '127.0.0.1');
    await once(probe.#socket, 'connect');
    // No packet of SIP or RTP: it is dropped.
    probe.#sending = setInterval(() => probe.#socket.send('\r\n'), 5);
    return probe;
  }

  close(): void {
    clearInterval(this.#sending);
    this.#socket.close();
  }
}

/** Phones in calls that echo, each of which has heard itself. */
async function openCalls(sip: string): Promise<Phone[]> {
  const phones = await Promise.all(Array.from({ length: calls }, (_, at) => Phone.open(`${1000 + at}`, sip)));
  await Promise.all(phones.map((phone) => phone.call('echo')));
  for (const { audio } of phones) audio.hum(400);
  await Promise.all(phones.map(({ audio }) => audio.hears([400], [400, 700])));
  return phones;
}

const portOf = ({ described }: Phone): number => Number(/^m=audio (\d+)/m.exec(described.at(-1) ?? '')?.[1]);

/** Every call goes on as the same stream behind `replace`, nothing is refused, and each ends by the phone's BYE. */
async function goesOn(
  replace: (server: SupervisedServer) => Promise<void>,
  more: Record<string, object> = { media: { warm_up: true } },
): Promise<void> {
  const server = await startSupervised({ dialplan, more });
  const phones = await openCalls(server.sip);
  const probes = await Promise.all([server.sipPort, ...phones.map(portOf)].map((port) => Probe.open(port)));
  try {
    const client = server.client();
    const before = server.server();
    await replace(server);
    await untilAsked(
      async () => server.server() > 0 && server.server() !== before,
      () => 'no other server runs',
    );
    const counts = phones.map(({ audio }) => audio.packets.length);
    // A connection waits for the next server.
    const channels = await client.ok<Channel[]>('GET', '/channels');
    assert.equal([channels.length, new Set(channels.map(({ state }) => state))], [calls, new Set(['Up'])]);
    await Promise.all(
      phones.map(({ audio }, at) =>
        audio.until(() => audio.packets.length > counts[at]! + 25, 'audio of the next server'),
      ),
    );
    for (const { audio } of phones) assert.is(new Set(audio.packets.map(({ ssrc }) => ssrc)).size, 1);
    assert.equal(
      probes.flatMap(({ refusals }) => refusals),
      [],
    );
    for (const phone of phones) phone.hangup();
    await untilAsked(
      async () => (await client.ok<Channel[]>('GET', '/channels')).length === 0,
      () => 'channels stay',
    );
  } finally {
    for (const probe of probes) probe.close();
    await Promise.all(phones.map((phone) => phone.close()));
    assert.is(await server.close(), 0);
  }
}

supervised(`that is killed goes on with ${calls} calls, and no datagram is refused`, () =>
  goesOn(async ({ server }) => {
    process.kill(server(), 'SIGKILL');
  }, {}),
);

/** Waits until another process is prepared than the one before. */
async function untilStandby({ standby, logged }: SupervisedServer, before?: number): Promise<number> {
  await untilAsked(
    async () => standby() !== undefined && standby() !== before,
    () => `nothing stands by: ${logged()}`,
  );
  return standby()!;
}

supervised(`that is killed goes on with ${calls} calls in the process that stands by`, () =>
  goesOn(
    async (running) => {
      const next = await untilStandby(running);
      process.kill(running.server(), 'SIGKILL');
      await untilAsked(
        async () => running.server() === next,
        () => 'another process runs',
      );
    },
    { supervisor: { steady: 0.1 }, media: { warm_up: true } },
  ),
);

supervised('what stands by reads a changed configuration, and is replaced when it ends', async () => {
  const running = await startSupervised({ dialplan, more: { supervisor: { steady: 0.1, longest_pause: 0.1 } } });
  try {
    const first = await untilStandby(running);
    running.parent.kill('SIGHUP');
    const second = await untilStandby(running, first);
    process.kill(second, 'SIGKILL');
    await untilStandby(running, second);
    // The line may be read later than the next process is seen.
    await untilAsked(
      async () => running.logged().includes('no standby process'),
      () => `nothing tells of it: ${running.logged()}`,
    );
  } finally {
    assert.is(await running.close(), 0);
  }
});

supervised('what stands by ends with its supervisor', async () => {
  const running = await startSupervised({ dialplan, more: { supervisor: { steady: 0.1 } } });
  try {
    const all = [await untilStandby(running), running.server()];
    running.parent.kill('SIGKILL');
    await untilAsked(
      async () => !all.some(isRunning),
      () => 'a process goes on',
    );
  } finally {
    await running.close();
  }
});

supervised(`that is upgraded goes on with ${calls} calls, and no datagram is refused`, () =>
  goesOn(async ({ upgrade }) => {
    assert.is((await upgrade()).status, 204);
  }),
);

supervised(
  'that is upgraded gives each member of a group its own calls again, with their events from the start',
  async () => {
    const server = await startSupervised({ dialplan });
    try {
      await membersKeepTheirCalls(server, () => server.replace());
    } finally {
      assert.is(await server.close(), 0);
    }
  },
);

for (const [what, before] of [
  ['began again before', 60],
  ['begins again behind it', 10],
] as const)
  supervised(`that is upgraded knows the rollover counter of a far side's SRTP that ${what}`, async () => {
    const server = await startSupervised({
      ...{ dialplan, tls: ownCertificates(certificates) },
      endpoints: { anonymous: { match: ['127.0.0.1'], media_encryption: 'required' } },
    });
    const at = { sip: () => `127.0.0.1:${server.tlsPort}` };
    const phone = await Caller.call(at).catch(async (error: unknown) => {
      await server.close();
      throw error;
    });
    try {
      const first = 0xffff - 20;
      phone.sequence = first;
      await phone.hearsItself();
      while (phone.sequence < first + before) phone.send(phone.packet());
      await phone.hearsItself();
      const { audio } = phone.numbers;
      await server.replace();
      // It went on to speak.
      phone.sequence += 50;
      await phone.hearsItself();
      assert.ok(phone.sequence > 0xffff);
      assert.ok(phone.numbers.audio > audio, 'no index comes twice');
      await phone.reconnect(at);
      await phone.hangup(at);
      await server.emptied();
    } finally {
      phone.close();
      await server.close();
    }
  });

supervised('that is killed goes on with a stream and a recording that began a moment ago', async () => {
  // Only what is saved at once is there.
  const server = await startSupervised({ dialplan, more: { state_store: { interval: 30 } } });
  const phone = await Phone.open('4711', server.sip);
  const [first, later] = [server.client(), server.client()];
  try {
    await first.connect('desk');
    const calling = phone.call('desk');
    const { channel } = await first.waitFor('StasisStart');
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    phone.audio.hum(400);
    await first.ok('POST', `/channels/${channel.id}/silence`);
    await phone.audio.until(() => phone.audio.packets.length > 0, 'audio');
    const begun = first.waitFor('RecordingStarted');
    await first.ok('POST', `/channels/${channel.id}/record?name=early&format=wav`);
    await begun;
    await server.kill();
    await later.connect('desk');
    const before = phone.audio.packets.length;
    await phone.audio.until(() => phone.audio.packets.length > before + 25, 'audio of the next process');
    assert.is(new Set(phone.audio.packets.map(({ ssrc }) => ssrc)).size, 1);
    const recorded = (): number => {
      const directory = join(server.directory, 'recordings');
      const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
      return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    };
    // Half a second of 16-bit samples at 8 kHz.
    await untilAsked(
      async () => recorded() > 8_000,
      () => 'the recording does not go on',
    );
    const finished = later.waitFor('RecordingFinished');
    await later.ok('POST', '/recordings/live/early/stop');
    await finished;
    assert.ok(readFileSync(join(server.directory, 'recordings', 'early.wav')).length > 8_000);
    await later.ok('DELETE', `/channels/${channel.id}`);
    await phone.over();
  } finally {
    await Promise.all([first.close(), later.close(), phone.close()]);
    assert.is(await server.close(), 0);
  }
});

supervised('takes connections that came while no server ran', async () => {
  const { server, sipPort, httpPort, close } = await startSupervised({ dialplan });
  try {
    process.kill(server(), 'SIGKILL');
    const sockets = [sipPort, httpPort].map((port) => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    sockets[1]!.write('GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = await once(sockets[1]!, 'data');
    assert.match(String(answer), /^HTTP\/1.1 401 /);
    for (const socket of sockets) socket.destroy();
  } finally {
    await close();
  }
});

supervised('an upgrade loses no request and no event of an application that resumes', async () => {
  const server = await startSupervised({ dialplan });
  const phone = await Phone.open('4711', server.sip);
  const first = await server.client().connect('desk');
  const later = server.client();
  const set = (name: string) => later.ok('POST', `/channels/${channel.id}/variable?variable=${name}&value=1`);
  let channel = { id: '' };
  try {
    const calling = phone.call('desk');
    ({ channel } = await first.waitFor('StasisStart'));
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    const { seq } = (await first.waitFor('ChannelStateChange')) as unknown as { seq: number };
    // Requests one after the other, while the server is replaced.
    let isReplaced = false;
    const upgrading = server.upgrade().then(({ status }) => {
      isReplaced = true;
      return status;
    });
    let count = 0;
    while (!isReplaced) await set(`N${count++}`);
    assert.is(await upgrading, 204);
    for (let more = 0; more < 3; more++) await set(`N${count++}`);
    await later.connect('desk', { resume: String(seq) });
    await set('LAST');
    await later.waitFor('ChannelVarset', ({ variable }) => variable === 'LAST');
    assert.equal(
      later.events.flatMap((event) => (event.type === 'ChannelVarset' ? [event.variable] : [])),
      [...Array.from({ length: count }, (_, at) => `N${at}`), 'LAST'],
    );
    await later.ok('DELETE', `/channels/${channel.id}`);
    await phone.over();
  } finally {
    await Promise.all([first.close(), later.close(), phone.close()]);
    await server.close();
  }
});

/** A client on one connection at a time, which stays open between requests as long as the server keeps it. */
class KeptClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;
  /** The status of each answer, or why there was none. */
  readonly answers: string[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async ask(): Promise<void> {
    const asked = request({ host: '127.0.0.1', port: this.#port, path: '/ari/asterisk/ping', agent: this.#agent });
    const answered = once(asked, 'response');
    asked.end();
    const outcome = await answered.then(
      ([answer]) => String((answer as IncomingMessage).resume().statusCode),
      (error: NodeJS.ErrnoException) => `${error.code} behind ${this.answers.length} answers`,
    );
    this.answers.push(outcome);
  }

  close(): void {
    this.#agent.destroy();
  }
}

supervised('an upgrade loses no request over connections that are kept, however long they rest', async () => {
  const { server, httpPort, upgrade, close } = await startSupervised({ dialplan });
  const unused = connect(httpPort, '127.0.0.1');
  const clients = Array.from({ length: 24 }, () => new KeptClient(httpPort));
  const first = server();
  let isReplaced = false;
  try {
    await once(unused, 'connect');
    // The first asks once before and once behind the upgrade, the others with pauses up to one of a second.
    const [resting, ...busy] = clients;
    await Promise.all(clients.map((client) => client.ask()));
    const load = busy.map(async (client, at) => {
      while (!isReplaced) {
        await client.ask();
        await setTimeout(at * 45);
      }
      await client.ask();
    });
    assert.is((await upgrade()).status, 204);
    await untilAsked(
      async () => server() > 0 && server() !== first,
      () => 'no other server runs',
    );
    await resting!.ask();
    isReplaced = true;
    await Promise.all(load);
    unused.write('GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = await once(unused, 'data');
    assert.match(String(answer), /^HTTP\/1.1 401 /);
    assert.equal(new Set(clients.flatMap(({ answers }) => answers)), new Set(['401']));
  } finally {
    isReplaced = true;
    unused.destroy();
    for (const client of clients) client.close();
    assert.is(await close(), 0);
  }
});

supervised(
  'does not take up a call again that crashes it three times, and writes down what it knew of it',
  async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'hookswitch-crash-'));
    const file = join(scratch, 'channel');
    const crasher = fileURLToPath(new URL('../support/crash-at-call.mjs', import.meta.url));
    const server = await startSupervised({ dialplan, node: ['--import', crasher], env: { CRASH_AT: file } });
    const [victim, other] = await Promise.all([Phone.open('4711', server.sip), Phone.open('4712', server.sip)]);
    try {
      const client = server.client();
      const all = () => client.ok<(Channel & { caller: { number: string } })[]>('GET', '/channels');
      await Promise.all([victim.call('echo'), other.call('echo')]);
      const { id } = (await all()).find(({ caller }) => caller.number === '4711')!;
      writeFileSync(file, id);
      for (let crash = 1; crash <= 3; crash++) {
        const before = server.server();
        assert.equal(
          (await all()).map(({ state }) => state),
          ['Up', 'Up'],
          `before crash ${crash}`,
        );
        const asked = await client.request('DELETE', `/channels/${id}`).catch(() => 'cut off');
        assert.is(asked, 'cut off');
        // The one that crashes may take a connection until its very end.
        await untilAsked(
          async () =>
            server.server() > 0 && server.server() !== before && (await all().catch(() => undefined)) !== undefined,
          () => `no other server answers: ${server.logged()}`,
        );
      }
      assert.equal(
        (await all()).map(({ caller }) => caller.number),
        ['4712'],
      );
      const crashes = join(server.directory, 'data', 'crashes');
      const [bundle = '', ...more] = readdirSync(crashes);
      assert.equal(more, []);
      const known = JSON.parse(readFileSync(join(crashes, bundle), 'utf8')) as { mark: string; channels: string[] };
      assert.equal([known.mark, known.channels], [`channel ${id}`, [id]]);
      other.audio.hum(400);
      await other.audio.hears([400], [400, 700]);
      other.hangup();
      await untilAsked(
        async () => (await all()).length === 0,
        () => 'the channel stays',
      );
    } finally {
      await Promise.all([victim.close(), other.close()]);
      await server.close();
      rmSync(scratch, { recursive: true, force: true });
    }
  },
);

supervised('ends, and leaves its calls, when its supervisor is killed', async () => {
  const { server, parent, close, sip } = await startSupervised({ dialplan });
  const phone = await Phone.open('4711', sip);
  try {
    await phone.call('echo');
    const child = server();
    const ended = once(parent, 'exit');
    parent.kill('SIGKILL');
    await ended;
    await untilAsked(
      async () => !isRunning(child),
      () => 'the server goes on',
    );
    assert.ok(phone.inCall);
  } finally {
    await phone.close();
    await close();
  }
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

supervised(
  'where another program has the port of all browsers after a crash, it says so until that is free',
  async () => {
    const port = await freePort();
    const server = await startSupervised({ more: { media: { webrtc: { udp_port: port } } } });
    const taken = createSocket('udp4').bind(port, '127.0.0.1');
    try {
      await once(taken, 'listening');
      process.kill(server.server(), 'SIGKILL');
      await untilAsked(
        async () => server.logged().includes(`UDP 127.0.0.1:${port} is in use by another program`),
        () => `it is not told: ${server.logged()}`,
      );
      taken.close();
      await untilAsked(
        async () =>
          (await fetch(`http://127.0.0.1:${server.httpPort}/ari/asterisk/ping`).catch(() => undefined)) !== undefined,
        () => `the server does not answer: ${server.logged()}`,
      );
    } finally {
      await server.close();
    }
  },
);

supervised('goes on with its calls when its supervisor was killed and the service is started again', async () => {
  const server = await startSupervised({ dialplan, more: { supervisor: { standby: false } } });
  const { parent } = server;
  const phone = await Phone.open('1', server.sip);
  let again: ChildProcess | undefined;
  try {
    await phone.call('echo');
    phone.audio.hum(400);
    await phone.audio.hears([400], [400, 700]);
    const before = server.server();
    parent.kill('SIGKILL');
    await untilAsked(
      async () => !isRunning(before),
      () => 'the server goes on',
    );
    assert.ok(phone.inCall);
    const count = phone.audio.packets.length;
    const [program = '', ...args] = parent.spawnargs;
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
    again = spawn(program, args, { cwd: server.directory, env: Object.fromEntries(env), stdio: 'ignore' });
    await phone.audio.until(() => phone.audio.packets.length > count + 50, 'audio of the next server');
    await phone.audio.hears([400], [400, 700]);
    assert.is(new Set(phone.audio.packets.map(({ ssrc }) => ssrc)).size, 1);
    phone.hangup();
    await server.emptied();
  } finally {
    await phone.close();
    if (again) {
      const ended = once(again, 'exit');
      again.kill('SIGTERM');
      await ended;
    }
    await server.close();
  }
});

supervised('closes the sockets of calls that the next server has not taken up', async () => {
  const more = { state_store: { on: false }, supervisor: { claim_timeout: 0.2, steady: 0.1, standby: false } };
  const server = await startSupervised({ dialplan, more });
  const phones: Phone[] = [];
  const sockets = (): number => {
    const own = `/proc/${server.parent.pid}/fd`;
    const links = readdirSync(own).map((each) => {
      try {
        return readlinkSync(join(own, each));
      } catch {
        // It has just been closed.
        return '';
      }
    });
    return links.filter((link) => link.startsWith('socket:')).length;
  };
  const until = (holds: () => boolean) =>
    untilAsked(
      async () => holds(),
      () => `it holds ${sockets()} sockets: ${server.logged()}`,
    );
  try {
    const before = sockets();
    /** Connections between the processes come and go. */
    const others = 4;
    for (let round = 0; round < 3; round++) {
      phones.push(...(await openCalls(server.sip)));
      await until(() => sockets() >= before + 2 * calls);
      await server.kill();
      await until(() => sockets() <= before + others);
    }
  } finally {
    await Promise.all(phones.map((phone) => phone.close()));
    await server.close();
  }
});

supervised.run();
