import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVirtualPhone } from '../../packages/testing/src/sip-phone.ts';
import { loadConfig } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type NetworkQuality, VirtualNetwork } from '../../src/virtual/network.ts';
import { startVirtualServer, type VirtualServer } from '../../src/virtual/server.ts';

const virtual = suite('a whole server on simulated time and a simulated network');

const serverAddress = '10.0.0.1';
const settings = {
  general: { validate: true, data_directory: 'data' },
  http: { users: [{ name: 'tester', password: 'secret' }] },
  sip: {
    transports: [{ protocol: 'udp', bind: serverAddress, port: 5060 }],
    endpoints: {
      alice: { match: ['10.0.0.2'] },
      bob: { match: ['10.0.0.3'], aor: { contacts: ['sip:bob@10.0.0.3:5060'], qualify_frequency: 60 } },
    },
  },
  media: { rtp_address: serverAddress },
  dialplan: { default: { echo: ['Answer', 'Echo'], minute: ['Answer', 'Wait(60)', 'Hangup'] } },
};

type World = Awaited<ReturnType<typeof createWorld>>;

async function createWorld(quality: Partial<NetworkQuality> = {}, seed = 1) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const file = join(directory, 'hookswitch.yaml');
  writeFileSync(file, JSON.stringify(settings));
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  const clock = new ManualClock();
  const network = new VirtualNetwork({ clock, seed, quality });
  const lines: { level: number; msg: string }[] = [];
  const console = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logChannels = createLogChannels({ directory, console, consoleLevels: ['WARNING', 'ERROR'], clock });
  const log = createLogger({ level: 'info', destination: logChannels.destination });
  const host = network.host(serverAddress);
  const server = await startVirtualServer({ config, clock, host, logging: { log, logChannels }, seed });
  const alice = await createVirtualPhone('alice', network.host('10.0.0.2'), { clock, seed: seed + 1 });
  const bob = await createVirtualPhone('bob', network.host('10.0.0.3'), { clock, seed: seed + 2 });
  const close = async () => {
    await Promise.all([alice.close(), bob.close(), server.close()]);
    rmSync(directory, { recursive: true, force: true });
  };
  return { clock, network, server, alice, bob, lines, close };
}

const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;

async function ask<T>(server: VirtualServer, method: string, path: string): Promise<T> {
  const request = new Request(`http://${serverAddress}/ari${path}`, { method, headers: { authorization } });
  const response = await server.ask(request);
  const text = await response.text();
  assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

const seconds = 1_000;
const minutes = 60 * seconds;

/** An hour in the life of a server: two phones, calls in and out, audio both ways, and nothing left of them. */
async function liveAnHour({ clock, network, server, alice, bob, lines }: World): Promise<object> {
  const begun = clock.now();
  await clock.run(1 * seconds);
  const heardByPhones: unknown[] = [];
  for (let call = 0; call < 5; call++) {
    const out = alice.dial(`sip:echo@${serverAddress}:5060`);
    await ask(server, 'POST', '/channels?endpoint=PJSIP/bob&extension=minute&context=default');
    await clock.run(30 * seconds);
    assert.is((await ask<unknown[]>(server, 'GET', '/channels')).length, 2);
    const statistics = await out.leg.media.statistics();
    heardByPhones.push([
      [...out.reports],
      [...(bob.calls[call]?.reports ?? [])],
      statistics?.rxcount,
      statistics?.rxploss,
    ]);
    out.leg.hangup(16);
    await clock.run(9 * minutes + 30 * seconds);
    assert.equal(await ask(server, 'GET', '/channels'), []);
  }
  // The last question whether bob is there is asked at the full hour.
  await clock.run(begun + 60 * minutes + 20 * seconds - clock.now());
  const { media, sip, channels } = await server.usage();
  assert.equal(
    lines.filter(({ level }) => level >= 50),
    [],
  );
  const held = { channels, media, dialogs: sip.dialogs, legs: sip.legs, transactions: sip.transactions };
  return { minutes: Math.floor((clock.now() - begun) / minutes), sent: network.counts, heardByPhones, held };
}

virtual('an hour goes by with calls of two phones, their audio, and the questions between', async () => {
  const world = await createWorld();
  try {
    const told = (await liveAnHour(world)) as {
      minutes: number;
      heardByPhones: [string[], string[], number, number][];
      held: object;
    };
    assert.is(told.minutes, 60);
    for (const [alice, bob, received, lost] of told.heardByPhones) {
      assert.equal(alice, ['leg.answered']);
      assert.ok(bob.includes('leg.answered'), bob.join());
      assert.ok(received > 29 * 50, `${received} packets of 30 s came back`);
      assert.is(lost, 0);
    }
    assert.equal(told.held, {
      channels: 0,
      media: {
        sessions: 0,
        ports: 0,
        players: 0,
        timers: 0,
        externalWaitingMs: 0,
        externalDroppedMs: 0,
        externalUnsentFrames: 0,
      },
      dialogs: 0,
      legs: 0,
      transactions: 0,
    });
  } finally {
    await world.close();
  }
});

virtual('over a poor network it is the same every time, and its calls still come to their end', async () => {
  const live = async () => {
    const world = await createWorld({ delayMs: 30, jitterMs: 60, loss: 0.05, reorders: true }, 7);
    try {
      return await liveAnHour(world);
    } finally {
      await world.close();
    }
  };
  assert.equal(await live(), await live());
});

virtual.run();
