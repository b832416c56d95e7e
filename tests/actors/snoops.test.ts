import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

const test = suite('snoop channels');

const contexts = { default: { s: ['Wait(60)'], app: ['Stasis(app)', 'Wait(60)'] } };

async function world() {
  const control = createCallControl({ contexts });
  const { events } = control.connect('app');
  control.incoming('a', 'app');
  await settled();
  control.operations.answer('a');
  events.splice(0);
  const said = (): string[] =>
    events
      .splice(0)
      .map((event) => `${inShort(event)}${'channel' in event && event.channel ? ` ${event.channel.id}` : ''}`);
  return { ...control, events, said };
}

test('a snoop is a channel that is Up, in its application, and can be recorded and bridged', async () => {
  const w = await world();
  const made = w.snoops.snoop('a', { spy: 'in', whisper: 'out', app: 'app', appArgs: 'x,y', snoopId: 's1' });
  assert.equal([made.id, made.state], ['s1', 'Up']);
  assert.match(made.name, /^Snoop\/a-[0-9a-f]{8}$/);
  const [{ session, ...asked }] = w.meeting.snoops as [(typeof w.meeting.snoops)[number]];
  assert.equal(asked, { target: 'a', spy: 'in', whisper: 'out' });
  assert.equal(w.said(), ['StasisStart Up s1']);
  assert.equal(w.operations.get('s1').dialplan.app_data, 'app,x,y');
  w.recordingOperations.recordOnChannel('s1', { name: 'r', format: 'wav' });
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.bridgeOperations.addChannel('b1', { channel: ['s1'] });
  assert.equal(w.said(), ['RecordingStarted', 'ChannelEnteredBridge s1']);
  session.told({ type: 'media.digit', digit: '5', durationMs: 100 });
  assert.equal(w.said(), ['ChannelDtmfReceived s1']);
  w.operations.hangup('s1', {});
  assert.equal(w.said(), [
    'ChannelHangupRequest 16 soft s1',
    'RecordingFinished done',
    'ChannelLeftBridge s1',
    'StasisEnd s1',
  ]);
  assert.is(session.calls.at(-1), 'close');
});

test('a snoop ends with the channel that it listens to', async () => {
  const w = await world();
  w.snoops.snoop('a', { spy: 'both', app: 'app', snoopId: 's1' });
  w.snoops.snoop('s1', { spy: 'both', app: 'app', snoopId: 's2' });
  w.said();
  w.operations.hangup('a', {});
  assert.equal(w.said(), [
    'ChannelHangupRequest 16 soft a',
    'StasisEnd a',
    'ChannelHangupRequest 16 s1',
    'StasisEnd s1',
    'ChannelHangupRequest 16 s2',
    'StasisEnd s2',
  ]);
  assert.is(w.channels.size, 0);
});

test('a snoop whose audio is lost, or that would leave its application, ends', async () => {
  const w = await world();
  w.snoops.snoop('a', { spy: 'both', app: 'app', snoopId: 's1' });
  w.said();
  w.meeting.snoops[0]!.session.told({ type: 'media.lost', reason: 'its thread died' });
  assert.equal(w.said(), ['ChannelHangupRequest 41 s1', 'StasisEnd s1']);
  w.snoops.snoop('a', { spy: 'both', app: 'app', snoopId: 's2' });
  w.said();
  w.operations.continueInDialplan('s2', {});
  assert.equal(w.said(), ['StasisEnd s2']);
  w.snoops.snoop('a', { spy: 'both', app: 'nobody', snoopId: 's3' });
  assert.is(w.channels.find('s3'), undefined);
});

test('a tone is told where it is looked for', async () => {
  const w = await world();
  w.snoops.snoop('a', { spy: 'in', app: 'app', snoopId: 's1' });
  const { session } = w.meeting.snoops[0]!;
  for (const variable of ['TONE_DETECT(2100)', 'TONE_DETECT(1100,300,r)', 'TONE_DETECT(0,,x)'])
    w.operations.setVariable('s1', { variable, value: '' });
  w.said();
  session.told({ type: 'media.toneDetected', direction: 'in' });
  assert.equal(w.said(), ['ChannelToneDetected s1']);
  assert.equal(session.calls, ['detectTone 2100', 'detectTone 1100', 'detectTone off']);
  for (const [wrong, why] of [
    ['', 'the frequency is 0 to 24000 Hz'],
    ['2100,300,g(nowhere,1,1)', 'option g names no location of the dialplan'],
  ] as const)
    assert.equal(
      refusal(() => w.operations.setVariable('s1', { variable: `TONE_DETECT(${wrong})`, value: '' })),
      [400, `Failed to execute function: TONE_DETECT(${wrong}) cannot be written so: ${why}`],
    );
});

test('talking is told where it is listened for', async () => {
  const w = await world();
  w.snoops.snoop('a', { spy: 'in', app: 'app', snoopId: 's1' });
  const { session } = w.meeting.snoops[0]!;
  w.operations.setVariable('s1', { variable: 'TALK_DETECT(set)', value: '1200,128' });
  w.operations.setVariable('s1', { variable: 'TALK_DETECT(set)' });
  w.said();
  session.told({ type: 'media.talkingStarted' });
  session.told({ type: 'media.talkingFinished', durationMs: 900 });
  assert.equal(w.said(), ['ChannelTalkingStarted s1', 'ChannelTalkingFinished s1']);
  w.operations.setVariable('s1', { variable: 'TALK_DETECT(remove)' });
  assert.equal(session.calls, ['detectTalking 128,1200', 'detectTalking 256,2500', 'detectTalking off']);
  const wrong = { variable: 'TALK_DETECT(set)', value: 'loud' };
  assert.equal(
    refusal(() => w.operations.setVariable('s1', wrong)),
    [
      400,
      'Failed to execute function: TALK_DETECT(set) cannot be written so: the items are remove, and set with [silence in ms][,level], whole numbers',
    ],
  );
});

test('requests are refused for the first fault of several', async () => {
  const w = await world();
  const refused = (id: string, request: object) => refusal(() => w.snoops.snoop(id, request));
  assert.equal(refused('nobody', { spy: 'x', whisper: 'x' }), [400, 'Invalid direction specified for spy']);
  assert.equal(refused('nobody', { whisper: 'x' }), [400, 'Invalid direction specified for whisper']);
  assert.equal(refused('nobody', {}), [400, 'Direction must be specified for at least spy or whisper']);
  assert.equal(refused('nobody', { spy: 'none', whisper: 'in' }), [400, 'Application name is required']);
  assert.equal(refused('nobody', { spy: 'in', app: 'app' }), [404, 'Provided channel was not found']);
  assert.equal(refused('a', { spy: 'in', app: 'app', snoopId: 'a' }), [
    409,
    'Channel with given unique ID already exists',
  ]);
  assert.equal(refused('a', { spy: 'in', app: 'app', snoopId: 'x'.repeat(150) }), [
    400,
    'Uniqueid length exceeds maximum of 149',
  ]);
  assert.is(w.channels.size, 1);
});

test.run();
