import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endsOf, stateOf } from '../../page/core/calls.ts';
import { party, shortNames } from '../../page/core/words.ts';
import type { Call } from '../../src/models/call.ts';
import { visibilityRowsOf } from '../../src/models/visibility-rows.ts';

const lines = suite('calls in a line');

/** A call of channels with these numbers; `gone` are those that have ended. */
const callOf = (numbers: readonly string[], gone: readonly string[] = []): Call =>
  ({
    id: 'c',
    state: gone.length === numbers.length ? 'ended' : 'live',
    channels: numbers.map((number) => ({
      id: number,
      name: `PJSIP/${number}-1`,
      state: 'Up',
      caller: { name: '', number },
      extension: '800@default',
      ...(gone.includes(number) ? { ended: 2 } : {}),
    })),
  }) as unknown as Call;

lines('who is in a call of several is told by its first two and how many more', () => {
  assert.equal(endsOf(callOf(['201'])), { from: '201', to: '800' });
  assert.equal(endsOf(callOf(['201', '202'])), { from: '201', to: '202' });
  assert.equal(endsOf(callOf(['201', '202', '203', '203', '204'])), { from: '201', to: '202 and 2 more' });
  assert.equal(endsOf(callOf(['201', '202', '203', '204'], ['203'])), { from: '201', to: '202 and 1 more' });
  const all = ['201', '202', '203'];
  assert.equal(endsOf(callOf(all, all)), { from: '201', to: '202 and 1 more' });
  assert.is(stateOf(callOf(['201', '202'], ['201'])), 'Up');
});

/** A channel of a call; `dialed` makes it one that went out. */
const channel = (name: string, number: string, dialed?: string, more: object = {}) => ({
  ...{ id: name, name: `PJSIP/${name}-1`, endpoint: `PJSIP/${name}`, state: 'Up', extension: 's@default' },
  ...{ caller: { name: '', number }, direction: dialed === undefined ? 'in' : 'out', ...(dialed && { dialed }) },
  ...more,
});
const told = (channels: readonly object[], state = 'live') => {
  const { from, to } = endsOf({ id: 'c', state, channels } as unknown as Call);
  return `${from} → ${to}`;
};
const alice = channel('alice', '201', undefined, { extension: '500@default' });
const gone = { ended: 2 };

lines('who really talks is told: a dialed party by its phone or number, whatever caller id was shown to it', () => {
  assert.is(told([alice, channel('bob', '201', 'bob')]), '201 → bob');
  assert.is(told([alice, channel('bob', '4930123', 'bob')]), '201 → bob');
  assert.is(told([alice, channel('bob', '500', 'bob')]), '201 → bob (500)');
  assert.is(told([alice, channel('trunk', '201', '0301234@trunk')]), '201 → 0301234');
  assert.is(told([channel('alice', '', 'alice'), channel('bob', '', 'bob')]), 'alice → bob');
  assert.is(told([channel('alice', '', 'alice')]), 'alice → —');
  const local = { name: 'Local/wait@default-0;1', endpoint: undefined };
  assert.is(told([channel('x', '4799', 'wait@default', local)]), '4799 → —');
  assert.is(told([channel('x', '', 'wait@default', local)]), 'wait → —');
});

lines('after a transfer those who are left are told, without spies and Local channels', () => {
  const local = (end: string, dialed?: string) => channel('x', '203', dialed, { name: `Local/203@default-0;${end}` });
  const carol = channel('carol', '203', 'carol');
  const bob = channel('bob', '500', 'bob');
  assert.is(told([{ ...alice, ...gone }, bob, local('1', '203@default'), local('2'), carol]), 'bob (500) → carol');
  assert.is(told([alice, bob, channel('spy', '', undefined, { name: 'Snoop/c-1' })]), '201 → bob (500)');
  assert.is(told([alice, { ...bob, ...gone }, carol]), '201 → carol');
  assert.is(told([alice, { ...bob, ...gone }]), '201 → 500', 'nobody else is left');
  assert.is(
    told(
      [alice, bob, carol].map((each) => ({ ...each, ...gone })),
      'ended',
    ),
    '201 → bob (500) and 1 more',
  );
  const ringing = { state: 'Ringing' };
  assert.is(told([alice, { ...bob, ...ringing }, { ...carol, ...ringing }]), '201 → bob (500) and 1 more');
  assert.is(told([alice, { ...bob, ...ringing }, carol]), '201 → carol', 'who talks comes before who rings');
});

lines('who is called by their number is told once', () => {
  assert.equal(
    [
      party({ name: 'sipp', number: 'sipp' }),
      party({ name: 'Alice', number: '201' }),
      party({ name: '', number: '201' }),
      party({ name: '', number: '' }),
    ],
    ['sipp', 'Alice (201)', '201', '—'],
  );
});

lines('who sees whom is a row for each member, with those that it does not see by the reason', () => {
  const names = new Map([
    ['1', 'PJSIP/alice-1a'],
    ['2', 'PJSIP/bob-2b'],
    ['3', 'PJSIP/carol-3c'],
    ['4', 'PJSIP/carol-4d'],
    ['5', 'Local/echo@default-5e;1'],
  ]);
  assert.equal(
    visibilityRowsOf(
      [
        {
          channel: '1',
          others: [
            { channel: '2', seen: true, why: 'level' },
            { channel: '3', seen: false, why: 'streams' },
            { channel: '4', seen: false, why: 'streams' },
            { channel: '5', seen: false },
          ],
        },
        { channel: '2', others: [{ channel: '1', seen: true }] },
        {
          channel: '3',
          others: [
            { channel: '1', seen: true, codec: 'vp8', bitrate: 812_345, size: 2, sizes: 3 },
            { channel: '2', seen: true, why: 'level', codec: 'h264', bitrate: 0 },
          ],
        },
        { channel: '4', others: [] },
      ],
      shortNames(names),
    ),
    [
      {
        member: 'alice',
        sees: ['bob (a higher level of H.264: it may not be decoded)'],
        unseen: [
          {
            why: "no stream is left for it (max_video_streams, or the phone's limit)",
            others: ['carol-3c', 'carol-4d'],
          },
          { why: '', others: ['Local/echo@default-5e;1'] },
        ],
      },
      { member: 'bob', sees: ['alice'], unseen: [] },
      {
        member: 'carol-3c',
        sees: ['alice (size 2 of 3, vp8, 812 kbit/s)', 'bob (h264, a higher level of H.264: it may not be decoded)'],
        unseen: [],
      },
    ],
  );
});

lines.run();
