import { compile, expand, isConstant, type Template } from './expressions.ts';
import {
  compareSpecificity,
  isPattern,
  matchesPattern,
  type Pattern,
  parsePattern,
  withoutDashes,
} from './patterns.ts';

/** Hints: the devices that BLF shows for an extension. */

/** The key of a context under which its hints stand. A dialed extension of that name is the pattern `_h[i]nts`. */
export const hintsKey = 'hints';

/** Devices of one extension may be so many. */
const mostDevices = 100;

/** A hint ready to be asked: its devices. */
type Hint = readonly Template[];

/** The hints of a context: by exact name, then by patterns, the most specific first. */
export type ParsedHints = {
  exact: ReadonlyMap<string, Hint>;
  patterns: readonly { pattern: Pattern; hint: Hint }[];
};

/** Those of a context that has none. */
const noHints: ParsedHints = { exact: new Map(), patterns: [] };

type Tell = (path: readonly string[], message: string) => void;

/** Parses `hints`; invalid ones are reported and left out. Never throws. */
export function parseHints(context: string, configured: unknown, tell: Tell): ParsedHints {
  if (configured === undefined) return noHints;
  if (typeof configured !== 'object' || configured === null || Array.isArray(configured)) {
    tell([context, hintsKey], 'hints must map extensions to devices');
    return noHints;
  }
  const exact = new Map<string, Hint>();
  const patterns: { pattern: Pattern; hint: Hint }[] = [];
  for (const [name, text] of Object.entries(configured)) {
    const path = [context, hintsKey, name];
    const hint = parseDevices(text);
    if (typeof hint === 'string') {
      tell(path, hint);
      continue;
    }
    if (!isPattern(name)) {
      if (exact.has(withoutDashes(name))) tell(path, `another hint is equivalent to "${name}"; remove one`);
      else exact.set(withoutDashes(name), hint);
      continue;
    }
    const pattern = parsePattern(name);
    if (typeof pattern === 'string') tell(path, pattern);
    else if (patterns.some((other) => compareSpecificity(other.pattern, pattern) === 0))
      tell(path, `another pattern is equivalent to "${name}"; remove one`);
    else patterns.push({ pattern, hint });
  }
  patterns.sort((a, b) => compareSpecificity(a.pattern, b.pattern));
  return { exact, patterns };
}

/** `PJSIP/alice&Stasis:desk`; a string tells what is wrong with it. */
function parseDevices(text: unknown): Hint | string {
  if (typeof text !== 'string' || text.trim() === '') return 'a hint must name devices, e.g. PJSIP/alice&PJSIP/bob';
  const names = text.split('&').map((name) => name.trim());
  if (names.length > mostDevices) return `a hint names ${mostDevices} devices at most`;
  const devices = names.map(compile);
  const problem = devices.find((device) => device.problem !== undefined)?.problem;
  const wrong = devices.find((device) => isConstant(device) && !isDevice(device.text))?.text;
  if (problem !== undefined || wrong === undefined) return problem ?? devices;
  return `"${wrong}" is not a device; write PJSIP/alice or Stasis:name`;
}

/** A technology and its resource, or a custom prefix and a name. */
const isDevice = (name: string): boolean => /^[A-Za-z][\w-]*[/:]\S/.test(name);

/**
 * The devices that stand for an extension in a context; `EXTEN` is the only variable there, and what it holds makes no
 * further devices. Undefined where there is no hint.
 */
export function devicesOf({ exact, patterns }: ParsedHints, dialed: string): string[] | undefined {
  const extension = withoutDashes(dialed);
  const hint = exact.get(extension) ?? patterns.find(({ pattern }) => matchesPattern(pattern, extension))?.hint;
  const value = (name: string): string => (name === 'EXTEN' ? extension : '');
  const names = hint?.map((device) => expand(device, { value, warn: () => {} }).trim());
  return names && [...new Set(names.filter(isDevice))];
}
