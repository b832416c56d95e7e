import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { freePort } from '../support/sipp.ts';

const speech = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));
const phones = suite<{ files: CertificateFiles; tls: object; ca: string }>('phones over TLS with SRTP');

phones.before((world) => {
  const authority = new Authority();
  world.files = new CertificateFiles();
  world.ca = world.files.authority(authority);
  world.tls = { certificates: [world.files.pair('own', authority.sign('127.0.0.1'))], authorities: [world.ca] };
});
phones.after(({ files }) => files.close());

/** A program that is a phone without a person; what it writes explains a test that failed. */
function run(server: TestServer, program: string, args: string[], directory: string, env = process.env) {
  const phone = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
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
  return phone;
}

/** baresip, registered over TLS, that answers by itself and speaks a prompt. */
async function startBaresip(program: string, server: TestServer, ca: string, encryption: string) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));
  const lines = [
    'module_path /usr/lib/baresip/modules',
    `sip_listen 127.0.0.1:${await freePort()}`,
    `sip_cafile ${ca}`,
    'net_interface 127.0.0.1',
    `audio_source aufile,${speech}`,
    'module g711.so',
    'module aufile.so',
    'module srtp.so',
    'module_tmp account.so',
    'module_app menu.so',
    '',
  ];
  writeFileSync(join(directory, 'config'), lines.join('\n'));
  writeFileSync(join(directory, 'contacts'), '');
  const media = encryption === '' ? '' : `;mediaenc=${encryption}`;
  writeFileSync(
    join(directory, 'accounts'),
    `<sip:alice@${server.sip('tls')};transport=tls>;auth_user=alice;auth_pass=wonderland;regint=600;answermode=auto${media}\n`,
  );
  return run(server, program, ['-f', directory, '-v'], directory);
}

const alice = (media_encryption: string) => ({
  alice: { auth: { username: 'alice', password: 'wonderland' }, aor: { qualify_frequency: 60 }, media_encryption },
});

/** Calls Alice, plays a prompt, and counts what came and went. */
async function talk(server: TestServer): Promise<{ heard: boolean; spoke: boolean }> {
  const app = await server.app('desk', { subscribeAll: true });
  await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Reachable');
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await app.ok('POST', `/channels/${id}/play?media=sound:hello-world`);
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
  const figures = await app.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${id}/rtp_statistics`);
  await app.ok('DELETE', `/channels/${id}`);
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
  return { heard: figures.rxcount > 10, spoke: figures.txcount > 10 };
}

for (const [ours, theirs] of [
  ['required', 'srtp-mand'],
  ['best_effort', 'srtp'],
  ['best_effort', ''],
  ['required', 'srtp'],
] as const)
  need('baresip').test(
    phones,
    `baresip talks over TLS: we ${ours}, it ${theirs || 'has no encryption'}`,
    async (program, { tls, ca }) => {
      await onServer({ endpoints: alice(ours), tls }, async (server) => {
        await startBaresip(program, server, ca, theirs);
        assert.equal(await talk(server), { heard: true, spoke: true });
      });
    },
  );

need('baresip').test(
  phones,
  'a phone without encryption is not called where it is required',
  async (program, { tls, ca }) => {
    await onServer({ endpoints: alice('required'), tls }, async (server) => {
      await startBaresip(program, server, ca, '');
      const app = await server.app('desk', { subscribeAll: true });
      await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Reachable');
      const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
      const { cause } = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
      assert.is.not(cause, 16);
    });
  },
);

phones.run();
