import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { waitedForCores, watchCores } from '../../src/lib/core-pressure.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A watch over a machine whose waiting time the test adds up; undefined: it does not tell. */
function world() {
  const clock = new ManualClock();
  const machine: { waited: number | undefined; reads: number } = { waited: 0, reads: 0 };
  const cores = watchCores(clock, () => {
    machine.reads++;
    return machine.waited;
  });
  /** Whether cores are free after a second in which tasks waited so many ms. */
  const second = (waitedMs: number): boolean => {
    clock.advance(1000);
    if (machine.waited !== undefined) machine.waited += 1000 * waitedMs;
    return cores.areFree();
  };
  return { clock, machine, cores, second };
}

test('cores are free while tasks wait at most a quarter of the time', () => {
  const { cores, second } = world();
  assert.is(cores.areFree(), false, 'nothing is known at first');
  assert.is(second(250), true);
  assert.is(second(251), false);
  assert.is(second(0), true);
});

test('the system is asked four times a second at most', () => {
  const { clock, machine, cores, second } = world();
  cores.areFree();
  assert.is(second(0), true);
  for (let count = 0; count < 1000; count++) cores.areFree();
  assert.is(machine.reads, 2);
  clock.advance(250);
  cores.areFree();
  assert.is(machine.reads, 3);
});

test('no core is free where the system does not tell, or stops telling', () => {
  const { machine, second } = world();
  machine.waited = undefined;
  assert.is(second(0), false);
  assert.is(second(0), false);
  machine.waited = 5;
  assert.is(second(0), false);
  assert.is(second(0), true);
});

test('waiting times only grow', () => {
  const before = waitedForCores();
  const after = waitedForCores();
  if (before === undefined) assert.is(after, undefined);
  else assert.ok((after ?? -1) >= before);
});

test.run();
