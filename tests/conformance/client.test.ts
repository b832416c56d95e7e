import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnyEvent, AriError, type CallHandle, connect, createClient } from '../../packages/client/src/index.ts';
import { openTarget, type Target } from '../support/conformance-target.ts';

/** `hookswitch/client` against any server that speaks ARI. */
const client = suite('the client library');

let target: Target;
client.before(async () => {
  target = await openTarget();
});
client.after(() => target.close());

const optionsOf = (url = target.url) => {
  const end = target.credentials.indexOf(':');
  return { url, username: target.credentials.slice(0, end), password: target.credentials.slice(end + 1) };
};
const word = () => `client-${process.pid.toString(36)}-${crypto.randomUUID().slice(0, 8)}`;

/** A channel of an application: one half of a Local channel whose other half waits in the dialplan. */
async function withCall(
  body: (call: CallHandle, ari: Awaited<ReturnType<typeof connect>>) => Promise<void>,
  url?: string,
) {
  const app = word();
  const ari = await connect({ ...optionsOf(url), app });
  try {
    const incoming = ari.incoming();
    await ari.channels.originate({ endpoint: 'Local/wait@conformance', app, appArgs: 'one,two' });
    const { value: call } = (await incoming.next()) as { value: CallHandle };
    await body(call, ari);
    await call.hangup().catch(() => {});
  } finally {
    ari.close();
  }
}

client('requests without a WebSocket answer with models', async () => {
  const ari = createClient(optionsOf());
  assert.type((await ari.asterisk.getInfo({ only: 'system' })).system?.version, 'string');
  await ari.asterisk.setGlobalVar({ variable: 'CLIENT_WORD', value: 'a b&c=d/é' });
  assert.is((await ari.asterisk.getGlobalVar({ variable: 'CLIENT_WORD' })).value, 'a b&c=d/é');
});

client('a refusal is an error with the status, the request and the reason', async () => {
  const ari = createClient(optionsOf());
  const error = await ari.channels.answer({ channelId: 'no/such' }).then(
    () => undefined,
    (refusal: unknown) => refusal,
  );
  assert.instance(error, AriError);
  assert.is((error as AriError).status, 404);
  assert.match((error as AriError).message, /^POST \/ari\/channels\/no%2Fsuch\/answer: 404 ./);
  const missing = await ari.channels.get({ channelId: '' }).catch((reason: Error) => reason.message);
  assert.is(missing, 'channelId is missing');
});

client('a call has its operations, its arguments and its end', () =>
  withCall(async (call) => {
    assert.equal(call.args, ['one', 'two']);
    await call.setChannelVar({ variable: 'COLOUR', value: 'green' });
    assert.is((await call.getChannelVar({ variable: 'COLOUR' })).value, 'green');
    assert.is((await call.setChannelVars({ variables: { SIZE: 'small' } }).catch(() => 'unknown')) ?? 'set', 'set');
    await call.hangup();
    await call.ended;
  }),
);

client('events of a channel come in order, and end with it', () =>
  withCall(async (call) => {
    const types: string[] = [];
    const all = (async () => {
      for await (const { type } of call.events()) types.push(type);
    })();
    const varset = call.next('ChannelVarset', ({ variable }) => variable === 'COLOUR');
    await call.setChannelVar({ variable: 'COLOUR', value: 'red' });
    assert.is((await varset).value, 'red');
    await call.hangup();
    await all;
    assert.ok(types.includes('ChannelVarset'), types.join());
    assert.is(types.at(-1), 'StasisEnd');
    const late = await call.next('ChannelDtmfReceived').catch((reason: Error) => reason.message);
    assert.match(String(late), /./);
  }),
);

client('playToEnd tells how a playback ended', () =>
  withCall(async (call) => {
    assert.is(await call.playToEnd('sound:beep'), 'done');
    const started = call.next('PlaybackStarted');
    const endless = call.playToEnd(['sound:hello-world', 'sound:hello-world', 'sound:hello-world']);
    const { playback } = await started;
    assert.is(playback.target_uri, `channel:${call.id}`);
    await call.hangup();
    await endless.catch(() => {});
  }),
);

client('a listener that fails is told to the error listeners', () =>
  withCall(async (call, ari) => {
    const failed = new Promise((resolve) => ari.on('error', resolve));
    call.on('ChannelVarset', async () => {
      throw new Error('of the listener');
    });
    await call.setChannelVar({ variable: 'COLOUR', value: 'blue' });
    assert.is(((await failed) as Error).message, 'of the listener');
  }),
);

client('a server that cannot be reached, or refuses, is an error', async () => {
  const refused = await connect({ ...optionsOf(), password: 'wrong', app: word() }).catch(
    (error: Error) => error.message,
  );
  assert.match(String(refused), /^cannot connect to /);
});

/** Passes connections on to the server until they are cut. */
async function openRelay() {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(target.url);
  const server = createServer((near) => {
    const far = connectTcp(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${own}`,
    cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close() {
      this.cut();
      server.close();
    },
  };
}

client('a broken connection is opened again, and no event is lost or comes twice', async () => {
  const relay = await openRelay();
  try {
    await withCall(async (call, ari) => {
      // Events that nobody hears can only be had again from a server that numbers them.
      const { ours } = target;
      const values: string[] = [];
      ari.on('ChannelVarset', ({ variable, value }) => void (variable === 'STEP' && values.push(value)));
      const lost = new Promise((resolve) => ari.on('disconnected', resolve));
      const again = new Promise<void>((resolve) => ari.on('connected', resolve));
      const direct = createClient(optionsOf());
      const step = (value: string) => direct.channels.setChannelVar({ channelId: call.id, variable: 'STEP', value });
      const heard = (wanted: string) => ari.next('ChannelVarset', ({ value }) => value === wanted);
      const first = heard('1');
      await step('1');
      await first;
      const last = heard('3');
      relay.cut();
      assert.is(((await lost) as { over: boolean }).over, false);
      if (ours) await step('2');
      await again;
      await step('3');
      await last;
      assert.equal(values, ours ? ['1', '2', '3'] : ['1', '3']);
    }, relay.url);
  } finally {
    relay.close();
  }
});

client('a request without an answer is sent again with its key, and carried out once', async () => {
  if (!target.ours) return;
  const relay = await openRelay();
  try {
    const ari = createClient(optionsOf(relay.url));
    await ari.asterisk.ping();
    const direct = await connect({ ...optionsOf(), app: word(), subscribeAll: true });
    const made: AnyEvent[] = [];
    direct.on('BridgeCreated', (event) => void made.push(event));
    const created = direct.next('BridgeCreated');
    const bridge = ari.bridges.create({ type: 'mixing' });
    await created;
    // The answer may be on its way or not: either way there is one bridge.
    relay.cut();
    const { id } = await bridge;
    await direct.bridges.destroy({ bridgeId: id });
    assert.is(made.length, 1);
    direct.close();
  } finally {
    relay.close();
  }
});

client('it takes less than 20 KB', async () => {
  const { outputFiles } = await build({
    entryPoints: ['packages/client/src/index.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    external: ['ws'],
    write: false,
  });
  assert.ok(outputFiles[0]!.contents.length < 20_000, `${outputFiles[0]!.contents.length} bytes`);
});

client.run();
