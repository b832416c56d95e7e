import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { audioAt, Carrier } from './carrier.ts';
import { anybody, createPhone, type Phone, trunkTo } from './support.ts';

/** What is made of the bodies that others send: offers, answers, and what is neither. */
const offers = suite('offers and bodies');

const phones: Phone[] = [];
const carriers: Carrier[] = [];

async function world(rest: Partial<EndpointConfig> = {}) {
  const carrier = await Carrier.open();
  const phone = await createPhone({ config: { endpoints: [trunkTo(carrier.uri, rest), { ...anybody, ...rest }] } });
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

offers.run();
