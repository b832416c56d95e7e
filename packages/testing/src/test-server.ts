import { randomBytes, timingSafeEqual } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../../../src/config/load.ts';
import { SoundError } from '../../../src/media/file/sound-library.ts';
import { startTestServer, type TestServer } from './server.ts';
import { InputError, optionsOf, prepare } from './test-server-operations.ts';
import { ExpectationError } from './world.ts';

/** Where tests in other languages find the test server. */
export type ServedTests = {
  /** URL of the operations. */
  url: string;
  /** Programs send it as `authorization: Bearer …`: web pages on this machine must not reach it. */
  token: string;
  /** Ends all servers. */
  close(): Promise<void>;
};

/** Bounds. */
const mostServers = 16;
const mostOctets = 1_000_000;

type Answer = { status: number; body?: unknown };

const failures = { ExpectationError: 417, InputError: 400, ConfigError: 400, SoundError: 400 } as const;

function failureOf(error: unknown): Answer {
  const known = [ExpectationError, InputError, ConfigError, SoundError].some((kind) => error instanceof kind);
  const { name, message } = error as Error;
  if (known) return { status: failures[name as keyof typeof failures] ?? 400, body: { error: name, message } };
  return { status: 500, body: { error: name, message: String((error as Error).stack ?? error) } };
}

/** @throws InputError */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > mostOctets) throw new InputError(`a body has at most ${mostOctets} octets`);
  }
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    throw new InputError('the body must be JSON');
  }
}

/** The servers of tests in other languages. */
class TestServers {
  readonly #servers = new Map<string, TestServer>();
  #last = 0;

  async answer(method: string, path: readonly string[], body: unknown): Promise<Answer> {
    const [kind, id = '', ...operation] = path;
    if (kind !== 'servers') return notFound('such address; all begin with /servers');
    if (id === '') return method === 'POST' ? this.#start(body) : notFound(`${method} of this address`);
    const server = this.#servers.get(id);
    if (!server) return notFound(`server '${id}'`);
    if (method === 'DELETE' && operation.length === 0) {
      this.#servers.delete(id);
      await server.close();
      return { status: 204 };
    }
    if (method !== 'POST') return notFound(`${method} of this address`);
    const result = await prepare(server, operation, body)();
    return result === undefined ? { status: 204 } : { status: 200, body: result };
  }

  async #start(body: unknown): Promise<Answer> {
    if (this.#servers.size >= mostServers)
      throw new InputError(`there are ${mostServers} servers already; end one with DELETE /servers/{id}`);
    const server = await startTestServer(optionsOf(body));
    const id = String(++this.#last);
    this.#servers.set(id, server);
    const { url, username, password } = server;
    return { status: 201, body: { id, url, username, password } };
  }

  async close(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.allSettled(servers.map((server) => server.close()));
  }
}

const notFound = (what: string): Answer => ({
  status: 404,
  body: { error: 'NotFound', message: `there is no ${what}` },
});

/**
 * Serves test servers over HTTP on 127.0.0.1, for tests in any language: `POST /servers` starts one, `POST
 * /servers/{id}/{operation}` carries out what `TestServer` and its phones can do, `DELETE /servers/{id}` ends it. A
 * failed expectation is answered with 417 and its message, bad input with 400.
 * @param port 0: any that is free.
 */
export async function serveTests(port = 0): Promise<ServedTests> {
  const token = randomBytes(24).toString('base64url');
  const wanted = Buffer.from(`Bearer ${token}`);
  const servers = new TestServers();
  const isAllowed = ({ headers }: IncomingMessage): boolean => {
    const given = Buffer.from(headers.authorization ?? '');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };
  const handle = async (request: IncomingMessage): Promise<Answer> => {
    if (!isAllowed(request)) return { status: 401, body: { error: 'Unauthorized', message: 'the token is wrong' } };
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    try {
      const path = pathname.split('/').filter(Boolean).map(decodeURIComponent);
      return await servers.answer(request.method ?? '', path, await bodyOf(request));
    } catch (error) {
      return failureOf(error instanceof URIError ? new InputError('the address is not encoded as a URL') : error);
    }
  };
  const http = createServer((request, response) => {
    void handle(request).then((answer) => send(response, answer));
  });
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    token,
    async close() {
      await servers.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Resolves with SIGINT or SIGTERM, or when the program that started this one closes the pipe to it, or ends. */
export function untilTestsAreOver(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    const input = fstatSync(0);
    if (input.isFIFO() || input.isSocket()) process.stdin.resume().once('close', resolve).once('end', resolve);
  });
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (body === undefined) response.writeHead(status).end();
  else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
