import fc from 'fast-check';
import type { createCallControl } from './call-control.ts';

/** Ids of the channels that acts are about. */
export const ids = ['a', 'b', 'c'] as const;
const id = fc.constantFrom(...ids);
export type Act = { what: string; id: string; other: string; ms: number };
/** Something that is asked of call control, or reported to it. */
const act: fc.Arbitrary<Act> = fc.record({
  what: fc.constantFrom(
    ...['incoming', 'originate', 'create', 'dial', 'answer', 'hangup', 'variable', 'show', 'play', 'stop', 'record'],
    ...['bridge', 'join', 'leave', 'destroy', 'ringing', 'answered', 'hungUp', 'digit', 'finished', 'wait', 'hold'],
    ...['recordBridge', 'pauseRecording', 'stopRecording', 'recorded', 'snoop', 'local', 'far', 'video', 'music'],
    ...['transfer', 'offerTransfer', 'transferProgress', 'continue', 'talking'],
    ...['server', 'server', 'serverThere', 'serverThere', 'serverFlows', 'serverCut', 'serverGone', 'joinServer'],
    ...['recordServer', 'recordSnoop', 'snoopServer'],
  ),
  id,
  other: id,
  ms: fc.integer({ min: 1, max: 90_000 }),
});

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
).map(([what, of, other]) => ({ what, id: of, other, ms: 1 }));

/** Beside them a channel whose far side is a server that is there, and somebody who listens to one. */
const openingWithServer: readonly Act[] = [
  ...opening,
  ...(['server', 'serverThere', 'snoop'] as const).map((what) => ({ what, id: 'a', other: 'a', ms: 1 })),
];

/** Acts one after another: three of four times with a conference to begin with, once with a server as well. */
export const scenario: fc.Arbitrary<Act[]> = fc
  .tuple(fc.array(act, { minLength: 5, maxLength: 60 }), fc.nat(3))
  .map(([acts, begin]) => [...([[], openingWithServer][begin] ?? opening), ...acts]);

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

/** Does it, or finds that it cannot be done now. */
export function perform(world: ReturnType<typeof createCallControl>, { what, id, other, ms }: Act): void {
  const { operations, bridgeOperations, recordingOperations, playbacks, legs, channels, clock, snoops, servers } =
    world;
  const leg = legs.get(id);
  const live = channels.find(id) !== undefined;
  const server = servers.get(`e-${id}`);
  const acts: Record<string, () => unknown> = {
    incoming: () => live || world.incoming(id),
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
  try {
    acts[what]?.();
  } catch (error) {
    if ((error as Error).name !== 'AriError') throw error;
  }
}
