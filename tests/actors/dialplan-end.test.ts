import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { restoreSnapshot } from '../../src/actors/snapshot.ts';
import { createCallControl, FakeLeg, inShort, settled } from '../support/call-control.ts';
import { takeSnapshot } from '../support/snapshots.ts';

const test = suite('the dialplan of a channel that ends, and its subroutines');

function world(extensions: Record<string, string[]>) {
  const control = createCallControl({ contexts: { default: { s: ['Wait(60)'], ...extensions } } });
  const { events } = control.connect('all', true);
  control.connect('app');
  const told = (): string[] =>
    events
      .splice(0)
      .map(inShort)
      .filter((event) => /ChannelUserevent|ChannelHangupRequest|ChannelDestroyed/.test(event));
  return { ...control, told };
}

const h = ['UserEvent(End,cause:${HANGUPCAUSE},exten:${EXTEN})', 'Wait(1)', 'UserEvent(never)'];

for (const { what, steps, end, told } of [
  {
    what: 'the far side hangs up',
    steps: ['Wait(60)'],
    end: 'far',
    told: ['ChannelHangupRequest 17', 'ChannelUserevent', 'ChannelDestroyed 17'],
  },
  {
    what: 'the dialplan hangs up',
    steps: ['Hangup(17)'],
    end: '',
    told: ['ChannelHangupRequest 17 soft', 'ChannelUserevent', 'ChannelDestroyed 17'],
  },
  {
    what: 'the dialplan is over',
    steps: ['NoOp'],
    end: '',
    told: ['ChannelHangupRequest 16 soft', 'ChannelUserevent', 'ChannelDestroyed 16'],
  },
  {
    what: 'it is hung up in an application that the dialplan brought it to',
    steps: ['Stasis(app)'],
    end: 'far',
    told: ['ChannelHangupRequest 17', 'ChannelUserevent', 'ChannelDestroyed 17'],
  },
])
  test(`h is run when ${what}, as far as it need not wait`, async () => {
    const w = world({ 1: steps, h });
    const leg = w.incoming('a', '1');
    if (end) leg.report({ type: 'leg.hungUp', cause: 17 });
    await settled();
    assert.equal(w.told(), told);
    assert.equal([w.channels.size, w.clock.pending], [0, 0]);
  });

test('a channel that an application made has no h', async () => {
  const w = world({ h });
  const { id } = await w.operations.originate({ endpoint: 'Fake/bob', app: 'app' });
  w.report(id, { type: 'leg.answered' });
  w.report(id, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(
    w.told().some((event) => event.includes('Userevent')),
    false,
  );
});

test('subroutines that a channel is in are saved with it, and return where they came from', async () => {
  const extensions = {
    1: ['Gosub(sub,1(x))', 'UserEvent(back,arg:${ARG1},value:${GOSUB_RETVAL})', 'Wait(60)'],
    sub: ['Wait(5)', 'Return(${ARG1}y)'],
  };
  const first = world(extensions);
  first.incoming('a', '1');
  await settled();
  const dump = takeSnapshot(first.owners);
  assert.equal(dump.channels[0]!.subroutines, [
    { back: { context: 'default', extension: '1', priority: 2 }, outside: { ARG1: null, ARGC: null } },
  ]);
  const second = createCallControl({ contexts: { default: extensions }, now: first.clock.now() });
  restoreSnapshot(second.owners, dump, { legOf: ({ id }, report) => new FakeLeg(id, report) });
  const { events } = second.connect('all', true);
  second.clock.advance(5_000);
  await settled();
  const [told] = events.filter(({ type }) => type === 'ChannelUserevent');
  assert.equal((told as { userevent?: object }).userevent, { eventname: 'back', arg: '', value: 'xy' });
});

test.run();
