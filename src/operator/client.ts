import { WebSocket } from 'ws';
import { refuseServerUrl } from '../lib/shown-url.ts';

/** A running server, and the user. */
export type Server = {
  /** Base URL, e.g. `http://127.0.0.1:8088`; its path is ignored. */
  url: string;
  /** `name:password`. */
  user: string;
};

/** The server could not be reached, or refused. Its message is for people. */
export class AskError extends Error {
  override readonly name = 'AskError';
}

export interface Client {
  /** The JSON of an answer; `path` begins with `/ari` or `/hookswitch`. @throws AskError. */
  get<T>(path: string): Promise<T>;
  /** The text of an answer. @throws AskError. */
  text(path: string): Promise<string>;
  /** The text of the answer to a command, with a JSON body. @throws AskError. */
  ask(method: 'POST' | 'DELETE', path: string, body?: object): Promise<string>;
  /** Hears every message of a WebSocket until `signal` aborts. @throws AskError when it cannot be opened, or is closed. */
  listen<T>(path: string, hear: (message: T) => void, signal: AbortSignal): Promise<void>;
}

/** @throws AskError for an invalid URL. */
export function createClient({ url, user }: Server): Client {
  const wrong = refuseServerUrl(url);
  if (wrong !== undefined) throw new AskError(wrong);
  const base = new URL(url).origin;
  const headers = { authorization: `Basic ${Buffer.from(user).toString('base64')}` };

  const send = async (path: string, init: { method: string; headers: Record<string, string>; body?: string }) => {
    let response: Response;
    try {
      response = await fetch(`${base}${path}`, init);
    } catch (error) {
      throw new AskError(`${base} does not answer: ${reasonOf(error)}`);
    }
    const answer = await response.text();
    if (!response.ok) throw new AskError(`${response.status}: ${messageOf(answer)}`);
    return answer;
  };

  const text = (path: string): Promise<string> => send(path, { method: 'GET', headers });

  return {
    text,
    ask: (method, path, body) =>
      send(path, {
        method,
        headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
        ...(body && { body: JSON.stringify(body) }),
      }),
    get: async <T>(path: string) => JSON.parse(await text(path)) as T,
    listen: <T>(path: string, hear: (message: T) => void, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const socket = new WebSocket(`${base.replace(/^http/, 'ws')}${path}`, { headers });
        signal.addEventListener('abort', () => socket.terminate(), { once: true });
        socket.on('message', (data) => hear(JSON.parse(String(data)) as T));
        socket.on('unexpected-response', (_request, response) => {
          textOf(response).then(
            (answer) => {
              reject(new AskError(`${response.statusCode}: ${messageOf(answer)}`));
              socket.terminate();
            },
            (error: unknown) => reject(new AskError(`${base}: ${reasonOf(error)}`)),
          );
        });
        socket.on('error', (error) => reject(new AskError(`${base} does not answer: ${reasonOf(error)}`)));
        socket.on('close', () => {
          if (signal.aborted) resolve();
          else reject(new AskError(`${base} has closed the connection`));
        });
      }),
  };
}

/** How much of a refusal's body is read, in characters. */
const mostOfRefusal = 65_536;

async function textOf(response: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const part of response) if (text.length < mostOfRefusal) text += String(part);
  return text;
}

function reasonOf(error: unknown): string {
  const { cause, code, message } = error as {
    cause?: { code?: string; message?: string };
    code?: string;
    message: string;
  };
  // Codes of undici mean nothing to people.
  const told = cause?.code?.startsWith('UND_') ? undefined : cause?.code;
  return told ?? cause?.message ?? code ?? message;
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? body;
  } catch {
    return body.slice(0, 200);
  }
}
