import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { hangupAll } from '../../src/actors/channels.ts';
import { restoreSnapshot } from '../../src/actors/snapshot.ts';
import { lifeOf } from '../../src/machines/channel.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { Cause } from '../../src/telephony/causes.ts';
import type { TransferRequest } from '../../src/telephony/driver.ts';
import { createCallControl, FakeLeg, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';
import { takeSnapshot } from '../support/snapshots.ts';

/** Transfers with everything real but the technology: parties of a Dial, and of bridges that an application has made. */

const contexts = {
  default: {
    '200': ['Dial(Fake/bob,,g)', 'Set(after=1)', 'Wait(1000)'],
    '300': ['Dial(Fake/carol)'],
    '400': ['Answer()', 'Wait(1000)'],
    app: ['Stasis(app)'],
    other: ['Stasis(other)'],
  },
  inside: { '300': ['Dial(Fake/dave)'] },
};

const request = (change: Partial<TransferRequest> = {}): TransferRequest => ({
  ...{ id: '2', extension: '300', context: 'default', target: 'sip:300@pbx.example', handling: 'core' },
  ...change,
});

function world(compatibility: 'hookswitch' | 'asterisk' = 'hookswitch', transferring = {}) {
  const w = createCallControl({ contexts, compatibility, transferring });
  const { events } = w.connect('all', true);
  const app = w.connect('app').events;
  const other = w.connect('other').events;

  /** The channel whose name begins so. */
  const named = (name: string) => {
    const channel = w.channels.all().find((each) => each.name.startsWith(name));
    if (!channel) throw new Error(`there is no channel ${name}: ${w.channels.all().map((each) => each.name)}`);
    return channel;
  };
  /** The leg behind a channel, with what it was asked. */
  const leg = (name: string) => {
    const found = w.legs.get(named(name).id);
    if (!found) throw new Error(`${name} has no leg of the test`);
    return found;
  };
  const told = (calls: readonly string[]) => calls.filter((call) => call.startsWith('transfer'));
  /** Who is with whom, by names without what makes them unique. */
  const together = () =>
    w.bridges.list().map(({ channels }) => channels.map((id) => w.channels.get(id).name.replace(/-[0-9a-f]{8}/, '')));
  const transfersIn = (all: readonly AriEvent[]) => all.filter(({ type }) => /Transfer$|Merged$/.test(type));

  return { ...w, events, app, other, named, leg, told, together, transfersIn };
}

/** Alice has called Bob through the dialplan, and both talk. */
async function dialed(compatibility?: 'hookswitch' | 'asterisk', transferring = {}) {
  const w = world(compatibility, transferring);
  const alice = w.incoming('alice', '200');
  const bob = w.leg('Fake/bob');
  bob.report({ type: 'leg.answered' });
  await settled();
  assert.equal(w.together(), [['Fake/phone', 'Fake/bob']]);
  return { ...w, alice, bob };
}

/** Somebody who has called an application, which has answered. */
async function inApplication(w: ReturnType<typeof world>, id: string, extension = 'app') {
  const leg = w.incoming(id, extension);
  await settled();
  await w.operations.answer(id);
  return leg;
}

/** Alice and Bob are in a bridge of the application. */
async function bridged() {
  const w = world();
  w.bridgeOperations.createWithId('b1', {});
  const alice = await inApplication(w, 'alice');
  const bob = await inApplication(w, 'bob');
  w.bridgeOperations.addChannel('b1', { channel: ['alice', 'bob'] });
  w.app.splice(0);
  return { ...w, alice, bob };
}

test('a called party puts the caller through to somebody who answers', async () => {
  const { bob, alice, leg, told, together, channels, transfers } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const carol = leg('Fake/carol');
  assert.equal(together(), [['Fake/phone', 'Fake/bob']]);
  carol.report({ type: 'leg.ringing' });
  assert.equal(told(bob.calls), ['transfer 2: 180']);
  carol.report({ type: 'leg.answered' });
  await settled();
  assert.equal(told(bob.calls), ['transfer 2: 180', 'transfer 2: 200']);
  assert.ok(bob.calls.indexOf('transfer 2: 200') < bob.calls.indexOf('hangup 16'));
  assert.equal(together().sort(), [
    ['Fake/phone', 'Local/300@default;1'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  assert.is(transfers.size, 0);
  // Whoever hangs up first, nobody is left behind; the caller's dialplan goes on as after any Dial.
  carol.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(
    channels.all().map(({ name }) => name.replace(/-.*/, '')),
    ['Fake/phone'],
  );
  assert.not.ok(alice.calls.includes('hangup 16'));
});

test('a caller puts the one it called through, and the call outlives its dialplan', async () => {
  const { bob, alice, leg, told, together, channels, bridges } = await dialed();
  alice.report({ type: 'leg.transferAsked', transfer: request() });
  leg('Fake/carol').report({ type: 'leg.answered' });
  await settled();
  assert.equal(told(alice.calls), ['transfer 2: 200']);
  assert.ok(alice.calls.includes('hangup 16'));
  assert.equal(together().sort(), [
    ['Fake/bob', 'Local/300@default;1'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([channels.size, bridges.size], [0, 0]);
});

test('a caller that hangs up while the target rings has handed the one it called over', async () => {
  const { bob, alice, leg, together, channels, bridges } = await dialed();
  alice.report({ type: 'leg.transferAsked', transfer: request() });
  leg('Fake/carol').report({ type: 'leg.ringing' });
  alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  leg('Fake/carol').report({ type: 'leg.answered' });
  await settled();
  assert.equal(together().sort(), [
    ['Fake/bob', 'Local/300@default;1'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([channels.size, bridges.size], [0, 0]);
});

for (const [cause, status] of [
  [Cause.userBusy, 486],
  [Cause.noAnswer, 480],
  [Cause.callRejected, 503],
  [Cause.congestion, 503],
] as const)
  test(`a target that refuses with cause ${cause} is told as ${status}, and both go on talking`, async () => {
    const { bob, leg, told, together, channels, transfers } = await dialed();
    bob.report({ type: 'leg.transferAsked', transfer: request() });
    leg('Fake/carol').report({ type: 'leg.hungUp', cause });
    await settled();
    assert.equal(told(bob.calls), [`transfer 2: ${status}`]);
    assert.equal(together(), [['Fake/phone', 'Fake/bob']]);
    assert.equal([channels.size, transfers.size], [2, 0]);
  });

test('a target that does not answer in time is called no more', async () => {
  const { bob, leg, told, together, clock } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const carol = leg('Fake/carol');
  clock.advance(60_000);
  await settled();
  assert.equal(told(bob.calls), ['transfer 2: 408']);
  assert.ok(carol.calls.some((call) => call.startsWith('hangup')));
  assert.equal(together(), [['Fake/phone', 'Fake/bob']]);
});

test('a transferor that hangs up while the target rings completes the transfer: the other party hears it ring', async () => {
  const { bob, alice, leg, together, transfersIn, events } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const carol = leg('Fake/carol');
  carol.report({ type: 'leg.ringing' });
  bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(together(), [['Fake/phone', 'Local/300@default;1']]);
  assert.is(alice.calls.at(-1), 'ring');
  carol.report({ type: 'leg.answered' });
  await settled();
  assert.ok(alice.calls.includes('stopRinging'));
  assert.equal(together().length, 2);
  assert.equal(
    transfersIn(events).map((event) => event.type === 'BridgeBlindTransfer' && [event.result, event.channel.id]),
    [['Success', bob.media.id]],
  );
});

test('when the target of a call that was handed over cannot be had, nobody is left waiting', async () => {
  const { bob, leg, channels, bridges } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const carol = leg('Fake/carol');
  bob.report({ type: 'leg.hungUp', cause: 16 });
  carol.report({ type: 'leg.hungUp', cause: 17 });
  await settled();
  await settled();
  assert.equal(
    channels.all().map(({ id }) => id),
    ['alice'],
  );
  assert.is(bridges.size, 0);
});

const calledBack = { callsBack: true, byeTimeoutMs: 500 };

test('a phone that hangs up at once when it is told of the failure is called back', async () => {
  const { bob, leg, legs, together, channels, transfers } = await dialed(undefined, calledBack);
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  leg('Fake/carol').report({ type: 'leg.hungUp', cause: 17 });
  await settled();
  bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  // The fake technology calls every place by this name.
  assert.equal(together(), [['Fake/phone', 'Fake/phone']]);
  const back = channels.all().find(({ id }) => id !== 'alice')!;
  legs.get(back.id)!.report({ type: 'leg.answered' });
  await settled();
  assert.equal([lifeOf(snapshotOf(back)), transfers.size], ['up', 0]);
});

test('a phone that hangs up later, or is hung up by an application, is not', async () => {
  const later = await dialed(undefined, calledBack);
  later.bob.report({ type: 'leg.transferAsked', transfer: request() });
  later.leg('Fake/carol').report({ type: 'leg.hungUp', cause: 17 });
  await settled();
  later.clock.advance(500);
  assert.is(later.transfers.size, 0);
  later.bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.not.ok(later.channels.all().some(({ name }) => name.startsWith('Fake/bob')));

  const ended = await dialed(undefined, calledBack);
  ended.bob.report({ type: 'leg.transferAsked', transfer: request() });
  ended.leg('Fake/carol').report({ type: 'leg.hungUp', cause: 17 });
  await settled();
  ended.operations.hangup(ended.named('Fake/bob').id, {});
  await settled();
  assert.not.ok(ended.channels.all().some(({ name }) => name.startsWith('Fake/bob')));
  assert.is(ended.transfers.size, 0);
});

test('another transfer of the same phone leaves no call back of the first', async () => {
  const { bob, leg, together, channels, transfers } = await dialed(undefined, calledBack);
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  leg('Fake/carol').report({ type: 'leg.hungUp', cause: 17 });
  await settled();
  bob.report({ type: 'leg.transferAsked', transfer: request({ id: '3' }) });
  assert.is(transfers.size, 1);
  bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(together(), [['Fake/phone', 'Local/300@default;1']]);
  assert.not.ok(channels.all().some(({ name }) => name.startsWith('Fake/bob')));
});

test('when whoever is put through hangs up, the target is called no more', async () => {
  const { bob, alice, leg, channels, transfers } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const carol = leg('Fake/carol');
  alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.ok(bob.calls.includes('hangup 16'));
  assert.ok(carol.calls.some((call) => call.startsWith('hangup')));
  assert.equal([channels.size, transfers.size], [0, 0]);
});

test('what is no extension there, or would be read as one elsewhere, is told as 404 and calls nobody', async () => {
  for (const extension of ['999', '', '300@inside/x', '300/x']) {
    const { bob, told, channels } = await dialed();
    bob.report({ type: 'leg.transferAsked', transfer: request({ extension }) });
    assert.equal(told(bob.calls), ['transfer 2: 404'], extension);
    assert.is(channels.size, 2);
  }
});

test('TRANSFER_CONTEXT names the context of the target; BLINDTRANSFER names the transferor', async () => {
  const { bob, named, leg } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request({ referredBy: '<sip:bob@pbx.example>' }) });
  const { variables } = named('Local/300@default').actor.getSnapshot().context;
  assert.equal(variables, {
    BLINDTRANSFER: named('Fake/bob').name,
    SIPREFERTOHDR: '<sip:300@pbx.example>',
    SIPREFERREDBYHDR: '<sip:bob@pbx.example>',
  });
  assert.ok(leg('Fake/carol'));
  const other = await dialed();
  other.channels.tell(other.named('Fake/bob'), { type: 'variable.set', name: 'TRANSFER_CONTEXT', value: 'inside' });
  other.bob.report({ type: 'leg.transferAsked', transfer: request() });
  assert.ok(other.leg('Fake/dave'));
});

test('who is with nobody cannot be put through', async () => {
  const w = world();
  const { told, channels } = w;
  const alice = await inApplication(w, 'alice');
  alice.report({ type: 'leg.transferAsked', transfer: request() });
  assert.equal(told(alice.calls), ['transfer 2: 603']);
  assert.is(channels.size, 1);
});

test('the target replaces the transferor in the application’s bridge and in the application', async () => {
  const { bob, app, leg, named, transfersIn } = await bridged();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const stand = named('Local/300@default');
  leg('Fake/carol').report({ type: 'leg.answered' });
  const seen = app.map((event) => [event.type, 'channel' in event && event.channel ? event.channel.id : '']);
  const about = new Set(['StasisStart', 'ChannelEnteredBridge', 'ChannelLeftBridge', 'StasisEnd']);
  assert.equal(
    seen.filter(([type]) => about.has(type ?? '')),
    [
      ['StasisStart', stand.id],
      ['ChannelEnteredBridge', stand.id],
      ['ChannelLeftBridge', 'bob'],
      ['StasisEnd', 'bob'],
    ],
  );
  const start = app.find(({ type }) => type === 'StasisStart');
  assert.equal(start?.type === 'StasisStart' && [start.args, start.replace_channel?.id], [[], 'bob']);
  const [transfer] = transfersIn(app);
  assert.equal(
    transfer?.type === 'BridgeBlindTransfer' && {
      ...{ channel: transfer.channel.id, exten: transfer.exten, context: transfer.context, result: transfer.result },
      ...{ external: transfer.is_external, transferee: transfer.transferee?.id, bridge: transfer.bridge?.channels },
      replaced: transfer.replace_channel?.id,
    },
    {
      ...{ channel: 'bob', exten: '300', context: 'default', result: 'Success', external: true },
      ...{ transferee: 'alice', bridge: ['alice', 'bob'], replaced: stand.id },
    },
  );
});

test('in a conference the target takes one place, and all others stay', async () => {
  const w = await bridged();
  const { bob, leg, bridgeOperations, together, transfersIn, app } = w;
  await inApplication(w, 'eve');
  bridgeOperations.addChannel('b1', { channel: ['eve'] });
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  leg('Fake/carol').report({ type: 'leg.answered' });
  assert.equal(together()[0], ['Fake/phone', 'Fake/phone', 'Local/300@default;1']);
  const [transfer] = transfersIn(app);
  assert.is(transfer?.type === 'BridgeBlindTransfer' && transfer.transferee, undefined);
});

test('a transfer that is left to the application is told with all that is known, and goes as it says', async () => {
  const { bob, app, told, transfers, operations } = await bridged();
  operations.setVariable('bob', { variable: 'PJSIP_TRANSFER_HANDLING()', value: 'ari-only' });
  app.splice(0);
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  transfers.transferProgress('bob', { states: 'channel_progress' });
  transfers.transferProgress('bob', { states: 'CHANNEL_ANSWERED' });
  assert.equal(told(bob.calls), ['transfer 2: 100', 'transfer 2: 200']);
  assert.equal(
    app.map(
      (event) =>
        event.type === 'ChannelTransfer' && [
          event.refer_to.requested_destination,
          [event.referred_by.source_channel.id, event.referred_by.connected_channel?.id, event.referred_by.bridge?.id],
          event.state,
        ],
    ),
    [undefined, 'channel_progress', 'channel_answered'].map((state) => [
      { destination: '300' },
      ['bob', 'alice', 'b1'],
      state,
    ]),
  );
  // Nothing is done here.
  assert.not.ok(bob.calls.includes('hangup 16'));
  assert.equal(
    refusal(() => transfers.transferProgress('bob', { states: 'channel_answered' })),
    [404, 'Callee not found'],
  );
});

test('who may hear and say how a transfer goes', async () => {
  const { bob, alice, transfers, incoming, operations } = await bridged();
  const say = (id: string, states?: string) => () => transfers.transferProgress(id, { states });
  assert.equal(refusal(say('nobody', 'channel_answered')), [404, 'Channel not found']);
  incoming('eve', '400');
  assert.equal(refusal(say('eve', 'channel_answered')), [409, 'Channel not in Stasis application']);
  assert.equal(refusal(say('alice', 'channel_answered')), [404, 'Callee not found']);
  alice.report({ type: 'leg.transferAsked', transfer: request({ handling: 'client' }) });
  assert.equal(refusal(say('alice')), [400, 'states must not be empty']);
  assert.equal(refusal(say('alice', 'channel_gone')), [400, 'Invalid states value']);
  say('alice', 'channel_declined')();
  assert.is(alice.calls.at(-1), 'transfer 2: 603');
  operations.setVariable('bob', { variable: 'TRANSFERHANDLING', value: 'core' });
  bob.report({ type: 'leg.transferAsked', transfer: request({ handling: 'client' }) });
  assert.equal(refusal(say('bob', 'channel_answered')), [412, 'Channel in invalid state']);
});

test('an application that says nothing loses the transfer, not the call', async () => {
  const { bob, told, transfers, clock, together } = await bridged();
  bob.report({ type: 'leg.transferAsked', transfer: request({ handling: 'client' }) });
  clock.advance(60_000);
  assert.equal([told(bob.calls), transfers.size], [['transfer 2: 408'], 0]);
  assert.equal(together(), [['Fake/phone', 'Fake/phone']]);
});

/** Bob talks to Alice in one call and to Carol in another, both made by the dialplan. */
async function consulted() {
  const w = await dialed();
  const second = w.incoming('bob2', '300');
  const carol = w.leg('Fake/carol');
  carol.report({ type: 'leg.answered' });
  await settled();
  const replaces = { protocolId: 'call-2', localTag: 'ours', remoteTag: 'its', channelId: 'bob2' };
  return { ...w, second, carol, attended: request({ extension: '', replaces }) };
}

test('an attended transfer joins the two far parties, and ends both calls of who asked', async () => {
  const { bob, second, carol, attended, told, together, events, transfersIn, channels, bridges } = await consulted();
  bob.report({ type: 'leg.transferAsked', transfer: attended });
  await settled();
  assert.equal(told(bob.calls), ['transfer 2: 200']);
  assert.ok(bob.calls.includes('hangup 16') && second.calls.includes('hangup 16'));
  assert.equal(together(), [['Fake/carol', 'Fake/phone']]);
  const [transfer] = transfersIn(events);
  assert.equal(
    transfer?.type === 'BridgeAttendedTransfer' && {
      legs: [transfer.transferer_first_leg.name.slice(0, 8), transfer.transferer_second_leg.id],
      parties: [transfer.transferee?.id, transfer.transfer_target?.name.slice(0, 10)],
      result: [transfer.result, transfer.destination_type, transfer.is_external],
      isTheirs: transfer.destination_bridge === transfer.transferer_second_leg_bridge?.id,
    },
    {
      legs: ['Fake/bob', 'bob2'],
      parties: ['alice', 'Fake/carol'],
      result: ['Success', 'bridge', true],
      isTheirs: true,
    },
  );
  carol.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([channels.size, bridges.size], [0, 0]);
});

test('it does so whichever of both calls it is asked in', async () => {
  const { bob, second, named, attended, together, told, channels, bridges, alice } = await consulted();
  const replaces = { ...attended.replaces!, channelId: named('Fake/bob').id };
  second.report({ type: 'leg.transferAsked', transfer: { ...attended, replaces } });
  await settled();
  assert.equal(told(second.calls), ['transfer 2: 200']);
  assert.ok(bob.calls.includes('hangup 16') && second.calls.includes('hangup 16'));
  assert.equal(together(), [['Fake/phone', 'Fake/carol']]);
  alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([channels.size, bridges.size], [0, 0]);
});

test('a second call that has ended, is the first, or is with the same people changes nothing', async () => {
  const { bob, second, attended, told, together, named } = await consulted();
  second.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  bob.report({ type: 'leg.transferAsked', transfer: attended });
  const itself = { ...attended.replaces!, channelId: named('Fake/bob').id };
  bob.report({ type: 'leg.transferAsked', transfer: { ...attended, id: '3', replaces: itself } });
  const { channelId: _none, ...foreign } = attended.replaces!;
  bob.report({ type: 'leg.transferAsked', transfer: { ...attended, id: '4', replaces: foreign } });
  assert.equal(told(bob.calls), ['transfer 2: 481', 'transfer 3: 603', 'transfer 4: 481']);
  assert.equal(together(), [['Fake/phone', 'Fake/bob']]);
});

test('a second call that still rings is made once more for whoever is put through', async () => {
  const w = await dialed();
  const second = w.incoming('bob2', '300');
  const before = w.leg('Fake/carol');
  const replaces = { protocolId: 'call-2', localTag: 'ours', remoteTag: 'its', channelId: 'bob2' };
  w.bob.report({ type: 'leg.transferAsked', transfer: request({ extension: '', replaces }) });
  assert.ok(second.calls.includes('hangup 16'));
  assert.ok(before.calls.some((call) => call.startsWith('hangup')));
  await settled();
  w.leg('Fake/carol').report({ type: 'leg.answered' });
  await settled();
  assert.equal(w.told(w.bob.calls), ['transfer 2: 200']);
  assert.equal(w.together().length, 2);
});

test('a party goes to the application that the second call is in', async () => {
  const w = await dialed();
  const { bob, other, together, told, alice } = w;
  await inApplication(w, 'bob2', 'other');
  const replaces = { protocolId: 'call-2', localTag: 'ours', remoteTag: 'its', channelId: 'bob2' };
  bob.report({ type: 'leg.transferAsked', transfer: request({ extension: '', replaces }) });
  await settled();
  assert.equal(told(bob.calls), ['transfer 2: 200']);
  const starts = other.filter(({ type }) => type === 'StasisStart');
  assert.equal(
    starts.map((event) => event.type === 'StasisStart' && [event.channel.id, event.replace_channel?.id]),
    [
      ['bob2', undefined],
      ['alice', 'bob2'],
    ],
  );
  assert.equal(together(), []);
  assert.not.ok(alice.calls.includes('hangup 16'));
});

test('two conferences become one, and that is told', async () => {
  const w = await bridged();
  const { bridgeOperations, transfersIn, app, together, bob } = w;
  bridgeOperations.createWithId('b2', {});
  for (const [id, bridge] of [
    ['eve', 'b1'],
    ['bob2', 'b2'],
    ['carol', 'b2'],
  ] as const) {
    await inApplication(w, id);
    bridgeOperations.addChannel(bridge, { channel: [id] });
  }
  app.splice(0);
  const replaces = { protocolId: 'call-2', localTag: 'ours', remoteTag: 'its', channelId: 'bob2' };
  bob.report({ type: 'leg.transferAsked', transfer: request({ extension: '', replaces }) });
  assert.equal(
    together().map(({ length }) => length),
    [0, 3],
  );
  assert.equal(w.bridges.get('b2').channels, ['carol', 'alice', 'eve']);
  assert.equal(
    transfersIn(app).map((event) => [event.type, 'bridge' in event && event.bridge?.id]),
    [
      ['BridgeMerged', 'b2'],
      ['BridgeAttendedTransfer', false],
    ],
  );
});

test('who hears of everything hears of transfers, but as Asterisk has it only who hears of who takes part', async () => {
  for (const [compatibility, heard] of [
    ['hookswitch', 1],
    ['asterisk', 0],
  ] as const) {
    const { bob, leg, events, transfersIn } = await dialed(compatibility);
    bob.report({ type: 'leg.transferAsked', transfer: request() });
    leg('Fake/carol').report({ type: 'leg.answered' });
    assert.is(transfersIn(events).length, heard, compatibility);
  }
});

test('a transfer that is saved goes on where it was', async () => {
  const { bob, named, owners, clock } = await bridged();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const target = named('Local/300@default').id;
  const dump = takeSnapshot(owners);
  const later = createCallControl({ contexts, now: clock.now() });
  restoreSnapshot(later.owners, dump, {
    legOf({ id }, report) {
      const leg = new FakeLeg(id, report);
      later.legs.set(id, leg);
      return leg;
    },
  });
  later.connect('app');
  const [party, stand] = [later.legs.get('bob'), later.legs.get(target)];
  stand?.report({ type: 'leg.ringing' });
  stand?.report({ type: 'leg.answered' });
  await settled();
  assert.equal(
    party?.calls.filter((call) => call.startsWith('transfer')),
    ['transfer 2: 180', 'transfer 2: 200'],
  );
  assert.equal([later.bridges.get('b1').channels, later.transfers.size], [['alice', target], 0]);
});

test('a transfer that waited for another node asks again when it is restored', async () => {
  const { bob, told, owners, transfers } = await bridged();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const dump = takeSnapshot(owners);
  const [saved] = dump.transfers!;
  const replaces = { protocolId: 'call-2', localTag: '1', remoteTag: '2' };
  const waiting = { ...saved!, id: 't9', value: 'joining' };
  waiting.context = { ...saved!.context, id: 't9', request: request({ id: '3', replaces }) };
  transfers.restore([waiting]);
  await settled();
  // This server is on its own: there is no such call.
  assert.ok(told(bob.calls).includes('transfer 3: 481'), told(bob.calls).join());
});

test('a transfer whose channels are gone is not restored', async () => {
  const { bob, leg, transfers, channels } = await dialed();
  bob.report({ type: 'leg.transferAsked', transfer: request() });
  const dump = transfers.dump();
  leg('Fake/carol').report({ type: 'leg.hungUp', cause: 17 });
  hangupAll(channels, 16);
  await settled();
  transfers.restore(dump);
  assert.equal([channels.size, transfers.size], [0, 0]);
});

test.run();
