import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RelayedWire } from '../../src/media/external/relayed-wire.ts';
import { SocketRelay } from '../../src/media/external/socket-relay.ts';
import type { RelayedIn, RelayedOut } from '../../src/media/protocol.ts';
import type { ArrivedSocket } from '../../src/telephony/external.ts';

const bound = 10_000;
const local = { address: '127.0.0.1', port: 8088 };

/** A relay with its socket and its session; what is under way between the threads waits until it is passed on. */
function open() {
  const toSession: RelayedIn[] = [];
  const toSocket: RelayedOut[] = [];
  const untaken: (() => void)[] = [];
  const heard: (Uint8Array | string)[] = [];
  const sent: (Uint8Array | string)[] = [];
  const events: string[] = [];
  let listener: Parameters<ArrivedSocket['listen']>[0] | undefined;
  const relay = new SocketRelay(
    {
      local,
      listen: (given) => {
        listener = given;
      },
      send(message, taken) {
        sent.push(message);
        untaken.push(taken);
      },
      pause: () => events.push('pause'),
      resume: () => events.push('resume'),
      end: () => events.push('end'),
    },
    (each) => toSession.push(each),
    bound,
  );
  const wire = new RelayedWire(
    {
      opened: ({ port }) => events.push(`opened ${port}`),
      received: (octets) => heard.push(octets),
      told: (text) => heard.push(text),
      closed: (reason) => events.push(`closed: ${reason}`),
    },
    (each) => toSocket.push(each),
    bound,
  );
  return {
    wire,
    events,
    heard,
    sent,
    socket: listener!,
    /** The session's thread gets what is under way. */
    passIn: () => {
      for (const each of toSession.splice(0)) wire.hear(each);
    },
    /** The socket's thread gets what is under way. */
    passOut: () => {
      for (const each of toSocket.splice(0)) relay.hear(each);
    },
    /** The far side reads. */
    read: () => {
      for (const taken of untaken.splice(0)) taken();
    },
  };
}

test('a session that takes no more data stops the reading of its socket, and gets all of it later', () => {
  const { events, heard, socket, passIn, passOut } = open();
  passIn();
  for (let at = 0; at < 30; at++) socket.received(at % 2 ? `text ${at}` : new Uint8Array(1000).fill(at));
  assert.equal(events, [`opened ${local.port}`, 'pause']);
  passIn();
  passOut();
  assert.equal(events, [`opened ${local.port}`, 'pause', 'resume']);
  assert.is(heard.length, 30);
  assert.equal(heard[28], new Uint8Array(1000).fill(28));
  assert.is(heard[29], 'text 29');
});

test('a session knows how much of what it said nobody has read', () => {
  const { wire, sent, passIn, passOut, read } = open();
  wire.send('too early');
  assert.is(wire.unsent, 0);
  passIn();
  for (let count = 0; count < 20; count++) wire.send(new Uint8Array(936));
  assert.is(wire.unsent, 20_000);
  passOut();
  passIn();
  assert.is(sent.length, 20);
  assert.is(wire.unsent, 20_000, 'the socket has it, the far side has not');
  read();
  passIn();
  assert.ok(wire.unsent < bound / 4, `${wire.unsent} octets`);
});

test('the end of the socket is told once, and nothing after the end of the session', () => {
  const closed = open();
  closed.passIn();
  closed.socket.closed('gone');
  closed.passIn();
  closed.wire.send('nobody hears it');
  assert.equal(closed.events, [`opened ${local.port}`, 'closed: gone']);
  const ended = open();
  ended.passIn();
  ended.wire.end();
  ended.socket.received('nobody hears it');
  ended.socket.closed('gone');
  ended.passIn();
  assert.equal(ended.events, [`opened ${local.port}`]);
  assert.equal(ended.heard, []);
});

test.run();
