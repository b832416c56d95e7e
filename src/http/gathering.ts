import type { Context } from 'hono';
import type { Cluster } from '../cluster/cluster.ts';
import type { CallPage } from '../models/call.ts';
import { AriError } from '../models/errors.ts';
import type { Env } from './env.ts';
import { type Merge, mergeObjects, merges } from './merging.ts';
import { type Asked, type NamedObject, objectOfSource } from './named-objects.ts';
import { splitList } from './parameters.ts';

/** Asks other nodes. */
export type Gather = {
  cluster: Pick<Cluster, 'name' | 'others' | 'markedNode' | 'mostOctets' | 'hit'>;
  /**
   * Has a node carry the request out, or one of the same method with another path and query.
   * @throws (rejects) AriError nodeUnavailable, clusterBusy
   */
  ask(node: string, c: Context<Env>, asked: Asked, url?: string): Promise<Response>;
  /** Octets of answers that are being gathered. */
  octets: { held: number };
};

type Gathering = (gather: Gather, c: Context<Env>, asked: Asked) => Promise<Response>;

/** Names the nodes whose objects a list lacks. */
const missingHeader = 'Hookswitch-Missing-Nodes';

/** The JSON of an answer, as far as there is room. @throws AriError clusterBusy */
async function readJson({ cluster, octets }: Gather, response: Response, room: { octets: number }): Promise<unknown> {
  const parts: Uint8Array[] = [];
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    room.octets += part.length;
    octets.held += part.length;
    if (octets.held > cluster.mostOctets) {
      cluster.hit('octets');
      throw new AriError('clusterBusy', { most: `${cluster.mostOctets} octets`, limit: 'octets' });
    }
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

type Collected = { answers: Response[]; missing: string[] };

/** The answers of this node and of all others that answer. */
async function collect({ cluster, ask }: Gather, c: Context<Env>, asked: Asked): Promise<Collected> {
  const { asked: nodes, away } = cluster.others();
  const missing = [...away];
  const others = nodes.map(async (node) => {
    try {
      return await ask(node, c, asked);
    } catch {
      missing.push(node);
      return undefined;
    }
  });
  const answers = await Promise.all([asked.run(asked.sources), ...others]);
  return { answers: answers.filter((each) => each !== undefined), missing: missing.sort() };
}

/** One answer of several, in the form of the first good one. Without a good one it is that of this node. */
async function merged(gather: Gather, { answers, missing }: Collected, merge: Merge): Promise<Response> {
  const good = answers.filter(({ ok }) => ok);
  const [first = answers[0] as Response] = good;
  for (const each of answers) if (!each.ok && each !== first) void each.body?.cancel().catch(() => {});
  const headers = new Headers(first.headers);
  if (missing.length > 0) headers.set(missingHeader, missing.join(','));
  const { status, statusText } = first;
  if (good.length === 0) return new Response(first.body, { status, statusText, headers });
  headers.delete('content-length');
  const room = { octets: 0 };
  try {
    const bodies: unknown[] = [];
    for (const each of good) bodies.push(await readJson(gather, each, room));
    return new Response(JSON.stringify(merge(bodies)), { status, statusText, headers });
  } finally {
    gather.octets.held -= room.octets;
  }
}

/** Most calls in one answer of a node. */
const pageLength = 1_000;

/** A page of the calls of one node; undefined if it does not answer. */
type AskPage = (offset: number, limit: number) => Promise<Response | undefined>;

/** The calls of one node that may be in a page of all, which ends behind `wanted`. A refusal stays as it is. */
async function firstCalls(
  gather: Gather,
  room: { octets: number },
  wanted: number,
  askPage: AskPage,
): Promise<CallPage | Response | undefined> {
  let all: CallPage | undefined;
  for (let offset = 0; ; offset += pageLength) {
    const limit = Math.min(pageLength, wanted - offset);
    const answer = await askPage(offset, limit);
    if (!answer?.ok) return answer;
    const page = (await readJson(gather, answer, room)) as CallPage;
    all = all ? { ...page, calls: [...all.calls, ...page.calls] } : page;
    if (page.next === undefined || offset + limit >= wanted) return all;
  }
}

/** One page of the calls of several nodes, newest first. */
function mergePages(pages: readonly CallPage[], offset: number, count: number): CallPage {
  const calls = pages
    .flatMap((page) => page.calls)
    .sort((one, other) => other.began - one.began)
    .slice(offset, offset + count);
  const total = pages.reduce((sum, page) => sum + page.total, 0);
  const unsearched = pages.flatMap(({ unsearched_before: before }) => (before === undefined ? [] : [before]));
  return {
    ...{ calls, total },
    ...(offset + count < total && { next: offset + count }),
    ...(unsearched.length > 0 && { unsearched_before: Math.max(...unsearched) }),
    evicted: pages.reduce((sum, page) => sum + page.evicted, 0),
  };
}

/** Everything that a request for calls gives, in one place. */
function conditionsOf({ query, form, json }: Asked['sources']): Map<string, string> {
  const given = new Map([...(form ?? []), ...(query ?? [])]);
  for (const [name, value] of Object.entries((json as object | undefined) ?? {})) given.set(name, String(value));
  return given;
}

/** A page of the calls of all nodes: each gives those that could be in it. */
const callPages: Gathering = async (gather, c, asked) => {
  const given = conditionsOf(asked.sources);
  const [offset, limit] = [Number(given.get('offset') ?? 0), Number(given.get('limit') ?? 100)];
  // This node says what is wrong with them.
  if (![offset, limit].every(Number.isSafeInteger) || offset < 0 || limit < 1) return asked.run(asked.sources);
  const count = Math.min(limit, pageLength);
  const pageAt = (from: number, most: number) =>
    new Map([...given, ['offset', String(from)], ['limit', String(most)]] as const);
  const { asked: nodes, away } = gather.cluster.others();
  const missing = new Set(away);
  const room = { octets: 0 };
  const headers = new Headers();
  const path = new URL(c.req.raw.url).pathname;
  const askHere: AskPage = async (from, most) => {
    const answer = await asked.run({ query: pageAt(from, most), form: undefined, json: undefined });
    for (const [name, value] of answer.headers) if (name !== 'content-length') headers.set(name, value);
    return answer;
  };
  const askAt =
    (node: string): AskPage =>
    (from, most) =>
      gather.ask(node, c, asked, `${path}?${new URLSearchParams([...pageAt(from, most)])}`).catch(() => {
        missing.add(node);
        return undefined;
      });
  try {
    const found = await Promise.all(
      [askHere, ...nodes.map(askAt)].map((askPage) => firstCalls(gather, room, offset + count, askPage)),
    );
    if (found[0] instanceof Response) return found[0];
    const pages = found.flatMap((page) => (page === undefined || page instanceof Response ? [] : [page]));
    if (missing.size > 0) headers.set(missingHeader, [...missing].sort().join(','));
    return new Response(JSON.stringify(mergePages(pages, offset, count)), { headers });
  } finally {
    gather.octets.held -= room.octets;
  }
};

/** All nodes answer, and their answers are one. */
const everywhere =
  (merge: Merge): Gathering =>
  async (gather, c, asked) =>
    merged(gather, await collect(gather, c, asked), merge);

/** The first node that has it answers, this one first. @throws (rejects) AriError nodeUnavailable if one that is away may have it */
const anywhere: Gathering = async ({ cluster, ask }, c, asked) => {
  const own = await asked.run(asked.sources);
  if (own.status !== 404) return own;
  const { asked: nodes, away } = cluster.others();
  let unknown = away.map((node) => new AriError('nodeUnavailable', { node, why: 'it is away' }) as Error)[0];
  for (const node of nodes) {
    try {
      const answer = await ask(node, c, asked);
      if (answer.status !== 404) return answer;
      await answer.body?.cancel();
    } catch (error) {
      unknown ??= error as Error;
    }
  }
  if (unknown) throw unknown;
  return own;
};

/** A call is on the node whose mark it has. One with an id that a client chose is on any. */
const nodeOfMark: Gathering = async (gather, c, asked) => {
  const node = gather.cluster.markedNode(c.req.param('callId') ?? '');
  if (node === undefined) return anywhere(gather, c, asked);
  return node === gather.cluster.name ? asked.run(asked.sources) : gather.ask(node, c, asked);
};

/** Operations that concern several nodes, and how. */
export const gatherings: Readonly<Record<string, Gathering>> = {
  ...Object.fromEntries(Object.entries(merges).map(([name, merge]) => [name, everywhere(merge)])),
  'calls.list': callPages,
  ...Object.fromEntries(
    ['get', 'getDiagram', 'getCapture', 'getBundle', 'mask'].map((name) => [`calls.${name}`, nodeOfMark]),
  ),
  'recordings.getStored': anywhere,
  'recordings.getStoredFile': anywhere,
  'recordings.deleteStored': anywhere,
  'recordings.copyStored': anywhere,
  // The node of the group.
  'groups.drain': anywhere,
};

/** The event sources of a request. */
function sourcesIn({ sources: { query, form, json } }: Asked): string[] {
  const member = (json as { eventSource?: unknown } | undefined)?.eventSource;
  if (Array.isArray(member)) return member.filter((each) => typeof each === 'string');
  const text = typeof member === 'string' ? member : (query?.get('eventSource') ?? form?.get('eventSource'));
  return text === undefined ? [] : splitList(text);
}

type Divided = { own: string[]; common: string[]; byNode: Map<string, string[]> };

/** Event sources by the node that has the object. Sources that are no object of a node are common. */
async function divide(
  sources: readonly string[],
  self: string,
  nodeOf: (object: NamedObject) => Promise<string | undefined>,
): Promise<Divided> {
  const divided: Divided = { own: [], common: [], byNode: new Map() };
  for (const source of sources) {
    const object = objectOfSource(source);
    const node = object && (await nodeOf(object));
    if (!object) divided.common.push(source);
    else if (node === undefined || node === self) divided.own.push(source);
    else divided.byNode.set(node, [...(divided.byNode.get(node) ?? []), source]);
  }
  return divided;
}

/** The query of a part of the sources. */
const queryFor = (sources: readonly string[]): URLSearchParams =>
  new URLSearchParams({ eventSource: sources.map((each) => `"${each}"`).join(',') });

/**
 * Subscribes or unsubscribes at each node for its own objects; sources that are no object of a node concern all. The
 * first node that refuses ends it, as the first source does on one node.
 */
export async function splitSources(
  gather: Gather,
  c: Context<Env>,
  asked: Asked,
  nodeOf: (object: NamedObject) => Promise<string | undefined>,
): Promise<Response> {
  const { cluster } = gather;
  const { own, common, byNode } = await divide(sourcesIn(asked), cluster.name, nodeOf);
  if (byNode.size === 0 && common.length === 0) return asked.run(asked.sources);
  const answers: Response[] = [];
  const forAll = common.length > 0;
  const { asked: others, away } = cluster.others();
  if (own.length > 0 || forAll) {
    const query = new Map(queryFor([...own, ...common]));
    const answer = await asked.run({ query, form: undefined, json: undefined });
    if (!answer.ok && own.length > 0) return answer;
    answers.push(answer);
  }
  const path = new URL(c.req.raw.url).pathname;
  for (const node of forAll ? new Set([...others, ...byNode.keys()]) : byNode.keys()) {
    const theirs = byNode.get(node) ?? [];
    const answer = await gather.ask(node, c, asked, `${path}?${queryFor([...theirs, ...common])}`);
    if (!answer.ok && theirs.length > 0) return answer;
    answers.push(answer);
  }
  return merged(gather, { answers, missing: forAll ? away : [] }, (bodies) =>
    mergeObjects(bodies as Record<string, unknown>[]),
  );
}
