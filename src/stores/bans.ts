import { addressMatcher, sourceNetwork } from '../lib/addresses.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Ban, LogInProtocol, SavedBan } from '../models/ban.ts';
import { formatTimestamp } from '../models/timestamp.ts';

/** Action for an address: admit it, delay the answers to wrong log-ins by `ms`, or ignore it. */
export type BanDecision =
  | { readonly action: 'admit' }
  | { readonly action: 'delay'; readonly ms: number }
  | { readonly action: 'ignore' };

/**
 * Counts wrong log-ins over SIP and HTTP by source and user. A source is an IPv4 address or an IPv6 network of 64 bits.
 * Callers need not ask about a user that proved its password lately.
 */
export interface Bans {
  /**
   * A log-in with a wrong password or an unknown user, from a verified source (it answered our challenge).
   * @returns the action for the source from now on.
   */
  failed(source: string, user: string, protocol: LogInProtocol): BanDecision;
  /** Cheap enough to be asked for every packet. */
  check(source: string): BanDecision;
  /** Everyone that something counts against, in the order of their last wrong log-in. */
  list(): Ban[];
  /** Forgets what counts against an address, as listed or any that belongs to it. @returns false when nothing did. */
  lift(address: string): boolean;
  /** Sources remembered now. */
  readonly size: number;
  /** Everything that counts against sources, or against one, for another process. */
  dump(source?: string): SavedBan[];
  /** Continues from what another process counted, as far as it is not over. */
  restore(saved: readonly SavedBan[]): void;
  /** Applies other settings; present bans keep their time. */
  reconfigure(settings: BanSettings): void;
  /** Stops the reports. */
  close(): void;
}

export type BanSettings = {
  /** ms in which wrong log-ins are added up. */
  readonly windowMs: number;
  /** With so many the next wrong one is answered late: after 250 ms, each further one after twice that… */
  readonly slowAfter: number;
  /** …but never later than this, in ms. */
  readonly longestDelayMs: number;
  /** With so many the source is ignored. */
  readonly ignoreAfter: number;
  /** ms that it is ignored. */
  readonly ignoreForMs: number;
  /** Addresses and networks that are reported but never delayed or ignored. */
  readonly exempt: readonly string[];
  /** Sources remembered at most; beyond that the one whose last wrong log-in is longest ago is forgotten. */
  readonly sources: number;
};

type BansOptions = {
  readonly settings: BanSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Hears of each source against which more or nothing counts from now on. */
  changed?(source: string): void;
};

type Entry = {
  readonly source: string;
  readonly exempt: boolean;
  attempts: number;
  /** Attempts per user, the first few users. */
  users: Map<string, number>;
  protocols: Set<LogInProtocol>;
  /** By the monotonic clock, in ms. */
  since: number;
  last: number;
  ignoredUntil: number | undefined;
  /** Attempts that no line of the log has told of. */
  untold: number;
};

const FIRST_DELAY_MS = 250;
const REPORT_EVERY_MS = 60_000;
/** More sources than this share one log line. */
const LINES_PER_REPORT = 20;
const USERS_PER_SOURCE = 8;
const USER_LENGTH = 64;

const admit: BanDecision = { action: 'admit' };
const ignore: BanDecision = { action: 'ignore' };

/** Logs wrong log-ins: the first without delay, later ones together. */
function createReports(
  { clock, log }: Pick<BansOptions, 'clock' | 'log'>,
  entries: Map<string, Entry>,
  { isIgnored, isOver, forget }: Record<'isIgnored' | 'isOver' | 'forget', (entry: Entry) => boolean>,
) {
  let report: unknown;

  const tell = (entry: Entry) => {
    const { source, attempts, untold, users, protocols } = entry;
    entry.untold = 0;
    log.warn(
      { source, new: untold, attempts, users: [...users.keys()], protocols: [...protocols], ignored: isIgnored(entry) },
      'failed log-ins',
    );
  };

  const reportAll = () => {
    report = undefined;
    const untold = [...entries.values()].filter((entry) => entry.untold > 0).sort((a, b) => b.untold - a.untold);
    for (const entry of untold.slice(0, LINES_PER_REPORT)) tell(entry);
    const others = untold.slice(LINES_PER_REPORT);
    if (others.length > 0) {
      const attempts = others.reduce((sum, entry) => sum + entry.untold, 0);
      log.warn({ sources: others.length, new: attempts }, 'failed log-ins from more addresses');
      for (const entry of others) entry.untold = 0;
    }
    for (const entry of entries.values()) if (isOver(entry)) forget(entry);
    if (entries.size > 0) reportLater();
  };

  const reportLater = () => {
    report ??= clock.setTimeout(reportAll, REPORT_EVERY_MS);
  };

  return {
    failed(entry: Entry): void {
      if (report !== undefined) return;
      // The first is logged without delay: it may be a phone being set up.
      tell(entry);
      reportLater();
    },
    later: reportLater,
    close: () => clock.clearTimeout(report),
  };
}

function addAttempt(entry: Entry, user: string, protocol: LogInProtocol): void {
  const name = user.slice(0, USER_LENGTH);
  entry.attempts++;
  entry.untold++;
  entry.protocols.add(protocol);
  if (entry.users.has(name) || entry.users.size < USERS_PER_SOURCE)
    entry.users.set(name, (entry.users.get(name) ?? 0) + 1);
}

/** @param wallOf the time of day of a monotonic time */
const shown = (entry: Entry, wallOf: (monotonic: number) => number, isIgnored: boolean): Ban => ({
  address: entry.source,
  attempts: entry.attempts,
  users: [...entry.users.keys()],
  protocols: [...entry.protocols],
  doors: [...entry.protocols],
  first: formatTimestamp(wallOf(entry.since)),
  last: formatTimestamp(wallOf(entry.last)),
  ...(isIgnored && { ignored_until: formatTimestamp(wallOf(entry.ignoredUntil!)) }),
});

const saved = ({ users, protocols, ...entry }: Entry, wallOf: (monotonic: number) => number): SavedBan => ({
  ...{ source: entry.source, exempt: entry.exempt, attempts: entry.attempts },
  ...{ users: [...users], protocols: [...protocols], since: wallOf(entry.since), last: wallOf(entry.last) },
  ...(entry.ignoredUntil !== undefined && { ignoredUntil: wallOf(entry.ignoredUntil) }),
});

/** @param longestMs no ban lasts longer from now on, also where the clock was set back meanwhile */
function restored(
  { users, protocols, since, last, ignoredUntil, ...same }: SavedBan,
  { clock, longestMs }: { clock: Clock; longestMs: number },
): Entry {
  const now = clock.monotonic();
  const monotonicOf = (wall: number) => now + wall - clock.now();
  return {
    ...{ ...same, users: new Map(users), protocols: new Set(protocols), untold: 0 },
    ...{ since: Math.min(now, monotonicOf(since)), last: Math.min(now, monotonicOf(last)) },
    ignoredUntil: ignoredUntil === undefined ? undefined : Math.min(now + longestMs, monotonicOf(ignoredUntil)),
  };
}

/** Starts without bans. */
export function createBans({ settings: start, clock, log, changed }: BansOptions): Bans {
  let settings = start;
  let exempt = settings.exempt.map(addressMatcher);
  /** In the order of the last wrong log-in. */
  const entries = new Map<string, Entry>();

  const isIgnored = ({ ignoredUntil }: Entry) => ignoredUntil !== undefined && ignoredUntil > clock.monotonic();

  const isOver = (entry: Entry) =>
    entry.ignoredUntil === undefined
      ? entry.since + settings.windowMs <= clock.monotonic()
      : entry.ignoredUntil <= clock.monotonic();

  const forgetSource = (source: string): boolean => {
    const wasThere = entries.delete(source);
    if (wasThere) changed?.(source);
    return wasThere;
  };

  const reports = createReports({ clock, log }, entries, {
    ...{ isIgnored, isOver, forget: ({ source }) => forgetSource(source) },
  });

  const judge = (entry: Entry): BanDecision => {
    if (isIgnored(entry)) return ignore;
    if (entry.exempt || entry.attempts < settings.slowAfter || isOver(entry)) return admit;
    const doubled = FIRST_DELAY_MS * 2 ** Math.min(entry.attempts - settings.slowAfter, 30);
    return { action: 'delay', ms: Math.min(doubled, settings.longestDelayMs) };
  };

  const entryOf = (address: string): Entry => {
    const source = sourceNetwork(address);
    const old = entries.get(source);
    const now = clock.monotonic();
    if (old && !isOver(old)) return old;
    const isExempt = exempt.some((matches) => matches(address));
    const untold = old?.untold ?? 0;
    return {
      ...{ source, exempt: isExempt, attempts: 0, users: new Map(), protocols: new Set<LogInProtocol>() },
      ...{ since: now, last: now, ignoredUntil: undefined, untold },
    };
  };

  const count = (entry: Entry, user: string, protocol: LogInProtocol) => {
    addAttempt(entry, user, protocol);
    entry.last = clock.monotonic();
    if (!entry.exempt && entry.attempts >= settings.ignoreAfter && entry.ignoredUntil === undefined)
      entry.ignoredUntil = entry.last + settings.ignoreForMs;
  };

  const keep = (entry: Entry) => {
    entries.delete(entry.source);
    entries.set(entry.source, entry);
    changed?.(entry.source);
    if (entries.size > settings.sources) forgetSource(entries.keys().next().value!);
  };

  const wallOf = (monotonic: number) => Math.round(clock.now() + monotonic - clock.monotonic());
  return {
    failed(address, user, protocol) {
      const entry = entryOf(address);
      count(entry, user, protocol);
      keep(entry);
      reports.failed(entry);
      return judge(entry);
    },
    check(address) {
      const entry = entries.size === 0 ? undefined : entries.get(sourceNetwork(address));
      return entry ? judge(entry) : admit;
    },
    list: () =>
      [...entries.values()].filter((entry) => !isOver(entry)).map((entry) => shown(entry, wallOf, isIgnored(entry))),
    lift: (address) => forgetSource(address) || forgetSource(sourceNetwork(address)),
    dump(source) {
      const one = source === undefined ? undefined : entries.get(source);
      const wanted = source === undefined ? [...entries.values()] : one ? [one] : [];
      return wanted.map((entry) => saved(entry, wallOf));
    },
    restore(all) {
      for (const each of all) {
        const entry = restored(each, { clock, longestMs: settings.ignoreForMs });
        if (!isOver(entry)) keep(entry);
      }
      if (entries.size > 0) reports.later();
    },
    get size() {
      return entries.size;
    },
    reconfigure(next) {
      settings = next;
      exempt = settings.exempt.map(addressMatcher);
    },
    close: () => reports.close(),
  };
}
