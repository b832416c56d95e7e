import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaults } from '../../src/config/load.ts';
import { startServer } from '../../src/main.ts';

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

test.run();
