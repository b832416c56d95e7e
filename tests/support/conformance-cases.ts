import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, type App, type AskOptions, Client } from './conformance-client.ts';
import { openTarget } from './conformance-target.ts';

/** What an answer must be. */
export type Expected = {
  status: number;
  /** The `message` of a refusal; its body must then hold nothing else, but for `allowed`. */
  message?: string;
  /** The `error` of a refusal, beside or instead of `message`. */
  error?: string;
  /** Words of the status line. */
  reason?: string;
  /** The whole body. */
  body?: unknown;
};

/** One request and its answer. */
export type Case = Expected & {
  /** `METHOD /path?query`; `{name}` stands for an id of the {@link Fixture}, encoded. */
  ask: string;
  with?: AskOptions;
  /** What Asterisk answers instead, and the row of docs/differences.md that says why: expected of any other server. */
  difference?: Expected & { why: string };
  /** Asked of Hookswitch alone: others have no such path, or do not survive it. */
  oursAlone?: true;
};

/** Things that requests may be about; none of the cases may change them. */
export type Fixture = Readonly<Record<string, string>>;

/** The line of a case with the ids of the fixture. */
export const fill = (line: string, fixture: Fixture): string =>
  line.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = fixture[name];
    return value === undefined ? whole : encodeURIComponent(value);
  });

/** Statuses of refusals that depend on the state of what was asked for. */
const refusalsOfStates: ReadonlySet<number> = new Set([409, 412]);

/** Compares an answer with what was expected. */
export function check(answer: Answer, expected: Expected, about: string): void {
  const seen = `${about}: ${answer.status} ${answer.reason} ${answer.text}`;
  assert.is(answer.status, expected.status, seen);
  if (expected.reason !== undefined) assert.is(answer.reason, expected.reason, seen);
  if (expected.message !== undefined || expected.error !== undefined) {
    const { message, error } = expected;
    const body = { ...(message === undefined ? {} : { message }), ...(error === undefined ? {} : { error }) };
    const { allowed, ...told } = (answer.body ?? {}) as Record<string, unknown>;
    assert.equal(told, body, seen);
    // Some refusals of ours say beside it what may be done instead.
    if (allowed !== undefined) assert.ok(refusalsOfStates.has(answer.status), seen);
    assert.is(answer.headers['content-type'], 'application/json', seen);
  }
  if ('body' in expected) assert.equal(answer.body, expected.body, seen);
  if (answer.status === 204 || answer.status === 202) assert.is(answer.text, '', seen);
}

/** Asks what the case says and compares the answer with ours, or of another server with Asterisk's. */
export async function run(client: Client, fixture: Fixture, one: Case): Promise<Answer> {
  const line = fill(one.ask, fixture);
  const answer = await client.ask(line, one.with);
  check(answer, client.target.ours ? one : (one.difference ?? one), line);
  return answer;
}

/** Runs every case, whatever the others give, and throws one error that says all that was not as expected. */
export async function runAll(client: Client, fixture: Fixture, cases: readonly Case[]): Promise<void> {
  const faults: string[] = [];
  for (const one of cases.filter(({ oursAlone }) => client.target.ours || !oursAlone))
    await run(client, fixture, one).catch((error: unknown) => {
      faults.push(describe(error));
    });
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

const describe = (error: unknown): string => {
  if (!(error instanceof assert.Assertion)) return String(error);
  const { message, expects, actual } = error;
  return `${message}: expected ${JSON.stringify(expects)}, got ${JSON.stringify(actual)}`;
};

/** Channels in every state that operations tell apart, made for one application. */
export type Calls = Fixture & {
  /** Up, in the application. */
  up: string;
  /** Created and not dialed: Down, in the application. */
  down: string;
  /** Created and dialed, the far side rings: Ringing, in the application. */
  ringing: string;
  /** Called in and not answered: Ring, in the application. */
  ring: string;
  /** Up, in the dialplan. */
  free: string;
  /** Nobody. */
  nobody: string;
};

/** Originates a Local channel into the application and waits until it is there. */
export async function callUp(client: Client, app: App, id: string, extension = 'wait'): Promise<void> {
  await client.must(`POST /channels/${id}?endpoint=Local/${extension}@conformance&app=${app.name}&appArgs=a,b`);
  await app.about(id, 'StasisStart');
}

/** Lets a Local channel call the application, and gives the id of the half that is in it, in state Ring. */
export async function callIn(client: Client, app: App, id: string, extension = `a*${app.name}`): Promise<string> {
  const inside = `${id}-in`;
  const query = `endpoint=Local/${extension}@conformance&extension=wait&context=conformance&otherChannelId=${inside}`;
  await client.must(`POST /channels/${id}?${query}`);
  await app.about(inside, 'StasisStart');
  return inside;
}

/** Creates a Local channel in the application and waits until it is there. */
export async function create(client: Client, app: App, id: string, extension = 'wait'): Promise<void> {
  await client.must(`POST /channels/create?channelId=${id}&endpoint=Local/${extension}@conformance&app=${app.name}`);
  await app.about(id, 'StasisStart');
}

/** Makes one channel of each kind. */
export async function makeCalls(client: Client, app: App): Promise<Calls> {
  const [up, down, ringing, caller] = ['up', 'down', 'ringing', 'caller'].map((word) => client.unique(word)) as [
    string,
    string,
    string,
    string,
  ];
  await callUp(client, app, up);
  await create(client, app, down);
  await create(client, app, ringing, 'ringing');
  await client.must(`POST /channels/${ringing}/dial`);
  await app.about(ringing, 'ChannelStateChange');
  const ring = await callIn(client, app, caller);
  return { up, down, ringing, ring, free: `${up};2`, nobody: client.unique('nobody'), app: app.name };
}

/**
 * The variables that are shown with a channel. Asterisk keeps what it shows until something else of the channel
 * changes: so its account code is made to change first.
 */
export async function shownVariables(client: Client, id: string): Promise<Record<string, string> | undefined> {
  const code = client.unique('code');
  await client.must(`POST /channels/${id}/variable?variable=CHANNEL(accountcode)&value=${code}`);
  const channel = await client.must<{ channelvars?: Record<string, string>; accountcode: string }>(
    `GET /channels/${id}`,
  );
  assert.is(channel.accountcode, code);
  return channel.channelvars;
}

/** Hangs up every channel and waits until all are gone. */
export async function hangupAll(client: Client): Promise<void> {
  for (;;) {
    const channels = await client.must<{ id: string }[]>('GET /channels');
    const [first] = channels;
    if (!first) return;
    for (const { id } of channels) await client.ask(`DELETE /channels/${encodeURIComponent(id)}`);
  }
}

/** Opens the server that is asked before a suite, and leaves it without channels after it. */
export function usesTarget(
  test: Pick<Test, 'before' | 'after'>,
  begin: (client: Client) => void | Promise<void>,
  ...target: Parameters<typeof openTarget>
): void {
  let client: Client;
  test.before(async () => {
    client = new Client(await openTarget(...target));
    await begin(client);
  });
  test.after(async () => {
    await hangupAll(client);
    await client.close();
    await client.target.close();
  });
}
