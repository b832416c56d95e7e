import type { Context, Hono } from 'hono';
import { addressMatcher } from '../lib/addresses.ts';
import { AriError } from '../models/errors.ts';
import type { Checks } from './checks.ts';
import type { Env, Monitoring } from './env.ts';
import type { Responder } from './responses.ts';
import { readMetrics } from './routes/index.ts';

const plain = 'text/plain; charset=utf-8';
const noStore = { 'Cache-Control': 'no-store' };
const text = (status: number, body: string, type = plain): Response =>
  new Response(body, { status, headers: { ...noStore, 'Content-Type': type } });

const isReading = ({ req }: Context<Env>): boolean => req.method === 'GET' || req.method === 'HEAD';

/**
 * Mounts `/metrics`, for users and for the allowed networks, and `/health/live` and `/health/ready`, for everybody: these
 * tell whether, never why.
 */
export function mountMonitoring(app: Hono<Env>, parts: Monitoring, checked: Checks, responder: Responder): void {
  const { metrics, health, networks } = parts;
  const show = async (): Promise<Response> => text(200, await metrics.text(), metrics.contentType);
  const asked = checked(
    (c, _sources, user) => {
      if (user === undefined) return responder.options(c.req.raw, 'OPTIONS,GET', false);
      if (!isReading(c)) throw new AriError('methodUnsupported');
      return show();
    },
    (method) => (method === 'GET' || method === 'HEAD' ? readMetrics : undefined),
  );
  // Parsed again only if the networks have changed.
  let matchers = { of: networks.allowed, all: networks.allowed.map(addressMatcher) };
  const isAllowed = (c: Context<Env>): boolean => {
    const address = c.env?.incoming?.socket.remoteAddress;
    if (matchers.of !== networks.allowed)
      matchers = { of: networks.allowed, all: networks.allowed.map(addressMatcher) };
    return address !== undefined && matchers.all.some((matches) => matches(address));
  };
  app.all('/metrics', (c) => {
    // A request that names a user needs the password.
    const isKnown = c.req.raw.headers.has('authorization') || !isReading(c) || !isAllowed(c);
    return isKnown ? asked(c) : show();
  });

  const told = (answer: () => Response | Promise<Response>) => (c: Context<Env>) =>
    isReading(c) ? answer() : responder.refusal(c.req.raw, new AriError('methodUnsupported'));
  app.all(
    '/health/live',
    told(() => text(200, 'live\n')),
  );
  app.all(
    '/health/ready',
    told(async () => ((await health.ready()) ? text(200, 'ready\n') : text(503, 'not ready\n'))),
  );
}
