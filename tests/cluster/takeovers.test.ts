import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LinkError } from '../../src/cluster/link.ts';
import { createTakeovers, type StandIn } from '../../src/cluster/takeovers.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { silentLog as log } from '../support/log.ts';

const takeovers = suite('a server that goes on with the calls of others, and ends');

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A server that finds the node `lost` silent. The test answers each step. */
async function createWorld() {
  const clock = new ManualClock();
  const said: string[] = [];
  let claim = (_: boolean): void => {};
  let start = (_: StandIn | undefined): void => {};
  let end = (): void => {};
  const link = {
    state: 'up',
    find: async () => JSON.stringify({ epoch: 'e', term: 1 }),
    async request() {
      throw new LinkError('nobody');
    },
    serve: () => () => said.push('name is free'),
    replace: () =>
      new Promise<boolean>((resolve) => {
        claim = resolve;
      }),
    claim: async () => undefined,
  };
  const owner = createTakeovers({
    ...{ link: link as never, members: { list: () => [{ name: 'lost', heardAt: clock.now() } as never] } },
    ...{ clock, log, tables: undefined, cluster: 'c', requestTimeoutMs: 1_000, lookMs: 100, afterMs: -1 },
    ...{ silentAfterMs: 0, most: 1, hit() {}, newEpoch: () => 'mine' },
    start: () => {
      said.push('starts');
      return new Promise((resolve) => {
        start = resolve;
      });
    },
    forget: async () => void said.push('is forgotten'),
  });
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const standIn: StandIn = {
    ended,
    async stop() {
      said.push('stops');
      await ended;
    },
  };
  await turn();
  return {
    said,
    claimed: (ours: boolean) => claim(ours),
    started: (has = true) => start(has ? standIn : undefined),
    callsEnd: () => end(),
    /** Ends the server. */
    close: () => void owner.close().then(() => said.push('closed')),
  };
}

takeovers('ends the calls of a stand-in that was just starting', async () => {
  const { said, claimed, started, callsEnd, close } = await createWorld();
  claimed(true);
  await turn();
  close();
  await turn();
  assert.equal(said, ['starts']);
  started();
  await turn();
  assert.equal(said, ['starts', 'stops']);
  callsEnd();
  await turn();
  assert.equal(said, ['starts', 'stops', 'name is free', 'closed']);
});

takeovers('starts none when it gets the name of a lost node too late', async () => {
  const { said, claimed, close } = await createWorld();
  close();
  await turn();
  assert.equal(said, []);
  claimed(true);
  await turn();
  assert.equal(said, ['name is free', 'closed']);
});

takeovers('waits for nothing where another server was faster, or there are no calls', async () => {
  const other = await createWorld();
  other.close();
  other.claimed(false);
  await turn();
  assert.equal(other.said, ['name is free', 'closed']);
  const empty = await createWorld();
  empty.claimed(true);
  await turn();
  empty.close();
  empty.started(false);
  await turn();
  assert.equal(empty.said, ['starts', 'name is free', 'is forgotten', 'closed']);
});

takeovers('lets the calls of one that runs end', async () => {
  const { said, claimed, started, callsEnd, close } = await createWorld();
  claimed(true);
  await turn();
  started();
  await turn();
  close();
  await turn();
  assert.equal(said, ['starts', 'stops']);
  callsEnd();
  await turn();
  assert.equal(said, ['starts', 'stops', 'name is free', 'closed']);
});

takeovers.run();
