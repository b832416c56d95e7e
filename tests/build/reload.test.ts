import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createReload, type Reloadable } from '../../src/build/reload.ts';
import { defaults } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';

const reloads = suite('what takes up a configuration');

reloads('a part that refuses is told with its reason, keeps what it had, and is asked again; others follow', () => {
  const start = defaults();
  const asked: string[] = [];
  let reason: string | undefined = 'the disk is full';
  const part = (setting: string, apply: (next: Config) => void = () => {}): Reloadable => ({
    settings: [setting],
    apply(next) {
      asked.push(setting);
      apply(next);
    },
  });
  const refusing = part('audit', () => {
    if (reason !== undefined) throw new Error(reason);
  });
  const reload = createReload({ config: start }, [refusing, part('bans'), part('general.channelvars')]);
  const next = structuredClone(start);
  next.audit.file = '/somewhere';
  next.audit.files = 3;
  next.bans.ignore_after = 7;
  next.general.pretty = !next.general.pretty;
  assert.equal(reload(next), {
    applied: ['bans.ignore_after'],
    needRestart: ['general.pretty'],
    refused: [{ settings: ['audit.file', 'audit.files'], reason: 'the disk is full' }],
  });
  assert.equal(asked, ['audit', 'bans']);
  reason = undefined;
  assert.equal(reload(next), { applied: ['audit.file', 'audit.files'], needRestart: ['general.pretty'] });
  assert.equal(asked, ['audit', 'bans', 'audit']);
  assert.equal(reload(next), { applied: [], needRestart: ['general.pretty'] });
});

reloads('where two parts follow one setting, it is in force when neither refuses', () => {
  const start = defaults();
  const willing: Reloadable = { settings: ['dialplan'], apply() {} };
  const refusing: Reloadable = {
    settings: ['dialplan'],
    apply() {
      throw 'no';
    },
  };
  const next = structuredClone(start);
  next.dialplan['other'] = { s: ['Hangup'] };
  assert.equal(createReload({ config: start }, [willing, refusing])(next), {
    ...{ applied: [], needRestart: [], refused: [{ settings: ['dialplan.other'], reason: 'no' }] },
  });
});

reloads('what takes a while is told later: what is refused then is as it was, and asked again', async () => {
  const start = defaults();
  let outcome = Promise.reject<void>(new Error('no socket'));
  const asked: string[] = [];
  const slow: Reloadable = {
    settings: ['recorder.hep'],
    apply(next) {
      asked.push(next.recorder.hep.address);
      return outcome;
    },
  };
  const reload = createReload({ config: start }, [slow, { settings: ['recorder'], apply() {} }]);
  const next = structuredClone(start);
  next.recorder.hep.address = '192.0.2.7';
  next.recorder.memory = 5;
  const { later, ...report } = reload(next);
  assert.equal(report, { applied: ['recorder.memory', 'recorder.hep.address'], needRestart: [] });
  assert.equal(await later, [{ settings: ['recorder.hep.address'], reason: 'no socket' }]);
  outcome = Promise.resolve();
  const again = reload(next);
  assert.equal(again.applied, ['recorder.hep.address']);
  assert.equal(await again.later, []);
  assert.equal(reload(next), { applied: [], needRestart: [] });
  assert.equal(asked, ['192.0.2.7', '192.0.2.7']);
});

reloads.run();
