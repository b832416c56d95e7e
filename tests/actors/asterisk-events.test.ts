import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';

/** Rows of docs/differences.md marked **switch** that change which events are told. */
const test = suite('events as Asterisk tells them, where they are asked for');

const contexts = { default: { s: ['Wait(60)'], app: ['Stasis(app)', 'Wait(60)'], short: ['Answer', 'NoOp(1)'] } };

/** Everything that is told, with the channel it is told of. */
function world(compatibility: 'hookswitch' | 'asterisk') {
  const control = createCallControl({ contexts, compatibility });
  const { events } = control.connect('all', true);
  const said = (): string[] =>
    events
      .splice(0)
      .filter(
        ({ type }) => !['ChannelDialplan', 'DeviceStateChanged', 'EndpointStateChange', 'StasisEnd'].includes(type),
      )
      .map((event) => `${inShort(event)}${'channel' in event && event.channel ? ` ${event.channel.id}` : ''}`);
  return { ...control, said };
}

test('a new channel, and the second half of a Local one, learn whose they are after they were told of', async () => {
  const told = (compatibility: 'hookswitch' | 'asterisk'): string[] => {
    const w = world(compatibility);
    w.operations.originate({
      endpoint: 'Local/s@default',
      app: 'all',
      channelId: 'a',
      callerId: 'Ann <7>',
      variables: { PLAIN: '1', __KEPT: '2' },
    });
    const heard = w.said();
    assert.equal(
      ['a', 'a;2'].map((id) => [w.operations.get(id).caller, w.operations.get(id).connected]),
      [
        [
          { name: 'Ann', number: '7' },
          { name: 'Ann', number: '7' },
        ],
        [
          { name: 'Ann', number: '7' },
          { name: 'Ann', number: '7' },
        ],
      ],
    );
    const { variables, inheritance } = snapshotOf(w.channels.get('a;2')).context;
    assert.equal([variables['PLAIN'], variables['KEPT'], inheritance], ['1', '2', { KEPT: 'always' }]);
    return heard;
  };
  assert.equal(told('asterisk').slice(0, 10), [
    'ChannelCreated a',
    'ChannelCreated a;2',
    'ChannelCallerId a',
    'ChannelConnectedLine a',
    'ChannelVarset PLAIN=1 a',
    'ChannelVarset __KEPT=2 a',
    'Dial',
    'ChannelVarset PLAIN=1 a;2',
    'ChannelVarset __KEPT=2 a;2',
    'ChannelCallerId a;2',
  ]);
  assert.equal(told('hookswitch').slice(0, 6), [
    'ChannelCreated a',
    'ChannelCreated a;2',
    'ChannelVarset PLAIN=1 a',
    'ChannelVarset __KEPT=2 a',
    'Dial',
    'ChannelConnectedLine a;2',
  ]);
});

test('a dialplan that is over asks for the end of its channel; one that is broken off asks once more in Asterisk', async () => {
  const ends = async (compatibility: 'hookswitch' | 'asterisk') => {
    const w = world(compatibility);
    const ofEnd = (): string[] => w.said().filter((line) => /HangupRequest|Destroyed/.test(line));
    w.incoming('over', 'short');
    await settled();
    const over = ofEnd();
    const leg = w.incoming('cut', 's');
    leg.report({ type: 'leg.hungUp', cause: 16 });
    const cut = ofEnd();
    w.operations.create({ endpoint: 'Fake/phone', app: 'all', channelId: 'plain' });
    w.operations.hangup('plain', { reason: 'busy' });
    return [over, cut, ofEnd()];
  };
  assert.equal(await ends('asterisk'), [
    ['ChannelHangupRequest 16 soft over', 'ChannelDestroyed 16 over'],
    ['ChannelHangupRequest 16 cut', 'ChannelHangupRequest 16 soft cut', 'ChannelDestroyed 16 cut'],
    ['ChannelHangupRequest 32 soft plain', 'ChannelDestroyed 17 plain'],
  ]);
  assert.equal(await ends('hookswitch'), [
    ['ChannelHangupRequest 16 soft over', 'ChannelDestroyed 16 over'],
    ['ChannelHangupRequest 16 cut', 'ChannelDestroyed 16 cut'],
    ['ChannelHangupRequest 17 soft plain', 'ChannelDestroyed 17 plain'],
  ]);
});

test.run();
