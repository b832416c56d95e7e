import { getHeapSnapshot } from 'node:v8';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anyDeed, timedDeeds } from './random-deeds.ts';
import { createStory, serverAddress } from './snapshot-story.ts';

/**
 * Rounds of calls whose objects V8 counts by class. What grows with each round is kept by something: a timer, a table, a
 * listener that was never removed. Memory in octets would grow and shrink with compiled code as well.
 */
const stays = suite('memory of a server after its calls');

type Story = Awaited<ReturnType<typeof createStory>>;
type Snapshot = {
  snapshot: { meta: { node_fields: string[]; node_types: string[][] } };
  nodes: number[];
  strings: string[];
};

/** What has no class or name of its own: the story logs events and messages, and tests before this one may still end. */
const plain = new Set(['', 'Object', 'Array', 'Promise', 'Generator', 'system / Context']);

/** How many objects of each class and closures of each name are reachable. */
async function countObjects(): Promise<Map<string, number>> {
  const parts: Buffer[] = [];
  for await (const part of getHeapSnapshot()) parts.push(part as Buffer);
  const { snapshot, nodes, strings } = JSON.parse(Buffer.concat(parts).toString()) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, name] = [fields.indexOf('type'), fields.indexOf('name')];
  const counts = new Map<string, number>();
  for (let node = 0; node < nodes.length; node += fields.length) {
    const kind = types[type]![nodes[node + type]!]!;
    const named = strings[nodes[node + name]!]!;
    if ((kind !== 'object' && kind !== 'closure') || plain.has(named)) continue;
    const key = `${kind} ${named}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

const extensions = ['app', 'echo', 'patient', 'dial', 'room', 'wait', 'timed', 'prompts', 'forward', 'nobody'];

/** Calls and deeds, until all channels and bridges are gone, and an hour after that. */
async function round({ clock, ask, act, phones, leave, comeBack }: Story, seed: number): Promise<void> {
  const chance = { seed, numRuns: 1 };
  const [deeds = []] = fc.sample(timedDeeds(anyDeed('call', 'originate', 'local', 'join'), fc.nat(60), 40), chance);
  for (const extension of extensions) phones.alice.dial(`sip:${extension}@${serverAddress}:5060`);
  for (const { after, deed } of deeds) {
    await clock.run(after * 10);
    await act(deed);
  }
  leave();
  await clock.run(2_000);
  comeBack();
  for (const kind of ['channels', 'bridges'])
    for (const { id } of (await ask('GET', `/${kind}`)) as { id: string }[]) await ask('DELETE', `/${kind}/${id}`);
  await clock.run(3_600_000);
  for (const { calls } of Object.values(phones)) calls.splice(0);
}

stays('no object or closure of a call is kept', async () => {
  const story = await createStory(3, false, { recorder: { off: true } });
  const rounds = 5;
  const tell = async (): Promise<void> => {
    for (let seed = 0; seed < rounds; seed++) await round(story, seed);
  };
  // Operations make what they need on first use.
  await tell();
  const before = await countObjects();
  await tell();
  const after = await countObjects();
  const grown = [...after].filter(([key, count]) => count - (before.get(key) ?? 0) >= rounds);
  assert.equal(
    grown.map(([key, count]) => `${key}: ${count - (before.get(key) ?? 0)} more`),
    [],
  );
  const { errors } = await story.close();
  assert.equal(errors, []);
});

stays.run();
