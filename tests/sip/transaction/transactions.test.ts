import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import type { Step } from '../../../src/sip/transaction/runner.ts';
import { inviteClient, inviteServer, nonInviteClient, nonInviteServer } from '../../../src/sip/transaction/tables.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import { answer, createBench, incoming, outgoing, peer, settle } from './fake-transports.ts';

const taken = new Set<string>();
const onStep = ({ table, state, input }: Step) => taken.add(`${table} ${state} ${input}`);

/** The retransmission times of an unanswered INVITE, from T1 = 500 ms on: Timer A doubles without bound. */
const inviteTimes = [0, 500, 1500, 3500, 7500, 15500, 31500];
/** Those of other requests and of failures to INVITE: E and G double up to T2 = 4 s. */
const cappedTimes = [0, 500, 1500, 3500, 7500, 11500, 15500, 19500, 23500, 27500, 31500];

const client = suite('client transactions');

client('an unanswered INVITE is repeated at doubling intervals and given up after 64 T1', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const transaction = layer.request(outgoing('INVITE'), target, handlers);
  clock.advance(31_999);
  assert.equal(
    transports.take(),
    inviteTimes.map((at) => [at, 'INVITE']),
  );
  assert.equal(told, []);
  clock.advance(1);
  assert.equal(told, ['timeout', 'terminated']);
  assert.is(transaction.state, 'terminated');
  assert.is(clock.pending, 0);
  assert.equal(layer.counts(), { clients: 0, servers: 0, retransmissions: 6, timeouts: 1, rejected: 0, strays: 0 });
});

client('retransmissions of a request are the same bytes', () => {
  const { clock, transports, layer, handlers, target } = createBench({ onStep });
  layer.request(outgoing('INVITE'), target, handlers);
  clock.advance(500);
  const [first, second] = transports.sent.map(({ message }) => message.toBuffer().toString());
  assert.is(first, second);
  layer.close();
});

client('a provisional response stops the repeating of an INVITE and the waiting', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request, transaction } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 180));
  transports.deliver(answer(request, 180));
  clock.advance(600_000);
  assert.equal(transports.take(), [[0, 'INVITE']]);
  assert.equal(told, ['provisional 180', 'provisional 180']);
  assert.is(transaction.state, 'proceeding');
  assert.is(clock.pending, 0);
});

client('every 2xx to an INVITE is passed on until Timer M, and never acknowledged by the layer', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request, transaction } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 200));
  transports.deliver(answer(request, 200, { toTag: 'otherFork' }));
  transports.deliver(answer(request, 486));
  assert.is(transaction.state, 'accepted');
  clock.advance(31_999);
  assert.equal(told, ['final 200', 'final 200']);
  clock.advance(1);
  assert.equal(told, ['final 200', 'final 200', 'terminated']);
  assert.equal(transports.take(), [[0, 'INVITE']]);
  assert.is(clock.pending, 0);
});

client('a 2xx after a provisional response is accepted too', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 183));
  transports.deliver(answer(request, 200));
  clock.advance(32_000);
  assert.equal(told, ['provisional 183', 'final 200', 'terminated']);
  assert.is(clock.pending, 0);
});

client('a failure is acknowledged each time it comes, and told once', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 486));
  clock.advance(10);
  transports.deliver(answer(request, 486));
  clock.advance(31_990);
  assert.equal(transports.take(), [
    [0, 'INVITE'],
    [0, 'ACK'],
    [10, 'ACK'],
  ]);
  assert.equal(told, ['final 486', 'terminated']);
  assert.is(clock.pending, 0);
});

client(
  'the ACK to a failure has the Via, From, Call-ID, number and Route of the INVITE and the To of the response',
  () => {
    const { transports, layer, handlers, target } = createBench({ onStep });
    const { request } = layerRequest(layer, handlers, target);
    transports.deliver(answer(request, 180));
    transports.deliver(answer(request, 603));
    const ack = transports.sent.at(-1)!.message as SipRequest;
    assert.is(
      ack.toBuffer().toString(),
      [
        'ACK sip:bob@192.0.2.9 SIP/2.0',
        'Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK00000000000000000001;rport',
        'Route: <sip:proxy.example.com;lr>',
        'Max-Forwards: 70',
        'From: <sip:alice@192.0.2.1>;tag=from1',
        'To: <sip:bob@192.0.2.9>;tag=peer1',
        'Call-ID: call-1',
        'CSeq: 7 ACK',
        'Content-Length: 0',
        '',
        '',
      ].join('\r\n'),
    );
    layer.close();
  },
);

client('an INVITE that cannot be sent is told so, after the request has returned', async () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  transports.failWith = 'connect';
  layer.request(outgoing('INVITE'), target, handlers);
  assert.equal(told, []);
  await settle();
  assert.equal(told, ['transport error connect', 'terminated']);
  assert.is(clock.pending, 0);
});

client('an ACK that cannot be sent ends the transaction without a second verdict', async () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request } = layerRequest(layer, handlers, target);
  transports.failWith = 'closed';
  transports.deliver(answer(request, 500));
  await settle();
  assert.equal(told, ['final 500', 'terminated']);
  assert.is(clock.pending, 0);
});

client('over TCP nothing is repeated, and a failure ends an INVITE at once', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep, protocol: 'tcp' });
  const { request } = layerRequest(layer, handlers, target);
  clock.advance(20_000);
  transports.deliver(answer(request, 404), peer('tcp'));
  assert.equal(transports.take(), [
    [0, 'INVITE'],
    [20_000, 'ACK'],
  ]);
  assert.equal(told, ['final 404', 'terminated']);
  assert.is(clock.pending, 0);
});

client('a cancel waits for the first provisional response', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request, transaction } = layerRequest(layer, handlers, target);
  transaction.cancel([['Reason', 'Q.850;cause=16']]);
  transaction.cancel();
  assert.equal(transports.take(), [[0, 'INVITE']]);
  transports.deliver(answer(request, 100));
  const cancel = transports.sent[0]!.message as SipRequest;
  assert.is(cancel.header('Via'), request.header('Via'));
  assert.is(cancel.header('Reason'), 'Q.850;cause=16');
  assert.is(cancel.header('CSeq'), '7 CANCEL');
  assert.is(cancel.requestUri, 'sip:bob@192.0.2.9');
  assert.is(cancel.toTag, undefined);
  transports.deliver(answer(cancel, 200));
  transports.deliver(answer(request, 487));
  assert.equal(transports.take(), [
    [0, 'CANCEL'],
    [0, 'ACK'],
  ]);
  clock.advance(32_000);
  assert.equal(told, ['provisional 100', 'final 487', 'terminated']);
  assert.is(clock.pending, 0);
});

client('a cancelled INVITE that is never answered times out 64 T1 after the CANCEL', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request, transaction } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 180));
  clock.advance(50_000);
  transaction.cancel();
  clock.advance(31_999);
  assert.is(transaction.state, 'proceeding');
  clock.advance(1);
  assert.equal(told, ['provisional 180', 'timeout', 'terminated']);
  assert.is(clock.pending, 0);
});

client('a cancel after the final response, and of another method, sends nothing', () => {
  const { transports, layer, handlers, target } = createBench({ onStep });
  const { request, transaction } = layerRequest(layer, handlers, target);
  transports.deliver(answer(request, 200));
  transaction.cancel();
  layer.request(outgoing('OPTIONS'), target, handlers).cancel();
  assert.equal(transports.take(), [
    [0, 'INVITE'],
    [0, 'OPTIONS'],
  ]);
  layer.close();
});

client('another request is repeated at intervals up to T2 and given up after 64 T1', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  layer.request(outgoing('OPTIONS'), target, handlers);
  clock.advance(32_000);
  assert.equal(
    transports.take(),
    cappedTimes.map((at) => [at, 'OPTIONS']),
  );
  assert.equal(told, ['timeout', 'terminated']);
  assert.is(clock.pending, 0);
});

client('after a provisional response another request is repeated every T2, and still given up', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  const { request } = layerRequest(layer, handlers, target, 'BYE');
  transports.deliver(answer(request, 100));
  transports.deliver(answer(request, 100));
  clock.advance(32_000);
  const times = [0, 500, 4500, 8500, 12_500, 16_500, 20_500, 24_500, 28_500];
  assert.equal(
    transports.take(),
    times.map((at) => [at, 'BYE']),
  );
  assert.equal(told, ['provisional 100', 'provisional 100', 'timeout', 'terminated']);
  assert.is(clock.pending, 0);
});

for (const status of [200, 404]) {
  for (const provisional of [false, true]) {
    client(`a ${status} ${provisional ? 'after a 100 ' : ''}ends another request T4 later, repeats absorbed`, () => {
      const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
      const { request } = layerRequest(layer, handlers, target, 'REGISTER');
      if (provisional) transports.deliver(answer(request, 100));
      transports.deliver(answer(request, status));
      transports.deliver(answer(request, status));
      clock.advance(4_999);
      assert.is(layer.counts().clients, 1);
      clock.advance(1);
      assert.equal(told.slice(provisional ? 1 : 0), [`final ${status}`, 'terminated']);
      assert.equal(transports.take(), [[0, 'REGISTER']]);
      assert.is(clock.pending, 0);
    });
  }
}

client('another request that cannot be sent is told so, at first or when repeated', async () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep });
  transports.failWith = 'no-listener';
  layer.request(outgoing('OPTIONS'), target, handlers);
  await settle();
  transports.failWith = undefined;
  const { request } = layerRequest(layer, handlers, target, 'OPTIONS');
  transports.deliver(answer(request, 100));
  transports.failWith = 'io';
  clock.advance(500);
  await settle();
  assert.equal(told, [
    'transport error no-listener',
    'terminated',
    'provisional 100',
    'transport error io',
    'terminated',
  ]);
  assert.is(clock.pending, 0);
});

client('the answer to another request over TCP ends it at once', () => {
  const { clock, transports, layer, told, handlers, target } = createBench({ onStep, protocol: 'tcp' });
  const { request } = layerRequest(layer, handlers, target, 'OPTIONS');
  transports.deliver(answer(request, 200), peer('tcp'));
  assert.equal(told, ['final 200', 'terminated']);
  assert.is(clock.pending, 0);
});

client.run();

const server = suite('server transactions');

/** A bench whose user keeps what it is told and answers by hand. */
function createServerBench() {
  const bench = createBench({ onStep });
  const transactions: ServerTransaction[] = [];
  bench.layer.onRequest((transaction) => {
    transactions.push(transaction);
    transaction.handlers = {
      onCancel: (cancel) => bench.told.push(`cancel ${cancel.method}`),
      onConfirmed: () => bench.told.push('confirmed'),
      onTimeout: () => bench.told.push('timeout'),
      onTransportError: (failure) => bench.told.push(`transport error ${failure.reason}`),
      onTerminated: () => bench.told.push('terminated'),
    };
  });
  bench.layer.onAck((ack) => bench.told.push(`ack ${ack.callId}`));
  return { ...bench, transactions };
}

server('an INVITE that its user leaves alone is answered 100 after 200 ms, and again when it comes again', () => {
  const { clock, transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transports.deliver(incoming('INVITE'));
  clock.advance(199);
  assert.equal(transports.take(), []);
  clock.advance(1);
  transports.deliver(incoming('INVITE'));
  assert.equal(transports.take(), [
    [200, '100 INVITE'],
    [200, '100 INVITE'],
  ]);
  assert.is(transactions.length, 1);
  assert.is(clock.pending, 0);
  layer.close();
});

server('provisional responses stop the 100, and the last one answers a repeated INVITE', () => {
  const { clock, transports, transactions, layer } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.reply(180);
  transactions[0]!.reply(183);
  clock.advance(1_000);
  transports.deliver(incoming('INVITE'));
  assert.equal(transports.take(), [
    [0, '180 INVITE'],
    [0, '183 INVITE'],
    [1_000, '183 INVITE'],
  ]);
  assert.is(layer.counts().retransmissions, 1);
  layer.close();
});

server('a failure is repeated up to T2 apart until the ACK, which ends it T4 later', () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.reply(486);
  clock.advance(1_500);
  transports.deliver(incoming('INVITE'));
  transports.deliver(incoming('ACK', { toTag: transactions[0]!.toTag }));
  transports.deliver(incoming('ACK', { toTag: transactions[0]!.toTag }));
  transports.deliver(incoming('INVITE'));
  assert.equal(
    transports.take(),
    [0, 500, 1500, 1500].map((at) => [at, '486 INVITE']),
  );
  clock.advance(4_999);
  assert.equal(told, ['confirmed']);
  assert.is(transactions[0]!.state, 'confirmed');
  clock.advance(1);
  assert.equal(told, ['confirmed', 'terminated']);
  assert.is(clock.pending, 0);
});

server('a failure that is never acknowledged is repeated for 64 T1, then told', () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.deliver(incoming('INVITE'));
  transactions[0]!.reply(404);
  clock.advance(32_000);
  assert.equal(
    transports.take(),
    cappedTimes.map((at) => [at, '404 INVITE']),
  );
  assert.equal(told, ['timeout', 'terminated']);
  assert.is(clock.pending, 0);
});

server('after a 2xx repeated INVITEs are absorbed, the user repeats the 2xx, and ACKs are the user’s', () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.deliver(incoming('INVITE'));
  const [transaction] = transactions;
  assert.is(transaction!.reply(200), true);
  transports.deliver(incoming('INVITE'));
  clock.advance(500);
  transaction!.repeat();
  assert.is(transaction!.reply(486), false);
  transports.deliver(incoming('ACK', { branch: 'z9hG4bKother', toTag: 'x' }));
  // Some phones reuse the branch of the INVITE.
  transports.deliver(incoming('ACK', { toTag: 'x' }));
  assert.equal(transports.take(), [
    [0, '200 INVITE'],
    [500, '200 INVITE'],
  ]);
  assert.equal(told, ['ack call-2', 'ack call-2']);
  clock.advance(31_500);
  assert.is(transaction!.state, 'terminated');
  assert.is(transaction!.reply(200), false);
  assert.is(clock.pending, 0);
});

server('transport errors of an INVITE are told and change nothing', async () => {
  const { clock, transports, transactions, told, layer } = createServerBench();
  transports.failWith = 'closed';
  const statuses = [180, 200, 500];
  for (const [i, status] of statuses.entries()) {
    transports.deliver(incoming('INVITE', { branch: `z9hG4bK${status}`, callId: String(status) }));
    transactions[i]!.reply(status);
  }
  await settle();
  assert.equal(told, ['transport error closed', 'transport error closed', 'transport error closed']);
  assert.equal(
    transactions.map(({ state }) => state),
    ['proceeding', 'accepted', 'completed'],
  );
  layer.close();
  assert.is(clock.pending, 0);
});

server('another request is absorbed until answered, then answered alike for 64 T1', () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.deliver(incoming('OPTIONS'));
  transports.deliver(incoming('OPTIONS'));
  assert.equal(transports.take(), []);
  assert.is(transactions[0]!.reply(200), true);
  assert.is(transactions[0]!.reply(200), false);
  clock.advance(31_999);
  transports.deliver(incoming('OPTIONS'));
  assert.equal(transports.take(), [
    [0, '200 OPTIONS'],
    [31_999, '200 OPTIONS'],
  ]);
  clock.advance(1);
  assert.equal(told, ['terminated']);
  assert.is(transactions.length, 1);
  assert.is(clock.pending, 0);
});

for (const status of [202, 403]) {
  server(`a provisional response to another request is repeated on demand, and a ${status} follows`, () => {
    const { clock, transports, transactions } = createServerBench();
    transports.deliver(incoming('REFER'));
    transactions[0]!.reply(100);
    transactions[0]!.reply(100);
    transports.deliver(incoming('REFER'));
    transactions[0]!.reply(status);
    assert.equal(
      transports.take().map(([, what]) => what),
      ['100 REFER', '100 REFER', '100 REFER', `${status} REFER`],
    );
    clock.advance(32_000);
    assert.is(clock.pending, 0);
  });
}

server('a failure answers another request without a provisional one before it', () => {
  const { clock, transports, transactions } = createServerBench();
  transports.deliver(incoming('BYE'));
  transactions[0]!.reply(481);
  assert.equal(transports.take(), [[0, '481 BYE']]);
  clock.advance(32_000);
  assert.is(clock.pending, 0);
});

server('a transport error ends another request', async () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.failWith = 'connect';
  transports.deliver(incoming('OPTIONS', { branch: 'z9hG4bKa' }));
  transactions[0]!.reply(200);
  transports.deliver(incoming('OPTIONS', { branch: 'z9hG4bKb' }));
  transactions[1]!.reply(100);
  await settle();
  assert.equal(told, ['transport error connect', 'terminated', 'transport error connect', 'terminated']);
  assert.is(clock.pending, 0);
});

server('over TCP a failure is not repeated, and the ACK ends the transaction at once', () => {
  const { clock, transports, transactions, told } = createServerBench();
  transports.deliver(incoming('INVITE'), peer('tcp'));
  transactions[0]!.reply(486);
  clock.advance(20_000);
  transports.deliver(incoming('ACK', { toTag: 'x' }), peer('tcp'));
  assert.equal(transports.take(), [[0, '486 INVITE']]);
  assert.equal(told, ['confirmed', 'terminated']);
  transports.deliver(incoming('OPTIONS'), peer('tcp'));
  transactions[1]!.reply(200);
  assert.is(transactions[1]!.state, 'terminated');
  assert.is(clock.pending, 0);
});

server.run();

const coverage = suite('coverage of the tables');

coverage('every row of every table is taken by the tests of this file', () => {
  const rows: string[] = [];
  for (const [name, table] of Object.entries({ inviteClient, nonInviteClient, inviteServer, nonInviteServer })) {
    for (const [state, inputs] of Object.entries(table)) {
      for (const input of Object.keys(inputs)) rows.push(`${name} ${state} ${input}`);
    }
  }
  assert.equal([...taken].sort(), rows.sort());
});

coverage.run();

function layerRequest(
  layer: ReturnType<typeof createBench>['layer'],
  handlers: ReturnType<typeof createBench>['handlers'],
  target: ReturnType<typeof createBench>['target'],
  method = 'INVITE',
) {
  const transaction = layer.request(outgoing(method), target, handlers);
  return { transaction, request: transaction.request };
}
