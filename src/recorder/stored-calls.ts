import type { Call, CallDetail, CallMask, CallPage, WaitingFor } from '../models/call.ts';
import { outcomeResults } from '../models/call-outcome.ts';
import { AriError } from '../models/errors.ts';
import type { TimelineEntry } from '../models/timeline.ts';
import { type Bundle, createBundle, type ServerDescription } from './bundle.ts';
import type { CallDisk } from './call-archive.ts';
import type { CallRecord } from './call-record.ts';
import { type CallFilter, type Calls, type Filtered, maskOf, matches, pageOf, writeMask } from './calls.ts';
import { SipEntry } from './entries.ts';
import { joined, nothingMasked } from './masks.ts';
import { writeMermaid } from './mermaid.ts';
import { writePcap } from './pcap.ts';
import { maskEntry } from './timeline.ts';

/** Calls on the disk. */
interface StoredCalls<Place> extends CallDisk<Place> {
  search(search: {
    fits(call: Call): boolean;
    offset: number;
    limit: number;
    begunBy?: number | undefined;
    from?: number | undefined;
    to?: number | undefined;
  }): Promise<{ calls: Call[]; total: number; unsearchedBefore?: number }>;
  find(id: string): Promise<{ call: CallDetail; place: Place } | undefined>;
}

/** Which calls are searched for; all conditions hold. */
type CallQuery = Omit<CallFilter, 'fits'> & {
  /** Whether stored calls are searched too. */
  stored?: boolean | undefined;
  /** Words that its ids, names, numbers, applications and outcome contain, without regard to case. */
  text?: string | undefined;
  /** The outcome. */
  outcome?: readonly string[] | undefined;
  /** Q.850 cause of one of its channels. */
  cause?: number | undefined;
  /** It began in this time; ISO 8601, or ms since the epoch. */
  from?: string | undefined;
  to?: string | undefined;
  /** Its duration in s. */
  longer_than?: number | undefined;
  shorter_than?: number | undefined;
};

type Seen = CallFilter['seen'];
type MaskRequest = Parameters<Calls['mask']>[1];

/** All calls: those that the recorder has in memory, and those on the disk. All that asks for one throws callNotFound. */
export interface KnownCalls {
  /** Newest first. @throws AriError (rejects) parameterInvalid, recorderOff, tooManySearches. */
  list(query: CallQuery): Promise<CallPage>;
  /** By its id, a former one, or the id of one of its channels. @param seen as in {@link CallFilter} */
  get(id: string, seen?: Seen): Promise<CallDetail>;
  /** Everything that stays longer than it is expected to. @throws AriError recorderOff. */
  stuck(): WaitingFor[];
  /** The source of a Mermaid sequence diagram. */
  mermaid(id: string, seen?: Seen): Promise<string>;
  /** The SIP messages as a capture file; with `headers` those of RTP as well, which are only in memory. */
  pcap(id: string, rtp?: string, seen?: Seen): Promise<Buffer>;
  /** Hides digits and values of variables, also of a stored call, whose earlier version is erased. */
  mask(id: string, hide: MaskRequest, seen?: Seen): Promise<CallMask>;
  /** Everything, in one document; without the configuration if the user may not read it. */
  bundle(id: string, withConfig?: boolean, seen?: Seen): Promise<Bundle>;
  /** A call in memory. @throws AriError recorderOff. */
  record(id: string): CallRecord;
}

/** Adds the calls on the disk to those in memory. @param disk left out: none are stored */
export function withStored<Place>(
  calls: Calls,
  disk: StoredCalls<Place> | undefined,
  server: ServerDescription,
  now: () => number,
): KnownCalls {
  /** The timeline in memory; if the call is not there, the one from disk. */
  const either = async <T>(
    ofMemory: () => T,
    id: string,
    seen: Seen,
    ofDisk: (call: CallDetail, place: Place) => T | Promise<T>,
  ): Promise<T> => {
    try {
      return ofMemory();
    } catch (error) {
      if (!disk || !(error instanceof AriError) || (error.code !== 'callNotFound' && error.code !== 'recorderOff'))
        throw error;
      const found = await disk.find(id);
      if (!found || (seen && !seen(found.call.applications))) throw error;
      return ofDisk(found.call, found.place);
    }
  };

  return {
    record: calls.record,
    stuck: calls.stuck,
    list: (query) => search(calls, disk, query, now),
    get: (id, seen) =>
      either(
        () => calls.get(id),
        id,
        seen,
        (call) => ({ ...call, stored: true }),
      ),
    mermaid: (id, seen) =>
      either(
        () => calls.mermaid(id),
        id,
        seen,
        ({ timeline }) => writeMermaid(timeline),
      ),
    pcap: (id, rtp, seen) =>
      either(
        () => calls.pcap(id, rtp),
        id,
        seen,
        ({ timeline }) => {
          if (rtp === 'headers') throw new AriError('rtpNotKept');
          return writePcap(timeline.flatMap(sipEntryOf), nothingMasked);
        },
      ),
    bundle: (id, withConfig = true, seen = undefined) =>
      either(
        () => calls.bundle(id, withConfig),
        id,
        seen,
        (call) => createBundle(call, withConfig ? server : { versions: server.versions }, now()),
      ),
    mask: (id, hide, seen) =>
      either(
        () => calls.mask(id, hide),
        id,
        seen,
        async (call, place) => {
          const mask = joined(maskOf(call.masked ?? {}), maskOf(hide));
          const written = writeMask(mask);
          const timeline = call.timeline.map((entry) => maskEntry(entry, mask));
          if (!(await disk?.append({ ...call, masked: written, timeline }, place))) throw new AriError('storageFailed');
          return written;
        },
      ),
  };
}

/** Calls in memory, and behind them those that only the disk has. */
async function search<Place>(
  calls: Calls,
  disk: StoredCalls<Place> | undefined,
  { stored = false, ...query }: CallQuery,
  now: () => number,
): Promise<CallPage> {
  if (query.outcome?.some((each) => !(outcomeResults as readonly string[]).includes(each)))
    throw new AriError('parameterInvalid', { name: 'outcome', expected: outcomeResults.join(', ') });
  const [from, to] = [timeOf('from', query.from), timeOf('to', query.to)];
  const fits = (call: Call) => fitsQuery(call, query, from, to);
  const page = calls.list({ ...query, fits: hasMore(query) ? fits : undefined });
  if (!stored || !disk || query.state === 'live' || query.stuck === true) return page;
  const { offset, count } = pageOf(query);
  const inMemory = (id: string) => {
    try {
      return calls.record(id) !== undefined;
    } catch {
      return false;
    }
  };
  const found = await disk.search({
    fits: (call) => !inMemory(call.id) && matches(filteredOf(call), query, now()) && fits(call),
    ...{ offset: Math.max(0, offset - page.total), limit: count - page.calls.length },
    // A call ends after it begins; it may last long.
    from,
    begunBy: to,
  });
  const total = page.total + found.total;
  const next = offset + count;
  return {
    calls: [...page.calls, ...found.calls],
    total,
    ...(next < total ? { next } : {}),
    ...(found.unsearchedBefore === undefined ? {} : { unsearched_before: found.unsearchedBefore }),
    evicted: page.evicted,
  };
}

/** Conditions that need a call's model. */
const hasMore = ({ text, outcome, cause, from, to, longer_than: longer, shorter_than: shorter }: CallQuery): boolean =>
  [text, outcome, cause, from, to, longer, shorter].some((each) => each !== undefined);

/** A time of a query, in ms since the epoch. @throws AriError parameterInvalid. */
function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(at))
    throw new AriError('parameterInvalid', { name, expected: 'a time such as 2026-11-26T10:00:00Z' });
  return at;
}

function fitsQuery(call: Call, query: CallQuery, from: number | undefined, to: number | undefined): boolean {
  const { text, outcome, cause, longer_than: longer, shorter_than: shorter } = query;
  if (from !== undefined && call.began < from) return false;
  if (to !== undefined && call.began > to) return false;
  if (longer !== undefined && call.duration_ms < longer * 1000) return false;
  if (shorter !== undefined && call.duration_ms > shorter * 1000) return false;
  if (outcome !== undefined && !outcome.includes(call.outcome.result)) return false;
  if (cause !== undefined && !call.channels.some((channel) => channel.cause === cause)) return false;
  if (text === undefined) return true;
  const all = searchedText(call);
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** Everything that `text` looks at, in lower case. */
const searchedText = ({ id, applications, bridges, outcome, channels }: Call): string =>
  [
    ...[id, ...applications, ...bridges, outcome.result, outcome.reason],
    ...channels.flatMap((channel) => [
      ...[channel.id, channel.name, channel.endpoint, channel.caller.name, channel.caller.number],
      ...[channel.connected.name, channel.connected.number, channel.extension, channel.failure],
    ]),
  ]
    .join(' ')
    .toLowerCase();

const filteredOf = ({ began, state, applications, channels }: Call): Filtered => ({
  ...{ began, state, applications },
  numbers: channels.flatMap(({ caller, connected, extension }) => [
    ...[caller.number, connected.number, extension.split('@')[0] ?? ''],
  ]),
  endpoints: channels.flatMap(({ endpoint }) => endpoint ?? []),
});

const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** A SIP message of a timeline as it was recorded. */
function sipEntryOf(entry: TimelineEntry): SipEntry[] {
  if (entry.kind !== 'sip') return [];
  const { at, direction, protocol, first_line: first, headers, body, body_length: bodyLength } = entry;
  const head = latin1(`${first}\r\n${headers === '' ? '' : `${headers}\r\n`}\r\n`);
  const places = { local: placeOf(entry.local), remote: placeOf(entry.remote) };
  const text = body === undefined ? undefined : latin1(body);
  return [new SipEntry({ at, direction, protocol, head, body: text, bodyLength, ...places })];
}

function placeOf(text: string): { address: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { address: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
