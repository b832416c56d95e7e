import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { Mailbox } from '../models/mailbox.ts';
import { openKeptMap } from './kept-map.ts';

/** Counts of waiting messages, kept over a restart. Names are exact. */
export interface Mailboxes {
  list(): Mailbox[];
  find(name: string): Mailbox | undefined;
  /** @throws AriError mailboxNotFound */
  get(name: string): Mailbox;
  /**
   * Sets both counts (default 0), and creates the mailbox if necessary. Resolves once that is stored.
   * @throws AriError mailboxUpdateFailed, limitReached synchronously; storageFailed (rejects), then nothing has
   * changed.
   */
  update(name: string, counts: { oldMessages?: number | undefined; newMessages?: number | undefined }): Promise<void>;
  /** Resolves once that is stored. @throws AriError mailboxToDeleteNotFound synchronously; storageFailed (rejects). */
  delete(name: string): Promise<void>;
  /** Takes a mailbox of the whole cluster; undefined: it was deleted. It is written as soon as the disk takes it. */
  adopt(name: string, mailbox: Mailbox | undefined): void;
  /** Adds a listener for changes, a deleted mailbox without messages: it notifies subscribed phones. */
  onChanged(listener: (mailbox: Mailbox) => void): void;
  /** Replaces the content of the disk; no events are published. */
  restore(mailboxes: readonly Mailbox[]): void;
  /** Resolves once all changes are on disk. */
  close(): Promise<void>;
}

type MailboxesOptions = {
  /** Data directory. */
  directory: string;
  clock: Clock;
  log: Logger;
  /** Mailboxes that there may be; any number when left out. */
  limit?: number | undefined;
};

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function readMailbox(element: unknown): Mailbox {
  const { name, old_messages, new_messages } = (element ?? {}) as Partial<Mailbox>;
  if (typeof name !== 'string' || !isCount(old_messages) || !isCount(new_messages))
    throw new TypeError(`not a mailbox: ${JSON.stringify(element)}`);
  return { name, old_messages, new_messages };
}

/** Opens the mailboxes that were kept. @throws StorageError when their file cannot be read. */
export function createMailboxes({
  directory,
  clock,
  log,
  limit = Number.POSITIVE_INFINITY,
}: MailboxesOptions): Mailboxes {
  const listeners: ((mailbox: Mailbox) => void)[] = [];
  const mailboxes = openKeptMap<Mailbox>({
    directory,
    name: 'mailboxes.json',
    clock,
    log,
    read: readMailbox,
    keyOf: ({ name }) => name,
    onUndone: ({ name }) => changed(name),
  });
  const changed = (name: string): void => {
    const mailbox = mailboxes.get(name) ?? { name, old_messages: 0, new_messages: 0 };
    for (const listener of listeners) listener({ ...mailbox });
  };

  const find = (name: string): Mailbox | undefined => {
    const mailbox = mailboxes.get(name);
    return mailbox && { ...mailbox };
  };

  return {
    list: () => mailboxes.values().map((mailbox) => ({ ...mailbox })),

    find,
    get(name) {
      const mailbox = find(name);
      if (!mailbox) throw new AriError('mailboxNotFound');
      return mailbox;
    },

    update(name, { oldMessages = 0, newMessages = 0 }) {
      if (name === '' || !isCount(oldMessages) || !isCount(newMessages)) throw new AriError('mailboxUpdateFailed');
      if (!mailboxes.has(name)) requireWithin('mailboxes', mailboxes.size + 1, limit);
      const kept = mailboxes.set(name, { name, old_messages: oldMessages, new_messages: newMessages });
      changed(name);
      return kept;
    },

    delete(name) {
      if (!mailboxes.has(name)) throw new AriError('mailboxToDeleteNotFound');
      const kept = mailboxes.delete(name);
      changed(name);
      return kept;
    },

    adopt(name, mailbox) {
      if (!mailbox) mailboxes.deleteSoon(name);
      else if (mailboxes.has(name) || mailboxes.size < limit) mailboxes.setSoon(name, mailbox);
      changed(name);
    },

    restore: (known) => mailboxes.replaceSoon(known),
    onChanged: (listener) => void listeners.push(listener),
    close: () => mailboxes.close(),
  };
}
