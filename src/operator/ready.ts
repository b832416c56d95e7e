import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../lib/clock.ts';

/** Interval of the requests and timeout of one, in ms. */
const everyMs = 200;
const answerMs = 2_000;

/**
 * Waits until a server takes calls (`GET /health/ready`). Its certificate is not checked: the request holds no secret.
 * @param url its base URL, e.g. `http://127.0.0.1:8088`.
 * @param waitMs how long to ask again, in ms; 0 asks once.
 * @returns undefined when it is ready, else the reason.
 */
export async function untilReady(url: string, waitMs: number, clock: Clock): Promise<string | undefined> {
  const end = clock.monotonic() + waitMs;
  for (;;) {
    const reason = await ask(new URL('/health/ready', url), clock);
    if (reason === undefined || clock.monotonic() + everyMs > end) return reason;
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, everyMs));
  }
}

function ask(url: URL, clock: Clock): Promise<string | undefined> {
  return new Promise((resolve) => {
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const asked = make(url, { rejectUnauthorized: false, agent: false });
    const timer = clock.setTimeout(() => asked.destroy(new Error('no answer')), answerMs);
    asked.on('error', ({ message }) => resolve(`${url.origin}: ${message}`));
    asked.once('response', (response) => {
      response.on('error', () => {}).resume();
      resolve(response.statusCode === 200 ? undefined : `${url.origin} does not take calls (${response.statusCode})`);
    });
    asked.once('close', () => {
      clock.clearTimeout(timer);
      resolve(`${url.origin}: the connection was closed`);
    });
    asked.end();
  });
}
