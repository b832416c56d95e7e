import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnyEvent, type Ari, AriError, connect } from '../../packages/client/src/index.ts';
import { onServer, password, user } from '../support/server.ts';

/**
 * One story of `hookswitch/client`, against our server and, if HOOKSWITCH_TEST_ASTERISK names one
 * (`http://user:password@127.0.0.1:8088`), against Asterisk. Its context `default` needs
 * `exten => 1000,1,Answer()` and `same => n,Wait(3600)`.
 */
const stories = suite('hookswitch/client');

type Login = { url: string; username: string; password: string };
type Run = (body: (login: Login) => Promise<void>) => Promise<void>;

const ours: Run = (body) =>
  onServer({ dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } } }, (server) =>
    body({ url: new URL(server.url).origin, username: user, password }),
  );

function named(text: string): Run {
  const { origin, username, password } = new URL(text);
  return (body) => body({ url: origin, username, password });
}

const { HOOKSWITCH_TEST_ASTERISK: asterisk } = process.env;
const servers: Readonly<Record<string, Run>> = { Hookswitch: ours, ...(asterisk && { Asterisk: named(asterisk) }) };

const endpoint = 'Local/1000@default';

/** Status of the refusal; 200: answered with success. */
const differing: Readonly<Record<string, Record<string, number>>> = {
  Hookswitch: { technology: 400, context: 400, variables: 400, bridgeType: 400, recorded: 200, readOnly: 400 },
  Asterisk: { technology: 500, context: 200, variables: 200, bridgeType: 500, recorded: 409, readOnly: 200 },
};

/** A port before the server, whose connections can be cut. */
async function cuttable(login: Login): Promise<{ login: Login; cut(): void; close(): void }> {
  const { hostname, port } = new URL(login.url);
  const sockets = new Set<Socket>();
  const proxy = createServer((from) => {
    const to = connectTcp(Number(port), hostname);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket) && other.destroy());
    }
    from.pipe(to).pipe(from);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const { port: own } = proxy.address() as { port: number };
  return { login: { ...login, url: `http://127.0.0.1:${own}` }, cut, close: () => proxy.close(cut) && cut() };
}

const withClient = async (run: Run, body: (ari: Ari, cut: () => void) => Promise<void>): Promise<void> =>
  run(async (login) => {
    const way = await cuttable(login);
    const ari = await connect({ ...way.login, app: 'hookswitch-client-test' });
    try {
      await body(ari, way.cut);
    } finally {
      ari.close();
      way.close();
    }
  });

async function originate(ari: Ari) {
  const channelId = crypto.randomUUID();
  const started = ari.next('StasisStart', ({ channel }) => channel.id === channelId);
  await ari.channels.originate({ endpoint, app: 'hookswitch-client-test', appArgs: 'one,two', channelId });
  const { channel, args } = await started;
  return { call: ari.call(channel), channel, args };
}

/** What an application waits for, in the order in which it comes. Servers differ in what comes between. */
const turns = new Set([
  ...['StasisStart', 'PlaybackStarted', 'PlaybackFinished', 'RecordingStarted', 'RecordingFinished'],
  ...['ChannelEnteredBridge', 'ChannelLeftBridge', 'StasisEnd', 'ChannelDestroyed'],
]);

for (const [name, run] of Object.entries(servers)) {
  stories(`${name}: a call is made, plays, records, meets another in a bridge, and ends`, () =>
    withClient(run, async (ari) => {
      const seen: AnyEvent[] = [];
      ari.on('*', (event) => seen.push(event));
      const { call, channel, args } = await originate(ari);
      assert.equal([args, channel.state, channel.protocol_id], [['one', 'two'], 'Up', '']);
      assert.match(channel.name, /^Local\/1000@default-/);

      assert.is(await call.playToEnd('sound:beep'), 'done');
      await call.setChannelVar({ variable: 'TITLE', value: 'a & b' });
      assert.equal(await call.getChannelVar({ variable: 'TITLE' }), { value: 'a & b' });
      const recorded = call.next('RecordingFinished');
      recorded.catch(() => {});
      const recording = { name: `client-${call.id}`, format: 'wav', maxDurationSeconds: 1 };
      assert.is((await call.record(recording)).state, 'queued');
      assert.is((await recorded).recording.state, 'done');
      await ari.recordings.deleteStored({ recordingName: recording.name });

      const other = await originate(ari);
      const { id: bridgeId } = await ari.bridges.create({ type: 'mixing' });
      const entered = ari.next('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
      await ari.bridges.addChannel({ bridgeId, channel: [call.id, other.call.id] });
      assert.equal((await entered).bridge.channels.toSorted(), [call.id, other.call.id].toSorted());
      const left = call.next('ChannelLeftBridge');
      await ari.bridges.removeChannel({ bridgeId, channel: call.id });
      await left;
      await ari.bridges.destroy({ bridgeId });

      const destroyed = ari.next('ChannelDestroyed', (event) => event.channel.id === call.id);
      await call.hangup();
      await call.ended;
      assert.is((await destroyed).cause, 16);
      await other.call.hangup();
      await other.call.ended;
      const own = seen.filter((event) => ('channel' in event ? event.channel?.id === call.id : true));
      assert.equal(
        own.map(({ type }) => type as string).filter((type) => turns.has(type)),
        [
          ...['StasisStart', 'PlaybackStarted', 'PlaybackFinished', 'RecordingStarted', 'RecordingFinished'],
          ...['ChannelEnteredBridge', 'ChannelLeftBridge', 'StasisEnd', 'ChannelDestroyed'],
        ],
      );
    }),
  );

  stories(`${name}: a refusal is an AriError with the status and the message`, () =>
    withClient(run, async (ari) => {
      const refused = async (promise: Promise<unknown>) => {
        const error = await promise.catch((reason: unknown) => reason);
        assert.instance(error, AriError);
        return [(error as AriError).status, (error as AriError).body];
      };
      const gone = { channelId: 'nobody' };
      assert.equal(await refused(ari.channels.get(gone)), [404, { message: 'Channel not found' }]);
      assert.equal(await refused(ari.channels.hangup(gone)), [404, { message: 'Channel not found' }]);
      assert.equal(await refused(ari.bridges.get({ bridgeId: 'none' })), [404, { message: 'Bridge not found' }]);
      assert.equal(await refused(ari.playbacks.get({ playbackId: 'none' })), [404, { message: 'Playback not found' }]);
      const { call } = await originate(ari);
      const { id: bridgeId } = await ari.bridges.create({ type: 'mixing' });
      assert.equal(await refused(ari.bridges.addChannel({ bridgeId, channel: 'nobody' })), [
        400,
        { message: 'Channel not found' },
      ]);
      assert.equal(await refused(ari.bridges.removeChannel({ bridgeId, channel: call.id })), [
        422,
        { message: 'Channel not in this bridge' },
      ]);
      await ari.bridges.destroy({ bridgeId });
      await call.hangup();
      await call.ended;
    }),
  );

  // Each of these differences is a row of docs/differences.md.
  stories(`${name}: requests are answered that Hookswitch and Asterisk answer differently`, () =>
    withClient(run, async (ari) => {
      const { call } = await originate(ari);
      const { id: bridgeId } = await ari.bridges.create({ type: 'holding,video_sfu' });
      const recording = { name: `client-${call.id}`, format: 'wav' };
      await Promise.all([call.next('RecordingStarted'), call.record(recording)]);
      const app = 'hookswitch-client-test';
      const requests = {
        technology: () => ari.channels.originate({ endpoint: 'Nope/1', app }),
        context: () => ari.channels.originate({ endpoint: 'Local/1000@nowhere', app }),
        variables: () => ari.channels.originate({ endpoint, app, variables: [] as never }),
        bridgeType: () => ari.bridges.create({ type: 'nonsense' }),
        recorded: () => ari.bridges.addChannel({ bridgeId, channel: call.id }),
        readOnly: () => call.setChannelVar({ variable: 'LEN(x)', value: '1' }),
      };
      const answers: Record<string, number> = {};
      for (const [request, ask] of Object.entries(requests)) {
        const refusal = await ask().then(
          () => undefined,
          (error: AriError) => error.status,
        );
        answers[request] = refusal ?? 200;
      }
      assert.equal(answers, differing[name]);
      await ari.bridges.destroy({ bridgeId });
      await call.hangup();
      await call.ended;
    }),
  );

  stories(`${name}: a WebSocket that was cut is opened again, and events come`, () =>
    withClient(run, async (ari, cut) => {
      const { call } = await originate(ari);
      const again = new Promise((resolve) => ari.on('connected', () => resolve(undefined)));
      const lost = new Promise<{ over: boolean }>((resolve) => ari.on('disconnected', resolve));
      cut();
      assert.is((await lost).over, false);
      await again;
      assert.is((await ari.channels.get({ channelId: call.id })).id, call.id);
      const second = await originate(ari);
      await Promise.all([call.hangup(), call.ended, second.call.hangup(), second.call.ended]);
    }),
  );
}

stories.run();
