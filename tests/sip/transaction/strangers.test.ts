import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import { Quota } from '../../../src/sip/transaction/quota.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import { createKnownPeers } from '../../../src/sip/transport/known-peers.ts';
import { createRecordingLog } from '../../support/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeTransports, incoming, outgoing, peer, whatIs } from './fake-transports.ts';

const limits = { transactions: 8, octets: 100_000, sourceTransactions: 2, sourceOctets: 10_000 };

/** A layer that knows nobody, with a user that answers as it is told. */
function createBench(answer: (transaction: ServerTransaction) => void = () => {}, isLate?: () => boolean) {
  const clock = new ManualClock();
  const transports = new FakeTransports(clock);
  let ids = 0;
  const hex = (digits: number) => (++ids).toString(16).padStart(digits, '0');
  const peers = createKnownPeers();
  const layer = createTransactionLayer({
    transports,
    clock,
    ids: { mark: '', channel: () => hex(8), uuid: () => hex(8), hex, secret: hex },
    log: createRecordingLog().log,
    limits,
    peers,
    isLate,
  });
  const transactions: ServerTransaction[] = [];
  layer.onRequest((transaction) => {
    transactions.push(transaction);
    answer(transaction);
  });
  const deliver = (request: SipRequest, source = peer('udp')) => transports.deliver(request, source);
  const sent = () => transports.sent.splice(0).map(({ message }) => message);
  return { clock, transports, peers, layer, transactions, deliver, sent };
}

const branch = (number: number) => `z9hG4bK${number}`;

test('a stranger’s INVITE that is challenged is answered once and forgotten', () => {
  const { clock, layer, deliver, sent } = createBench((transaction) => transaction.reply(401));
  deliver(incoming('INVITE'));
  assert.equal([layer.counts().servers, clock.pending], [0, 0]);
  clock.advance(40_000);
  assert.equal(sent().map(whatIs), ['401 INVITE']);
  layer.close();
});

test('a challenge to the known is not repeated either', () => {
  const { clock, peers, layer, deliver, sent } = createBench((transaction) => transaction.reply(401));
  peers.trust(() => true);
  deliver(incoming('INVITE'));
  clock.advance(40_000);
  assert.equal(sent().map(whatIs), ['401 INVITE']);
  assert.equal([layer.counts().servers, clock.pending], [0, 0]);
});

test('a new call that waited too long gets 503 with Retry-After; calls that exist go on', () => {
  let isLate = true;
  const { clock, peers, layer, deliver, sent } = createBench(
    (transaction) => transaction.reply(200),
    () => isLate,
  );
  peers.trust(() => true);
  deliver(incoming('INVITE'));
  assert.equal([layer.counts().servers, clock.pending], [0, 0]);
  deliver(incoming('BYE', { branch: branch(2) }));
  isLate = false;
  deliver(incoming('INVITE'));
  isLate = true;
  deliver(incoming('INVITE'));
  const answers = sent();
  assert.equal(answers.map(whatIs), ['503 INVITE', '200 BYE', '200 INVITE']);
  assert.is(answers[0]?.header('Retry-After'), '10');
  layer.close();
});

test('answers that nobody remembers have the same To tag each time, and another for each request', () => {
  const { deliver, sent } = createBench((transaction) => transaction.reply(401));
  deliver(incoming('REGISTER'));
  deliver(incoming('REGISTER'));
  deliver(incoming('REGISTER', { branch: branch(2) }));
  const [first, again, other] = sent().map(({ toTag }) => toTag);
  assert.ok(first);
  assert.is(again, first);
  assert.is.not(other, first);
});

test('refusals and OPTIONS of strangers leave nothing behind, whatever comes', () => {
  const { clock, layer, deliver, sent } = createBench((transaction) =>
    transaction.reply(transaction.request.method === 'OPTIONS' ? 200 : 404),
  );
  for (let i = 0; i < 1000; i++) deliver(incoming(i % 2 ? 'OPTIONS' : 'INVITE', { branch: branch(i) }));
  assert.is(sent().length, 1000);
  assert.equal([layer.counts().servers, clock.pending], [0, 0]);
});

test('what lets a stranger in makes a transaction: its answers are repeated', () => {
  const { clock, layer, transactions, deliver, sent } = createBench((transaction) => transaction.reply(100));
  deliver(incoming('INVITE'));
  deliver(incoming('INVITE'));
  transactions[0]!.reply(486);
  clock.advance(1_600);
  assert.equal(sent().map(whatIs), ['100 INVITE', '100 INVITE', '486 INVITE', '486 INVITE', '486 INVITE']);
  assert.is(transactions.length, 1);
  layer.close();
});

test('what is not answered at once is remembered, within the bounds of its source', () => {
  const { layer, transactions, deliver, sent } = createBench();
  for (let i = 0; i < 3; i++) deliver(incoming('MESSAGE', { branch: branch(i), callId: `${i}` }));
  deliver(incoming('MESSAGE', { branch: branch(0), callId: '0' }));
  const [full] = sent();
  assert.equal([whatIs(full!), full!.header('Retry-After')], ['503 MESSAGE', '10']);
  assert.is(layer.counts().servers, 2);
  assert.equal(
    transactions.map(({ state }) => state),
    ['trying', 'trying', 'terminated'],
  );
  assert.is(transactions[2]!.reply(200), false);
  layer.close();
});

test('known peers may use the whole quota, strangers half of it', () => {
  const { peers, layer, transactions, deliver, sent } = createBench();
  const from = (address: string) => ({ ...peer('udp'), address });
  for (let i = 0; i < 6; i++) deliver(incoming('MESSAGE', { branch: branch(i), callId: `${i}` }), from(`10.0.0.${i}`));
  assert.equal([layer.counts().servers, sent().length], [4, 2]);
  peers.trust((address) => address === '192.0.2.9');
  for (let i = 10; i < 16; i++) deliver(incoming('INVITE', { branch: branch(i), callId: `${i}` }));
  assert.is(layer.counts().servers, 8);
  // Beyond that OPTIONS is still answered, and calls are told to come again.
  const known = transactions.slice(-2);
  assert.equal(
    known.map((transaction) => transaction.state),
    ['terminated', 'terminated'],
  );
  assert.equal(sent().map(whatIs), ['503 INVITE', '503 INVITE']);
  layer.close();
});

test('a full house refuses a call when its user would take it', () => {
  const taken: boolean[] = [];
  const bench = createBench((transaction) => taken.push(transaction.accept()));
  const { clock, peers, layer, transactions, deliver, sent } = bench;
  peers.trust(() => true);
  for (let i = 0; i < 9; i++) deliver(incoming('INVITE', { branch: branch(i), callId: `${i}` }));
  assert.equal(taken, [...Array(8).fill(true), false]);
  assert.equal(sent().map(whatIs), ['503 INVITE']);
  assert.equal(
    [0, 8].map((nth) => transactions[nth]!.accept()),
    [true, false],
    'once more',
  );
  transactions[0]!.reply(200);
  clock.advance(200);
  assert.equal(sent().map(whatIs), ['200 INVITE', ...Array(7).fill('100 INVITE')]);
  layer.close();
});

test('before its final answer a transaction counts with its request, after it with the answer alone', () => {
  const quota = new Quota(limits);
  const reservation = quota.take('a', 9_000)!;
  assert.is(quota.take('a', 2_000), undefined);
  quota.resize(reservation, 300);
  const second = quota.take('a', 2_000)!;
  assert.ok(second);
  assert.is(quota.take('a', 1), undefined, 'two are enough');
  quota.leave(reservation);
  assert.ok(quota.take('a', 7_000));
  assert.ok(quota.take(undefined, 80_000));
  assert.is(quota.take(undefined, 20_000), undefined, 'the whole is full');
});

test('big requests leave no more than their answers', () => {
  const { clock, layer, peers, deliver } = createBench((transaction) => transaction.reply(200));
  peers.trust(() => true);
  for (let i = 0; i < 8; i++) {
    const request = incoming('MESSAGE', { branch: branch(i), callId: `${i}` }).append('X-Fill', 'x'.repeat(40_000));
    deliver(request);
  }
  assert.is(layer.counts().servers, 8);
  clock.advance(40_000);
  assert.equal([layer.counts().servers, clock.pending], [0, 0]);
});

test('an answer to a stranger is never larger than three times its request', () => {
  const headers = [['X-Fill', 'x'.repeat(2_000)]] as const;
  const { clock, peers, deliver, transports } = createBench((transaction) =>
    transaction.reply(transaction.request.method === 'REGISTER' ? 401 : 200, { headers }),
  );
  const octets = () => transports.sent.splice(0).map(({ message }) => message.toBuffer().length);
  const size = incoming('OPTIONS').toBuffer().length;
  deliver(incoming('OPTIONS'));
  const [bare] = octets();
  assert.ok(bare! < 1.5 * size, `${bare} octets to ${size}`);
  // A challenge cannot be shortened.
  deliver(incoming('REGISTER', { branch: branch(2) }));
  assert.equal(octets(), []);
  deliver(incoming('REGISTER', { branch: branch(3) }), peer('tcp'));
  assert.is(octets().length, 1);
  peers.trust(() => true);
  deliver(incoming('OPTIONS', { branch: branch(4) }));
  assert.ok(octets()[0]! > 2_000);
  clock.advance(40_000);
});

test('only the known may have answers sent elsewhere by maddr', () => {
  const { peers, deliver, transports } = createBench((transaction) => transaction.reply(401));
  const via = 'SIP/2.0/UDP 192.0.2.9:5070;maddr=198.51.100.7;branch=z9hG4bKa';
  deliver(incoming('INVITE').set('Via', via));
  transports.deliver(incoming('INVITE').set('Via', via).set('CSeq', '1 OPTIONS'));
  peers.trust(() => true);
  deliver(incoming('INVITE').set('Via', via.replace('Ka', 'Kb')));
  assert.equal(
    transports.sent.map(({ message, target }) => [whatIs(message), target.address]),
    [
      ['401 INVITE', '192.0.2.9'],
      ['400 OPTIONS', '192.0.2.9'],
      ['401 INVITE', '198.51.100.7'],
    ],
  );
});

test('whom we ask something is known until it has answered', () => {
  const { clock, peers, layer } = createBench();
  const nothing = () => {};
  layer.request(outgoing('OPTIONS'), peer('udp'), { onFinal: nothing, onTimeout: nothing, onTransportError: nothing });
  assert.is(peers.isKnown(peer('udp')), true);
  assert.equal([peers.isKnown(peer('udp', 9)), peers.hasNeighbour('192.0.2.9')], [false, true]);
  clock.advance(40_000);
  assert.equal([peers.isKnown(peer('udp')), peers.size], [false, 0]);
});

test('a peer is known as long as anybody holds it; a connection by its number', () => {
  const peers = createKnownPeers();
  peers.hold(peer('tcp'));
  peers.hold(peer('tcp'));
  peers.release(peer('tcp'));
  assert.equal([peers.isKnown(peer('tcp')), peers.isKnown({ ...peer('tcp'), connection: 8 })], [true, false]);
  peers.release(peer('tcp'));
  peers.release(peer('tcp'));
  assert.equal([peers.isKnown(peer('tcp')), peers.size], [false, 0]);
});

test.run();
