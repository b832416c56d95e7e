import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createDigestClient } from '../../../src/sip/auth/client.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import type { Source } from '../../../src/sip/transport/transport.ts';
import { peer, settle } from '../../sip/transaction/fake-transports.ts';
import { createVictim, leftovers, nothing, type Victim } from './victim.ts';

const sdp = 'v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const at = (address: string, port = 5070): Source => ({ ...peer('udp', port), address });

/** A phone that says what it likes, from where it likes; every request has the next number. */
function createCaller(victim: Victim, user: string) {
  const digest = createDigestClient([{ username: 'alice', password: 'x' }], {
    ...{ mark: '', channel: () => '', uuid: () => '', secret: () => '' },
    hex: () => 'cnonce',
  });
  let cseq = 0;
  let tag = '';
  const say = async (method: string, source: Source, { proves = false, headers = [] as string[] } = {}) => {
    const uri = 'sip:600@192.0.2.1';
    const proof = proves ? digest.authorize(method, uri).map(({ name, value }) => `${name}: ${value}`) : [];
    const head = [
      `${method} ${uri} SIP/2.0`,
      `Via: SIP/2.0/UDP ${source.address}:${source.port};branch=z9hG4bK${++cseq}`,
      `From: <sip:${user}@example.com>;tag=c`,
      `To: <sip:600@192.0.2.1>${tag}`,
      'Call-ID: one',
      `CSeq: ${cseq} ${method}`,
      `Contact: <sip:${user}@${source.address}:${source.port}>`,
      ...proof,
      ...headers,
      ...(method === 'INVITE' ? ['Content-Type: application/sdp'] : []),
    ];
    victim.transports.sent.splice(0);
    victim.transports.deliver(`${head.join('\r\n')}\r\n\r\n${method === 'INVITE' ? sdp : ''}`, source);
    await settle();
    const response = victim.transports.sent.findLast(({ message }) => message.kind === 'response')?.message;
    const { status = 0, toTag } = (response ?? {}) as Partial<SipResponse>;
    const challenges = response?.headerLines('WWW-Authenticate') ?? [];
    if (status === 401) digest.challenged(challenges.map((value) => ({ from: 'WWW-Authenticate', value })));
    if (method === 'INVITE' && status === 200) tag = `;tag=${toTag}`;
    return status;
  };
  return { say };
}

test('a phone with a password that sends from elsewhere proves who it is, and is heard; a stranger is not', async () => {
  const victim = createVictim((leg) => leg.answer());
  const { say } = createCaller(victim, 'alice');
  const home = at('203.0.113.5');
  const moved = at('203.0.113.5', 40_000);
  assert.is(await say('INVITE', home), 401);
  assert.is(await say('INVITE', home, { proves: true }), 200);
  assert.is(await say('INFO', at('203.0.113.66')), 401);
  assert.is(await say('BYE', at('203.0.113.66')), 401);
  assert.is(victim.driver.counts().legs, 1);
  assert.is(await say('INFO', moved), 401);
  assert.is(await say('INFO', moved, { proves: true }), 200);
  assert.is(await say('BYE', moved), 200);
  assert.equal(await leftovers(victim), nothing);
});

test('a line identified by address is accepted from its addresses and proxies, and from nowhere else', async () => {
  const victim = createVictim((leg) => leg.answer());
  const { say } = createCaller(victim, 'carol');
  const headers = ['Record-Route: <sip:198.51.100.7;lr>, <sip:proxy.example.com;lr>'];
  assert.is(await say('INVITE', at('192.0.2.9'), { headers }), 200);
  assert.is(await say('INFO', at('203.0.113.66')), 401);
  assert.is(await say('INFO', at('192.0.2.77', 5061)), 200);
  assert.is(await say('BYE', at('198.51.100.7', 33_000)), 200);
  assert.equal(await leftovers(victim), nothing);
});

test.run();
