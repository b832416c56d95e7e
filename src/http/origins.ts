/** Which web pages may use the interface. */
export type Origins = {
  /** The page is of an origin in the list; such a page may also read answers. */
  allows(origin: string): boolean;
  /**
   * Whether a foreign page sent the request: its origin is neither allowed nor the requested host. Requests without
   * origin come from no page.
   */
  foreign(request: Request): boolean;
  /** Whether answers depend on the origin, so that caches must know (RFC 9110 section 12.5.5). */
  readonly vary: { readonly Vary: string } | undefined;
  /** Other origins are allowed from now on. */
  replace(allowed: readonly string[]): void;
};

const defaultPorts: Readonly<Record<string, string>> = { 'http:': ':80', 'https:': ':443' };

/** The page comes from the requested host. A proxy may terminate TLS, so the scheme does not count. */
function isOwn(origin: string, host: string | null): boolean {
  if (host === null || !URL.canParse(origin)) return false;
  const { host: from, protocol, port } = new URL(origin);
  const asked = host.toLowerCase();
  return from !== '' && (from === asked || (port === '' && from + (defaultPorts[protocol] ?? '') === asked));
}

const varies = { Vary: 'Origin' } as const;

/** @param allowed origins as the configuration has them; `*` allows all. */
export function createOrigins(allowed: readonly string[]): Origins {
  let some = new Set(allowed);
  const allows = (origin: string): boolean => some.has('*') || some.has(origin);
  return {
    allows,
    foreign: ({ headers }) => {
      const origin = headers.get('origin');
      return origin !== null && !allows(origin) && !isOwn(origin, headers.get('host'));
    },
    get vary() {
      return some.size === 0 ? undefined : varies;
    },
    replace(others) {
      some = new Set(others);
    },
  };
}
