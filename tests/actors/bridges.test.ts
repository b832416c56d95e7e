import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { type CallControl, createCallControl, type FakeLeg, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

const test = suite('bridges');

/** Puts calls into the application `app`, answered. */
async function callers(control: CallControl, ...ids: string[]): Promise<void> {
  for (const id of ids) control.incoming(id, 'app');
  await settled();
  for (const id of ids) control.operations.answer(id);
}
const contexts = { default: { s: ['Wait(60)'], app: ['Stasis(app)', 'Wait(60)'] } };

async function world(options: Parameters<typeof createCallControl>[0] = {}) {
  const control = createCallControl({ contexts, ...options });
  const { events } = control.connect('app');
  await callers(control, 'a', 'b', 'c');
  const clear = (): void => void events.splice(0);
  clear();
  const said = (): string[] => events.splice(0).map(brief);
  return { ...control, control, events, clear, said };
}

/** An event with the bridge and the channels in it. */
function brief(event: AriEvent): string {
  if (!('bridge' in event) || !event.bridge)
    return 'channel' in event && event.channel ? `${inShort(event)} ${event.channel.id}` : inShort(event);
  const { id, channels } = event.bridge;
  const about = 'channel' in event && event.channel ? ` ${event.channel.id}` : '';
  return `${event.type}${about} ${id}[${channels.join()}]`;
}

/** Who leaves, or is left alone, has no peers. */
const forgets = (id: string): string[] => [`ChannelVarset BRIDGEPEER= ${id}`, `ChannelVarset BRIDGEPVTCALLID= ${id}`];

const enter = (world: CallControl, bridge: string, ...channel: string[]) =>
  world.bridgeOperations.addChannel(bridge, { channel });

test('channels enter and leave, and their application hears of it without asking', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1', name: 'room' });
  enter(w, 'b1', 'a', 'b');
  assert.equal(w.said(), [
    'ChannelEnteredBridge a b1[a]',
    'ChannelEnteredBridge b b1[a,b]',
    'ChannelConnectedLine b',
    'ChannelConnectedLine a',
    `ChannelVarset BRIDGEPEER=${w.operations.get('b').name} a`,
    'ChannelVarset BRIDGEPVTCALLID=call-1 a',
    `ChannelVarset BRIDGEPEER=${w.operations.get('a').name} b`,
    'ChannelVarset BRIDGEPVTCALLID=call-1 b',
  ]);
  assert.equal([...w.meeting.mix('b1').sessions.keys()], ['a', 'b']);
  assert.equal(w.applications.get('app').bridge_ids, ['b1']);
  w.bridgeOperations.removeChannel('b1', { channel: ['a'] });
  assert.equal(w.said(), [...forgets('a'), 'ChannelLeftBridge a b1[b]', ...forgets('b')]);
  w.bridgeOperations.removeChannel('b1', { channel: ['b'] });
  assert.equal(w.said(), ['ChannelLeftBridge b b1[]']);
  assert.equal(w.applications.get('app').bridge_ids, []);
  assert.equal(w.bridgeOperations.get('b1').channels, []);
  assert.is(snapshotOf(w.channels.get('a')).context.bridgeId, undefined);
});

test('each far side is told whom it meets, unless that is inhibited or they do not want to be known', async () => {
  const w = await world();
  const presented = (id: string): string[] => {
    const { calls } = w.channels.get(id).leg as FakeLeg;
    return calls.splice(0).filter((call) => call.startsWith('present'));
  };
  const callerOf = (id: string, pres: string): void => {
    w.operations.setVariable(id, { variable: 'CALLERID(all)', value: `${id} <${id}1>` });
    w.operations.setVariable(id, { variable: 'CALLERID(pres)', value: pres });
  };
  callerOf('a', 'allowed');
  callerOf('b', 'allowed');
  callerOf('c', 'prohib');
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  assert.equal([presented('a'), presented('b')], [['present b <b1>'], ['present a <a1>']]);
  w.bridgeOperations.removeChannel('b1', { channel: ['b'] });
  enter(w, 'b1', 'c');
  assert.equal([presented('a'), presented('c')], [[], ['present a <a1>']]);
  assert.is(w.operations.get('a').connected.number, 'c1');
  w.bridgeOperations.removeChannel('b1', { channel: ['c'] });
  w.bridgeOperations.addChannel('b1', { channel: ['b'], inhibitConnectedLineUpdates: true });
  assert.equal([presented('a'), presented('b')], [[], []]);
});

test('each channel names its peers, and of one peer its call', async () => {
  const w = await world();
  const names = ['a', 'b', 'c'].map((id) => w.operations.get(id).name);
  const peers = (id: string) => {
    const { BRIDGEPEER, BRIDGEPVTCALLID } = snapshotOf(w.channels.get(id)).context.variables;
    return [BRIDGEPEER, BRIDGEPVTCALLID];
  };
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  assert.equal(
    [peers('a'), peers('b')],
    [
      [names[1], 'call-1'],
      [names[0], 'call-1'],
    ],
  );
  enter(w, 'b1', 'c');
  assert.equal(
    [peers('a'), peers('b'), peers('c')],
    [
      [`${names[1]},${names[2]}`, undefined],
      [`${names[0]},${names[2]}`, undefined],
      [`${names[0]},${names[1]}`, undefined],
    ],
  );
  w.bridgeOperations.removeChannel('b1', { channel: ['b'] });
  const none = [undefined, undefined];
  assert.equal([peers('a'), peers('b'), peers('c')], [[names[2], 'call-1'], none, [names[0], 'call-1']]);
  w.bridgeOperations.removeChannel('b1', { channel: ['c'] });
  assert.equal([peers('a'), peers('c')], [none, none]);
  enter(w, 'b1', 'b');
  w.bridgeOperations.create({ bridgeId: 'wait', type: 'holding' });
  enter(w, 'wait', 'a');
  assert.equal(peers('a'), [undefined, undefined]);
});

test('two members know the account of each other', async () => {
  const w = await world();
  const set = (id: string, account: string) =>
    w.operations.setVariable(id, { variable: 'CHANNEL(accountcode)', value: account });
  const peer = (id: string) => w.operations.getVariable(id, { variable: 'CHANNEL(peeraccount)' }).value;
  set('a', 'sales');
  set('b', 'support');
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  assert.equal([peer('a'), peer('b')], ['support', 'sales']);
});

test('a channel hears music of its own class, whichever is asked for', async () => {
  const w = await world();
  const leg = w.channels.get('a').leg as FakeLeg;
  const music = () => leg.media.calls.filter((call) => call.startsWith('music'));
  w.operations.setVariable('a', { variable: 'CHANNEL(musicclass)', value: 'jazz' });
  w.operations.startMoh('a', { mohClass: 'rock' });
  w.operations.stopMoh('a');
  assert.equal(music(), ['music jazz', 'music off']);
});

test('no more than ten peers are named', async () => {
  const w = await world();
  const ids = Array.from({ length: 13 }, (_each, at) => `m${at}`);
  await callers(w.control, ...ids);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', ...ids);
  w.clear();
  enter(w, 'b1', 'a');
  assert.equal(
    w.said().map((line) => line.replace(/=.*? /, ' ')),
    [`ChannelEnteredBridge a b1[${[...ids, 'a'].join()}]`, 'ChannelVarset BRIDGEPEER a'],
  );
  const { BRIDGEPEER = '' } = snapshotOf(w.channels.get('a')).context.variables;
  assert.equal(
    BRIDGEPEER.split(','),
    ids.slice(0, 10).map((id) => w.operations.get(id).name),
  );
});

test('members of a bridge that is destroyed leave without hearing of each other', async () => {
  const w = await world();
  const ids = Array.from({ length: 5 }, (_each, at) => `m${at}`);
  await callers(w.control, ...ids);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', ...ids);
  w.clear();
  w.bridgeOperations.destroy('b1');
  assert.equal(
    w.said().map((line) => line.split(' ')[0]),
    ids.flatMap(() => ['ChannelVarset', 'ChannelLeftBridge']),
  );
});

test('who is held by the only other hears music until it is taken back, is alone, or a third comes', async () => {
  const w = await world();
  const legs = new Map(['a', 'b', 'c'].map((id) => [id, w.channels.get(id).leg as FakeLeg]));
  const hold = (id: string) => legs.get(id)!.report({ type: 'leg.held', musicClass: 'jazz' });
  const music = (id: string) =>
    legs
      .get(id)!
      .media.calls.filter((call) => /music/.test(call))
      .splice(0);
  const heard = (id: string): string[] => {
    const calls = music(id);
    legs.get(id)!.media.calls.splice(0);
    return calls;
  };
  w.bridgeOperations.create({ bridgeId: 'b1' });
  hold('a');
  enter(w, 'b1', 'a');
  hold('a');
  enter(w, 'b1', 'b');
  assert.equal([heard('a'), heard('b')], [[], []]);
  w.clear();
  hold('a');
  assert.equal([heard('a'), heard('b')], [[], ['music jazz']]);
  assert.equal(
    w.events.map((event) => event.type === 'ChannelHold' && event.musicclass),
    ['jazz'],
  );
  assert.equal(w.said(), ['ChannelHold a']);
  legs.get('a')!.report({ type: 'leg.unheld' });
  assert.equal([heard('a'), heard('b')], [[], ['music off']]);
  assert.equal(w.said(), ['ChannelUnhold a']);
  hold('a');
  enter(w, 'b1', 'c');
  assert.equal([heard('a'), heard('b'), heard('c')], [[], ['music jazz', 'music off'], []]);
  hold('a');
  assert.equal([heard('b'), heard('c')], [[], []]);
  w.bridgeOperations.removeChannel('b1', { channel: ['c'] });
  hold('a');
  w.bridgeOperations.removeChannel('b1', { channel: ['a'] });
  assert.equal([heard('a'), heard('b')], [[], ['music jazz', 'music off']]);
});

test('with HOLD_INTERCEPT a hold is told, and nobody hears music', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  w.operations.setVariable('a', { variable: 'HOLD_INTERCEPT(set)', value: '' });
  w.clear();
  const [one, other] = ['a', 'b'].map((id) => w.channels.get(id).leg as FakeLeg);
  one!.report({ type: 'leg.held' });
  one!.report({ type: 'leg.unheld' });
  assert.equal(w.said(), ['ChannelHold a', 'ChannelUnhold a']);
  assert.equal(
    other!.media.calls.filter((call) => /music/.test(call)),
    [],
  );
});

test('with HOLD_INTERCEPT a hold by the application causes an event, and does not reach the phone', async () => {
  const w = await world();
  w.operations.setVariable('a', { variable: 'HOLD_INTERCEPT(set)', value: '' });
  w.clear();
  const leg = w.channels.get('a').leg as FakeLeg;
  w.operations.hold('a');
  w.operations.unhold('a');
  assert.equal(w.said(), ['ChannelHold a', 'ChannelUnhold a']);
  assert.equal(
    leg.calls.filter((call) => call.includes('hold')),
    [],
  );
  w.operations.setVariable('a', { variable: 'HOLD_INTERCEPT(remove)', value: '' });
  w.operations.hold('a');
  assert.equal(w.said().slice(2), []);
  assert.ok(leg.calls.some((call) => call.includes('hold')));
});

test('an application hears the end of a bridge in which its channel ended, not of one that it left', async () => {
  for (const ends of [true, false]) {
    const w = await world();
    w.bridgeOperations.create({ bridgeId: 'b1' });
    enter(w, 'b1', 'a');
    if (ends) w.operations.hangup('a', {});
    else w.bridgeOperations.removeChannel('b1', { channel: ['a'] });
    w.clear();
    w.bridgeOperations.destroy('b1');
    assert.equal(w.said(), ends ? ['BridgeDestroyed b1[]'] : []);
  }
});

test('a channel is in one bridge at most: entering another moves it', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.bridgeOperations.create({ bridgeId: 'b2' });
  enter(w, 'b1', 'a');
  enter(w, 'b2', 'a');
  assert.equal(w.said(), ['ChannelEnteredBridge a b1[a]', 'ChannelLeftBridge a b1[]', 'ChannelEnteredBridge a b2[a]']);
  assert.is(snapshotOf(w.channels.get('a')).context.bridgeId, 'b2');
  assert.equal([w.meeting.mix('b1').sessions.size, w.meeting.mix('b2').sessions.size], [0, 1]);
  enter(w, 'b2', 'a');
  assert.equal(w.said(), ['ChannelLeftBridge a b2[]', 'ChannelEnteredBridge a b2[a]']);
});

test('who hangs up leaves its bridge before its application', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  w.clear();
  w.operations.hangup('a', {});
  assert.equal(w.said(), [
    'ChannelHangupRequest 16 soft a',
    ...forgets('a'),
    'ChannelLeftBridge a b1[b]',
    ...forgets('b'),
    'StasisEnd a',
  ]);
  assert.equal(w.bridgeOperations.get('b1').channels, ['b']);
});

test('who continues in the dialplan leaves its bridge before its application', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a');
  w.clear();
  w.operations.continueInDialplan('a', {});
  assert.equal(w.said().slice(0, 2), ['ChannelLeftBridge a b1[]', 'StasisEnd a']);
});

test('who moves to another application takes its place in the bridge along', async () => {
  const w = await world();
  const { events } = w.connect('other');
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a');
  w.clear();
  w.operations.move('a', { app: 'other' });
  assert.equal(w.said(), ['StasisEnd a']);
  assert.equal(events.map(brief).slice(0, 1), ['StasisStart Up a']);
  assert.equal(w.bridgeOperations.get('b1').channels, ['a']);
});

test('a bridge that is destroyed lets everyone leave, and they stay in their application', async () => {
  const w = await world();
  const all = w.connect('all', true);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  all.events.splice(0);
  w.clear();
  w.bridgeOperations.destroy('b1');
  const left = [...forgets('a'), 'ChannelLeftBridge a b1[b]', ...forgets('b'), 'ChannelLeftBridge b b1[]'];
  assert.equal(w.said(), left);
  assert.equal(all.events.map(brief), [...left, 'BridgeDestroyed b1[]']);
  assert.equal(
    refusal(() => w.bridgeOperations.get('b1')),
    [404, 'Bridge not found'],
  );
  assert.is(w.meeting.mix('b1').closed, true);
  assert.is(w.bridges.size, 0);
  assert.is(w.operations.get('a').state, 'Up');
  w.operations.hold('a');
});

test('its end is held back until what plays and records on it has told its own', async () => {
  const w = await world();
  const { events } = w.connect('all', true);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a');
  w.bridgeOperations.play('b1', { media: ['sound:a'], playbackId: 'p1' });
  w.bridgeOperations.record('b1', { name: 'r1', format: 'wav' });
  const [recorder] = w.meeting.mix('b1').recorders;
  recorder!.obeys = false;
  events.splice(0);
  w.bridgeOperations.destroy('b1');
  const said = () => events.splice(0).map(brief);
  assert.equal(said(), ['ChannelLeftBridge a b1[]', 'PlaybackFinished failed']);
  assert.equal(
    refusal(() => w.bridgeOperations.get('b1')),
    [404, 'Bridge not found'],
  );
  assert.equal(
    refusal(() => w.bridgeOperations.create({ bridgeId: 'b1' })),
    [409, "Bridge with id 'b1' already exists"],
  );
  recorder!.finish();
  assert.equal(said(), ['RecordingFinished done', 'BridgeDestroyed b1[]']);
  // A recorder that never tells does not keep it for ever.
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.bridgeOperations.record('b1', { name: 'r2', format: 'wav' });
  w.meeting.mix('b1').recorders[0]!.obeys = false;
  w.bridgeOperations.destroy('b1');
  events.splice(0);
  w.clock.advance(5_000);
  assert.equal(said(), ['BridgeDestroyed b1[]', 'RecordingFinished done']);
});

test('what a member is there is told to the mix, the features of the bridge being the default', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1', features: { mute: true, suppress_dtmf: false } });
  w.bridgeOperations.addChannel('b1', { channel: ['a'], absorbDTMF: true });
  w.bridgeOperations.create({ bridgeId: 'b2' });
  w.bridgeOperations.addChannel('b2', { channel: ['b'], mute: false });
  const member = (bridge: string, id: string) => w.meeting.mix(bridge).sessions.get(id);
  assert.equal(member('b1', 'a'), { role: 'participant', muted: true, passDigits: false });
  assert.equal(member('b2', 'b'), { role: 'participant', muted: false, passDigits: true });
});

test('in a holding bridge there is one announcer, and who holds hears music', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1', type: 'holding' });
  assert.is(w.meeting.mix('b1').kind, 'holding');
  w.bridgeOperations.addChannel('b1', { channel: ['a'], role: 'announcer' });
  w.bridgeOperations.addChannel('b1', { channel: ['b'], role: 'holding_participant' });
  w.clear();
  w.bridgeOperations.addChannel('b1', { channel: ['c'], role: 'announcer' });
  assert.equal(w.said(), ['ChannelEnteredBridge c b1[a,b,c]', 'ChannelLeftBridge c b1[a,b]']);
  assert.equal(w.meeting.mix('b1').sessions.get('a'), { role: 'announcer', muted: false, passDigits: true });
  assert.is(w.audio.snapshot('a'), undefined);
  assert.equal(w.audio.snapshot('b')?.context.musicClass, 'default');
  // Nobody is connected to anybody.
  assert.is(w.operations.get('a').connected.number, '');
});

test('two in a mixing bridge are shown to each other unless that is inhibited', async () => {
  const w = await world();
  w.operations.setVariable('b', { variable: 'CALLERID(num)', value: '200' });
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  const connected = (id: string) => w.operations.get(id).connected.number;
  assert.equal([connected('a'), connected('b')], ['200', '100']);
  w.bridgeOperations.create({ bridgeId: 'b2' });
  enter(w, 'b2', 'a');
  w.bridgeOperations.addChannel('b2', { channel: ['c'], inhibitConnectedLineUpdates: true });
  assert.equal([connected('a'), connected('c')], ['200', '']);
});

test('members of a mixing bridge belong to the oldest of their calls', async () => {
  const w = await world({ channelvars: ['CHANNEL(linkedid)'] });
  w.clock.advance(1_000);
  await callers(w.control, 'd');
  const linked = (id: string) => w.operations.get(id).channelvars?.['CHANNEL(linkedid)'];
  assert.equal([linked('a'), linked('d')], ['a', 'd']);
  w.bridgeOperations.create({ bridgeId: 'hold', type: 'holding' });
  enter(w, 'hold', 'd', 'a');
  assert.is(linked('d'), 'd');
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'd', 'a');
  assert.equal([linked('a'), linked('d')], ['a', 'a']);
});

test('requests are refused for the first fault of several, and nothing is done', async () => {
  const w = await world({ limits: { bridges: 2, members: 2 } });
  w.incoming('free');
  const { bridgeOperations: b } = w;
  b.create({ bridgeId: 'b1' });
  const add = (channel?: string[]) => refusal(() => b.addChannel('b1', { channel }));
  const remove = (channel?: string[]) => refusal(() => b.removeChannel('b1', { channel }));
  assert.equal(
    refusal(() => b.addChannel('nobody', {})),
    [404, 'Bridge not found'],
  );
  for (const ask of [add, remove]) {
    assert.equal(ask(undefined), [400, 'Missing parameter channel']);
    assert.equal(ask(['']), [400, 'Missing parameter channel']);
    assert.equal(ask(['a', 'nobody']), [400, 'Channel not found']);
    assert.equal(ask(['a', 'free']), [422, 'Channel not in Stasis application']);
  }
  assert.equal(b.get('b1').channels, []);
  enter(w, 'b1', 'a');
  assert.equal(remove(['a', 'b']), [422, 'Channel not in this bridge']);
  assert.equal(b.get('b1').channels, ['a']);
  assert.equal(
    refusal(() => b.create({ bridgeId: 'b1' })),
    [409, "Bridge with id 'b1' already exists"],
  );
  assert.equal(
    refusal(() => b.createWithId('b1', {})),
    [409, "Bridge with id 'b1' already exists"],
  );
  assert.equal(
    refusal(() => b.create({ bridgeId: 'x', type: 'mixing,holding' })),
    [500, "Unable to create bridge. Possible duplicate bridge id 'x'"],
  );
  assert.equal(
    refusal(() => b.createWithId('x', { type: 'holding, mixing' })),
    [500, 'Unable to create bridge'],
  );
  assert.is(refusal(() => b.create({ bridgeId: 'x', features: [] }))?.[0], 400);
  assert.equal(refusal(() => b.create({ bridgeId: 'x', variables: { A: 1 } }))?.[0], 400);
  assert.equal(
    refusal(() => b.stopMoh('b1')),
    [409, "Bridge isn't playing music"],
  );
  assert.equal(
    refusal(() => b.setVideoSource('b1', 'nobody')),
    [400, 'Channel not found'],
  );
  assert.equal(
    refusal(() => b.setVideoSource('b1', 'b')),
    [422, 'Channel not in this bridge'],
  );
  assert.equal(
    refusal(() => b.play('b1', { media: ['sound:a'], announcer_format: 'x' })),
    [422, 'specified announcer_format is unknown on this system'],
  );
  assert.equal(
    refusal(() => b.record('b1', { name: 'r', format: 'x' })),
    [422, 'specified format is unknown on this system'],
  );
  assert.equal(
    refusal(() => b.record('b1', { name: 'r', format: 'wav', recorder_format: 'x' })),
    [422, 'specified recorder_format is unknown on this system'],
  );
  enter(w, 'b1', 'b');
  assert.is(refusal(() => enter(w, 'b1', 'c'))?.[0], 409);
  enter(w, 'b1', 'b');
  b.create({ bridgeId: 'b2' });
  assert.is(refusal(() => b.create({ bridgeId: 'b3' }))?.[0], 409);
});

test('types are read as Asterisk writes them', async () => {
  const w = await world();
  const make = (type: string | undefined) => {
    const { bridge_type, video_mode, technology } = w.bridgeOperations.create({ type });
    return [bridge_type, video_mode, technology];
  };
  assert.equal(make(undefined), ['mixing', 'talker', 'simple_bridge']);
  assert.equal(make('mixing, dtmf_events,proxy_media,nonsense'), ['mixing', 'talker', 'simple_bridge']);
  assert.equal(make('holding'), ['holding', 'talker', 'holding_bridge']);
  assert.equal(make('video_single'), ['mixing', 'single', 'simple_bridge']);
  for (const type of ['video_sfu', 'holding,video_sfu', 'mixing,holding,video_sfu'])
    assert.equal(make(type), ['mixing', 'sfu', 'softmix'], type);
  assert.throws(() => make('nonsense'), /'type' must be a list of mixing, holding, /);
});

test('variables are read, set, shown and removed', async () => {
  const w = await world();
  const { bridgeOperations: b } = w;
  const made = b.createWithId('b1', { variables: { A: '1', B: { value: '2', report_events: true } } });
  assert.equal(made.bridgevars, { B: '2' });
  assert.equal(b.getVariable('b1', { variable: 'A' }), { value: '1' });
  assert.equal(b.getVariables('b1', { variables: ['A', 'B'] }), { variables: { A: '1', B: '2' } });
  b.setVariable('b1', { variable: 'C', value: '3', report_events: true });
  assert.equal(b.get('b1').bridgevars, { B: '2', C: '3' });
  b.setVariable('b1', { variable: 'C', value: '' });
  b.setVariables('b1', { variables: { B: { value: '4', report_events: false }, D: '5' } });
  assert.is(b.get('b1').bridgevars, undefined);
  assert.equal(b.getVariables('b1', { variables: ['B', 'D'] }), { variables: { B: '4', D: '5' } });
  assert.equal(
    refusal(() => b.getVariable('x', {})),
    [400, 'Variable name is required'],
  );
  assert.equal(
    refusal(() => b.getVariable('x', { variable: 'A' })),
    [404, 'Bridge not found'],
  );
  // Names lose their spaces where parameters are read, before a scope is asked: an owner takes them as they are.
  assert.equal(
    refusal(() => b.getVariable('b1', { variable: ' B' })),
    refusal(() => b.getVariable('b1', { variable: 'nothing' })),
  );
  assert.equal(
    refusal(() => b.getVariable('b1', { variable: 'C' })),
    [404, 'Provided variable was not found'],
  );
  assert.equal(
    refusal(() => b.setVariable('x', {})),
    [400, 'Variable name is required'],
  );
  assert.equal(
    refusal(() => b.getVariables('x', {})),
    [400, 'At least one variable name is required'],
  );
  assert.equal(
    refusal(() => b.getVariables('x', { variables: ['A'] })),
    [404, 'Provided bridge was not found'],
  );
  assert.equal(
    refusal(() => b.getVariables('b1', { variables: ['A', ''] })),
    [400, 'Variable names are required'],
  );
  assert.equal(
    refusal(() => b.getVariables('b1', { variables: ['X(1)'] })),
    [500, 'Unable to read provided function'],
  );
  assert.equal(
    refusal(() => b.setVariables('b1', {})),
    [400, "The 'variables' field is required"],
  );
  assert.equal(
    refusal(() => b.setVariables('x', { variables: {} })),
    [404, 'Provided bridge was not found'],
  );
  assert.equal(
    refusal(() => b.setVariables('b1', { variables: [] })),
    [400, "The 'variables' field must be a JSON object"],
  );
});

test('what is played to a bridge is queued, told to who hears of it, and opens early media', async () => {
  const w = await world();
  w.incoming('early', 'app');
  await settled();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'early');
  w.clear();
  const first = w.bridgeOperations.play('b1', { media: ['sound:a'], playbackId: 'p1' });
  assert.equal([first.target_uri, first.state], ['bridge:b1', 'playing']);
  assert.is(w.bridgeOperations.play('b1', { media: ['sound:b'], playbackId: 'p2' }).state, 'queued');
  w.meeting.mix('b1').finish();
  w.meeting.mix('b1').finish();
  assert.equal(w.said(), ['PlaybackStarted', 'PlaybackFinished done', 'PlaybackStarted', 'PlaybackFinished done']);
  w.bridgeOperations.startMoh('b1', {});
  w.bridgeOperations.startMoh('b1', { mohClass: 'jazz' });
  w.bridgeOperations.stopMoh('b1');
  assert.equal(w.meeting.mix('b1').calls.slice(-3), ['music default', 'music jazz', 'music off']);
});

test('a mix that is lost is opened again with everybody in it', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  w.bridgeOperations.startMoh('b1', { mohClass: 'jazz' });
  w.clear();
  const lost = w.meeting.mix('b1');
  lost.told({ type: 'mix.lost', reason: 'its thread died' });
  const again = w.meeting.mix('b1');
  assert.is.not(again, lost);
  assert.equal([...again.sessions.keys()], ['a', 'b']);
  assert.equal(again.calls, ['music jazz']);
  assert.equal(w.said(), []);
});

test('a bridge that crashes tells its end, and its members stay', async () => {
  const w = await world();
  const { events } = w.connect('all', true);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  events.splice(0);
  const bridge = w.bridges.find('b1')!;
  // Something that no chart foresees.
  bridge.actor.send({ type: 'enter' } as never);
  assert.equal(
    events.map(brief).filter((line) => !line.startsWith('ChannelVarset')),
    ['ChannelLeftBridge a b1[b]', 'ChannelLeftBridge b b1[]', 'BridgeDestroyed b1[]'],
  );
  assert.is(w.bridges.size, 0);
  assert.is(snapshotOf(w.channels.get('a')).context.bridgeId, undefined);
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a');
  assert.equal(w.bridgeOperations.get('b1').channels, ['a']);
});

test('a channel that crashes leaves its bridge', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  enter(w, 'b1', 'a', 'b');
  w.clear();
  w.channels.get('a').actor.send({ type: 'variable.set' } as never);
  assert.equal(w.said(), ['ChannelLeftBridge a b1[b]', ...forgets('b'), 'StasisEnd a']);
  assert.equal(w.bridgeOperations.get('b1').channels, ['b']);
});

test('events about a bridge reach who subscribed to it, until it is gone', async () => {
  const w = await world();
  const { events } = w.connect('watcher');
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.applications.subscribe('watcher', ['bridge:b1']);
  enter(w, 'b1', 'a');
  w.bridgeOperations.setVideoSource('b1', 'a');
  w.bridgeOperations.destroy('b1');
  assert.equal(events.map(brief), [
    'ChannelEnteredBridge a b1[a]',
    'BridgeVideoSourceChanged b1[a]',
    'BridgeVideoSourceChanged b1[]',
    'ChannelLeftBridge a b1[]',
    'BridgeDestroyed b1[]',
  ]);
  assert.equal(
    refusal(() => w.applications.subscribe('app', ['bridge:b1'])),
    [422, 'Event source does not exist'],
  );
});

test.run();
