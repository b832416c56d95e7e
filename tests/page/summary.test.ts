import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { doubledDigits, unacknowledged } from '../../page/core/summary.ts';
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

summary.run();
