import type { NodeFigures } from '../models/cluster-node.ts';
import { createAnswers } from './answers.ts';
import type { HandOverAsked } from './arrivals.ts';
import type { Claims, Kind } from './claims.ts';
import type { ClusterOptions, Served } from './cluster-options.ts';
import type { RemoteRequest } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import type { GroupMemberships, MembershipAsked } from './group-memberships.ts';
import type { IdDirectory } from './id-directory.ts';
import { watchLink } from './link.ts';
import type { Beat, Member, Members } from './members.ts';
import { holderOf, type NamedLink, nodeKey } from './named-link.ts';
import { answerPhones } from './phones.ts';
import type { Presence } from './presence.ts';
import type { PresenceChange } from './presence-messages.ts';
import type { ClusterRegistrations } from './registration-holders.ts';
import type { Replica } from './replica.ts';
import type { SharedChange, SharedStates } from './shared-states.ts';
import type { Takeovers } from './takeovers.ts';

/** What a node tells the others, and how it answers them. */

/** The subjects of a cluster. A user of NATS that may use them is trusted. */
export const subjectsOf = (cluster: string) => ({
  beats: `${cluster}.beats`,
  presence: `${cluster}.presence`,
  phones: `${cluster}.phones`,
  states: `${cluster}.states`,
  /** Of one process: what is meant for a node does not reach an earlier one of its name. */
  node: (name: string, epoch: string) => `${cluster}.node.${name}.${epoch}`,
  events: (name: string, epoch: string) => `${cluster}.events.${name}.${epoch}`,
  groups: (name: string, epoch: string) => `${cluster}.groups.${name}.${epoch}`,
});

/** The subject of a node; undefined if its process is not known. */
export const subjectTo = (
  members: Members,
  node: string,
  of: (name: string, epoch: string) => string,
): string | undefined => {
  const epoch = members.find(node)?.epoch;
  return epoch === undefined ? undefined : of(node, epoch);
};

/** Where a node asks another one for an application. No client can ask for this: it is outside of all interfaces. */
export const handOverPath = '/hand-over';

/** Where a node asks another one to take a member of a group. */
export const membershipPath = '/membership';

export type Parts = {
  options: ClusterOptions;
  link: NamedLink;
  subjects: ReturnType<typeof subjectsOf>;
  claims: Claims;
  directory: IdDirectory;
  presence: Presence;
  states: SharedStates;
  registrations: ClusterRegistrations;
  members: Members;
  memberships(): GroupMemberships | undefined;
  hit(limit: string): void;
};

/** A heartbeat as a node sent it; undefined for something else. */
function beatOf(head: Record<string, unknown> | undefined): Beat | undefined {
  const { name, epoch, term, revision, figures } = head ?? {};
  if (typeof name !== 'string' || typeof epoch !== 'string' || typeof term !== 'number') return undefined;
  if (typeof revision !== 'number' || typeof figures !== 'object' || figures === null) return undefined;
  return head as unknown as Beat;
}

/** Hears what other nodes say, and answers what they ask. @returns a function that drops answers which are read in pieces */
function listen(
  { options, link, subjects, claims, directory, presence, states, members, memberships, hit }: Parts,
  { carryOut, phones, bridges, narrowOf, hasChannel, seesChannel, isHere, redeem }: Served,
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
  const takeMember = ({ body = '', user }: RemoteRequest): Response => {
    const answer = memberships()?.take(JSON.parse(body) as MembershipAsked, user, narrowOf(user));
    return answer ? Response.json(answer) : new Response(null, { status: 204 });
  };
  const own: Readonly<Record<string, (request: RemoteRequest) => Response | Promise<Response>>> = {
    [handOverPath]: handOver,
    [membershipPath]: takeMember,
  };
  const answers = createAnswers({
    ...{ clock, log, newId: options.newId, piece: settings.piece },
    carryOut: async (request) => (own[request.url] ?? carryOut)(request),
    ...{ idleMs: settings.requestTimeoutMs, most: { requests: settings.requests, streams: settings.streams }, hit },
  });
  link.serve(subjects.node(name, link.epoch), async (data) => {
    const asked = readFrame(data);
    if (asked?.head['kind'] === 'applications') return writeFrame(presence.list());
    if (asked?.head['kind'] === 'states') return writeFrame(states.list(String(asked.head['after'])));
    if (asked?.head['kind'] === 'ticket') return writeFrame({ logIn: redeem(String(asked.head['digest'])) });
    if (asked?.head['kind'] === 'directory') return writeFrame({ shared: await directory.share() });
    if (asked?.head['kind'] === 'bridge') return writeFrame(await bridges(asked.head['request']));
    if (asked?.head['kind'] === 'channel') {
      const { channel, user } = asked.head;
      const here = hasChannel(String(channel));
      return writeFrame({
        here,
        ...(here && user !== undefined && { seen: seesChannel(user as object, String(channel)) }),
      });
    }
    if (asked?.head['kind'] === 'id') {
      const [kind, id] = [asked.head['of'] as Kind, String(asked.head['id'])];
      return writeFrame({ free: !claims.holds(kind, id) && !isHere(kind, id) });
    }
    return (asked && (await answerPhones(asked, phones, log))) ?? answers.answer(data);
  });
  hear(subjects.events(name, link.epoch), (data) => presence.take(data));
  hear(subjects.groups(name, link.epoch), (data) => memberships()?.hear(data));
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

/** Has this node hold registrations at providers from when it knows the others, or has waited for that. */
function createHolding({ options, link, states, registrations, members }: Parts) {
  const { clock, settings } = options;
  let hasJoined = false;
  let wasUp = false;
  const isKnown = (): boolean =>
    hasJoined && members.list().every(({ name, state }) => state === 'away' || states.isRead(name));
  const timer = clock.setTimeout(() => registrations.begin(), settings.registerAfterMs);
  return {
    joined(): void {
      hasJoined = true;
    },
    look(served: Served): void {
      registrations.enter(link.isExcluded ? 'isolated' : served.readiness());
      if (isKnown()) registrations.begin();
      if (link.state === 'up' && !wasUp) registrations.reconnected();
      wasUp = link.state === 'up';
    },
    end: () => clock.clearTimeout(timer),
  };
}

/** Tells the others about this node, from when it serves to its end. */
export function createTelling(parts: Parts) {
  const { options, link, subjects, claims, directory, presence, states, members } = parts;
  const { settings, clock, log } = options;
  const { name } = settings;
  let served: Served | undefined;
  let holding: ReturnType<typeof createHolding> | undefined;
  let timer: unknown;
  let joining: unknown;
  let dropAnswers = (): void => {};
  let stopWatching = (): void => {};
  const tell = (figures: NodeFigures, ends: Pick<Beat, 'leaves' | 'moves'> = {}): void => {
    const own: Beat = {
      ...{ name, epoch: link.epoch, term: link.term, revision: presence.revision },
      ...{ states: states.revision, figures, ...ends },
    };
    link.publish(subjects.beats, writeFrame(own));
  };
  const beat = (): void => {
    if (served) tell(served.figures());
  };
  const beatOn = (): void => {
    beat();
    if (served) {
      claims.sweep(served.isHere);
      directory.beat(members.list().length === 0);
      holding?.look(served);
    }
    parts.memberships()?.beat();
    timer = clock.setTimeout(beatOn, settings.heartbeatMs);
  };
  /** Runs each time the link is up. */
  const join = async (isHere: Served['isHere']): Promise<void> => {
    beat();
    for (const key of await link.keys('node')) {
      const other = key.slice(nodeKey('').length);
      const row = other === name ? undefined : await link.find(key);
      // One that has left meanwhile is none any more.
      if (row === undefined) continue;
      members.know(other, holderOf(row)?.epoch);
      // Its last words may have been heard before the row came that was read earlier.
      if (!members.find(other)?.beat && (await link.find(key)) === undefined) members.forget(other);
    }
    holding?.joined();
    await claims.renew(isHere);
  };
  return {
    beat,
    begin(given: Served): void {
      served = given;
      dropAnswers = listen(parts, given);
      claims.know(given.chosenIds());
      directory.begin();
      holding = createHolding(parts);
      stopWatching = watchLink(link, { clock, afterMs: settings.isolatedAfterMs }, given.isolated);
      const joinIfUp = (): void => {
        clock.clearTimeout(joining);
        if (link.state !== 'up' || !served) return;
        join(given.isHere).catch((error: unknown) => {
          log.warn({ error }, 'cannot read the ids of the cluster; it is tried again');
          joining = clock.setTimeout(joinIfUp, settings.retryMs);
        });
      };
      link.onState(joinIfUp);
      joinIfUp();
      beatOn();
    },
    figures: () => served?.figures(),
    /** @param how `moves`: another node is to go on with its calls. @returns a function that says it once more */
    end(how: 'leaves' | 'moves' = 'leaves'): () => void {
      const figures = served?.figures();
      const leave = (): void => {
        if (figures) tell(figures, { [how]: true });
      };
      leave();
      clock.clearTimeout(timer);
      clock.clearTimeout(joining);
      holding?.end();
      dropAnswers();
      stopWatching();
      served = undefined;
      return leave;
    },
  };
}

/** Has another node go on with the calls of this one: see `Cluster`. */
export const movingOf = ({
  name,
  link,
  members,
  telling,
  replica,
  takeovers,
}: Pick<Parts, 'link' | 'members'> & {
  name: string;
  telling: ReturnType<typeof createTelling>;
  replica(): Replica | undefined;
  takeovers(): Takeovers | undefined;
}): {
  whyNotMoved(mostMs: number): Promise<string | undefined>;
  moveCalls(mostMs: number): Promise<void>;
} => ({
  async whyNotMoved(mostMs) {
    const [written, others] = [replica(), takeovers()];
    if (!written || !others) return 'its calls are not replicated (cluster.replicate)';
    if (others.standIns > 0) return 'it goes on with calls of a lost node';
    if (link.state !== 'up') return 'NATS cannot be reached';
    const isReady = ({ state, beat }: Member): boolean => state === 'member' && beat?.figures.draining === false;
    if (!members.list().some(isReady)) return 'no other node takes calls';
    return written.flush(mostMs).then(
      () => undefined,
      () => 'NATS does not take its state in time',
    );
  },
  async moveCalls(mostMs) {
    await replica()?.flush(mostMs);
    telling.end('moves');
    // The message has left when this is answered.
    await link.find(nodeKey(name)).catch(() => {});
    await link.close();
  },
});
