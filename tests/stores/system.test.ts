import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus } from '../../src/bus/bus.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { createSystem } from '../../src/stores/system.ts';
import { createGlobalVariables } from '../../src/stores/variables.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

function world() {
  const { log } = createRecordingLog();
  const variables = createGlobalVariables({ bus: createBus({ log }) });
  const clock = new ManualClock();
  const build = { os: 'Linux', kernel: '6', options: '', machine: 'x86_64', date: '', user: '' };
  const system = createSystem({
    clock,
    entityId: '02:00:00:00:00:01',
    version: '0.1.0',
    build,
    name: 'here',
    defaultLanguage: 'en',
    setid: { user: 'u', group: 'g' },
    limits: { max_channels: 100, max_open_files: 0, max_load: 0 },
    variables,
  });
  return { system, variables, clock, build };
}

const systems = suite('system');

systems('answers a ping with its id and the time', () => {
  const { system, clock } = world();
  clock.advance(1_000);
  assert.equal(system.ping(), {
    asterisk_id: '02:00:00:00:00:01',
    ping: 'pong',
    timestamp: formatTimestamp(clock.now()),
  });
});

systems('tells what it is, in the sections asked for, without limits that are not set', () => {
  const { system, clock, build } = world();
  const startup = formatTimestamp(clock.now());
  clock.advance(60_000);
  const whole = {
    build,
    system: { version: '0.1.0', entity_id: '02:00:00:00:00:01' },
    config: { name: 'here', default_language: 'en', setid: { user: 'u', group: 'g' }, max_channels: 100 },
    status: { startup_time: startup, last_reload_time: startup },
  };
  assert.equal(system.info(undefined), whole);
  assert.equal(system.info(['STATUS', 'nonsense', 'system']), { system: whole.system, status: whole.status });
  assert.equal(system.info(['nonsense']), {});
});

systems('global variables are read and written through it', () => {
  const { system, variables } = world();
  system.setGlobalVar('A', '1');
  assert.is(variables.get('A'), '1');
  assert.equal(system.getGlobalVar('A'), { value: '1' });
});

systems.run();
