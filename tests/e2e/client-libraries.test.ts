import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { AriClient as IpcomClient } from '@ipcom/asterisk-ari';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { assertHears, prompt } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { confirm, invite, provisional, receive, request, SippRun } from '../support/sipp.ts';

/** Client libraries as they are published, against a whole server. */

const libraries = suite('client libraries');
const dialplan = {
  default: { '_X.': ['Stasis(hello,${EXTEN})'], echo: ['Answer', 'Echo'], '1000': ['Answer', 'Wait(60)'] },
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
  const { hostname: host, port } = new URL(server.url);
  const client = new IpcomClient({ host, port: Number(port), username: user, password });
  const heard = new EventEmitter();
  await client.connectWebSocket(['desk']);
  // It takes listeners only once it is connected.
  for (const type of ['StasisStart', 'PlaybackFinished', 'ChannelVarset', 'ChannelDestroyed'] as const)
    client.on(type, (event: object) => void heard.emit(type, event));
  try {
    const started = once(heard, 'StasisStart');
    const made = await client.channels.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: 'one,two' });
    const [{ args, channel }] = (await started) as [{ args: string[]; channel: { id: string } }];
    assert.equal(args, ['one', 'two']);
    assert.is(channel.id, made.id);

    await client.channels.answerChannel(made.id);
    await client.channels.setChannelVariable(made.id, 'COLOUR', 'green');
    assert.equal(await client.channels.getChannelVariable(made.id, 'COLOUR'), { value: 'green' });
    const finished = once(heard, 'PlaybackFinished');
    await client.channels.playWithId(made.id, 'prompt', 'sound:beep');
    const [{ playback }] = (await finished) as [{ playback: { id: string; state: string } }];
    assert.is(playback.id, 'prompt');
    assert.is(playback.state, 'done');
    assert.ok((await client.channels.list()).some(({ id }) => id === made.id));

    const destroyed = once(heard, 'ChannelDestroyed');
    await client.channels.hangup(made.id);
    const [{ cause }] = (await destroyed) as [{ cause: number }];
    assert.is(cause, 16);
  } finally {
    await client.destroy();
  }
});

/** What a program writes: `until` resolves once all of it together matches. */
function output(program: ChildProcess) {
  let text = '';
  const more = new EventEmitter();
  program.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    more.emit('text');
  });
  program.once('close', () => more.emit('error', new Error(`the program ended after it wrote: ${text}`)));
  more.on('error', () => {});
  return {
    async until(matches: RegExp): Promise<void> {
      while (!matches.test(text)) await once(more, 'text');
    },
  };
}

need('sipp').test(libraries, 'a SIP caller hears what examples/hello.ts plays, and # hangs up', async (program) => {
  // The example logs in as the user that the server has by itself.
  await onServer({ dialplan, users: [{ name: 'hookswitch', password }] }, async (server) => {
    const peer = server.closing(await RtpPeer.open());
    const example = spawn(process.execPath, ['--import', 'tsx', 'examples/hello.ts'], {
      env: { ...process.env, HOOKSWITCH_URL: new URL(server.url).origin, HOOKSWITCH_PASSWORD: password },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(example, 'close');
    server.closing({ close: () => example.kill('SIGKILL') });
    const written = output(example);
    await written.until(/waiting for calls/);
    const phone = server.closing(
      new SippRun(program, {
        remote: server.sip(),
        service: '100',
        steps: [
          invite({ mediaPort: peer.port, from: '4711' }),
          provisional(),
          receive(200),
          request('ACK', 1),
          receive('BYE'),
          confirm(),
        ],
      }),
    );
    const expected = prompt('hello-world');
    await peer.until(() => peer.audio().length >= expected.length, 'the whole prompt');
    assertHears(peer.audio(), expected);
    await peer.press('5', 100);
    await peer.press('#', 100);
    await phone.done;
    await written.until(/4711 calls 100\n.*pressed 5\n.*has left/s);
    example.kill('SIGTERM');
    await ended;
  });
});

libraries.run();
