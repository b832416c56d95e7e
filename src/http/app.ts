import { isDeepStrictEqual } from 'node:util';
import { type Context, Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { createTally } from '../lib/tally.ts';
import { AriError } from '../models/errors.ts';
import { notCovered } from './access/access.ts';
import { createGuards } from './access/guard.ts';
import { visibilityOf } from './access/visibility.ts';
import { createOpenApi } from './api-docs/openapi.ts';
import { createApiDocs, perUser, present } from './api-docs.ts';
import { createAudit } from './audit.ts';
import { bearerToken } from './auth.ts';
import { type Checks, createChecks, type Next, type OperationOf } from './checks.ts';
import { type Connections, createConnections } from './connections.ts';
import type { Deps } from './deps.ts';
import { createElsewhere } from './elsewhere.ts';
import type { AppDeps, Env, HttpOptions } from './env.ts';
import { createEventsSocket, type EventsSocket } from './events-socket.ts';
import { createIdempotency } from './idempotency.ts';
import { createListenSocket } from './listen-socket.ts';
import { createLiveSocket } from './live-socket.ts';
import { createLogIn, type LogIn } from './log-in.ts';
import { createMediaSockets } from './media-sockets.ts';
import { mountMonitoring } from './monitoring.ts';
import type { Api, Operation } from './operation.ts';
import { createOrigins, type Origins } from './origins.ts';
import { createPage } from './page.ts';
import { createPageSession } from './page-session.ts';
import { createRequests } from './requests.ts';
import { createResponder, type Responder, toRefusal } from './responses.ts';
import { createRoutes, type Route } from './router.ts';
import { apis, ari, hookswitch, operationNamed, operationNames } from './routes/index.ts';
import { listenPath } from './routes/listening.ts';
import { callsPath } from './routes/webrtc.ts';
import { SegmentRouter } from './segment-router.ts';
import { createSessions, type Requester, type Sessions } from './sessions.ts';
import { createSockets, mediaPath, type Sockets } from './sockets.ts';
import { createTokenOperations, hasForeignName, holderOf } from './token-operations.ts';
import { createUnread, type Unread, type UnreadLimits } from './unread.ts';
import { createUnreadable, type Unreadable } from './unreadable.ts';
import { upgradesOf } from './upgrades.ts';
import type { HttpUser } from './user.ts';
import { createWebrtcSocket } from './webrtc-socket.ts';

/** The interface as a whole. */
export type HttpApp = {
  app: Hono<Env>;
  sessions: Pick<Sessions, 'share'>;
  sockets: Sockets;
  connections: Connections;
  unread: Unread;
  /** Refuses what could not be read as a request. */
  unreadable: Unreadable;
  /** Applies other users, origins and limits; other options stay. */
  reconfigure(next: HttpOptions): void;
};

const serverName = 'Hookswitch';

/** The path as it is routed by: `/ari` in any case, a `+` as a space. */
function routingPath(request: Request): string {
  const path = getPath(request);
  const spaced = path.includes('+') ? path.replaceAll('+', '%20') : path;
  const { base } = ari;
  if (spaced.startsWith(base) || spaced.slice(0, base.length).toLowerCase() !== base) return spaced;
  return base + spaced.slice(base.length);
}

/** Why there is nothing at a path. */
function missing(path: string): AriError {
  if (path.endsWith('/') && !path.endsWith('//')) {
    return new AriError('trailingSlash', { path: path.slice(0, -1) });
  }
  return new AriError(path.includes('//') ? 'emptyPathSegment' : 'resourceNotFound');
}

/** The requesting user, for operations. */
function requesterOf({ req, env }: Context<Env>, user: HttpUser): Requester {
  const token = bearerToken(req.raw.headers.get('authorization'));
  const application = env?.application;
  const address = env?.incoming?.socket.remoteAddress;
  const from = address === undefined ? {} : { address };
  const requester = application === undefined ? { user, token, ...from } : { user, token, ...from, application };
  const ifMatch = req.method === 'PATCH' ? req.raw.headers.get('if-match') : null;
  return ifMatch === null ? requester : { ...requester, ifMatch };
}

const operate =
  (route: Route, responder: Responder): Next =>
  (c, sources, user) =>
    c.req.method === 'OPTIONS' || !user
      ? responder.options(c.req.raw, route.verbs, user !== undefined)
      : route.run(c, sources, requesterOf(c, user));

/** An operation that opens a WebSocket. */
const gets =
  (operation: Operation): OperationOf =>
  (method) =>
    method === 'GET' ? operation : undefined;

/** Waits, if need be, until what is asked of the recorder is filed: that takes a while behind many calls. */
const recorded =
  (recorder: NonNullable<AppDeps['followers']>['recorder'], next: Next): Next =>
  (...asked) =>
    recorder?.isBehind ? recorder.settled().then(() => next(...asked)) : next(...asked);

const document =
  (
    make: (host: string | undefined, user: HttpUser, c: Context<Env>) => object | undefined,
    responder: Responder,
  ): Next =>
  (c, _sources, user) => {
    const request = c.req.raw;
    if (request.method === 'OPTIONS' || !user) return responder.options(request, 'OPTIONS,GET', user !== undefined);
    if (request.method !== 'GET') throw new AriError('methodUnsupported');
    const found = make(request.headers.get('host') ?? undefined, user, c);
    if (!found) throw new AriError('resourceNotFound');
    return responder.json(request, 200, found);
  };

function mountDocuments(app: Hono<Env>, owners: Deps, checked: Checks, responder: Responder) {
  const docsOf = perUser((mayDo) => createApiDocs(ari, owners, mayDo));
  const swagger = (host: string | undefined, user: HttpUser, c: Context<Env>) =>
    docsOf(user).swagger(c.req.param('file') ?? '', host);
  app.all(`${ari.base}/api-docs/:file`, checked(document(swagger, responder)));
  app.all(`${ari.base}/openapi.json`, checked(document((host, user) => docsOf(user).openApi(host), responder)));
  app.all(`${ari.base}/asyncapi.json`, checked(document((host, user) => docsOf(user).asyncApi(host), responder)));
  const ownOf = perUser((mayDo) => createOpenApi(present(hookswitch, owners, mayDo)));
  app.all(`${hookswitch.base}/openapi.json`, checked(document((host, user) => ownOf(user)(host), responder)));
}

/** The acceptor for WebSockets of media servers; undefined if no channel can wait for one. */
function mountMedia(
  { owners, options, clock }: AppDeps,
  parts: { app: Hono<Env>; checked: Checks; connections: Connections; origins: Origins; responder: Responder },
) {
  const { app, checked, connections, origins, responder } = parts;
  const { externalMedia: external } = owners;
  if (!external) return undefined;
  const { log_in: logsIn, message } = options.media_sockets;
  const requireSeen = (user: HttpUser, channelId: string): void => {
    if (visibilityOf(user, owners)?.sees('channel', channelId) === false)
      throw notCovered(user, `the channel '${channelId}'`);
  };
  const sockets = createMediaSockets({ external, requireSeen, responder, connections, clock, message });
  const open = (c: Context<Env>): Response => {
    try {
      if (origins.foreign(c.req.raw)) throw new AriError('foreignOrigin');
      return sockets.upgrade(c, undefined);
    } catch (error) {
      return responder.refusal(c.req.raw, toRefusal(error));
    }
  };
  const guarded = checked(
    (c, _sources, user) => (user ? sockets.upgrade(c, user) : responder.options(c.req.raw, 'GET', false)),
    (method) => (method === 'GET' ? operationNamed('channels', 'externalMedia') : undefined),
    'mediaLogInRequired',
  );
  app.all(`${mediaPath}/:id`, logsIn ? guarded : open);
  return { sockets, take: upgradesOf(app) };
}

/** WebSockets of our own: what is live, listening, and calls of browsers. */
function mountOwnSockets(
  { owners, log }: Pick<AppDeps, 'owners' | 'log'>,
  parts: {
    app: Hono<Env>;
    checked: Checks;
    events: EventsSocket;
    responder: Responder;
    unread: Unread;
    guardOf: ReturnType<typeof createGuards>;
    ofRecorder(next: Next): Next;
  },
) {
  const { app, checked, events, responder, unread, guardOf, ofRecorder } = parts;
  const { live, listening, webrtc } = owners;
  const watches = operationNamed('live', 'watch');
  if (live)
    app.all(
      `${hookswitch.base}/live`,
      checked(
        ofRecorder(
          createLiveSocket({
            ...{ live, sockets: events, responder, unread, log, guard: guardOf(watches) },
            visibilityOf: (user) => visibilityOf(user, owners),
          }),
        ),
        gets(watches),
      ),
    );
  if (listening) {
    const listens = operationNamed('listening', 'listen');
    const listen = createListenSocket({ listening, sockets: events, responder, log, guard: guardOf(listens) });
    app.all(hookswitch.base + listenPath.replace('{channelId}', ':channelId'), checked(listen, gets(listens)));
  }
  if (webrtc) {
    const hears = operationNamed('webrtc', 'calls');
    const parts = { calls: webrtc, sockets: events, responder, unread, log, guard: guardOf(hears) };
    app.all(hookswitch.base + callsPath, checked(createWebrtcSocket(parts), gets(hears)));
  }
}

const tokenOperationsOf = ({ tokens, options, clock }: AppDeps) =>
  tokens &&
  createTokenOperations({
    ...{ tokens, settings: options.tokens, names: operationNames, now: () => clock.now() },
    users: () => options.users,
  });

/** The base path itself, which has no operation. */
const rootOf =
  (responder: Responder): Next =>
  (c, _sources, user) => {
    if (c.req.method === 'OPTIONS') return responder.options(c.req.raw, 'OPTIONS', user !== undefined);
    return responder.refusal(c.req.raw, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
  };

/** Files the recorder's backlog only if the application resumes, because filing takes time. */
const whereResumed = (next: Next, ofRecorder: (next: Next) => Next): Next => {
  const filedFirst = ofRecorder(next);
  return (c, sources, user) => (c.req.query('resume') === undefined ? next : filedFirst)(c, sources, user);
};

/** Whether a user is as it is configured, and its token as it was made. */
const isStill = ({ token, ...user }: HttpUser, users: readonly HttpUser[], tokens: AppDeps['tokens']): boolean =>
  users.some((other) =>
    // A token may be for looking alone where its user is not.
    isDeepStrictEqual(other, token && user.read_only ? { ...user, read_only: other.read_only } : user),
  ) &&
  (!token ||
    (tokens?.get(token.name)?.digest === token.digest &&
      !hasForeignName({ name: token.name, user: user.name }, users)));

/** Tells the log which tokens are invalid since a user has their name. */
function warnOfNames({ tokens, log }: Pick<AppDeps, 'tokens' | 'log'>, users: readonly HttpUser[]): void {
  for (const { name, user } of tokens?.list() ?? [])
    if (hasForeignName({ name, user }, users))
      log.warn(
        { token: name, user },
        'a token has the name of another user and is refused: create another and revoke this one',
      );
}

const unreadLimitsOf = ({ limits }: HttpOptions): UnreadLimits => ({
  socket: limits.websocket_queue,
  total: limits.unread_total,
  address: Math.floor(limits.unread_total * limits.address_share),
});

const responderOf = ({ options, answers, hit, clock, log }: AppDeps, origins: Origins): Responder =>
  createResponder({
    ...{ serverName, origins, pretty: options.pretty, realm: options.auth_realm, counts: answers, hit },
    lists: {
      soon: (task) => clock.soon(task),
      failed: (error) => log.error({ error }, 'a list response failed while it was sent'),
    },
  });

/** The operations of an interface, but those that open WebSockets. */
function mountOperations(
  { base, resources }: Api,
  parts: {
    deps: AppDeps;
    owners: Deps;
    app: Hono<Env>;
    checked: Checks;
    responder: Responder;
    ofRecorder(next: Next): Next;
  },
): void {
  const { deps, owners, app, checked, responder, ofRecorder } = parts;
  const { clock, log, changes, options } = deps;
  const { validate, refusalForm, limits } = options;
  const rest = resources.flatMap(({ operations }) => operations).filter(({ upgrade }) => !upgrade);
  for (const route of createRoutes(rest, { owners, responder, clock, log, validate, refusalForm, limits, changes })) {
    const run = operate(route, responder);
    const asksRecorder = rest.some(({ owner, paths }) => owner === 'calls' && paths.includes(route.path));
    const next = asksRecorder ? ofRecorder(run) : run;
    app.all(base + route.path.replaceAll(/\{(\w+)\}/g, ':$1'), checked(next, route.operationOf));
  }
}

/** Answers for paths that do not exist, and for requests that failed. */
function mountRefusals(
  app: Hono<Env>,
  { checked, responder, log }: { checked: Checks; responder: Responder } & Pick<AppDeps, 'log'>,
): void {
  const nothing = checked((c, _sources, user) => {
    if (user === undefined) return responder.options(c.req.raw, 'OPTIONS', false);
    throw missing(c.req.path);
  });
  app.notFound((c) => {
    const here = apis.some(({ base }) => c.req.path.startsWith(`${base}/`));
    return here ? nothing(c) : responder.refusal(c.req.raw, new AriError('resourceNotFound'));
  });
  app.onError((error, c) => {
    log.error({ error, path: c.req.path }, 'request failed');
    return responder.refusal(c.req.raw, toRefusal(error));
  });
}

/**
 * Creates the interface: all operations whose owner exists (of ARI and our own), the events WebSocket and the API
 * documents, with the same checks. It opens nothing: a server serves `app`, and closes `sockets` and `connections`.
 * @throws Error for an unreadable password hash.
 */
export function createApp(deps: AppDeps): HttpApp {
  const { options, clock, log, tokens } = deps;
  const known = (name: string, digest?: string): HttpUser | undefined => {
    const user = options.users.find((each) => each.name === name);
    if (!user || digest === undefined) return user;
    const token = tokens?.list().find((each) => each.digest === digest && each.user === name);
    return token && !hasForeignName(token, options.users) ? holderOf(user, token) : undefined;
  };
  const sessions = deps.owners.sessions ?? createSessions(options.sessions, { clock, secret: deps.secret, known });
  const owners: Deps = {
    ...deps.owners,
    sessions,
    tokens: deps.owners.tokens ?? tokenOperationsOf(deps),
  };
  const origins = createOrigins(options.allowed_origins);
  const responder = responderOf(deps, origins);
  const app = new Hono<Env>({ getPath: routingPath, router: new SegmentRouter() });
  const { limits } = options;
  const turnedAway = createTally(clock, log, 'users came from addresses that they may not come from');
  const logInOf = (users: HttpOptions['users']): LogIn =>
    createLogIn({
      users,
      bans: owners.bans,
      passwordQueue: limits.password_queue,
      sessions,
      tokens,
      clock,
      turnedAway,
    });
  let logIn = logInOf(options.users);
  warnOfNames(deps, options.users);
  const connections = createConnections({ limits, clock, log, hit: deps.hit });
  const unreadLimits = unreadLimitsOf(options);
  const unread = createUnread(unreadLimits, deps.hit);
  const requests = createRequests(deps.followers, clock);
  const audit = deps.audit && createAudit(deps.audit, clock);
  const letIn: LogIn = (...asked) => logIn(...asked);
  const idempotency = deps.keptAnswers && createIdempotency(deps.keptAnswers);
  const checked = createChecks({
    logIn: letIn,
    limits,
    connections,
    origins,
    responder,
    requests,
    audit,
    idempotency,
    elsewhere: deps.cluster && createElsewhere({ ...deps.cluster, responder }),
    log,
  });

  const ofRecorder = (next: Next): Next => recorded(deps.followers?.recorder, next);
  const guardOf = createGuards(owners);
  const opensEvents = operationNamed('events', 'eventWebsocket');
  const events = createEventsSocket({ ...deps, owners, app, responder, unread, guard: guardOf(opensEvents) });
  if (owners.applications)
    app.all(`${ari.base}/events`, checked(whereResumed(events.upgrade, ofRecorder), gets(opensEvents)));
  const media = mountMedia(deps, { app, checked, connections, origins, responder });
  const sockets = createSockets({ events, media, responder });
  mountOwnSockets({ ...deps, owners }, { app, checked, events, responder, unread, guardOf, ofRecorder });
  mountDocuments(app, owners, checked, responder);
  if (deps.monitoring) mountMonitoring(app, deps.monitoring, checked, responder);
  const mountRoutes = (api: Api) => mountOperations(api, { deps, owners, app, checked, responder, ofRecorder });
  const page = createPage({ name: serverName, ...deps.page, bases: apis.map(({ base }) => base) });
  app.all('/', page.root);
  app.all('/page/:file', page.file);
  app.all('/page-session', createPageSession(sessions, origins));
  for (const api of apis) {
    mountRoutes(api);
    const guarded = checked(rootOf(responder));
    app.all(api.base, (c) => page.about(c, api.base) ?? guarded(c));
    app.all(`${api.base}/`, guarded);
  }

  mountRefusals(app, { checked, responder, log });
  const still = (user: HttpUser): boolean => isStill(user, options.users, tokens);
  /** Ends log-ins of users that have changed and of tokens that are gone. */
  const review = (): void => {
    sessions.review(still);
    events.review(still);
    media?.sockets.review(still);
  };
  tokens?.onRevoked(review);
  const reconfigure = (next: HttpOptions): void => {
    Object.assign(limits, next.limits);
    Object.assign(options.sessions, next.sessions);
    Object.assign(options.tokens, next.tokens);
    Object.assign(unreadLimits, unreadLimitsOf(next));
    events.limitMessages(limits.websocket_message);
    origins.replace(next.allowed_origins);
    if (isDeepStrictEqual(options.users, next.users)) return;
    options.users = next.users;
    review();
    logIn = logInOf(next.users);
    warnOfNames(deps, next.users);
  };
  const unreadable = createUnreadable({ responder, clock, log, hit: deps.hit });
  return { app, sessions, sockets, connections, unread, unreadable, reconfigure };
}
