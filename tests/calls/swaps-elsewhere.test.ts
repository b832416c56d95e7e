import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSwaps } from '../../src/calls/swaps.ts';
import { AriError } from '../../src/models/errors.ts';
import { createCallControl, type FakeLeg, settled } from '../support/call-control.ts';

/** Parties of a Dial that a transfer joins with parties at other nodes of a cluster. */
const swapping = suite('parties of calls at several nodes');

const contexts = { default: { '200': ['Dial(Fake/bob,,g)', 'Set(after=1)', 'Wait(1000)'], app: ['Stasis(app)'] } };

/** Alice has called Bob through the dialplan, and both talk. */
async function dialed() {
  const control = createCallControl({ contexts });
  const { channels, bridges, legs, log, dialSessions } = control;
  const swaps = createSwaps({ channels, bridges, dialSessions, log });
  const alice = control.incoming('alice', '200');
  const bob = channels.all().find(({ name }) => name.startsWith('Fake/bob'))!;
  legs.get(bob.id)!.report({ type: 'leg.answered' });
  await settled();
  const bridge = bridges.bridgeOf('alice')!;
  const welcome = (id: string): void =>
    bridges.welcome(
      bridge,
      {
        ...{ channelId: id, node: 'b', stay: 'x/1', channel: { id } as never, app: undefined },
        ...{ met: undefined, entertain() {}, hasEnded: false },
      },
      { role: '', muted: false, absorbsDigits: false, inhibitsConnectedLine: false },
    );
  const part = (id = 'b~r') =>
    bridges.open({
      ...{ id, home: 'b', creationTime: 0, name: '', type: 'mixing', flags: [], class: 'stasis' },
      ...{ features: { mute: false, suppressDtmf: false }, variables: {}, reported: [] },
    });
  const enter = (id: string, into: ReturnType<typeof part>): void =>
    bridges.enter(into, channels.find(id)!, {
      role: '',
      muted: false,
      absorbsDigits: false,
      inhibitsConnectedLine: false,
    });
  const hangUp = async (leg: FakeLeg): Promise<void> => {
    leg.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
  };
  const ids = (): string[] => channels.all().map(({ id }) => (id === bob.id ? 'bob' : id));
  const after = (): string | undefined => control.operations.getVariable('alice', { variable: 'after' }).value;
  return { ...control, swaps, alice, bob, bobLeg: legs.get(bob.id)!, bridge, welcome, part, enter, hangUp, ids, after };
}

swapping('a caller that hangs up while another node is asked leaves the other party there', async () => {
  const { swaps, alice, bob, channels, hangUp, ids, welcome, bridges, bridge } = await dialed();
  const settle = swaps.expectInstead(channels.find('alice')!);
  await hangUp(alice);
  assert.equal(ids(), ['bob']);
  welcome('b~carol');
  settle(true);
  assert.equal([ids(), bridges.model(bridge).channels], [['bob'], [bob.id, 'b~carol']]);
  // Nobody is left for bob.
  bridges.dismiss(bridge, 'b~carol');
  await settled();
  assert.equal([ids(), bridges.list()], [[], []]);
});

swapping('where no party comes, the other one that was left ends', async () => {
  const { swaps, alice, channels, hangUp, ids } = await dialed();
  const settle = swaps.expectInstead(channels.find('alice')!);
  await hangUp(alice);
  settle(false);
  await settled();
  assert.equal(ids(), []);
});

swapping('where no party comes, both go on, and the dialplan of the caller behind them', async () => {
  const { swaps, bob, bobLeg, hangUp, ids, after } = await dialed();
  swaps.expectInstead(bob)(false);
  await settled();
  assert.equal(ids(), ['alice', 'bob']);
  await hangUp(bobLeg);
  assert.equal([ids(), after()], [['alice'], '1']);
});

swapping('the bridge ends with its last party here, so that the node of the other one ends its call', async () => {
  const { swaps, bob, bobLeg, alice, hangUp, ids, welcome, bridges } = await dialed();
  const settle = swaps.expectInstead(bob);
  welcome('b~carol');
  settle(true);
  await hangUp(bobLeg);
  assert.equal([ids(), bridges.list().length], [['alice'], 1], 'the dialplan of alice does not go on');
  await hangUp(alice);
  assert.equal([ids(), bridges.list()], [[], []]);
});

swapping(
  'a party that enters a bridge of another node ends when it leaves that, not when it enters another',
  async () => {
    const { swaps, bob, ids, part, enter, after, bridges } = await dialed();
    const [first, second] = [part(), part('b~s')];
    assert.is(swaps.detach(bob.id, first, undefined), bob);
    enter(bob.id, first);
    await settled();
    assert.equal([ids(), after()], [['alice', 'bob'], '1']);
    swaps.detach(bob.id, second, undefined);
    enter(bob.id, second);
    await settled();
    assert.equal(ids(), ['alice', 'bob']);
    bridges.endPart(second, true);
    await settled();
    assert.equal(ids(), ['alice']);
  },
);

swapping('it enters the application of the party that it replaces, and stays there', async () => {
  const { swaps, ids, part, enter, bridges, connect } = await dialed();
  const { events } = connect('app');
  const into = part();
  swaps.detach('alice', into, 'app');
  enter('alice', into);
  await settled();
  assert.ok(events.some(({ type }) => type === 'StasisStart'));
  bridges.endPart(into, false);
  await settled();
  assert.ok(ids().includes('alice'));
});

swapping('only an answered channel can be taken', async () => {
  const { swaps, part, incoming } = await dialed();
  incoming('ringing', 'app');
  for (const id of ['ringing', 'none'])
    assert.throws(
      () => swaps.detach(id, part(`b~${id}`), undefined),
      (e: unknown) => e instanceof AriError && e.code === 'memberNotFound',
    );
});

swapping.run();
