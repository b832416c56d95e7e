import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { refusal } from '../support/refusal.ts';

type World = { directory: string };
const logging = suite<World>('log channels');

logging.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-log-'));
});
logging.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

function open(directory: string, clock: Clock = systemClock) {
  const shown: string[] = [];
  const channels = createLogChannels({
    directory,
    console: { write: (line) => void shown.push(JSON.parse(line).msg) },
    consoleLevels: ['NOTICE', 'WARNING', 'ERROR'],
    clock,
  });
  const log = createLogger({ level: 'trace', destination: channels.destination });
  const read = (name: string): string[] =>
    readFileSync(join(directory, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).msg);
  return { channels, log, shown, read };
}

logging('so many files may be open and no more, that the system always has some left for calls', async (world) => {
  const { channels } = open(world.directory);
  for (let number = 0; number < 100; number++) channels.add(`log-${number}`, 'error');
  assert.is(refusal(() => channels.add('one-more', 'error'))?.[0], 500);
  assert.not(readdirSync(world.directory).includes('one-more'));
  channels.delete('log-0');
  channels.add('one-more', 'error');
  await channels.close();
});

logging('a file takes the lines of its levels, the console all of them', async ({ directory }) => {
  const { channels, log, shown, read } = open(directory);
  channels.add('trouble', 'warning, Error');
  channels.add('sub/all', '*');
  const child = log.child({ part: 'x' });
  log.trace({}, 'traced');
  log.debug({}, 'debugged');
  child.info({}, 'informed');
  child.warn({}, 'warned');
  log.error({}, 'failed');
  await channels.close();
  assert.equal(read('trouble'), ['warned', 'failed']);
  assert.equal(read('sub/all'), ['traced', 'debugged', 'informed', 'warned', 'failed']);
  assert.equal(shown, ['traced', 'debugged', 'informed', 'warned', 'failed']);
});

logging('channels are listed with the levels in the order of Asterisk', async ({ directory }) => {
  const { channels } = open(directory);
  channels.add('a', 'error,dtmf,verbose(3),notice,debug,,');
  assert.equal(channels.list(), [
    { channel: '', type: 'Console', status: 'Enabled', configuration: 'NOTICE WARNING ERROR ' },
    {
      channel: join(directory, 'a'),
      type: 'File',
      status: 'Enabled',
      configuration: 'DEBUG NOTICE ERROR VERBOSE DTMF ',
    },
  ]);
  await channels.close();
});

logging('one that is deleted is written no more, and its name is free again', async ({ directory }) => {
  const { channels, log, read } = open(directory);
  channels.add('a', 'notice');
  log.info({}, 'one');
  channels.delete('a');
  log.info({}, 'two');
  channels.add('a', 'notice');
  log.info({}, 'three');
  await channels.close();
  // Two files in turn: on a busy machine the second may be written first.
  assert.equal(read('a').sort(), ['one', 'three']);
});

logging('rotation puts the file aside and loses no line', async ({ directory }) => {
  const { channels, log, read } = open(directory);
  channels.add('a', 'notice');
  log.info({}, 'one');
  channels.rotate('a');
  log.info({}, 'two');
  channels.rotate('a');
  log.info({}, 'three');
  await channels.close();
  assert.equal(readdirSync(directory).sort(), ['a', 'a.0', 'a.1']);
  assert.equal([read('a.0'), read('a.1'), read('a')], [['one'], ['two'], ['three']]);
});

logging('a file whose disk was full goes on by itself, and says how many lines it lost', async ({ directory }) => {
  const clock = new ManualClock();
  const { channels, log, read } = open(directory, clock);
  const status = () => channels.list()[1]?.status;
  const failing = async () => {
    while (status() !== 'Disabled') await new Promise((resolve) => setImmediate(resolve));
  };
  symlinkSync('/dev/full', join(directory, 'a'));
  channels.add('a', 'notice');
  log.info({}, 'one');
  await failing();
  log.info({}, 'two');
  // Still full after a second: the next attempt is two seconds later.
  clock.advance(1_000);
  assert.is(status(), 'Enabled');
  log.info({}, 'three');
  await failing();
  rmSync(join(directory, 'a'));
  clock.advance(1_999);
  assert.is(status(), 'Disabled');
  clock.advance(1);
  assert.is(status(), 'Enabled');
  log.info({}, 'four');
  log.info({}, 'five');
  await channels.close();
  assert.equal(read('a'), ['log lines were lost: the disk did not take them', 'four', 'five']);
  const [told = ''] = readFileSync(join(directory, 'a'), 'utf8').split('\n');
  assert.is(JSON.parse(told).lost, 3);
  assert.is(clock.pending, 0);
});

logging('refusals come in the words of Asterisk', async ({ directory }) => {
  const { channels } = open(directory);
  writeFileSync(join(directory, 'file'), '');
  channels.add('a', 'notice');
  const add = (name: string, levels?: string) => refusal(() => channels.add(name, levels));
  assert.equal(add('b'), [400, 'Configuration levels are required']);
  assert.equal(add('b', ' , '), [400, 'Configuration levels are required']);
  assert.equal(add('b', 'notice,loud'), [
    400,
    "Configuration level 'loud' is not known: levels are debug, trace, notice, warning, error, verbose, dtmf, *",
  ]);
  for (const name of ['a', 'x/../a', 'console', 'Console'])
    assert.equal(add(name, 'notice'), [409, 'Log channel already exists'], name);
  for (const name of ['../b', '/etc/b', '..', '.', '', 'b\0c'])
    assert.equal(add(name, 'notice'), [400, `Log channel name '${name}' is outside the log directory`], name);
  assert.equal(add('file/b', 'notice'), [500, 'Allocation failed']);
  for (const name of ['b', 'console', '../b']) {
    assert.equal(
      refusal(() => channels.delete(name)),
      [404, 'Log channel does not exist'],
    );
    assert.equal(
      refusal(() => channels.rotate(name)),
      [404, 'Log channel does not exist'],
    );
  }
  assert.is(channels.list().length, 2);
  rmSync(join(directory, 'a'));
  assert.equal(
    refusal(() => channels.rotate('a')),
    [500, 'Allocation failed'],
  );
  await channels.close();
});

logging.run();
