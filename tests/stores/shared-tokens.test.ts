import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { KeptToken } from '../../src/models/token.ts';
import { openTokens, type Tokens } from '../../src/stores/tokens.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { silentLog as log } from '../support/log.ts';

/** Tokens of several nodes of a cluster. */
const tokens = suite('shared tokens');

const clock = new ManualClock();
const wanted = (name: string, lastsMs = 100_000) => ({
  ...{ name, user: 'writer', scopes: [], read_only: false, made_by: 'writer', expires: clock.now() + lastsMs },
});

/** Nodes that hear each other at once, unless one of them is away. */
class Nodes {
  readonly directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  readonly open = new Map<
    string,
    { store: Tokens; adopt(token: unknown): void; revoked: string[]; forgot: string[] }
  >();
  readonly away = new Set<string>();
  #made = 0;

  /** Starts a node, again with what it has kept. It hears what the others have. */
  start(name: string, most = 4) {
    const store = openTokens({
      ...{ directory: join(this.directory, name), clock, log, settings: { most } },
      secret: (length) => `${++this.#made}`.padStart(length, 'x'),
    });
    const revoked: string[] = [];
    const forgot: string[] = [];
    store.onRevoked((token) => void revoked.push(token.name));
    const kept: KeptToken[] = [];
    const tell = (token: KeptToken): void => {
      for (const [other, { adopt }] of this.open)
        if (other !== name && !this.away.has(other) && !this.away.has(name)) adopt(structuredClone(token));
    };
    const forget = ({ name: gone }: KeptToken): void => void forgot.push(gone);
    const adopt = store.share({ tell, know: (token) => void kept.push(token), forget });
    this.open.set(name, { store, adopt, revoked, forgot });
    for (const token of kept) tell(token);
    return { store, adopt, revoked, forgot };
  }

  async stop(name: string): Promise<void> {
    await this.open.get(name)?.store.close();
    this.open.delete(name);
  }

  async close(): Promise<void> {
    for (const { store } of this.open.values()) await store.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const onNodes = (title: string, run: (nodes: Nodes) => Promise<void>): void =>
  tokens(title, async () => {
    const nodes = new Nodes();
    try {
      await run(nodes);
    } finally {
      await nodes.close();
    }
  });

const names = ({ store }: { store: Tokens }): string[] => store.list().map(({ name }) => name);

onNodes('one that was revoked while a node was away does not come back with it', async (nodes) => {
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const { secret } = await a.store.make(wanted('phone'));
  assert.is(b.store.find(secret)?.name, 'phone');
  await nodes.stop('b');
  await a.store.revoke('phone');
  assert.equal(a.revoked, ['phone']);
  // The others have restarted before it is back.
  await nodes.stop('a');
  const [again, back] = [nodes.start('a'), nodes.start('b')];
  for (const token of [{ ...back.store.find(secret)! }]) again.adopt(token);
  assert.is(again.store.find(secret), undefined);
  nodes.start('c');
  await nodes.stop('a');
  nodes.start('a');
  assert.equal([back.store.find(secret), back.revoked], [undefined, ['phone']]);
});

onNodes('of two of one name the later one is good, at all nodes', async (nodes) => {
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  nodes.away.add('b');
  const { token: first } = await a.store.make(wanted('phone'));
  clock.advance(10);
  const { token: second } = await b.store.make(wanted('phone'));
  nodes.away.clear();
  a.adopt(second);
  b.adopt(first);
  assert.equal([a.store.list(), b.store.list()], [[second], [second]]);
  assert.equal([a.revoked, b.revoked], [['phone'], []]);
});

onNodes('there are no more than there may be, and revoked ones go first', async (nodes) => {
  const [a, b] = [nodes.start('a', 3), nodes.start('b', 2)];
  for (const name of ['one', 'two', 'three']) await a.store.make(wanted(name));
  assert.equal(names(b), ['one', 'two']);
  await a.store.revoke('one');
  await a.store.make(wanted('four'));
  assert.equal(
    [names(a), names(b)],
    [
      ['two', 'three', 'four'],
      ['two', 'four'],
    ],
  );
  assert.equal(a.forgot, ['one']);
});

onNodes('what has expired is told no more, and is taken from nobody', async (nodes) => {
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const { token } = await a.store.make(wanted('short', 1_000));
  await a.store.make(wanted('long'));
  clock.advance(1_000);
  await a.store.make(wanted('other'));
  assert.equal([a.forgot, b.forgot], [['short'], ['short']]);
  b.adopt(token);
  b.adopt({ nonsense: true });
  b.adopt(null);
  assert.equal(names(b), ['long', 'other']);
});

tokens.run();
