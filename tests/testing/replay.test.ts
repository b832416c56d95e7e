import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { type Ari, connect } from '../../packages/client/src/index.ts';
import { replay, startTestServer, type TestServer } from '../../packages/testing/src/index.ts';
import { readBundle } from '../../packages/testing/src/recorded-call.ts';
import { replayFile } from '../../packages/testing/src/replay-command.ts';
import { testOf } from '../../packages/testing/src/test-source.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const replays = suite('replay of bundles');

type Login = { url: string; username: string; password: string };
type Differs = { prompt?: string; key?: string };

/** An application: it greets, connects to bob by `1`, and hangs up by `#`. */
async function application(login: Login, { prompt = 'hello-world', key = '#' }: Differs = {}): Promise<Ari> {
  const ari = await connect({ ...login, app: ['desk', 'callee'] });
  ari.on('error', () => {});
  ari.on('StasisStart', async ({ channel, application: name }) => {
    if (name !== 'desk') return;
    const call = ari.call(channel);
    call.on('ChannelDtmfReceived', ({ digit }) => {
      if (digit === key) void call.hangup();
      if (digit === '1') void toBob(ari, call.id);
    });
    await call.answer();
    await call.play({ media: `sound:${prompt}` });
  });
  return ari;
}

async function toBob(ari: Ari, caller: string): Promise<void> {
  // Events are awaited before the request that leads to them: they may come before its answer.
  const up = ari.next('ChannelStateChange', ({ channel }) => channel.id !== caller && channel.state === 'Up');
  const { id } = await ari.channels.originate({ endpoint: 'PJSIP/bob', app: 'callee', originator: caller });
  await up;
  const gone = ari.next('ChannelDestroyed', ({ channel }) => channel.id === id);
  const { id: bridgeId } = await ari.bridges.create({ type: 'mixing' });
  await ari.bridges.addChannel({ bridgeId, channel: [caller, id] });
  await gone;
  await ari.bridges.destroy({ bridgeId });
}

const loginOf = ({ url, username, password: secret }: TestServer): Login => ({ url, username, password: secret });

/** Plays a bundle again against the same application, or one that differs. */
async function again(bundle: string, differs: Differs = {}, config: Record<string, unknown> = {}) {
  let ari: Ari | undefined;
  const report = await replay(bundle, {
    config,
    start: async (pbx) => {
      ari = await application(loginOf(pbx), differs);
    },
  });
  ari?.close();
  return report;
}

/** The application as a WebSocket server: it greets, and hangs up by `#`. Its requests go over the WebSocket. */
async function listening(): Promise<{ address: string; close(): void }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const ask = (method: string, uri: string) =>
      socket.send(JSON.stringify({ type: 'RESTRequest', request_id: uri, method, uri }));
    socket.on('message', (data) => {
      const { type, channel, digit } = JSON.parse(String(data));
      if (type === 'StasisStart') {
        ask('POST', `channels/${channel.id}/answer`);
        ask('POST', `channels/${channel.id}/play?media=sound:hello-world`);
      }
      if (type === 'ChannelDtmfReceived' && digit === '#') ask('DELETE', `channels/${channel.id}`);
    });
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}/desk`,
    close: () => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };
}

/** What a test does with a call. */
type Course = (pbx: TestServer) => Promise<void>;

/** Greeted, and ended by `#`. */
const greeting: Course = async (pbx) => {
  const alice = pbx.phone('alice');
  await alice.call('100');
  await alice.hears('hello-world');
  await pbx.clock.advance('1s');
  await alice.press('#');
  await alice.hungUp();
};

/** Greeted, and connected to bob, who hangs up. */
const connecting: Course = async (pbx) => {
  const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
  await alice.call('100');
  await alice.hears('hello-world');
  await alice.press('1');
  await bob.rings();
  await pbx.clock.advance('2s');
  await bob.answer();
  await pbx.clock.advance('10s');
  await alice.hold();
  await pbx.clock.advance('5s');
  await alice.unhold();
  await bob.hangup();
  await pbx.clock.advance('1s');
  await alice.press('#');
  await alice.hungUp();
};

/** The bundle of a call with the application, on simulated time. */
async function recorded(course = connecting): Promise<string> {
  const pbx = await startTestServer({ app: 'desk' });
  const ari = await application(loginOf(pbx));
  try {
    await course(pbx);
    await pbx.idle();
    const { calls } = await pbx.ask<{ calls: { id: string }[] }>('/hookswitch/calls');
    return JSON.stringify(await pbx.ask(`/hookswitch/calls/${calls[0]?.id}/bundle`));
  } finally {
    ari.close();
    await pbx.close();
  }
}

replays('the same application goes the same way; another one differs where it does', async () => {
  const bundle = await recorded();
  const same = await again(bundle);
  assert.match(same.text, /^The call went as recorded: \d+ events and commands\.$/m);
  assert.ok(same.same && same.missing.length === 0 && same.now.length > 30, same.text);
  const prompt = await again(bundle, { prompt: 'vm-goodbye' });
  assert.match(prompt.difference?.recorded ?? '', /play\?media=sound:hello-world \(201\)/);
  assert.match(prompt.difference?.now ?? '', /play\?media=sound:vm-goodbye \(201\)/);
  const key = await again(bundle, { key: '9' });
  assert.match(key.text, /recorded: DELETE \/ari\/channels\/channel 1 \(204\)\n {2}now: {6}nothing more/);
  assert.match(key.text, /Not played again: expected no calls/);
});

replays('an application that listens on a URL is connected to', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-replay-'));
  const program = await listening();
  try {
    const file = join(directory, 'bundle.json');
    const text = await recorded(greeting);
    writeFileSync(file, text);
    for (const scheme of ['ws', 'http']) {
      const report = await replayFile(file, { app: `${scheme}://${program.address}` }, () => {});
      assert.ok(report.same, report.text);
      assert.is(report.now.length, report.recorded.length);
    }
    const other = await replay(text.replaceAll('hello-world', 'vm-goodbye'), { connectTo: `ws://${program.address}` });
    assert.match(other.difference?.now ?? '', /play\?media=sound:hello-world \(201\)/);
    assert.throws(() => replayFile(file, { app: 'ftp://127.0.0.1/' }, () => {}), /--app expects a URL such as ws:/);
  } finally {
    program.close();
    rmSync(directory, { recursive: true });
  }
});

replays('prompts that are not there take as long as they did', async () => {
  const text = (await recorded()).replaceAll('hello-world', 'our-greeting');
  const report = await again(text, { prompt: 'our-greeting' });
  assert.ok(report.same, report.text);
});

replays('a call of a real server is played again', async () => {
  const bobsPort = await freePort();
  const endpoints = {
    alice: { match: ['127.0.0.1'] },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
  };
  const dialplan = { default: { desk: ['Stasis(desk)', 'Hangup'] } };
  let bundle = '';
  await onServer({ endpoints, dialplan }, async (server) => {
    const login = { url: new URL(server.url).origin, username: user, password };
    const ari = server.closing(await application(login));
    const alice = server.closing(await Phone.open('alice', server.sip()));
    const bob = server.closing(await Phone.open('bob', server.sip(), bobsPort));
    const seen = (type: 'PlaybackFinished' | 'ChannelEnteredBridge') => ari.next(type);
    const greeted = seen('PlaybackFinished');
    await alice.call('desk');
    await greeted;
    const joined = seen('ChannelEnteredBridge');
    await alice.audio.press('1', 100);
    await bob.answered();
    await joined;
    const parted = ari.next('BridgeDestroyed');
    bob.hangup();
    await parted;
    const ended = ari.next('StasisEnd', ({ application: name }) => name === 'desk');
    alice.hangup();
    await ended;
    const headers = { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
    const get = async (path: string) => (await fetch(`${login.url}${path}`, { headers })).text();
    const { calls } = JSON.parse(await get('/hookswitch/calls'));
    await untilAsked(
      async () => {
        bundle = await get(`/hookswitch/calls/${calls[0].id}/bundle`);
        return readBundle(bundle).call.timeline.every((entry) => entry.kind !== 'request' || entry.status !== 0);
      },
      () => 'a request is not answered',
    );
  });
  const report = await again(bundle);
  assert.ok(report.same, report.text);
});

replays('a bundle makes a test that passes, and fails against an application that differs', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-as-test-'));
  try {
    mkdirSync(join(directory, 'node_modules'));
    symlinkSync(resolve('.'), join(directory, 'node_modules', 'hookswitch'));
    writeFileSync(join(directory, 'call.test.mjs'), testOf(await recorded()));
    const source = readFileSync('tests/testing/replayed-application.mjs', 'utf8');
    writeFileSync(join(directory, 'app.mjs'), source);
    const run = (prompt: string) =>
      promisify(execFile)(process.execPath, ['--test', 'call.test.mjs'], {
        cwd: directory,
        env: { PATH: process.env.PATH, APPLICATION: 'node app.mjs', PROMPT: prompt },
      });
    await run('hello-world');
    const failed = await run('vm-goodbye').then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
    assert.match(failed, /alice expected to hear the prompt 'hello-world' within 10 s, but heard/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

replays('what is no bundle is refused', () => {
  assert.throws(() => readBundle('{'), /the bundle is not JSON/);
  assert.throws(() => readBundle('null'), /this is no bundle: make one with/);
  const other = '{"format":"hookswitch-bundle","version":9,"call":{"timeline":[]}}';
  assert.throws(() => readBundle(other), /bundles of version 9 cannot be read/);
});

replays.run();
