import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { KeptRequest as Kept, KeptAnswer } from '../models/kept-answer.ts';
import { openEntries } from './open-entries.ts';

/** Settings; names and units as in the configuration's `http.idempotency`. */
export type KeptAnswerSettings = {
  /** How long an answer is kept, in s. */
  lifetime: number;
  /** Answers of one user; the oldest goes. */
  most: number;
  /** Octets of all answers of one user; the oldest goes. */
  memory: number;
  /** How long an answer may wait for the disk, in s. */
  write_timeout: number;
};

/** State of a key: unknown, in progress, used by another request, or answered. */
type KeyState = 'new' | 'running' | 'other' | KeptAnswer;

/**
 * Answers to requests by the client's idempotency key, so that a repeated request is not carried out twice. They are
 * persistent: each is written to `idempotency` in the data directory before it is sent. If the disk fails, answers are
 * kept in memory, and one line is logged.
 */
export interface KeptAnswers {
  /** Looks a key up, and reserves it if it is new. `print` tells requests apart. */
  begin(user: string, key: string, print: string): KeyState;
  /**
   * Keeps the answer of a reserved key. Resolves when it is written, or when the disk takes longer than
   * `write_timeout`. A `private` answer is kept in memory only.
   */
  keep(user: string, key: string, answer: KeptAnswer, isPrivate: boolean): Promise<void>;
  /** Frees a reserved key: its request changed nothing. */
  release(user: string, key: string): void;
  /**
   * Answers that the journal does not have yet. What a request has changed is written with its answer, so a process that is
   * killed leaves both or none. @param id one of them
   */
  dump(id?: string): Kept[];
  /** Takes up those of the process before. */
  restore(entries: readonly Kept[]): void;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

type KeptAnswersOptions = {
  /** The data directory. */
  directory: string;
  clock: Clock;
  log: Logger;
  /** Read at every use: they may change. */
  settings: KeptAnswerSettings;
  hit: LimitHit;
  /** An answer is given, or is in the journal: its id. */
  changed?: (id: string) => void;
  /** Writes what is changed, behind each request. */
  commit?: () => void;
};

type Running = { print: string };
type Entry = Running | Kept;

/** Size at which the journal is rewritten, in octets; at least twice the size of the kept answers. */
const journalOctets = 4 * 1_048_576;

const isKept = (entry: Entry): entry is Kept => 'answer' in entry;
const sizeOf = ({ key, answer }: Kept): number => 200 + key.length + answer.body.length;
/** Names an answer. */
export const idOf = ({ user, key }: Pick<Kept, 'user' | 'key'>): string => JSON.stringify([user, key]);

/** Answers of one user, the oldest first. */
type OfUser = { entries: Map<string, Entry>; octets: number };

const openJournal = ({ directory, clock, log }: KeptAnswersOptions) =>
  openEntries<Kept>({
    ...{ path: join(directory, 'idempotency'), clock, maximumOctets: journalOctets },
    onFailed: (error) =>
      log.warn({ error }, 'answers to requests with an Idempotency-Key are not written: a restart loses them'),
  });

/** Opens the answers that an earlier process kept. @throws Error (Node's, StorageError) when they cannot be read. */
export function openKeptAnswers(options: KeptAnswersOptions): KeptAnswers {
  const { clock, settings, hit, changed = () => {}, commit = () => {} } = options;
  const users = new Map<string, OfUser>();
  const unwritten = new SlotMap<string, Kept>();
  const journal = openJournal(options);

  const ofUser = (user: string): OfUser => {
    const known = users.get(user) ?? { entries: new Map(), octets: 0 };
    users.set(user, known);
    return known;
  };
  const forget = (user: string, of: OfUser, key: string): void => {
    const entry = of.entries.get(key);
    if (!entry) return;
    of.entries.delete(key);
    if (of.entries.size === 0) users.delete(user);
    if (!isKept(entry)) return;
    of.octets -= sizeOf(entry);
    journal.delete(idOf(entry));
  };
  const isOver = ({ at }: Kept): boolean => clock.now() - at >= settings.lifetime * 1000;

  /** The oldest answers go until the bounds hold; requests under way stay. */
  const trim = (user: string, of: OfUser): void => {
    for (const [key, entry] of of.entries) {
      const tooMany = of.entries.size > settings.most;
      const tooLarge = of.octets > settings.memory;
      if (isKept(entry) && (tooMany || tooLarge || isOver(entry))) {
        if (!isOver(entry)) hit(tooMany ? 'http.idempotency.most' : 'http.idempotency.memory');
        forget(user, of, key);
      } else if (!tooMany && !tooLarge) return;
    }
  };

  for (const { entry } of journal.left.toSorted((one, other) => one.entry.at - other.entry.at)) {
    const of = ofUser(entry.user);
    of.entries.set(entry.key, entry);
    of.octets += sizeOf(entry);
  }
  for (const [user, of] of [...users]) trim(user, of);

  const written = (entry: Kept): Promise<void> =>
    new Promise((resolve) => {
      const id = idOf(entry);
      const timer = clock.setTimeout(resolve, settings.write_timeout * 1000);
      journal.set(id, entry, () => {
        clock.clearTimeout(timer);
        if (unwritten.get(id) === entry && unwritten.delete(id)) changed(id);
        resolve();
      });
    });
  /** Keeps an answer as the newest one. @returns whether it is to be written: there is room, and it may be. */
  const add = (entry: Kept, isPrivate = false): boolean => {
    const { user, key } = entry;
    const of = ofUser(user);
    of.entries.delete(key);
    of.entries.set(key, entry);
    of.octets += sizeOf(entry);
    trim(user, of);
    if (isPrivate || of.entries.get(key) !== entry) return false;
    unwritten.set(idOf(entry), entry);
    changed(idOf(entry));
    return true;
  };

  return {
    begin(user, key, print) {
      const of = ofUser(user);
      trim(user, of);
      const entry = of.entries.get(key);
      if (entry && entry.print !== print) return 'other';
      if (entry) return isKept(entry) ? entry.answer : 'running';
      ofUser(user).entries.set(key, { print });
      return 'new';
    },
    async keep(user, key, answer, isPrivate) {
      const of = users.get(user);
      const reserved = of?.entries.get(key);
      if (!of || !reserved) return;
      const entry: Kept = { user, key, print: reserved.print, at: clock.now(), answer };
      const isWritten = add(entry, isPrivate);
      // Before the journal has it: a killed process leaves no answer without what it tells of.
      commit();
      if (isWritten) await written(entry);
    },
    release(user, key) {
      const of = users.get(user);
      if (of) forget(user, of, key);
      commit();
    },
    dump: (id) =>
      id === undefined ? [...unwritten.values()] : [unwritten.get(id)].filter((each) => each !== undefined),
    restore(entries) {
      for (const entry of entries)
        if (!users.get(entry.user)?.entries.has(entry.key) && add(entry)) void written(entry);
    },
    close: () => journal.close(),
  };
}
