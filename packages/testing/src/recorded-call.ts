import type { TimelineEntry } from '../../../src/models/timeline.ts';
import type { Bundle } from '../../../src/recorder/bundle.ts';

/** Something that a far side did in a recorded call. */
export type Act = {
  /** When, in ms since the call began. */
  atMs: number;
  phone: string;
} & (
  | { does: 'dial' | 'transfer'; extension: string }
  | { does: 'ring' | 'progress' | 'answer' | 'hold' | 'unhold' }
  | { does: 'press'; digit: string }
  | { does: 'hangup'; cause: number }
);

/** An event or a command of a recorded call, without what differs from run to run: ids are numbered by kind. */
export type Line = {
  /** When, in ms since the call began. */
  atMs: number;
  /** What it is about: lines of one object have one order in every run. */
  object: string;
  text: string;
};

/** What a prompt did in a recorded call. */
export type Played = { fromMs: number; toMs: number; media: string; phone: string | undefined };

/** A recorded call, as a test needs it. */
export type RecordedCall = {
  /** What far sides did, in order. */
  acts: Act[];
  /** What the applications got and asked, in order. */
  lines: Line[];
  /** Prompts that were played to their ends. */
  played: Played[];
  /** Calls of phones that the server ended. */
  ended: { atMs: number; phone: string }[];
  applications: string[];
  /** Phones by name, with the context that their calls enter. */
  phones: Map<string, { context?: string }>;
  /** Parts of the call that a test cannot repeat, in words. */
  missing: string[];
};

/** A bundle that this version can read. @throws TypeError that says why not. */
export function readBundle(text: string): Bundle {
  let found: Partial<Bundle> | null;
  try {
    found = JSON.parse(text);
  } catch {
    throw new TypeError('the bundle is not JSON');
  }
  if (found?.format !== 'hookswitch-bundle' || !Array.isArray(found.call?.timeline))
    throw new TypeError('this is no bundle: make one with `hookswitch bundle <call>`');
  if (found.version !== 1) throw new TypeError(`bundles of version ${found.version} cannot be read, only version 1`);
  return found as Bundle;
}

/** Reads what far sides and applications did in a call. Times are relative to `began`, in ms since the Unix epoch. */
export function readCall(timeline: readonly TimelineEntry[], began: number): RecordedCall {
  const reader = new CallReader(nameObjects(timeline), began);
  for (const entry of timeline) reader.read(entry);
  return reader.call;
}

/** Kinds of objects that clients know, by chart. */
const kinds: Readonly<Record<string, string>> = {
  channel: 'channel',
  bridge: 'bridge',
  playback: 'playback',
  liveRecording: 'recording',
};

/** Names objects in the order in which they came: `channel 1`, `bridge 1`. */
function nameObjects(timeline: readonly TimelineEntry[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const entry of timeline) {
    if (entry.kind !== 'step' || names.has(entry.object)) continue;
    const kind = kinds[entry.chart];
    if (kind === undefined) continue;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(entry.object, `${kind} ${count}`);
  }
  return names;
}

/** Members of an event that are worth comparing, besides the objects it is about. */
const compared = ['state', 'dialstatus', 'dialstring', 'digit', 'cause', 'args', 'musicclass', 'media_uri'] as const;

class CallReader {
  readonly call: RecordedCall = {
    ...{ acts: [], lines: [], played: [], ended: [], applications: [], missing: [] },
    phones: new Map(),
  };
  readonly #names: ReadonlyMap<string, string>;
  readonly #began: number;
  /** The phone of each channel that is played again. */
  readonly #phoneOf = new Map<string, string>();
  readonly #incoming = new Set<string>();
  /** Channels whose far side hung up. */
  readonly #left = new Set<string>();
  readonly #starts = new Map<string, { context?: string; extension?: string }>();
  readonly #playing = new Map<string, Omit<Played, 'toMs'>>();

  constructor(names: ReadonlyMap<string, string>, began: number) {
    this.#names = names;
    this.#began = began;
  }

  read(entry: TimelineEntry): void {
    if (entry.kind === 'request' && entry.method !== 'GET') this.#request(entry);
    if (entry.kind === 'event') this.#event(entry);
    if (entry.kind === 'step') this.#step(entry);
  }

  #line(atMs: number, object: string | undefined, text: string): void {
    this.call.lines.push({ atMs, object: object ?? 'the application', text });
  }

  #named(text: string): string {
    return this.#names.get(text) ?? text;
  }

  #request({ at, method, path, query, status }: Extract<TimelineEntry, { kind: 'request' }>): void {
    const segments = path.split('/').map((segment) => this.#named(decoded(segment)));
    const values = [...new URLSearchParams(query)].map(
      ([name, value]) => `${name}=${value.split(',').map((each) => this.#named(each))}`,
    );
    const asked = values.length > 0 ? `?${values.sort().join('&')}` : '';
    const object = segments.find((segment) => / \d+$/.test(segment));
    this.#line(at - this.#began, object, `${method} ${segments.join('/')}${asked} (${status})`);
  }

  #event({ at, application, type, missed, event }: Extract<TimelineEntry, { kind: 'event' }>): void {
    if (!this.call.applications.includes(application)) this.call.applications.push(application);
    const atMs = at - this.#began;
    this.#follow(event, atMs);
    if (missed) return;
    const objects = Object.values(event).flatMap((member) => {
      const { id, name, state } = (member ?? {}) as Record<string, unknown>;
      const known = this.#names.get(String(id ?? name));
      return known === undefined ? [] : [{ known, state }];
    });
    const parts = objects.map(({ known, state }) => (state === undefined ? known : `${known} ${state}`));
    const members = event as Record<string, unknown>;
    for (const name of compared)
      if (members[name] !== undefined) parts.push(`${name} ${JSON.stringify(members[name])}`);
    // Variables that name channels differ from run to run.
    if (type === 'ChannelVarset') parts.push(String(members['variable']));
    this.#line(atMs, objects[0]?.known, `${type} for ${application}: ${parts.join(', ')}`);
  }

  /** Notes which prompts were played, and to whom. */
  #follow(event: unknown, atMs: number): void {
    const { type, playback } = event as {
      type: string;
      playback?: { id: string; media_uri: string; target_uri: string; state: string };
    };
    if (!playback) return;
    const { id, media_uri: media, target_uri: target } = playback;
    if (type === 'PlaybackStarted' || type === 'PlaybackContinuing')
      this.#playing.set(id, { fromMs: atMs, media, phone: this.#phoneOf.get(target.replace(/^channel:/, '')) });
    const begun = this.#playing.get(id);
    if (type !== 'PlaybackFinished' || !begun || playback.state !== 'done') return;
    this.#playing.delete(id);
    this.call.played.push({ ...begun, toMs: atMs });
  }

  #step({ at, chart, object, event }: Extract<TimelineEntry, { kind: 'step' }>): void {
    const { type } = event as { type: string };
    const input = (event as { input?: Record<string, unknown> }).input ?? {};
    if (chart === 'ownership' && type === 'xstate.init') this.#starts.set(object, input['start'] ?? {});
    if (chart !== 'channel') return;
    if (type === 'xstate.init') this.#begin(object, input as never, at - this.#began);
    else this.#report(object, event as never, at - this.#began);
  }

  #begin(id: string, { endpoint, origin }: { endpoint?: string[]; origin: string }, atMs: number): void {
    const [technology, phone] = endpoint ?? [];
    const name = this.#named(id);
    if (technology !== 'PJSIP' || phone === undefined) {
      if (technology !== 'Local') this.call.missing.push(`${name} (${technology ?? 'no endpoint'}) has no phone`);
      return;
    }
    if ([...this.#phoneOf.values()].includes(phone)) {
      this.call.missing.push(`${name}: ${phone} was in another call already`);
      return;
    }
    this.#phoneOf.set(id, phone);
    const { context, extension = 's' } = this.#starts.get(id) ?? {};
    const known = this.call.phones.get(phone) ?? {};
    const incoming = origin === 'incoming';
    this.call.phones.set(phone, { ...known, ...(incoming && context !== undefined && { context }) });
    if (!incoming) return;
    this.#incoming.add(id);
    this.call.acts.push({ atMs, phone, does: 'dial', extension });
  }

  #report(id: string, event: { type: string; [member: string]: unknown }, atMs: number): void {
    const phone = this.#phoneOf.get(id);
    if (phone === undefined) return;
    const { acts } = this.call;
    const outgoing = !this.#incoming.has(id);
    const act = (does: 'ring' | 'progress' | 'answer' | 'hold' | 'unhold') => acts.push({ atMs, phone, does });
    const reports: Readonly<Record<string, () => void>> = {
      'leg.ringing': () => act('ring'),
      'leg.progressed': () => act('progress'),
      'leg.answered': () => outgoing && act('answer'),
      'leg.held': () => act('hold'),
      'leg.unheld': () => act('unhold'),
      'leg.digit': () => acts.push({ atMs, phone, does: 'press', digit: String(event['digit']) }),
      'leg.hungUp': () => {
        this.#left.add(id);
        acts.push({ atMs, phone, does: 'hangup', cause: Number(event['cause']) });
      },
      'leg.transferAsked': () => this.#transfer(phone, event['transfer'] as { extension: string }, atMs),
      'leg.forwarded': () => this.call.missing.push(`${phone} forwarded the call`),
      'leg.ended': () => {
        this.#phoneOf.delete(id);
        if (!this.#left.has(id)) this.call.ended.push({ atMs, phone });
      },
    };
    if (Object.hasOwn(reports, event.type)) reports[event.type]?.();
  }

  #transfer(phone: string, { extension }: { extension: string }, atMs: number): void {
    if (extension === '') this.call.missing.push(`${phone} put two calls through (REFER with Replaces)`);
    else this.call.acts.push({ atMs, phone, does: 'transfer', extension });
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
