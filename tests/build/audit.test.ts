import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildAudit } from '../../src/build/audit.ts';
import { defaults } from '../../src/config/load.ts';
import { Scope } from '../../src/lib/scope.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const directory = mkdtempSync(join(tmpdir(), 'hookswitch-audit-'));
const audits = suite('the file of the audit log');
audits.after(() => rmSync(directory, { recursive: true, force: true }));

/** A configuration whose audit log is this file. */
const withFile = (file: string) => {
  const config = defaults();
  config.audit.file = file;
  return config;
};

audits('one that cannot be opened at a reload is refused, and the old one stays with its bounds', async () => {
  const { log, lines } = createRecordingLog();
  const scope = new Scope();
  const first = join(directory, 'first');
  const audit = buildAudit({ config: withFile(first), clock: new ManualClock(), log, scope });
  audit.write('one\n');
  const within = join(first, 'within');
  for (const { apply } of audit.reloads)
    assert.throws(
      () => apply(withFile(within)),
      (error: Error) => error.message === `${within} has a file on its way where a directory should be`,
    );
  audit.write('two\n');
  assert.equal([audit.on, audit.figures()], [true, { lines: 2, lost: 0 }]);
  await scope.close();
  assert.equal(lines, []);
  assert.is(readFileSync(first, 'utf8'), 'one\ntwo\n');
});

audits.run();
