import { createSocket } from 'node:dgram';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RTPstat } from '../../src/models/rtp-statistics.ts';
import { startBaresipProgram } from '../support/baresip.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** Phones with a camera that nobody wrote for these tests: whom one sees is known by the size of the picture that it takes of it. */
const calls = suite('video calls of baresip');

const password = 'wonderland';
const cameras = { alice: '320 x 240', bob: '352 x 288', carol: '176 x 144' } as const;
type Name = keyof typeof cameras;
const endpoints = Object.fromEntries(
  Object.keys(cameras).map((name) => [
    name,
    { auth: { username: name, password }, video_codecs: ['vp8'], max_video_streams: 3 },
  ]),
);
const dialplan = { default: { '_X.': ['Stasis(desk)'] } };

/** Five minutes of silence, or of a hum: a phone hangs up when it has nothing more to say. */
function sound(directory: string, name: string, amplitude: number): string {
  const seconds = 300;
  const octets = seconds * 16_000;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + octets, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(octets, 40);
  const second = Int16Array.from({ length: 8000 }, (_, at) => amplitude * Math.sin((2 * Math.PI * 440 * at) / 8000));
  const file = join(directory, `${name}.wav`);
  writeFileSync(file, Buffer.concat([header, ...Array<Buffer>(seconds).fill(Buffer.from(second.buffer))]));
  return file;
}

/** Lets phones in, each with the codecs of its own. */
async function stage(server: TestServer, program: string) {
  const app = await server.app('desk');
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-video-'));
  server.closing({ close: () => rmSync(directory, { recursive: true, force: true }) });
  const [silence, hum] = [sound(directory, 'silence', 0), sound(directory, 'hum', 8000)];
  const console = createSocket('udp4');
  server.closing({ close: () => console.close() });
  /** Calls in, is answered and joins a bridge. */
  const enter = async (name: Name, codecs: readonly string[] = ['vp8']) => {
    const port = await freePort();
    const phone = server.closing(
      await startBaresipProgram(program, {
        account: `<sip:${name}@${server.sip()};transport=udp>;auth_user=${name};auth_pass=${password};regint=0`,
        modules: [...codecs.map((codec) => `${codec}.so`), 'fakevideo.so', 'snapshot.so', 'cons.so'],
        settings: [
          `audio_source aufile,${silence}`,
          'video_source fakevideo,nil',
          'video_display fakevideo,nil',
          `video_size ${cameras[name].replaceAll(' ', '')}`,
          `cons_listen 127.0.0.1:${port}`,
          'video_fps 10',
          'video_bitrate 300000',
        ],
        command: `/dial sip:100@${server.sip()}`,
      }),
    );
    const { channel } = await app.waitFor('StasisStart', (event) => event.channel.name.startsWith(`PJSIP/${name}`));
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('POST', `/bridges/b1/addChannel?channel=${channel.id}`);
    let taken = 0;
    /** Takes pictures of what it sees until that is the picture of one. */
    const sees = async (whom: Name) => {
      for (let shown = ''; shown !== cameras[whom]; ) {
        const file = join(directory, `${name}-${taken++}.png`);
        console.send(`/snapshot_recv ${file}\n`, port, '127.0.0.1');
        await phone.until(new RegExp(`png: wrote ${file}`));
        const picture = readFileSync(file);
        // It says so before all of it is in the file.
        if (picture.length >= 24) shown = `${picture.readUInt32BE(16)} x ${picture.readUInt32BE(20)}`;
      }
    };
    const says = (file: string) => console.send(`/ausrc aufile,${file}\n`, port, '127.0.0.1');
    return { id: channel.id, sees, says };
  };
  return { app, enter, silence, hum };
}

const baresip = need('baresip');

baresip.test(
  calls,
  'phones see each other: two of them, three of whom two talk in turn or all are shown one, and three in a video_sfu',
  (program) =>
    onServer({ dialplan, endpoints }, async (server) => {
      const { app, enter, silence, hum } = await stage(server, program);
      await app.ok('POST', '/bridges/b1?type=mixing');
      const [alice, bob] = [await enter('alice'), await enter('bob')];
      await Promise.all([alice.sees('bob'), bob.sees('alice')]);
      const carol = await enter('carol');
      // Who talks is shown to the others, and sees who talked before.
      alice.says(hum);
      await Promise.all([bob.sees('alice'), carol.sees('alice')]);
      alice.says(silence);
      bob.says(hum);
      await Promise.all([alice.sees('bob'), carol.sees('bob'), bob.sees('alice')]);
      bob.says(silence);
      await app.ok('POST', `/bridges/b1/videoSource/${carol.id}`);
      await Promise.all([alice.sees('carol'), bob.sees('carol')]);
      await app.ok('DELETE', '/bridges/b1/videoSource');
      await app.ok('POST', '/bridges/b2?type=video_sfu');
      const everybody = [alice, bob, carol].map(({ id }) => id);
      await app.ok('POST', `/bridges/b2/addChannel?channel=${everybody.join()}`);
      // Each has one screen: it shows who came first.
      await Promise.all([alice.sees('bob'), bob.sees('alice'), carol.sees('alice')]);
      for (const id of everybody) await app.ok('DELETE', `/channels/${id}`);
      for (const id of ['b1', 'b2']) await app.ok('DELETE', `/bridges/${id}`);
      await server.settle();
    }),
);

baresip.test(calls, 'a phone that has several codecs changes to the one of whom it meets', (program) => {
  const both = { alice: { ...endpoints['alice'], video_codecs: ['vp9', 'vp8'] } };
  return onServer({ dialplan, endpoints: { ...endpoints, ...both } }, async (server) => {
    const { app, enter } = await stage(server, program);
    await app.ok('POST', '/bridges/b1?type=mixing');
    const alice = await enter('alice', ['vp9', 'vp8']);
    const codec = async () => {
      const { video: [own] = [] } = await app.ok<RTPstat>('GET', `/channels/${alice.id}/rtp_statistics`);
      return own?.codec;
    };
    assert.is(await codec(), 'vp9');
    const bob = await enter('bob');
    await Promise.all([alice.sees('bob'), bob.sees('alice')]);
    assert.is(await codec(), 'vp8');
    for (const { id } of [alice, bob]) await app.ok('DELETE', `/channels/${id}`);
    await app.ok('DELETE', '/bridges/b1');
    await server.settle();
  });
});

calls.run();
