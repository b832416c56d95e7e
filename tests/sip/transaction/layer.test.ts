import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildResponse } from '../../../src/sip/message/build.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import { answer, createBench, incoming, outgoing, peer, settle, whatIs } from './fake-transports.ts';

function createServerBench() {
  const bench = createBench();
  const transactions: ServerTransaction[] = [];
  bench.layer.onRequest((transaction) => transactions.push(transaction));
  return { ...bench, transactions };
}

test('a request gets a Via with our address, a fresh branch and rport on top', () => {
  const { layer, handlers, target } = createBench();
  const first = layer.request(outgoing('OPTIONS'), target, handlers).request;
  const second = layer.request(outgoing('OPTIONS'), { ...target, protocol: 'tcp' }, handlers).request;
  assert.is(first.headers()[0]!.join(': '), 'Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK00000000000000000001;rport');
  assert.is(second.header('Via'), 'SIP/2.0/TCP 192.0.2.1:5060;branch=z9hG4bK00000000000000000002;rport');
  layer.close();
});

test('a response finds its request by branch and by the method in CSeq', () => {
  const { transports, layer, told, handlers, target } = createBench();
  const { request } = layer.request(outgoing('INVITE'), target, handlers);
  transports.deliver(answer(request, 200).set('CSeq', '7 CANCEL'));
  transports.deliver(answer(request, 200).set('Via', 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKelse'));
  assert.equal(told, []);
  transports.deliver(answer(request, 200));
  assert.equal(told, ['final 200']);
  assert.is(layer.counts().strays, 2);
  layer.close();
});

test('a response that names further hops is no answer to a request of ours', () => {
  const { transports, layer, told, handlers, target } = createBench();
  const { request } = layer.request(outgoing('OPTIONS'), target, handlers);
  transports.deliver(answer(request, 200).append('Via', 'SIP/2.0/UDP 192.0.2.7;branch=z9hG4bKx'));
  assert.equal(told, []);
  assert.is(layer.counts().strays, 1);
  layer.close();
});

test('a response without a transaction goes to the receiver of strays', () => {
  const { transports, layer } = createBench();
  const strays: SipResponse[] = [];
  layer.onStrayResponse((response) => strays.push(response));
  transports.deliver(answer(incoming('INVITE'), 200));
  assert.equal(strays.map(whatIs), ['200 INVITE']);
});

test('the ACK to a 2xx is sent without a transaction', () => {
  const { clock, transports, layer, target } = createBench();
  const bytes = layer.sendAck(outgoing('ACK'), target);
  assert.equal(transports.sent[0]!.message.toBuffer(), bytes);
  assert.match(bytes.toString(), /^ACK .*\r\nVia: SIP\/2\.0\/UDP 192\.0\.2\.1:5060;branch=z9hG4bK/);
  assert.is(clock.pending, 0);
});

test('requests that differ in branch, sent-by or method are different transactions', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('OPTIONS'));
  transports.deliver(incoming('OPTIONS', { branch: 'z9hG4bKtwo' }));
  transports.deliver(incoming('INFO'));
  transports.deliver(incoming('OPTIONS').set('Via', 'SIP/2.0/UDP 192.0.2.8:5070;branch=z9hG4bKone'));
  transports.deliver(incoming('OPTIONS'));
  assert.is(transactions.length, 4);
  layer.close();
});

test('the responses of one transaction share one To tag, which reply puts there', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.reply(100);
  transactions[0]!.reply(180);
  transactions[0]!.reply(200, { contact: '<sip:us@192.0.2.1>', contentType: 'application/sdp', body: 'v=0\r\n' });
  const [trying, ringing, ok] = transports.sent.map(({ message }) => message);
  assert.is(trying!.toTag, undefined);
  assert.is(ringing!.toTag, transactions[0]!.toTag);
  assert.is(ok!.toTag, transactions[0]!.toTag);
  assert.is(ok!.bodyText, 'v=0\r\n');
  layer.close();
});

test('inside a dialog the To tag is the one of the request', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('BYE', { toTag: 'ours' }));
  transactions[0]!.reply(200);
  assert.is(transports.sent[0]!.message.toTag, 'ours');
  layer.close();
});

test('a CANCEL is answered 200 with the To tag of the INVITE and told; the INVITE is the user’s to answer', () => {
  const { transports, transactions, told, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.handlers = { onCancel: (cancel) => told.push(`cancel ${cancel.callId}`) };
  transactions[0]!.reply(180);
  transports.deliver(incoming('CANCEL'));
  transports.deliver(incoming('CANCEL'));
  transactions[0]!.reply(487);
  assert.equal(told, ['cancel call-2']);
  assert.equal(
    transports.sent.map(({ message }) => [whatIs(message), message.toTag]),
    ['180 INVITE', '200 CANCEL', '200 CANCEL', '487 INVITE'].map((what) => [what, transactions[0]!.toTag]),
  );
  layer.close();
});

test('a CANCEL after the final response is answered 200 and told to nobody', () => {
  const { transports, transactions, told, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.handlers = { onCancel: () => told.push('cancel') };
  transactions[0]!.reply(200);
  transports.deliver(incoming('CANCEL'));
  assert.equal(told, []);
  assert.equal(
    transports.sent.map(({ message }) => whatIs(message)),
    ['200 INVITE', '200 CANCEL'],
  );
  layer.close();
});

test('a CANCEL from another hop than the INVITE is answered 481 and told to nobody', () => {
  const { layer, transports } = createBench();
  let cancelled = 0;
  layer.onRequest((transaction) => {
    transaction.reply(180);
    transaction.handlers = { onCancel: () => cancelled++ };
  });
  transports.deliver(incoming('INVITE'));
  transports.deliver(incoming('CANCEL'), { ...peer('udp'), address: '203.0.113.5' });
  transports.deliver(incoming('INVITE', { branch: 'z9hG4bKtwo' }));
  transports.deliver(incoming('CANCEL', { branch: 'z9hG4bKtwo' }), peer('udp', 5099));
  assert.equal(
    transports.take().map(([, what]) => what),
    ['180 INVITE', '481 CANCEL', '180 INVITE', '481 CANCEL'],
  );
  assert.is(cancelled, 0);
});

test('a CANCEL for nothing is answered 481', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('CANCEL'));
  assert.equal(transports.take(), [[0, '481 CANCEL']]);
  assert.equal(transactions, []);
  layer.close();
});

test('a request that came on two ways is told as merged, as long as the first lives', () => {
  const { clock, transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transports.deliver(incoming('INVITE', { branch: 'z9hG4bKtwo' }));
  assert.equal(
    transactions.map(({ merged }) => merged),
    [false, true],
  );
  transactions[0]!.reply(200);
  transactions[1]!.reply(482);
  clock.advance(32_000);
  transports.deliver(incoming('INVITE', { branch: 'z9hG4bKthree' }));
  assert.is(transactions[2]!.merged, false);
  layer.close();
});

test('requests inside a dialog are never merged', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('INFO', { toTag: 'ours' }));
  transports.deliver(incoming('INFO', { toTag: 'ours', branch: 'z9hG4bKtwo' }));
  assert.equal(
    transactions.map(({ merged }) => merged),
    [false, false],
  );
  layer.close();
});

test('peers of RFC 2543 without a branch are matched by their other fields', () => {
  const { clock, transports, transactions, told } = createServerBench();
  const old = (method: string, toTag?: string) =>
    incoming(method, toTag === undefined ? {} : { toTag }).set('Via', 'SIP/2.0/UDP 192.0.2.9:5070');
  transports.deliver(old('INVITE'));
  transports.deliver(old('INVITE'));
  transactions[0]!.handlers = { onConfirmed: () => told.push('confirmed') };
  transactions[0]!.reply(486);
  transports.deliver(old('ACK', transactions[0]!.toTag));
  transports.deliver(old('OPTIONS'));
  transports.deliver(old('OPTIONS', 'dialog'));
  assert.is(transactions.length, 3);
  assert.equal(told, ['confirmed']);
  transactions[1]!.reply(200);
  transactions[2]!.reply(200);
  clock.advance(32_000);
  assert.is(clock.pending, 0);
});

test('responses go to the port of the Via without rport, and to the source port with it', () => {
  const { transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('OPTIONS').set('Via', 'SIP/2.0/UDP 192.0.2.9:5999;branch=z9hG4bKa'), peer('udp', 4444));
  transports.deliver(
    incoming('OPTIONS').set('Via', 'SIP/2.0/UDP 192.0.2.9:5999;branch=z9hG4bKb;rport=4444'),
    peer('udp', 4444),
  );
  for (const transaction of transactions) transaction.reply(200);
  assert.equal(
    transports.sent.map(({ target }) => target.port),
    [5999, 4444],
  );
  layer.close();
});

test('without a receiver requests are answered 503', () => {
  const { transports, layer } = createBench();
  transports.deliver(incoming('INVITE'));
  assert.equal(transports.take(), [[0, '503 INVITE']]);
  layer.close();
});

test('a receiver that throws has the request answered 500, and the error is logged', () => {
  const { transports, layer, errors } = createBench();
  layer.onRequest(() => {
    throw new Error('broken');
  });
  transports.deliver(incoming('INVITE'));
  assert.equal(transports.take(), [[0, '500 INVITE']]);
  assert.equal(errors, ['the receiver of SIP requests failed']);
  layer.close();
});

test('a handler that throws hurts no one', () => {
  const { transports, layer, handlers, target, told, errors } = createBench();
  const { request } = layer.request(outgoing('OPTIONS'), target, {
    ...handlers,
    onProvisional: () => {
      throw new Error('broken');
    },
  });
  transports.deliver(answer(request, 100));
  transports.deliver(answer(request, 200));
  assert.equal(told, ['final 200']);
  assert.equal(errors, ['the handler of a SIP transaction failed']);
  layer.close();
});

test('a malformed request is answered 400 with its own headers and a To tag', () => {
  const { transports, layer } = createBench();
  transports.deliver(`OPTIONS sip:us@192.0.2.1 SIP/2.0
Via: SIP/2.0/UDP 10.0.0.1:5999;rport;branch=z9hG4bKx
From: <sip:carol@192.0.2.9>;tag=1
To: <sip:us@192.0.2.1>
Call-ID: abc
CSeq: 1 INVITE

`);
  const { message, target } = transports.sent[0]!;
  assert.is(whatIs(message), '400 INVITE');
  assert.is(message.header('Via'), 'SIP/2.0/UDP 10.0.0.1:5999;rport=5070;branch=z9hG4bKx;received=192.0.2.9');
  assert.is(message.header('To'), '<sip:us@192.0.2.1>;tag=0000000001');
  assert.is(message.header('CSeq'), '1 INVITE');
  assert.is(target.port, 5070);
  assert.is(layer.counts().rejected, 1);
});

test('another SIP version is answered 505', () => {
  const { transports } = createBench();
  const text = incoming('INVITE').toBuffer().toString().replace('SIP/2.0', 'SIP/7.0');
  transports.deliver(text);
  assert.equal(transports.take(), [[0, '505 INVITE']]);
});

test('malformed responses, ACKs and requests that tell too little meet silence', () => {
  const { transports, layer } = createBench();
  transports.deliver(incoming('ACK').set('CSeq', '1 INVITE'));
  transports.deliver(buildResponse(incoming('INVITE'), 200).remove('CSeq'));
  transports.deliver(incoming('INVITE').remove('CSeq'));
  transports.deliver('hello\n\n');
  assert.equal(transports.take(), []);
  assert.is(layer.counts().rejected, 0);
});

test('closing ends every transaction, stops every timer and silences the layer', async () => {
  const { clock, transports, layer, handlers, target, told, transactions } = createServerBench();
  layer.request(outgoing('INVITE'), target, handlers);
  transports.deliver(incoming('INVITE'));
  transactions[0]!.handlers = { onTerminated: () => told.push('server terminated') };
  transports.take();
  layer.close();
  assert.equal(told, ['terminated', 'server terminated']);
  assert.is(clock.pending, 0);
  transports.deliver(incoming('OPTIONS'));
  transports.deliver(incoming('OPTIONS').set('CSeq', '1 INVITE'));
  layer.request(outgoing('OPTIONS'), target, handlers);
  await settle();
  assert.equal(told, ['terminated', 'server terminated', 'transport error closed', 'terminated']);
  assert.equal(transports.take(), []);
  assert.equal(layer.counts().clients + layer.counts().servers, 0);
});

test('a call over a network that loses every third message still ends well on both sides', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const { clock, transports: caller, layer: uac, handlers, told, target } = createBench();
    const callee = createBench();
    callee.layer.onRequest((transaction) => {
      transaction.handlers = { onConfirmed: () => told.push('confirmed') };
      transaction.reply(486);
    });
    uac.request(outgoing('INVITE'), target, handlers);
    let random = seed;
    const arrives = () => (random = (random * 16_807) % 2_147_483_647) % 3 > 0;
    for (let ms = 0; ms < 70_000; ms += 100) {
      for (const { message } of caller.sent.splice(0)) if (arrives()) callee.transports.deliver(message);
      for (const { message } of callee.transports.sent.splice(0)) if (arrives()) caller.deliver(message);
      clock.advance(100);
      callee.clock.advance(100);
    }
    assert.equal(told.sort(), ['confirmed', 'final 486', 'terminated'], `seed ${seed}`);
    assert.is(clock.pending + callee.clock.pending, 0);
  }
});

test.run();
