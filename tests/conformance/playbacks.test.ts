import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Case, callIn, callUp, check, run, runAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, type Client, inShort, type Message } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';

const test = suite('playbacks, asked from outside');
let client: Client;
let app: App;
/** A channel that is up. */
let up: string;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('playbacks'));
  up = client.unique('listener');
  await callUp(client, app, up);
});

const uri = encodeURIComponent;
/** Plays and gives the playback's id. */
const play = async (media: string, query = '', channel = up): Promise<string> => {
  const id = client.unique('playback');
  await client.must(`POST /channels/${channel}/play/${id}?media=${uri(media)}${query}`);
  return id;
};
type Playback = { id: string; state: string; media_uri: string; next_media_uri?: string };
const playbackOf = (message: Message) => message['playback'] as Playback | undefined;
const about = (id: string, type: string, matches: (playback: Playback) => boolean = () => true) =>
  app.wait(type, (message) => playbackOf(message)?.id === id && matches(playbackOf(message) as Playback));
/** What the application was told of a playback. */
const told = (id: string): string[] => app.messages.filter((message) => playbackOf(message)?.id === id).map(inShort);
const finished = async (id: string): Promise<string[]> => {
  await about(id, 'PlaybackFinished');
  await app.fence();
  return told(id);
};

const missing = { status: 404, message: 'Playback not found' };
const noOperation = { status: 400, message: 'Missing operation' };
const cannot = (operation: string) => ({ status: 409, message: `Can only ${operation} while media is playing` });
const operations = ['restart', 'pause', 'unpause', 'reverse', 'forward'] as const;

const cases: readonly Case[] = [
  { ask: 'GET /playbacks/nobody', ...missing },
  { ask: 'DELETE /playbacks/nobody', ...missing },
  { ask: 'POST /playbacks/nobody/control', ...noOperation },
  { ask: 'POST /playbacks/nobody/control?operation=', status: 400, message: 'Invalid operation ' },
  { ask: 'POST /playbacks/nobody/control?operation=stop', status: 400, message: 'Invalid operation stop' },
  { ask: 'POST /playbacks/nobody/control?operation=Pause', status: 400, message: 'Invalid operation Pause' },
  ...operations.map((operation) => ({ ask: `POST /playbacks/nobody/control?operation=${operation}`, ...missing })),
];
test('operations on a playback are refused for the first fault of several', async () => {
  await runAll(client, {}, cases);
});

test('each state takes the operations of Asterisk', async () => {
  const control = (id: string, operation: string, ok: boolean): Promise<unknown> =>
    run(
      client,
      { id },
      {
        ask: `POST /playbacks/{id}/control?operation=${operation}`,
        ...(ok ? { status: 204 } : cannot(operation)),
      },
    );
  const state = async (id: string) => (await client.must<Playback>(`GET /playbacks/${id}`)).state;
  const id = await play('sound:demo-congrats');
  await about(id, 'PlaybackStarted');
  assert.is(await state(id), 'playing');
  for (const operation of ['restart', 'unpause', 'reverse', 'forward', 'restart']) await control(id, operation, true);
  await control(id, 'pause', true);
  assert.is(await state(id), 'paused');
  await control(id, 'pause', true);
  for (const operation of ['restart', 'reverse', 'forward']) await control(id, operation, false);
  const waiting = await play('sound:beep');
  assert.is(await state(waiting), 'queued');
  await control(waiting, 'restart', true);
  for (const operation of ['pause', 'unpause', 'reverse', 'forward']) await control(waiting, operation, false);
  await run(client, { waiting }, { ask: 'DELETE /playbacks/{waiting}', status: 204 });
  await control(id, 'unpause', true);
  assert.is(await state(id), 'playing');
  await run(client, { id }, { ask: 'DELETE /playbacks/{id}', status: 204 });
  const song = 'sound:demo-congrats';
  assert.equal(await finished(id), [
    `PlaybackStarted ${song} playing`,
    `PlaybackStarted ${song} playing`,
    `PlaybackFinished ${song} done`,
  ]);
  assert.equal(await finished(waiting), ['PlaybackFinished sound:beep done']);
  for (const gone of [id, waiting]) await run(client, { gone }, { ask: 'GET /playbacks/{gone}', ...missing });
});

test('a playback shows every field, and the next item while there is one', async () => {
  const id = await play('tone:ring,sound:beep');
  await about(id, 'PlaybackStarted');
  const shown = await client.must(`GET /playbacks/${id}`);
  assert.equal(misfits('Playback', shown), []);
  const target_uri = `channel:${up}`;
  assert.equal(shown, {
    id,
    media_uri: 'tone:ring',
    next_media_uri: 'sound:beep',
    target_uri,
    language: 'en',
    state: 'playing',
  });
  await client.must(`DELETE /playbacks/${id}`);
  if (client.target.ours) assert.equal((await finished(id)).at(-1), 'PlaybackFinished tone:ring done');
});

test('a list is told item by item', async () => {
  const id = await play('sound:beep,sound:beep');
  assert.equal(await finished(id), [
    'PlaybackStarted sound:beep playing',
    'PlaybackContinuing sound:beep continuing',
    'PlaybackStarted sound:beep playing',
    'PlaybackFinished sound:beep done',
  ]);
  const [first, continuing, last] = ['PlaybackStarted', 'PlaybackContinuing', 'PlaybackFinished'].map(
    (type) => playbackOf(app.messages.find((message) => message.type === type && playbackOf(message)?.id === id)!)!,
  );
  assert.is(first?.next_media_uri, 'sound:beep');
  assert.is(continuing?.next_media_uri, 'sound:beep');
  assert.is('next_media_uri' in (last ?? {}), false);
});

test('a sound that is not there, in the middle and at the end of a list', async () => {
  assert.equal(await finished(await play('sound:nothing,sound:beep')), [
    'PlaybackStarted sound:nothing playing',
    'PlaybackContinuing sound:nothing continuing',
    'PlaybackStarted sound:beep playing',
    'PlaybackFinished sound:beep done',
  ]);
  assert.equal(await finished(await play('sound:beep,sound:nothing')), [
    'PlaybackStarted sound:beep playing',
    'PlaybackContinuing sound:beep continuing',
    'PlaybackStarted sound:nothing playing',
    'PlaybackFinished sound:nothing failed',
  ]);
  assert.equal(await finished(await play('sound:nothing')), [
    'PlaybackStarted sound:nothing playing',
    'PlaybackFinished sound:nothing failed',
  ]);
});

test('items that cannot be tried fail, and are named', async () => {
  if (!client.target.ours) return;
  const wrong = [
    'http://example.org/a.wav',
    'sound:../../../etc/passwd',
    'recording:/etc/passwd',
    'recording:nothing',
    'number:many',
    'nonsense',
    'tone:ring;what=1',
  ];
  for (const media of wrong)
    assert.equal(await finished(await play(media)), [
      `PlaybackStarted ${media} playing`,
      `PlaybackFinished ${media} failed`,
    ]);
  const id = await play('nonsense,sound:beep,sound:nothing');
  await about(id, 'PlaybackFinished');
  const last = app.messages.find((message) => message.type === 'PlaybackFinished' && playbackOf(message)?.id === id);
  assert.equal((playbackOf(last!) as Playback & { failed_media_uris: string[] }).failed_media_uris, [
    'nonsense',
    'sound:nothing',
  ]);
});

test('digits, numbers and characters are spoken to their end', async () => {
  const id = await play('digits:1,number:7,characters:a');
  assert.equal(await finished(id), [
    'PlaybackStarted digits:1 playing',
    'PlaybackContinuing digits:1 continuing',
    'PlaybackStarted number:7 playing',
    'PlaybackContinuing number:7 continuing',
    'PlaybackStarted characters:a playing',
    'PlaybackFinished characters:a done',
  ]);
});

test('stopping digits that are spoken', async () => {
  const id = await play('digits:123456789');
  await about(id, 'PlaybackStarted');
  await run(
    client,
    { id },
    {
      ask: 'DELETE /playbacks/{id}',
      status: 204,
      difference: { why: 'stopping digits', status: 500, message: 'Could not stop playback' },
    },
  );
  if (client.target.ours) assert.equal((await finished(id)).at(-1), 'PlaybackFinished digits:123456789 done');
});

test('playbacks of a channel wait for each other', async () => {
  const ids = [await play('tone:ring'), await play('sound:beep'), await play('sound:nothing')];
  await about(ids[0]!, 'PlaybackStarted');
  await client.must(`DELETE /playbacks/${ids[0]}`);
  await finished(ids[2]!);
  const order = app.messages.filter((message) => ids.includes(playbackOf(message)?.id ?? '')).map(inShort);
  assert.equal(order, [
    'PlaybackStarted tone:ring playing',
    'PlaybackFinished tone:ring done',
    'PlaybackStarted sound:beep playing',
    'PlaybackFinished sound:beep done',
    'PlaybackStarted sound:nothing playing',
    'PlaybackFinished sound:nothing failed',
  ]);
});

test('an offset beyond the end ends the item at once, and holds for the first item only', async () => {
  assert.equal(await finished(await play('sound:demo-congrats,sound:beep', '&offsetms=3600000')), [
    'PlaybackStarted sound:demo-congrats playing',
    'PlaybackContinuing sound:demo-congrats continuing',
    'PlaybackStarted sound:beep playing',
    'PlaybackFinished sound:beep done',
  ]);
});

test('forward beyond the end ends the item', async () => {
  const id = await play('sound:demo-congrats', '&skipms=3600000');
  await about(id, 'PlaybackStarted');
  await client.must(`POST /playbacks/${id}/control?operation=forward`);
  // Asterisk goes back by as much, and plays on: docs/differences.md.
  if (!client.target.ours) await client.must(`DELETE /playbacks/${id}`);
  assert.equal((await finished(id)).at(-1), 'PlaybackFinished sound:demo-congrats done');
});

test('a language that has no sound falls back to the default one', async () => {
  const id = await play('sound:beep', '&lang=xx');
  assert.equal(await finished(id), ['PlaybackStarted sound:beep playing', 'PlaybackFinished sound:beep done']);
  const started = await about(id, 'PlaybackStarted');
  assert.is((started['playback'] as { language: string }).language, 'xx');
});

test('playing to a call that is not answered does not answer it', async () => {
  const inside = await callIn(client, app, client.unique('early'));
  const id = await play('sound:beep', '', inside);
  await finished(id);
  assert.is((await client.must(`GET /channels/${inside}`))['state'], 'Ring');
  check(await client.ask(`DELETE /channels/${inside}`), { status: 204 }, 'hang up');
  await app.about(inside, 'StasisEnd');
});

test.run();
