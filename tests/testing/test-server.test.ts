import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../packages/client/src/index.ts';
import { type ServedTests, serveTests } from '../../packages/testing/src/test-server.ts';

const served = suite('the test server');

type Reply = { status: number; body: { [name: string]: unknown } & { message?: string; error?: string } };

/** Asks as a test in another language would. */
const asker =
  ({ url, token }: Pick<ServedTests, 'url' | 'token'>) =>
  async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  };

async function withTests(body: (ask: ReturnType<typeof asker>, tests: ServedTests) => Promise<void>): Promise<void> {
  const tests = await serveTests();
  try {
    await body(asker(tests), tests);
  } finally {
    await tests.close();
  }
}

served('a test in another language calls, listens, presses and looks at charts', () =>
  withTests(async (ask) => {
    const { status, body } = await ask('POST', '/servers', { app: 'hello', phones: ['alice', 'bob'], seed: 7 });
    assert.is(status, 201);
    const server = `/servers/${body['id']}`;
    const { url, username, password } = body as Record<string, string>;
    const ari = await connect({ url: url!, username: username!, password: password!, app: 'hello' });
    ari.on('StasisStart', async ({ channel: { id: channelId } }) => {
      await ari.channels.answer({ channelId });
      await ari.channels.play({ channelId, media: 'sound:hello-world' });
    });
    const done = async (path: string, args?: unknown) => {
      const reply = await ask('POST', server + path, args);
      assert.ok(reply.status < 300, JSON.stringify(reply.body));
      return reply.body as unknown;
    };
    await done('/phones/alice/call', { extension: '100', within: '5s' });
    assert.is(await done('/phones/alice/inCall'), true);
    await done('/phones/alice/hears', { sound: 'hello-world' });
    await done('/together', {
      steps: [
        { operation: 'phones/alice/says', sound: { tone: 440, for: '1s' } },
        { operation: 'inState', chart: 'channel', state: 'up' },
      ],
    });
    await done('/phones/alice/press', { digits: '1#' });
    const event = (await done('/event', { type: 'ChannelDtmfReceived', where: { digit: '#' } })) as { digit: string };
    assert.is(event.digit, '#');
    await done('/faults/latency', { phone: 'alice', delay: '80ms' });
    await done('/advance', { duration: '10s' });
    assert.is(((await done('/channels')) as unknown[]).length, 1);
    const wrong = await ask('POST', `${server}/phones/alice/hears`, { sound: 'goodbye', within: '1s' });
    assert.is(wrong.status, 417);
    assert.match(wrong.body.message ?? '', /^alice expected to hear the prompt 'goodbye' within 1 s, but heard/);
    await done('/phones/alice/hangup');
    await done('/idle');
    ari.close();
    assert.is((await ask('DELETE', server)).status, 204);
    assert.is((await ask('POST', `${server}/idle`)).status, 404);
  }),
);

served('bad input is named, and changes nothing', () =>
  withTests(async (ask, { url, token }) => {
    const refused: [path: string, body: unknown, message: RegExp][] = [
      ['/servers', '{', /the body must be JSON/],
      ['/servers', [], /the body must be a JSON object/],
      ['/servers', { ap: 'hello' }, /ap is no parameter of this operation/],
      ['/servers', { phones: 'alice' }, /phones must be a list of names/],
      ['/servers', { config: { nonsense: 1 } }, /nonsense/],
      ['/servers/1/phones/alice/call', {}, /extension is missing/],
      ['/servers/1/phones/zoe/call', { extension: '100' }, /there is no phone 'zoe'; startTestServer knows alice/],
      ['/servers/1/phones/alice/call', { extension: '100', within: 'soon' }, /within must be a duration/],
      ['/servers/1/phones/alice/press', { digits: 'x' }, /digits must be one or more of 0-9/],
      ['/servers/1/phones/alice/says', { sound: { noise: 1 } }, /sound must be a text, or an object with tone/],
      ['/servers/1/phones/alice/says', { sound: { wav: '/no/such.wav' } }, /sound cannot be read/],
      ['/servers/1/phones/alice/hears', { sound: 'no-such-prompt' }, /no-such-prompt/],
      ['/servers/1/phones/alice/explode', {}, /there is no operation 'phones\/alice\/explode'/],
      ['/servers/1/constructor', {}, /there is no operation 'constructor'/],
      ['/servers/1/faults/loss', { phone: 'alice', share: 2 }, /share must be a number from 0 to 1/],
      ['/servers/1/inState', { chart: 'phone', state: 'up' }, /there is no chart 'phone'/],
      ['/servers/1/together', { steps: [{ operation: 'idle', x: 1 }] }, /x is no parameter/],
      ['/servers/1/%zz', {}, /not encoded/],
    ];
    await ask('POST', '/servers', {});
    for (const [path, body, message] of refused) {
      const reply = await ask('POST', path, body);
      assert.is(reply.status, 400, `${path} ${JSON.stringify(reply)}`);
      assert.match(reply.body.message ?? '', message);
    }
    assert.is((await ask('POST', '/servers', `{"app":"${'x'.repeat(1_000_001)}"}`)).status, 400);
    assert.is((await ask('GET', '/servers/1/idle')).status, 404);
    assert.is((await ask('POST', '/nothing')).status, 404);
    assert.is((await asker({ url, token: `${token}x` })('POST', '/servers', {})).status, 401);
    for (let count = 1; count < 16; count++) assert.is((await ask('POST', '/servers', {})).status, 201);
    assert.match((await ask('POST', '/servers', {})).body.message ?? '', /there are 16 servers already/);
  }),
);

served('the command prints where it is, and ends with the program that started it', async () => {
  const child = spawn(process.execPath, ['dist/cli.js', 'test-server'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const ask = asker(JSON.parse(line));
  assert.is((await ask('POST', '/servers', {})).status, 201);
  child.stdin.end();
  assert.equal(await ended, [0, null]);
});

served.run();
