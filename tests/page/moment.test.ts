import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endsOf } from '../../page/core/calls.ts';
import { readLines } from '../../page/core/entries.ts';
import { callAt } from '../../page/core/moment.ts';
import { tracedAt } from '../../page/core/replay.ts';
import { rangeOf, rangeText, spansOf } from '../../page/core/spans.ts';
import { summaryOf } from '../../page/core/summary.ts';
import type { Call } from '../../src/models/call.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';

const moments = suite('a call at a moment');

const known = new Set<string>();
/** A step of a chart; the first one of an object is whole. */
function step(
  at: number,
  chart: string,
  object: string,
  to: unknown,
  set: object = {},
  status?: string,
): TimelineEntry {
  const whole = !known.has(`${chart} ${object}`);
  known.add(`${chart} ${object}`);
  const change = { ...(whole && { whole }), value: to, set, ...(status && { status }) };
  return { kind: 'step', seq: at, at, chart, object, to, event: { type: 'x' }, change } as unknown as TimelineEntry;
}

const context = (id: string, endpoint: string, number: string, exten: string) => ({
  ...{
    id,
    name: `PJSIP/${endpoint}-1`,
    technology: 'PJSIP',
    endpoint: ['PJSIP', endpoint],
    origin: 'incoming',
    cause: 0,
  },
  ...{ caller: { name: '', number }, connected: { name: '', number: '' }, accountCode: '', language: 'en' },
  ...{ dialplan: { context: 'default', exten, priority: 1, appName: '', appData: '' }, variables: {}, reported: [] },
  ...{ creationTime: 0, lastState: 'Down', inheritance: {}, protocolId: '', dialString: '', linked: { id, since: 0 } },
});
const timeline = [
  step(0, 'channel', 'a', 'ring', context('a', 'alice', '201', '500')),
  step(100, 'channel', 'a', 'up'),
  { kind: 'event', seq: 101, at: 101, application: 'ivr', type: 'StasisStart', event: {} } as unknown as TimelineEntry,
  step(150, 'playback', 'p', 'playing', { id: 'p', media: ['sound:hello'] }),
  step(200, 'channel', 'b', 'up', context('b', 'bob', '', 's')),
  step(300, 'bridge', 'm', 'occupied', { members: [{ channelId: 'a' }, { channelId: 'b' }], name: 'sales' }),
  step(400, 'leg', 'a', 'held'),
  step(600, 'leg', 'a', 'up'),
  step(700, 'channelAudio', 'b', { there: { hold: 'onHold' } }),
  step(800, 'bridge', 'm', 'occupied', { members: [{ channelId: 'b' }] }),
  step(900, 'channel', 'b', 'destroyed', {}, 'done'),
  step(1_000, 'channel', 'a', 'destroyed', {}, 'done'),
];
const outcome = { result: 'answered', reason: 'answered', by: 'caller' };
const ended = (id: string, endpoint: string, number: string, at: number) => ({
  ...{ id, name: `PJSIP/${endpoint}-1`, endpoint: `PJSIP/${endpoint}`, state: 'Up', life: 'destroyed', outcome },
  ...{ caller: { name: '', number }, connected: { name: '', number: '' }, extension: 'h@default', ended: at },
});
const call = {
  ...{ id: 'a', state: 'ended', began: 0, ended: 1_000, duration_ms: 1_000, outcome, applications: ['ivr'], stuck: [] },
  channels: [ended('a', 'alice', '201', 1_000), { ...ended('b', 'bob', '', 900), direction: 'out', dialed: 'bob' }],
} as unknown as Call;

moments('its title, duration, outcome and summary are those of then', () => {
  const at = (count: number) => callAt(call, timeline, count, tracedAt(timeline, count));
  const shown = (count: number) => {
    const {
      state,
      duration_ms: ms,
      applications,
      outcome: { result },
    } = at(count);
    const { from, to } = endsOf(at(count));
    return [state, ms, applications.join(), result, `${from} → ${to}`];
  };
  assert.equal(shown(1), ['live', 0, '', 'pending', '201 → 500']);
  assert.equal(shown(3), ['live', 101, 'ivr', 'answered', '201 → 500']);
  assert.equal(shown(5), ['live', 200, 'ivr', 'answered', '201 → bob']);
  assert.equal(shown(11), ['live', 900, 'ivr', 'answered', '201 → 500']);
  assert.is(at(12), call);
  assert.is(summaryOf(at(1), timeline.slice(0, 1)).said, '201 → 500, not answered yet');
  assert.is(summaryOf(at(5), timeline.slice(0, 5)).said, '201 → 500 (ivr) → bob, answered after 0.1 s, talked 0 s');
});

moments('its axis says who rang, talked and held, how long', () => {
  const reading = readLines(timeline);
  const rows = spansOf(timeline, reading).map(({ name, spans }) => [
    name,
    ...spans.map(({ state, from, to }) => `${state} ${from}-${to}`),
  ]);
  assert.equal(rows, [
    [
      'PJSIP/alice-1',
      'ring 0-100',
      'up 100-300',
      'talking 300-400',
      'on hold 400-600',
      'talking 600-800',
      'up 800-1000',
    ],
    ['sound:hello', 'playing 150-1000'],
    ['PJSIP/bob-1', 'up 200-300', 'talking 300-700', 'on hold 700-900'],
    ['bridge sales', 'occupied 300-1000'],
  ]);
});

moments('a channel has one lane with its leg and its audio', () => {
  assert.equal(
    readLines(timeline).lanes.map(({ kind, name }) => `${kind} ${name}`),
    ['channel PJSIP/alice-1', 'application ivr', 'media sound:hello', 'channel PJSIP/bob-1', 'bridge bridge sales'],
  );
});

moments('the zoomed part is in the address; one that cannot be shown is the whole', () => {
  assert.is(rangeText({ from: 1.5, to: 3_399.2 }), '1-3400');
  assert.equal(rangeOf('1-3400', 10_000), { from: 1, to: 3_400 });
  assert.equal(rangeOf('1000-3400', 2_000), { from: 1_000, to: 2_000 });
  for (const text of ['', 'x', '5-5', '9-5', '2000-3000', '-1-5', '1e3-2e3'])
    assert.equal(rangeOf(text, 2_000), { from: 0, to: 2_000 }, text);
});

moments.run();
