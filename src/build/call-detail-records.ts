import { join } from 'node:path';
import { createJsonPost } from '../http/json-post.ts';
import { createLineBudget } from '../lib/line-budget.ts';
import { recordWebhook } from '../settings.ts';
import { prepareDirectory, StorageError } from '../stores/durable-file.ts';
import { openRotatedFile } from '../stores/rotated-file.ts';
import { openSpool } from '../stores/spool.ts';
import { createCallDetailRecords } from '../watch/call-detail-records.ts';
import { createDelivery } from '../watch/delivery.ts';
import type { Base } from './base.ts';
import type { Network } from './network.ts';

/** What metrics tell of call detail records. */
export type RecordFigures = { made: number; lost: number; waitingOctets: number };

/** Lines about records that were lost, in a minute. */
const mostLines = 1;
const minuteMs = 60_000;

type Output = { take(line: string): boolean; octets(): number };

/**
 * Writes call detail records to a file and brings them to a webhook, as the configuration says; without either nobody
 * hears of calls for it. @returns what became of them; undefined where none are made. @throws StorageError when a directory or the file cannot be used.
 */
export function buildCallDetailRecords(
  base: Base,
  { certificates }: Pick<Network, 'certificates'>,
): () => RecordFigures | undefined {
  const { config, ids, log: all, story, scope, entityId } = base;
  const log = all.child({ part: 'records' });
  const figures = { made: 0, lost: 0 };
  const outputs = [toFile(base, log), toWebhook(base, certificates, log)].filter((output) => output !== undefined);
  const budget = createLineBudget(base.clock, mostLines, minuteMs);
  if (outputs.length > 0)
    story.listen(
      createCallDetailRecords({
        ids,
        system: entityId,
        variables: config.cdr.variables,
        traceparentOf: (channel) => base.tracing?.headersOf(channel)['traceparent'],
        take(line) {
          figures.made++;
          for (const output of outputs) {
            if (output.take(line)) continue;
            figures.lost++;
            budget.write((untold) => log.error({ lost: untold + 1 }, 'call detail records are lost'));
          }
        },
      }),
    );
  // Before what takes them is closed.
  scope.defer(() => story.settled());
  return () =>
    outputs.length === 0
      ? undefined
      : { ...figures, waitingOctets: outputs.reduce((sum, output) => sum + output.octets(), 0) };
}

function toFile({ config: { cdr }, clock, scope }: Base, log: Base['log'] | ReturnType<Base['log']['child']>) {
  if (cdr.file === '') return undefined;
  const file = openFile(cdr.file, () =>
    openRotatedFile({
      path: cdr.file,
      clock,
      maximumOctets: cdr.file_size * 1_000_000,
      keep: cdr.files,
      tellLost: (lost) => `${JSON.stringify({ lost })}\n`,
      onFailed: (error) => log.error({ error, file: cdr.file }, 'call detail records cannot be written'),
      onStuck: (error) => log.error({ error, file: cdr.file }, 'the file of call detail records cannot be put aside'),
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
  log: ReturnType<Base['log']['child']>,
) {
  const settings = recordWebhook(config);
  if (!settings) return undefined;
  const spool = openSpool({
    directory: join(config.general.data_directory, 'cdr-spool'),
    maximumOctets: settings.spoolOctets,
    batch: settings.batch,
    onFailed: (error, lost) =>
      lost
        ? log.error({ error }, 'call detail records that waited cannot be read and are lost')
        : log.error({ error }, 'call detail records that wait cannot be written; they are kept in memory'),
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
