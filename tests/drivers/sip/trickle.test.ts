import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNegotiation } from '../../../src/drivers/sip/negotiation.ts';
import { receiveTrickled, Trickle } from '../../../src/drivers/sip/trickle.ts';
import { uncounted } from '../../../src/lib/limit-counts.ts';
import type { RemoteCandidate } from '../../../src/lib/webrtc.ts';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import { candidateBound } from '../../../src/sip/sdp/webrtc.ts';

const test = suite('candidates that come by INFO');

const ice = { ufrag: 'them', password: 'a+password+of+22+letters' };
const others = { ...ice, ufrag: 'past' };
const fragment = ({ ufrag, password }: typeof ice, ...lines: string[]) =>
  [`a=ice-ufrag:${ufrag}`, `a=ice-pwd:${password}`, 'm=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0', ...lines, ''].join(
    '\r\n',
  );
const candidate = (port: number, address = '192.0.2.1') => `a=candidate:1 1 udp 2130706431 ${address} ${port} typ host`;

function open(agreed?: typeof ice) {
  const ports: number[] = [];
  const add = (candidates: readonly RemoteCandidate[]) => void ports.push(...candidates.map(({ port }) => port));
  return { ports, trickle: new Trickle(add, agreed, candidateBound(16, uncounted)) };
}

test('those of a call that is not answered are kept for the answer, as many as an offer may have', () => {
  const { ports, trickle } = open();
  assert.is(trickle.take(fragment(others, candidate(1))), true);
  assert.is(trickle.take(fragment(ice, candidate(2), candidate(3))), true);
  for (let port = 4; port < 40; port++) trickle.take(fragment(ice, candidate(port)));
  trickle.take(fragment(ice, 'a=end-of-candidates'));
  assert.equal(ports, []);
  trickle.agree(ice);
  assert.equal(
    ports,
    Array.from({ length: 16 }, (_, index) => index + 2),
  );
});

test('kept ones of other credentials than those agreed on are dropped', () => {
  const { ports, trickle } = open();
  trickle.take(fragment(others, candidate(1)));
  trickle.agree(ice);
  assert.equal(ports, []);
});

test('after the end of candidates there are none, until ICE restarts', () => {
  const { ports, trickle } = open(ice);
  trickle.take(fragment(ice, candidate(1)));
  trickle.take(fragment(ice, candidate(2), 'a=end-of-candidates'));
  trickle.take(fragment(ice, candidate(3)));
  trickle.agree(ice);
  trickle.take(fragment(ice, candidate(4)));
  assert.equal(ports, [1, 2]);
  trickle.agree(others);
  trickle.take(fragment(ice, candidate(5)));
  trickle.take(fragment(others, candidate(6)));
  assert.equal(ports, [1, 2, 6]);
});

test('forged, malformed and past ones change nothing', () => {
  const { ports, trickle } = open(ice);
  for (const text of ['', 'x', candidate(1), `a=ice-ufrag:them\r\n${candidate(1)}`, '\0'.repeat(1000)])
    assert.is(trickle.take(text), false, text);
  assert.is(trickle.take(fragment({ ...ice, password: 'another+password+of+22' }, candidate(1))), true);
  assert.is(trickle.take(fragment(others, candidate(1), 'a=end-of-candidates')), true);
  const useless = ['a=candidate:', 'a=candidate:1 1 udp x 192.0.2.1 1 typ host', candidate(70_000), candidate(0)];
  const names = [candidate(1, 'f00.local'), candidate(1, '999.1.1.1'), candidate(1).replace(' 1 udp', ' 2 udp')];
  assert.is(trickle.take(fragment(ice, ...useless, ...names, candidate(1).replace('udp', 'tcp'))), true);
  assert.equal(ports, []);
  trickle.take(fragment(ice, candidate(7)));
  assert.equal(ports, [7]);
});

const info = (body: string, { type = 'application/trickle-ice-sdpfrag', named = 'trickle-ice' } = {}) =>
  ({
    ...{ method: 'INFO', contentType: type, body: Buffer.from(body) },
    header: (name: string) => (name === 'Info-Package' ? named : undefined),
  }) as unknown as SipRequest;

test('an INFO is answered as RFC 6086 has it', () => {
  const { ports, trickle } = open(ice);
  const body = fragment(ice, candidate(1));
  assert.is(receiveTrickled(info(body, { type: 'application/dtmf' }), trickle), undefined);
  assert.is(receiveTrickled(info(body), undefined), undefined);
  for (const named of ['', 'dtmf'])
    assert.equal(receiveTrickled(info(body, { named }), trickle), {
      status: 469,
      headers: [['Recv-Info', 'trickle-ice']],
    });
  assert.is(receiveTrickled(info('x'), trickle), 400);
  assert.equal(ports, []);
  assert.is(receiveTrickled(info(body, { named: 'Trickle-ICE ;x=y' }), trickle), 200);
  assert.equal(ports, [1]);
});

test('a full agent checks them beside those of the offer, and gives no more than 16 to the media', () => {
  const checked: (number | undefined)[] = [];
  const hits: string[] = [];
  const negotiation = createNegotiation({
    session: {
      local: { address: '192.0.2.1', port: 5000 },
      configure: ({ webrtc }) => void checked.push(webrtc?.checked?.length),
    },
    ...{ address: '192.0.2.1', codecs: ['ulaw'], telephoneEvents: false, inbandDigits: 'never', sessionId: '1' },
    srtp: {
      mode: 'webrtc',
      ice: 'full',
      fingerprint: 'AA:BB',
      random: (octets) => 'x'.repeat(octets),
      boundCandidates: candidateBound(16, (name) => void hits.push(name)),
    },
    ...{ findAddress: () => () => undefined, onHeld: () => undefined },
  });
  const offer = negotiation
    .offer()
    .replace(/^a=candidate:.*\r\n/gm, '')
    .replace(/a=ice-ufrag:.*/, `a=ice-ufrag:${ice.ufrag}`)
    .replace(/a=ice-pwd:.*/, `a=ice-pwd:${ice.password}`)
    .replace('AA:BB', Array(32).fill('AB').join(':'));
  assert.match(offer, /^a=ice-options:trickle ice2\r$/m);
  negotiation.trickle?.take(fragment(ice, candidate(1)));
  assert.type(negotiation.answer(offer), 'string');
  assert.equal(checked, [0, 1]);
  for (let port = 2; port < 60; port++) negotiation.trickle?.take(fragment(ice, candidate(port)));
  for (let port = 1; port < 60; port++) negotiation.trickle?.take(fragment(ice, candidate(port)));
  assert.equal(checked.at(-1), 16);
  assert.is(checked.length, 17);
  assert.equal(new Set(hits), new Set(['media.webrtc.candidates']));
});

test.run();
