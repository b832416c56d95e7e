import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { uriPart } from '../../../src/drivers/sip/uri-parts.ts';
import { audioAt, Carrier } from './carrier.ts';
import { anybody, createPhone, endpoint, type Phone, trunkTo } from './support.ts';

/** What applications may ask of a SIP call beside what all calls can. */
const abilities = suite('abilities of SIP calls');

const phones: Phone[] = [];
const carriers: Carrier[] = [];

async function line() {
  const carrier = await Carrier.open();
  const phone = await createPhone({ config: { endpoints: [trunkTo(carrier.uri), anybody, endpoint('desk')] } });
  carriers.push(carrier);
  phones.push(phone);
  return { carrier, phone };
}

abilities.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
  for (const carrier of carriers.splice(0)) await carrier.close();
});

const formatsIn = (sdp: string): string | undefined => /^m=audio \d+ \S+ (.*)$/m.exec(sdp)?.[1];

abilities('headers of the stack are not for applications, and none are once the call is placed', async () => {
  const { carrier, phone } = await line();
  const { leg } = phone.open('600@trunk');
  const reserved = [
    ...['Via', 'v', 'FROM', 'To', 'Call-ID', 'CSeq', 'Contact', 'Max-Forwards', 'Content-Length', 'Content-Type'],
    ...['Route', 'Record-Route', 'Require', 'Supported', 'k', 'Session-Expires', 'RAck', 'RSeq', 'Authorization'],
    ...['A B', '', 'X:'],
  ];
  assert.equal(
    reserved.filter((name) => leg.addHeader(name, 'x')),
    [],
  );
  assert.ok(leg.addHeader('X-One', '1') && leg.addHeader('x-one', '2') && leg.addHeader('X-Two', '3'));
  assert.equal(leg.sip?.headerNames('x-'), ['X-One', 'X-Two']);
  leg.dial();
  assert.is(leg.addHeader('X-Three', '4'), false);
  const invite = await carrier.request('INVITE');
  assert.equal(
    [invite.headerLines('X-One'), invite.headerLines('X-Two'), invite.headerLines('X-Three')],
    [['1', '2'], ['3'], []],
  );
  carrier.reply(invite, 486);
});

abilities('headers of the answer are read, and those of a call that came in by their beginning', async () => {
  const { carrier, phone } = await line();
  const out = phone.open('600@trunk');
  assert.equal([out.leg.sip?.responseHeader('X-A', 1), out.leg.sip?.responseHeaderNames('X-')], [undefined, []]);
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  carrier.reply(invite, 180, { headers: [['X-A', 'early']] });
  carrier.reply(invite, 200, {
    sdp: audioAt(9000),
    headers: [
      ['X-A', '1'],
      ['x-a', '2'],
      ['X-B', '3'],
    ],
  });
  await out.heard('leg.answered');
  const { sip } = out.leg;
  assert.equal(
    [sip?.responseHeader('x-a', 1), sip?.responseHeader('X-A', 2), sip?.responseHeader('X-A', 3)],
    ['1', '2', undefined],
  );
  assert.equal(sip?.responseHeaderNames('X-'), ['X-A', 'X-B']);
  out.leg.hangup(16);
  carrier.reply(await carrier.request('BYE'), 200);
  carrier.send({ method: 'INVITE', headers: [['X-In', '1']], sdp: audioAt(9000) });
  const inbound = await phone.rung();
  assert.equal(inbound.leg.sip?.headerNames('X'), ['X-In']);
  assert.equal(inbound.leg.sip?.responseHeaderNames(''), []);
  inbound.leg.hangup(16);
  await carrier.response('INVITE');
});

abilities('what is offered, and how digits travel, can be set before dialing', async () => {
  const { carrier, phone } = await line();
  const out = phone.open('600@trunk');
  const { sip } = out.leg;
  assert.equal([sip?.digitMode, out.leg.formats], ['rfc4733', ['ulaw', 'alaw']]);
  assert.equal(
    [sip?.setFormats([]), sip?.setFormats(['ulaw', 'mp3']), sip?.setDigitMode('smoke'), sip?.refresh('invite')],
    [false, false, false, false],
  );
  assert.ok(sip?.setFormats(['alaw']) && sip.setDigitMode('inband'));
  assert.equal([sip?.digitMode, out.leg.formats], ['inband', ['alaw']]);
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  assert.is(formatsIn(invite.bodyText), '8');
  carrier.reply(invite, 486);
});

abilities('a call that stands is negotiated anew when they change, and refreshed when that is asked', async () => {
  const { carrier, phone } = await line();
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  assert.is(formatsIn(invite.bodyText), '0 8 101');
  carrier.reply(invite, 200, { sdp: audioAt(9000), headers: [['Allow', 'INVITE, ACK, BYE, UPDATE']] });
  await out.heard('leg.answered');
  await carrier.request('ACK');
  const { sip } = out.leg;
  assert.ok(sip?.setDigitMode('info'));
  const changed = await carrier.request('INVITE');
  assert.is(formatsIn(changed.bodyText), '0 8');
  carrier.reply(changed, 200, { sdp: audioAt(9000) });
  await carrier.request('ACK');
  assert.ok(sip?.refresh('update'));
  const update = await carrier.request('UPDATE');
  assert.is(update.bodyText, '');
  carrier.reply(update, 200);
  assert.ok(sip?.refresh('invite'));
  const again = await carrier.request('INVITE');
  assert.is(formatsIn(again.bodyText), '0 8');
  carrier.reply(again, 200, { sdp: audioAt(9000) });
  await carrier.request('ACK');
  out.leg.hangup(16);
  carrier.reply(await carrier.request('BYE'), 200);
  assert.is(sip?.refresh('invite'), false);
});

abilities('the parts of a URI are told by the words of Asterisk', () => {
  const uri = '"Bob B" <sips:bob:pw@host.example:5071;transport=tls;lr;maddr=10.0.0.1>;x=y';
  const words = ['display', 'scheme', 'user', 'passwd', 'host', 'port', 'transport', 'maddr', 'lr', 'ttl', 'shoe'];
  assert.equal(
    words.map((word) => uriPart(uri, word)),
    ['Bob B', 'sips', 'bob', 'pw', 'host.example', '5071', 'tls', '10.0.0.1', '1', '', undefined],
  );
  assert.equal(
    ['user', 'host', 'shoe'].map((word) => uriPart('tel:+4930', word)),
    ['+4930', '', undefined],
  );
  assert.equal(
    [uriPart('sip:a@[::1]', 'host'), uriPart('a b', 'host'), uriPart('http://a', 'host')],
    ['::1', undefined, undefined],
  );
});

abilities.run();
