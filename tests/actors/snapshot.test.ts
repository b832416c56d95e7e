import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SocketReports } from '../../src/actors/outbound-connection-entry.ts';
import { type RestoreOptions, restoreSnapshot } from '../../src/actors/snapshot.ts';
import type { BridgeInput } from '../../src/machines/bridge.ts';
import type { ContactDriver } from '../../src/telephony/contacts.ts';
import { type CallControl, createCallControl, FakeLeg, settled } from '../support/call-control.ts';
import { takeSnapshot } from '../support/snapshots.ts';

/** Call control that is saved, as JSON, and goes on in another process as if nothing had happened. */

const contexts = { default: { s: ['Answer', 'Stasis(hello,x)'], wait: ['Answer', 'Wait(60)', 'Hangup(17)'] } };

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
/** The same with every channel's name as if it were the first's. */
const unnamed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/phone-[0-9a-f]{8}/g, 'phone-1'));

/** Puts one call control down and takes it up in a new one, whose legs are new ones under the same ids. */
function goOn(
  from: CallControl,
  options: Parameters<typeof createCallControl>[0] = { contexts },
  prepare: (to: CallControl) => void = () => {},
): CallControl {
  const to = createCallControl({ ...options, now: from.clock.now() });
  prepare(to);
  const legOf: RestoreOptions['legOf'] = ({ id }, report) => {
    const leg = new FakeLeg(id, report);
    to.legs.set(id, leg);
    return leg;
  };
  restoreSnapshot(to.owners, takeSnapshot(from.owners), { legOf });
  return to;
}

/** What of an event tells of what happened; ids of the process and the application's numbers included. */
const bodies = (events: readonly object[]): unknown =>
  unnamed(events.map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => name !== 'timestamp'))));

const bridgeInput: BridgeInput = {
  id: 'b1',
  name: '',
  type: 'mixing',
  flags: [],
  features: { mute: false, suppressDtmf: false },
  class: 'stasis',
  creationTime: 0,
  variables: {},
  reported: [],
};
const member = { role: '', muted: false, absorbsDigits: false, inhibitsConnectedLine: true };

const put = suite('call control saved and restored');

put('whom a bridge shows is as it was, and one that nothing was done about as it begins', async () => {
  const first = createCallControl({ contexts });
  first.connect('hello');
  first.incoming('c1');
  await settled();
  for (const [bridgeId, type] of [
    ['b1', 'video_sfu'],
    ['b2', 'video_single'],
    ['b3', 'video_sfu'],
  ] as const)
    first.bridgeOperations.create({ bridgeId, type });
  first.bridgeOperations.addChannel('b1', { channel: ['c1'] });
  first.bridgeOperations.setVideoSource('b1', 'c1');
  first.bridgeOperations.clearVideoSource('b3');
  const seen = (control: CallControl) =>
    control.bridgeOperations.list().map(({ video_mode, video_source_id }) => [video_mode, video_source_id]);
  const before = [
    ['single', 'c1'],
    ['single', undefined],
    ['talker', undefined],
  ];
  assert.equal(seen(first), before);
  const second = goOn(first);
  assert.equal(seen(second), before);
  second.bridgeOperations.clearVideoSource('b1');
  assert.equal(seen(second)[0], ['talker', undefined]);
});

put('a call in its application goes on: same models, same numbers of events, same end', async () => {
  const run = async (interrupted: boolean) => {
    const first = createCallControl({ contexts });
    const before = first.connect('hello');
    first.incoming('c1').report({ type: 'leg.digit', digit: '1', durationMs: 100 });
    await settled();
    first.operations.setVariable('c1', { variable: '__X', value: '1', report_events: true });
    first.operations.mute('c1', { direction: 'in' });
    const world = interrupted ? goOn(first) : first;
    const after = interrupted ? world.connect('hello') : before;
    const model = unnamed(world.operations.get('c1'));
    world.operations.setVariable('c1', { variable: 'Y', value: '2' });
    world.operations.continueInDialplan('c1', { context: 'default', extension: 'wait', priority: 1 });
    await settled();
    world.clock.advance(60_000);
    await settled();
    const leg = world.legs.get('c1') ?? first.legs.get('c1');
    const events = interrupted ? [...before.events, ...after.events] : after.events;
    const usage = [world.channels.size, world.audio.size, [...world.applications.list()], world.clock.pending];
    return { model, usage, events: bodies(events), muted: leg?.media.calls.filter((call) => call.startsWith('mute')) };
  };
  const straight = await run(false);
  const interrupted = await run(true);
  assert.equal(interrupted.events, straight.events);
  assert.equal(interrupted.model, straight.model);
  assert.equal(interrupted.usage, straight.usage);
});

put('what waits behind a playback to take a channel away comes in its turn', async () => {
  const run = async (interrupted: boolean) => {
    const contexts = { default: { s: ['Stasis(hello)', 'NoOp(after)', 'Wait(9)'] } };
    const first = createCallControl({ contexts });
    const before = first.connect('hello');
    const leg = first.incoming('c1');
    await settled();
    first.operations.play('c1', { media: ['sound:a'], playbackId: 'p1' });
    first.operations.move('c1', { app: 'gone' });
    first.operations.continueInDialplan('c1', {});
    first.operations.play('c1', { media: ['sound:b'], playbackId: 'p2' });
    const behind = { kind: 'playback', id: 'p1' };
    const { departures } = first.channels.get('c1').ownership.getSnapshot().context;
    assert.equal(
      departures?.map((each) => each.behind),
      [behind, behind],
    );
    const world = interrupted ? goOn(first, { contexts }) : first;
    const after = interrupted ? world.connect('hello') : before;
    (world.legs.get('c1') ?? leg).media.finish();
    await settled();
    const events = interrupted ? [...before.events, ...after.events] : after.events;
    return { events: bodies(events), value: world.channels.get('c1').ownership.getSnapshot().value };
  };
  const straight = await run(false);
  assert.is(straight.value, 'dialplan');
  assert.equal(await run(true), straight);
  const types = (straight.events as { type: string }[]).map(({ type }) => type);
  const order = ['PlaybackFinished', 'ApplicationMoveFailed', 'StasisEnd'];
  assert.equal(
    types.filter((type) => order.includes(type)),
    order,
  );
});

put('a move that is undecided keeps what waits behind it from sounding', async () => {
  const heard = async (interrupted: boolean) => {
    const forCalls = { ...outgoing, kind: 'call', apps: ['elsewhere'] } as const;
    const options = { contexts, connections: [forCalls] };
    const first = createCallControl(options);
    first.outbound.start(() => ({ close: () => {} }));
    first.connect('hello');
    const leg = first.incoming('c1');
    await settled();
    first.operations.move('c1', { app: 'elsewhere' });
    first.operations.play('c1', { media: ['sound:b'], playbackId: 'p2' });
    const start = (to: CallControl) => to.outbound.start(() => ({ close: () => {} }));
    const world = interrupted ? goOn(first, options, start) : first;
    const { media } = world.legs.get('c1') ?? leg;
    const before = [...media.calls];
    const { value } = world.channels.get('c1').ownership.getSnapshot();
    world.channels.tell(world.channels.get('c1'), { type: 'application.refused' });
    return { value, before, after: media.calls.slice(before.length), turns: world.playbacks.isBusy('channel', 'c1') };
  };
  const straight = await heard(false);
  assert.is(straight.value, 'moving');
  assert.equal(await heard(true), { ...straight, before: [] });
  assert.is(straight.after.length, 1);
});

put('who hears music, or silence, still does', async () => {
  const heard = async (start: (control: CallControl) => void): Promise<readonly string[] | undefined> => {
    const first = createCallControl({ contexts });
    first.connect('hello');
    first.incoming('c1');
    await settled();
    start(first);
    return goOn(first).legs.get('c1')?.media.calls;
  };
  assert.equal(await heard(({ operations }) => operations.startMoh('c1', { mohClass: 'jazz' })), ['music jazz']);
  assert.equal(await heard(({ operations }) => operations.startSilence('c1')), ['silence on']);
  const over = heard(({ operations }) => {
    operations.startMoh('c1', {});
    operations.stopMoh('c1');
  });
  assert.equal(await over, []);
});

put('a call that was dialed and not answered is given up at the time that was meant', () => {
  const first = createCallControl({ contexts });
  first.connect('hello', true);
  first.operations.originate({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1', timeout: 10 });
  first.clock.advance(4_000);
  const second = goOn(first);
  second.clock.advance(5_999);
  assert.is(second.channels.size, 1);
  second.clock.advance(1);
  assert.equal(second.legs.get('c1')?.calls, ['hangup 19', 'release']);
  assert.is(second.channels.size, 0);
});

put('the step of the dialplan that was under way begins again', async () => {
  const first = createCallControl({ contexts });
  first.incoming('c1', 'wait');
  await settled();
  const second = goOn(first);
  await settled();
  second.clock.advance(59_999);
  await settled();
  assert.is(second.channels.size, 1);
  second.clock.advance(1);
  await settled();
  assert.equal(second.legs.get('c1')?.calls, ['hangup 17', 'release']);
});

put('a playback goes on with the item that was under way, those behind it wait for their turn', async () => {
  const first = createCallControl({ contexts });
  first.connect('hello');
  first.incoming('c1');
  await settled();
  first.operations.play('c1', { media: ['sound:a', 'sound:b'], playbackId: 'p1' });
  first.operations.play('c1', { media: ['sound:c'], playbackId: 'p2' });
  const second = goOn(first);
  const { events } = second.connect('hello');
  const media = second.legs.get('c1')?.media;
  media?.finish();
  media?.finish();
  media?.finish();
  assert.equal(
    media?.calls.filter((call) => call.startsWith('play')),
    ['play sound:a', 'play sound:b', 'play sound:c'],
  );
  assert.equal(
    events.map((event) => [event.type, 'playback' in event && event.playback.id]),
    [
      ['PlaybackContinuing', 'p1'],
      ['PlaybackStarted', 'p1'],
      ['PlaybackFinished', 'p1'],
      ['PlaybackStarted', 'p2'],
      ['PlaybackFinished', 'p2'],
    ],
  );
  assert.is(second.playbacks.size, 0);
});

put('a recording goes on behind what was kept of it, as it was paused; the next waits for its turn', async () => {
  const first = createCallControl({ contexts });
  first.connect('hello');
  first.incoming('c1');
  await settled();
  first.recordingOperations.recordOnChannel('c1', { name: 'r1', format: 'wav', beep: true });
  await settled();
  first.recordingOperations.recordOnChannel('c1', { name: 'r2', format: 'wav', beep: true });
  first.recordingOperations.pause('r1');
  const second = goOn(first);
  const { events } = second.connect('hello');
  const [recorder] = second.legs.get('c1')?.media.recorders ?? [];
  assert.equal(
    [recorder?.request.path, recorder?.request.goOn, recorder?.calls],
    ['/recordings/r1.wav', { durationMs: 0, talkingMs: 0 }, ['pause']],
  );
  assert.is(recorder?.request.beep, false, 'it beeps once');
  assert.equal([second.recordings.get('r1').state, second.recordings.get('r2').state], ['paused', 'queued']);
  second.recordingOperations.stop('r1');
  await settled();
  assert.is(second.legs.get('c1')?.media.recorders[1]?.request.beep, true, 'the next one has not beeped');
  second.recordingOperations.stop('r2');
  assert.equal(
    events.map((event) => [event.type, 'recording' in event && event.recording.name]),
    [
      ['RecordingFinished', 'r1'],
      ['RecordingStarted', 'r2'],
      ['RecordingFinished', 'r2'],
    ],
  );
  assert.is(second.recordings.size, 0);
});

put('an application keeps its subscriptions, its filter and its numbers, and is away until it comes back', async () => {
  const first = createCallControl({ contexts });
  const { events } = first.connect('hello');
  first.incoming('c1');
  await settled();
  first.applications.subscribe('hello', ['channel:c1', 'channel:c1', 'endpoint:Fake/phone']);
  first.applications.filter('hello', { disallowed: [{ type: 'ChannelVarset', why: 'noise' }] });
  const known = json(first.applications.get('hello'));
  const second = goOn(first);
  assert.equal(json(second.applications.get('hello')), known);
  assert.not(second.applications.isActive('hello'));
  assert.equal(second.applications.figures('hello'), first.applications.figures('hello'));
  second.applications.unsubscribe('hello', ['channel:c1', 'endpoint:Fake/phone']);
  assert.equal(second.applications.get('hello').channel_ids, ['c1']);
  const again = second.connect('hello');
  second.report('c1', { type: 'leg.digit', digit: '5', durationMs: 80 });
  assert.equal(
    again.events.map(({ type, seq }) => [type, seq]),
    [['ChannelDtmfReceived', (events.at(-1)?.seq ?? 0) + 1]],
  );
});

put('an application whose last hold goes while it is saved is gone, one without any is gone at once', () => {
  const first = createCallControl({ contexts });
  first.connect('idle');
  const second = goOn(first);
  assert.equal([...second.applications.list()], []);
});

const outgoing = {
  name: 'out',
  kind: 'persistent',
  target: { url: 'ws://192.0.2.1/', protocols: ['ari'], username: '', password: '', localUser: '' },
  apps: ['hello'],
  subscribeAll: true,
  connectionTimeoutMs: 500,
  reconnectIntervalMs: 500,
  reconnectAttempts: 3,
} as const;

put('a restored connection to an application sends the waiting events first, with their numbers', () => {
  const options = { contexts, connections: [outgoing] };
  const first = createCallControl(options);
  first.outbound.start(() => ({ close: () => {} }));
  first.incoming('c1', 'wait');
  const second = goOn(first, options);
  const sockets: SocketReports[] = [];
  second.outbound.start((_target, _names, told) => {
    sockets.push(told);
    return { close: () => {} };
  });
  second.clock.advance(500);
  const got: { type: string; seq: number }[] = [];
  sockets[0]?.opened((text) => void got.push(JSON.parse(text) as { type: string; seq: number }));
  const types = got.map(({ type }) => type);
  assert.is(types[0], 'ApplicationRegistered');
  assert.ok(types.includes('ChannelCreated'));
  const waited = got.slice(1).map(({ seq }) => seq);
  assert.equal(
    waited,
    waited.toSorted((a, b) => a - b),
  );
  assert.is(second.outbound.size, 1);
});

put('a bridge goes on with who is in it, and its application hears of what follows', async () => {
  const first = createCallControl({ contexts });
  first.connect('hello');
  first.incoming('c1');
  first.incoming('c2');
  await settled();
  const bridge = first.bridges.open(bridgeInput);
  for (const id of ['c1', 'c2']) first.bridges.enter(bridge, first.channels.get(id), member);
  const shown = json(first.bridges.get('b1'));
  const second = goOn(first);
  const { events } = second.connect('hello');
  assert.equal(json(second.bridges.get('b1')), shown);
  assert.is(second.bridges.bridgeOf('c2')?.id, 'b1');
  second.bridges.leave('c1');
  second.operations.hangup('c2', {});
  const bridged = events.filter(({ type }) => type.endsWith('Bridge'));
  assert.equal(
    bridged.map((event) => [event.type, 'bridge' in event && event.bridge?.channels]),
    [
      ['ChannelLeftBridge', ['c2']],
      ['ChannelLeftBridge', []],
    ],
  );
  assert.equal(second.bridges.get('b1').channels, []);
});

put('a contact that was being asked is asked again; its registration runs out when it was to', async () => {
  const details = { id: 'phone;1', uri: 'sip:phone@192.0.2.7', aor: 'phone', technology: 'Fake', endpoint: 'phone' };
  const asked: string[] = [];
  const expired: string[] = [];
  const driver = (answers: boolean): ContactDriver => ({
    technology: 'Fake',
    qualify({ id }) {
      asked.push(id);
      return answers ? Promise.resolve(1_200) : new Promise(() => {});
    },
    expired: ({ id }) => void expired.push(id),
  });
  const first = createCallControl();
  first.owners.contacts.attach(driver(false));
  const times = { qualifyFrequencyMs: 60_000, qualifyTimeoutMs: 3_000, expiresMs: 90_000 };
  first.owners.contacts.registered({ ...details, ...times });
  first.clock.advance(2_000);
  const second = goOn(first, {}, ({ owners }) => owners.contacts.attach(driver(true)));
  await settled();
  const shown = { uri: details.uri, contact_status: 'Reachable', aor: 'phone', roundtrip_usec: '1200' };
  assert.equal(second.owners.contacts.of('Fake', 'phone'), [shown]);
  assert.equal(asked, ['phone;1', 'phone;1']);
  second.clock.advance(87_999);
  assert.equal([second.owners.contacts.size, expired], [1, []]);
  second.clock.advance(1);
  assert.equal([second.owners.contacts.size, expired], [0, ['phone;1']]);
});

put('what is no dump of this version, or does not fit, is told, and nothing is restored', () => {
  const first = createCallControl({ contexts });
  first.incoming('c1', 'wait');
  const dump = takeSnapshot(first.owners) as { version: number; channels: { life: { context: object } }[] };
  const second = createCallControl({ contexts });
  const options: RestoreOptions = { legOf: ({ id }, report) => new FakeLeg(id, report) };
  assert.throws(
    () => restoreSnapshot(second.owners, { ...dump, version: 1 }, options),
    (error: Error) => error.message === 'a dump of version 1 cannot be read, only 2',
  );
  assert.throws(
    () => restoreSnapshot(second.owners, undefined, options),
    (error: Error) => error.message === 'a dump of version undefined cannot be read, only 2',
  );
  const { life } = dump.channels[0]!;
  const broken = {
    ...dump,
    channels: [{ ...dump.channels[0], life: { ...life, context: { ...life.context, name: 7 } } }],
  };
  assert.throws(() => restoreSnapshot(second.owners, broken, options), /\/channels\/0\/life\/context\/name/);
  assert.is(second.channels.size, 0);
});

put.run();
