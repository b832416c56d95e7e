import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { restoreSnapshot } from '../../src/actors/snapshot.ts';
import { createCallControl, FakeLeg, settled } from '../support/call-control.ts';
import { takeSnapshot } from '../support/snapshots.ts';

/** A Dial that is saved before anybody is joined. */

type World = ReturnType<typeof createCallControl>;

/** Alice calls 202. */
function world(dial: string) {
  const contexts = { default: { '202': [dial, 'Wait(60)'] }, ask: { s: ['Wait(5)', 'Return'] } };
  const w = createCallControl({ contexts });
  w.incoming('alice', '202');
  return { ...w, contexts };
}

/** The same in another process, as soon as it is there. */
function taken({ owners, clock, contexts }: World & { contexts: Record<string, Record<string, string[]>> }) {
  const dump = takeSnapshot(owners);
  const again = createCallControl({ contexts, now: clock.now() });
  restoreSnapshot(again.owners, dump, {
    legOf({ id }, report) {
      const leg = new FakeLeg(id, report);
      again.legs.set(id, leg);
      return leg;
    },
  });
  return again;
}

/** The same, when all is quiet. */
async function takenUp(w: Parameters<typeof taken>[0]) {
  const again = taken(w);
  await settled();
  return again;
}

const ids = ({ channels }: Pick<World, 'channels'>) => channels.all().map(({ id }) => id);
const idOf = ({ channels }: Pick<World, 'channels'>, name: string) =>
  channels.all().find((each) => each.name.startsWith(name))!.id;
const status = ({ channels }: Pick<World, 'channels'>) =>
  snapshotOf(channels.get('alice')).context.variables['DIALSTATUS'];

test('who is called when it is saved is called on, and the first that answers is joined', async () => {
  const w = world('Dial(Fake/bob&Fake/carol,20,g)');
  w.report(idOf(w, 'Fake/bob'), { type: 'leg.ringing' });
  await settled();
  const again = await takenUp(w);
  assert.equal(ids(again), ids(w));
  again.report(idOf(again, 'Fake/bob'), { type: 'leg.answered' });
  await settled();
  assert.equal(ids(again), ['alice', idOf(w, 'Fake/bob')]);
  assert.equal([again.bridges.size, again.owners.dials.dump().length], [1, 1]);
  again.report(idOf(again, 'Fake/bob'), { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([status(again), again.bridges.size, again.dialSessions.size], ['ANSWER', 0, 0]);
  assert.equal(again.owners.dials.dump(), []);
});

test('how long it calls counts from its begin', async () => {
  const w = world('Dial(Fake/bob&Fake/carol,20,g)');
  w.report(idOf(w, 'Fake/bob'), { type: 'leg.hungUp', cause: 17 });
  w.clock.advance(15_000);
  await settled();
  const again = await takenUp(w);
  again.clock.advance(4_999);
  await settled();
  assert.is(again.channels.size, 2);
  again.clock.advance(1);
  await settled();
  assert.equal([status(again), again.channels.size, again.dialSessions.size], ['NOANSWER', 1, 0]);
});

test('who was busy before the restore still counts', async () => {
  const w = world('Dial(Fake/bob&Fake/carol,20,g)');
  w.report(idOf(w, 'Fake/bob'), { type: 'leg.hungUp', cause: 17 });
  await settled();
  const again = await takenUp(w);
  again.report(idOf(again, 'Fake/carol'), { type: 'leg.hungUp', cause: 20 });
  await settled();
  assert.equal([status(again), again.channels.size, again.dialSessions.size], ['BUSY', 1, 0]);
});

test('who has answered while nobody was there is joined at once', async () => {
  const w = world('Dial(Fake/bob,20)');
  const bob = idOf(w, 'Fake/bob');
  const again = taken(w);
  again.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal([again.bridges.size, ids(again)], [1, ['alice', bob]]);
});

test('where a subroutine was under way the calls begin again with it, and those before are hung up', async () => {
  const w = world('Dial(Fake/bob,20,U(ask))');
  const bob = idOf(w, 'Fake/bob');
  w.report(bob, { type: 'leg.answered' });
  w.clock.advance(1_000);
  await settled();
  const again = await takenUp(w);
  assert.is(again.channels.find(bob), undefined);
  assert.equal([again.channels.size, again.bridges.size], [2, 0]);
  again.channels.tell(again.channels.get('alice'), { type: 'hangup', cause: 16, by: 'server' });
  await settled();
  assert.equal([again.channels.size, again.dialSessions.size, again.owners.dials.dump()], [0, 0, []]);
});

test('a call that the channel of a Dial is gone for ends by itself', async () => {
  const w = world('Dial(Fake/bob,20)');
  const again = await takenUp(w);
  again.channels.tell(again.channels.get('alice'), { type: 'hangup', cause: 16, by: 'server' });
  await settled();
  assert.equal([again.channels.size, again.dialSessions.size, again.owners.dials.dump()], [0, 0, []]);
});

test('who is in a room when it is saved stays in it, and the last one that leaves closes it', async () => {
  const w = world('ConfBridge(team)');
  await settled();
  w.incoming('bob', '202');
  await settled();
  const again = await takenUp(w);
  assert.equal(
    again.bridges.list().map(({ id, channels }) => [id, channels]),
    w.bridges.list().map(({ id, channels }) => [id, channels]),
  );
  again.report('alice', { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(again.bridges.size, 1);
  again.incoming('carol', '202');
  await settled();
  assert.equal(again.bridges.list()[0]?.channels, ['bob', 'carol']);
  for (const id of ['bob', 'carol']) again.operations.hangup(id, {});
  await settled();
  assert.equal([again.channels.size, again.bridges.size], [0, 0]);
});

test.run();
