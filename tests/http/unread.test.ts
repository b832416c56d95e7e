import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createUnread, type UnreadExcess } from '../../src/http/unread.ts';

/** Outputs that hold what the test says, and whoever was cut. */
function createOutputs(limits: { socket: number; total: number; address: number }) {
  const unread = createUnread(limits);
  const cut: [name: string, excess: UnreadExcess, octets: number][] = [];
  const open = (name: string, address: string) => {
    const state = { octets: 0 };
    const watched = unread.watch({
      address,
      unread: () => state.octets,
      cut: (excess, octets) => cut.push([name, excess, octets]),
    });
    return {
      write(octets: number) {
        state.octets += octets;
        watched.wrote();
      },
      read(octets: number) {
        state.octets -= octets;
      },
      close: watched.remove,
    };
  };
  return { open, cut };
}

const unread = suite('unread output');

unread('one that falls too far behind is cut, once', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 1000, address: 1000 });
  const slow = open('slow', 'a');
  slow.write(100);
  assert.equal(cut, []);
  slow.write(1);
  slow.write(1);
  assert.equal(cut, [['slow', 'socket', 101]]);
});

unread('many that stay below their own bound cannot take more than the whole: the furthest behind goes', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 250, address: 250 });
  const outputs = [80, 90, 70].map((octets, at) => [open(`s${at}`, `address ${at}`), octets] as const);
  for (const [output, octets] of outputs) output.write(octets);
  assert.equal(cut, []);
  open('last', 'elsewhere').write(20);
  assert.equal(cut, [['s1', 'total', 90]]);
});

unread('an address that takes more than its share pays for it itself', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 1000, address: 150 });
  const other = open('other', 'b');
  other.write(100);
  const [one, two] = [open('one', 'a'), open('two', 'a')];
  one.write(90);
  two.write(61);
  assert.equal(cut, [['one', 'address', 90]]);
  two.write(30);
  assert.equal(cut.length, 1);
});

unread('what has been read meanwhile does not count', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 150, address: 150 });
  const outputs = Array.from({ length: 50 }, (_, at) => open(`s${at}`, 'a'));
  for (const output of outputs) {
    output.write(100);
    output.read(100);
  }
  assert.equal(cut, []);
});

unread('one that is gone counts no longer, and nothing is done for it', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 150, address: 150 });
  const gone = open('gone', 'a');
  gone.write(90);
  gone.close();
  gone.close();
  open('new', 'a').write(100);
  gone.write(500);
  assert.equal(cut, []);
});

unread('one that says goodbye still counts, and is the first to go when room is needed', () => {
  const { open, cut } = createOutputs({ socket: 100, total: 150, address: 150 });
  open('leaving', 'a').write(120);
  open('new', 'b').write(40);
  assert.equal(cut, [
    ['leaving', 'socket', 120],
    ['leaving', 'total', 120],
  ]);
});

unread.run();
