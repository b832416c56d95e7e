import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { createNegotiation } from '../../../src/drivers/sip/negotiation.ts';
import type { NameServer } from '../../../src/sip/location/names.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import { audioAt, Carrier } from './carrier.ts';
import { anybody, createPhone, type Phone, trunkTo } from './support.ts';

/** What is made of the bodies that others send: offers, answers, and what is neither. */
const offers = suite('offers and bodies');

const phones: Phone[] = [];
const carriers: Carrier[] = [];

async function world(rest: Partial<EndpointConfig> = {}, names?: NameServer) {
  const carrier = await Carrier.open();
  const endpoints = [trunkTo(carrier.uri, rest), { ...anybody, ...rest }];
  const phone = await createPhone({ config: { endpoints }, ...(names && { names }) });
  carriers.push(carrier);
  phones.push(phone);
  return { carrier, phone };
}

offers.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
  for (const carrier of carriers.splice(0)) await carrier.close();
});

const remotePorts = (phone: Phone, id: string) => phone.media.sessions.get(id)!.flows.map(({ remote }) => remote.port);

const severalParts = (sdp: string) => ({
  contentType: 'multipart/mixed;boundary=x',
  sdp: `--x\r\nContent-Type: application/isup\r\n\r\n1\r\n--x\r\nContent-Type: application/sdp\r\n\r\n${sdp}\r\n--x--\r\n`,
});

offers('an INVITE whose description is one of several parts is answered', async () => {
  const { carrier, phone } = await world();
  carrier.send({ method: 'INVITE', port: phone.port, ...severalParts(audioAt(10_000)) });
  const { leg, id } = await phone.rung();
  leg.answer();
  const ok = await carrier.response('INVITE');
  assert.equal([ok.status, ok.contentType], [200, 'application/sdp']);
  assert.equal(remotePorts(phone, id), [10_000]);
  carrier.send({ method: 'ACK', toTag: ok.toTag });
  const strange = severalParts('').sdp.replace('isup', 'isup\r\nContent-Disposition: signal;handling=required');
  const { contentType } = severalParts('');
  carrier.send({ method: 'INVITE', callId: 'strange', sdp: strange, contentType });
  const refused = await carrier.response('INVITE', 'strange');
  assert.equal([refused.status, refused.header('Accept')], [415, 'application/sdp, multipart/mixed']);
});

for (const [method, headers] of [
  ['INVITE', []],
  ['SUBSCRIBE', [['Event', 'message-summary']]],
] as const)
  offers(`a ${method} that does not say where later requests go is refused`, async () => {
    const { carrier, phone } = await world();
    const asked = { method, port: phone.port, headers, ...(method === 'INVITE' && { sdp: audioAt(10_000) }) };
    carrier.send({ ...asked, contact: '' });
    assert.is((await carrier.response(method)).status, 400);
    assert.is(phone.channels.length, 0);
  });

for (const direction of ['sendonly', 'inactive'])
  offers(
    `a call that begins on hold (${direction}) is held when it is answered, and taken back by a re-INVITE`,
    async () => {
      const { carrier, phone } = await world();
      carrier.send({ method: 'INVITE', port: phone.port, sdp: audioAt(10_000, direction) });
      const inbound = await phone.rung();
      inbound.leg.answer();
      const ok = await carrier.response('INVITE');
      carrier.send({ method: 'ACK', toTag: ok.toTag });
      await inbound.heard('leg.held');
      carrier.send({ method: 'INVITE', toTag: ok.toTag, number: 2, sdp: audioAt(10_000) });
      await inbound.heard('leg.unheld');
      assert.equal(inbound.told, ['leg.answered', 'leg.held', 'leg.unheld']);

      const out = phone.open('600@trunk');
      out.leg.dial();
      const invite = await carrier.request('INVITE');
      carrier.reply(invite, 200, { sdp: audioAt(10_000, direction) });
      await out.heard('leg.held');
      assert.equal(out.told, ['leg.answered', 'leg.held']);
    },
  );

offers('a compressed body is refused with what may come instead', async () => {
  const { carrier, phone } = await world();
  const invite = (callId: string, headers: [string, string][]) =>
    carrier.send({ method: 'INVITE', callId, port: phone.port, sdp: audioAt(10_000), headers });
  invite('compressed', [['Content-Encoding', 'gzip']]);
  const refused = await carrier.response('INVITE', 'compressed');
  assert.equal([refused.status, refused.header('Accept-Encoding')], [415, 'identity']);
  invite('plain', [['Content-Encoding', 'identity']]);
  const { leg } = await phone.rung();
  leg.answer();
  assert.is((await carrier.response('INVITE', 'plain')).status, 200);
});

offers('a 183 and a 200 may have the answer among several parts', async () => {
  const { carrier, phone } = await world();
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  const described = (port: number) => {
    const { contentType, sdp: body } = severalParts(audioAt(port));
    return { contentType, body };
  };
  carrier.reply(invite, 183, described(10_000));
  await out.heard('leg.progressed');
  carrier.reply(invite, 200, described(10_002));
  await out.heard('leg.answered');
  assert.equal(remotePorts(phone, out.id), [10_000, 10_002]);
});

offers('an INVITE with a body without Content-Type is asked for nothing: we offer', async () => {
  const { carrier, phone } = await world();
  carrier.send({ method: 'INVITE', port: phone.port, sdp: audioAt(10_000), contentType: '' });
  const { leg } = await phone.rung();
  leg.answer();
  const ok = await carrier.response('INVITE');
  assert.match(ok.bodyText, 'm=audio');
  carrier.send({ method: 'ACK', toTag: ok.toTag, sdp: audioAt(10_002) });
});

/** An offer of these lines, the address of all included. */
const offering = (...media: string[]) => ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', ...media, ''].join('\r\n');
const here = 'c=IN IP4 127.0.0.1';

offers('of several audio lines the first with a codec of the endpoint is answered', async () => {
  const { carrier, phone } = await world({ codecs: ['alaw'] });
  const sdp = offering(here, 'm=audio 10000 RTP/AVP 0', 'm=audio 10002 RTP/AVP 8', 'm=audio 10004 RTP/AVP 8');
  carrier.send({ method: 'INVITE', port: phone.port, sdp });
  const { leg, id } = await phone.rung();
  assert.equal(leg.formats, ['alaw']);
  leg.answer();
  const ok = await carrier.response('INVITE');
  const ports = ok.bodyText.split('\r\n').flatMap((line) => /^m=audio (\d+)/.exec(line)?.[1] ?? []);
  assert.equal(ports, ['0', String(phone.media.sessions.get(id)!.local.port), '0']);
  assert.equal(remotePorts(phone, id), [10_002]);
  carrier.send({ method: 'ACK', toTag: ok.toTag });
});

offers('an offer that we cannot take is refused with a Warning that says why', async () => {
  const { carrier, phone } = await world();
  const plain = 'm=audio 10000 RTP/AVP 0';
  const dtls = '302 hookswitch "DTLS-SRTP is not supported; offer RTP/AVP, or RTP/SAVP with a=crypto"';
  const rows: [string, number, string][] = [
    [
      offering('c=IN IP4 192.0.2.256', plain),
      488,
      '301 hookswitch "192.0.2.256 is neither an address nor a host name"',
    ],
    [offering('c=IN IP4 ::1', plain), 488, '301 hookswitch "::1 is no address of type IP4"'],
    [offering(plain), 488, '301 hookswitch "its audio has no address"'],
    [offering(here, 'm=audio 10000 UDP/TLS/RTP/SAVP 0'), 488, dtls],
    [offering(here, 'm=audio 10000 RTP/SAVPF 0', 'a=fingerprint:sha-256 00:11'), 488, dtls],
    [offering(here, 'm=audio 10000 RTP/SAVP 0'), 488, '399 hookswitch "SRTP is wanted on one side only"'],
    [offering(here, 'm=audio 10000 RTP/AVP 18'), 488, '305 hookswitch "no codec in common"'],
    [offering(here, 'm=audio 0 RTP/AVP 0'), 488, '304 hookswitch "no audio is offered"'],
    [offering(here, 'm=audio x'), 400, `399 hookswitch "the media line 'm=audio x' cannot be read"`],
  ];
  for (const [index, [sdp, status, warning]] of rows.entries()) {
    const callId = `refused-${index}`;
    carrier.send({ method: 'INVITE', port: phone.port, callId, sdp });
    const response = await carrier.response('INVITE', callId);
    assert.equal([response.status, response.header('Warning')], [status, warning]);
  }
  assert.is(phone.incoming.length, 0);
});

const answerTo = (carrier: Carrier, number: number) =>
  carrier.next(
    (message): message is SipResponse =>
      message.kind === 'response' && message.status > 100 && message.cseq.number === number,
  );

offers('inside a call such an offer is refused as well, and changes nothing', async () => {
  const { carrier, phone } = await world();
  carrier.send({ method: 'INVITE', port: phone.port, sdp: audioAt(10_000) });
  const inbound = await phone.rung();
  const { leg, id } = inbound;
  leg.answer();
  const { toTag } = await carrier.response('INVITE');
  carrier.send({ method: 'ACK', toTag });
  const rows: [string, string][] = [
    [offering(here, 'm=audio x'), `399 hookswitch "the media line 'm=audio x' cannot be read"`],
    [offering('c=IN IP4 ::1', 'm=audio 10002 RTP/AVP 0'), '301 hookswitch "::1 is no address of type IP4"'],
  ];
  let number = 1;
  for (const method of ['INVITE', 'UPDATE'])
    for (const [sdp, warning] of rows) {
      carrier.send({ method, number: ++number, toTag, sdp });
      const response = await answerTo(carrier, number);
      assert.equal([response.status, response.header('Warning')], [488, warning]);
      if (method === 'INVITE') carrier.send({ method: 'ACK', number, toTag });
    }
  carrier.send({ method: 'OPTIONS', number: ++number, toTag });
  assert.is((await carrier.response('OPTIONS')).status, 200);
  assert.equal(remotePorts(phone, id), [10_000]);
  assert.equal(inbound.told, ['leg.answered']);
});

/** A name server that answers when the test says so. */
function createDns() {
  const asked: string[] = [];
  const waiting: ((addresses: readonly string[]) => void)[] = [];
  const names: NameServer = {
    naptr: async () => [],
    srv: async () => [],
    addresses(name) {
      asked.push(name);
      return new Promise((resolve) =>
        waiting.push((addresses) => resolve(addresses.map((address) => ({ address, ttl: 60 })))),
      );
    },
  };
  return { names, asked, answer: (...addresses: string[]) => waiting.shift()!(addresses) };
}

const flowsOf = (phone: Phone, id: string) =>
  phone.media.sessions.get(id)!.flows.map(({ remote, send }) => [remote.address, remote.port, send]);
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

offers('a host name in an offer is found meanwhile: the call is answered at once, and audio follows', async () => {
  const dns = createDns();
  const { carrier, phone } = await world({}, dns.names);
  const sdp = offering('c=IN IP4 phone.example', 'm=audio 10000 RTP/AVP 0');
  carrier.send({ method: 'INVITE', port: phone.port, sdp });
  const { leg, id } = await phone.rung();
  leg.answer();
  const { status, toTag } = await carrier.response('INVITE');
  carrier.send({ method: 'ACK', toTag });
  assert.equal([status, dns.asked], [200, ['phone.example']]);
  assert.equal(flowsOf(phone, id), [['0.0.0.0', 10_000, false]]);
  dns.answer('2001:db8::1', '192.0.2.7');
  await settled();
  assert.equal(flowsOf(phone, id).slice(1), [['192.0.2.7', 10_000, true]]);
  // A new offer with the same name has its address at once; another name is asked for.
  carrier.send({ method: 'INVITE', number: 2, toTag, sdp: sdp.replace('10000', '10002') });
  assert.is((await answerTo(carrier, 2)).status, 200);
  carrier.send({ method: 'ACK', number: 2, toTag });
  assert.equal(flowsOf(phone, id).slice(2), [['192.0.2.7', 10_002, true]]);
  carrier.send({
    method: 'UPDATE',
    number: 3,
    toTag,
    sdp: offering('c=IN IP6 other.example', 'm=audio 10004 RTP/AVP 0'),
  });
  assert.is((await answerTo(carrier, 3)).status, 200);
  assert.equal(flowsOf(phone, id).slice(3), [['::', 10_004, false]]);
  dns.answer();
  await settled();
  assert.equal(flowsOf(phone, id).slice(4), [['::', 10_004, false]]);
  assert.equal(dns.asked, ['phone.example', 'other.example']);
});

offers('a call that waits for the address of its host holds up no other, and may end meanwhile', async () => {
  const dns = createDns();
  const { carrier, phone } = await world({}, dns.names);
  const sdp = offering('c=IN IP4 phone.example', 'm=audio 10000 RTP/AVP 0');
  carrier.send({ method: 'INVITE', port: phone.port, callId: 'slow', branch: 'z9hG4bK-slow', sdp });
  const slow = await phone.rung();
  slow.leg.progress();
  carrier.send({ method: 'INVITE', callId: 'quick', sdp: audioAt(10_002) });
  const quick = await phone.rung(1);
  quick.leg.answer();
  assert.is((await carrier.response('INVITE', 'quick')).status, 200);
  assert.equal(flowsOf(phone, quick.id), [['127.0.0.1', 10_002, true]]);
  carrier.send({ method: 'CANCEL', callId: 'slow', branch: 'z9hG4bK-slow' });
  await slow.heard('leg.hungUp');
  slow.leg.hangup(16);
  const before = flowsOf(phone, slow.id);
  dns.answer('192.0.2.7');
  await settled();
  assert.equal(flowsOf(phone, slow.id), before);
});

offers('answers in a 200 and in an ACK may name a host, too', async () => {
  const dns = createDns();
  const { carrier, phone } = await world({}, dns.names);
  const body = offering('c=IN IP4 phone.example', 'm=audio 10000 RTP/AVP 0');
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  carrier.reply(invite, 200, { contentType: 'application/sdp', body });
  await out.heard('leg.answered');
  dns.answer('192.0.2.7');
  await settled();
  assert.equal(flowsOf(phone, out.id).at(-1), ['192.0.2.7', 10_000, true]);
  carrier.send({ method: 'INVITE', callId: 'without', port: phone.port });
  const inbound = await phone.rung();
  inbound.leg.answer();
  const { toTag } = await carrier.response('INVITE', 'without');
  carrier.send({ method: 'ACK', callId: 'without', toTag, sdp: body });
  carrier.send({ method: 'OPTIONS', callId: 'without', number: 2, toTag });
  await carrier.response('OPTIONS', 'without');
  dns.answer('192.0.2.8');
  await settled();
  assert.equal(flowsOf(phone, inbound.id).at(-1), ['192.0.2.8', 10_000, true]);
});

offers('an offer in a PRACK that we cannot take gets 200 with all streams refused, and the call goes on', async () => {
  const { carrier, phone } = await world();
  carrier.send({ method: 'INVITE', port: phone.port, sdp: audioAt(10_000), headers: [['Require', '100rel']] });
  const inbound = await phone.rung();
  const { leg, id } = inbound;
  leg.progress();
  const early = await carrier.response('INVITE');
  const { toTag } = early;
  const prack = async (rseq: number, number: number, sdp?: string) => {
    carrier.send({
      method: 'PRACK',
      number,
      toTag,
      headers: [['RAck', `${rseq} 1 INVITE`]],
      ...(sdp !== undefined && { sdp }),
    });
    const response = await carrier.response('PRACK');
    return [response.status, response.header('Warning'), /^m=.*$/m.exec(response.bodyText)?.[0]];
  };
  const rseq = Number(early.header('RSeq'));
  assert.equal(await prack(rseq, 2), [200, undefined, undefined]);
  leg.ring();
  await carrier.response('INVITE');
  const dtls = offering(here, 'm=audio 10002 RTP/AVP 18');
  assert.equal(await prack(rseq + 1, 3, dtls), [200, '305 hookswitch "no codec in common"', 'm=audio 0 RTP/AVP 18']);
  const { send, receive } = phone.media.sessions.get(id)!.flows.at(-1)!;
  assert.equal([send, receive], [false, false]);
  carrier.send({ method: 'UPDATE', number: 4, toTag, sdp: audioAt(10_004) });
  assert.is((await carrier.response('UPDATE')).status, 200);
  const flow = phone.media.sessions.get(id)!.flows.at(-1)!;
  assert.equal([flow.send, flow.receive, flow.remote.port], [true, true, 10_004]);
  leg.answer();
  const ok = await carrier.response('INVITE');
  assert.equal([ok.status, ok.bodyText], [200, '']);
  carrier.send({ method: 'ACK', toTag });
  await inbound.heard('leg.answered');
});

offers(
  'the side of DTLS that an answer leaves us is kept: a later offer says it, and so does an answer to one that says either',
  () => {
    const negotiation = createNegotiation({
      session: { local: { address: '192.0.2.1', port: 5000 }, configure: () => undefined },
      ...{ address: '192.0.2.1', codecs: ['ulaw'], telephoneEvents: false, inbandDigits: 'never', sessionId: '1' },
      srtp: { mode: 'webrtc', fingerprint: 'AA:BB', random: (octets) => 'x'.repeat(octets) },
      ...{ findAddress: () => () => undefined, onHeld: () => undefined },
    });
    const setup = (sdp: string) => /^a=setup:(.*)\r$/m.exec(sdp)?.[1];
    const offer = negotiation.offer();
    assert.is(setup(offer), 'actpass');
    const theirs = (setting: string) =>
      offer
        .replace('a=setup:actpass', `a=setup:${setting}`)
        .replace('a=ice-lite\r\n', '')
        .replace('AA:BB', Array(32).fill('AB').join(':'));
    assert.is(negotiation.accept(theirs('passive')), true);
    assert.is(negotiation.agreed?.webrtc?.role, 'client');
    assert.is(setup(negotiation.offer()), 'active');
    assert.is(setup(String(negotiation.answer(theirs('actpass')))), 'active');
    assert.is(negotiation.accept(theirs('active')), true);
    assert.is(setup(negotiation.offer()), 'passive');
  },
);

offers.run();
