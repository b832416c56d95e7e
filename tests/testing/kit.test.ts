import { pbkdf2 } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ari, type CallHandle, connect } from '../../packages/client/src/index.ts';
import {
  ExpectationError,
  samples,
  silence,
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tone,
} from '../../packages/testing/src/index.ts';

const kit = suite('the testing kit');
const digest = promisify(pbkdf2);

/** An application in this process, with a server of its own. */
async function onKit(
  serve: (call: CallHandle, ari: Ari) => Promise<unknown>,
  body: (pbx: TestServer, ari: Ari) => Promise<void>,
  options: TestServerOptions = {},
): Promise<void> {
  const pbx = await startTestServer(options);
  const ari = await connect({ ...pbx, url: pbx.url, app: 'hello' });
  const gone: unknown[] = [];
  ari.on('StasisStart', (event) => serve(ari.call(event.channel), ari).catch((error: unknown) => gone.push(error)));
  try {
    await body(pbx, ari);
  } finally {
    ari.close();
    await pbx.close();
  }
}

const greet = async (call: CallHandle) => {
  call.on('ChannelDtmfReceived', ({ digit }) => (digit === '#' ? call.hangup() : undefined));
  await call.answer();
  await call.play({ media: 'sound:hello-world' });
};

/** What an expectation says when it fails. */
async function failure(expectation: Promise<unknown>): Promise<string> {
  const error = await expectation.then(
    () => assert.unreachable('it should fail'),
    (reason: unknown) => reason,
  );
  assert.instance(error, ExpectationError);
  return (error as Error).message;
}

kit('a phone calls, hears a prompt, presses a digit and is hung up', () =>
  onKit(greet, async (pbx) => {
    const alice = pbx.phone('alice');
    await alice.call('100');
    await alice.hears('hello-world');
    await alice.hears(silence('1s'));
    await alice.press('1#');
    await alice.hungUp({ cause: 16 });
    const { digit } = await pbx.event('ChannelDtmfReceived');
    assert.is(digit, '1');
    await pbx.idle();
  }),
);

kit('a failed expectation tells what was heard instead', () =>
  onKit(greet, async (pbx) => {
    const alice = pbx.phone('alice');
    await alice.call('100');
    const wrong = await failure(alice.hears('goodbye', { within: '4s' }));
    assert.match(wrong, /^alice expected to hear the prompt 'goodbye' within 4 s, but heard /);
    await alice.hears('hello-world');
    assert.match(await failure(alice.hears(tone(440), { within: '2s' })), /a tone of 440 Hz \(0\.2 s\) within 2 s/);
    assert.match(alice.heard, /the prompt 'hello-world' \(/);
    assert.match(
      await failure(alice.hungUp({ within: '1s' })),
      /alice expected the call to end within 1 s, but it is up/,
    );
    assert.match(await failure(pbx.phone('bob').rings({ within: '1s' })), /bob expected a call/);
    assert.match(
      await failure(pbx.event('BridgeCreated', undefined, { within: '1s' })),
      /but these came: .*StasisStart/,
    );
  }),
);

const bridged = async (call: CallHandle, ari: Ari) => {
  await call.ring();
  const { id } = await ari.channels.originate({ endpoint: 'PJSIP/bob', app: 'callee', originator: call.id });
  const started = await ari.next('ChannelStateChange', ({ channel }) => channel.id === id && channel.state === 'Up');
  await call.answer();
  const bridge = await ari.bridges.create({ type: 'mixing' });
  await ari.bridges.addChannel({ bridgeId: bridge.id, channel: [call.id, started.channel.id] });
  await Promise.race([call.ended, ari.next('ChannelDestroyed', ({ channel }) => channel.id === id)]);
  await ari.bridges.destroy({ bridgeId: bridge.id });
  await Promise.allSettled([call.hangup(), ari.channels.hangup({ channelId: id })]);
};

const asBoth = async (body: (pbx: TestServer) => Promise<void>, options: TestServerOptions = {}) => {
  const pbx = await startTestServer(options);
  const ari = await connect({ ...pbx, url: pbx.url, app: ['hello', 'callee'] });
  ari.on('error', () => {});
  ari.on('StasisStart', ({ channel, application }) =>
    application === 'hello' ? bridged(ari.call(channel), ari) : undefined,
  );
  try {
    await body(pbx);
  } finally {
    ari.close();
    await pbx.close();
  }
};

kit('two phones hear each other, and end together', () =>
  asBoth(async (pbx) => {
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    await alice.dial('100');
    await bob.answer();
    await Promise.all([alice.says(tone(440, '1s')), bob.hears(tone(440, '500ms'))]);
    const noise = Int16Array.from({ length: 8_000 }, (_, at) => ((at * 7919 + at * at * 31) % 12_000) - 6_000);
    await bob.says(samples(noise));
    await alice.hears(samples(noise));
    await bob.hangup();
    await alice.hungUp();
    await pbx.idle();
  }),
);

kit('a phone that answers later, is busy, or hangs up while talking', () =>
  asBoth(async (pbx) => {
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    bob.does({ when: 'answer', after: '5s', hangsUpAfter: '2m' });
    const begun = pbx.clock.now();
    await alice.call('100');
    assert.ok(pbx.clock.now() - begun >= 5_000);
    await pbx.clock.advance('119s');
    assert.ok(bob.inCall);
    await pbx.clock.advance('3s');
    await alice.hungUp();
    bob.does({ when: 'busy' });
    await alice.dial('100');
    const { cause } = await pbx.event('ChannelDestroyed', ({ cause }) => cause === 17);
    assert.is(cause, 17);
    await alice.hangup();
    await pbx.idle();
  }),
);

kit('faults: a partition, a lost WebSocket, lost packets', () =>
  onKit(greet, async (pbx, ari) => {
    const alice = pbx.phone('alice');
    pbx.faults.partition(alice);
    assert.match(await failure(alice.call('100', { within: '2s' })), /alice expected to be answered at 100 within 2 s/);
    pbx.faults.partition(alice, false);
    await alice.hangup();
    const [lost, again] = [
      new Promise((r) => ari.on('disconnected', r)),
      new Promise<void>((r) => ari.on('connected', r)),
    ];
    await pbx.faults.dropWebSocket('hello');
    await lost;
    await again;
    await pbx.clock.advance('1m');
    await alice.call('100');
    pbx.faults.loss(alice, 0.9);
    assert.match(await failure(alice.hears('hello-world', { within: '5s' })), /but heard/);
  }),
);

kit('a server that is restarted goes on with its calls; one that is killed has lost them', () =>
  onKit(greet, async (pbx) => {
    const alice = pbx.phone('alice');
    await alice.call('100');
    await alice.hears('hello-world');
    await pbx.faults.restart();
    await pbx.clock.advance('2s');
    assert.is((await pbx.channels()).length, 1);
    await pbx.faults.kill();
    assert.equal(await pbx.channels(), []);
  }),
);

kit('time waits until files are read and closed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-kit-'));
  const pbx = await startTestServer();
  try {
    const file = join(directory, 'large');
    writeFileSync(file, Buffer.alloc(20_000_000));
    let read = 0;
    void readFile(file).then(({ length }) => (read = length));
    await pbx.clock.advance('1ms');
    assert.is(read, 20_000_000);
    const handle = await open(file);
    // The close waits until a thread of the pool is free.
    const work = Array.from({ length: 8 }, () => digest('', '', 100_000, 32, 'sha256'));
    let closed = false;
    void handle.close().then(() => (closed = true));
    await pbx.clock.advance('1ms');
    assert.ok(closed);
    await Promise.all(work);
  } finally {
    await pbx.close();
    rmSync(directory, { recursive: true });
  }
});

kit('a wrong setting is named without a file, and changes nothing of the options', async () => {
  const config = { absences: {}, media: { rehearsal: false }, nonsense: 1 };
  const before = structuredClone(config);
  const message = await startTestServer({ config }).catch((error: Error) => error.message);
  assert.match(String(message), /^nonsense: unknown key/);
  assert.equal(config, before);
});

kit('a phone or a duration that is not known is named', async () => {
  const pbx = await startTestServer({ phones: ['anna'] });
  try {
    assert.throws(() => pbx.phone('alice'), /there is no phone 'alice'; startTestServer knows anna/);
    const wrong = await pbx.clock.advance('30 minutes' as never).catch((error: Error) => error.message);
    assert.match(String(wrong), /'30 minutes' is no duration/);
  } finally {
    await pbx.close();
  }
});

kit.run();
