import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import type { Mailbox } from '../models/mailbox.ts';
import { createJsonFile } from './json-file.ts';

/** Counts of waiting messages, kept over a restart. Names are exact. */
export interface Mailboxes {
  list(): Mailbox[];
  /** @throws AriError mailboxNotFound */
  get(name: string): Mailbox;
  /** Sets both counts, one left out being 0; makes the mailbox when there is none. */
  update(name: string, counts: { oldMessages?: number | undefined; newMessages?: number | undefined }): void;
  /** @throws AriError mailboxToDeleteNotFound */
  delete(name: string): void;
  /** Adds one who hears every change, a deleted mailbox as one without messages: phones that watch it are told. */
  onChanged(listener: (mailbox: Mailbox) => void): void;
  /** Resolves once all changes are on disk. */
  close(): Promise<void>;
}

export type MailboxesOptions = {
  /** Data directory. */
  directory: string;
  log: Logger;
};

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function readMailboxes(json: unknown): Mailbox[] {
  if (!Array.isArray(json)) throw new TypeError('a list of mailboxes is expected');
  for (const entry of json as Partial<Mailbox>[])
    if (typeof entry?.name !== 'string' || !isCount(entry.old_messages) || !isCount(entry.new_messages))
      throw new TypeError(`not a mailbox: ${JSON.stringify(entry)}`);
  return json as Mailbox[];
}

export function createMailboxes({ directory, log }: MailboxesOptions): Mailboxes {
  const file = createJsonFile({ directory, name: 'mailboxes.json', log, read: readMailboxes });
  const mailboxes = new Map((file.load() ?? []).map((mailbox) => [mailbox.name, mailbox]));
  const listeners: ((mailbox: Mailbox) => void)[] = [];
  const changed = (mailbox: Mailbox): void => {
    file.save(() => [...mailboxes.values()]);
    for (const listener of listeners) listener({ ...mailbox });
  };

  return {
    list: () => [...mailboxes.values()].map((mailbox) => ({ ...mailbox })),

    get(name) {
      const mailbox = mailboxes.get(name);
      if (!mailbox) throw new AriError('mailboxNotFound');
      return { ...mailbox };
    },

    update(name, { oldMessages = 0, newMessages = 0 }) {
      if (name === '' || !isCount(oldMessages) || !isCount(newMessages)) throw new AriError('mailboxUpdateFailed');
      const mailbox: Mailbox = { name, old_messages: oldMessages, new_messages: newMessages };
      mailboxes.set(name, mailbox);
      changed(mailbox);
    },

    delete(name) {
      if (!mailboxes.delete(name)) throw new AriError('mailboxToDeleteNotFound');
      changed({ name, old_messages: 0, new_messages: 0 });
    },

    onChanged: (listener) => void listeners.push(listener),
    close: () => file.flush(),
  };
}
