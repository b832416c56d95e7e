import { execFileSync } from 'node:child_process';
import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../src/lib/log.ts';
import { AriError } from '../../src/models/errors.ts';
import { type KeptAnswerSettings, type KeptAnswers, openKeptAnswers } from '../../src/stores/kept-answers.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { authorization, basic, createFakes, createTestApp, json, samples } from './fakes.ts';

/** Requests with an `Idempotency-Key` and with `If-State`, over answers that are kept on the disk. */

type World = ReturnType<typeof createWorld>;
type Context = { world: World; directory: string };
const repeated = suite<Context>('requests with an Idempotency-Key');

const defaults: KeptAnswerSettings = { lifetime: 86_400, most: 3, memory: 10_000, write_timeout: 1 };

function createWorld(directory: string, clock = new ManualClock(), changes: Partial<KeptAnswerSettings> = {}) {
  const hits: string[] = [];
  const store = openKeptAnswers({
    ...{ directory, clock, log: createLogger({ level: 'silent' }) },
    settings: { ...defaults, ...changes },
    hit: (setting) => void hits.push(setting),
  });
  const fakes = createFakes();
  const owners = { ...fakes.owners, objectOwnership: undefined, sessions: undefined, bans: undefined };
  const app = createTestApp(owners, {}, clock, undefined, { keptAnswers: store });
  const ask = async (request: string, key: string | undefined, more: Record<string, string> = {}, body?: string) => {
    const headers = { authorization, ...(key !== undefined && { 'idempotency-key': key }), ...more };
    const response = await app.ask(request, { headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    const replayed = response.headers.get('idempotency-replayed') ?? undefined;
    return { status: response.status, text, replayed, headers: response.headers };
  };
  return { store, fakes, ask, clock, hits, asked: () => fakes.calls.map(([method]) => method) };
}

repeated.before.each((context) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-answers-'));
  Object.assign(context, { directory, world: createWorld(directory) });
});
repeated.after.each(async ({ world, directory }) => {
  await world.store.close();
  rmSync(directory, { recursive: true, force: true });
});

const originate = 'POST /ari/channels?endpoint=PJSIP/alice&app=hello';

repeated('a repeated request gets the first answer and is not carried out again', async ({ world }) => {
  const first = await world.ask(originate, 'k1');
  const second = await world.ask(originate, 'k1');
  assert.is(first.status, 200);
  assert.is(first.replayed, undefined);
  assert.equal(JSON.parse(first.text), samples.channel);
  assert.equal([second.status, second.text, second.replayed], [200, first.text, 'true']);
  assert.is(second.headers.get('content-type'), 'application/json');
  assert.is.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
  assert.equal(world.asked(), ['channels.originate']);
});

repeated('the quoted form of a key is the same key', async ({ world }) => {
  await world.ask(originate, '"k1"');
  assert.is((await world.ask(originate, 'k1')).replayed, 'true');
});

repeated('an answer without a body, and a refusal, are given again', async ({ world }) => {
  const answered = 'POST /ari/channels/c1/answer';
  assert.equal([(await world.ask(answered, 'k1')).status, (await world.ask(answered, 'k1')).replayed], [204, 'true']);
  world.fakes.instead = () => {
    throw new AriError('channelNotFound');
  };
  const first = await world.ask('DELETE /ari/channels/c1', 'k2');
  world.fakes.instead = undefined;
  const second = await world.ask('DELETE /ari/channels/c1', 'k2');
  assert.equal([first.status, second.status, second.text], [404, 404, first.text]);
});

repeated('a key that comes with another request is refused with 422', async ({ world }) => {
  await world.ask(originate, 'k1', json, '{"variables":{"a":"1"}}');
  for (const [request, body] of [
    [originate, '{"variables":{"a":"2"}}'],
    [`${originate}&timeout=5`, '{"variables":{"a":"1"}}'],
    ['POST /ari/channels/c1/answer', '{"variables":{"a":"1"}}'],
  ] as const) {
    const { status, text } = await world.ask(request, 'k1', json, body);
    assert.equal([status, JSON.parse(text).message], [422, new AriError('idempotencyKeyReused').message], request);
  }
  assert.equal(world.asked(), ['channels.originate']);
});

repeated('a second request is refused with 409 while the first is under way', async ({ world }) => {
  let finish = (_channel: unknown): void => {};
  world.fakes.instead = () => new Promise((resolve) => (finish = resolve));
  const statistics = 'POST /ari/channels/externalMedia?app=hello&external_host=127.0.0.1:9&format=ulaw';
  const first = world.ask(statistics, 'k1');
  await Promise.resolve();
  assert.is((await world.ask(statistics, 'k1')).status, 409);
  finish(samples.channel);
  assert.is((await first).status, 200);
  assert.is((await world.ask(statistics, 'k1')).replayed, 'true');
  assert.is(world.asked().length, 1);
});

repeated('refusals that changed nothing and may pass are not kept', async ({ world }) => {
  world.fakes.instead = () => {
    throw new AriError('limitReached', { most: '1', limit: 'channels' });
  };
  assert.is((await world.ask(originate, 'k1')).status, 409);
  world.fakes.instead = undefined;
  assert.equal((await world.ask(originate, 'k1')).status, 200);
});

repeated('keys that are no keys are refused with 400, and reading needs none', async ({ world }) => {
  for (const key of ['', 'a b', 'a"b', `${'x'.repeat(256)}`]) {
    assert.is((await world.ask(originate, key)).status, 400, key);
  }
  assert.equal(world.asked(), []);
  assert.is((await world.ask('GET /ari/channels', 'a b')).status, 200);
});

repeated('what one user was answered is no answer for another', async ({ world }) => {
  await world.ask(originate, 'k1');
  const other = await world.ask(originate, 'k1', { authorization: basic('reader:look:only') });
  assert.is(other.status, 403);
});

repeated('answers outlive the process, without those that hold secrets', async ({ world, directory }) => {
  const first = await world.ask(originate, 'k1');
  const session = 'POST /hookswitch/sessions';
  const { text } = await world.ask(session, 'k2');
  const { token } = JSON.parse(text);
  assert.is((await world.ask(session, 'k2')).text, text);
  await world.store.close();
  const path = join(directory, 'idempotency');
  assert.is(statSync(path).mode & 0o777, 0o600);
  assert.not.match(readFileSync(path, 'utf8'), token);
  // A process that is killed leaves half a line.
  appendFileSync(path, '{"at":1,"key":"x","en');
  const next = createWorld(directory, world.clock);
  const again = await next.ask(originate, 'k1');
  assert.equal([again.status, again.text, again.replayed], [200, first.text, 'true']);
  assert.equal(next.asked(), []);
  await next.store.close();
});

repeated('an answer is saved before the journal has it, and another process takes it up', async ({ directory }) => {
  const told: string[] = [];
  const clock = new ManualClock();
  const kept = (name: string): KeptAnswers => {
    const store: KeptAnswers = openKeptAnswers({
      ...{ directory: join(directory, name), clock, log: createLogger({ level: 'silent' }), settings: defaults },
      hit() {},
      changed: (id) => told.push(`${id} ${store.dump(id).length}`),
      commit: () => told.push('commit'),
    });
    return store;
  };
  const first = kept('first');
  const answer = { status: 204, headers: {}, body: '' };
  for (const key of ['k1', 'k2']) assert.is(first.begin('u', key, 'print'), 'new');
  const keeping = first.keep('u', 'k1', answer, false);
  const saved = first.dump();
  assert.equal(told, ['["u","k1"] 1', 'commit']);
  assert.equal(saved, [{ user: 'u', key: 'k1', print: 'print', at: clock.now(), answer }]);
  await keeping;
  await first.keep('u', 'k2', answer, true);
  // The journal has one, and secrets are saved nowhere.
  assert.equal(told.slice(2), ['["u","k1"] 0', 'commit']);
  assert.equal(first.dump(), []);
  const next = kept('next');
  next.restore(saved);
  next.restore(saved);
  assert.equal(next.begin('u', 'k1', 'print'), answer);
  assert.is(next.dump().length, 1);
  await Promise.all([first.close(), next.close()]);
  assert.match(readFileSync(join(directory, 'next', 'idempotency'), 'utf8'), /"key":"k1"/);
});

repeated('an answer is kept as long as the setting says, then the key is new', async ({ world }) => {
  await world.ask(originate, 'k1');
  world.clock.advance(86_400_000 - 1);
  assert.is((await world.ask(originate, 'k1')).replayed, 'true');
  world.clock.advance(1);
  assert.is((await world.ask(originate, 'k1')).replayed, undefined);
});

repeated('the oldest answer of a user goes for a new one, by number and by size', async ({ world, directory }) => {
  for (const key of ['k1', 'k2', 'k3', 'k4']) await world.ask(originate, key);
  assert.is((await world.ask(originate, 'k2')).replayed, 'true');
  assert.is((await world.ask(originate, 'k1')).replayed, undefined);
  assert.ok(world.hits.every((each) => each === 'http.idempotency.most') && world.hits.length > 0);
  const small = createWorld(join(directory, 'small'), world.clock, { memory: 1_000 });
  for (const key of ['k1', 'k2']) await small.ask(originate, key);
  assert.equal(small.hits, ['http.idempotency.memory']);
  assert.is((await small.ask(originate, 'k2')).replayed, 'true');
  await small.store.close();
});

repeated('a disk that hangs delays an answer no longer than it may', async ({ world, directory }) => {
  // All threads that Node has for files wait for the other end of a pipe.
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const threads = Array.from({ length: 4 }, () => open(pipe, 'r'));
  const asked = world.ask(originate, 'k1');
  await new Promise((resolve) => setImmediate(resolve));
  world.clock.advance(999);
  assert.is(await Promise.race([asked, Promise.resolve('waits')]), 'waits');
  world.clock.advance(1);
  assert.is((await asked).status, 200);
  const other = openSync(pipe, 'r+');
  for (const handle of await Promise.all(threads)) await handle.close();
  closeSync(other);
});

repeated.run();

const assumed = suite<Context>('requests with If-State');
assumed.before.each((context) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-answers-'));
  Object.assign(context, { directory, world: createWorld(directory) });
});
assumed.after.each(async ({ world, directory }) => {
  await world.store.close();
  rmSync(directory, { recursive: true, force: true });
});

assumed('a command is carried out while its object is in one of the states', async ({ world }) => {
  for (const [request, state, method] of [
    ['POST /ari/channels/c1/answer', 'Ring, up', 'channels.answer'],
    ['DELETE /ari/playbacks/p1', 'playing', 'playbacks.stop'],
    ['POST /ari/recordings/live/r1/stop', 'recording', 'recordings.stop'],
    ['PUT /ari/deviceStates/Stasis:q?deviceState=NOT_INUSE', 'INUSE', 'deviceStates.update'],
  ] as const) {
    const { status, text } = await world.ask(request, undefined, { 'if-state': state });
    assert.is(status, 204, text);
    assert.is(world.asked().at(-1), method);
  }
});

assumed('it is refused with 412 in another state, and nothing changes', async ({ world }) => {
  const { status, text } = await world.ask('POST /ari/channels/c1/answer', undefined, { 'if-state': 'Ring,Ringing' });
  assert.equal(
    [status, JSON.parse(text).message],
    [412, 'The channel is in state Up, not in Ring or Ringing (If-State)'],
  );
  assert.equal(world.asked(), ['channels.get']);
});

assumed('unknown states, and requests without an object that has one, are refused with 400', async ({ world }) => {
  for (const [request, state] of [
    ['POST /ari/channels/c1/answer', 'Upp'],
    ['POST /ari/channels/c1/answer', ''],
    ['POST /ari/bridges', 'Up'],
    ['POST /ari/channels/new?endpoint=PJSIP/a&app=hello', 'Up'],
    ['GET /ari/channels/c1', 'Up'],
  ] as const)
    assert.is((await world.ask(request, undefined, { 'if-state': state })).status, 400, request);
  assert.ok(world.asked().every((method) => method === 'channels.get'));
});

assumed.run();
