import fc from 'fast-check';
import type { createCallControl } from './call-control.ts';
import { anyDeed, likewise } from './deeds.ts';
import { FakeVideo } from './fake-video.ts';

/** Ids of the channels that acts are about. */
export const ids = ['a', 'b', 'c'] as const;
const id = fc.constantFrom(...ids);
const parts = { id, other: id, ms: fc.integer({ min: 1, max: 90_000 }) };
export type Act = { kind: string; id: string; other: string; ms: number };
type World = ReturnType<typeof createCallControl>;

/** Two channels that an application controls, and a bridge with both: where most acts come to something. */
const opening: readonly Act[] = (
  [
    ...(['a', 'b'] as const).flatMap((each) => [
      ['originate', each, each],
      ['answered', each, each],
    ]),
    ['bridge', 'a', 'a'],
    ['join', 'a', 'a'],
    ['join', 'b', 'a'],
  ] as const
).map(([kind, of, other]) => ({ kind, id: of, other, ms: 1 }));

/** Beside them a channel whose far side is a server that is there, and somebody who listens to one. */
const openingWithServer: readonly Act[] = [
  ...opening,
  ...(['server', 'serverThere', 'snoop'] as const).map((kind) => ({ kind, id: 'a', other: 'a', ms: 1 })),
];

const serverEndpoint = 'AudioSocket/127.0.0.1:9/6f1d2c3e-0000-4000-8000-000000000000';

const transferStates = ['channel_progress', 'channel_answered', 'channel_unavailable', 'channel_declined'];

/** A party asks to be put through: to an extension that waits, or to one that is not there. */
const transferTo = (ms: number, handling: 'core' | 'client') => {
  const extension = ms % 3 === 0 ? 'nobody' : 's';
  const target = `sip:${extension}@pbx.example`;
  return {
    type: 'leg.transferAsked' as const,
    transfer: { id: `t-${ms}`, extension, context: 'default', target, handling },
  };
};

function actsOf(world: World, { id, other, ms }: Act) {
  const { operations, bridgeOperations, recordingOperations, playbacks, legs, channels, clock, snoops, servers } =
    world;
  const leg = legs.get(id);
  const live = channels.find(id) !== undefined;
  const server = servers.get(`e-${id}`);
  const called = (extension: string) => live || takeCall(world, id, extension);
  return {
    incoming: () => called('s'),
    originate: () => operations.originate({ channelId: id, endpoint: 'Fake/phone', app: 'desk', timeout: 20 }),
    create: () => operations.create({ channelId: id, endpoint: 'Fake/phone', app: 'desk' }),
    dial: () => operations.dial(id, {}),
    answer: () => operations.answer(id),
    hangup: () => operations.hangup(id, {}),
    variable: () => operations.setVariable(id, { variable: 'COLOUR', value: String(ms) }),
    show: () => operations.setVariable(id, { variable: `SHOWN_${other}`, value: '1', report_events: true }),
    play: () => operations.play(id, { media: ['sound:one', 'sound:two'], playbackId: `p-${other}` } as never),
    stop: () => playbacks.stop(`p-${other}`),
    record: () => recordingOperations.recordOnChannel(id, { name: `r-${other}`, format: 'wav' } as never),
    recordBridge: () => bridgeOperations.record(`m-${id}`, { name: `r-${other}`, format: 'wav' } as never),
    pauseRecording: () => recordingOperations.pause(`r-${id}`),
    stopRecording: () => recordingOperations.stop(`r-${id}`),
    recorded: () => leg?.media.recorders.at(-1)?.finish('silence', ms),
    snoop: () => snoops.snoop(id, { spy: 'both', app: 'desk', snoopId: `s-${other}` }),
    // Both halves of a Local channel, one of them in the dialplan.
    local: () =>
      operations.originate({
        ...{ channelId: `l-${id}`, otherChannelId: `o-${id}`, endpoint: 'Local/s@default', app: 'desk', timeout: 20 },
      }),
    far: () => operations.hangup(`${['s', 'l', 'e'][ms % 3]}-${other}`, {}),
    // A channel whose far side is a server, and what that does.
    server: () => operations.originate({ channelId: `e-${id}`, endpoint: serverEndpoint, app: 'desk', timeout: 20 }),
    serverThere: () => server?.hears({ type: 'media.connected', local: { address: '127.0.0.1', port: ms } }),
    serverFlows: () => server?.hears({ type: 'media.flowing' }),
    serverCut: () => server?.hears({ type: 'media.cut' }),
    serverGone: () => server?.hears({ type: 'media.lost', reason: 'the far side closed the connection' }),
    joinServer: () => bridgeOperations.addChannel(`m-${other}`, { channel: [`e-${id}`] } as never),
    recordServer: () => recordingOperations.recordOnChannel(`e-${id}`, { name: `r-${other}`, format: 'wav' } as never),
    recordSnoop: () => recordingOperations.recordOnChannel(`s-${id}`, { name: `r-${other}`, format: 'wav' } as never),
    snoopServer: () => snoops.snoop(`e-${id}`, { spy: 'both', app: 'desk', snoopId: `s-${other}` }),
    video: () => bridgeOperations.setVideoSource(`m-${other}`, id),
    music: () => bridgeOperations.startMoh(`m-${id}`, {}),
    transfer: () => live && leg?.report(transferTo(ms, 'core')),
    offerTransfer: () => live && leg?.report(transferTo(ms, 'client')),
    transferProgress: () =>
      world.transfers.transferProgress(id, { states: transferStates[ms % transferStates.length] ?? '' }),
    continue: () => operations.continueInDialplan(id, {} as never),
    talking: () => live && leg?.report({ type: 'leg.talkingStarted' }),
    bridge: () => bridgeOperations.createWithId(`m-${id}`, { type: 'mixing' } as never),
    join: () => bridgeOperations.addChannel(`m-${other}`, { channel: [id] } as never),
    leave: () => bridgeOperations.removeChannel(`m-${other}`, { channel: [id] } as never),
    destroy: () => bridgeOperations.destroy(`m-${id}`),
    hold: () => operations.hold(id),
    ringing: () => live && leg?.report({ type: 'leg.ringing' }),
    answered: () => live && leg?.report({ type: 'leg.answered' }),
    hungUp: () => live && leg?.report({ type: 'leg.hungUp', cause: 16 }),
    digit: () => live && leg?.report({ type: 'leg.digit', digit: '5', durationMs: ms }),
    finished: () => leg?.media.finish(),
    wait: () => clock.advance(ms),
  };
}

function takeCall(world: World, id: string, extension: string): void {
  const leg = world.incoming(id, extension);
  if (!leg) return;
  if (id !== 'c') leg.video = new FakeVideo();
  world.legs.set(id, leg);
}

/** Contexts for {@link roughActs}. */
export const contexts = {
  default: {
    s: ['Wait(60)'],
    app: ['Stasis(app)', 'Wait(1)'],
    dial: ['Dial(Fake/x&Fake/y,30,m)', 'Echo'],
    room: ['ConfBridge(one)'],
    offer: ['StasisBroadcast(1000,,,yes)', 'Wait(1)'],
    first: ['Dial(Local/second@default)'],
    second: ['Dial(Local/third@default)'],
    third: ['Dial(Fake/x,30)'],
  },
};

/** Acts that few worlds stand: faults of the media plane and of charts, and calls that need {@link contexts}. */
function roughActsOf(world: World, { id, other, ms }: Act) {
  const { operations, bridgeOperations, recordingOperations, legs, channels, bridges, meeting } = world;
  const leg = legs.get(id);
  const live = channels.find(id) !== undefined;
  const bridge = `m-${other}`;
  const called = (extension: string) => live || takeCall(world, id, extension);
  const local = (extension: string) =>
    operations.originate({ endpoint: `Local/${extension}@default`, app: 'app', channelId: `o-${id}-${ms}` });
  /** The channel that was called last and is still there. */
  const callee = () =>
    [...legs.entries()].findLast(([each]) => !ids.includes(each as 'a') && channels.find(each) !== undefined)?.[1];
  const server = [...world.servers.values()].at(-1);
  const mix = meeting.mixes.findLast((each) => each.id === bridge && !each.closed);
  const recorders = [...[...legs.values()].map(({ media }) => media), ...meeting.mixes].flatMap(
    (audio) => audio.recorders,
  );
  const recorder = recorders.find(({ isOver }) => !isOver);
  return {
    callApp: () => called('app'),
    callDial: () => called('dial'),
    callOffer: () => called('offer'),
    claim: () => world.broadcasts.claim({ channelId: id, application: 'other' }),
    calleeAnswers: () => callee()?.report({ type: 'leg.answered' }),
    calleeRefuses: () => callee()?.report({ type: 'leg.hungUp', cause: 17 }),
    localToApp: () => local('app'),
    localToRoom: () => local('room'),
    // Three Local channels one behind another, with a phone at the end.
    row: () => local('first'),
    holding: () => bridgeOperations.create({ bridgeId: bridge, type: 'holding' }),
    sfu: () => bridgeOperations.create({ bridgeId: bridge, type: 'video_sfu' }),
    announce: () => bridgeOperations.addChannel(bridge, { channel: [id], role: 'announcer' }),
    playBridge: () => bridgeOperations.play(bridge, { media: ['sound:a'] }),
    finishBridge: () => mix?.finish(),
    freeVideo: () => bridgeOperations.clearVideoSource(bridge),
    failed: () => leg?.media.finish({ type: 'media.failed', reason: 'x' }),
    cancel: () => recordingOperations.cancel(`r-${other}`),
    muteRecording: () => recordingOperations.mute(`r-${other}`),
    recorderEnds: () => recorder?.finish('silence'),
    recorderFails: () => recorder?.fail('the disk is full'),
    stubborn: () => {
      for (const each of recorders) each.obeys = false;
    },
    time: () => world.clock.advance(1_500),
    held: () => leg?.report({ type: 'leg.held', musicClass: 'default' }),
    unheld: () => leg?.report({ type: 'leg.unheld' }),
    intercept: () => operations.setVariable(id, { variable: 'HOLD_INTERCEPT(set)', value: '' }),
    moh: () => operations.startMoh(id, {}),
    move: () => operations.move(id, { app: ms % 2 === 0 ? 'other' : 'app' }),
    tone: () => {
      operations.setVariable(id, { variable: 'TONE_DETECT(2600,,g(default,app,1))', value: '' });
      leg?.report({ type: 'leg.toneDetected', direction: 'in' });
    },
    agreeVideo: () => {
      if (leg?.video instanceof FakeVideo) leg.video.agree();
      leg?.report({ type: 'leg.videoChanged' });
    },
    loseCamera: () => {
      if (leg?.video instanceof FakeVideo) leg.video.streams = [];
      leg?.report({ type: 'leg.videoChanged' });
    },
    external: () => void world.outside.media.externalMedia(externalServer(id, ms)).catch(() => {}),
    serverAsks: () => server?.hears({ type: 'media.hangupAsked' }),
    crash: () => channels.find(id)?.actor.send({ type: 'variable.set' } as never),
    crashBridge: () => bridges.find(bridge)?.actor.send({ type: 'enter' } as never),
    loseMix: () => mix?.told({ type: 'mix.lost', reason: 'x' }),
    // Everything that a lost thread of the media plane tells at once.
    loseThread: () => {
      for (const each of [...meeting.mixes])
        if (!each.closed) each.told({ type: 'mix.lost', reason: 'its thread died' });
      for (const each of legs.values()) each.media.finish({ type: 'media.failed', reason: 'its thread died' });
      for (const each of recorders) if (!each.isOver) each.fail('its thread died');
      server?.hears({ type: 'media.cut' });
    },
  };
}

/** A channel to a server, made by the interface's operation. */
const externalServer = (id: string, ms: number) => ({
  ...{ external_host: 'server.example:9092', transport: 'tcp', encapsulation: 'audiosocket', format: 'slin' },
  ...{ app: 'app', data: `40325ec2-5efd-4bd3-805f-${String(ms).padStart(12, '0')}`, channelId: `x-${id}-${ms}` },
});

type Kind = keyof ReturnType<typeof actsOf>;
const usualKinds = [
  ...(['incoming', 'originate', 'create', 'dial', 'answer', 'hangup', 'variable', 'show', 'play', 'stop'] as const),
  ...(['record', 'bridge', 'join', 'leave', 'destroy', 'ringing', 'answered', 'hungUp', 'digit', 'finished'] as const),
  ...([
    'wait',
    'hold',
    'recordBridge',
    'pauseRecording',
    'stopRecording',
    'recorded',
    'snoop',
    'local',
    'far',
  ] as const),
  ...(['video', 'music', 'transfer', 'offerTransfer', 'transferProgress', 'continue', 'talking'] as const),
  ...(['server', 'server', 'serverThere', 'serverThere', 'serverFlows', 'serverCut', 'serverGone'] as const),
  ...(['joinServer', 'recordServer', 'recordSnoop', 'snoopServer'] as const),
] as const satisfies readonly Kind[];
const roughKinds = [
  ...(['callApp', 'callDial', 'callOffer', 'claim', 'calleeAnswers', 'calleeRefuses', 'localToApp', 'row'] as const),
  ...(['localToRoom', 'holding', 'sfu', 'announce', 'playBridge', 'finishBridge', 'freeVideo', 'failed'] as const),
  ...(['cancel', 'muteRecording', 'recorderEnds', 'recorderFails', 'stubborn', 'time', 'held', 'unheld'] as const),
  ...(['intercept', 'moh', 'move', 'tone', 'agreeVideo', 'loseCamera', 'external', 'serverAsks', 'crash'] as const),
  ...(['crashBridge', 'loseMix', 'loseThread'] as const),
] as const satisfies readonly (keyof ReturnType<typeof roughActsOf>)[];

/** Acts one after another: three of four times with a conference to begin with, once with a server as well. */
export const scenario: fc.Arbitrary<Act[]> = fc
  .tuple(fc.array(anyDeed(likewise(usualKinds, parts)), { minLength: 5, maxLength: 60 }), fc.nat(3))
  .map(([acts, begin]) => [...([[], openingWithServer][begin] ?? opening), ...acts]);

/** The same with {@link roughActsOf}. */
export const roughScenario: fc.Arbitrary<Act[]> = fc.array(
  anyDeed(likewise([...usualKinds, 'join', 'join', ...roughKinds], parts)),
  { maxLength: 80, size: 'max' },
);

/** Does it, or finds that it cannot be done now. */
export function perform(world: World, act: Act): void {
  const acts: Record<string, () => unknown> = { ...actsOf(world, act), ...roughActsOf(world, act) };
  try {
    acts[act.kind]?.();
  } catch (error) {
    if ((error as Error).name !== 'AriError') throw error;
  }
}
