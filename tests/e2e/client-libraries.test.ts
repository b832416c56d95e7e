import { type EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { Program } from '../support/program.ts';
import { assertHears, prompt } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { answered, SippRun } from '../support/sipp.ts';

/** Client libraries as they are published, against a whole server. */

const libraries = suite('client libraries');
const dialplan = {
  default: { '_X.': ['Stasis(hello,${EXTEN})'], echo: ['Answer', 'Echo'], '1000': ['Answer', 'Wait(3600)'] },
};

const test = (title: string, body: (server: TestServer) => Promise<void>) =>
  libraries(title, () => onServer({ dialplan }, body));

/** What the tests use of `ari-client`, which has no types of its own. */
type OldChannel = EventEmitter & {
  id: string;
  name: string;
  originate(options: object): Promise<OldChannel>;
  answer(): Promise<void>;
  play(options: object, playback: EventEmitter): Promise<{ id: string }>;
  getChannelVar(options: { variable: string }): Promise<{ value: string }>;
  setChannelVar(options: { variable: string; value: string }): Promise<void>;
  hangup(): Promise<void>;
};
type OldClient = EventEmitter & {
  start(app: string): Promise<void>;
  stop(): void;
  Channel(): OldChannel;
  Playback(): EventEmitter & { id: string };
  channels: { list(): Promise<OldChannel[]> };
  applications: { get(options: object): Promise<{ name: string; channel_ids: string[] }> };
  endpoints: { list(): Promise<{ technology: string; resource: string }[]> };
  asterisk: { getInfo(): Promise<{ system: { version: string } }>; ping(): Promise<{ ping: string }> };
};
const oldClient = createRequire(import.meta.url)('ari-client') as {
  connect(url: string, user: string, password: string): Promise<OldClient>;
};

test('ari-client 2.2.0 reads the API documents and runs a call', async (server) => {
  const client = await oldClient.connect(new URL(server.url).origin, user, password);
  await client.start('desk');
  try {
    assert.is((await client.asterisk.ping()).ping, 'pong');
    assert.ok((await client.endpoints.list()).some(({ technology }) => technology === 'PJSIP'));

    const channel = client.Channel();
    const started = once(channel, 'StasisStart');
    await channel.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: 'dialed' });
    const [event, running] = (await started) as [{ args: string[] }, OldChannel];
    assert.equal(event.args, ['dialed']);
    assert.is(running.id, channel.id);
    assert.equal((await client.applications.get({ applicationName: 'desk' })).channel_ids.includes(channel.id), true);
    assert.ok((await client.channels.list()).some(({ id }) => id === channel.id));

    await running.answer();
    await running.setChannelVar({ variable: 'COLOUR', value: 'green' });
    assert.equal(await running.getChannelVar({ variable: 'COLOUR' }), { value: 'green' });
    const playback = client.Playback();
    const finished = once(playback, 'PlaybackFinished');
    await running.play({ media: 'sound:beep' }, playback);
    const [{ playback: played }] = (await finished) as [{ playback: { state: string } }];
    assert.is(played.state, 'done');

    const destroyed = once(channel, 'ChannelDestroyed');
    await running.hangup();
    const [{ cause }] = (await destroyed) as [{ cause: number }];
    assert.is(cause, 16);
  } finally {
    client.stop();
  }
});

test('@ipcom/asterisk-ari 1.0.0 runs a call', async (server) => {
  // In a process of its own, because the library leaves an interval behind that nothing can clear.
  const program = server.closing(new Program('tests/clients/ipcom-call.ts', [server.url, user, password]));
  assert.is(await program.end(), 0);
  assert.match(program.written, /^the call is over$/m);
});

need('sipp').test(libraries, 'a SIP caller hears what examples/hello.ts plays, and # hangs up', async (program) => {
  // The example logs in as the user that the server has by itself.
  await onServer({ dialplan, users: [{ name: 'hookswitch', password }] }, async (server) => {
    const peer = server.closing(await RtpPeer.open());
    const settings = { HOOKSWITCH_URL: new URL(server.url).origin, HOOKSWITCH_PASSWORD: password };
    const example = server.closing(new Program('examples/hello.ts', [], settings));
    await example.until(/waiting for calls/);
    const phone = server.closing(
      new SippRun(program, {
        remote: server.sip(),
        service: '100',
        steps: answered(peer.port),
      }),
    );
    const expected = prompt('hello-world');
    await peer.until(() => peer.words().length >= expected.length, 'the whole prompt');
    assertHears(peer.words(), expected);
    await peer.press('5', 100);
    // The library drops events of one kind that follow one another quickly.
    await example.until(/pressed 5\n/);
    await peer.press('#', 100);
    await phone.done;
    await example.until(/4711 calls 100\n.*pressed 5\n.*has left/s);
  });
});

libraries.run();
