import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { need } from '../support/need.ts';

const full = suite('a disk that is full');

/** As whoever runs the tests, in a name space of one's own, where anybody may mount. */
need('unshare').test(
  full,
  'costs what was to be kept meanwhile, tells of it, and is written to again when it has room',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-full-'));
    try {
      const mounted = 'mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"';
      const program = [process.execPath, ...nodeArguments('tests/stores/full-disk.ts'), directory];
      const said = execFileSync('unshare', ['--mount', '--map-root-user', 'sh', '-c', mounted, directory, ...program], {
        encoding: 'utf8',
      });
      assert.equal(JSON.parse(said), {
        told: [
          ...['audit: ENOSPC', 'journal: ENOSPC', 'recording: disk, no space is left on the disk', 'records: ENOSPC'],
          ...['spool: ENOSPC false', 'undone: one', 'undone: two'],
        ],
        said: true,
        refused: ['storageFailed', 'storageFailed'],
        variables: ['before', 'soon', 'again', 'after'],
        logged: 1,
        audit: [1, 2, 3, 4, 'torn', '60 lost', 5],
        calls: ['first', 'call 2', 'call 3', 'call 4', 'call 5', 'last'],
        records: [1, 'torn', '3 lost', 5],
        log: [1, 'torn', '2 lost', 5],
        waiting: [1, 2, 3, 4],
        spool: [1, 2, 3, 4],
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

full.run();
