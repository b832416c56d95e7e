import { join } from 'node:path';
import { createJsonPost } from '../http/json-post.ts';
import { createLineBudget } from '../lib/line-budget.ts';
import type { Logger } from '../lib/log.ts';
import { type CallDetailRecord, checkCallDetailRecord } from '../models/call-detail-record.ts';
import { recordWebhook } from '../settings.ts';
import { prepareDirectory, StorageError } from '../stores/durable-file.ts';
import { type OpenEntries, openEntries } from '../stores/open-entries.ts';
import { openRotatedFile } from '../stores/rotated-file.ts';
import { openSpool } from '../stores/spool.ts';
import { createCallDetailRecords, lineOf, lostRecord, refusedRecord } from '../watch/call-detail-records.ts';
import { createDelivery } from '../watch/delivery.ts';
import type { Base } from './base.ts';
import type { Network } from './network.ts';

/** Figures of call detail records for metrics. */
export type RecordFigures = { made: number; lost: number; waitingOctets: number };

/** Writes call detail records. */
export type CallDetailRecords = {
  /** Counts of records; undefined without any. */
  figures(): RecordFigures | undefined;
  /** Opens the file again if another program has renamed it. */
  reopen(): void;
};

/** Lines about records that were lost, in a minute. */
const mostLines = 1;
const minuteMs = 60_000;

/** Size at which the journal of answered calls starts again, and the interval of its sign of life. */
const journalOctets = 1_000_000;
const aliveMs = 1_000;

type Output = { take(line: string): boolean; octets(): number; reopen?(): void };

/**
 * Writes call detail records to a file and sends them to a webhook, as configured. Answered calls of a dead process get
 * their records now. @throws StorageError when a directory or the file cannot be used.
 */
export function buildCallDetailRecords(base: Base, { certificates }: Pick<Network, 'certificates'>): CallDetailRecords {
  const { config, ids, log: all, story, scope, entityId } = base;
  const log = all.child({ part: 'records' });
  const figures = { made: 0, lost: 0 };
  const outputs: Output[] = [toFile(base, log), toWebhook(base, certificates, log)].filter(
    (output) => output !== undefined,
  );
  if (outputs.length === 0) return { figures: () => undefined, reopen() {} };
  const budget = createLineBudget(base.clock, mostLines, minuteMs);
  const take = (line: string): void => {
    figures.made++;
    for (const output of outputs) {
      if (output.take(line)) continue;
      figures.lost++;
      budget.write((untold) => log.error({ lost: untold + 1 }, 'call detail records were lost'));
    }
  };
  const open = openJournal(base, log);
  if (open) recover(base, open, take, log);
  story.listen(
    createCallDetailRecords({
      ids,
      system: entityId,
      variables: config.cdr.variables,
      traceparentOf: (channel) => base.tracing?.headersOf(channel)['traceparent'],
      open,
      take,
    }),
  );
  base.refusedCalls.listen((call, leftOut) =>
    take(lineOf(refusedRecord(call, { id: ids.uuid(), system: entityId, leftOut }))),
  );
  // Before the outputs are closed.
  scope.defer(() => story.settled());
  return {
    figures: () => ({ ...figures, waitingOctets: outputs.reduce((sum, output) => sum + output.octets(), 0) }),
    reopen() {
      for (const output of outputs) output.reopen?.();
    },
  };
}

/** The journal of answered calls, in the data directory; undefined, which the log tells, where it cannot be used. */
function openJournal({ config, clock, scope }: Base, log: Logger): OpenEntries<CallDetailRecord> | undefined {
  const path = join(config.general.data_directory, 'answered-calls.jsonl');
  const sentence = 'the journal of answered calls cannot be used: calls that are up in a crash have no record';
  const onFailed = (error: unknown): void => log.error({ error, file: path }, sentence);
  try {
    const maximumOctets = journalOctets;
    const open = openEntries<CallDetailRecord>({ path, clock, maximumOctets, aliveMs, onFailed });
    scope.defer(() => open.close());
    return open;
  } catch (error) {
    onFailed(error);
    return undefined;
  }
}

/** Makes records of calls that another process left answered, except those that continue here. */
function recover({ from }: Base, open: OpenEntries<CallDetailRecord>, take: (line: string) => void, log: Logger): void {
  const goesOn = new Set(from?.calls.legs?.map(({ channel }) => channel));
  const isRecord = checkCallDetailRecord();
  const lost = open.left.filter(({ key }) => !goesOn.has(key));
  for (const { key, entry, aliveAt } of lost) {
    if (isRecord(entry)) take(lineOf(lostRecord(entry, aliveAt)));
    open.delete(key);
  }
  if (lost.length > 0) log.warn({ records: lost.length }, 'wrote the call detail records of calls that a crash ended');
}

function toFile({ config: { cdr }, clock, scope }: Base, log: Logger) {
  if (cdr.file === '') return undefined;
  const file = openFile(cdr.file, () =>
    openRotatedFile({
      path: cdr.file,
      clock,
      maximumOctets: cdr.file_size * 1_000_000,
      keep: cdr.files,
      tellLost: (lost) => `${JSON.stringify({ lost })}\n`,
      onFailed: (error) => log.error({ error, file: cdr.file }, 'cannot write call detail records'),
      onStuck: (error) => log.error({ error, file: cdr.file }, 'cannot rotate the file of call detail records'),
    }),
  );
  scope.defer(() => file.close());
  return {
    take(line: string) {
      const { failed } = file;
      file.write(line);
      return !failed;
    },
    octets: () => 0,
    reopen: () => file.reopen(),
  } satisfies Output;
}

/** @throws StorageError that says why in one line. */
function openFile<T>(path: string, open: () => T): T {
  prepareDirectory(join(path, '..'));
  try {
    return open();
  } catch (error) {
    throw new StorageError(path, error);
  }
}

function toWebhook(
  { config, clock, ids, scope, limitCounts: { hit } }: Base,
  certificates: Network['certificates'],
  log: Logger,
) {
  const settings = recordWebhook(config);
  if (!settings) return undefined;
  const spool = openSpool({
    directory: join(config.general.data_directory, 'cdr-spool'),
    maximumOctets: settings.spoolOctets,
    batch: settings.batch,
    onFailed: (error, lost) =>
      lost
        ? log.error({ error }, 'cannot read queued call detail records; they are lost')
        : log.error({ error }, 'cannot write queued call detail records; they are kept in memory'),
  });
  const { post, abort, close } = createJsonPost({ ...settings, clock, tls: certificates });
  const chance = () => Number.parseInt(ids.hex(6), 16) / 2 ** 24;
  const delivery = createDelivery({ ...settings, spool, post, abort, chance, clock, log });
  scope.defer(async () => {
    await delivery.close();
    close();
    await spool.close();
  });
  delivery.wake();
  return {
    take(line: string) {
      const taken = spool.put(line);
      if (!taken) hit('cdr.webhook.spool');
      if (taken) delivery.wake();
      return taken;
    },
    octets: () => spool.octets,
  } satisfies Output;
}
