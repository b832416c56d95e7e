import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { Command } from '../support/program.ts';
import { type SupervisedServer, startSupervised } from '../support/supervised-server.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * A server process that is killed before, within and behind writes of its state, and before and behind datagrams and what it
 * sends over connections. HOOKSWITCH_TEST_CRASHES=300 makes so many runs.
 */
const crashes = suite('a server process that is killed at any point');

const crasher = fileURLToPath(new URL('../support/crash-at-point.mjs', import.meta.url));
const authorization = `Basic ${btoa('tester:secret')}`;

type Plan = {
  point: 'write' | 'datagram' | 'stream';
  nth: number;
  when: 'before' | 'within' | 'behind';
  text?: string;
};
type Event = { type: string; seq: number; epoch?: string; channel?: { id: string; caller: { number: string } } };

/** An application that repeats what was not answered, and comes back with its place among the events. */
class Application {
  readonly events: Event[] = [];
  /** Messages that came twice or not in order. */
  readonly wrong: string[] = [];
  readonly #server: SupervisedServer;
  #socket: WebSocket | undefined;
  #epoch: string | undefined;
  #last = 0;
  #isOver = false;

  constructor(server: SupervisedServer) {
    this.#server = server;
    this.#connect();
  }

  #connect(): void {
    const resume = this.#epoch === undefined ? 'new' : `${this.#epoch}:${this.#last}`;
    const url = `ws://127.0.0.1:${this.#server.httpPort}/ari/events?app=desk&resume=${resume}`;
    const socket = new WebSocket(url, { headers: { authorization } });
    this.#socket = socket;
    socket.on('message', (data) => this.#take(String(data)));
    socket.on('error', () => {});
    socket.on('close', () => {
      if (!this.#isOver) setImmediate(() => this.#connect());
    });
  }

  #take(text: string): void {
    const event = JSON.parse(text) as Event;
    if (event.type === 'ResumePoint') this.#epoch = event.epoch;
    const expected = event.type === 'ResumePoint' ? this.#last : this.#last + 1;
    // The first place of all is the server's to say.
    if (event.seq !== expected && this.events.length > 0) this.wrong.push(text);
    this.#last = event.seq;
    this.events.push(event);
  }

  /** Asks until there is an answer, with one key. @returns the body. */
  async ask<T = unknown>(method: string, path: string, key: string, body?: object): Promise<T> {
    const headers = { authorization, 'idempotency-key': key, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${this.#server.httpPort}/ari${path}`;
    let answer: Response | undefined;
    let text = '';
    await untilAsked(
      async () => {
        answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(
          () => undefined,
        );
        text = (await answer?.text().catch(() => undefined)) ?? '';
        return answer !== undefined && (answer.status === 204 || text !== '');
      },
      () => `no answer to ${method} ${path}: ${this.#server.logged()}`,
    );
    // SIPp hangs up while the next process starts.
    const isGone = path.includes('/addChannel') && text.includes('Channel not found');
    assert.ok(answer!.ok || isGone, `${method} ${path}: ${answer!.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** How often events of a type came for a channel. */
  count(type: string, channel: string): number {
    return this.events.filter((event) => event.type === type && event.channel?.id === channel).length;
  }

  hears(type: string, holds: (event: Event) => boolean): Promise<void> {
    return untilAsked(
      async () => this.events.some((event) => event.type === type && holds(event)),
      () => `no ${type}: ${this.#server.logged()}`,
    );
  }

  close(): void {
    this.#isOver = true;
    this.#socket?.terminate();
  }
}

type World = { server: SupervisedServer; application: Application; bob: Phone; plan: string };

async function onWorld(body: (world: World) => Promise<void>): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'hookswitch-crash-'));
  const plan = join(scratch, 'plan');
  const port = await freePort();
  const server = await startSupervised({
    dialplan: { default: { desk: ['Stasis(desk)'] } },
    endpoints: { anonymous: { match: ['127.0.0.1'] }, bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] } } },
    more: { supervisor: { steady: 0.1, crashes: 1_000 } },
    node: ['--import', crasher],
    env: { CRASH_PLAN: plan },
  });
  const bob = await Phone.open('bob', server.sip, port);
  const application = new Application(server);
  try {
    await application.hears('ResumePoint', () => true);
    await body({ server, application, bob, plan });
  } finally {
    application.close();
    await bob.close();
    await server.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

const channelsOf = ({ server }: World) => server.client().ok<{ id: string }[]>('GET', '/channels');

/** The server dies at a point. It reads the whole plan or none. */
function set({ plan }: World, what: Plan): void {
  writeFileSync(`${plan}.new`, JSON.stringify(what));
  renameSync(`${plan}.new`, plan);
}

/** The calls that bob had. */
const callsOf = ({ invites }: Phone): number => new Set(invites.flatMap((invite) => invite.all('Call-ID'))).size;

/** Calls bob, takes a call of SIPp, joins both; SIPp hangs up. @returns whether the server died. */
async function tell(world: World, sipp: string, name: string, plan: Plan): Promise<boolean> {
  const { server, application, bob } = world;
  set(world, plan);
  const called = callsOf(bob);
  const out = await application.ask<{ id: string }>('POST', '/channels?endpoint=PJSIP/bob&app=desk', `${name}-out`);
  await application.hears('StasisStart', ({ channel }) => channel?.id === out.id);
  const isNew = new Set(application.events.map(({ channel }) => channel?.id));
  const args = ['-s', 'desk', '-i', '127.0.0.1', '-m', '1', '-d', '400', '-nostdin'];
  const run = new Command(sipp, ['-sn', 'uac', server.sip, ...args]);
  try {
    const isIn = ({ channel }: Event): boolean => channel !== undefined && !isNew.has(channel.id);
    await application.hears('StasisStart', isIn);
    const { id } = application.events.find((event) => event.type === 'StasisStart' && isIn(event))!.channel!;
    await application.ask('POST', `/channels/${id}/answer`, `${name}-answer`);
    await application.ask('POST', `/bridges?bridgeId=${name}`, `${name}-bridge`);
    await application.ask('POST', `/bridges/${name}/addChannel?channel=${id},${out.id}`, `${name}-add`);
    assert.is(await run.end(), 0, run.explain());
    await application.hears('StasisEnd', ({ channel }) => channel?.id === id);
    await application.ask('DELETE', `/channels/${out.id}`, `${name}-end`);
    await application.ask('DELETE', `/bridges/${name}`, `${name}-destroy`);
    await bob.over();
    await application.hears('StasisEnd', ({ channel }) => channel?.id === out.id);
    const what = JSON.stringify(plan);
    let left: unknown;
    await untilAsked(
      async () => {
        left = await channelsOf(world).catch(String);
        return Array.isArray(left) && left.length === 0;
      },
      () => `channels stay: ${JSON.stringify(left)}, ${id} and ${out.id}: ${what}`,
    );
    for (const channel of [id, out.id])
      assert.equal([application.count('StasisStart', channel), application.count('StasisEnd', channel)], [1, 1], what);
    assert.is(callsOf(bob), called + 1, `bob is called once: ${what}`);
    assert.equal(application.wrong, [], what);
    return !existsSync(world.plan);
  } finally {
    rmSync(world.plan, { force: true });
    await run.close();
  }
}

const wanted = Number(process.env['HOOKSWITCH_TEST_CRASHES'] ?? 8);

/** Points in turn: the first of each kind, then the second of each. */
const plans = (count: number): Plan[] =>
  Array.from({ length: count }, (_, at) => {
    const kinds = [
      ['write', 'within'],
      ['datagram', 'before'],
      ['stream', 'behind'],
      ['write', 'behind'],
      ['datagram', 'behind'],
      ['write', 'before'],
      ['stream', 'before'],
    ] as const;
    const [point, when] = kinds[at % kinds.length]!;
    // Steps that meet each point of the story in time, few runs as well as many.
    return { point, when, nth: (at * 5) % (point === 'datagram' ? 4 : 11) };
  });

need('sipp').test(crashes, 'loses no call and doubles no event, request or call', (sipp) =>
  onWorld(async (world) => {
    let deaths = 0;
    for (const [at, plan] of plans(wanted).entries()) if (await tell(world, sipp, `r${at}`, plan)) deaths++;
    if (wanted > 8) process.stdout.write(`${deaths} deaths in ${wanted} runs\n`);
    assert.ok(deaths >= wanted / 2, `${deaths} deaths`);
  }),
);

crashes('a request whose answer was lost with the process is not carried out again', () =>
  onWorld(async (world) => {
    const { application, bob } = world;
    set(world, { point: 'write', nth: 0, when: 'behind', text: 'once-and-only' });
    const path = '/channels?endpoint=PJSIP/bob&app=desk';
    const { id } = await application.ask<{ id: string }>('POST', path, 'k', { variables: { MARK: 'once-and-only' } });
    assert.not.ok(existsSync(world.plan), 'the server died behind the write');
    await application.hears('StasisStart', ({ channel }) => channel?.id === id);
    assert.equal(
      (await channelsOf(world)).map((channel) => channel.id),
      [id],
    );
    assert.is(callsOf(bob), 1);
    await application.ask('DELETE', `/channels/${id}`, 'end');
    await bob.over();
  }),
);

crashes.run();
