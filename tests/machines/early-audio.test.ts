import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EarlyAudioEvent, earlyAudioMachine, earlyAudioTable } from '../../src/machines/early-audio.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: EarlyAudioEvent['type'][]) => afterEvents(earlyAudioTable, 'quiet', ...types);
const chart = suite('early audio chart');

chart('one called party is heard at a time', () => {
  assert.equal(after('callee.audible'), ['hearing', 'hearCallee']);
  assert.equal(after('callee.audible', 'callee.audible'), ['hearing']);
  assert.equal(after('callee.audible', 'heard.over'), ['quiet', 'hearNobody']);
  assert.equal(after('heard.over'), ['quiet']);
});

chart('ringing is signalled once', () => {
  assert.equal(after('callee.rings'), ['ringing', 'tellRinging']);
  assert.equal(after('callee.rings', 'callee.rings'), ['ringing']);
  assert.equal(after('callee.rings', 'heard.over'), ['ringing']);
  assert.equal(after('callee.rings', 'callee.audible'), ['hearingAndRinging', 'hearCallee']);
  assert.equal(after('callee.audible', 'callee.rings'), ['hearingAndRinging', 'tellRingingBeforeAnswer']);
  for (const type of ['callee.rings', 'callee.audible'] as const)
    assert.equal(after('callee.audible', 'callee.rings', type), ['hearingAndRinging']);
  assert.equal(after('callee.audible', 'callee.rings', 'heard.over'), ['ringing', 'hearNobody']);
});

chart('nobody is heard after the Dial', () => {
  assert.equal(after('dial.over'), ['over']);
  assert.equal(after('callee.rings', 'dial.over'), ['over']);
  assert.equal(after('callee.audible', 'dial.over'), ['over', 'hearNobody']);
  assert.equal(after('callee.audible', 'callee.rings', 'dial.over'), ['over', 'hearNobody']);
  assert.equal(after('dial.over', 'callee.audible'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(earlyAudioMachine, 'quiet'));

chart.run();
