import type { Context } from 'hono';
import type { BundledFile, PageFiles } from '../stores/page-files.ts';
import { isFresh } from './file-answers.ts';

/**
 * The page at `/` and its files, for everybody: they contain no secrets. Their data comes through the interface, with
 * credentials. Programs get a short text.
 */

export type PageDeps = {
  /** Name of the program. */
  name: string;
  version: string;
  /** The files of the page; undefined when it was not built. */
  files: Pick<PageFiles, 'file'> | undefined;
  /** Base paths of the APIs. */
  bases: readonly string[];
};

type Handler = (c: Context) => Response;

/** The page's handlers, without credentials. */
type Page = {
  /** `/`: the page to browsers, a few links to others. */
  root: Handler;
  /** `/page/:file`. */
  file: Handler;
  /** A base path of the interface: words for a browser, undefined for programs. */
  about(c: Context, base: string): Response | undefined;
};

/** Only the page's own files are loaded, nothing in its HTML runs, and it cannot be framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "media-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const protective: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(self)',
};

const isBrowser = ({ req }: Context): boolean => req.header('accept')?.includes('text/html') === true;
const isLooking = ({ req }: Context): boolean => req.method === 'GET' || req.method === 'HEAD';

/** Makes the handlers. */
export function createPage({ name, version, files, bases }: PageDeps): Page {
  const json = (status: number, value: object, extra: Record<string, string> = {}) =>
    new Response(JSON.stringify(value), {
      status,
      headers: { ...protective, 'Content-Type': 'application/json', 'Cache-Control': 'no-cache', ...extra },
    });
  const missing = () => json(404, { message: 'Resource not found' });
  const onlyLooking = () => json(405, { message: 'Invalid method' }, { Allow: 'GET' });
  const send = (c: Context, { type, etag, bytes }: BundledFile): Response => {
    const headers = { ...protective, 'Content-Type': type, ETag: etag, 'Cache-Control': 'no-cache' };
    if (isFresh(c.req.raw.headers, etag)) return new Response(null, { status: 304, headers });
    return new Response(bytes, { headers });
  };
  const links = Object.fromEntries(
    bases.map((base) => [base.slice(1), { base, description: `${base}/openapi.json` }] as const),
  );
  const words = (base: string): string =>
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${name}: ${base}</title><link rel="stylesheet" href="/page/app.css"><body class="plain"><main><h1>${base}</h1>` +
    `<p>This is an interface for programs: REST, with events over a WebSocket at <code>/ari/events</code>.</p><ul>` +
    `<li><a href="/">The page for people</a></li>` +
    `<li><a href="/#/api">The same interface, to try</a></li>` +
    `<li><a href="${base}/openapi.json">Its description (OpenAPI), with name and password</a></li></ul></main></body></html>`;
  return {
    root: (c) => {
      if (!isLooking(c)) return onlyLooking();
      const page = isBrowser(c) ? files?.file('index.html') : undefined;
      return page ? send(c, page) : json(200, { name, version, ...links }, { Vary: 'Accept' });
    },
    file: (c) => {
      if (!isLooking(c)) return onlyLooking();
      const found = files?.file(c.req.param('file') ?? '');
      return found ? send(c, found) : missing();
    },
    about: (c, base) => {
      if (c.req.method !== 'GET' || !isBrowser(c)) return undefined;
      return new Response(words(base), { headers: { ...protective, 'Content-Type': 'text/html; charset=utf-8' } });
    },
  };
}
