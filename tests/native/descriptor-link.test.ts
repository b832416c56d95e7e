import { once } from 'node:events';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type DescriptorLink,
  DescriptorLink as Link,
  type LinkMessage,
  mostDescriptors,
  openLink,
} from '../../src/native/descriptor-link.ts';
import { loadHandoverCalls } from '../../src/native/handover-calls.ts';
import { HeldDescriptors } from '../../src/native/held-descriptors.ts';
import { InheritedSockets, newInheritedTable } from '../../src/native/inherited.ts';
import { HeldListeningSockets } from '../../src/native/listening.ts';
import { loadSystemCalls } from '../../src/native/system-calls.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';

const calls = await loadHandoverCalls();
const system = await loadSystemCalls();

function openPair(): { near: DescriptorLink; far: DescriptorLink; close(): void } {
  const { link: near, other } = openLink(calls);
  const far = new Link(calls, other);
  return {
    ...{ near, far },
    close: () => {
      closeSync(near.descriptor);
      closeSync(other);
    },
  };
}

const link = suite('descriptor link');

link('passes texts whole, in order, with copies of descriptors', () => {
  const { near, far, close } = openPair();
  const file = openSync(import.meta.filename, 'r');
  assert.ok(near.send('first'));
  assert.ok(near.send('second', [file, file]));
  assert.equal(far.receive(), { text: 'first', descriptors: [] });
  const { text, descriptors } = far.receive() as LinkMessage;
  assert.equal([text, descriptors.length], ['second', 2]);
  assert.equal(
    descriptors.map((each) => fstatSync(each).ino),
    [fstatSync(file).ino, fstatSync(file).ino],
  );
  assert.is(far.receive(), undefined);
  for (const each of [...descriptors, file]) closeSync(each);
  close();
});

link('one message takes as many descriptors as are allowed', () => {
  const { near, far, close } = openPair();
  const file = openSync(import.meta.filename, 'r');
  assert.ok(near.send('all', new Array(mostDescriptors).fill(file)));
  const got = far.receive();
  assert.is(got?.descriptors.length, mostDescriptors);
  for (const each of [...got!.descriptors, file]) closeSync(each);
  close();
});

link('a listener hears what was sent before the other end was closed, and then the end', async () => {
  const { link: near, other } = openLink(calls);
  const far = new Link(calls, other);
  const file = openSync(import.meta.filename, 'r');
  far.send('one', [file]);
  far.send('two');
  closeSync(other);
  const heard: unknown[] = [];
  await new Promise<void>((resolve) =>
    near.listen((message) => {
      if (!message) return resolve();
      heard.push([message.text, message.descriptors.length]);
      message.descriptors.forEach(closeSync);
    }),
  );
  assert.equal(heard, [
    ['one', 1],
    ['two', 0],
  ]);
  assert.not(near.send('three'));
  closeSync(near.descriptor);
  closeSync(file);
});

link.run();

const held = suite('held sockets');

/** Main threads of one process after the other, which have one holder. */
function createProcess(inheritedFrom: readonly number[] = []) {
  const sent: { drop: readonly number[]; sockets: number[] }[] = [];
  const clock = new ManualClock();
  const inherited = new InheritedSockets(newInheritedTable());
  const holding = new HeldDescriptors(
    {
      send: (text, descriptors = []) => {
        sent.push({ drop: JSON.parse(text).drop ?? [], sockets: descriptors.map((each) => fstatSync(each).ino) });
        return true;
      },
    },
    clock,
  );
  const listening = new HeldListeningSockets({ calls: system, handover: calls, inherited, held: holding });
  listening.inherit(inheritedFrom);
  return { sent, clock, listening, holding };
}
const copy = (descriptor: number): number => calls.fcntl(descriptor, 1030, 0);
const anyPort = { host: '127.0.0.1', port: 0, ipv6Only: false };
const portOf = (descriptor: number): number => {
  const octets = new Uint8Array(28);
  system.getsockname(descriptor, octets, new Uint32Array([28]));
  return new DataView(octets.buffer).getUint16(2);
};

held('an established connection is left to the next process at once, which holds it no longer', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await Promise.all([accepted, once(client, 'connect')]);
  const descriptor = (client as unknown as { _handle: { fd: number } })._handle.fd;
  const { ino } = fstatSync(descriptor);
  const first = createProcess();
  first.listening.leave([descriptor]);
  assert.equal(first.sent, [{ drop: [], sockets: [ino] }]);
  const second = createProcess([copy(descriptor)]);
  const [left, ...more] = second.listening.takeLeft();
  assert.equal([fstatSync(left!).ino, more, second.listening.takeLeft()], [ino, [], []]);
  second.clock.advance(100);
  assert.equal(second.sent, [{ drop: [ino], sockets: [] }]);
  // One that nobody takes is closed with the rest.
  const third = createProcess([left!]);
  third.listening.closeRest();
  assert.throws(() => fstatSync(left!), /EBADF/);
  client.destroy();
  (await accepted)[0].destroy();
  server.close();
});

held('a socket is held a moment after it was opened, and not when it was closed before', () => {
  const { sent, clock, holding } = createProcess();
  const [first, second] = [openSync(import.meta.filename, 'r'), openSync(import.meta.filename, 'r')];
  holding.hold(first);
  holding.hold(second);
  holding.drop(first);
  assert.equal(sent, []);
  clock.advance(100);
  const { ino } = fstatSync(second);
  assert.equal(sent, [{ drop: [], sockets: [ino] }]);
  holding.drop(second);
  clock.advance(100);
  assert.equal(sent.slice(1), [{ drop: [ino], sockets: [] }]);
  closeSync(first);
  closeSync(second);
});

held('the next process takes up the sockets on its addresses and closes the others', () => {
  const first = createProcess();
  const opened = (['datagrams', 'connections', 'datagrams'] as const).map((use) => first.listening.open(use, anyPort));
  const ports = opened.map(portOf);
  const next = createProcess(opened.map(copy));
  const taken = (['datagrams', 'connections'] as const).map((use, at) =>
    next.listening.open(use, { ...anyPort, port: ports[at]! }),
  );
  assert.equal(
    taken.map((each) => fstatSync(each).ino),
    opened.slice(0, 2).map((each) => fstatSync(each).ino),
  );
  next.listening.closeRest();
  assert.equal(
    next.sent.flatMap(({ drop }) => drop),
    [fstatSync(opened[2]!).ino],
  );
  for (const each of [...opened, ...taken]) closeSync(each);
});

held('an address is known on which a socket is left, until that is taken up', () => {
  const socket = createProcess().listening.open('datagrams', anyPort);
  const at = { ...anyPort, port: portOf(socket) };
  const { listening } = createProcess([copy(socket)]);
  const isLeft = (): boolean[] => [
    listening.isLeft('datagrams', at),
    listening.isLeft('connections', at),
    listening.isLeft('datagrams', { ...at, host: '127.0.0.2' }),
    listening.isLeft('datagrams', { ...at, host: 'nowhere' }),
  ];
  assert.equal(isLeft(), [true, false, false, false]);
  const taken = listening.open('datagrams', at);
  assert.equal(isLeft(), [false, false, false, false]);
  for (const each of [socket, taken]) closeSync(each);
});

held('an address in use is refused by its code', () => {
  const { listening } = createProcess();
  const socket = listening.open('datagrams', anyPort);
  const other = createProcess();
  try {
    assert.throws(
      () => other.listening.open('datagrams', { ...anyPort, port: portOf(socket) }),
      (error: NodeJS.ErrnoException) => error.code === 'EADDRINUSE',
    );
  } finally {
    closeSync(socket);
  }
});

held('an address that is opened again in one process is the same socket', () => {
  const { listening } = createProcess();
  const probe = listening.open('connections', anyPort);
  const port = portOf(probe);
  const other = createProcess([copy(probe)]);
  const [one, two] = [0, 0].map(() => other.listening.open('connections', { ...anyPort, port }));
  assert.is(fstatSync(one!).ino, fstatSync(two!).ino);
  for (const each of [probe, one!, two!]) closeSync(each);
});

held.run();
