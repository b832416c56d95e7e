import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type RowFilter, readLines, rowsOf } from '../../page/core/entries.ts';
import { csvField } from '../../page/core/export.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';

const ladder = suite('the ladder of a call');

let seq = 0;
const entry = (members: object): TimelineEntry =>
  ({ seq: ++seq, at: seq * 10, ...members }) as unknown as TimelineEntry;
const headers = (cseq: string, branch: string) =>
  `Via: SIP/2.0/UDP 10.0.0.2;branch=${branch}\r\nFrom: <sip:201@x>\r\nTo: <sip:500@x>\r\nCall-ID: c@x\r\nCSeq: ${cseq}`;
const invite = () =>
  entry({
    kind: 'sip',
    direction: 'in',
    remote: '10.0.0.2:5060',
    first_line: 'INVITE sip:500@x SIP/2.0',
    headers: headers('1 INVITE', 'b1'),
    body_length: 120,
  });
const step = (event: object, from: unknown, to: unknown, whole?: object) =>
  entry({
    kind: 'step',
    chart: 'channel',
    object: '1',
    event,
    from,
    to,
    change: whole ? { whole: true, set: whole } : {},
  });
const made = () => [
  invite(),
  invite(),
  step({ type: 'xstate.init' }, undefined, 'ring', { name: 'PJSIP/alice-1', protocolId: 'c@x' }),
  step({ type: 'variable.set', name: 'COLOUR', value: 'green' }, 'ring', 'ring'),
  step({ type: 'language.set', language: 'de' }, 'ring', 'ring'),
  entry({
    kind: 'request',
    request_id: 'r',
    method: 'POST',
    path: '/ari/channels/1/play',
    query: 'media=sound%3Ahello',
    user: 'desk',
    status: 404,
  }),
  entry({
    kind: 'event',
    application: 'ivr',
    type: 'PlaybackFinished',
    missed: false,
    event: { playback: { media_uri: 'sound:gone', state: 'failed' } },
  }),
  entry({
    kind: 'sip',
    direction: 'out',
    remote: '10.0.0.2:5060',
    first_line: 'SIP/2.0 486 Busy Here',
    headers: `${headers('1 INVITE', 'b1')}\r\nReason: Q.850;cause=17`,
    body_length: 0,
  }),
];
const filter = (changes: Partial<RowFilter> = {}): RowFilter => ({
  ...{ kinds: new Set(['sip', 'step', 'request', 'event', 'media'] as const), lanes: new Set(), words: '' },
  ...{ unfolded: false, ...changes },
});
const shown = (changes: Partial<RowFilter> = {}) => {
  const timeline = made();
  return rowsOf(timeline, readLines(timeline), timeline.length, filter(changes));
};

ladder('each phone, channel, user and application has a lane', () => {
  assert.equal(
    readLines(made()).lanes.map(({ kind, name }) => `${kind} ${name}`),
    ['phone alice 10.0.0.2:5060', 'channel PJSIP/alice-1', 'user desk', 'application ivr'],
  );
});

ladder('messages that were sent again are one row, and steps without a new state are folded', () => {
  assert.equal(
    shown().map(({ line, again, folded }) => [line.text, again, folded.length]),
    [
      ['INVITE', 1, 0],
      ['begins', 0, 0],
      ['variable.set', 0, 1],
      ['POST play', 0, 0],
      ['PlaybackFinished', 0, 0],
      ['486 Busy Here', 0, 0],
    ],
  );
  assert.is(shown({ unfolded: true }).length, 8);
});

ladder('a row says what was set, asked, missing and refused, and failures are red', () => {
  const [first, , set, play, finished, busy] = shown().map(({ line }) => line);
  assert.is(first?.detail, '201 → 500, with SDP or body');
  assert.is(set?.detail, 'COLOUR=green  channel');
  assert.equal([play?.detail, play?.tone], ['404 media=sound:hello', 'request bad']);
  assert.equal([finished?.detail, finished?.tone], ['sound:gone failed', 'event bad']);
  assert.equal([busy?.detail, busy?.tone], ['to INVITE, Q.850;cause=17', 'sip bad']);
});

ladder('a search looks at everything in an entry, also in what is folded', () => {
  assert.equal(
    shown({ words: 'language de' }).map(({ line }) => line.text),
    ['language.set'],
  );
  assert.equal(
    shown({ words: 'branch=b1 busy' }).map(({ line }) => line.text),
    ['486 Busy Here'],
  );
  assert.is(shown({ words: 'nothing like it' }).length, 0);
});

ladder('lanes filter', () => {
  assert.equal(
    shown({ lanes: new Set(['application:ivr']) }).map(({ line }) => line.text),
    ['PlaybackFinished'],
  );
});

ladder('a field of a table is no formula, and keeps its quotes', () => {
  assert.equal(['=1+1', '+49', '-1', '@x', ' =1', '\t=1', '\r@x', '＝1', 'a;=1', 'a\n =1', 'a-b'].map(csvField), [
    ...["'=1+1", "'+49", "'-1", "'@x", "' =1", "\t'=1", `"\r'@x"`, "'＝1", `"a;'=1"`, `"a\n' =1"`, 'a-b'],
  ]);
  assert.equal(['a,b', 'say "hi"', 'plain', -5].map(csvField), ['"a,b"', '"say ""hi"""', 'plain', '-5']);
});

ladder.run();
