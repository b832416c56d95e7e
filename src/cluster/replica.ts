import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import {
  type ApplicationEvent,
  forgottenBy,
  linesOf,
  readFormats,
  readLines,
  type StateChange,
  stateFormat,
} from '../lib/state-lines.ts';
import { type StateReplicaEvent, stateReplicaTable } from '../machines/state-replica.ts';
import { TableRun } from '../machines/table-run.ts';
import { readFrame, writeFrame } from './frame.ts';
import { type ClusterLink, LinkError } from './link.ts';
import type { NamedLink } from './named-link.ts';

/** The copy of a node's state that NATS keeps, so that another node can go on with its calls. */

/** What the state is read from. */
export type StateSource = {
  /** Everything as it is now. */
  all(): { entries: StateChange[]; events: ApplicationEvent[] };
  /** Gives the listener each change from now on. */
  follow(listener: (changes: readonly StateChange[], events: readonly ApplicationEvent[]) => void): void;
};

type ReplicaOptions = {
  link: Pick<NamedLink, 'append' | 'trim' | 'state' | 'onState' | 'epoch'>;
  subject: string;
  source: StateSource;
  /** Version of the data: another version cannot go on from it. */
  version: number;
  clock: Clock;
  log: Logger;
  /** How often changes are written. */
  intervalMs: number;
  /** Pause behind a failure. */
  retryMs: number;
  /** Characters of changes that wait at most. */
  mostWaiting: number;
  /** Characters of one message, about. */
  piece: number;
  hit(limit: 'replica_unsent' | 'replica_size'): void;
};

export type ReplicaFigures = {
  /** Age of the oldest change that NATS has not confirmed, in ms. */
  lagMs: number;
  /** Octets written so far. */
  octets: number;
  /** How often the whole state was written. */
  copies: number;
};

/** Writes the state of this node. */
export interface Replica {
  figures(): ReplicaFigures;
  /** Resolves when NATS has confirmed everything so far. @throws (rejects) LinkError timeout behind so many ms. */
  flush(mostMs: number): Promise<void>;
  /** Ends it. @param gone nothing of this node goes on: the copy is removed. */
  close(gone: boolean): Promise<void>;
}

/** Head of a message. A batch has one message or more, and counts as a whole. */
type Head = {
  epoch: string;
  version: number;
  /** Of the lines. */
  format: number;
  /** Numbers the messages of a process. */
  number: number;
  /** The whole state begins here. */
  first?: true;
  /** The batch goes on in the next message. */
  more?: true;
};

/** The subject of the state of a node. */
export const stateSubject = (cluster: string, node: string): string => `${cluster}.state.${node}`;

/** How often {@link Replica.flush} looks, in ms. */
const flushLookMs = 5;

/** The copy is written anew when the changes behind it are so many messages, or twice as long. */
const mostMessages = 1_000;
const shortCopy = 1_000_000;

/** Changes that are not written yet. Of several changes of one object the last one counts. */
class Waiting {
  #changes = new Map<string, string | undefined>();
  #events: ApplicationEvent[] = [];
  characters = 0;
  /** When the oldest of them was made. */
  since: number | undefined;

  add(changes: readonly StateChange[], events: readonly ApplicationEvent[], now: number): void {
    if (changes.length === 0 && events.length === 0) return;
    this.since ??= now;
    for (const [key, json] of changes) {
      const before = this.#changes.get(key);
      this.characters += (json?.length ?? 0) + (this.#changes.has(key) ? -(before?.length ?? 0) : key.length);
      this.#changes.set(key, json);
      const application = forgottenBy(key);
      if (application !== undefined) this.#events = this.#events.filter(([name]) => name !== application);
    }
    for (const event of events) {
      this.characters += event[2].length;
      this.#events.push(event);
    }
  }

  take(): { changes: StateChange[]; events: ApplicationEvent[]; since: number | undefined } {
    const taken = { changes: [...this.#changes], events: this.#events, since: this.since };
    this.#changes = new Map();
    this.#events = [];
    this.characters = 0;
    this.since = undefined;
    return taken;
  }
}

/** Lines of about so many characters each. At least one, which may be empty. */
function* piecesOf(changes: readonly StateChange[], events: readonly ApplicationEvent[], most: number) {
  let piece: { changes: StateChange[]; events: ApplicationEvent[]; length: number } | undefined;
  const fresh = () => ({ changes: [] as StateChange[], events: [] as ApplicationEvent[], length: 0 });
  for (const change of changes) {
    piece ??= fresh();
    piece.changes.push(change);
    piece.length += change[0].length + (change[1]?.length ?? 0) + 2;
    if (piece.length < most) continue;
    yield linesOf(piece.changes, piece.events);
    piece = undefined;
  }
  for (const event of events) {
    piece ??= fresh();
    piece.events.push(event);
    piece.length += event[0].length + event[2].length + 20;
    if (piece.length < most) continue;
    yield linesOf(piece.changes, piece.events);
    piece = undefined;
  }
  yield piece ? linesOf(piece.changes, piece.events) : '';
}

/** Writes batches. */
function createWriter({ link, subject, source, piece, version, hit }: ReplicaOptions, waiting: Waiting) {
  const counts = { octets: 0, copies: 0 };
  /** Of the copy at NATS, and of the changes behind it. */
  const size = { copy: 0, behind: 0, messages: 0 };
  let number = 0;
  /** The place of the last message; undefined before a whole state. */
  let last: number | undefined;
  /** The oldest change in what is being written. */
  let writingSince: number | undefined;

  const send = async (text: string, more: Pick<Head, 'first' | 'more'>): Promise<number> => {
    const head: Head = { epoch: link.epoch, version, format: stateFormat, number: ++number, ...more };
    const frame = writeFrame(head, Buffer.from(text));
    // Refused if the stream was emptied or created anew: the whole state is written next.
    const at = await link.append(subject, frame, last);
    last = at;
    counts.octets += frame.length;
    size.behind += frame.length;
    size.messages++;
    return at;
  };
  const sendBatch = async (changes: StateChange[], events: ApplicationEvent[]): Promise<void> => {
    let held: string | undefined;
    for (const text of piecesOf(changes, events, piece)) {
      if (held !== undefined) await send(held, { more: true });
      held = text;
    }
    await send(held ?? '', {});
  };
  const writeWhole = async (): Promise<void> => {
    waiting.take();
    last = undefined;
    const { entries, events } = source.all();
    Object.assign(size, { behind: 0, messages: 0 });
    let first: number | undefined;
    for (const text of piecesOf(entries, events, piece)) {
      const at = await send(text, { ...(first === undefined && { first: true as const }), more: true });
      first ??= at;
    }
    // What has changed meanwhile makes one state of it.
    const { changes, events: later, since } = waiting.take();
    writingSince = since;
    await sendBatch(changes, later);
    await link.trim(subject, first);
    Object.assign(size, { copy: size.behind, behind: 0, messages: 0 });
    counts.copies++;
  };
  const writeAll = async (): Promise<void> => {
    try {
      await writeWhole();
    } catch (error) {
      // Its earlier state takes the room, and what was written of this one, which nobody can use.
      if (error instanceof LinkError && error.failure === 'full') {
        hit('replica_size');
        await link.trim(subject);
      }
      throw error;
    }
  };
  const writeChanges = async (): Promise<void> => {
    const { changes, events, since } = waiting.take();
    writingSince = since;
    await sendBatch(changes, events);
  };
  return {
    ...{ counts, writeAll, writeChanges },
    /** When the oldest change in what is being written was made. */
    get since() {
      return writingSince;
    },
    /** Whether the copy and what is behind it should be written anew. */
    get isLong() {
      return size.messages > mostMessages || size.behind > Math.max(2 * size.copy, shortCopy);
    },
    /** Nothing is being written. */
    rest(): void {
      writingSince = undefined;
    },
  };
}

/** Begins to write the state whenever NATS is reached. What waits is bounded: beyond that the whole is written again. */
export function createReplica(options: ReplicaOptions): Replica {
  const { link, subject, source, clock, log, intervalMs, mostWaiting } = options;
  const waiting = new Waiting();
  const writer = createWriter(options, waiting);
  let timer: unknown;
  const end = (event: StateReplicaEvent): void => {
    writer.rest();
    run.send(event);
    if (writer.isLong) run.send({ type: 'outgrown' });
  };
  /** Since when NATS has no whole state, or one that misses changes. */
  let incompleteSince: number | undefined = clock.monotonic();
  /** One warning for each time without success. */
  let told = false;
  const write = (what: () => Promise<void>): void =>
    void what().then(
      () => {
        told = false;
        end({ type: 'written' });
      },
      (error: unknown) => {
        if (!told) log.warn({ error }, 'the state of this node could not be written to NATS; trying again');
        told = true;
        incompleteSince ??= clock.monotonic();
        end({ type: 'failed' });
      },
    );
  const writeAll = async (): Promise<void> => {
    await writer.writeAll();
    if (run.state === 'copying') incompleteSince = undefined;
  };
  const run = new TableRun<keyof typeof stateReplicaTable, StateReplicaEvent, 'writeAll' | 'writeChanges'>(
    stateReplicaTable,
    'missing',
    {
      writeAll: () => write(writeAll),
      writeChanges: () => write(writer.writeChanges),
    },
  );

  source.follow((changes, events) => {
    if (run.state === 'missing' || run.state === 'outdated') return;
    waiting.add(changes, events, clock.monotonic());
    if (waiting.characters <= mostWaiting) return;
    waiting.take();
    options.hit('replica_unsent');
    incompleteSince ??= clock.monotonic();
    run.send({ type: 'overflowed' });
  });
  link.onState((state) => {
    if (state === 'up') return;
    incompleteSince ??= clock.monotonic();
    run.send({ type: 'link.lost' });
  });
  const again = (): void => {
    const isDue = run.state === 'missing' || waiting.since !== undefined;
    if (isDue && link.state === 'up') run.send({ type: 'due' });
    timer = clock.setTimeout(again, told ? options.retryMs : intervalMs);
  };
  again();
  /** The oldest change that NATS has not confirmed. */
  const unconfirmedSince = (): number | undefined => incompleteSince ?? writer.since ?? waiting.since;

  return {
    figures() {
      const since = unconfirmedSince();
      return { ...writer.counts, lagMs: since === undefined ? 0 : Math.round(clock.monotonic() - since) };
    },
    async flush(mostMs) {
      const end = clock.monotonic() + mostMs;
      while (unconfirmedSince() !== undefined) {
        if (clock.monotonic() > end) throw new LinkError('timeout');
        run.send({ type: 'due' });
        await new Promise<void>((resolve) => void clock.setTimeout(resolve, flushLookMs));
      }
    },
    async close(gone) {
      clock.clearTimeout(timer);
      if (gone && link.state === 'up') await link.trim(subject).catch(() => {});
    },
  };
}

/** The state of a node as it was kept. */
type KeptState = { entries: StateChange[]; events: ApplicationEvent[] };

/**
 * The state that a process has left at NATS, up to the last whole batch; undefined if there is none.
 * @throws (rejects) LinkError; Error for a state of another version or of a later format.
 */
export async function readReplica(
  link: Pick<ClusterLink, 'kept'>,
  subject: string,
  { epoch, version }: { epoch: string; version: number },
): Promise<KeptState | undefined> {
  let entries: Map<string, string> | undefined;
  let events: ApplicationEvent[] = [];
  let batch: { first: boolean; texts: string[] } | undefined;
  let expected: number | undefined;
  const apply = ({ first, texts }: { first: boolean; texts: readonly string[] }): void => {
    if (first) {
      entries = new Map();
      events = [];
    }
    const current = entries;
    if (!current) return;
    const reader = {
      change(key: string, json: string | undefined): void {
        const application = forgottenBy(key);
        if (application !== undefined) events = events.filter(([name]) => name !== application);
        else if (json === undefined) current.delete(key);
        else current.set(key, json);
      },
      event: (...event: ApplicationEvent): void => void events.push(event),
    };
    for (const text of texts) if (text !== '') readLines(text, reader);
  };
  for (const data of await link.kept(subject)) {
    const frame = readFrame(data);
    const head = frame?.head as Head | undefined;
    if (!frame || head?.epoch !== epoch) continue;
    if (head.version !== version)
      throw new Error(`the state has version ${head.version}, and this server reads version ${version}`);
    if (!readFormats.includes(head.format))
      throw new Error(`the state has format ${head.format}, and this server reads formats ${readFormats.join(', ')}`);
    // A message is missing: what follows is of no use before the next whole state.
    if (expected !== undefined && head.number !== expected && !head.first) break;
    expected = head.number + 1;
    if (head.first || !batch) batch = { first: head.first === true, texts: [] };
    batch.texts.push(Buffer.from(frame.body).toString());
    if (head.more) continue;
    apply(batch);
    batch = undefined;
  }
  return entries && { entries: [...entries], events };
}
