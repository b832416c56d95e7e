import { once } from 'node:events';
import { type RawData, WebSocket } from 'ws';
import type { ConnectRequest } from '../../src/actors/application-connections.ts';
import type { Deps } from '../../src/http/deps.ts';
import { type HttpServer, type ServerOptions, startHttpServer } from '../../src/http/server.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { TlsKeys } from '../../src/lib/tls.ts';
import { tlsKeys } from '../support/certificates.ts';
import { createFakes, createTestApp, type TestApp } from './fakes.ts';

/** Real sockets to the interface over loopback. */

export type Connected = ConnectRequest & { closed: Promise<void> };

export type TestServer = Omit<TestApp, 'connections'> & {
  server: HttpServer;
  base: string;
  /** Connections of applications, in order. */
  connections: Connected[];
  /** Resolves with the next connection of applications. */
  connected(): Promise<Connected>;
};

/** Owners whose applications remember who connected. `refuse` is thrown at whoever connects. */
export function createConnecting(refuse?: Error) {
  const fakes = createFakes();
  const connections: Connected[] = [];
  const waiting: ((connection: Connected) => void)[] = [];
  const connect = (connection: ConnectRequest) => {
    if (refuse) throw refuse;
    let close = () => {};
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const connected: Connected = { ...connection, closed };
    connections.push(connected);
    waiting.shift()?.(connected);
    return { close };
  };
  const applications = new Proxy(fakes.owners.applications as object, {
    get: (target, name) => (name === 'connect' ? connect : Reflect.get(target, name)),
  });
  const owners = { ...fakes.owners, applications } as Deps;
  const connected = () => new Promise<Connected>((resolve) => waiting.push(resolve));
  return { fakes, owners, connections, connected };
}

export async function startTestServer(
  changes: Parameters<typeof createTestApp>[1] = {},
  {
    refuse,
    clock = systemClock,
    owners: others,
    tls,
    more,
    ...changed
  }: {
    refuse?: Error;
    clock?: Clock;
    owners?: Deps;
    tls?: TlsKeys;
    more?: Parameters<typeof createTestApp>[4];
  } & Partial<ServerOptions['limits']> = {},
): Promise<TestServer & { fakes: ReturnType<typeof createFakes> }> {
  const { fakes, owners, connections, connected } = createConnecting(refuse);
  const app = createTestApp({ ...owners, ...others }, changes, clock, undefined, more);
  const usual = { headers: 16_384, header_timeout: 60, request_timeout: 60, keep_alive: 15, busy_poll: 0 };
  const limits = { ...usual, ...changed };
  const server = await startHttpServer(
    app,
    { bind: '127.0.0.1', port: 0, tls: tls !== undefined, limits },
    {
      clock,
      log: createLogger({ level: 'silent' }),
      tls: tls ?? tlsKeys({}),
      changes: more?.changes,
    },
  );
  return { ...app, fakes, server, base: `127.0.0.1:${server.address.port}`, connections, connected };
}

/** A WebSocket client that keeps what it is told. */
export type Client = {
  ws: WebSocket;
  opened: Promise<void>;
  next(): Promise<Record<string, unknown>>;
  closed: Promise<[number, string]>;
};

export function connect(base: string, query: string, protocols: string[] = [], headers = {}): Client {
  const ws = new WebSocket(`ws://${base}/ari/events?${query}`, protocols, { headers });
  const messages: Record<string, unknown>[] = [];
  const waiting: ((message: Record<string, unknown>) => void)[] = [];
  ws.on('message', (data: RawData) => {
    const message = JSON.parse(String(data));
    const next = waiting.shift();
    if (next) next(message);
    else messages.push(message);
  });
  // What goes wrong is told by the close, too.
  ws.on('error', () => undefined);
  const opened = new Promise<void>((resolve) => ws.once('open', () => resolve()));
  const closed = once(ws, 'close').then(([code, reason]): [number, string] => [code, String(reason)]);
  return {
    ws,
    opened,
    closed,
    next: () => {
      const message = messages.shift();
      return message ? Promise.resolve(message) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

/** How an upgrade was refused. */
export async function refusalOf(base: string, query: string, options: { headers?: object; protocols?: string[] } = {}) {
  const ws = new WebSocket(`ws://${base}/ari/events?${query}`, options.protocols ?? [], {
    headers: options.headers as never,
  });
  ws.on('error', () => undefined);
  const [, response] = await once(ws, 'unexpected-response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode,
    headers: response.headers,
    body: JSON.parse(String(Buffer.concat(chunks)) || 'null'),
  };
}
