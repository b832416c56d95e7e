import type { HeaderLines } from '../../sip/message/build.ts';

/** Headers that an application puts into the INVITE of an outbound leg. */
export interface RequestHeaders {
  readonly lines: HeaderLines;
  get(name: string, index: number): string | undefined;
  /** False for a header that the stack writes itself, and for a name that is none. */
  add(name: string, value: string): boolean;
  names(beginning: string): string[];
  update(name: string, value: string): boolean;
  remove(name: string): void;
}

/** Headers that the stack writes; an application that changed them would break the call. */
const reserved = new Set([
  ...[
    'via',
    'v',
    'from',
    'f',
    'to',
    't',
    'call-id',
    'i',
    'cseq',
    'contact',
    'm',
    'max-forwards',
    'content-length',
    'l',
  ],
  ...['content-type', 'c', 'route', 'record-route', 'require', 'allow', 'authorization', 'proxy-authorization'],
  ...['supported', 'k', 'proxy-require', 'content-encoding', 'e', 'session-expires', 'x', 'min-se', 'rseq', 'rack'],
  ...['unsupported', 'path', 'service-route', 'www-authenticate', 'proxy-authenticate'],
]);

export function createRequestHeaders(from: HeaderLines = []): RequestHeaders {
  let lines: (readonly [name: string, value: string])[] = [...from];
  const named = (name: string) => (line: readonly [string, string]) => line[0].toLowerCase() === name.toLowerCase();
  return {
    get lines() {
      return lines;
    },
    get: (name, index) => lines.filter(named(name))[index - 1]?.[1],
    add(name, value) {
      if (!/^[\w!%*+`'~.-]+$/.test(name) || reserved.has(name.toLowerCase())) return false;
      lines = [...lines, [name, value]];
      return true;
    },
    names: (beginning) => namesThatBegin(lines, beginning),
    update(name, value) {
      const at = lines.findIndex(named(name));
      if (at < 0) return false;
      lines = lines.with(at, [lines[at]![0], value]);
      return true;
    },
    remove(name) {
      lines = lines.filter((line) => !named(name)(line));
    },
  };
}

/** Names of headers that begin so, in any case of letters, each once. */
export function namesThatBegin(lines: HeaderLines, beginning: string): string[] {
  const found = new Map<string, string>();
  for (const [name] of lines) {
    const key = name.toLowerCase();
    if (key.startsWith(beginning.toLowerCase()) && !found.has(key)) found.set(key, name);
  }
  return [...found.values()];
}
