import type { Context } from 'hono';
import type { ChosenId, Claims, Kind } from '../cluster/claims.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { AriError } from '../models/errors.ts';
import type { Env } from './env.ts';
import { type Gather, gatherings, splitSources } from './gathering.ts';
import { keyOf } from './idempotency.ts';
import { type Answer, type Asked, type NamedObject, type ObjectReader, objectReaderOf } from './named-objects.ts';
import type { Operation } from './operation.ts';
import { remoteOf } from './remote-request.ts';
import type { Responder } from './responses.ts';

/** Carries out a request of a cluster: here, where its object is, or on all nodes. @throws AriError */
export type Elsewhere = (c: Context<Env>, asked: Asked) => Answer;

type ElsewhereDeps = {
  cluster: Pick<
    Cluster,
    | 'name'
    | 'ask'
    | 'phones'
    | 'claims'
    | 'markedNode'
    | 'nodeOfChannel'
    | 'isAway'
    | 'others'
    | 'mostOctets'
    | 'hit'
    | 'refreshApplications'
  >;
  /** Whether this node has an object. */
  isHere(kind: Kind, id: string): boolean;
  /** Whether calls to an endpoint reach it from this node; undefined for what is no phone of ours. */
  isOnline(endpoint: string): boolean | undefined;
  /** Whether an application is connected, as far as this node knows. */
  isActive(application: string): boolean;
  responder: Pick<Responder, 'empty'>;
};

type NamedKind = 'application' | 'endpoint';

/** The parameters of operations that name what has no id, read once. */
const naming = new WeakMap<Operation, Readonly<Record<NamedKind, readonly string[]>>>();

function namingOf(operation: Operation): Readonly<Record<NamedKind, readonly string[]>> {
  const known = naming.get(operation);
  if (known) return known;
  const params = Object.entries(operation.params);
  const those = (kind: NamedKind) => params.filter(([, { names }]) => names === kind).map(([name]) => name);
  const found = { application: those('application'), endpoint: those('endpoint') };
  naming.set(operation, found);
  return found;
}

/** What a request names in its path or query, or in its body. */
function namedIn(c: Context<Env>, { operation, sources: { query, form, json } }: Asked, kind: NamedKind): string[] {
  const found: string[] = [];
  for (const name of namingOf(operation)[kind]) {
    const member = (json as Record<string, unknown> | undefined)?.[name];
    const given = c.req.param(name) ?? (typeof member === 'string' ? member : (query?.get(name) ?? form?.get(name)));
    if (given !== undefined && given !== null && given !== '') found.push(given);
  }
  return found;
}

/** Where an object is: on a node, or on none that is known. */
type Place = { object: NamedObject; node: string | undefined };

/** The one node of all these objects; undefined if none is placed. @throws AriError spansNodes */
export function nodeOfAll(places: readonly Place[]): string | undefined {
  let first: (Place & { node: string }) | undefined;
  for (const { object, node } of places) {
    if (node === undefined) continue;
    first ??= { object, node };
    if (node !== first.node)
      throw new AriError('spansNodes', {
        ...{ one: first.object.id, node: first.node, other: object.id, otherNode: node },
      });
  }
  return first?.node;
}

/** Takes the ids that clients have chosen, before their objects are created. */
function withIds(
  { claims, isHere }: { claims: Claims; isHere: ElsewhereDeps['isHere'] },
  objects: readonly NamedObject[],
  run: () => Answer,
): Answer {
  const taken: ChosenId[] = [];
  const settle = (): void => {
    for (const { kind, id } of taken) claims.settle(kind, id, isHere(kind, id));
  };
  const runSettled = (): Answer => {
    let answer: Answer | undefined;
    try {
      answer = run();
    } finally {
      if (!(answer instanceof Promise)) settle();
    }
    return answer instanceof Promise ? answer.finally(settle) : answer;
  };
  const later: ChosenId[] = [];
  for (const { kind, id, isNew } of objects) {
    if (!isNew || kind === 'call') continue;
    const isTaken = claims.claimAtOnce(kind, id);
    if (isTaken === undefined) later.push({ kind, id });
    else if (isTaken) taken.push({ kind, id });
  }
  if (later.length === 0) return runSettled();
  const takeAll = async (): Promise<Response> => {
    try {
      for (const each of later) if (await claims.claim(each.kind, each.id)) taken.push(each);
    } catch (error) {
      settle();
      throw error;
    }
    return runSettled();
  };
  return takeAll();
}

/** The reason phrase is that of the answer that was chosen: others, our own too, may have set theirs. */
const chosen = async (c: Context<Env>, answer: Promise<Response>): Promise<Response> => {
  const say = (reason: string): void => {
    if (c.env?.outgoing) c.env.outgoing.statusMessage = reason;
  };
  try {
    const given = await answer;
    say(given.statusText);
    return given;
  } catch (error) {
    say('');
    throw error;
  }
};

/** Names begin with the technology. */
const isChannelName = (kind: Kind, id: string): boolean => kind === 'channel' && id.includes('/');

/** Operations that make a channel to an endpoint. */
const callsPhones: ReadonlySet<string> = new Set(['channels.originate', 'channels.originateWithId', 'channels.create']);

/** Operations that the node of the bridge carries out, wherever the channels are. */
const spanning: ReadonlySet<string> = new Set(['bridges.addChannel', 'bridges.removeChannel']);

/** Decides for each request where it is carried out. */
export function createElsewhere({ cluster, isHere, isOnline, isActive, responder }: ElsewhereDeps): Elsewhere {
  const { claims } = cluster;
  const readers = new Map<Operation, ObjectReader>();

  const objectsOf = (c: Context<Env>, { operation, sources }: Asked): NamedObject[] => {
    let reader = readers.get(operation);
    if (!reader) {
      reader = objectReaderOf(operation);
      readers.set(operation, reader);
    }
    return reader(c, sources);
  };

  /** An id that a client chose has a claim; a name of a channel has none. */
  const nodeOf = async (kind: Kind, id: string): Promise<string | undefined> =>
    (await claims.nodeOf(kind, id)) ?? (isChannelName(kind, id) ? cluster.nodeOfChannel(id) : undefined);

  const placeOf = (object: NamedObject): Place | Promise<Place> => {
    const { kind, id, isNew } = object;
    if (kind !== 'call' && !isNew && isHere(kind, id)) return { object, node: cluster.name };
    const marked = cluster.markedNode(id);
    if (marked !== undefined || isNew || kind === 'call') return { object, node: marked };
    return nodeOf(kind, id).then((node) => ({ object, node }));
  };

  const ask: Gather['ask'] = async (node, c, asked, url) => {
    if (cluster.isAway(node)) throw new AriError('nodeUnavailable', { node, why: 'it is away' });
    const answer = await cluster.ask(node, remoteOf(c, asked, url));
    // The CORS headers are those of the node that received the request.
    for (const [name, value] of responder.empty(c.req.raw, 204).headers)
      if (name.startsWith('access-control-') || name === 'vary') answer.headers.set(name, value);
    return answer;
  };
  const perform = (objects: readonly NamedObject[], { run, sources }: Asked): Answer =>
    objects.some(({ isNew }) => isNew) ? withIds({ claims, isHere }, objects, () => run(sources)) : run(sources);

  /** An application may have connected to another node a moment ago. */
  const withApplications = (c: Context<Env>, asked: Asked, run: () => Answer): Answer => {
    const applications = asked.operation.changesNothing ? [] : namedIn(c, asked, 'application');
    return applications.every(isActive) ? run() : cluster.refreshApplications().then(run);
  };

  const here = (c: Context<Env>, objects: readonly NamedObject[], asked: Asked): Answer =>
    withApplications(c, asked, () => perform(objects, asked));

  /** The phone that a request calls and that is not registered at this node. */
  const phoneElsewhere = (c: Context<Env>, asked: Asked): string | undefined => {
    if (!callsPhones.has(`${asked.operation.resource}.${asked.operation.nickname}`)) return undefined;
    return namedIn(c, asked, 'endpoint').find((endpoint) => isOnline(endpoint) === false);
  };

  /** A phone is called by the node where it is registered. A repeated request goes to the node that has the answer. */
  const anyNode = (c: Context<Env>, objects: readonly NamedObject[], asked: Asked): Answer => {
    const key = keyOf(c, asked.user);
    const phone = phoneElsewhere(c, asked);
    if (key === undefined && phone === undefined) return here(c, objects, asked);
    const nodeFor = async (): Promise<string> => {
      const best = (phone === undefined ? undefined : await cluster.phones.nodeOf(phone)) ?? cluster.name;
      return key === undefined ? best : claims.nodeOfRequest(asked.user.name, key, best);
    };
    return nodeFor().then((node) => (node === cluster.name ? here(c, objects, asked) : chosen(c, ask(node, c, asked))));
  };

  const go = (c: Context<Env>, asked: Asked, places: readonly Place[]): Answer => {
    const node = nodeOfAll(places);
    if (node !== undefined && node !== cluster.name) return chosen(c, ask(node, c, asked));
    const objects = places.map(({ object }) => object);
    return node === undefined ? anyNode(c, objects, asked) : here(c, objects, asked);
  };

  const gather: Gather = { ...{ cluster, ask }, octets: { held: 0 } };

  return (c, asked) => {
    const { operation } = asked;
    if (operation.upgrade) return asked.run(asked.sources);
    const objects = objectsOf(c, asked);
    // It was decided by the node that sent it.
    if (c.env?.forwarded) return here(c, objects, asked);
    const name = `${operation.resource}.${operation.nickname}`;
    if (name === 'applications.subscribe' || name === 'applications.unsubscribe')
      return withApplications(c, asked, () =>
        chosen(
          c,
          splitSources(gather, c, asked, async (object) => (await placeOf(object)).node),
        ),
      );
    const gathering = gatherings[name];
    if (gathering) return chosen(c, gathering(gather, c, asked));
    if (objects.length === 0) return anyNode(c, objects, asked);
    // The path is first: it names the bridge.
    const places = (spanning.has(name) ? objects.slice(0, 1) : objects).map(placeOf);
    if (places.some((place) => place instanceof Promise))
      return Promise.all(places).then((known) => go(c, asked, known));
    return go(c, asked, places as Place[]);
  };
}
