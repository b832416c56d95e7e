import { EventEmitter } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { hostSockets, RelayedSockets, type RelayPort } from '../../../src/media/rtp/relayed-sockets.ts';
import type { PacketListener, Sockets } from '../../../src/media/rtp/sockets.ts';

/** Two ends of a channel that passes messages, as copies, when `pass` is called. */
function channel() {
  const ends = [new EventEmitter(), new EventEmitter()] as const;
  const waiting: (() => void)[] = [];
  const port = (own: EventEmitter, other: EventEmitter) =>
    ({
      postMessage: (message: unknown) => waiting.push(() => other.emit('message', structuredClone(message))),
      on: own.on.bind(own),
      close: () => own.removeAllListeners(),
    }) as unknown as RelayPort;
  const pass = async () => {
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      for (const deliver of waiting.splice(0)) deliver();
      await new Promise(setImmediate);
    }
  };
  return { here: port(ends[0], ends[1]), there: port(ends[1], ends[0]), pass };
}

/** Sockets that note what is done with them; port 9 is taken. */
function notedSockets() {
  const noted: unknown[] = [];
  const listeners: (PacketListener | undefined)[] = [];
  const sockets: Sockets = {
    async bind(address, port) {
      if (port === 9) throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
      noted.push(['bind', address, port]);
      return {
        port,
        send: (packet, to, host) => noted.push(['send', port, [...packet], host, to]),
        listen: (listener) => listeners.push(listener),
        close: () => noted.push(['close', port]),
      };
    },
  };
  return { sockets, noted, listeners };
}

/** Packets that may be under way. */
const mostRelayed = 100;

async function relayed() {
  const { here, there, pass } = channel();
  const held = notedSockets();
  const close = hostSockets(held.sockets, { port: here, clock: systemClock, most: mostRelayed });
  const sockets = new RelayedSockets({ port: there, clock: systemClock, most: mostRelayed });
  const bind = async (port: number) => {
    const bound = sockets.bind('127.0.0.1', port);
    bound.catch(() => {});
    await pass();
    return bound;
  };
  return { ...held, bind, pass, close };
}

test('packets of a socket that another thread holds pass both ways, whole and in order', async () => {
  const { bind, pass, noted, listeners } = await relayed();
  const socket = await bind(4000);
  const heard: unknown[] = [];
  socket.listen((packet, address, port) => heard.push([[...packet], address, port]));
  const octets = new Uint8Array([1, 2]);
  socket.send(octets, 5000, '127.0.0.2');
  octets[0] = 9;
  socket.send(octets, 5000, '127.0.0.2');
  listeners[0]!(new Uint8Array([3]), '127.0.0.3', 6000);
  await pass();
  socket.send(new Uint8Array([7]), 5000, '127.0.0.2');
  socket.close();
  socket.close();
  socket.send(octets, 5000, '127.0.0.2');
  await pass();
  assert.equal(heard, [[[3], '127.0.0.3', 6000]]);
  assert.equal(noted, [
    ['bind', '127.0.0.1', 4000],
    ['send', 4000, [1, 2], '127.0.0.2', 5000],
    ['send', 4000, [9, 2], '127.0.0.2', 5000],
    ['send', 4000, [7], '127.0.0.2', 5000],
    ['close', 4000],
  ]);
});

test('a port that is taken is refused with its code through the relay', async () => {
  const { bind } = await relayed();
  const error = await bind(9).then(
    () => undefined,
    (thrown: unknown) => thrown as NodeJS.ErrnoException,
  );
  assert.equal([error?.code, error?.message], ['EADDRINUSE', 'taken']);
});

test('a relay drops packets beyond its bound, and goes on when the other thread has taken the waiting ones', async () => {
  const { bind, pass, noted, listeners } = await relayed();
  const socket = await bind(4000);
  let heard = 0;
  socket.listen(() => heard++);
  for (let round = 1; round <= 2; round++) {
    for (let packet = 0; packet < mostRelayed + 10; packet++) {
      listeners[0]!(new Uint8Array(1), '127.0.0.1', 5000);
      socket.send(new Uint8Array(1), 5000, '127.0.0.1');
    }
    await pass();
    assert.is(heard, round * mostRelayed);
    assert.is(noted.length - 1, round * mostRelayed);
  }
});

test('when a thread is gone all sockets that were held for it are closed', async () => {
  const { bind, noted, close } = await relayed();
  await bind(4000);
  await bind(4001);
  close();
  assert.equal(noted.slice(2), [
    ['close', 4000],
    ['close', 4001],
  ]);
});

test.run();
