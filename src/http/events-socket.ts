import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { createNodeWebSocket } from '@hono/node-ws';
import type { Context, Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import type { WebSocket } from 'ws';
import { AriError } from '../models/errors.ts';
import type { MissingParams } from '../models/messages.ts';
import type { AppDeps, Env } from './app.ts';
import { apiKeyCredentials, apiKeyOf, basicCredentials, type HttpUser } from './auth.ts';
import { createCorker } from './corker.ts';
import { createParamReader, type Sources } from './parameters.ts';
import type { Responder } from './responses.ts';
import { createRestOverWebSocket, type RestOverWebSocket } from './rest-over-websocket.ts';
import { connectParams } from './routes/events.ts';

/** Longest name of an application (80 of the field's names less a prefix of 7). */
const maxNameLength = 73;

export type EventsSocketDeps = AppDeps & { app: Hono<Env>; responder: Responder };

/** The events WebSocket: upgrades, delivery, requests carried over it. */
export interface EventsSocket {
  /** Answers `GET /ari/events`: refuses, or lets the connection become a WebSocket. */
  upgrade(c: Context<Env>, sources: Sources, user: HttpUser | undefined): Response | Promise<Response>;
  /** Takes the upgrades of a server. */
  attach(server: Server): void;
  /** Says 1001 to every socket and cuts those that do not answer within `graceMs`; resolves when all are gone. */
  close(graceMs: number): Promise<void>;
}

type Session = { raw: WebSocket; closed: Promise<void> };
type Names = { names: string[]; subscribeAll: boolean };

const readParams = createParamReader(connectParams);

function readNames(sources: Sources): Names | undefined {
  const { app, subscribeAll } = readParams({}, sources) as { app?: string[]; subscribeAll?: boolean };
  if (!app || (app.length === 1 && app[0]?.trim() === '')) return undefined;
  const names = app.map((name) => name.trim());
  const wrong = names.find((name) => name === '' || name.length > maxNameLength);
  if (wrong !== undefined) throw new AriError('applicationNameInvalid', { name: wrong });
  return { names: [...new Set(names)], subscribeAll: subscribeAll === true };
}

/** Why a handshake (RFC 6455 section 4.2.1) cannot be accepted; undefined when it can. */
function handshakeProblem(headers: Headers): string | undefined {
  if (!['8', '13'].includes(headers.get('sec-websocket-version') ?? '')) return 'Sec-WebSocket-Version must be 13';
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) return 'Sec-WebSocket-Key is missing';
  const offered = (headers.get('sec-websocket-protocol') ?? '').split(',').map((protocol) => protocol.trim());
  if (offered.some((protocol) => protocol !== '') && !offered.includes('ari')) return "the one sub-protocol is 'ari'";
  return undefined;
}

/** Writes an answer to a request that will not be upgraded, and ends the connection. */
async function writeRefusal(socket: Socket, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`];
  for (const [name, value] of response.headers) if (name !== 'connection') lines.push(`${name}: ${value}`);
  lines.push('Connection: close', `Content-Length: ${body.length}`, '', '');
  socket.write(lines.join('\r\n'));
  socket.end(body);
  socket.destroySoon();
}

/** Makes the events WebSocket. Nothing is opened before {@link EventsSocket.attach}. */
export function createEventsSocket(deps: EventsSocketDeps): EventsSocket {
  const { app, responder, options, log, clock, entityId, owners } = deps;
  const sessions = new Set<Session>();
  const corker = createCorker(clock);
  let closing = false;

  const { upgradeWebSocket, injectWebSocket, wss } = createNodeWebSocket({
    // node-ws writes the status line of a refusal alone; headers and body are written here, and it is left waiting.
    app: {
      request: async (url: URL, init: RequestInit, env: Env['Bindings']) => {
        const response = await app.request(url, init, env);
        if (env.upgraded) return response;
        if (env.incoming) await writeRefusal(env.incoming.socket, response);
        return new Promise<Response>(() => {});
      },
    } as never,
  });
  wss.options.maxPayload = options.limits.websocket_message;
  wss.options.handleProtocols = (protocols) => (protocols.has('ari') ? 'ari' : false);

  const session = ({ names, subscribeAll }: Names, authorization: string, incoming: Env['Bindings']['incoming']) => {
    const describe = `${incoming?.socket.remoteAddress}:${incoming?.socket.remotePort}`;
    let connection: { close(): void } | undefined;
    let rest: RestOverWebSocket | undefined;
    let ended = () => {};
    const end = () => {
      connection?.close();
      connection = undefined;
      rest?.close();
      ended();
    };
    const sender = (raw: WebSocket, socket: Socket) => (json: string) => {
      if (raw.readyState !== raw.OPEN) return;
      if (raw.bufferedAmount + socket.writableLength > options.limits.websocket_queue) {
        log.warn({ applications: names, client: describe, bytes: raw.bufferedAmount }, 'slow consumer is cut off');
        end();
        raw.close(1013, 'events are not read fast enough');
        return;
      }
      corker.cork(socket);
      raw.send(json);
    };
    return {
      onOpen: (_event: unknown, context: WSContext<WebSocket>) => {
        const raw = context.raw as WebSocket;
        const closed = new Promise<void>((resolve) => {
          ended = resolve;
        });
        const entry: Session = { raw, closed };
        sessions.add(entry);
        void closed.then(() => sessions.delete(entry));
        raw.on('error', (error) => log.debug({ error, client: describe }, 'WebSocket error'));
        if (closing) return raw.close(1001, 'the server is shutting down');
        const send = sender(raw, incoming?.socket as Socket);
        rest = createRestOverWebSocket({
          app,
          clock,
          entityId,
          log,
          application: names[0] ?? '',
          authorization,
          send,
          raw,
        });
        try {
          connection = owners.applications?.connect({ names, subscribeAll, send, describe });
        } catch (error) {
          log.warn({ error, applications: names, client: describe }, 'applications could not be registered');
          raw.close(1008, error instanceof AriError ? error.message.slice(0, 120) : 'registration failed');
        }
      },
      onMessage: (event: { data: unknown }) => {
        if (typeof event.data === 'string') rest?.take(event.data);
      },
      onClose: end,
    };
  };

  const upgrade: EventsSocket['upgrade'] = (c, sources, user) => {
    const request = c.req.raw;
    if (request.method === 'OPTIONS') return responder.options(request, 'OPTIONS', user !== undefined);
    if (request.method !== 'GET') {
      return responder.refusal(request, new AriError('methodInvalid'), { Allow: 'OPTIONS' });
    }
    if (c.env?.overWebSocket) throw new AriError('upgradeOverWebSocket');
    const names = readNames(sources);
    if (!names) {
      const missing: MissingParams = { type: 'MissingParams', asterisk_id: entityId, params: ['app'] };
      return responder.json(request, 400, missing);
    }
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') throw new AriError('upgradeRequired');
    const problem = handshakeProblem(request.headers);
    if (problem) {
      const refusal = new AriError('upgradeInvalid', { reason: problem });
      return responder.refusal(request, refusal, { 'Sec-WebSocket-Version': '13, 8' });
    }
    if (closing) throw new AriError('serviceUnavailable');
    c.env.upgraded = true;
    const inner = session(names, authorizationOf(request, sources), c.env.incoming);
    const onError = (error: unknown) => log.error({ error, applications: names.names }, 'WebSocket handler failed');
    return upgradeWebSocket(c, inner as never, { onError });
  };

  return {
    upgrade,
    attach: (server) => injectWebSocket(guarded(server, responder) as never),
    close: async (graceMs) => {
      closing = true;
      const open = [...sessions];
      for (const { raw } of open) raw.close(1001, 'the server is shutting down');
      const timer = clock.setTimeout(() => {
        for (const { raw } of open) raw.terminate();
      }, graceMs);
      await Promise.all(open.map(({ closed }) => closed));
      clock.clearTimeout(timer);
      wss.close();
    },
  };
}

/** What inner requests authenticate with: the header of the upgrade, or its api_key in that form. */
function authorizationOf(request: Request, sources: Sources): string {
  const header = request.headers.get('authorization');
  const key = apiKeyCredentials(apiKeyOf(sources));
  if (basicCredentials(header) || !key) return header ?? '';
  return `Basic ${Buffer.from(`${key.name}:${key.password}`).toString('base64')}`;
}

type UpgradeListener = (...parameters: [import('node:http').IncomingMessage, Socket, Buffer]) => Promise<void>;

/** The server as node-ws sees it: an upgrade that fails, or whose client goes away, ends its own connection only. */
function guarded(server: Server, responder: Responder) {
  return {
    on: (_name: 'upgrade', listener: UpgradeListener) =>
      server.on('upgrade', (request, stream, head) => {
        const socket = stream as Socket;
        socket.on('error', () => socket.destroy());
        if (request.method !== 'GET') {
          const refusal = new AriError('methodInvalid');
          const asked = new Request('http://localhost/');
          return void writeRefusal(socket, responder.refusal(asked, refusal, { Allow: 'OPTIONS' }));
        }
        if (!request.headers['sec-websocket-protocol']?.trim()) delete request.headers['sec-websocket-protocol'];
        listener(request, socket, head).catch(() => socket.destroy());
      }),
  };
}
