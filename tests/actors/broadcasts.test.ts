import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { readPattern } from '../../src/dialplan/applications/broadcast.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

const test = suite('calls offered to several applications');

const contexts = {
  default: {
    s: ['Wait(60)'],
    offer: ['StasisBroadcast(500,^sales,"x,y",yes)', 'Wait(60)'],
    quiet: ['StasisBroadcast', 'Wait(60)'],
  },
};

function world() {
  const w = createCallControl({ contexts });
  const [one, two, other] = [w.connect('sales-1'), w.connect('sales-2'), w.connect('support')];
  const status = (id: string) => snapshotOf(w.channels.get(id)).context.variables['STASISSTATUS'];
  return { ...w, one, two, other, status };
}

test('those whose name matches are asked; the first to claim has the call at once, the others are told', async () => {
  const w = world();
  w.incoming('a', 'offer');
  const asked = w.one.events[0] as unknown as { type: string; caller: string; called: string; channel: { id: string } };
  assert.equal([asked.type, asked.caller, asked.called, asked.channel.id], ['CallBroadcast', '100', 'offer', 'a']);
  assert.equal(w.other.events, []);
  w.broadcasts.claim({ channelId: 'a', application: 'sales-2' });
  await settled();
  assert.equal(
    w.one.events.map(({ type }) => type),
    ['CallBroadcast', 'CallClaimed'],
  );
  assert.equal((w.one.events[1] as unknown as { winner_app: string }).winner_app, 'sales-2');
  const start = w.two.events.find(({ type }) => type === 'StasisStart') as unknown as { args: string[] };
  assert.equal(start.args, ['x', 'y']);
  const late = [409, 'Channel has already been claimed by another application'];
  assert.equal(
    refusal(() => w.broadcasts.claim({ channelId: 'a', application: 'sales-1' })),
    late,
  );
  w.clock.advance(500);
  assert.is(w.broadcasts.size, 0);
  w.operations.continueInDialplan('a', {});
  assert.is(w.status('a'), 'SUCCESS');
  assert.is(inShort(w.two.events.at(-1) as never), 'StasisEnd');
});

test('nobody who claims in time is TIMEOUT, nobody to ask FAILED, and the dialplan goes on', async () => {
  const w = world();
  w.incoming('a', 'offer');
  w.clock.advance(500);
  await settled();
  assert.is(w.status('a'), 'TIMEOUT');
  const nobody = createCallControl({ contexts });
  nobody.incoming('b', 'quiet');
  await settled();
  assert.is(snapshotOf(nobody.channels.get('b')).context.variables['STASISSTATUS'], 'FAILED');
  assert.is(nobody.operations.get('b').dialplan.app_name, 'Wait');
});

test('a call that ends is offered no more; without a pattern all get the offer, and losers hear nothing', async () => {
  const w = world();
  const leg = w.incoming('a', 'quiet');
  leg.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(w.broadcasts.size, 0);
  w.incoming('b', 'quiet');
  w.broadcasts.claim({ channelId: 'b', application: 'sales-1' });
  await settled();
  assert.equal(
    w.other.events.map(({ type }) => type),
    ['CallBroadcast', 'CallBroadcast'],
  );
});

test('claims are refused for the first fault of several', () => {
  const w = world();
  const refused = (request: object) => refusal(() => w.broadcasts.claim(request));
  assert.equal(refused({ application: '' }), [400, 'channelId parameter is required']);
  assert.equal(refused({ channelId: 'a' }), [400, 'application parameter is required']);
  const nothing = [404, 'Channel not found or not in broadcast state'];
  assert.equal(refused({ channelId: 'a', application: 'x' }), nothing);
});

test('patterns that could take long are not used', () => {
  for (const text of ['', '^sales', 'a.*b', '[a-z]+-\\d+$', 'sales|support', '\\(x\\)'])
    assert.ok(readPattern(text), text);
  for (const text of ['(a+)+', '.*.*.*.*', 'a{1,9}b*c*d*', '[', 'x'.repeat(101)])
    assert.is(readPattern(text), undefined, text);
});

test.run();
