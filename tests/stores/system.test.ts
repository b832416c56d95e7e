import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus } from '../../src/bus/bus.ts';
import type { Logger } from '../../src/lib/log.ts';
import { AriError } from '../../src/models/errors.ts';
import type { Module } from '../../src/models/system.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { createModules } from '../../src/stores/modules.ts';
import { createSounds } from '../../src/stores/sounds.ts';
import { createSystem } from '../../src/stores/system.ts';
import { createGlobalVariables } from '../../src/stores/variables.ts';
import { ManualClock } from '../support/manual-clock.ts';

const silent = () => undefined;
const log: Logger = { trace: silent, debug: silent, info: silent, warn: silent, error: silent, child: () => log };

const refusal = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error instanceof AriError ? [error.status, error.message] : error;
  }
  return undefined;
};

function world() {
  const bus = createBus({ log });
  const published: unknown[] = [];
  bus.subscribe((publication) => void published.push(publication));
  const written: string[] = [];
  const variables = createGlobalVariables({
    bus,
    writeFunction: (call, value) => {
      written.push(`${call}=${value}`);
      return call.startsWith('KNOWN(');
    },
  });
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
  return { system, variables, published, written, clock, build };
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

systems('global variables are told to those who hear all channels', () => {
  const { system, variables, published } = world();
  system.setGlobalVar('A', '1');
  system.setGlobalVar('__B', '2');
  system.setGlobalVar('A', undefined);
  system.setGlobalVar('A', undefined);
  variables.set('C', '');
  variables.set('C', undefined);
  const varset = (variable: string, value: string) => ({
    event: { type: 'ChannelVarset', variable, value },
    topics: ['channel:'],
  });
  assert.equal(published, [varset('A', '1'), varset('__B', '2'), varset('A', ''), varset('C', '')]);
  assert.equal(system.getGlobalVar('B'), { value: '2' });
  assert.equal(system.getGlobalVar('A'), { value: '' });
  assert.is(variables.get('A'), undefined);
  assert.is(variables.get('_B'), '2');
});

systems('a global variable needs a name, and a function that cannot be written is refused', () => {
  const { system, written } = world();
  for (const name of [undefined, '']) {
    assert.equal(
      refusal(() => system.getGlobalVar(name)),
      [400, 'Variable name is required'],
    );
    assert.equal(
      refusal(() => system.setGlobalVar(name, 'x')),
      [400, 'Variable name is required'],
    );
  }
  system.setGlobalVar('KNOWN(a)', 'x');
  assert.equal(
    refusal(() => system.setGlobalVar('OTHER(a)', undefined)),
    [400, 'Failed to execute function'],
  );
  assert.equal(written, ['KNOWN(a)=x', 'OTHER(a)=']);
  assert.equal(system.getGlobalVar('KNOWN(a)'), { value: '' });
});

systems('modules are listed and cannot be changed', () => {
  const sip: Module = {
    name: 'sip',
    description: 'SIP phones and trunks',
    use_count: 3,
    status: 'Running',
    support_level: 'core',
  };
  const modules = createModules(() => [sip]);
  assert.equal(modules.list(), [sip]);
  assert.equal(modules.get('sip'), sip);
  assert.equal(
    refusal(() => modules.get('x')),
    [404, 'Module could not be found in running modules'],
  );
  assert.equal(
    refusal(() => modules.load('sip')),
    [409, 'Module is already loaded'],
  );
  assert.equal(
    refusal(() => modules.load('x')),
    [409, 'Module could not be loaded properly'],
  );
  assert.equal(
    refusal(() => modules.unload('sip')),
    [409, 'Module could not be unloaded'],
  );
  assert.equal(
    refusal(() => modules.unload('x')),
    [404, 'Module not found in running modules'],
  );
  assert.equal(
    refusal(() => modules.reload('sip')),
    [409, 'Module does not support reloading'],
  );
  assert.equal(
    refusal(() => modules.reload('x')),
    [404, 'Module not found in running modules'],
  );
});

systems('sounds are filtered by language and format, and none is a refusal', () => {
  const beep = { id: 'beep', formats: [{ language: 'en', format: 'wav' }] };
  const hello = {
    id: 'hello-world',
    text: 'Hello world',
    formats: [
      { language: 'en', format: 'wav' },
      { language: 'en', format: 'ulaw' },
      { language: 'de', format: 'wav' },
    ],
  };
  const sounds = createSounds(() => [beep, hello]);
  assert.equal(sounds.list({}), [beep, hello]);
  assert.equal(sounds.list({ lang: 'de' }), [{ ...hello, formats: [{ language: 'de', format: 'wav' }] }]);
  assert.equal(sounds.list({ lang: 'en', format: 'ulaw' }), [
    { ...hello, formats: [{ language: 'en', format: 'ulaw' }] },
  ]);
  assert.equal(
    refusal(() => sounds.list({ lang: 'de', format: 'ulaw' })),
    [404, 'No sounds found that matched the query'],
  );
  assert.equal(sounds.get('hello-world'), hello);
  assert.equal(
    refusal(() => sounds.get('nothing')),
    [404, 'Sound not found'],
  );
  const unread = createSounds(() => undefined);
  assert.equal(
    refusal(() => unread.list({})),
    [500, 'Sounds index not available'],
  );
  assert.equal(
    refusal(() => unread.get('beep')),
    [500, 'Sounds index not available'],
  );
});

systems.run();
