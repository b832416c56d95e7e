import type { Applications } from '../actors/applications.ts';
import type { Clock } from '../lib/clock.ts';
import { markOf } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { ClusterNode, NodeFigures } from '../models/cluster-node.ts';
import { createAnswers } from './answers.ts';
import type { HandedOver, HandOverAsked } from './arrivals.ts';
import { type Claims, createClaims, type Kind } from './claims.ts';
import { createForwards, type ForwardFigures, type Forwards, type RemoteRequest } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import { type ClusterLink, type LinkState, upWait, watchLink } from './link.ts';
import { type Beat, createMembers, type Members } from './members.ts';
import { type ClaimedName, createNamedLink, holderOf, type NamedLink, nodeKey } from './named-link.ts';
import { forget, shownNodes } from './node-list.ts';
import { answerPhones, createPhones, type Phones, type PhonesHere } from './phones.ts';
import { createPresence, type Presence } from './presence.ts';
import type { PresenceChange, PresenceList } from './presence-messages.ts';
import { createReplica, type Replica, type ReplicaFigures, type StateSource, stateSubject } from './replica.ts';
import { createSharedStates, type SharedChange, type SharedList, type SharedStates } from './shared-states.ts';
import { createTakeovers, type StandIn, type Takeovers } from './takeovers.ts';

/** Settings of a node; times in ms, sizes in octets. */
type ClusterSettings = {
  name: string;
  cluster: string;
  requestTimeoutMs: number;
  heartbeatMs: number;
  suspectAfterMs: number;
  awayAfterMs: number;
  /** Time without NATS after which this node is isolated; 0: never. */
  isolatedAfterMs: number;
  retryMs: number;
  awaitMs: number;
  movedOctets: number;
  requests: number;
  octets: number;
  piece: number;
  streams: number;
  ids: number;
  nodes: number;
  /** Shared states of each node. */
  states: number;
};

/** The parts of the server that the cluster needs, given when the server has been built. */
type Served = {
  /** Carries out a request of another node. */
  carryOut(request: RemoteRequest): Promise<Response>;
  /** Whether this node has an object. */
  isHere(kind: Kind, id: string): boolean;
  phones: PhonesHere;
  figures(): NodeFigures;
  /** Hears that NATS was not reached for `isolatedAfterMs`, and whenever it is reached. */
  isolated(is: boolean): void;
};

type ClusterFigures = ForwardFigures & {
  /** Of the state that NATS keeps; undefined if it keeps none. */
  replica?: ReplicaFigures;
  /** Lost nodes whose calls go on here. */
  standIns?: number;
  link: LinkState;
  members: number;
  ids: number;
  eventsOut: number;
  eventsIn: number;
  eventsLost: number;
};

/** This server as a node of a cluster. Actors know nothing of it. */
export interface Cluster {
  readonly name: string;
  /** Most octets of answers that are gathered at the same time. */
  readonly mostOctets: number;
  readonly claims: Claims;
  readonly ask: Forwards['ask'];
  /** The node whose mark an id has; undefined for an id without one, and for a name that no node has. */
  markedNode(id: string): string | undefined;
  /** The other nodes: those that can be asked, and those that are away. */
  others(): { asked: string[]; away: string[] };
  readonly phones: Phones;
  readonly states: Pick<SharedStates, 'tell' | 'parts' | 'set' | 'know' | 'use'>;
  /** Whether a node is known to be away. */
  isAway(node: string): boolean;
  nodes(): ClusterNode[];
  /**
   * Removes a node that was lost and does not come back. Ids that clients chose for its objects are free again.
   * @throws (rejects) AriError nodeNotFound, nodeAnswers, clusterUnavailable
   */
  forget(node: string): Promise<void>;
  /** As {@link Applications.connect}; the applications are connected with the whole cluster. */
  connect: Applications['connect'];
  /** As {@link Presence.bring}. */
  bring: Presence['bring'];
  handedOver: Presence['handedOver'];
  isAwaited: Presence['isAwaited'];
  /** As {@link Presence.refresh}. */
  refreshApplications(): Promise<void>;
  /** Begins to take part. */
  serve(served: Served): void;
  hit(limit: string): void;
  figures(): ClusterFigures;
  /** Has the calls of lost nodes end as those of this server, which is about to stop, and takes none over any more. */
  endStandIns(): Promise<void>;
  close(): Promise<void>;
}

type ClusterOptions = {
  settings: ClusterSettings;
  link: ClusterLink;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  applications: Parameters<typeof createPresence>[0]['applications'];
  /** Resolves when the recorder has all events so far. */
  recorded(): Promise<void>;
  /** When the calls that it goes on with were saved, in ms since the Unix epoch. */
  savedAt?: number | undefined;
  /** Another server has the name of this node, and may go on with its calls. */
  overtaken?(): void;
  /** Goes on with the calls of other nodes that are lost; left out: it does not. */
  takesOver?: {
    afterMs: number;
    silentAfterMs: number;
    most: number;
    /** As {@link Takeovers} needs it. @param link reads the state of the node */
    start(node: string, claimed: ClaimedName, link: NamedLink): Promise<StandIn | undefined>;
  };
  /** The process, if it has the name already; else a new one. */
  process?: { epoch: string; term: number } | undefined;
  /** Makes a name that no process had before. */
  newId(): string;
  /** Counts a bound of `cluster` that was met. */
  hit(setting: string): void;
  /** The state that NATS keeps; left out: none. */
  replicated?: { source: StateSource; version: number; intervalMs: number; mostWaiting: number };
};

/** A heartbeat as a node sent it; undefined for something else. */
function beatOf(head: Record<string, unknown> | undefined): Beat | undefined {
  const { name, epoch, term, revision, figures } = head ?? {};
  if (typeof name !== 'string' || typeof epoch !== 'string' || typeof term !== 'number') return undefined;
  if (typeof revision !== 'number' || typeof figures !== 'object' || figures === null) return undefined;
  return head as unknown as Beat;
}

/** The subjects of a cluster. A user of NATS that may use them is trusted. */
const subjectsOf = (cluster: string) => ({
  beats: `${cluster}.beats`,
  presence: `${cluster}.presence`,
  phones: `${cluster}.phones`,
  states: `${cluster}.states`,
  /** Of one process: what is meant for a node does not reach an earlier one of its name. */
  node: (name: string, epoch: string) => `${cluster}.node.${name}.${epoch}`,
  events: (name: string, epoch: string) => `${cluster}.events.${name}.${epoch}`,
});

/** The subject of a node; undefined if its process is not known. */
const subjectTo = (members: Members, node: string, of: (name: string, epoch: string) => string): string | undefined => {
  const epoch = members.find(node)?.epoch;
  return epoch === undefined ? undefined : of(node, epoch);
};

type Parts = {
  options: ClusterOptions;
  link: NamedLink;
  subjects: ReturnType<typeof subjectsOf>;
  claims: Claims;
  presence: Presence;
  states: SharedStates;
  members: Members;
  hit(limit: string): void;
};

/** Where a node asks another one for an application. No client can ask for this: it is outside of all interfaces. */
const handOverPath = '/hand-over';

/** The applications of all nodes. */
function presenceOf(
  { settings, clock, log, applications }: ClusterOptions,
  link: NamedLink,
  { membersOf, ask, hit }: { membersOf(): Members; ask: Forwards['ask']; hit(limit: string): void },
): Presence {
  const subjects = subjectsOf(settings.cluster);
  return createPresence({
    ...{ node: settings.name, epoch: link.epoch, log, applications, clock },
    ...{ awaitMs: settings.awaitMs, timeoutMs: settings.requestTimeoutMs, mostOctets: settings.movedOctets },
    hit: () => hit('moved_events'),
    async askFor(node, asked) {
      if (membersOf().find(node)?.state === 'away') return undefined;
      const body = JSON.stringify(asked);
      const answer = await ask(node, { method: 'POST', url: handOverPath, headers: {}, user: { name: '' }, body });
      return answer.status === 200 ? ((await answer.json()) as HandedOver) : undefined;
    },
    tell: (change) => void link.publish(subjects.presence, writeFrame(change)),
    async ask(node) {
      try {
        const subject = subjectTo(membersOf(), node, subjects.node);
        if (subject === undefined) return undefined;
        const frame = writeFrame({ kind: 'applications' });
        const answered = readFrame(await link.request(subject, frame, settings.requestTimeoutMs));
        return answered?.head as PresenceList | undefined;
      } catch (error) {
        // The next heartbeat asks again.
        log.warn({ node, error }, 'cannot get the applications of a node');
        return undefined;
      }
    },
    send(node, frame) {
      const subject = subjectTo(membersOf(), node, subjects.events);
      return subject !== undefined && link.publish(subject, frame);
    },
  });
}

/** Entries of one list of shared states. */
const statesPage = 1_000;

/** What all nodes know together. */
function statesOf(
  { settings, clock, log }: ClusterOptions,
  link: NamedLink,
  { membersOf, hit }: { membersOf(): Members; hit(limit: string): void },
): SharedStates {
  const { name, states: most, requestTimeoutMs } = settings;
  const subjects = subjectsOf(settings.cluster);
  return createSharedStates({
    ...{ node: name, epoch: link.epoch, log, now: () => clock.now(), most, hit: () => hit('states'), page: statesPage },
    send: (change) => void link.publish(subjects.states, writeFrame(change)),
    async ask(node, after) {
      const subject = subjectTo(membersOf(), node, subjects.node);
      if (subject === undefined) return undefined;
      const answer = await link.request(subject, writeFrame({ kind: 'states', after }), requestTimeoutMs);
      const list = readFrame(answer)?.head;
      return Array.isArray(list?.['entries']) ? (list as SharedList) : undefined;
    },
    isFirst: () =>
      membersOf()
        .list()
        .every((other) => other.state === 'away' || name < other.name),
  });
}

/** Hears what other nodes say, and answers what they ask. @returns a function that drops answers which are read in pieces */
function listen(
  { options, link, subjects, presence, states, members, hit }: Parts,
  { carryOut, phones }: Served,
): () => void {
  const { settings, clock, log } = options;
  const { name } = settings;
  const hear = (subject: string, take: (data: Uint8Array) => void): void =>
    void link.hear(subject, (data) => {
      try {
        take(data);
      } catch (error) {
        log.error({ subject, error }, 'a message of the cluster could not be handled');
      }
    });
  const handOver = async ({ body = '' }: RemoteRequest): Promise<Response> => {
    await options.recorded();
    const given = presence.handOver(JSON.parse(body) as HandOverAsked);
    return given ? Response.json(given) : new Response(null, { status: 204 });
  };
  const answers = createAnswers({
    ...{ clock, log, newId: options.newId, piece: settings.piece },
    carryOut: (request) => (request.url === handOverPath ? handOver(request) : carryOut(request)),
    ...{ idleMs: settings.requestTimeoutMs, most: { requests: settings.requests, streams: settings.streams }, hit },
  });
  link.serve(subjects.node(name, link.epoch), async (data) => {
    const asked = readFrame(data);
    if (asked?.head['kind'] === 'applications') return writeFrame(presence.list());
    if (asked?.head['kind'] === 'states') return writeFrame(states.list(String(asked.head['after'])));
    return (asked && (await answerPhones(asked, phones, log))) ?? answers.answer(data);
  });
  hear(subjects.events(name, link.epoch), (data) => presence.take(data));
  hear(subjects.phones, (data) => {
    const { node, phone } = readFrame(data)?.head ?? {};
    if (node !== name) phones.moved(phone as object);
  });
  hear(subjects.states, (data) => {
    const change = readFrame(data)?.head as SharedChange | undefined;
    if (change && change.node !== name && members.find(change.node)) states.change(change);
  });
  hear(subjects.presence, (data) => {
    const change = readFrame(data)?.head as PresenceChange | undefined;
    if (change && change.node !== name && members.find(change.node)) presence.change(change);
  });
  hear(subjects.beats, (data) => {
    const heard = beatOf(readFrame(data)?.head);
    if (!heard) return;
    if (heard.name !== name) members.hear(heard);
    else if (!heard.leaves) link.heard(heard);
  });
  return answers.close;
}

/** Tells the others about this node, from when it serves to its end. */
function createTelling(parts: Parts) {
  const { options, link, subjects, claims, presence, states, members } = parts;
  const { settings, clock, log } = options;
  const { name } = settings;
  let served: Served | undefined;
  let timer: unknown;
  let dropAnswers = (): void => {};
  let stopWatching = (): void => {};
  const tell = (figures: NodeFigures, leaves?: true): void => {
    const own: Beat = {
      ...{ name, epoch: link.epoch, term: link.term, revision: presence.revision },
      ...{ states: states.revision, figures, ...(leaves && { leaves }) },
    };
    link.publish(subjects.beats, writeFrame(own));
  };
  const beat = (): void => {
    if (served) tell(served.figures());
  };
  const beatOn = (): void => {
    beat();
    if (served) claims.sweep(served.isHere);
    timer = clock.setTimeout(beatOn, settings.heartbeatMs);
  };
  /** Runs each time the link is up. */
  const join = async (isHere: Served['isHere']): Promise<void> => {
    beat();
    for (const key of await link.keys('node')) {
      const other = key.slice(nodeKey('').length);
      const row = other === name ? undefined : await link.find(key);
      // One that has left meanwhile is none any more.
      if (row !== undefined) members.know(other, holderOf(row)?.epoch);
    }
    await claims.renew(isHere);
  };
  return {
    beat,
    begin(given: Served): void {
      served = given;
      dropAnswers = listen(parts, given);
      stopWatching = watchLink(link, { clock, afterMs: settings.isolatedAfterMs }, given.isolated);
      const whenUp = (state: LinkState): void => {
        if (state !== 'up') return;
        join(given.isHere).catch((error: unknown) =>
          log.warn({ error }, 'cannot read the ids of the cluster; the next connection tries again'),
        );
      };
      link.onState(whenUp);
      whenUp(link.state);
      beatOn();
    },
    figures: () => served?.figures(),
    /** @returns a function that says once more that this node has left */
    end(): () => void {
      const figures = served?.figures();
      const leave = (): void => {
        if (figures) tell(figures, true);
      };
      leave();
      clock.clearTimeout(timer);
      dropAnswers();
      stopWatching();
      served = undefined;
      return leave;
    },
  };
}

/** The state of this node at NATS. */
function replicaOf({ replicated, settings, clock, log }: ClusterOptions, link: NamedLink, hit: Cluster['hit']) {
  if (!replicated) return undefined;
  return createReplica({
    ...{ link, subject: stateSubject(settings.cluster, settings.name), clock, log, ...replicated },
    ...{ retryMs: settings.retryMs, piece: settings.piece, hit: () => hit('replica_unsent') },
  });
}

/** Looks for lost nodes, whose calls can go on here. */
function takeoversOf(
  options: ClusterOptions,
  { link, members, hit, subjects }: Pick<Parts, 'link' | 'members' | 'hit' | 'subjects'>,
): Takeovers | undefined {
  const { settings, clock, log, tables, takesOver } = options;
  if (!takesOver) return undefined;
  const { name, cluster, requestTimeoutMs, heartbeatMs } = settings;
  return createTakeovers({
    ...{ link, members, clock, log, tables, cluster, requestTimeoutMs, lookMs: heartbeatMs / 2 },
    ...{ ...takesOver, hit: () => hit('stand_ins'), newEpoch: options.newId },
    start: (node, claimed) => takesOver.start(node, claimed, link),
    async forget(node) {
      await link.trim(stateSubject(cluster, node));
      await forget({ name, link, members, beats: subjects.beats }, node, true);
    },
  });
}

/** Makes this server a node. It takes part from {@link Cluster.serve} on. */
export function createCluster(options: ClusterOptions): Cluster {
  const { settings, clock, log } = options;
  const { name } = settings;
  const subjects = subjectsOf(settings.cluster);
  const link = createNamedLink({ ...options, ...settings, epoch: options.newId(), ...options.process });
  const hit = (limit: string): void => options.hit(`cluster.${limit}`);
  const forwards = createForwards({
    ...{ link, subjectOf: (node) => subjectTo(members, node, subjects.node), timeoutMs: settings.requestTimeoutMs },
    ...{ most: settings.requests, hit: () => hit('requests') },
  });
  const claims = createClaims({
    ...{ link, node: name, most: settings.ids, hit: () => hit('ids'), log },
    isNode: async (node) =>
      node === name || members.find(node) !== undefined || (await link.find(nodeKey(node))) !== undefined,
  });
  const presence = presenceOf(options, link, { membersOf: () => members, ask: forwards.ask, hit });
  const states = statesOf(options, link, { membersOf: () => members, hit });
  const members = createMembers({
    ...{ clock, log, tables: options.tables, most: settings.nodes, hit: () => hit('nodes') },
    ...{ suspectAfterMs: settings.suspectAfterMs, awayAfterMs: settings.awayAfterMs },
    greet: () => telling.beat(),
    drop(node) {
      presence.drop(node);
      states.drop(node);
    },
    heard({ name: node, epoch: theirs, revision, states: theirStates }) {
      presence.heard(node, theirs, revision);
      if (theirStates !== undefined) states.heard(node, theirs, theirStates);
    },
  });
  const telling = createTelling({ options, link, subjects, claims, presence, states, members, hit });
  const untilUp = upWait(link, clock);
  let replica: Replica | undefined;
  let takeovers: Takeovers | undefined;

  return {
    ...{ name, mostOctets: settings.octets, claims, states, ask: forwards.ask, hit },
    serve(served) {
      telling.begin(served);
      replica = replicaOf(options, link, hit);
      takeovers = takeoversOf(options, { link, members, hit, subjects });
    },
    connect: presence.connect,
    bring: (...asked) => presence.bring(...asked),
    handedOver: (...asked) => presence.handedOver(...asked),
    isAwaited: (application) => presence.isAwaited(application),
    refreshApplications: () => presence.refresh(),
    markedNode(id) {
      const mark = markOf(id);
      return mark !== undefined && (mark === name || members.find(mark)) ? mark : undefined;
    },
    phones: createPhones({
      ...{
        name,
        link,
        members,
        subject: subjects.phones,
        subjectOf: subjects.node,
        timeoutMs: settings.requestTimeoutMs,
      },
      async epochOf(node) {
        await untilUp(settings.requestTimeoutMs);
        return holderOf(await link.find(nodeKey(node)))?.epoch;
      },
      ...{ most: settings.requests, hit: () => hit('requests') },
    }),
    isAway: (node) => members.find(node)?.state === 'away',
    others() {
      const all = members.list();
      const those = (away: boolean) => all.filter(({ state }) => (state === 'away') === away).map((each) => each.name);
      return { asked: those(false), away: those(true) };
    },
    nodes: () => shownNodes({ name, link, members, figures: telling.figures(), now: clock.now() }),
    forget: (node) => forget({ name, link, members, beats: subjects.beats }, node),
    figures: () => ({
      ...forwards.figures(),
      ...presence.figures(),
      ...{ link: link.state, ids: claims.size },
      members: members.list().filter(({ state }) => state === 'member').length + 1,
      ...(replica && { replica: replica.figures() }),
      ...(takeovers && { standIns: takeovers.standIns }),
    }),
    endStandIns: async () => takeovers?.close(),
    async close() {
      await takeovers?.close();
      const leave = telling.end();
      await replica?.close(true);
      presence.close();
      members.close();
      // Without NATS the others keep it as a node that is away.
      if (link.state === 'up') await link.release(nodeKey(name)).catch(() => {});
      // A node that has just joined may have read the name before.
      leave();
      // The message has left when this is answered.
      if (link.state === 'up') await link.find(nodeKey(name)).catch(() => {});
      await link.close();
    },
  };
}
