import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../packages/client/src/index.ts';
import {
  silence,
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tone,
  wav,
} from '../../packages/testing/src/index.ts';
import { wavHeader } from '../../src/media/file/wav.ts';

const phones = suite('phones of the testing kit');

async function withServer(options: TestServerOptions, body: (pbx: TestServer) => Promise<void>): Promise<void> {
  const pbx = await startTestServer(options);
  try {
    await body(pbx);
  } finally {
    await pbx.close();
  }
}

const dialsBob = { dialplan: { default: { '100': ['Dial(PJSIP/bob,30)'], '200': ['Dial(PJSIP/carol,30)'] } } };

phones('hold is told to the application, and ends', async () => {
  await withServer({}, async (pbx) => {
    const ari = await connect({ ...pbx, url: pbx.url, app: 'hello' });
    ari.on('StasisStart', ({ channel }) => ari.channels.answer({ channelId: channel.id }));
    const alice = pbx.phone('alice');
    await alice.call('100');
    await alice.hold();
    await pbx.event('ChannelHold');
    await alice.unhold();
    await pbx.event('ChannelUnhold');
    await alice.hangup();
    await pbx.idle();
    ari.close();
  });
});

phones('a transfer rings the third phone, and joins it', async () => {
  await withServer(dialsBob, async (pbx) => {
    const [alice, bob, carol] = [pbx.phone('alice'), pbx.phone('bob'), pbx.phone('carol')];
    await alice.dial('100');
    await bob.answer();
    await bob.transfer('200');
    await carol.answer();
    await Promise.all([carol.says(tone(440, '1s')), alice.hears(tone(440))]);
    assert.not.ok(bob.inCall);
    await carol.hangup();
    await alice.hungUp();
    await pbx.idle();
  });
});

phones('early media is heard before the answer', async () => {
  await withServer(dialsBob, async (pbx) => {
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    bob.does({ when: 'answer', after: '3s', earlyMedia: tone(600, '1s') });
    await alice.dial('100');
    await alice.hears(tone(600, '500ms'));
    assert.not.ok(alice.inCall);
    await bob.rings().catch(() => {});
    await pbx.clock.advance('3s');
    assert.ok(alice.inCall);
    await alice.hangup();
    await pbx.idle();
  });
});

phones('a text is said by the function that the test gives; a WAV file is said and heard', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-said-'));
  const noise = Int16Array.from({ length: 12_000 }, (_, at) => ((at * 7919 + at * at * 31) % 12_000) - 6_000);
  const octets = Buffer.from(noise.buffer);
  const file = join(directory, 'noise.wav');
  writeFileSync(file, Buffer.concat([wavHeader(8_000, 1, octets.length), octets]));
  const said: string[] = [];
  const say = (text: string) => {
    said.push(text);
    return Int16Array.from({ length: 8_000 }, (_, at) =>
      Math.round(8_000 * Math.sin((2 * Math.PI * 700 * at) / 8_000)),
    );
  };
  try {
    await withServer({ ...dialsBob, say }, async (pbx) => {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.dial('100');
      await bob.answer();
      await alice.says('I want to pay');
      await bob.hears(tone(700, '800ms'));
      assert.equal(said, ['I want to pay']);
      await bob.says(wav(file));
      await alice.hears(wav(file));
      await bob.hangup();
      await pbx.idle();
    });
    await withServer(dialsBob, async (pbx) => {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.dial('100');
      await bob.answer();
      const refused = await alice.says('hello').catch((error: Error) => error.message);
      assert.match(String(refused), /alice cannot say a text: give startTestServer a function `say`/);
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

phones('latency delays what is heard', async () => {
  await withServer(dialsBob, async (pbx) => {
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    await alice.dial('100');
    await bob.answer();
    pbx.faults.latency(alice, '400ms');
    await alice.hears(silence('1s'));
    const begun = pbx.clock.now();
    const heard = alice.hears(tone(440, '100ms')).then(() => pbx.clock.now() - begun);
    await bob.says(tone(440, '2s'));
    assert.ok((await heard) >= 500, 'the tone came 400 ms late');
    await alice.hangup();
    await pbx.idle();
  });
});

phones('a call whose media thread ends goes on in another thread', async () => {
  await withServer(dialsBob, async (pbx) => {
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    await alice.dial('100');
    await bob.answer();
    await Promise.all([bob.says(tone(440, '1s')), alice.hears(tone(440))]);
    await pbx.faults.killMediaThread();
    await pbx.clock.advance('5s');
    assert.ok(alice.inCall && bob.inCall);
    await Promise.all([bob.says(tone(600, '1s')), alice.hears(tone(600))]);
    await Promise.all([alice.says(tone(500, '1s')), bob.hears(tone(500))]);
    await alice.hangup();
    await pbx.idle();
  });
});

phones(
  'calls whose media threads end again and again are hung up with cause 41, and later calls are heard',
  async () => {
    await withServer(dialsBob, async (pbx) => {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.dial('100');
      await bob.answer();
      await pbx.faults.killMediaThread(3);
      await pbx.clock.advance('5s');
      assert.ok(alice.inCall && bob.inCall);
      await pbx.faults.killMediaThread();
      await Promise.all([alice.hungUp({ cause: 41 }), bob.hungUp()]);
      await alice.dial('100');
      await bob.answer();
      await Promise.all([bob.says(tone(440, '1s')), alice.hears(tone(440))]);
      await alice.hangup();
      await pbx.idle();
    });
  },
);

phones('a recording fails while the disk is full, and a later one is made', async () => {
  await withServer({}, async (pbx) => {
    const ari = await connect({ ...pbx, url: pbx.url, app: 'hello' });
    ari.on('StasisStart', async ({ channel }) => {
      await ari.channels.answer({ channelId: channel.id });
      for (const name of ['first', 'second']) await ari.channels.record({ channelId: channel.id, name, format: 'wav' });
    });
    const alice = pbx.phone('alice');
    pbx.faults.diskFull();
    await alice.call('100');
    const { recording } = await pbx.event('RecordingFailed');
    assert.is(recording.cause, 'no space is left on the disk');
    pbx.faults.diskFull(false);
    await alice.hangup();
    await pbx.idle();
    await alice.call('100');
    await pbx.event('RecordingStarted', ({ recording: { name } }) => name === 'first');
    await alice.hangup();
    await pbx.event('RecordingFinished', ({ recording: { name } }) => name === 'first');
    await pbx.idle();
    ari.close();
  });
});

phones('states of charts are waited for, and wrong names are refused', async () => {
  await withServer({}, async (pbx) => {
    const ari = await connect({ ...pbx, url: pbx.url, app: 'hello' });
    ari.on('StasisStart', async ({ channel: { id: channelId } }) => {
      await ari.channels.answer({ channelId });
      await ari.channels.play({ channelId, media: 'tone:ring', playbackId: 'p1' });
      await ari.playbacks.control({ playbackId: 'p1', operation: 'pause' });
    });
    const alice = pbx.phone('alice');
    await alice.call('100');
    await pbx.inState('playback', 'paused', { object: 'p1' });
    const channel = pbx.objects().find(({ chart }) => chart === 'channel');
    assert.equal(channel?.states, ['up']);
    const late = await pbx.inState('playback', 'done', { within: '1s' }).catch((error: Error) => error.message);
    assert.is(late, 'expected a playback in the state done within 1 s, but p1 was in paused');
    const unknown = (chart: string, state: string) => pbx.inState(chart, state).catch((error: Error) => error.message);
    assert.match(String(await unknown('phone', 'up')), /there is no chart 'phone'; there are .*channel/);
    assert.match(String(await unknown('playback', 'up')), /the chart 'playback' has no state 'up'; it has .*paused/);
    await alice.hangup();
    await pbx.idle();
    ari.close();
  });
});

phones('run starts a program, and says why it has not connected', async () => {
  await withServer({}, async (pbx) => {
    const program = `
      const { HOOKSWITCH_URL: url, HOOKSWITCH_USERNAME: user, HOOKSWITCH_PASSWORD: password } = process.env;
      const headers = { authorization: 'Basic ' + Buffer.from(user + ':' + password).toString('base64') };
      const events = new (require('ws'))(url.replace('http', 'ws') + '/ari/events?app=hello', { headers });
      events.on('message', (text) => {
        const { type, channel } = JSON.parse(text);
        if (type === 'StasisStart') fetch(url + '/ari/channels/' + channel.id + '/answer', { method: 'POST', headers });
      });`;
    await pbx.run(process.execPath, ['-e', program]);
    const alice = pbx.phone('alice');
    await alice.call('100');
    await alice.hangup();
    await pbx.idle();
  });
  await withServer({}, async (pbx) => {
    const failed = await pbx
      .run(process.execPath, ['-e', 'throw Error("no licence")'])
      .catch((error: Error) => error.message);
    assert.match(String(failed), /has not connected:[\s\S]*no licence/);
    assert.match(String(await pbx.run('no-such-program').catch((error: Error) => error.message)), /ENOENT/);
  });
});

phones.run();
