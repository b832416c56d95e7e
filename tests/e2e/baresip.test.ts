import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { onServer } from '../support/server.ts';
import { freePort } from '../support/sipp.ts';

const speech = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));
const phones = suite('baresip, a phone that nobody wrote for these tests');

/** What baresip needs to be a phone without a person: it answers by itself and speaks a prompt. */
const config = (port: number): string => `
module_path /usr/lib/baresip/modules
sip_listen 127.0.0.1:${port}
net_interface 127.0.0.1
audio_source aufile,${speech}
module g711.so
module aufile.so
module_tmp account.so
module_app menu.so
`;

need('baresip').test(phones, 'it registers, answers OPTIONS, is called, talks and is hung up', async (program) => {
  const endpoints = {
    alice: {
      auth: { username: 'alice', password: 'wonderland' },
      aor: { qualify_frequency: 60 },
    },
  };
  await onServer({ endpoints }, async (server) => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));
    writeFileSync(join(directory, 'config'), config(await freePort()));
    writeFileSync(join(directory, 'contacts'), '');
    writeFileSync(
      join(directory, 'accounts'),
      `<sip:alice@${server.sip()};transport=udp>;auth_user=alice;auth_pass=wonderland;regint=600;answermode=auto\n`,
    );
    const app = await server.app('desk', { subscribeAll: true });
    const phone = spawn(program, ['-f', directory, '-v'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let written = '';
    for (const stream of [phone.stdout, phone.stderr]) stream.on('data', (chunk) => (written += String(chunk)));
    const ended = once(phone, 'close');
    server.closing({
      explain: () => written,
      async close() {
        phone.kill('SIGKILL');
        await ended;
        rmSync(directory, { recursive: true, force: true });
      },
    });

    const reachable = await app.waitFor(
      'ContactStatusChange',
      ({ contact_info }) => contact_info.contact_status === 'Reachable',
    );
    assert.is(reachable.contact_info.aor, 'alice');
    assert.ok(Number(reachable.contact_info.roundtrip_usec) > 0, 'its answer took some time');

    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    await app.ok('POST', `/channels/${id}/play?media=sound:hello-world`);
    await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
    const statistics = await app.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${id}/rtp_statistics`);
    assert.ok(statistics.rxcount > 10, `${statistics.rxcount} packets came while the prompt was played`);
    assert.ok(statistics.txcount > 10, `${statistics.txcount} packets of the prompt were sent`);
    await app.ok('DELETE', `/channels/${id}`);
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);

    // Told to end it unregisters, as a phone does that is switched off.
    phone.kill('SIGTERM');
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Removed');
    await ended;
  });
});

phones.run();
