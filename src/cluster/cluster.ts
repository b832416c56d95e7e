import type { Applications } from '../actors/applications.ts';
import type { Clock } from '../lib/clock.ts';
import { markOf } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { ClusterNode, NodeFigures } from '../models/cluster-node.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { createAnswers } from './answers.ts';
import { type Claims, createClaims, type Kind } from './claims.ts';
import { createForwards, type ForwardFigures, type Forwards, type RemoteRequest } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import type { ClusterLink, LinkState } from './link.ts';
import { type Beat, createMembers, type Members } from './members.ts';
import { createPresence, type Presence, type PresenceChange, type PresenceList } from './presence.ts';

/** Settings of a node; times in ms, sizes in octets. */
type ClusterSettings = {
  name: string;
  cluster: string;
  requestTimeoutMs: number;
  heartbeatMs: number;
  suspectAfterMs: number;
  awayAfterMs: number;
  requests: number;
  octets: number;
  piece: number;
  streams: number;
  ids: number;
  nodes: number;
};

/** The parts of the server that the cluster needs, given when the server has been built. */
type Served = {
  /** Carries out a request of another node. */
  carryOut(request: RemoteRequest): Promise<Response>;
  /** Whether this node has an object. */
  isHere(kind: Kind, id: string): boolean;
  figures(): NodeFigures;
};

type ClusterFigures = ForwardFigures & {
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
  /** Whether a node is known to be away. */
  isAway(node: string): boolean;
  nodes(): ClusterNode[];
  /** As {@link Applications.connect}; the applications are connected with the whole cluster. */
  connect: Applications['connect'];
  /** As {@link Presence.refresh}. */
  refreshApplications(): Promise<void>;
  /** Begins to take part. */
  serve(served: Served): void;
  hit(limit: string): void;
  figures(): ClusterFigures;
  close(): Promise<void>;
}

type ClusterOptions = {
  settings: ClusterSettings;
  link: ClusterLink;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  applications: Pick<Applications, 'connect' | 'relay'>;
  /** Makes a name that no process had before. */
  newId(): string;
  /** Counts a bound of `cluster` that was met. */
  hit(setting: string): void;
};

/** A heartbeat as another node sent it; undefined for something else. */
function beatOf(head: Record<string, unknown> | undefined, self: string): Beat | undefined {
  const { name, epoch, revision, figures } = head ?? {};
  if (typeof name !== 'string' || name === self || typeof epoch !== 'string') return undefined;
  if (typeof revision !== 'number' || typeof figures !== 'object' || figures === null) return undefined;
  return head as unknown as Beat;
}

const nodeKey = (name: string): string => `node.${name}`;

/** The subjects of a cluster. A user of NATS that may use them is trusted. */
const subjectsOf = (cluster: string) => ({
  beats: `${cluster}.beats`,
  presence: `${cluster}.presence`,
  node: (name: string) => `${cluster}.node.${name}`,
  events: (name: string) => `${cluster}.events.${name}`,
});

type Parts = {
  options: ClusterOptions;
  epoch: string;
  subjects: ReturnType<typeof subjectsOf>;
  claims: Claims;
  presence: Presence;
  members: Members;
  hit(limit: string): void;
};

/** The applications of all nodes. */
function presenceOf({ settings, link, clock, log, applications }: ClusterOptions, epoch: string): Presence {
  const subjects = subjectsOf(settings.cluster);
  return createPresence({
    ...{ node: settings.name, epoch, log, applications, now: () => clock.now() },
    tell: (change) => void link.publish(subjects.presence, writeFrame(change)),
    async ask(node) {
      try {
        const frame = writeFrame({ kind: 'applications' });
        const answered = readFrame(await link.request(subjects.node(node), frame, settings.requestTimeoutMs));
        return answered?.head as PresenceList | undefined;
      } catch (error) {
        // The next heartbeat asks again.
        log.warn({ node, error }, 'cannot get the applications of a node');
        return undefined;
      }
    },
    send: (node, frame) => link.publish(subjects.events(node), frame),
  });
}

/** Hears what other nodes say, and answers what they ask. @returns a function that drops answers which are read in pieces */
function listen({ options, epoch, subjects, presence, members, hit }: Parts, { carryOut }: Served): () => void {
  const { settings, link, clock, log } = options;
  const { name } = settings;
  const hear = (subject: string, take: (data: Uint8Array) => void): void =>
    void link.hear(subject, (data) => {
      try {
        take(data);
      } catch (error) {
        log.error({ subject, error }, 'a message of the cluster could not be handled');
      }
    });
  const answers = createAnswers({
    ...{ clock, log, newId: options.newId, carryOut, piece: settings.piece },
    ...{ idleMs: settings.requestTimeoutMs, most: { requests: settings.requests, streams: settings.streams }, hit },
  });
  link.serve(subjects.node(name), async (data) =>
    readFrame(data)?.head['kind'] === 'applications' ? writeFrame(presence.list()) : answers.answer(data),
  );
  hear(subjects.events(name), (data) => presence.take(data));
  hear(subjects.presence, (data) => {
    const change = readFrame(data)?.head as PresenceChange | undefined;
    if (change && change.node !== name && members.find(change.node)) presence.change(change);
  });
  hear(subjects.beats, (data) => {
    const head = readFrame(data)?.head;
    if (head?.['name'] === name && head['epoch'] !== epoch && head['leaves'] !== true)
      log.error({ node: name }, 'another server of the cluster has the same name (cluster.name)');
    const heard = beatOf(head, name);
    if (heard) members.hear(heard);
  });
  return answers.close;
}

/** Tells the others about this node, from when it serves to its end. */
function createTelling(parts: Parts) {
  const { options, epoch, subjects, claims, presence, members } = parts;
  const { settings, link, clock, log } = options;
  const { name } = settings;
  let served: Served | undefined;
  let timer: unknown;
  let dropAnswers = (): void => {};
  const beat = (leaves?: true): void => {
    if (!served) return;
    const own: Beat = {
      name,
      epoch,
      revision: presence.revision,
      figures: served.figures(),
      ...(leaves && { leaves }),
    };
    link.publish(subjects.beats, writeFrame(own));
  };
  const beatOn = (): void => {
    beat();
    if (served) claims.sweep(served.isHere);
    timer = clock.setTimeout(beatOn, settings.heartbeatMs);
  };
  /** Runs each time the link is up. */
  const join = async (isHere: Served['isHere']): Promise<void> => {
    beat();
    await link.claim(nodeKey(name), name);
    for (const key of await link.keys('node')) {
      const other = key.slice(nodeKey('').length);
      if (other !== name) members.know(other);
    }
    await claims.renew(isHere);
  };
  return {
    beat,
    begin(given: Served): void {
      served = given;
      dropAnswers = listen(parts, given);
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
    end(): void {
      beat(true);
      clock.clearTimeout(timer);
      dropAnswers();
      served = undefined;
    },
  };
}

/** Makes this server a node. It takes part from {@link Cluster.serve} on. */
export function createCluster(options: ClusterOptions): Cluster {
  const { settings, link, clock, log } = options;
  const { name } = settings;
  const subjects = subjectsOf(settings.cluster);
  const epoch = options.newId();
  const hit = (limit: string): void => options.hit(`cluster.${limit}`);
  const forwards = createForwards({
    ...{ link, subjectOf: subjects.node, timeoutMs: settings.requestTimeoutMs },
    ...{ most: settings.requests, hit: () => hit('requests') },
  });
  const claims = createClaims({ link, node: name, most: settings.ids, hit: () => hit('ids'), log });
  const presence = presenceOf(options, epoch);
  const members = createMembers({
    ...{ clock, log, tables: options.tables, most: settings.nodes, hit: () => hit('nodes') },
    ...{ suspectAfterMs: settings.suspectAfterMs, awayAfterMs: settings.awayAfterMs },
    greet: () => telling.beat(),
    drop: (node) => presence.drop(node),
    heard: ({ name: node, epoch: theirs, revision }) => presence.heard(node, theirs, revision),
  });
  const telling = createTelling({ options, epoch, subjects, claims, presence, members, hit });

  return {
    ...{ name, mostOctets: settings.octets, claims, ask: forwards.ask, hit, serve: telling.begin },
    connect: presence.connect,
    refreshApplications: () => presence.refresh(),
    markedNode(id) {
      const mark = markOf(id);
      return mark !== undefined && (mark === name || members.find(mark)) ? mark : undefined;
    },
    isAway: (node) => members.find(node)?.state === 'away',
    others() {
      const all = members.list();
      const those = (away: boolean) => all.filter(({ state }) => (state === 'away') === away).map((each) => each.name);
      return { asked: those(false), away: those(true) };
    },
    nodes: () => shownNodes({ name, link, members, figures: telling.figures(), now: clock.now() }),
    figures: () => ({
      ...forwards.figures(),
      ...presence.figures(),
      ...{ link: link.state, ids: claims.size },
      members: members.list().filter(({ state }) => state === 'member').length + 1,
    }),
    async close() {
      telling.end();
      members.close();
      // Without NATS the others keep it as a node that is away.
      if (link.state === 'up') await link.release(nodeKey(name)).catch(() => {});
      await link.close();
    },
  };
}

/** This node and all others, by name. */
function shownNodes(of: {
  name: string;
  link: ClusterLink;
  members: Members;
  figures: NodeFigures | undefined;
  now: number;
}): ClusterNode[] {
  const { name, link, members, figures: ownFigures, now } = of;
  const own: ClusterNode = {
    ...{ name, self: true, state: link.state === 'up' ? 'member' : 'away', heard: formatTimestamp(now) },
    ...(ownFigures && { figures: ownFigures }),
  };
  const others = members.list().map(
    ({ name: other, state, beat, heardAt }): ClusterNode => ({
      ...{ name: other, self: false, state },
      ...(heardAt !== undefined && { heard: formatTimestamp(heardAt) }),
      ...(beat && { figures: beat.figures }),
    }),
  );
  return [own, ...others].sort((one, other) => (one.name < other.name ? -1 : 1));
}
