import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRecordingCopies } from '../../src/stores/recording-copies.ts';
import { silentLog as log } from '../support/log.ts';

const copies = suite('copies of recordings of other nodes');

/** Recordings of node b, by name, and copies of at most 100 octets. */
async function withCopies(run: (world: ReturnType<typeof createWorld>) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  try {
    await run(createWorld(directory));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function createWorld(directory: string) {
  const there = new Map<string, string>();
  const asked: string[] = [];
  const hits: string[] = [];
  const own = createRecordingCopies({
    ...{ directory, mostOctets: 100, log, hit: (setting) => void hits.push(setting) },
    async fetch(name, copy) {
      asked.push(`${name} ${copy?.etag ?? 'new'}`);
      const text = there.get(name);
      if (text === undefined) throw new Error(`no recording '${name}' at any node`);
      const etag = `${text.length}`;
      const answer =
        copy?.etag === etag
          ? new Response(null, { status: 304 })
          : new Response(text, {
              headers: { 'content-type': name.endsWith('text') ? 'text/plain' : 'audio/wav', etag },
            });
      return { node: 'b', answer };
    },
  });
  const refusal = (name: string): Promise<string> =>
    own.bring(name).then(
      () => 'brought',
      ({ message }: Error) => message,
    );
  const text = (name: string): string => readFileSync(join(directory, `${name}.wav`), 'utf8');
  /** Brought, and released at once. */
  const heard = async (name: string): Promise<string> => {
    const { name: here, release } = await own.bring(name);
    const found = text(here);
    release();
    return found;
  };
  return { there, asked, hits, own, refusal, text, heard, files: () => readdirSync(join(directory, '.elsewhere')) };
}

copies('the owner is asked each time, and sends what has changed', () =>
  withCopies(async ({ there, asked, own, heard, refusal }) => {
    there.set('x', 'one');
    assert.equal([await heard('x'), await heard('x')], ['one', 'one']);
    there.set('x', 'three');
    assert.is(await heard('x'), 'three');
    assert.equal(asked, ['x new', 'x 3', 'x 3']);
    assert.is(own.octets, 5);
    there.delete('x');
    assert.match(await refusal('x'), /no recording/);
    assert.is(own.octets, 0);
    there.set('text', 'x');
    assert.match(await refusal('text'), /no file of it that can be played/);
    assert.match(await refusal('../x'), /no recording/);
    assert.is(asked.filter((each) => each.startsWith('..')).length, 0);
  }),
);

copies('those that ask at the same time share one copy', () =>
  withCopies(async ({ there, asked, own }) => {
    there.set('x', 'one');
    const [one, other] = await Promise.all([own.bring('x'), own.bring('x')]);
    assert.equal([one.name, asked.length], [other.name, 1]);
  }),
);

copies('the one that was not played for the longest time makes room, but none that is played', () =>
  withCopies(async ({ there, hits, own, heard, refusal, text, files }) => {
    for (const name of ['x', 'y', 'z']) there.set(name, name.repeat(40));
    await heard('x');
    await heard('y');
    await heard('x');
    await heard('z');
    assert.is(own.octets, 80);
    const held = [await own.bring('x'), await own.bring('z')];
    assert.match(await refusal('y'), /no room for a copy \(cluster\.recording_copies\)/);
    assert.equal(hits, ['cluster.recording_copies']);
    // One that is replaced while it is played stays until then.
    there.set('x', 'new');
    const next = await own.bring('x');
    assert.equal([text(held[0]!.name), text(next.name)], ['x'.repeat(40), 'new']);
    held[0]!.release();
    assert.is(own.octets, 43);
    held[1]!.release();
    next.release();
    there.set('x', 'x'.repeat(101));
    assert.match(await refusal('x'), /no room/);
    await heard('y');
    assert.is(own.octets, 40);
    assert.ok(files().length <= 3);
  }),
);

copies.run();
