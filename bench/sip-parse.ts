import { buildResponse } from '../src/sip/message/build.ts';
import { parseMessage } from '../src/sip/message/parse.ts';
import { StreamFramer } from '../src/sip/message/stream-framer.ts';

/*
 * How many SIP messages one core reads and writes per second: `npx tsx bench/sip-parse.ts`. Figures only, nothing is
 * asserted. "usual headers read" = Via, From, To, Call-ID, CSeq, Contact, Max-Forwards, Content-Type and both tags.
 */

const sdp = [
  'v=0',
  'o=alice 2890844526 2890844526 IN IP4 192.0.2.101',
  's=-',
  'c=IN IP4 192.0.2.101',
  't=0 0',
  'm=audio 49172 RTP/AVP 0 8 101',
  'a=rtpmap:0 PCMU/8000',
  'a=rtpmap:8 PCMA/8000',
  'a=rtpmap:101 telephone-event/8000',
  'a=sendrecv',
  '',
].join('\r\n');

const invite = Buffer.from(
  [
    'INVITE sip:1000@192.0.2.1:5060;transport=udp SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bK74bf9a2c;rport',
    'Max-Forwards: 70',
    'From: "Alice" <sip:alice@example.com>;tag=9fxced76sl',
    'To: <sip:1000@example.com>',
    'Call-ID: 3848276298220188511@192.0.2.101',
    'CSeq: 102 INVITE',
    'Contact: <sip:alice@192.0.2.101:5060>',
    'User-Agent: Phone 1.0',
    'Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, INFO',
    'Supported: replaces, timer',
    'Content-Type: application/sdp',
    `Content-Length: ${sdp.length}`,
    '',
    sdp,
  ].join('\r\n'),
);

/** Prints the best of five runs, as a warm server has it. */
function measure(what: string, run: () => unknown): void {
  const rounds = 50_000;
  let best = Number.POSITIVE_INFINITY;
  let used: unknown;
  for (let repeat = 0; repeat < 5; repeat++) {
    const start = performance.now();
    for (let i = 0; i < rounds; i++) used = run();
    best = Math.min(best, performance.now() - start);
  }
  if (used === undefined) throw new Error(`${what} did nothing`);
  const perSecond = Math.round((rounds / best) * 1000).toLocaleString('en');
  console.log(`${what.padEnd(48)} ${perSecond.padStart(10)} /s ${((best / rounds) * 1000).toFixed(2).padStart(8)} µs`);
}

function parsedInvite() {
  const result = parseMessage(invite);
  if (!result.ok || result.message.kind !== 'request') throw new Error('the INVITE of the benchmark is malformed');
  return result.message;
}

const message = parsedInvite();
const framer = new StreamFramer();
measure('parse INVITE with SDP', () => parseMessage(invite));
measure('parse INVITE with SDP, usual headers read', () => {
  const { topVia, from, to, callId, cseq, contact, maxForwards, contentType, fromTag, toTag } = parsedInvite();
  return [topVia, from, to, callId, cseq, contact, maxForwards, contentType, fromTag, toTag];
});
measure('cut INVITE out of a stream', () => framer.push(invite));
measure('serialise INVITE with SDP', () => message.toBuffer());
measure('build and serialise 200 OK with SDP', () =>
  buildResponse(message, 200, {
    toTag: 'a1b2c3',
    contact: '<sip:192.0.2.1>',
    contentType: 'application/sdp',
    body: sdp,
  }).toBuffer(),
);
