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
        { channel: '3', others: [] },
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
    ],
  );
});

lines.run();
