import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { badAudio, doubledDigits, summaryOf, unacknowledged } from '../../page/core/summary.ts';
import { shortNames } from '../../page/core/words.ts';
import type { Call } from '../../src/models/call.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';

const summary = suite('what the summary of a call finds out');

const digit = (at: number, pressed: string, channel = 'c1', application = 'desk') =>
  ({
    ...{ kind: 'event', at, application, type: 'ChannelDtmfReceived' },
    event: { type: 'ChannelDtmfReceived', digit: pressed, channel: { id: channel } },
  }) as unknown as TimelineEntry;

summary(
  'digits that come twice within a moment are one key press; those of a quick finger, or of others, are not',
  () => {
    assert.equal(doubledDigits([digit(0, '5'), digit(100, '5'), digit(900, '7'), digit(1_000, '7')]), ['5', '7']);
    assert.equal(doubledDigits([digit(0, '5'), digit(150, '5'), digit(200, '6')]), []);
    assert.equal(doubledDigits([digit(0, '5'), digit(10, '5', 'c2'), digit(20, '5', 'c1', 'other')]), []);
    assert.equal(doubledDigits([digit(0, '5'), digit(10, '6'), digit(20, '5')]), []);
  },
);

summary('a digit that comes in the audio and in INFO came twice, however long the second took', () => {
  const info = (content = 'application/dtmf-relay') =>
    ({ kind: 'sip', direction: 'in', first_line: 'INFO sip:a SIP/2.0', headers: `c: ${content}` }) as TimelineEntry;
  assert.equal(doubledDigits([digit(0, '5'), info(), digit(900, '5')]), ['5']);
  assert.equal(doubledDigits([info(), digit(0, '5'), digit(900, '5')]), ['5']);
  assert.equal(doubledDigits([info(), digit(0, '5'), info(), digit(900, '5')]), []);
  assert.equal(doubledDigits([digit(0, '5'), info('application/sdp'), digit(900, '5')]), []);
  assert.equal(doubledDigits([digit(0, '5'), info(), digit(900, '6')]), []);
});

const sip = (direction: string, first: string, cseq = '1 INVITE', call = 'a') =>
  ({ kind: 'sip', direction, first_line: first, headers: `Call-ID: ${call}\r\nCSeq: ${cseq}` }) as TimelineEntry;

summary(
  'an answer that is sent again and again without an ACK is told; one that is acknowledged in the end is not',
  () => {
    const ok = sip('out', 'SIP/2.0 200 OK');
    assert.is(unacknowledged([ok, ok, ok]), 3);
    assert.is(unacknowledged([ok, ok]), 0);
    assert.is(unacknowledged([ok, ok, ok, sip('in', 'ACK sip:a SIP/2.0', '1 ACK')]), 0);
    assert.is(unacknowledged([ok, ok, ok, sip('in', 'ACK sip:a SIP/2.0', '1 ACK', 'b')]), 3);
    const bye = sip('out', 'SIP/2.0 200 OK', '2 BYE');
    assert.is(unacknowledged([bye, bye, bye, ok]), 0);
  },
);

const measured = (at: number, packets: { heard: number; sent: number }, lost = 0) =>
  ({
    ...{ kind: 'media', at, object: 'c1' },
    report: { codec: 'ulaw', packets_heard: packets.heard, packets_sent: packets.sent, loss_heard: lost, loss_sent: 0 },
  }) as unknown as TimelineEntry;

summary('audio that does not come, or comes badly, is told with its leg; that nothing is sent may be wanted', () => {
  const names = new Map([['c1', 'PJSIP/bob-1a2b']]);
  const wrong = (...timeline: TimelineEntry[]) => badAudio(timeline, shortNames(names));
  assert.equal(wrong(), []);
  assert.equal(wrong(measured(0, { heard: 0, sent: 50 }), measured(1, { heard: 0, sent: 100 })), [
    'no audio comes from bob',
  ]);
  assert.equal(wrong(measured(0, { heard: 50, sent: 0 }), measured(1, { heard: 100, sent: 0 })), []);
  // Nothing in either direction is told of a leg that has been up for 2 s.
  const up = { kind: 'step', at: 0, chart: 'channel', object: 'c1', to: 'up' } as unknown as TimelineEntry;
  const nothing = { heard: 0, sent: 0 };
  assert.equal(wrong(up, measured(1_000, nothing)), []);
  assert.equal(wrong(measured(9_000, nothing)), []);
  assert.equal(wrong(up, measured(1_000, nothing), measured(2_000, nothing)), [
    'no audio comes from bob, and none is sent to it',
  ]);
  const [poor] = wrong(measured(0, { heard: 50, sent: 50 }), measured(1, { heard: 75, sent: 100 }, 25));
  assert.match(poor ?? '', /^poor audio from bob: MOS [12]\.\d$/);
});

summary(
  'a channel that failed for a reason of its own is told: what the caller heard of it, and refused codecs',
  () => {
    const channel = (id: string, direction: string, reason: string, sip_status?: number) => ({
      ...{ id, name: `PJSIP/${id}-1`, direction, sip_status, extension: '300@default', state: 'Ring' },
      ...{ caller: { name: '', number: '4711' }, outcome: { result: 'failed', reason } },
    });
    const call = {
      ...{ id: 'a', state: 'ended', began: 0, applications: [] },
      outcome: { result: 'failed', reason: 'Subscriber absent (cause 20)', by: 'callee' },
      channels: [
        channel('alice', 'in', 'Circuit/channel congestion (cause 34)'),
        channel('bob', 'out', 'Bearer capability not available (cause 58, SIP 488)', 488),
        channel('carol', 'out', 'Subscriber absent (cause 20)'),
        channel('dave', 'out', 'Network out of order (cause 38)'),
      ],
    } as unknown as Call;
    const told = [
      'bob refused what was offered: it has none of the codecs, or wants other encryption',
      'dave: Network out of order (cause 38)',
    ];
    assert.equal(summaryOf(call, []).wrong, [...told, 'the caller was told: Circuit/channel congestion (cause 34)']);
    const up = { kind: 'step', at: 0, chart: 'channel', object: 'alice', to: 'up' } as unknown as TimelineEntry;
    assert.equal(summaryOf(call, [up]).wrong, [...told, 'alice: Circuit/channel congestion (cause 34)']);
  },
);

summary.run();
