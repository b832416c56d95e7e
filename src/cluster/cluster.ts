import type { Applications } from '../actors/applications.ts';
import type { EventGroups } from '../actors/event-groups.ts';
import type { RegistrationHolders } from '../actors/registrations.ts';
import { markOf } from '../lib/ids.ts';
import { Roster } from '../lib/slot-map.ts';
import { linkAnswerCheck } from '../models/bridge-link.ts';
import type { ClusterNode } from '../models/cluster-node.ts';
import { AriError } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { NodeLost } from '../models/websocket-messages.ts';
import type { HandedOver } from './arrivals.ts';
import type { AskNode } from './bridge-link.ts';
import { type Claims, createClaims } from './claims.ts';
import type { ClusterOptions, Served } from './cluster-options.ts';
import { createForwards, type ForwardFigures, type Forwards } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import { createGroupMemberships, type GroupMemberships } from './group-memberships.ts';
import { createIdDirectory, type IdDirectory } from './id-directory.ts';
import { type LinkState, upWait } from './link.ts';
import { createMembers, type Member, type Members } from './members.ts';
import { createNamedLink, holderOf, type NamedLink, nodeKey } from './named-link.ts';
import { forget, shownNodes } from './node-list.ts';
import { createPhones, type Phones } from './phones.ts';
import { createPresence, type Presence } from './presence.ts';
import type { PresenceList } from './presence-messages.ts';
import { type ClusterRegistrations, createRegistrationHolders } from './registration-holders.ts';
import { createReplica, type Replica, type ReplicaFigures, stateSubject } from './replica.ts';
import { createSharedStates, type SharedList, type SharedStates } from './shared-states.ts';
import { createTakeovers, type Takeovers } from './takeovers.ts';
import {
  createTelling,
  handOverPath,
  membershipPath,
  movingOf,
  type Parts,
  subjectsOf,
  subjectTo,
} from './taking-part.ts';

/** A node that is lost. */
export type LostNode = Pick<NodeLost, 'node' | 'heard' | 'channels' | 'replicated'>;

/** Tells of lost nodes. */
function createLosses(replicated: boolean) {
  const listeners = new Roster<(node: LostNode) => void>();
  return {
    hear(listener: (node: LostNode) => void): () => void {
      const number = listeners.add(listener);
      return () => void listeners.remove(number);
    },
    tell({ name: node, heardAt, beat }: Member): void {
      const heard = heardAt === undefined ? {} : { heard: formatTimestamp(heardAt) };
      const lost: LostNode = { node, ...heard, channels: beat?.figures.channels ?? 0, replicated };
      for (const listener of [...listeners]) listener(lost);
    },
  };
}

type ClusterFigures = ForwardFigures & {
  /** Of the state that NATS keeps; undefined if it keeps none. */
  replica?: ReplicaFigures;
  /** Lost nodes whose calls go on here. */
  standIns?: number;
  /** Registrations at providers that this node holds. */
  registrations: number;
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
  /** Asks another node about a bridge with members at both. */
  readonly askBridge: AskNode;
  /**
   * The node that has a channel of an id or a name: one node is asked, or all that answer.
   * @param user without passwords; only a channel in its scope counts
   * @returns undefined if none says that it has it
   * @throws (rejects) AriError if the one node does not answer
   */
  nodeOfChannel(channel: string, node?: string, user?: object): Promise<string | undefined>;
  /** The node whose mark an id has; undefined for an id without one, and for a name that no node has. */
  markedNode(id: string): string | undefined;
  /** The other nodes: those that can be asked, and those that are away. */
  others(): { asked: string[]; away: string[] };
  readonly phones: Phones;
  readonly states: Pick<SharedStates, 'tell' | 'parts' | 'set' | 'know' | 'forget' | 'told' | 'use'>;
  /** Has a node use up a ticket that it made. @throws (rejects) AriError as {@link Forwards.consult} */
  redeem(node: string, digest: string): Promise<unknown>;
  /** Which node holds each registration at a provider. */
  readonly registrations: RegistrationHolders & Pick<ClusterRegistrations, 'heard' | 'isGone'>;
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
  /**
   * Shares the groups of this node with the others.
   * @returns how WebSockets join a group: at the node that has their application
   */
  shareGroups(groups: Pick<EventGroups, 'connect' | 'lose'>): EventGroups['connect'];
  /** As {@link Presence.origin}. */
  origin(): Presence['origin'];
  /** As {@link Presence.refresh}. */
  refreshApplications(): Promise<void>;
  /**
   * Hears of each node that is not heard any more, while this one has NATS.
   * @returns a function that ends it
   */
  onNodeLost(listener: (node: LostNode) => void): () => void;
  /** Begins to take part. */
  serve(served: Served): void;
  hit(limit: string): void;
  figures(): ClusterFigures;
  /**
   * Why no other node can go on with the calls of this one now, in words; undefined: one can, and NATS has the whole state.
   * Waits for NATS for `mostMs` at most.
   */
  whyNotMoved(mostMs: number): Promise<string | undefined>;
  /**
   * Has another node go on with the calls of this one at once. The state that NATS has is whole then, and the link is closed:
   * end the process directly. @throws (rejects) LinkError if NATS does not take the state within `mostMs`.
   */
  moveCalls(mostMs: number): Promise<void>;
  /** Has the calls of lost nodes end as those of this server, which is about to stop, and takes none over any more. */
  endStandIns(): Promise<void>;
  close(): Promise<void>;
}

/** The applications of all nodes. */
function presenceOf(
  { settings, clock, log, applications, callOf }: ClusterOptions,
  link: NamedLink,
  { membersOf, ask, hit }: { membersOf(): Members; ask: Forwards['ask']; hit(limit: string): void },
): Presence {
  const subjects = subjectsOf(settings.cluster);
  return createPresence({
    ...{ node: settings.name, epoch: link.epoch, log, applications, clock, callOf },
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
    // A character takes up to six octets of JSON.
    characters: Math.floor(settings.piece / 6),
    send: (change) => void link.publish(subjects.states, writeFrame(change)),
    async ask(node, after) {
      const subject = subjectTo(membersOf(), node, subjects.node);
      if (subject === undefined) return undefined;
      const answer = await link.request(subject, writeFrame({ kind: 'states', after }), requestTimeoutMs);
      const list = readFrame(answer)?.head;
      return Array.isArray(list?.['entries']) ? (list as SharedList) : undefined;
    },
    others: () =>
      membersOf()
        .list()
        .flatMap((other) => (other.state === 'away' ? [] : [other.name])),
    isFirst: () =>
      membersOf()
        .list()
        .every((other) => other.state === 'away' || name < other.name),
  });
}

/** The members of groups at all nodes. */
function membershipsOf(
  { options, link, presence, members }: Pick<Parts, 'options' | 'link' | 'presence' | 'members'>,
  groups: Pick<EventGroups, 'connect' | 'lose'>,
  ask: Forwards['ask'],
): GroupMemberships {
  const { settings, clock, log, tables, newId } = options;
  const subjects = subjectsOf(settings.cluster);
  return createGroupMemberships({
    ...{ node: settings.name, clock, log, tables, groups, retryMs: settings.retryMs, newId },
    homeOf: (application) => presence.homeOf(application),
    async ask(node, asked, user) {
      const request = { method: 'POST', url: membershipPath, headers: {}, body: JSON.stringify(asked) };
      const answer = await ask(node, { ...request, user: { name: '', ...user } });
      if (answer.status !== 200) throw new Error(`the node ${node} takes no members of groups`);
      return (await answer.json()) as Awaited<ReturnType<Parameters<typeof createGroupMemberships>[0]['ask']>>;
    },
    send(node, frame) {
      const subject = subjectTo(members, node, subjects.groups);
      if (subject !== undefined) link.publish(subject, frame);
    },
  });
}

/** The state of this node at NATS. */
function replicaOf({ replicated, settings, clock, log }: ClusterOptions, link: NamedLink, hit: Cluster['hit']) {
  if (!replicated) return undefined;
  return createReplica({
    ...{ link, subject: stateSubject(settings.cluster, settings.name), clock, log, ...replicated },
    ...{ retryMs: settings.retryMs, piece: settings.piece, hit },
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

/** Phones of other nodes. */
function phonesOf({ options, link, members, hit }: Pick<Parts, 'options' | 'link' | 'members' | 'hit'>): Phones {
  const { settings, clock } = options;
  const { name, requestTimeoutMs: timeoutMs } = settings;
  const subjects = subjectsOf(settings.cluster);
  const untilUp = upWait(link, clock);
  return createPhones({
    ...{ name, link, members, subject: subjects.phones, subjectOf: subjects.node, timeoutMs },
    async epochOf(node) {
      await untilUp(timeoutMs);
      return holderOf(await link.find(nodeKey(node)))?.epoch;
    },
    ...{ most: settings.requests, hit: () => hit('requests') },
  });
}

/** Who decides about ids that clients choose. */
function directoryOf(
  { settings, clock, log, tables }: ClusterOptions,
  link: NamedLink,
  { write, hit }: { write(): Promise<void>; hit(limit: string): void },
): IdDirectory {
  const { name, requestTimeoutMs: timeoutMs } = settings;
  const subjects = subjectsOf(settings.cluster);
  return createIdDirectory({
    ...{ link, node: name, epoch: link.epoch, clock, log, tables, write, timeoutMs, retryMs: settings.retryMs },
    ...{ mostWaiting: settings.requests, hit: () => hit('requests') },
    lostAfterMs: { gone: settings.suspectAfterMs, silent: settings.awayAfterMs },
    async ask(node, epoch) {
      const answer = await link.request(subjects.node(node, epoch), writeFrame({ kind: 'directory' }), timeoutMs);
      return readFrame(answer)?.head['shared'] === true;
    },
  });
}

/** The owners of ids that clients choose. */
const claimsOf = (
  { settings: { name, ids }, log }: ClusterOptions,
  {
    link,
    directory,
    members,
    consult,
    hit,
  }: { link: NamedLink; directory: IdDirectory; members(): Members; consult: Forwards['consult']; hit: Cluster['hit'] },
): Claims =>
  createClaims({
    ...{ link, directory, node: name, term: () => link.term, most: ids, hit: () => hit('ids'), log },
    isNode: async (node) =>
      node === name || members().find(node) !== undefined || (await link.find(nodeKey(node))) !== undefined,
    isFreeAt: (node, { kind: of, id }) =>
      consult(node, { kind: 'id', of, id }).then(
        ({ free }) => free === true,
        () => false,
      ),
  });

/** What others ask about applications. */
const applicationsOf = (presence: Presence) => ({
  connect: presence.connect,
  bring: (...asked: Parameters<Presence['bring']>) => presence.bring(...asked),
  handedOver: (...asked: Parameters<Presence['handedOver']>) => presence.handedOver(...asked),
  isAwaited: (application: string) => presence.isAwaited(application),
  origin: () => presence.origin,
  refreshApplications: () => presence.refresh(),
});

/** @throws (rejects) AriError also about a node that is away, and one of a version without bridges of several nodes. */
const askBridgeOf =
  (membersOf: () => Members, consult: Forwards['consult']): AskNode =>
  async (node, request) => {
    if (membersOf().find(node)?.state === 'away') throw new AriError('nodeUnavailable', { node, why: 'it is away' });
    const answer = await consult(node, { kind: 'bridge', request });
    if (linkAnswerCheck.fits(answer)) return answer;
    throw new AriError('nodeUnavailable', { node, why: 'it has another version' });
  };

/** As {@link Cluster.nodeOfChannel}. */
const channelSearch = (membersOf: () => Members, consult: Forwards['consult']): Cluster['nodeOfChannel'] => {
  const isAt = async (node: string, channel: string, user?: object): Promise<boolean> => {
    const { here, seen } = await consult(node, { kind: 'channel', channel, ...(user && { user }) });
    return here === true && (user === undefined || seen === true);
  };
  return async (channel, node, user) => {
    if (node !== undefined) return (await isAt(node, channel, user)) ? node : undefined;
    const looked = membersOf()
      .list()
      .filter(({ state }) => state !== 'away')
      .map(async ({ name }) => {
        if (await isAt(name, channel, user)) return name;
        throw new Error('it is not there');
      });
    return Promise.any(looked).catch(() => undefined);
  };
};

/** Asks whether the process of a node that is suspected to be lost has ended. */
async function whenGone(
  node: string,
  { link, members }: Pick<Parts, 'link' | 'members'>,
  then: () => void,
): Promise<void> {
  const epoch = members.find(node)?.epoch;
  if (epoch === undefined || !(await link.isGone(epoch))) return;
  const { state, epoch: now } = members.find(node) ?? {};
  if (state === 'suspect' && now === epoch) then();
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
  const directory = directoryOf(options, link, { write: () => claims.write(), hit });
  const claims = claimsOf(options, { link, directory, members: () => members, consult: forwards.consult, hit });
  const presence = presenceOf(options, link, { membersOf: () => members, ask: forwards.ask, hit });
  const states = statesOf(options, link, { membersOf: () => members, hit });
  const registrations = createRegistrationHolders({ node: name, states, isConnected: () => link.state === 'up' });
  const losses = createLosses(options.replicated !== undefined);
  const members = createMembers({
    ...{ clock, log, tables: options.tables, most: settings.nodes, hit: () => hit('nodes') },
    ...{ suspectAfterMs: settings.suspectAfterMs, awayAfterMs: settings.awayAfterMs },
    greet: () => telling.beat(),
    // Without NATS this node is the one that is lost.
    lost: (node) => (link.state === 'up' ? losses.tell(node) : undefined),
    suspect: (node) => void whenGone(node, { link, members }, () => registrations.gone(node)),
    drop(node) {
      presence.drop(node);
      memberships?.drop(node);
      states.drop(node);
      registrations.back(node);
    },
    heard({ name: node, epoch: theirs, revision, states: theirStates }) {
      registrations.back(node);
      presence.heard(node, theirs, revision);
      if (theirStates !== undefined) states.heard(node, theirs, theirStates);
    },
  });
  const telling = createTelling({
    ...{ options, link, subjects, claims, directory, presence, states, registrations, members, hit },
    memberships: () => memberships,
  });
  let memberships: GroupMemberships | undefined;
  let replica: Replica | undefined;
  let takeovers: Takeovers | undefined;

  return {
    ...{ name, mostOctets: settings.octets, claims, states, registrations, ask: forwards.ask, hit },
    askBridge: askBridgeOf(() => members, forwards.consult),
    serve(served) {
      telling.begin(served);
      replica = replicaOf(options, link, hit);
      takeovers = takeoversOf(options, { link, members, hit, subjects });
    },
    ...applicationsOf(presence),
    shareGroups(groups) {
      memberships = membershipsOf({ options, link, presence, members }, groups, forwards.ask);
      return memberships.connect;
    },
    redeem: async (node, digest) => (await forwards.consult(node, { kind: 'ticket', digest }))['logIn'],
    nodeOfChannel: channelSearch(() => members, forwards.consult),
    markedNode(id) {
      const mark = markOf(id);
      return mark !== undefined && (mark === name || members.find(mark)) ? mark : undefined;
    },
    phones: phonesOf({ options, link, members, hit }),
    onNodeLost: losses.hear,
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
      ...{ link: link.state, ids: claims.size, registrations: registrations.size },
      members: members.list().filter(({ state }) => state === 'member').length + 1,
      ...(replica && { replica: replica.figures() }),
      ...(takeovers && { standIns: takeovers.standIns }),
    }),
    ...movingOf({ name, link, members, telling, replica: () => replica, takeovers: () => takeovers }),
    endStandIns: async () => takeovers?.close(),
    async close() {
      await takeovers?.close();
      const leave = telling.end();
      await replica?.close(true);
      presence.close();
      members.close();
      await directory.close();
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
