import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CallMark, callMarkOctets, readCallMark } from '../../src/lib/call-mark.ts';
import type { Logger } from '../../src/lib/log.ts';
import { Blame } from '../../src/supervision/blame.ts';
import { HeldSockets } from '../../src/supervision/held-sockets.ts';

const holder = suite('sockets of a supervisor');
const open = (): number => openSync(import.meta.filename, 'r');
/** Two files have two inodes; a file opened twice has one. */
const openOther = (): number => openSync(new URL('../native/descriptor-link.test.ts', import.meta.url), 'r');
const quiet = { warn: () => {} } as unknown as Logger;

holder('are held once each, given to the next server, and closed when they are dropped', () => {
  const held = new HeldSockets(10, quiet);
  const [first, again, second] = [open(), open(), openOther()];
  held.take({}, [first, again, second]);
  assert.is(held.size, 2);
  assert.not(existsSync(`/proc/self/fd/${again}`));
  const sent: (readonly number[])[] = [];
  assert.is(held.sendTo({ send: (_, descriptors = []) => sent.push(descriptors) > 0 }), 1);
  assert.equal(sent, [[first, second]]);
  held.take({ drop: [fstatSync(first).ino, 1] }, []);
  assert.equal([held.size, existsSync(`/proc/self/fd/${first}`)], [1, false]);
  closeSync(second);
});

holder('beyond the bound are closed, which is logged once', () => {
  const logged: object[] = [];
  const held = new HeldSockets(1, { warn: (fields: object) => logged.push(fields) } as unknown as Logger);
  const [first, second, third] = [open(), openOther(), openOther()];
  held.take({}, [first, second, third]);
  assert.equal([held.size, existsSync(`/proc/self/fd/${second}`), logged], [1, false, [{ most: 1 }]]);
  closeSync(first);
});

holder('of servers before make room, unless the present one has taken them up', () => {
  const logged: object[] = [];
  const held = new HeldSockets(2, { warn: (fields: object) => logged.push(fields) } as unknown as Logger);
  const openTest = (name: string) => openSync(new URL(`../${name}.test.ts`, import.meta.url), 'r');
  const all = ['cli', 'signals', 'architecture', 'native/descriptor-link'].map(openTest);
  const [taken, left, third, fourth] = all as [number, number, number, number];
  const isOpen = (descriptor: number) => existsSync(`/proc/self/fd/${descriptor}`);
  held.take({}, [taken, left]);
  held.sendTo({ send: () => true });
  // The next server takes up one.
  held.take({}, [openTest('cli')]);
  held.take({}, [third]);
  assert.equal([taken, left, third].map(isOpen), [true, false, true]);
  held.take({}, [fourth]);
  assert.equal([isOpen(fourth), held.size, logged], [false, 2, [{ most: 2 }]]);
  for (const descriptor of [taken, third]) closeSync(descriptor);
});

holder('that cannot all be sent are told', () => {
  const held = new HeldSockets(10, quiet);
  const descriptor = open();
  held.take({}, [descriptor]);
  assert.is(held.sendTo({ send: () => false }), undefined);
  closeSync(descriptor);
});

holder.run();

const blame = suite('blame for crashes');

blame('a call that was worked on in as many crashes as are allowed is left out of the next start', () => {
  const counts = new Blame();
  assert.equal(
    [counts.count('channel a', 3), counts.count('channel b', 3), counts.count('channel a', 3)],
    [false, false, false],
  );
  assert.equal([counts.count('channel a', 3), counts.left], [true, ['channel a']]);
  counts.forgetLeft();
  assert.equal([counts.left, counts.count('channel a', 3)], [[], false]);
});

blame('the mark names what began first, until it is over', () => {
  const memory = new Uint8Array(callMarkOctets);
  const mark = new CallMark(memory);
  assert.is(readCallMark(memory), undefined);
  mark.begin('channel', '1764.1');
  mark.begin('leg', 'other');
  assert.is(readCallMark(memory), 'channel 1764.1');
  mark.end();
  assert.is(readCallMark(memory), 'channel 1764.1');
  mark.end();
  assert.is(readCallMark(memory), undefined);
  mark.begin('channel', 'x'.repeat(1_000));
  assert.is(readCallMark(memory)?.length, callMarkOctets - 1);
});

blame.run();
