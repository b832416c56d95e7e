import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hangupAll } from '../../src/actors/channels.ts';
import { createExternalConnections } from '../../src/actors/external-connections.ts';
import { createExternalMedia } from '../../src/actors/external-media.ts';
import { createExternalDriver } from '../../src/drivers/external/external.ts';
import { createIds } from '../../src/lib/ids.ts';
import { AriError } from '../../src/models/errors.ts';
import type { AriEvent } from '../../src/models/events.ts';
import type { ExternalReport, ExternalSession } from '../../src/telephony/external.ts';
import { createCallControl, FakeMedia, settled } from '../support/call-control.ts';
import { FakeVideo } from '../support/fake-video.ts';

/**
 * Channels, bridges, playbacks, recordings, snoops, external media, video, transfers and offered calls together, with anything
 * done to them in any order.
 */
const test = suite('a whole system, whatever is done to it');

const channels = ['a', 'b', 'c', 'd'];
const bridges = ['b1', 'b2', 'hold', 'seen'];
const names = ['r1', 'r2', 'r3'];

/** One thing that is done: what, to which channel, bridge and recording. */
type Deed = { what: (typeof deeds)[number]; channel: string; bridge: string; name: string };
const deeds = [
  'call',
  'answer',
  'hangup',
  'farHangup',
  'add',
  'add',
  'announce',
  'remove',
  'destroy',
  'create',
  'play',
  'playBridge',
  'finish',
  'finishBridge',
  'fail',
  'stopPlayback',
  'record',
  'recordBridge',
  'stopRecording',
  'cancel',
  'pause',
  'mute',
  'recorderEnds',
  'recorderFails',
  'stubborn',
  'snoop',
  'continue',
  'crash',
  'crashBridge',
  'loseMix',
  'music',
  'time',
  'holdUs',
  'unholdUs',
  'intercept',
  'moh',
  'move',
  'originate',
  'dial',
  'calleeAnswers',
  'calleeRefuses',
  'loseThread',
  'external',
  'serverTakes',
  'serverSpeaks',
  'serverAsks',
  'serverGoes',
  'offer',
  'claim',
  'tone',
  'agreeVideo',
  'loseCamera',
  'lockVideo',
  'freeVideo',
  'transfer',
  'offerTransfer',
  'transferProgress',
  'row',
] as const;
const deed: fc.Arbitrary<Deed> = fc.record({
  what: fc.constantFrom(...deeds),
  channel: fc.constantFrom(...channels),
  bridge: fc.constantFrom(...bridges),
  name: fc.constantFrom(...names),
});

const bridgeTypes: Readonly<Record<string, string>> = { hold: 'holding', seen: 'video_sfu' };

const contexts = {
  default: {
    s: ['Wait(1)'],
    app: ['Stasis(app)', 'Wait(1)'],
    dial: ['Dial(Fake/x&Fake/y,30,m)', 'Echo'],
    room: ['ConfBridge(one)'],
    offer: ['StasisBroadcast(1000,,,yes)', 'Wait(1)'],
    first: ['Dial(Local/second@default)'],
    second: ['Dial(Local/third@default)'],
    third: ['Dial(Fake/x,30)'],
  },
};

function world() {
  const w = createCallControl({ contexts });
  const { events } = w.connect('all', true);
  w.connect(['app', 'other']);
  const legs = new Map<string, ReturnType<typeof w.incoming>>();
  let made = 0;
  /** Every leg of those who called, those that are gone included. */
  const callers: ReturnType<typeof w.incoming>[] = [];
  const calledBy = (channel: string, extension: string): void => {
    const leg = w.incoming(channel, extension);
    if (leg && channel !== 'd') leg.video = new FakeVideo();
    callers.push(leg);
    legs.set(channel, leg);
  };
  /** Who was called last and is still there. */
  const lastCallee = () => [...w.legs.entries()].findLast(([id]) => w.channels.find(id) !== undefined)?.[1];
  const mixOf = (id: string) => w.meeting.mixes.findLast((mix) => mix.id === id && !mix.closed);
  const recorders = () =>
    [...[...legs.values()].map(({ media }) => media), ...w.meeting.mixes].flatMap((audio) => audio.recorders);

  const outside = openOutside(w);
  const doIt: Record<Deed['what'], (deed: Deed) => void> = {
    call: ({ channel }) => {
      if (w.channels.find(channel) === undefined) calledBy(channel, 'app');
    },
    answer: ({ channel }) => void w.operations.answer(channel),
    hangup: ({ channel }) => w.operations.hangup(channel, {}),
    farHangup: ({ channel }) => legs.get(channel)?.report({ type: 'leg.hungUp', cause: 16 }),
    add: ({ channel, bridge }) => w.bridgeOperations.addChannel(bridge, { channel: [channel] }),
    announce: ({ channel, bridge }) => w.bridgeOperations.addChannel(bridge, { channel: [channel], role: 'announcer' }),
    remove: ({ channel, bridge }) => w.bridgeOperations.removeChannel(bridge, { channel: [channel] }),
    destroy: ({ bridge }) => w.bridgeOperations.destroy(bridge),
    create: ({ bridge }) => void w.bridgeOperations.create({ bridgeId: bridge, type: bridgeTypes[bridge] ?? 'mixing' }),
    play: ({ channel }) => void w.operations.play(channel, { media: ['sound:a', 'sound:b'], playbackId: `p${made++}` }),
    playBridge: ({ bridge }) => void w.bridgeOperations.play(bridge, { media: ['sound:a'], playbackId: `p${made++}` }),
    finish: ({ channel }) => legs.get(channel)?.media.finish(),
    finishBridge: ({ bridge }) => mixOf(bridge)?.finish(),
    fail: ({ channel }) => legs.get(channel)?.media.finish({ type: 'media.failed', reason: 'x' }),
    stopPlayback: () => w.playbacks.stop(`p${made - 1}`),
    record: ({ channel, name }) =>
      void w.recordingOperations.recordOnChannel(channel, { name, format: 'wav', ifExists: 'overwrite' }),
    recordBridge: ({ bridge, name }) => void w.bridgeOperations.record(bridge, { name, format: 'wav' }),
    stopRecording: ({ name }) => w.recordingOperations.stop(name),
    cancel: ({ name }) => w.recordingOperations.cancel(name),
    pause: ({ name }) => w.recordingOperations.pause(name),
    mute: ({ name }) => w.recordingOperations.mute(name),
    recorderEnds: () =>
      recorders()
        .find(({ isOver }) => !isOver)
        ?.finish('silence'),
    recorderFails: () =>
      recorders()
        .find(({ isOver }) => !isOver)
        ?.fail('the disk is full'),
    stubborn: () => {
      for (const recorder of recorders()) recorder.obeys = false;
    },
    snoop: ({ channel }) => void w.snoops.snoop(channel, { spy: 'both', app: 'app', snoopId: `s${made++}` }),
    continue: ({ channel }) => w.operations.continueInDialplan(channel, {}),
    crash: ({ channel }) => w.channels.find(channel)?.actor.send({ type: 'variable.set' } as never),
    crashBridge: ({ bridge }) => w.bridges.find(bridge)?.actor.send({ type: 'enter' } as never),
    loseMix: ({ bridge }) => mixOf(bridge)?.told({ type: 'mix.lost', reason: 'x' }),
    music: ({ bridge }) => w.bridgeOperations.startMoh(bridge, {}),
    time: () => w.clock.advance(1_500),
    holdUs: ({ channel }) => legs.get(channel)?.report({ type: 'leg.held', musicClass: 'default' }),
    unholdUs: ({ channel }) => legs.get(channel)?.report({ type: 'leg.unheld' }),
    intercept: ({ channel }) => w.operations.setVariable(channel, { variable: 'HOLD_INTERCEPT(set)', value: '' }),
    moh: ({ channel }) => w.operations.startMoh(channel, {}),
    move: ({ channel }) => w.operations.move(channel, { app: made++ % 2 === 0 ? 'other' : 'app' }),
    originate: () => {
      const number = made++;
      const endpoint = `Local/${number % 2 === 0 ? 'app' : 'room'}@default`;
      w.operations.originate({ endpoint, app: 'app', channelId: `o${number}` });
    },
    dial: ({ channel }) => {
      if (w.channels.find(channel) === undefined) calledBy(channel, 'dial');
    },
    calleeAnswers: () => lastCallee()?.report({ type: 'leg.answered' }),
    calleeRefuses: () => lastCallee()?.report({ type: 'leg.hungUp', cause: 17 }),
    // Everything that a lost thread of the media plane tells at once.
    loseThread: () => {
      for (const mix of [...w.meeting.mixes])
        if (!mix.closed) mix.told({ type: 'mix.lost', reason: 'its thread died' });
      for (const leg of legs.values()) leg.media.finish({ type: 'media.failed', reason: 'its thread died' });
      for (const recorder of recorders()) if (!recorder.isOver) recorder.fail('its thread died');
      outside.tell({ type: 'media.cut' });
    },
    external: () => outside.open(made++),
    serverTakes: () => outside.tell({ type: 'media.connected', local: { address: '127.0.0.1', port: 1 } }),
    serverSpeaks: () => outside.tell({ type: 'media.flowing' }),
    serverAsks: () => outside.tell({ type: 'media.hangupAsked' }),
    serverGoes: () => outside.tell({ type: 'media.lost', reason: 'x' }),
    offer: ({ channel }) => {
      if (w.channels.find(channel) === undefined) calledBy(channel, 'offer');
    },
    claim: ({ channel }) => w.broadcasts.claim({ channelId: channel, application: 'other' }),
    tone: ({ channel }) => {
      w.operations.setVariable(channel, { variable: 'TONE_DETECT(2600,,g(default,app,1))', value: '' });
      legs.get(channel)?.report({ type: 'leg.toneDetected', direction: 'in' });
    },
    agreeVideo: ({ channel }) => {
      const leg = legs.get(channel);
      if (leg?.video instanceof FakeVideo) leg.video.agree();
      leg?.report({ type: 'leg.videoChanged' });
    },
    loseCamera: ({ channel }) => {
      const leg = legs.get(channel);
      if (leg?.video instanceof FakeVideo) leg.video.streams = [];
      leg?.report({ type: 'leg.videoChanged' });
    },
    lockVideo: ({ channel, bridge }) => w.bridgeOperations.setVideoSource(bridge, channel),
    freeVideo: ({ bridge }) => w.bridgeOperations.clearVideoSource(bridge),
    transfer: ({ channel }) => legs.get(channel)?.report(transferTo(made++, 'core')),
    offerTransfer: ({ channel }) => legs.get(channel)?.report(transferTo(made++, 'client')),
    transferProgress: ({ channel }) =>
      w.transfers.transferProgress(channel, { states: made++ % 2 === 0 ? 'channel_answered' : 'channel_declined' }),
    row: () => {
      // Three Local channels one behind another, with a phone at the end.
      w.operations.originate({ endpoint: 'Local/first@default', app: 'app', channelId: `o${made++}` });
    },
  };
  return { ...w, events, legs, callers, outside, doIt };
}

/** A party asks to be put through: to an extension that is there, or to none. */
const transferTo = (number: number, handling: 'core' | 'client') => {
  const extension = number % 3 === 0 ? 'nobody' : 's';
  const transfer = { extension, context: 'default', target: `sip:${extension}@pbx.example`, handling };
  return { type: 'leg.transferAsked' as const, transfer: { id: `t${number}`, ...transfer } };
};

/** Media of a channel whose far side is a server. */
class FakeExternal extends FakeMedia implements ExternalSession {
  readonly tell: (report: ExternalReport) => void;
  closed = false;

  constructor(id: string, tell: (report: ExternalReport) => void) {
    super(id, tell);
    this.tell = tell;
  }

  attach(): void {}
  persist(): void {}
  reconnect(): void {}
  override close(): void {
    this.closed = true;
    super.close();
  }
}

/** Servers outside, by the driver and the charts of their connections; what their sockets do is up to the story. */
function openOutside(w: ReturnType<typeof createCallControl>) {
  const sessions: FakeExternal[] = [];
  const { log, runtime, clock, channels, views, applications } = w;
  const connections = createExternalConnections({
    ...{ runtime, log, most: 20 },
    ...{ connectionTimeoutMs: 3000, arrivalTimeoutMs: 3000, resumption: { attempts: 1, intervalMs: 1000 } },
  });
  const driver = createExternalDriver({
    media: {
      openRtp: () => Promise.reject(new Error('no ports')),
      reopenRtp: () => Promise.reject(new Error('no ports')),
      openExternal(id, _request, told) {
        const session = new FakeExternal(id, told);
        sessions.push(session);
        return session;
      },
    },
    ids: createIds(clock),
    ...{ log, connections, webSockets: new Map() },
    resolveHost: () => Promise.reject(new Error('no names')),
    localAddress: () => '127.0.0.1',
    learned: () => {},
  });
  for (const each of driver.drivers) channels.addDriver(each);
  const media = createExternalMedia({
    ...{ channels, views, log, applications, driver, turn: runtime.turn },
    variablesLimit: 100,
  });
  const host = { external_host: 'server.example:9092', transport: 'tcp', encapsulation: 'audiosocket', format: 'slin' };
  return {
    sessions,
    connections,
    /** Made by the interface's operation, or by a dial string. */
    open(number: number): void {
      const uuid = `40325ec2-5efd-4bd3-805f-${String(number).padStart(12, '0')}`;
      const id = `e${number}`;
      if (number % 2 === 0)
        media.externalMedia({ ...host, app: 'app', data: uuid, channelId: id }).catch(() => {
          // Refused, when the server goes before it has taken the connection.
        });
      else w.operations.originate({ endpoint: `AudioSocket/server.example:9092/${uuid}`, app: 'app', channelId: id });
    },
    /** What the socket of the last one tells that is still there. */
    tell: (report: ExternalReport) => sessions.findLast(({ closed }) => !closed)?.tell(report),
  };
}

type World = ReturnType<typeof world>;

/** What holds at any moment. */
function check({ bridges: owner, channels: all, meeting }: World): void {
  const members = owner.list().flatMap((bridge) => bridge.channels);
  assert.is(new Set(members).size, members.length, 'a channel is in one bridge at most');
  for (const id of members) assert.ok(all.find(id), `${id} is in a bridge and no more`);
  for (const { id, channels: inside } of owner.list())
    assert.equal(
      [...(meeting.mixes.findLast((mix) => mix.id === id)?.sessions.keys() ?? [])].sort(),
      [...inside].sort(),
    );
}

const idOf = (event: AriEvent): string | undefined => {
  if ('playback' in event) return `playback ${event.playback.id}`;
  return 'recording' in event ? `recording ${event.recording.name}` : undefined;
};

/** Whatever began ended once, and nothing ended or went on that had not begun. */
function checkEnds(events: readonly AriEvent[]): void {
  const open = new Set<string>();
  const ended = new Set<string>();
  for (const event of events) {
    const id = idOf(event);
    if (id === undefined) continue;
    if (event.type.endsWith('Started')) open.add(id);
    else if (event.type.endsWith('Finished') || event.type.endsWith('Failed')) {
      open.delete(id);
      // Names of recordings are used again; each playback has its own id.
      if ('playback' in event) assert.not(ended.has(id), `${id} ended twice`);
      ended.add(id);
    }
  }
  assert.equal([...open], [], 'what began has ended');
}

/** Who entered a bridge left it, in turns. */
function checkStays(events: readonly AriEvent[]): void {
  const where = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'ChannelEnteredBridge') {
      assert.is(where.get(event.channel?.id ?? ''), undefined, 'entered while in another');
      where.set(event.channel?.id ?? '', event.bridge.id);
    } else if (event.type === 'ChannelLeftBridge') {
      assert.is(where.get(event.channel.id), event.bridge.id, 'left where it was');
      where.delete(event.channel.id);
      assert.not(event.bridge.channels.includes(event.channel.id));
    } else if (event.type === 'StasisEnd')
      assert.is(where.get(event.channel.id), undefined, 'left the application first');
  }
  assert.equal([...where], []);
}

test('a channel is in one bridge at most, what began ends once, and nothing is left when all hung up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 80, size: 'max' }), async (story) => {
      const w = world();
      const begun = [
        ...bridges.map((bridge) => ({ what: 'create', bridge }) as Deed),
        ...channels.map((channel) => ({ what: 'call', channel }) as Deed),
      ];
      for (const one of [...begun, ...story]) {
        try {
          w.doIt[one.what](one);
        } catch (error) {
          if (!(error instanceof AriError)) throw error;
        }
        await settled();
        check(w);
      }
      hangupAll(w.channels, 16);
      await settled();
      // Connections that no server took in time, and channels that came of those that one did.
      w.clock.advance(3_000);
      await settled();
      hangupAll(w.channels, 16);
      for (const bridge of bridges) if (w.bridges.find(bridge)) w.bridgeOperations.destroy(bridge);
      w.clock.advance(10_000);
      await settled();
      for (const mix of w.meeting.mixes) for (const recorder of mix.recorders) recorder.finish();
      await settled();
      assert.equal(
        [w.channels.size, w.bridges.size, w.recordings.size, w.playbacks.size, w.broadcasts.size],
        [0, 0, 0, 0, 0],
      );
      assert.is(w.audio.size, 0, 'nobody hears music any more');
      for (const { calls } of [...w.legs.values(), ...w.callers])
        assert.is(calls.filter((call) => call === 'release').length, 1, 'every leg is let go of once');
      for (const mix of w.meeting.mixes) assert.is(mix.closed, true);
      assert.is(w.outside.connections.size, 0, 'no connection is left');
      for (const session of w.outside.sessions) assert.ok(session.closed, `${session.id} is closed`);
      checkEnds(w.events);
      checkStays(w.events);
    }),
    { numRuns: 75 },
  );
});

test.run();
