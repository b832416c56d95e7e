import { readdirSync, readlinkSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { warmUpRestore } from '../../src/virtual/warm-up.ts';

/** What a process that stands by does before it is needed. */

const warm = suite('a process that stands by');

const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${descriptor}`);
      return file.includes('hookswitch-warm-up') ? [file] : [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });

warm('restores calls of its own from a state store, and leaves no file open', async () => {
  assert.is(await warmUpRestore(() => true, 2), 20);
  assert.equal(openFiles(), []);
});

warm('ends with the round that is under way when it is needed', async () => {
  let asked = 0;
  await warmUpRestore(() => ++asked < 2, 1_000);
  assert.is(asked, 2);
});

warm.run();
