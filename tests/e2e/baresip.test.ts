import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';
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

/** Starts a phone that registers as `name`; `command` is what its user enters once it runs. */
async function startPhone(program: string, server: TestServer, name: string, command?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));
  writeFileSync(join(directory, 'config'), config(await freePort()));
  writeFileSync(join(directory, 'contacts'), '');
  writeFileSync(
    join(directory, 'accounts'),
    `<sip:${name}@${server.sip()};transport=udp>;auth_user=${name};auth_pass=wonderland;regint=600;answermode=auto\n`,
  );
  const phone = spawn(program, ['-f', directory, '-v', ...(command ? ['-e', command] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
  return { phone, ended };
}

need('baresip').test(phones, 'it registers, answers OPTIONS, is called, talks and is hung up', async (program) => {
  const endpoints = {
    alice: {
      auth: { username: 'alice', password: 'wonderland' },
      aor: { qualify_frequency: 60 },
    },
  };
  await onServer({ endpoints }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const { phone, ended } = await startPhone(program, server, 'alice');

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

need('baresip').test(phones, 'two of them call each other by number, without any application', async (program) => {
  const phone = (name: string) => ({ auth: { username: name, password: 'wonderland' }, aor: {} });
  const dialplan = { default: { '201': ['Dial(PJSIP/alice,30)'], '202': ['Dial(PJSIP/bob,30)'] } };
  await onServer({ dialplan, endpoints: { alice: phone('alice'), bob: phone('bob') } }, async (server) => {
    const watcher = await server.app('watcher', { subscribeAll: true });
    await startPhone(program, server, 'bob');
    await watcher.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'bob');
    await startPhone(program, server, 'alice', `/dial sip:202@${server.sip()}`);
    const { bridge, channel } = await watcher.waitFor(
      'ChannelEnteredBridge',
      (event) => event.bridge.channels.length === 2,
    );
    assert.is(bridge.bridge_class, 'basic');
    assert.match(channel?.name ?? '', /^PJSIP\/bob-/);
    // Each hears the other: what one sends goes out to the other, until enough was counted.
    const figures = (id: string) =>
      watcher.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${id}/rtp_statistics`);
    const enough = async (id: string): Promise<void> => {
      for (let seen = await figures(id); seen.rxcount < 20 || seen.txcount < 20; ) seen = await figures(id);
    };
    for (const id of bridge.channels) await enough(id);
    const [alice = '', bob = ''] = bridge.channels;
    const seen = await watcher.ok<{ connected: { number: string } }>('GET', `/channels/${alice}`);
    assert.is(seen.connected.number, '202');
    await watcher.ok('DELETE', `/channels/${bob}`);
    await watcher.waitFor('BridgeDestroyed');
    await watcher.waitFor('ChannelDestroyed', ({ channel: gone }) => gone.id === alice);
  });
});

phones.run();
