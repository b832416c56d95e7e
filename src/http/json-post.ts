import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from '../lib/clock.ts';
import type { TlsKeys } from '../lib/tls.ts';

/** Posts JSON to one URL. */
export interface JsonPost {
  /**
   * Posts a body over one connection, in order. @returns the status; the answer's body is not read.
   * @throws Error (rejects) with a reason: timeout, no connection, an untrusted certificate.
   */
  post(body: string): Promise<number>;
  /** Gives up what is under way, which rejects. */
  abort(): void;
  /** Closes the connection. */
  close(): void;
}

export type JsonPostOptions = {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** How long a whole exchange may take, in ms. */
  timeoutMs: number;
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  tls: Pick<TlsKeys, 'client'>;
};

/** Makes what posts; nothing is opened before the first body. */
export function createJsonPost({ url, headers, timeoutMs, clock, tls }: JsonPostOptions): JsonPost {
  const isSecure = new URL(url).protocol === 'https:';
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1 })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 });
  const request = isSecure ? httpsRequest : httpRequest;
  let current: ClientRequest | undefined;

  return {
    post: (body) =>
      new Promise((resolve, reject) => {
        const payload = Buffer.from(body);
        const sent = request(url, {
          method: 'POST',
          agent,
          ...(isSecure && { ...tls.client, rejectUnauthorized: true }),
          headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': payload.length },
        });
        current = sent;
        const timer = clock.setTimeout(
          () => sent.destroy(new Error(`it did not answer within ${timeoutMs / 1000} s`)),
          timeoutMs,
        );
        sent.once('response', (response) => {
          // An answer without an end is cut off as one that never begins.
          response.on('error', () => {}).resume();
          resolve(response.statusCode ?? 0);
        });
        sent.on('error', reject);
        sent.once('close', () => {
          clock.clearTimeout(timer);
          if (current === sent) current = undefined;
          reject(new Error('the connection was closed'));
        });
        sent.end(payload);
      }),
    abort: () => current?.destroy(new Error('the server stops')),
    close: () => agent.destroy(),
  };
}
