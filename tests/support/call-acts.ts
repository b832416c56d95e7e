import fc from 'fast-check';
import type { createCallControl } from './call-control.ts';

/** Ids of the channels that acts are about. */
export const ids = ['a', 'b', 'c'] as const;
const id = fc.constantFrom(...ids);
export type Act = { what: string; id: string; other: string; ms: number };
/** Something that is asked of call control, or reported to it. */
export const act: fc.Arbitrary<Act> = fc.record({
  what: fc.constantFrom(
    ...['incoming', 'originate', 'create', 'dial', 'answer', 'hangup', 'variable', 'show', 'play', 'stop', 'record'],
    ...['bridge', 'join', 'leave', 'destroy', 'ringing', 'answered', 'hungUp', 'digit', 'finished', 'wait', 'hold'],
  ),
  id,
  other: id,
  ms: fc.integer({ min: 1, max: 90_000 }),
});

/** Does it, or finds that it cannot be done now. */
export function perform(world: ReturnType<typeof createCallControl>, { what, id, other, ms }: Act): void {
  const { operations, bridgeOperations, recordingOperations, playbacks, legs, channels, clock } = world;
  const leg = legs.get(id);
  const live = channels.has(id);
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
