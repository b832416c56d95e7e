import { once } from 'node:events';
import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeBindingResponse, writeXorAddress } from '../../../src/lib/stun.ts';
import type { PacketListener, PacketSocket } from '../../../src/media/rtp/sockets.ts';
import { Gathering, type GatheringTerms } from '../../../src/media/webrtc/gathering.ts';
import { attribute, writeMessage } from '../../../src/media/webrtc/stun-message.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';

const test = suite('the candidates of a port');

const stun = { address: '192.0.2.7', port: 3478 };
const turn = {
  ...{ address: '192.0.2.8', port: 3478, username: 'desk', password: 'north wind', secret: '' },
  ...{ messageBytes: 4096, unsentBytes: 262_144, permissions: 16 },
};
const mapped = { address: '198.51.100.1', port: 4000 };
const relayed = { address: '203.0.113.7', port: 50_000 };

function setUp(terms: Partial<GatheringTerms>) {
  const clock = new ManualClock();
  const sent: { datagram: Buffer; to: string }[] = [];
  const failed: string[] = [];
  let listener: PacketListener | undefined;
  const socket: PacketSocket = {
    port: 4000,
    send: (datagram, port, address) => sent.push({ datagram: Buffer.from(datagram), to: `${address}:${port}` }),
    listen: (next) => {
      listener = next;
    },
    close: () => undefined,
  };
  const gathering = new Gathering(socket, { waitMs: 1200, ...terms, clock, failed: (reason) => failed.push(reason) });
  const answerStun = (to = sent.find((each) => each.to === '192.0.2.7:3478')!.datagram, from = stun) =>
    listener?.(writeBindingResponse(to, mapped)!, from.address, from.port);
  const answerTurn = () => {
    const { datagram } = sent.find((each) => each.to === '192.0.2.8:3478')!;
    const answer = writeMessage(0x0103, datagram.subarray(8, 20), [
      [attribute.relayedAddress, writeXorAddress(relayed, datagram)!],
      [attribute.mappedAddress, writeXorAddress(mapped, datagram)!],
    ]);
    listener?.(answer, turn.address, turn.port);
  };
  return { gathering, clock, sent, failed, answerStun, answerTurn };
}

test('it waits for what both servers say; of two addresses as others see it, one counts', async () => {
  const { gathering, clock, sent, answerStun, answerTurn, failed } = setUp({ stun, turn });
  const opened = gathering.open();
  assert.equal(sent.map(({ to }) => to).sort(), ['192.0.2.7:3478', '192.0.2.8:3478']);
  answerStun();
  answerTurn();
  assert.equal(await opened, [
    { type: 'srflx', ...mapped },
    { type: 'relay', ...relayed },
  ]);
  gathering.close();
  assert.equal([failed, clock.pending], [[], 0]);
});

test('servers that do not answer are waited for no longer than its terms say, and the log says which', async () => {
  const { gathering, clock, sent, failed } = setUp({ stun, turn });
  const opened = gathering.open();
  clock.advance(1200);
  assert.equal(await opened, []);
  assert.is(sent.filter(({ to }) => to === '192.0.2.7:3478').length, 3);
  // The TURN server may still answer: then it is asked to the end, which is bounded as well.
  clock.advance(60_000);
  assert.equal(failed, ['the STUN server does not answer', 'the TURN server is of no use: it does not answer']);
  assert.is(sent.filter(({ to }) => to === '192.0.2.7:3478').length, 3);
  assert.is(clock.pending, 0);
});

test('what others send is not of the servers; an answer to another request says nothing', () => {
  const { gathering, sent, answerStun } = setUp({ stun });
  void gathering.open();
  const other = Buffer.from(sent[0]!.datagram);
  other[19]! ^= 1;
  answerStun(other);
  answerStun(undefined, { ...stun, port: 3479 });
  assert.is(gathering.hears(Buffer.alloc(8), stun.address, stun.port), true);
  assert.is(gathering.hears(sent[0]!.datagram, mapped.address, mapped.port), false);
  gathering.close();
});

test('a TURN server that is reached by TCP says nothing of the port, and the port is not asked for it', async () => {
  const server = createServer((far) => {
    far.once('data', (request) =>
      far.write(
        writeMessage(0x0103, request.subarray(8, 20), [
          [attribute.relayedAddress, writeXorAddress(relayed, request)!],
          [attribute.mappedAddress, writeXorAddress(mapped, request)!],
        ]),
      ),
    );
    far.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { gathering, sent, failed } = setUp({ turn: { ...turn, address: '127.0.0.1', port, transport: 'tcp' } });
  assert.equal(await gathering.open(), [{ type: 'relay', ...relayed }]);
  assert.is(gathering.hears(Buffer.alloc(20), '127.0.0.1', port), false);
  gathering.close();
  assert.equal([sent, failed], [[], []]);
  await new Promise((resolve) => server.close(resolve));
});

test('a connection to a TURN server that is lost is told, and the call goes on without it', async () => {
  const server = createServer((far) => far.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { gathering, failed } = setUp({ turn: { ...turn, address: '127.0.0.1', port, transport: 'tcp' } });
  assert.equal(await gathering.open(), []);
  assert.match(failed.join(), /^the TURN server is of no use: /);
  gathering.close();
  await new Promise((resolve) => server.close(resolve));
});

test('one that is closed meanwhile ends at once', async () => {
  const { gathering, clock } = setUp({ stun, turn });
  const opened = gathering.open();
  gathering.close();
  assert.equal(await opened, []);
  assert.is(clock.pending, 0);
});

test.run();
