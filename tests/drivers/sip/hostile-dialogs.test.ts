import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultIdentity } from '../../../src/drivers/sip/config.ts';
import { anyDeed, likewise } from '../../support/deeds.ts';
import { type Act, Attacker, type BodyName, type Word } from './attacker.ts';
import { Beset, nothingHeld } from './beset.ts';
import {
  wronglyAnswered,
  wronglyDescribed,
  wronglyEnded,
  wronglyInvited,
  wronglyNumbered,
  wronglyTold,
} from './call-rules.ts';

type Part<K extends Act['kind'], P extends string> = Extract<Act, { kind: K }>[P & keyof Extract<Act, { kind: K }>];

const bodies = fc.constantFrom<BodyName>(
  'none',
  'none',
  'sdp',
  'sdp',
  'hold',
  'video',
  'wrong',
  'broken',
  'text',
  'parts',
  'untyped',
);
const words = fc.constantFrom<Word>(
  'ring',
  'progress',
  'answer',
  'answer',
  'hangup',
  'hold',
  'unhold',
  'redirect',
  'digits',
  'present',
  'transferred',
  'refused',
  'reinvite',
  'update',
  'formats',
);
const inviteHeaders = fc.subarray(
  [
    'Supported: 100rel',
    'Require: 100rel',
    'Supported: timer',
    'Session-Expires: 120;refresher=uas',
    'Session-Expires: 120;refresher=uac',
    'Allow: INVITE, ACK, UPDATE, BYE',
    'Expires: 30',
  ],
  { maxLength: 3 },
);
const requestHeaders = fc.subarray(
  [
    'Event: refer',
    'Refer-To: <sip:600@192.0.2.1>',
    'Subscription-State: active',
    'Refer-Sub: false',
    'Expires: 0',
    'Session-Expires: 100;refresher=uac',
    'Supported: timer',
    'Allow: INVITE',
  ],
  { maxLength: 4 },
);
const nearest = fc.constantFrom(0, 0, 0, 0, 1, 2);

const invite = { body: bodies, headers: inviteHeaders, replaces: fc.boolean() };
const act = anyDeed({
  wait: [3, { ms: fc.constantFrom(0, 10, 500, 600, 4000, 33_000, 61_000, 200_000) }],
  ask: [6, { word: words, call: nearest }],
  ...likewise(['place', 'restoreSnapshot'], {}),
  repeat: [1, { which: fc.nat(4) }],
  request: [
    6,
    {
      method: fc.constantFrom(
        ...['INVITE', 'INVITE', 'UPDATE', 'UPDATE', 'BYE', 'INFO', 'REFER', 'REFER', 'NOTIFY', 'SUBSCRIBE', 'MESSAGE'],
        ...['OPTIONS', 'PRACK', 'X'],
      ),
      call: nearest,
      body: fc.oneof(bodies, fc.constantFrom<BodyName>('digit')),
      cseq: fc.constantFrom<Part<'request', 'cseq'>[]>('next', 'next', 'next', 'next', 'same', 'old', 'far'),
      tag: fc.constantFrom<Part<'request', 'tag'>[]>('right', 'right', 'right', 'right', 'none', 'wrong'),
      headers: requestHeaders,
    },
  ],
  invite: [1, invite],
  ack: [3, { call: nearest, body: bodies }],
  cancel: [1, { call: nearest }],
  prack: [3, { call: nearest, body: bodies, off: fc.constantFrom(0, 0, 0, 1, -1) }],
  answer: [
    8,
    {
      which: fc.constantFrom(0, 0, 0, 1, 2, 5),
      status: fc.constantFrom(100, 180, 183, 183, 199, 200, 200, 200, 200, 202, 302, 401, 408, 481, 486, 491, 500, 503),
      body: bodies,
      tag: fc.constantFrom<Part<'answer', 'tag'>[]>('a', 'a', 'a', 'b', 'none'),
      reliable: fc.boolean(),
      headers: fc.subarray(
        [
          'Supported: timer',
          'Session-Expires: 120;refresher=uas',
          'Session-Expires: 120;refresher=uac',
          'Allow: INVITE, ACK, UPDATE, BYE',
          'Retry-After: 3',
        ],
        { maxLength: 2 },
      ),
    },
  ],
});

const terms = fc.record({
  reliable: fc.constantFrom('no' as const, 'yes' as const, 'peer_supported' as const, 'required' as const),
  timers: fc.constantFrom('no' as const, 'yes' as const, 'required' as const, 'always' as const),
  shortestSessionSeconds: fc.constant(90),
  sessionSeconds: fc.constant(120),
  identity: fc.constant({ ...defaultIdentity, pai: true }),
  trustIdentity: fc.constant(true),
  videoCodecs: fc.constantFrom([], ['vp8' as const]),
});
const begin = anyDeed({
  place: [1, {}],
  invite: [1, { ...invite, body: fc.constantFrom<BodyName[]>('none', 'sdp', 'sdp'), replaces: fc.constant(false) }],
});
/** What is against the rules in all that was said and told. */
const faultsIn = ({ calls }: Beset, { said, exchanges }: Attacker): string[] => [
  ...wronglyAnswered(exchanges),
  ...wronglyNumbered(said),
  ...wronglyInvited(said),
  ...wronglyEnded(said),
  ...wronglyDescribed(said),
  ...wronglyTold(calls),
];

test('whatever a peer does inside calls, the rules are kept and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(terms, begin, fc.array(act, { minLength: 1, maxLength: 24 }), async (told, first, acts) => {
      const beset = new Beset(told);
      const attacker = new Attacker(beset);
      for (const each of [first, ...acts]) await attacker.do(each);
      const left = await beset.leftovers();
      attacker.look();
      assert.equal({ left, faults: faultsIn(beset, attacker) }, { left: nothingHeld, faults: [] });
    }),
    { numRuns: 200 },
  );
});

test.run();
