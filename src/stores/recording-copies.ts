import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { recordingFormats } from '../models/live-recording.ts';
import { isRecordingName, recordingPath } from './recording-names.ts';

/** A recording that can be played, until it is released. */
type BroughtRecording = {
  /** Under this name it is played. */
  name: string;
  release(): void;
};

/** A copy at this node. */
type Copy = { node: string; etag: string; name: string; format: string; octets: number; uses: number };

/** The file of a recording at another node: 200 with its body, or 304 if the etag is still that of the file. */
type RecordingElsewhere = { node: string; answer: Response };

type RecordingCopiesOptions = {
  /** That of the recordings. */
  directory: string;
  /** Octets of all copies. */
  mostOctets: number;
  /**
   * Looks for a recording at the other nodes.
   * @param copy what is here of it already
   * @throws (rejects) Error that says why there is none
   */
  fetch(name: string, copy: Pick<Copy, 'node' | 'etag'> | undefined): Promise<RecordingElsewhere>;
  log: Pick<Logger, 'error'>;
  hit: LimitHit;
};

/** No recording has this name: a part of a name does not begin with a dot. */
const place = '.elsewhere';

/** The format of a file that was sent; undefined for one that no recording has. */
function formatOf({ headers }: Response): string | undefined {
  const format = /^audio\/(\w+)$/.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  return (recordingFormats as readonly string[]).includes(format) ? format : undefined;
}

/** The parts of a body, each counted before it is passed on. */
const counting = (body: ReadableStream<Uint8Array>, count: (octets: number) => void): Readable =>
  Readable.from(
    (async function* () {
      for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
        count(part.length);
        yield part;
      }
    })(),
  );

/** Makes a directory anew: an earlier process may have left files. */
function empty(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

/**
 * Copies of recordings of other nodes, which are played. The owner is asked each time, so a recording that was deleted or
 * recorded again is not played from its copy.
 */
export function createRecordingCopies({ directory, mostOctets, fetch, log, hit }: RecordingCopiesOptions) {
  const copies = new SlotMap<string, Copy>();
  const coming = new SlotMap<string, Promise<Copy>>();
  let octets = 0;
  let made = 0;

  const remove = (copy: Copy): void => {
    octets -= copy.octets;
    copy.octets = 0;
    rm(recordingPath(directory, copy.name, copy.format), { force: true }).catch((error: unknown) =>
      log.error({ error }, 'cannot delete the copy of a recording'),
    );
  };
  const forget = (name: string): void => {
    const copy = copies.get(name);
    copies.delete(name);
    if (copy?.uses === 0) remove(copy);
  };
  /** Copies that were not played for the longest time make room. @throws Error */
  const take = (more: number): void => {
    for (const [name, { uses }] of copies) {
      if (octets + more <= mostOctets) break;
      if (uses === 0) forget(name);
    }
    if (octets + more > mostOctets) {
      hit('cluster.recording_copies');
      throw new Error('there is no room for a copy (cluster.recording_copies)');
    }
    octets += more;
  };

  const write = async ({ node, answer }: RecordingElsewhere): Promise<Copy> => {
    const format = formatOf(answer);
    if (format === undefined || !answer.body) throw new Error(`the node ${node} has no file of it that can be played`);
    const etag = answer.headers.get('etag') ?? '';
    const copy: Copy = { node, etag, name: `${place}/${++made}`, format, octets: 0, uses: 0 };
    try {
      if (made === 1) empty(join(directory, place));
      const counted = counting(answer.body, (length) => {
        take(length);
        copy.octets += length;
      });
      await pipeline(counted, createWriteStream(recordingPath(directory, copy.name, format)));
      return copy;
    } catch (error) {
      remove(copy);
      throw error;
    }
  };
  const get = async (name: string): Promise<Copy> => {
    const before = copies.get(name);
    if (before) before.uses++;
    try {
      const found = await fetch(name, before);
      if (before && found.answer.status === 304) return before;
      const copy = await write(found);
      forget(name);
      copies.set(name, copy);
      return copy;
    } catch (error) {
      forget(name);
      throw error;
    } finally {
      if (before) release(before);
    }
  };
  const release = (copy: Copy): void => {
    copy.uses--;
    if (copy.uses === 0 && ![...copies.values()].includes(copy)) remove(copy);
  };

  return {
    /** Has a recording of another node here. @throws (rejects) Error that says why it cannot be played */
    async bring(name: string): Promise<BroughtRecording> {
      if (!isRecordingName(name)) throw new Error(`no recording '${name}'`);
      const underWay = coming.get(name) ?? get(name).finally(() => coming.delete(name));
      coming.set(name, underWay);
      const copy = await underWay;
      copy.uses++;
      // It is the last one to make room.
      if (copies.get(name) === copy) {
        copies.delete(name);
        copies.set(name, copy);
      }
      return { name: copy.name, release: () => release(copy) };
    },
    /** Octets of all copies. */
    get octets() {
      return octets;
    },
  };
}
