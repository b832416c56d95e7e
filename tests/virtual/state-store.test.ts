import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dataOf } from '../../src/build/saved-state.ts';
import { serverDataVersion } from '../../src/build/server-data.ts';
import { createLogger } from '../../src/lib/log.ts';
import { openStateStore } from '../../src/stores/state-store.ts';
import { createStory, serverAddress } from './snapshot-story.ts';

/** A whole server on a simulated network that is killed, and goes on with what it has written. */

const store = suite('the state of a server that is killed');

const log = createLogger({ level: 'silent', destination: { write: () => {} } });

/** The data in a state file, read as the next process would. */
function written(directory: string): Record<string, unknown> {
  const copy = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  copyFileSync(join(directory, 'state.log'), join(copy, 'state.log'));
  const left = openStateStore({
    ...{ directory: copy, log, version: serverDataVersion, compactAbove: 1e9, retryMs: 1_000, now: () => 0 },
  });
  left.close();
  rmSync(copy, { recursive: true });
  return dataOf(left.left);
}

/** What changes by itself is only written once a second. */
const unsteady = new Set(['stream', 'item', 'heardMs', 'begun', 'missed', 'endpoints', 'deviceStates', 'mailboxes', 'globals']);
/** Members in one order, without those that are empty or unsteady. */
function steady(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(steady);
  if (typeof data !== 'object' || data === null) return data;
  const members = Object.entries(data).filter(
    ([name, value]) => !unsteady.has(name) && value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, steady(value)]));
}

/** Paths and values of all that is in the data. */
function* leaves(data: unknown, path = ''): Generator<string> {
  if (typeof data !== 'object' || data === null) yield `${path}: ${JSON.stringify(data)}`;
  else for (const [name, value] of Object.entries(data)) yield* leaves(value, `${path}.${name}`);
}

const differences = (one: unknown, other: unknown): string[] => {
  const [ones, others] = [one, other].map((data) => new Set(leaves(steady(data)))) as [Set<string>, Set<string>];
  return [
    ...[...ones].filter((leaf) => !others.has(leaf)).map((leaf) => `written, not so: ${leaf}`),
    ...[...others].filter((leaf) => !ones.has(leaf)).map((leaf) => `not written: ${leaf}`),
  ];
};

store('is at every moment what a snapshot would have', async () => {
  const story = await createStory(5, true);
  const { clock, ask, phones } = story;
  const compare = (): void => assert.equal(differences(written(story.directory), story.server.dump()), []);
  const run = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      await clock.run(10);
      compare();
    }
  };
  await run(1_000);
  const out = phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await run(500);
  const [channel] = (await ask('GET', '/channels')) as { id: string }[];
  await ask('POST', `/channels/${channel?.id}/play?media=tone:%21440/2000,tone:%21880/1000&playbackId=p1`);
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await run(1_500);
  out.leg.hangup(16);
  await run(1_000);
  await story.close();
});

store.run();
