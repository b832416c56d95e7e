import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { defaults } from '../../src/config/load.ts';
import { startServer } from '../../src/main.ts';
import { need } from '../support/need.ts';
import { patienceMs } from '../support/waiting.ts';

test('recordings that a crash left unfinished are there after the next start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-leftovers-'));
  const recordings = join(directory, 'recordings');
  mkdirSync(join(recordings, 'mail'), { recursive: true });
  writeFileSync(join(recordings, 'mail', 'half.ulaw.part'), 'said so far');
  const config = defaults();
  Object.assign(config.general, { data_directory: directory, log_level: 'silent' });
  config.http.port = 0;
  config.http.users = [{ name: 'a', password: 'b', read_only: false, may_register: false }];
  config.sip.transports = [{ protocol: 'udp', bind: '127.0.0.1', port: 0 }];
  config.media.rtp_ports = [0, 0];
  config.recordings.directory = recordings;
  const server = await startServer(config);
  try {
    const answer = await fetch(`${server.addresses.http}/recordings/stored`, {
      headers: { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` },
    });
    assert.equal(await answer.json(), [{ name: 'mail/half', format: 'ulaw' }]);
    assert.equal(readdirSync(join(recordings, 'mail')), ['half.ulaw']);
  } finally {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  }
});

need('unshare').test(
  test,
  'a disk that is full in the middle of a recording fails it and nothing else',
  async (unshare) => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-full-'));
    // A disk of 48 KiB in a namespace of its own, which ends with the program.
    const mounted = 'mount -t tmpfs -o size=48k tmpfs "$0" && exec "$@"';
    const program = [process.execPath, ...nodeArguments('tests/e2e/record-on-full-disk.ts'), directory];
    const args = ['-rm', 'sh', '-c', mounted, directory, ...program];
    const { stdout } = await promisify(execFile)(unshare, args, { timeout: 2 * patienceMs });
    assert.match(stdout, /done\n$/);
    rmSync(directory, { recursive: true, force: true });
  },
);

test.run();
