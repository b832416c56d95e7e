import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createTimeMachine } from '../../src/recorder/time-travel.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder } from '../support/recorder.ts';

/** Whatever is asked and reported: what is rebuilt of a recording is what was served at that moment. */

const travel = suite('time travel');
const seed = Number(process.env['HOOKSWITCH_CHARTS_SEED'] ?? 20261122);

const ids = ['a', 'b', 'c'] as const;
const id = fc.constantFrom(...ids);
type Act = { what: string; id: string; other: string; ms: number };
const act: fc.Arbitrary<Act> = fc.record({
  what: fc.constantFrom(
    ...['incoming', 'originate', 'create', 'dial', 'answer', 'hangup', 'variable', 'show', 'play', 'stop', 'record'],
    ...['bridge', 'join', 'leave', 'destroy', 'ringing', 'answered', 'hungUp', 'digit', 'finished', 'wait', 'hold'],
  ),
  id,
  other: id,
  ms: fc.integer({ min: 1, max: 90_000 }),
});

/** Does it, or finds that it cannot be done now. */
function perform(world: ReturnType<typeof createCallControl>, { what, id, other, ms }: Act): void {
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

const byId = <T extends { id: string }>(things: readonly T[]): T[] => things.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const withoutTechnology = ({ technology: _, ...bridge }: { technology: string; id: string }) => bridge;

travel('the models rebuilt at every moment are those that were served then', () => {
  let compared = 0;
  fc.assert(
    fc.property(fc.array(act, { minLength: 5, maxLength: 60 }), (acts) => {
      const world = createCallControl({ channelvars: ['COLOUR'] });
      const recorder = createTestRecorder(world.runtime, world.clock);
      world.connect('desk');
      const served: [seq: number, channels: unknown, bridges: unknown, playbacks: unknown][] = [];
      for (const each of acts) {
        perform(world, each);
        const { channels, bridges, playbacks } = world;
        const playing = ids.flatMap((name) => {
          try {
            return [playbacks.get(`p-${name}`)];
          } catch {
            return [];
          }
        });
        served.push([
          recorder.order,
          asJson(byId(channels.all().map((entry) => channels.model(entry)))),
          asJson(byId(bridges.list()).map(withoutTechnology)),
          asJson(byId(playing)),
        ]);
      }
      const timeline = asJson(writeTimeline(recorder.store.all(), nothingMasked)) as TimelineEntry[];
      const machine = createTimeMachine(timeline, { channelvars: ['COLOUR'] });
      const rebuilt = served.map(([seq]) => {
        const { channels, bridges, playbacks } = machine.at(seq);
        return [seq, byId(channels), byId(bridges).map(withoutTechnology), byId(playbacks)];
      });
      assert.equal(rebuilt, served);
      compared += served.flatMap(([, ...models]) => models.flat()).length;
      recorder.close();
    }),
    { numRuns: 150, seed },
  );
  assert.ok(compared > 1_000, `only ${compared} models were compared`);
});

travel.run();
