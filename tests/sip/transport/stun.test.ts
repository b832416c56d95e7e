import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBindingResponse, writeBindingRequest, writeBindingResponse } from '../../../src/lib/stun.ts';
import { learnExternalAddress } from '../../../src/sip/transport/external-address.ts';
import type { OpenUdp } from '../../../src/sip/transport/udp.ts';
import { silentLog } from '../../support/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { addressOf, openParty } from './bench.ts';

const id = '0123456789abcdef01234567';

test('RFC 5769 2.2, 2.3: the address in the responses of other implementations', () => {
  const head = '01010010 2112a442 b7e7a701 bc34d686 fa87dfae'.replaceAll(' ', '');
  const four = Buffer.from(`0101000c${head.slice(8)}002000080001a147e112a643`, 'hex');
  assert.equal(readBindingResponse(four, 'b7e7a701bc34d686fa87dfae'), { address: '192.0.2.1', port: 32_853 });
  const six = Buffer.from(`01010018${head.slice(8)}002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9`, 'hex');
  assert.equal(readBindingResponse(six, 'b7e7a701bc34d686fa87dfae'), {
    address: '2001:db8:1234:5678:11:2233:4455:6677',
    port: 32_853,
  });
});

test('what is written is read; what is cut, changed or for somebody else is nothing', () => {
  for (const address of ['192.0.2.7', '2001:db8:0:0:0:0:0:7']) {
    const response = writeBindingResponse(writeBindingRequest(id), { address, port: 5060 })!;
    assert.equal(readBindingResponse(response, id), { address, port: 5060 });
    assert.is(readBindingResponse(response, id.replace('0', '1')), undefined);
    for (let at = 0; at < response.length; at++)
      assert.is(readBindingResponse(response.subarray(0, at), id), undefined);
  }
});

test('a phone that asks over UDP is told where it is seen', async () => {
  const party = await openParty();
  const phone = createSocket('udp4').bind(0, '127.0.0.1');
  await once(phone, 'listening');
  phone.send(writeBindingRequest(id), addressOf(party, 'udp').port, '127.0.0.1');
  const [answer] = (await once(phone, 'message')) as [Buffer];
  assert.equal(readBindingResponse(answer, id), { address: '127.0.0.1', port: phone.address().port });
  phone.close();
  await party.transports.close();
});

test('the public address is refreshed; a silent STUN server is asked seven times, then a minute later', async () => {
  const clock = new ManualClock();
  const sent: Buffer[] = [];
  let hear: (bytes: Buffer) => void = () => {};
  const openUdp: OpenUdp = async ({ onDatagram }) => {
    hear = (bytes) => onDatagram(bytes, { address: '192.0.2.1', port: 3478, family: 'IPv4', size: bytes.length });
    return { port: 1, send: (bytes) => void sent.push(bytes), close: async () => {} };
  };
  let made = 0;
  const hex = (digits: number) => (++made).toString(16).padStart(digits, '0');
  const ids = { mark: '', channel: () => '', uuid: () => '', hex, secret: hex };
  const server = async () => ({ address: '192.0.2.1', port: 3478 });
  const outside = await learnExternalAddress({ server, bind: '0.0.0.0', openUdp, clock, ids, log: silentLog });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  await settled();
  const answer = (request: Buffer, address: string) => hear(writeBindingResponse(request, { address, port: 1 })!);
  assert.equal([sent.length, outside.now], [1, undefined]);
  answer(writeBindingRequest('f'.repeat(24)), '203.0.113.66');
  assert.is(outside.now, undefined);
  answer(sent[0]!, '203.0.113.5');
  answer(sent[0]!, '203.0.113.66');
  assert.is(outside.now, '203.0.113.5');
  clock.advance(60_000);
  await settled();
  for (let waited = 0; waited < 63_500; waited += 500) clock.advance(500);
  assert.equal([sent.length, outside.now], [8, '203.0.113.5']);
  clock.advance(60_000);
  await settled();
  answer(sent.at(-1)!, '203.0.113.6');
  assert.is(outside.now, '203.0.113.6');
  await outside.close();
  assert.is(clock.pending, 0);
});

test.run();
