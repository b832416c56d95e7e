import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeXorAddress } from '../../../src/lib/stun.ts';
import { allocationTable } from '../../../src/media/webrtc/allocation-table.ts';
import {
  attribute,
  attributesOf,
  hasFingerprint,
  hasIntegrity,
  proved,
  writeMessage,
} from '../../../src/media/webrtc/stun-message.ts';
import { Relay, type TurnServer } from '../../../src/media/webrtc/turn.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';

const test = suite('an allocation at a TURN server');

type Address = { address: string; port: number };

const server = {
  ...{ address: '192.0.2.7', port: 3478, username: 'desk', password: 'north wind', secret: '' },
  ...{ messageBytes: 4096, unsentBytes: 262_144, permissions: 16 },
};
const relayed: Address = { address: '203.0.113.7', port: 50_000 };
const mapped: Address = { address: '198.51.100.1', port: 4000 };
const peer: Address = { address: '192.0.2.99', port: 777 };
const [realm, key] = ['tests', createHash('md5').update('desk:tests:north wind').digest()];
const text = (value: string): Buffer => Buffer.from(value);
const word = (value: number): Buffer => {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return octets;
};

/** A client, and what a server reads of it and says to it. */
function setUp(account: Partial<TurnServer> = {}) {
  const clock = new ManualClock();
  const sent: Buffer[] = [];
  const told: unknown[] = [];
  const relay = new Relay({
    ...{ clock, server: { ...server, ...account } },
    send: (datagram) => sent.push(Buffer.from(datagram)),
    allocated: (...addresses) => told.push(['allocated', ...addresses]),
    failed: (reason) => told.push(['failed', reason]),
    data: (datagram, from) => told.push([Buffer.from(datagram).toString(), from]),
  });
  const valueIn = (message: Buffer, name: number) => attributesOf(message)?.find(({ type }) => type === name)?.value;
  const answer = (type: number, attributes: [number, Uint8Array][], { to = sent.at(-1)!, isProved = false } = {}) => {
    const message = writeMessage(to.readUInt16BE() | type, to.subarray(8, 20), attributes);
    relay.receive(isProved ? proved(message, key) : message);
  };
  const error = (code: number, nonce?: string, about = sent.at(-1)!) => {
    const about401: [number, Uint8Array][] = nonce
      ? [
          [attribute.nonce, text(nonce)],
          [attribute.realm, text(realm)],
        ]
      : [];
    const value = Uint8Array.of(0, 0, Math.floor(code / 100), code % 100);
    answer(0x110, [[attribute.errorCode, value], ...about401], { to: about, isProved: code !== 401 && code !== 438 });
  };
  const place = (address: Address, of: Buffer = sent.at(-1)!) => writeXorAddress(address, of)!;
  const grant = (lifetime = 600, address = relayed) =>
    answer(
      0x100,
      [
        [attribute.relayedAddress, place(address)],
        [attribute.mappedAddress, place(mapped)],
        [attribute.lifetime, word(lifetime)],
      ],
      { isProved: true },
    );
  const types = () => sent.splice(0).map((message) => message.readUInt16BE());
  const allocate = () => {
    relay.open();
    error(401, 'first');
    grant();
    return types();
  };
  return { relay, clock, sent, told, answer, error, grant, place, types, allocate, valueIn };
}

test('RFC 5769 2.1: the request of another implementation has integrity and a fingerprint', () => {
  const request = Buffer.from(
    '000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b151263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf',
    'hex',
  );
  const attributes = attributesOf(request)!;
  const [integrity, fingerprint] = attributes.slice(-2) as [(typeof attributes)[0], (typeof attributes)[0]];
  assert.ok(hasFingerprint(request, fingerprint));
  assert.ok(hasIntegrity(request, integrity, 'VOkJxbRl1RmTxUk/WvJxBt'));
  assert.not(hasIntegrity(request, integrity, 'VOkJxbRl1RmTxUk/WvJxBu'));
  request[30]! ^= 1;
  assert.not(hasFingerprint(request, fingerprint));
});

test('RFC 5769 2.4: the request of another implementation with long-term credentials', () => {
  const request = Buffer.from(
    '000100602112a44278ad3433c6ad72c029da412e00060012e3839ee38388e383aae38383e382af' +
      'e382b900000015001c662f2f3439396b3935346436 4f4c33346f4c394653547679363473410014000b6578616d706c652e6f726700'.replaceAll(
        ' ',
        '',
      ) +
      '00080014f67024656dd64a3e02b8e0712e85c9a28ca89666',
    'hex',
  );
  const integrity = attributesOf(request)!.at(-1)!;
  const name = 'マトリックス';
  assert.is(attributesOf(request)![0]!.value.toString(), name);
  const made = createHash('md5').update(`${name}:example.org:TheMatrIX`).digest();
  assert.ok(hasIntegrity(request, integrity, made));
});

test('it proves itself when it is asked to, and tells the addresses', () => {
  const { relay, sent, told, error, grant, valueIn } = setUp();
  relay.open();
  assert.is(sent.length, 1);
  assert.equal(valueIn(sent[0]!, attribute.requestedTransport), Buffer.from([17, 0, 0, 0]));
  assert.is(valueIn(sent[0]!, attribute.username), undefined);
  error(401, 'first');
  const [, request] = sent as [Buffer, Buffer];
  const at = (name: number) => valueIn(request, name)?.toString();
  assert.equal([attribute.username, attribute.realm, attribute.nonce].map(at), ['desk', 'tests', 'first']);
  const integrity = attributesOf(request)!.at(-2)!;
  assert.ok(hasIntegrity(request, integrity, key));
  grant();
  assert.equal(told, [['allocated', relayed, mapped]]);
  assert.is(relay.state, 'allocated');
});

test('a secret that is shared makes its name and password', () => {
  const { relay, sent, error, valueIn } = setUp({ secret: 'east wind' });
  relay.open();
  error(401, 'first');
  assert.match(valueIn(sent.at(-1)!, attribute.username)!.toString(), /^\d+:hookswitch$/);
});

test('a wrong password, a refusal and a useless answer fail it at once, and silence after four requests', () => {
  const wrong = setUp();
  wrong.relay.open();
  wrong.error(401, 'first');
  wrong.error(401, 'second');
  assert.equal(wrong.told, [['failed', 'it answers 401']]);
  const full = setUp();
  full.relay.open();
  full.error(401, 'first');
  full.error(486);
  assert.equal(full.told, [['failed', 'it answers 486']]);
  const useless = setUp();
  useless.relay.open();
  useless.error(401, 'first');
  useless.answer(0x100, [[attribute.lifetime, word(600)]], { isProved: true });
  assert.equal(useless.told, [['failed', 'its answer has no address']]);
  const silent = setUp();
  silent.relay.open();
  silent.clock.advance(60_000);
  assert.equal(silent.told, [['failed', 'it does not answer']]);
  assert.is(silent.sent.length, 4);
  assert.is(silent.clock.pending, 0);
});

test('an answer that does not prove itself, or is about another request, is none', () => {
  const { relay, told, error, answer, place, sent } = setUp();
  relay.open();
  error(401, 'first');
  answer(0x100, [[attribute.relayedAddress, place(relayed)]]);
  const other = writeMessage(0x0103, Buffer.alloc(12, 9), [[attribute.relayedAddress, place(relayed)]]);
  relay.receive(proved(other, key));
  relay.receive(Buffer.alloc(3));
  relay.receive(sent[0]!.subarray(0, 19));
  assert.equal([told, relay.state], [[], 'proving']);
});

test('it is refreshed before it ends, also with a nonce that was too old, and is lost when the server forgets it', () => {
  const { clock, relay, told, error, answer, types, allocate } = setUp();
  assert.equal(allocate(), [3, 3]);
  told.length = 0;
  clock.advance(539_000);
  assert.equal(types(), []);
  clock.advance(1000);
  error(438, 'second');
  answer(0x100, [[attribute.lifetime, word(600)]], { isProved: true });
  assert.equal([relay.state, types()], ['allocated', [4, 4]]);
  clock.advance(540_000);
  error(437);
  assert.equal([relay.state, told], ['failed', [['failed', 'it answers 437']]]);
  assert.is(clock.pending, 0);
});

test('lifetimes that a server lies about are bounded', () => {
  for (const [said, first] of [
    [0, 15_000],
    [0xffff_ffff, 3_540_000],
  ] as const) {
    const { clock, relay, error, grant, types } = setUp();
    relay.open();
    error(401, 'first');
    grant(said);
    types();
    clock.advance(first - 1);
    assert.equal(types(), []);
    clock.advance(1);
    assert.equal(types(), [4]);
  }
});

test('permissions are asked for once it is there, for 16 addresses, and again before they end', () => {
  const { clock, relay, types, allocate } = setUp();
  relay.permit(['192.0.2.99', '192.0.2.99', 'a name', '2001:db8::1']);
  assert.equal(types(), []);
  assert.equal(allocate(), [3, 3, 8, 8]);
  relay.permit(Array.from({ length: 100 }, (_, index) => `198.51.100.${index}`));
  assert.is(types().length, 13);
  clock.advance(8000);
  types();
  clock.advance(232_000);
  assert.is(types().filter((type) => type === 8).length, 15);
});

test('a permission that is refused costs nothing, and one with an old nonce is asked for once more', () => {
  const { relay, sent, told, error, types, allocate } = setUp();
  allocate();
  told.length = 0;
  relay.permit(['192.0.2.99']);
  error(403);
  relay.permit(['192.0.2.98']);
  error(438, 'second');
  error(438, 'third');
  assert.equal([types(), told, relay.state, sent.length], [[8, 8, 8], [], 'allocated', 0]);
});

test('data goes and comes by indications', () => {
  const { relay, sent, told, allocate, valueIn, place } = setUp();
  relay.send(text('early'), peer);
  assert.is(sent.length, 0);
  allocate();
  told.length = 0;
  relay.send(text('out'), peer);
  const [out] = sent as [Buffer];
  assert.is(out.readUInt16BE(), 0x16);
  assert.equal(valueIn(out, attribute.peerAddress), place(peer, out));
  assert.is(valueIn(out, attribute.data)!.toString(), 'out');
  const incoming = writeMessage(0x17, Buffer.alloc(12, 3), []);
  const data = (from: Buffer) =>
    writeMessage(0x17, Buffer.alloc(12, 3), [
      [attribute.peerAddress, from],
      [attribute.data, text('in')],
    ]);
  relay.receive(data(place(peer, incoming)));
  relay.receive(data(Buffer.alloc(2)));
  relay.receive(incoming);
  assert.equal(told, [['in', peer]]);
});

/** Data of a channel. @param said octets that it says to have. */
const channelData = (number: number, data: string, said = data.length): Buffer =>
  Buffer.concat([Buffer.of(number >> 8, number & 255, said >> 8, said & 255), text(data)]);

const others: Address[] = Array.from({ length: 100 }, (_, index) => ({ address: '192.0.2.50', port: 1000 + index }));

test('the peer that packets go to gets a channel: data has four octets before it, both ways', () => {
  const { relay, sent, told, answer, types, allocate, valueIn, place } = setUp();
  relay.use(peer);
  assert.is(sent.length, 0, 'there is no allocation yet');
  allocate();
  told.length = 0;
  relay.use(peer);
  const [bind] = sent as [Buffer];
  assert.is(bind.readUInt16BE(), 9);
  assert.equal(valueIn(bind, attribute.channelNumber), Buffer.from([0x40, 0, 0, 0]));
  assert.equal(valueIn(bind, attribute.peerAddress), place(peer, bind));
  relay.send(text('before'), peer);
  assert.equal(types(), [9, 0x16]);
  // The server may have granted it: its answer may come behind data.
  relay.receive(channelData(0x4000, 'in'));
  answer(0x100, [], { to: bind, isProved: true });
  relay.send(text('out'), peer);
  assert.equal(sent.pop(), channelData(0x4000, 'out'));
  // Other peers have none.
  relay.send(text('beside'), others[0]!);
  assert.equal(types(), [0x16]);
  assert.equal(told, [['in', peer]]);
});

test('data of channels that we do not have, or that is shorter than it says, is of nobody', () => {
  const { relay, sent, told, answer, allocate } = setUp();
  relay.receive(channelData(0x4000, 'early'));
  allocate();
  told.length = 0;
  relay.use(peer);
  answer(0x100, [], { to: sent[0]!, isProved: true });
  for (const number of [0x4001, 0x4fff, 0x5000, 0x7fff]) relay.receive(channelData(number, 'in'));
  relay.receive(channelData(0x4000, 'in', 3));
  relay.receive(channelData(0x4000, 'in', 65_535));
  for (let octets = 0; octets < 4; octets++) relay.receive(channelData(0x4000, 'in').subarray(0, octets));
  assert.equal(told, []);
  // What is behind it is filling.
  relay.receive(channelData(0x4000, 'in..', 2));
  relay.receive(channelData(0x4000, ''));
  assert.equal(told, [
    ['in', peer],
    ['', peer],
  ]);
  relay.close();
  relay.receive(channelData(0x4000, 'late'));
  assert.is(told.length, 2);
});

test('a channel is bound again before it ends, and no longer once packets go elsewhere', () => {
  const { clock, relay, sent, answer, types, allocate } = setUp();
  allocate();
  relay.use(peer);
  answer(0x100, [], { to: sent[0]!, isProved: true });
  types();
  clock.advance(240_000);
  assert.equal(types(), [9]);
  relay.send(text('out'), peer);
  assert.is(sent.pop()!.readUInt16BE(), 0x4000);
  clock.advance(8000);
  // Four requests without an answer: indications go on.
  assert.equal(types(), [9, 9, 9]);
  relay.send(text('out'), peer);
  assert.equal(types(), [0x16]);
  relay.use(undefined);
  clock.advance(240_000);
  assert.equal(types(), []);
  relay.use(peer);
  assert.equal(types(), [9]);
});

test('a channel that is refused is not asked for again while packets go to and fro, and peers have eight at most', () => {
  const { relay, sent, error, types, allocate } = setUp();
  allocate();
  relay.use(peer);
  error(438, 'second');
  assert.equal(types(), [9, 9]);
  relay.use(others[0]);
  error(403);
  types();
  for (let count = 0; count < 1000; count++) relay.use(others[count % 2 ? 0 : 1]);
  assert.equal(types(), [9]);
  for (const other of others) relay.use(other);
  assert.is(types().length, 5);
  relay.send(text('out'), others.at(-1)!);
  assert.equal(types(), [0x16]);
  relay.use(others[20]);
  assert.is(sent.length, 0);
});

test('over a connection each request is sent once, and its end ends the allocation, once', () => {
  const { relay, clock, sent, told } = setUp({ transport: 'tcp' });
  relay.open();
  clock.advance(60_000);
  assert.equal([sent.length, told], [1, [['failed', 'it does not answer']]]);
  const lost = setUp({ transport: 'tcp' });
  lost.allocate();
  lost.relay.use(peer);
  lost.told.length = 0;
  lost.relay.lost('its connection has ended');
  lost.relay.lost('again');
  lost.relay.send(text('out'), peer);
  assert.equal([lost.told, lost.clock.pending], [[['failed', 'its connection has ended']], 0]);
});

test('it is given back when it is closed, and takes nothing any more', () => {
  const { relay, sent, told, types, allocate, valueIn, place, clock } = setUp();
  allocate();
  told.length = 0;
  relay.close();
  assert.equal(valueIn(sent[0]!, attribute.lifetime), Buffer.alloc(4));
  assert.equal(types(), [4]);
  const incoming = writeMessage(0x17, Buffer.alloc(12, 3), []);
  relay.receive(
    writeMessage(0x17, Buffer.alloc(12, 3), [
      [attribute.peerAddress, place(peer, incoming)],
      [attribute.data, text('in')],
    ]),
  );
  relay.send(text('out'), peer);
  relay.close();
  assert.equal([told, types(), clock.pending], [[], [], 0]);
});

test('every event in every state: what fails or is closed stays so, and is told once', () => {
  const ends = ['failed', 'closed'];
  const can = new Set<string>();
  for (const [state, events] of Object.entries(allocationTable))
    for (const [event, step] of Object.entries(events)) {
      can.add(step!.to);
      // What the server may have is given back; what it never had, not.
      const mayHave = /^(proving|allocated|refreshing)/.test(state);
      if (event === 'close') assert.equal(step, mayHave ? { to: 'closed', act: 'release' } : { to: 'closed' });
      else assert.not(ends.includes(state), `${state} takes ${event}`);
      assert.is(step!.act === 'fail', step!.to === 'failed');
    }
  assert.equal([...can, 'new'].sort(), Object.keys(allocationTable).sort());
});

test('whatever a server says, requests are bounded, and nothing is left when it is closed', () => {
  const codes = [300, 400, 401, 403, 437, 438, 486, 500];
  const act = fc.oneof(
    fc.record({ error: fc.constantFrom(...codes), nonce: fc.constantFrom('a', 'b', '') }),
    fc.record({ grant: fc.constantFrom(0, 600, 0xffff_ffff) }),
    fc.record({ wait: fc.nat(600_000) }),
    fc.record({ noise: fc.uint8Array({ maxLength: 200 }) }),
    fc.record({ permit: fc.constantFrom('192.0.2.1', '192.0.2.2') }),
    fc.record({ use: fc.constantFrom(peer, others[0]!, undefined) }),
    fc.record({ grants: fc.constant(true) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const { clock, relay, sent, told, error, grant, answer } = setUp();
      relay.open();
      for (const each of acts) {
        const before = sent.length;
        if ('error' in each) error(each.error, each.nonce || undefined);
        else if ('grant' in each) grant(each.grant);
        else if ('wait' in each) clock.advance(each.wait);
        else if ('noise' in each) relay.receive(each.noise);
        else if ('use' in each) relay.use(each.use);
        else if ('grants' in each) answer(0x100, [], { isProved: true });
        else relay.permit([each.permit]);
        // At most: permissions of two addresses, and one request for the allocation.
        if (!('wait' in each)) assert.ok(sent.length - before <= 3);
      }
      relay.close();
      assert.is(clock.pending, 0);
      assert.ok(told.filter((what) => (what as string[])[0] === 'failed').length <= 1);
    }),
    { numRuns: 300 },
  );
});

test.run();
