import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anyCodePoint } from '../support/any-text.ts';
import { callIn, callUp, create, hangupAll, usesTarget } from '../support/conformance-cases.ts';
import type { Answer, App, AskOptions, Client } from '../support/conformance-client.ts';
import { surface } from '../support/conformance-surface.ts';

/**
 * Arbitrary requests and frames: whatever comes, no answer is a 5xx that was not promised, nothing is left behind, and
 * the process lives. Asked of Hookswitch alone: Asterisk 22 does not live through it. A failure prints the seed and path to run it again with `HOOKSWITCH_CONFORMANCE_SEED`.
 */
const test = suite('arbitrary requests');
const seed = Number(process.env['HOOKSWITCH_CONFORMANCE_SEED'] ?? 20261121);
let client: Client;
let app: App;
/** Channels and other things that requests may happen to name. */
let known: string[];
let operations: Operation[];

usesTarget(test, async (own) => {
  client = own;
  if (!client.target.ours) return;
  operations = await servedOperations();
});

/** Puts channels in three states in place of those that requests have hung up. */
async function revive(): Promise<void> {
  const channels = await client.must<{ id: string }[]>('GET /channels');
  const alive = new Set(channels.map(({ id }) => id));
  const [up = '', down = '', ring = ''] = known;
  known = [
    alive.has(up) ? up : await made(callUp, 'up'),
    alive.has(down) ? down : await made(create, 'down'),
    alive.has(ring) ? ring : await callIn(client, app, client.unique('in')),
    app.name,
    'Stasis:arbitrary',
    'PJSIP',
    'alice',
  ];
}

async function made(make: typeof callUp, word: string): Promise<string> {
  const id = client.unique(word);
  await make(client, app, id);
  return id;
}

/** A test with an application and its channels, and a look at what it left behind. */
const arbitrary = (title: string, body: () => Promise<void>) =>
  test(title, async () => {
    if (!client.target.ours) return;
    app = await client.connect(client.unique('arbitrary'));
    known = [];
    await revive();
    try {
      await body();
      await hangupAll(client);
      await forget();
    } finally {
      await app.close();
    }
    await assertClean();
  });

/** What Asterisk and Hookswitch promise to answer with 5xx. */
const promised = new Set([
  'Unable to read provided function',
  'Unknown device',
  'Failed to redirect channel',
  'Unable to create bridge',
  'The encapsulation and/or transport is not supported',
  ...['Failed to queue media for playback', 'Failed to answer channel', 'Could not stop playback'],
]);

/** A 5xx that nobody promised, and anything that is not answered as it should be. */
function judge(line: string, { status, text, body, headers }: Answer): void {
  const { message, error } = (body ?? {}) as { message?: string; error?: string };
  const about = `${line}: ${status} ${text}`;
  if (status >= 500) assert.ok(promised.has(message ?? ''), about);
  if (status >= 400) assert.ok(typeof message === 'string' || typeof error === 'string', about);
  if (text !== '') assert.is(headers['content-type'], 'application/json', about);
}

/** Waits until the server is as it was before anything was asked. */
async function assertClean(): Promise<void> {
  assert.is((await client.must<{ ping: string }>('GET /asterisk/ping')).ping, 'pong');
  await client.gone(app.name);
  assert.equal(await client.must('GET /channels'), []);
  assert.equal(await client.must('GET /applications'), []);
  const { usage } = client.target;
  if (!usage) return;
  // The media thread lets go of the sound of ended calls a moment after they ended.
  for (let left = await usage(); ; left = await usage()) {
    const { channels, playbacks, channelAudio, media } = left;
    assert.equal([channels, playbacks, channelAudio], [0, 0, 0]);
    if (media.sessions + media.players + media.timers === 0) return;
  }
}

/** Takes away what requests made that no call owns. */
async function forget(): Promise<void> {
  // Bridges stay until they are destroyed, with whatever plays on them.
  for (const { id } of await client.must<{ id: string }[]>('GET /bridges'))
    await client.ask(`DELETE /bridges/${encode(id)}`);
  for (const { name } of await client.must<{ name: string }[]>('GET /recordings/stored'))
    await client.ask(`DELETE /recordings/stored/${encode(name)}`);
  for (const { name } of await client.must<{ name: string }[]>('GET /mailboxes'))
    await client.must(`DELETE /mailboxes/${encode(name)}`);
  for (const { name } of await client.must<{ name: string }[]>('GET /deviceStates'))
    await client.must(`DELETE /deviceStates/${encode(name)}`);
  type Subscribed = { bridge_ids: string[]; endpoint_ids: string[]; channel_ids: string[] };
  for (;;) {
    const held = await client.must<Subscribed>(`GET /applications/${app.name}`);
    const { channel_ids: channels, bridge_ids: bridges, endpoint_ids: endpoints } = held;
    const sources = { channel: channels, bridge: bridges, endpoint: endpoints };
    const left = Object.entries(sources).flatMap(([type, ids]) =>
      ids.map((id) => `${type}:${id.startsWith('__AST_') ? '' : id}`),
    );
    if (left.length === 0) return;
    for (const source of left)
      await client.ask(`DELETE /applications/${app.name}/subscription?eventSource=${encode(source)}`);
  }
}

/* ---- What is thrown ---------------------------------------------------------------------------------------------------- */

type Operation = { method: string; path: string; params: Record<string, string> };

/** Operations that would change how the server itself works, or whose effects outlast the test. */
const excluded = /logging|\/modules|\/config\/|events$|sendMessage|refer$/;

/** The operations that the server has. */
async function servedOperations(): Promise<Operation[]> {
  const found: Operation[] = [];
  for (const [line, { params }] of Object.entries(surface.operations)) {
    const space = line.indexOf(' ');
    const [method, path] = [line.slice(0, space), line.slice(space + 1)];
    if (excluded.test(path)) continue;
    const { headers } = await client.ask(`OPTIONS ${path.replaceAll(/\{\w+\}/g, 'x')}`);
    if (headers.allow?.split(',').includes(method)) found.push({ method, path, params });
  }
  return found;
}

const word = fc.oneof(
  fc.string({ unit: anyCodePoint, maxLength: 30 }),
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', '0', '-1', '2147483648', '1e9', 'NaN', 'true', 'null', '../..', '%', '%00', '\0', '\r\n', ';2'),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'),
  fc.constantFrom('Local/wait@conformance', 'Local/s', 'Local/u*x@conformance', 'PJSIP/alice', 'Local/', 'sound:beep'),
  fc.constantFrom('sound:beep,number:1,nothing', 'tone:440/10', 'characters:ä', 'digits:', '1,2,"3', 'channel:', 'in'),
  fc.constantFrom('CALLERID(num)', 'CHANNEL(', '()', 'X(${Y})', '${CHANNEL}', '__A', 'pause', 'INUSE', 'conformance'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).map((text) => text.repeat(500)),
  fc.nat(6).map((at) => known[at] ?? ''),
);
const json: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 3, arbitrary: word },
  fc.dictionary(word, fc.oneof(word, fc.record({ value: word, report_events: fc.boolean() }), fc.jsonValue())),
  fc.array(word, { maxLength: 5 }),
);

/** Values that make sense, by the name of the parameter, so that requests come further than their first fault. */
const sensible: Readonly<Record<string, () => readonly string[]>> = {
  endpoint: () => [
    'Local/wait@conformance',
    'Local/ringing@conformance',
    'local/u*x@conformance',
    'PJSIP/alice',
    'X/y',
  ],
  app: () => [app.name, 'nobody-is-this'],
  application: () => [app.name],
  applicationName: () => [app.name],
  context: () => ['conformance', 'nowhere'],
  extension: () => ['s', 'over', 'event', `a*${app.name}`],
  label: () => ['', 'here', '1', 'nowhere'],
  media: () => ['sound:beep', 'digits:1,tone:ring', 'sound:nothing,nonsense', 'recording:x,number:y'],
  playbackId: () => ['playback-1', 'playback-2'],
  operation: () => ['pause', 'unpause', 'restart', 'forward', 'reverse'],
  variable: () => ['A', '__B', 'CALLERID(all)', 'CHANNEL(language)', 'PJSIP_HEADER(read,X)', 'CONNECTEDLINE(pres)'],
  variables: () => ['A,B', 'CALLERID(num),CHANNEL(name)'],
  eventSource: () => ['channel:', 'endpoint:PJSIP,deviceState:x', `channel:${known[0]}`, 'bridge:'],
  direction: () => ['in', 'out', 'both'],
  deviceState: () => ['BUSY', 'INUSE'],
  deviceName: () => ['Stasis:arbitrary', 'PJSIP/alice'],
  reason: () => ['busy', 'normal'],
  originator: () => known.slice(0, 3),
  caller: () => known.slice(0, 3),
  formats: () => ['ulaw', 'alaw,ulaw'],
  dtmf: () => ['1', '*#', 'w1W2'],
  channelId: () => [...known.slice(0, 3), 'own-1', 'own-2'],
  otherChannelId: () => ['own-2', 'own-3'],
  timeout: () => ['1', '-1', '0'],
};
const wordFor = (name: string, arbitrary: string, pick: number): string => {
  const values = pick % 4 === 0 ? [] : (sensible[name]?.() ?? []);
  return values.length === 0 ? arbitrary : (values[pick % values.length] ?? arbitrary);
};

/** A word as it may stand in a path or query: encoded, or nearly. */
const encode = (text: string): string => {
  try {
    return encodeURIComponent(text).replace(/^\.{1,2}$/, '%252E');
  } catch {
    // A lone surrogate has no encoding.
    return '%ED%A0%80';
  }
};

type Asked = { line: string; options: AskOptions };

const many = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { minLength: 16, maxLength: 16 });

const request: fc.Arbitrary<Asked> = fc
  .record({
    operation: fc.nat(999),
    words: many(word),
    picks: many(fc.nat(99)),
    extra: fc.array(fc.tuple(word, word), { maxLength: 2 }),
    body: fc.option(fc.tuple(fc.constantFrom('params', 'any', 'form', 'text'), json, fc.dictionary(word, json))),
  })
  .map(({ operation, words, picks, extra, body }) => {
    const { method, path, params } = operations[operation % operations.length]!;
    let at = 0;
    const value = (name: string) => {
      at = (at + 1) % 16;
      return encode(wordFor(name, words[at] ?? '', picks[at] ?? 0));
    };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => value(name) || 'x');
    const inQuery = Object.entries(params).filter(([, facts], index) => facts.startsWith('query') && picks[index]! % 3);
    const pairs = inQuery.map(([name]) => `${name}=${value(name)}`);
    pairs.push(...extra.map(([name, text]) => `${encode(name)}=${encode(text)}`));
    const text = pairs.join('&');
    return { line: `${method} ${filled}${text === '' ? '' : `?${text}`}`, options: bodyOf(body, params) };
  });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function bodyOf(body: [string, unknown, Record<string, unknown>] | null, params: Record<string, string>): AskOptions {
  if (!body) return {};
  const [kind, value, members] = body;
  if (kind === 'any') return { json: value };
  if (kind === 'form') return { form: textOf(value) };
  if (kind === 'text') return { raw: { type: 'application/json', body: textOf(value) } };
  const values = Object.values(members);
  const named = Object.keys(params).map((name, at) => [name, at < values.length ? values[at] : value] as const);
  return { json: Object.fromEntries(named) };
}

/** Line and body limits of HTTP are no matter of this test: Node's own parser answers those. */
const fits = ({ line, options }: Asked): boolean => line.length < 8_000 && JSON.stringify(options).length < 60_000;

const check = (property: fc.IAsyncProperty<[unknown]> | fc.IAsyncProperty<[unknown[]]>, numRuns: number) =>
  fc.assert(property as fc.IAsyncProperty<[unknown]>, {
    seed,
    numRuns,
    endOnFailure: true,
    interruptAfterTimeLimit: 5_000,
    markInterruptAsFailure: false,
  });

arbitrary('no operation fails on arbitrary parameters, ids and bodies, and nothing is left', async () => {
  const batch = fc.array(request.filter(fits), { minLength: 10, maxLength: 10 });
  await check(
    fc.asyncProperty(batch, async (requests) => {
      await revive();
      const answers = await Promise.all(requests.map(({ line, options }) => client.ask(line, options)));
      for (const [at, answer] of answers.entries()) judge(requests[at]?.line ?? '', answer);
    }),
    200,
  );
});

arbitrary('no request over the WebSocket fails, and the socket stays', async () => {
  await check(
    fc.asyncProperty(request.filter(fits), async ({ line, options }) => {
      await revive();
      const space = line.indexOf(' ');
      const { json: body } = options;
      const frame = {
        type: 'RESTRequest',
        method: line.slice(0, space),
        uri: line.slice(space + 2),
        ...(body === undefined ? {} : { content_type: 'application/json', message_body: JSON.stringify(body) }),
      };
      const text = JSON.stringify(frame);
      // A longer one ends the socket, as another test shows.
      if (Buffer.byteLength(text) > 65_535) return;
      const answer = await app.tell(text);
      const status = answer['status_code'] as number;
      const { message } = JSON.parse((answer['message_body'] as string | undefined) ?? '{}') as { message?: string };
      if (status >= 500) assert.ok(promised.has(message ?? ''), `${line}: ${JSON.stringify(answer)}`);
    }),
    200,
  );
});

arbitrary('no frame on the WebSocket fails: arbitrary texts, JSON and nearly right requests', async () => {
  const member = fc.oneof(json, fc.constantFrom('RESTRequest', 'GET', 'POST', 'channels', 'application/json', '{'));
  const nearly = fc.record(
    {
      type: fc.oneof(fc.constant('RESTRequest'), member),
      transaction_id: member,
      request_id: member,
      method: fc.oneof(fc.constantFrom('GET', 'POST', 'OPTIONS', 'HEAD', 'PUT'), member),
      uri: fc.oneof(fc.constantFrom('channels', 'endpoints?x', '//x', 'http://x/', '?', '#', '/ari/channels'), member),
      query_strings: fc.oneof(fc.array(fc.record({ name: word, value: word })), member),
      content_type: fc.oneof(fc.constantFrom('application/json', 'application/x-www-form-urlencoded'), member),
      message_body: member,
    },
    { requiredKeys: [] },
  );
  const frame = fc.oneof(
    word,
    fc.json({ maxDepth: 3 }),
    nearly.map((value) => JSON.stringify(value)),
  );
  await check(
    fc.asyncProperty(frame, async (text) => {
      const answer = await app.tell(text);
      const status = answer['status_code'] as number;
      assert.ok(status < 500 || status === 501, `${text}: ${JSON.stringify(answer)}`);
      assert.type(answer['request_id'], 'string');
      assert.type(answer['uri'], 'string');
    }),
    400,
  );
  const answer = await app.rest({ method: 'GET', uri: 'asterisk/ping' });
  assert.is(answer['status_code'], 200);
});

arbitrary('an id comes back as it was sent', async () => {
  const id = fc.string({ unit: anyCodePoint, minLength: 1, maxLength: 149 }).filter((text) => !/^\.{1,2}$/.test(text));
  await check(
    fc.asyncProperty(id, async (channelId) => {
      const path = `/channels/${encode(channelId)}`;
      if (encode(channelId) === '%ED%A0%80' || channelId.length > 147) return;
      const made = await client.ask(`POST ${path}?endpoint=Local/silent@conformance&app=${app.name}`);
      if (['create', 'originate', 'externalMedia'].includes(channelId)) return;
      assert.is(made.status, 200, `${channelId} ${made.text}`);
      assert.is((made.body as { id: string }).id, channelId);
      assert.is((await client.must<{ id: string }>(`GET ${path}`)).id, channelId);
      await client.must(`DELETE ${path}`);
      assert.is((await client.ask(`GET ${path}`)).status, 404);
    }),
    100,
  );
});

arbitrary('connections that are cut in the middle of anything leave nothing', async () => {
  await check(
    fc.asyncProperty(fc.array(word, { maxLength: 3 }), async (texts) => {
      const name = client.unique('cut');
      const own = await client.connect(name);
      const id = client.unique('cut');
      for (const text of texts) own.send(text);
      await client.must(`POST /channels/${id}?endpoint=Local/wait@conformance&app=${name}`);
      own.socket.terminate();
      await own.closed;
      await client.ask(`DELETE /channels/${id}`);
      await client.gone(name);
    }),
    20,
  );
});

test.run();
