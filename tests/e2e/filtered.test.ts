import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { need } from '../support/need.ts';
import { missingNetworks } from '../support/networks.ts';
import { patienceMs } from '../support/waiting.ts';

const filtered = suite('a browser whose packets pass a filter only after packets of the server');
const chromium = need('chromium');
const needed =
  [chromium, need('unshare'), need('nsenter'), need('ip')].find(({ path }) => path === undefined) ?? chromium;
const title = 'it calls and is called: the server checks its candidates; ICE restarts when its network changes';
const unable = needed.path === undefined ? undefined : missingNetworks();

if (unable !== undefined) process.stdout.write(`not run, as this kernel has no networks for it: ${unable}\n`);
else
  needed.test(filtered, title, async (path) => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
    try {
      const program = [process.execPath, ...nodeArguments('tests/e2e/filtered-calls.ts'), path, directory];
      const { stdout } = await promisify(execFile)('unshare', ['--net', '--mount', '--map-root-user', ...program], {
        timeout: 2 * patienceMs,
      });
      assert.match(stdout, 'the browser has called');
      assert.match(stdout, 'the browser was called');
      assert.match(stdout, 'the browser has told its candidates by INFO');
      assert.match(stdout, 'the browser has changed its network');
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

filtered.run();
