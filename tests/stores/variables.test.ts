import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus } from '../../src/bus/bus.ts';
import { createGlobalVariables } from '../../src/stores/variables.ts';
import { createRecordingLog } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

function world() {
  const { log } = createRecordingLog();
  const bus = createBus({ log });
  const published: unknown[] = [];
  bus.subscribe((publication) => void published.push(publication));
  const written: string[] = [];
  const variables = createGlobalVariables({
    bus,
    readFunction: (call) => (call.startsWith('READ(') ? 'read' : undefined),
    writeFunction: (call, value) => {
      written.push(`${call}=${value}`);
      return call.startsWith('KNOWN(') ? undefined : `${call} is not known`;
    },
  });
  return { variables, published, written };
}

const setting = suite('global variables');

setting('global variables are told to those who hear all channels', () => {
  const { variables, published } = world();
  variables.setGlobalVar('A', '1');
  variables.setGlobalVar('__B', '2');
  variables.setGlobalVar('A', undefined);
  variables.setGlobalVar('A', undefined);
  variables.set('C', '');
  variables.set('C', undefined);
  const varset = (variable: string, value: string) => ({
    event: { type: 'ChannelVarset', variable, value },
    topics: ['channel:'],
  });
  assert.equal(published, [varset('A', '1'), varset('__B', '2'), varset('A', ''), varset('C', '')]);
  assert.equal(variables.getGlobalVar('B'), { value: '2' });
  assert.equal(variables.getGlobalVar('A'), { value: '' });
  assert.is(variables.get('A'), undefined);
  assert.is(variables.get('_B'), '2');
});

setting('a global variable needs a name, and a function that cannot be written is refused', () => {
  const { variables, written } = world();
  for (const name of [undefined, '']) {
    assert.equal(
      refusal(() => variables.getGlobalVar(name)),
      [400, 'Variable name is required'],
    );
    assert.equal(
      refusal(() => variables.setGlobalVar(name, 'x')),
      [400, 'Variable name is required'],
    );
  }
  assert.equal(
    [variables.getGlobalVar('READ(a)'), variables.getGlobalVar('OTHER(a)')],
    [{ value: 'read' }, { value: '' }],
  );
  variables.setGlobalVar('KNOWN(a)', 'x');
  assert.equal(
    refusal(() => variables.setGlobalVar('OTHER(a)', undefined)),
    [400, 'Failed to execute function: OTHER(a) is not known'],
  );
  assert.equal(written, ['KNOWN(a)=x', 'OTHER(a)=']);
  assert.equal(variables.getGlobalVar('KNOWN(a)'), { value: '' });
});

setting.run();
