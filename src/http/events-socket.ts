import { createNodeWebSocket } from '@hono/node-ws';
import type { Context } from 'hono';
import type { GroupRequest } from '../actors/event-groups.ts';
import type { Bookmark } from '../actors/resumptions.ts';
import { longestApplicationName } from '../models/application.ts';
import { AriError } from '../models/errors.ts';
import type { MissingParams } from '../models/websocket-messages.ts';
import type { Guard } from './access/guard.ts';
import { narrowOf } from './access/visibility.ts';
import { apiKeyCredentials, apiKeyOf, basicCredentials } from './auth.ts';
import type { Env } from './env.ts';
import {
  createSession,
  goingAway,
  type Session,
  type SessionDeps,
  type SessionHandlers,
  type SessionOptions,
} from './events-session.ts';
import { createMessageWriters } from './message-writer.ts';
import { createParamReader, type Sources } from './parameters.ts';
import type { Responder } from './responses.ts';
import { connectParams } from './routes/events.ts';
import { closeWithToken, notLetIn } from './token-end.ts';
import { handshakeProblem, type TakeUpgrade, writeRefusal } from './upgrades.ts';
import type { HttpUser } from './user.ts';

type EventsSocketDeps = SessionDeps & {
  responder: Responder;
  /** Refuses names that the user's scope does not cover. */
  guard: Guard;
};

/** The events WebSocket: upgrades, delivery, requests carried over it. */
export interface EventsSocket {
  /** Answers `GET /ari/events`: refuses, or lets the connection become a WebSocket. */
  upgrade(c: Context<Env>, sources: Sources, user: HttpUser | undefined): Response | Promise<Response>;
  /** Takes an upgrade of a server. */
  take: TakeUpgrade;
  /**
   * Lets a GET of another path become a WebSocket, which is closed with the others.
   * @throws AriError upgradeRequired, upgradeInvalid, upgradeOverWebSocket, serviceUnavailable.
   */
  become(c: Context<Env>, makeSession: (start: SocketStart) => SessionHandlers): Response | Promise<Response>;
  /** Closes (1008) the sockets of users that are no longer valid. */
  review(still: (user: HttpUser) => boolean): void;
  /** From now on the largest message that a new socket takes, in bytes. */
  limitMessages(octets: number): void;
  /** Sends 1001 to every socket and closes those that do not answer within `graceMs`; resolves when all are closed. */
  close(graceMs: number): Promise<void>;
}

/** Initial state of a WebSocket. */
export type SocketStart = Pick<SessionOptions, 'socket' | 'opened'>;

type Names = {
  names: string[];
  subscribeAll: boolean;
  resume?: ReadonlyMap<string, Bookmark>;
  acknowledges?: boolean;
  group?: GroupRequest;
  hearsNodes?: boolean;
};

const readParams = createParamReader(connectParams);

/** The applications that ask to connect; undefined when none is named. @throws AriError for a name that cannot be. */
function readNames(sources: Sources): Names | undefined {
  const asked = readParams({}, sources) as {
    app?: string[];
    subscribeAll?: boolean;
    resume?: string[];
    ack?: boolean;
    group?: string;
    member?: string;
    nodes?: boolean;
  };
  const { app, subscribeAll, resume, ack, group, nodes } = asked;
  if (!app || (app.length === 1 && app[0] === '')) return undefined;
  const wrong = app.find((name) => name === '' || name.length > longestApplicationName);
  if (wrong !== undefined) throw new AriError('applicationNameInvalid', { name: wrong });
  if (ack && group !== undefined)
    throw new AriError('parameterInvalid', { name: 'ack', expected: 'not given with `group`' });
  return {
    names: [...new Set(app)],
    subscribeAll: subscribeAll === true,
    ...(resume && { resume: readResume(app, resume, group !== undefined) }),
    ...(ack && { acknowledges: true }),
    ...(nodes && { hearsNodes: true }),
    ...readGroup(asked),
  };
}

/** The group that a connection joins. @throws AriError 400. */
function readGroup({ group, member }: { group?: string; member?: string }): { group?: GroupRequest } {
  for (const [name, value] of Object.entries({ group, member }))
    if (value !== undefined && !/^[\w.-]{1,64}$/.test(value))
      throw new AriError('parameterInvalid', { name, expected: '1 to 64 letters, digits, `.`, `-` or `_`' });
  if (group === undefined && member !== undefined)
    throw new AriError('parameterInvalid', { name: 'member', expected: 'given with `group`' });
  return group === undefined ? {} : { group: { group, member } };
}

/** An empty place, or a bookmark: the number of an event, also with its epoch, or the word for none. */
const bookmark = /^(?:(?:(?<epoch>[\w-]{1,32}):)?(?<seq>\d{1,15})|(?<word>new))?$/;

/** Where each application goes on; an empty place stands for one that does not ask. @throws AriError 400. */
function readResume(
  names: readonly string[],
  asked: readonly string[],
  inGroup: boolean,
): ReadonlyMap<string, Bookmark> {
  const read = asked.map((word) => bookmark.exec(word.trim())?.groups);
  const isOld = (groups: Record<string, string> | undefined) => !groups?.['epoch'] && !groups?.['word'];
  // Members of a group go on with whole calls.
  if (read.includes(undefined) || asked.length > names.length || (inGroup && !read.every(isOld)))
    throw new AriError('parameterInvalid', {
      name: 'resume',
      expected: inGroup
        ? 'one number for each application'
        : 'for each application one number, `<epoch>:<seq>` or `new`',
    });
  return new Map(
    read.flatMap((groups, at): [string, Bookmark][] => {
      const { epoch, seq, word } = groups ?? {};
      const name = names[at] ?? '';
      if (word !== undefined) return [[name, 'new']];
      if (seq === undefined) return [];
      return [[name, epoch === undefined ? Number(seq) : { epoch, seq: Number(seq) }]];
    }),
  );
}

/** Credentials of inner requests: the upgrade's header, or its api_key in that form. */
function authorizationOf(request: Request, sources: Sources): string {
  const header = request.headers.get('authorization');
  const key = apiKeyCredentials(apiKeyOf(sources));
  if (basicCredentials(header) || !key) return header ?? '';
  return `Basic ${Buffer.from(`${key.name}:${key.password}`).toString('base64')}`;
}

/** node-ws over the app. Of a refusal it writes the status line alone; here headers and body are written, and it waits. */
function createWebSockets({ app, options }: EventsSocketDeps) {
  const request = async (url: URL, init: RequestInit, env: Env['Bindings']): Promise<Response> => {
    const response = await app.request(url, init, env);
    if (env.upgraded) return response;
    if (env.incoming) await writeRefusal(env.incoming.socket, response);
    return new Promise(() => {});
  };
  const sockets = createNodeWebSocket({ app: { request } as never });
  sockets.wss.options.maxPayload = options.limits.websocket_message;
  sockets.wss.options.handleProtocols = (protocols) => (protocols.has('ari') ? 'ari' : false);
  return sockets;
}

/** Makes the events WebSocket. Nothing is opened before the first upgrade. */
export function createEventsSocket(deps: EventsSocketDeps): EventsSocket {
  const { responder, guard, log, clock, entityId, owners } = deps;
  const { upgradeWebSocket, injectWebSocket, wss } = createWebSockets(deps);
  const sessions = new Set<Session>();
  const writers = createMessageWriters(clock, deps.changes?.leave);
  let closing = false;

  const opened = (session: Session): boolean => {
    sessions.add(session);
    const stopWaiting = closeWithToken(session, clock);
    void session.closed.then(() => {
      sessions.delete(session);
      stopWaiting();
    });
    return closing;
  };
  /** Checks the handshake (RFC 6455 4.2.1) and accepts it. A client with another version gets ours. */
  const problemOf = (c: Context<Env>): Response | undefined => {
    const { headers } = c.req.raw;
    if (c.env.overWebSocket) throw new AriError('upgradeOverWebSocket');
    if (headers.get('upgrade')?.toLowerCase() !== 'websocket') throw new AriError('upgradeRequired');
    const reason = handshakeProblem(headers, 'ari');
    if (reason === undefined) return undefined;
    const versions = { 'Sec-WebSocket-Version': '13, 8' };
    return responder.refusal(c.req.raw, new AriError('upgradeInvalid', { reason }), versions);
  };
  const become: EventsSocket['become'] = (c, makeSession) => {
    const problem = problemOf(c);
    if (problem) return problem;
    if (closing) throw new AriError('serviceUnavailable');
    const socket = c.env.incoming?.socket;
    if (!socket) throw new AriError('upgradeRequired');
    const handlers = makeSession({ socket, opened });
    c.env.upgraded = true;
    const onError = (error: unknown) => log.error({ error, path: c.req.path }, 'WebSocket handler failed');
    return upgradeWebSocket(c, handlers as never, { onError });
  };
  // node-ws asks for a server to listen to; it is given the upgrades that are its own.
  let take: TakeUpgrade = async () => {};
  injectWebSocket({
    on(_event: 'upgrade', listener: TakeUpgrade) {
      take = listener;
    },
  } as never);

  return {
    upgrade: (c, sources, user) => {
      const request = c.req.raw;
      if (request.method === 'OPTIONS') return responder.options(request, 'OPTIONS', user !== undefined);
      if (request.method !== 'GET')
        return responder.refusal(request, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
      if (c.env.overWebSocket) throw new AriError('upgradeOverWebSocket');
      const names = readNames(sources);
      if (!names) {
        const missing: MissingParams = { type: 'MissingParams', asterisk_id: entityId, params: ['app'] };
        return responder.json(request, 400, missing);
      }
      if (user) guard.perform({ user, token: undefined }, { app: names.names }, () => undefined);
      const observes = user?.read_only === true && user.may_register !== true;
      const connect = () =>
        become(c, (start) => {
          owners.applications?.requireRegistrable(names.names, observes);
          const authorization = authorizationOf(request, sources);
          // A token may end before the socket does, and a ticket has already ended: both stand for their user from here
          // on.
          const localUser = authorization.startsWith('Basic ') ? undefined : user;
          return createSession(deps, writers.ofServer, {
            ...{ ...names, observes, authorization, ...start, user, narrow: user && narrowOf(user, owners) },
            ...(localUser && { localUser }),
            ...(names.group && { connect: deps.owners.groups?.connect(user, names.group) }),
          });
        });
      const bring = owners.applications?.bring;
      if (!bring || names.group || problemOf(c)) return connect();
      owners.applications?.requireRegistrable(names.names, observes);
      return bring(names.names, { ...names, observes }).then(connect);
    },
    become,
    take: (...upgrade) => take(...upgrade),
    review(still) {
      for (const { raw, user } of sessions) if (user && !still(user)) raw.close(1008, notLetIn);
    },
    limitMessages(octets) {
      wss.options.maxPayload = octets;
    },
    close: async (graceMs) => {
      closing = true;
      for (const { raw } of sessions) raw.close(1001, goingAway);
      const timer = clock.setTimeout(() => {
        for (const { raw } of sessions) raw.terminate();
      }, graceMs);
      while (sessions.size > 0) await Promise.all([...sessions].map(({ closed }) => closed));
      clock.clearTimeout(timer);
      wss.close();
    },
  };
}
