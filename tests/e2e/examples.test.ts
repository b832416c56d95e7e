import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { Program } from '../support/program.ts';
import { amplitude, decodeUlaw, tone, tonesIn } from '../support/rtp-audio.ts';
import { onServer, password, type TestServer } from '../support/server.ts';
import { type Colour, clipOf } from '../support/video/clips.ts';
import { decode, framesOf } from '../support/video/pictures.ts';
import { VideoPeer } from '../support/video/video-peer.ts';

/** The programs of `examples`, as they are, with phones that speak SIP and RTP. */
const examples = suite('examples');

const pitches = [400, 700, 1100] as const;
const beep = 1000;

type World = {
  server: TestServer;
  example: Program;
  /** A phone that calls; with `bob`, the one that is called. */
  phone(number: string, videos?: readonly VideoPeer[]): Promise<Phone>;
};

/** A test of one example, which logs in as the user that the server has by itself. */
const test = (file: string, title: string, body: (world: World) => Promise<void>, settings = {}) =>
  examples(`${file}: ${title}`, () => run(file, body, settings));

async function run(file: string, body: (world: World) => Promise<void>, settings = {}): Promise<void> {
  const bobsPort = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'], video_codecs: ['vp8'], max_video_streams: 3 },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
  };
  await onServer({ endpoints, users: [{ name: 'hookswitch', password }] }, async (server) => {
    const environment = { HOOKSWITCH_URL: new URL(server.url).origin, HOOKSWITCH_PASSWORD: password, ...settings };
    const example = server.closing(new Program(`examples/${file}.ts`, [], environment));
    await example.until(/waiting for calls/);
    const phone = async (number: string, videos: readonly VideoPeer[] = []) =>
      server.closing(await Phone.open(number, server.sip(), number === 'bob' ? bobsPort : 0, videos));
    await body({ server, example, phone });
    assert.not.match(example.written, /^\w*Error: /m);
  });
}

const asked = (server: TestServer, method: string, path: string): Promise<Response> => {
  const authorization = `Basic ${Buffer.from(`hookswitch:${password}`).toString('base64')}`;
  return fetch(`${server.url}${path}`, { method, headers: { authorization } });
};

const storedRecordings = async (server: TestServer) =>
  (await (await asked(server, 'GET', '/recordings/stored')).json()) as { name: string }[];

/** Whether a phone has ever heard a tone in what it received, in pieces of 200 ms. */
function everHeard({ audio }: Phone, hertz: number): boolean {
  const samples = Int16Array.from(audio.audio(), decodeUlaw);
  const pieces = Array.from({ length: Math.floor(samples.length / 1600) }, (_, index) =>
    samples.subarray(index * 1600, (index + 1) * 1600),
  );
  return pieces.some((piece) => amplitude(piece, hertz) > 1000);
}

test('dial-and-bridge', 'caller and callee hear each other, and end together', async ({ example, phone }) => {
  const caller = await phone('4711');
  const bob = await phone('bob');
  await caller.call('100');
  assert.ok(bob.inCall);
  caller.audio.hum(400);
  bob.audio.hum(700);
  await Promise.all([caller.audio.hears([700], pitches), bob.audio.hears([400], pitches)]);
  bob.hangup();
  await caller.over();
  await example.until(/4711 calls PJSIP\/bob\n.*they talk\n.*they have gone\n/s);
});

test('dial-and-bridge', 'a caller who gives up ends the ringing, too', async ({ example, phone }) => {
  const caller = await phone('4711');
  const bob = await phone('bob');
  bob.answers = false;
  const refused = caller.call('100').catch(() => 'gone');
  await bob.until(() => bob.rings, 'a call');
  caller.hangup();
  await bob.until(() => !bob.rings, 'the end of the ringing');
  await refused;
  await example.until(/4711 calls/);
});

test('conference', 'everyone hears the others and not itself', async ({ example, phone }) => {
  const guests = await Promise.all(['11', '12', '13'].map((number) => phone(number)));
  for (const guest of guests) await guest.call('800');
  for (const [index, { audio }] of guests.entries()) audio.hum(pitches[index]!);
  await Promise.all(
    guests.map(({ audio }, index) =>
      audio.hears(
        pitches.filter((_, other) => other !== index),
        pitches,
      ),
    ),
  );
  for (const [index, guest] of guests.entries())
    assert.not(everHeard(guest, pitches[index]!), `${guest.number} heard itself`);
  guests[0]!.hangup();
  await Promise.all([guests[1]!.audio.hears([1100], pitches), guests[2]!.audio.hears([700], pitches)]);
  for (const guest of guests.slice(1)) guest.hangup();
  await example.until(/guests: 3\n.*guests: 0\n/s);
});

test('conference', 'numbers are rooms of their own', async ({ phone }) => {
  const guests = await Promise.all(['11', '12', '13'].map((number) => phone(number)));
  for (const [index, guest] of guests.entries()) await guest.call(index === 2 ? '900' : '800');
  for (const [index, { audio }] of guests.entries()) audio.hum(pitches[index]!);
  await Promise.all([guests[0]!.audio.hears([700], pitches), guests[1]!.audio.hears([400], pitches)]);
  assert.not(pitches.some((hertz) => everHeard(guests[2]!, hertz)));
  for (const guest of guests) guest.hangup();
});

test(
  'queue',
  'callers wait with music; one who takes calls gets one after the other',
  async ({ server, example, phone }) => {
    const [first, second, agent] = await Promise.all([phone('11'), phone('12'), phone('20')]);
    const hearsMusic = ({ audio }: Phone) =>
      audio.until(
        () =>
          audio
            .audio()
            .subarray(-1600)
            .some((octet) => Math.abs(decodeUlaw(octet)) > 500),
        'music',
      );
    await first.call('100');
    await hearsMusic(first);
    await second.call('100');
    await hearsMusic(second);
    first.audio.hum(400);
    second.audio.hum(700);
    await example.until(/callers waiting: 2, agents: 0/);
    await agent.call('700');
    await agent.audio.hears([400], [400, 700]);
    agent.audio.hum(1100);
    await first.audio.hears([1100], pitches);
    assert.not(everHeard(agent, 700), 'who waits is heard by nobody');
    first.hangup();
    await agent.audio.hears([700], [400, 700]);
    await second.audio.hears([1100], pitches);
    agent.hangup();
    await second.over();
    await example.until(/20 talks with 11\n.*20 talks with 12\n/s);
    // The program opens the room where callers wait again, as long as it runs.
    await example.close();
    const rooms = (await (await asked(server, 'GET', '/bridges')).json()) as { id: string; name: string }[];
    for (const { id } of rooms.filter(({ name }) => name === 'queue')) await asked(server, 'DELETE', `/bridges/${id}`);
  },
);

const message = Buffer.concat([tone(400, 600), tone(700, 600), tone(1100, 600)]);

/** The tones of the message as they came, one after the other, in pieces of 100 ms. */
function melody({ audio }: Phone): number[] {
  const heard = audio.audio();
  const pieces = Array.from({ length: Math.floor(heard.length / 800) }, (_, index) => index * 800);
  const tones = pieces.flatMap((at) => {
    const found = tonesIn(heard.subarray(at, at + 800), [...pitches, beep], { ms: 100 });
    // Of a piece with the end of one tone and the start of the next the order cannot be told.
    return found.length === 1 ? found : [];
  });
  return tones.filter((hertz, index) => hertz !== tones[index - 1]);
}

test('voicemail', 'what was recorded is what is played back, and it is deleted', async ({ server, example, phone }) => {
  const caller = await phone('4711');
  await caller.call('100');
  await caller.audio.hears([beep], [...pitches, beep], 200);
  await caller.audio.speak(message);
  await caller.audio.press('#', 100);
  const once = [beep, ...pitches];
  await caller.audio.until(() => melody(caller).join() === once.join(), `the message: ${once}`);
  const [stored] = await storedRecordings(server);
  assert.match(stored!.name, /^message-/);
  await caller.audio.press('1', 100);
  const twice = [...once, ...pitches];
  await caller.audio.until(() => melody(caller).slice(0, twice.length).join() === twice.join(), `and again: ${twice}`);
  await caller.audio.press('7', 100);
  await caller.over();
  await example.until(/is kept, \d+ s\n.*is deleted\n/s);
  assert.equal(await storedRecordings(server), []);
});

test(
  'recorded-call',
  'both hear the announcement and each other, and are recorded',
  async ({ server, example, phone }) => {
    const caller = await phone('4711');
    const bob = await phone('bob');
    await caller.call('100');
    await Promise.all([caller, bob].map(({ audio }) => audio.hears([beep], [...pitches, beep], 200)));
    await example.until(/is recorded\n/);
    caller.audio.hum(400);
    bob.audio.hum(700);
    await Promise.all([caller.audio.hears([700], pitches), bob.audio.hears([400], pitches)]);
    caller.hangup();
    await bob.over();
    await example.until(/is kept, \d+ s\n/);
    const [stored] = await storedRecordings(server);
    const file = await asked(server, 'GET', `/recordings/stored/${stored!.name}/file`);
    const wav = Buffer.from(await file.arrayBuffer());
    const samples = new Int16Array(wav.buffer, wav.byteOffset + 44, Math.floor((wav.length - 44) / 2));
    // Somewhere both are there at once, whoever was heard first and longest.
    const heard = Array.from({ length: Math.floor(samples.length / 800) }, (_, piece) => {
      const part = samples.subarray(piece * 800, piece * 800 + 3200);
      return [...pitches, beep].filter((hertz) => amplitude(part, hertz) > 1000).join();
    });
    assert.ok(heard.includes('400,700'), heard.join(' '));
  },
);

test('conversation', 'who pauses is answered; who breaks in is listened to', async ({ example, phone }) => {
  const caller = await phone('4711');
  await caller.call('100');
  // What is said back lasts long enough to break in, however late that is noticed.
  await caller.audio.speak(tone(400, 4000));
  await caller.audio.hears([400], pitches);
  await caller.audio.speak(tone(700, 600));
  await example.until(/interrupted after \d+ of \d+ ms\n/);
  const [, heard, whole] = /interrupted after (\d+) of (\d+) ms/.exec(example.written)!;
  assert.ok(Number(heard) > 0 && Number(heard) < Number(whole) - 300, `${heard} of ${whole} ms were heard`);
  await caller.audio.hears([700], pitches);
  await example.until(/answered in \d+ ms\n/);
  caller.hangup();
  await caller.over();
});

need('ffmpeg').test(examples, 'video-conference: guests see each other, and all whom the room shows', () =>
  run('video-conference', async ({ server, example, phone }) => {
    const guest = async (number: string, room: string, colour: Colour) => {
      const screens = [await VideoPeer.open(), await VideoPeer.open()].map((peer) => server.closing(peer));
      const caller = await phone(number, screens);
      screens[0]!.show(await clipOf('vp8', colour));
      await caller.call(room);
      return caller;
    };
    const sees = async (colour: Colour, { videos }: Phone, screen = 0) => {
      let shown: Colour | undefined;
      do {
        await videos[screen]!.sees(8);
        shown = (await decode('vp8', framesOf('vp8', videos[screen]!.packets))).pictures.at(-1);
      } while (shown !== colour);
    };
    const [red, green] = [await guest('4711', '100', 'red'), await guest('4712', '100', 'green')];
    await Promise.all([sees('green', red), sees('red', green)]);
    await example.until(/in room 100 is seen: 471[12]/);
    for (const each of [red, green]) each.hangup();
    await example.until(/leaves room 100, guests: 0/);
    const all = [await guest('1', '800', 'red'), await guest('2', '800', 'green'), await guest('3', '800', 'blue')];
    const [first] = all as [Phone, Phone, Phone];
    await first.until(() => /^a=label:/m.test(first.described.at(-1)!.split('m=video')[2] ?? ''), 'a second stream');
    await Promise.all([sees('green', first), sees('blue', first, 1)]);
    for (const each of all) each.hangup();
    await example.until(/leaves room 800, guests: 0/);
  }),
);

examples.run();
