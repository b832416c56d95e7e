import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Calls, type Case, callUp, makeCalls, run, runAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, type Client, inShort, type Message } from '../support/conformance-client.ts';
import { eventMisfits, misfits } from '../support/conformance-surface.ts';
import { untilAsked } from '../support/waiting.ts';

const test = suite('recordings and snoops, asked from outside');
let client: Client;
let app: App;
let calls: Calls;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('recordings'));
  calls = await makeCalls(client, app);
});

type Recording = { name: string; state: string; format: string; target_uri: string };
const recordingOf = (message: Message) => message['recording'] as Recording | undefined;
/** Records a channel and waits until it has begun; gives the name. */
const record = async (query = '', channel = calls.up): Promise<string> => {
  const name = client.unique('recording');
  await client.must(`POST /channels/${channel}/record?name=${name}&format=wav${query}`);
  await about(name, 'RecordingStarted');
  return name;
};
const about = (name: string, type: string) => app.wait(type, (message) => recordingOf(message)?.name === name);
const told = (name: string): string[] =>
  app.messages.filter((message) => recordingOf(message)?.name === name).map(inShort);

const count = (name: string, line: string): number => told(name).filter((each) => each === line).length;
const finished = (name: string): number => count(name, 'RecordingFinished done');
/** Resolves once a recording is no longer live: its file is complete. */
const gone = async (name: string): Promise<void> => {
  await untilAsked(
    async () => (await client.ask(`GET /recordings/live/${name}`)).status === 404,
    () => `${name} stays`,
  );
};

const missing = { status: 404, message: 'Recording not found' };

test('a channel is recorded, stopped and stored', async () => {
  const name = client.unique('recording');
  const answer = await client.ask(`POST /channels/${calls.up}/record?name=${name}&format=wav&maxSilenceSeconds=600`);
  assert.equal([answer.status, answer.headers['location']], [201, `/ari/recordings/live/${name}`]);
  assert.equal(misfits('LiveRecording', answer.body), []);
  const { format, target_uri } = answer.body as Recording;
  assert.equal([format, target_uri], ['wav', `channel:${calls.up}`]);
  assert.equal(eventMisfits(await about(name, 'RecordingStarted')), []);
  assert.is((await client.must<Recording>(`GET /recordings/live/${name}`)).state, 'recording');
  await run(client, { name }, { ask: 'POST /recordings/live/{name}/stop', status: 204 });
  const finished = await about(name, 'RecordingFinished');
  assert.equal(eventMisfits(finished), []);
  assert.equal(told(name), ['RecordingStarted recording', 'RecordingFinished done']);
  await run(client, { name }, { ask: 'GET /recordings/live/{name}', ...missing });
  assert.equal(await client.must(`GET /recordings/stored/${name}`), { name, format: 'wav' });
  await client.must(`DELETE /recordings/stored/${name}`);
});

const controls: readonly string[] = [
  'POST /recordings/live/{name}/pause',
  'POST /recordings/live/{name}/pause',
  'DELETE /recordings/live/{name}/pause',
  'DELETE /recordings/live/{name}/pause',
  'POST /recordings/live/{name}/mute',
  'POST /recordings/live/{name}/mute',
  'DELETE /recordings/live/{name}/mute',
  'DELETE /recordings/live/{name}/mute',
];
const otherSpellings: readonly string[] = ['unpause', 'unmute'].map((word) => `POST /recordings/live/{name}/${word}`);

test('controls are idempotent, in both spellings, and refused once it is over', async () => {
  const name = await record();
  for (const ask of controls) await run(client, { name }, { ask, status: 204 });
  if (client.target.ours) for (const ask of otherSpellings) await run(client, { name }, { ask, status: 204 });
  await client.must(`POST /recordings/live/${name}/pause`);
  assert.is((await client.must<Recording>(`GET /recordings/live/${name}`)).state, 'paused');
  await run(client, { name }, { ask: 'DELETE /recordings/live/{name}', status: 204 });
  await about(name, 'RecordingFinished');
  const canceled = client.target.ours ? 'canceled' : 'done';
  assert.equal(told(name), ['RecordingStarted recording', `RecordingFinished ${canceled}`]);
  await run(client, { name }, { ask: 'GET /recordings/stored/{name}', ...missing });
  const ended = ['DELETE /recordings/live/{name}', 'POST /recordings/live/{name}/stop', ...controls];
  for (const ask of ended) await run(client, { name }, { ask, ...missing });
});

test('one that waits for its turn is cancelled at once', async () => {
  const playback = client.unique('playback');
  await client.must(`POST /channels/${calls.up}/play/${playback}?media=tone:ring`);
  const name = client.unique('waiting');
  const made = await client.must<Recording>(`POST /channels/${calls.up}/record?name=${name}&format=wav`);
  assert.is(made.state, 'queued');
  const conflict = { status: 409, message: 'Recording not in session' };
  await run(client, { name }, { ask: 'POST /recordings/live/{name}/pause', ...conflict });
  await run(client, { name }, { ask: 'DELETE /recordings/live/{name}', status: 204 });
  if (client.target.ours) {
    await about(name, 'RecordingFinished');
    assert.equal(told(name), ['RecordingFinished canceled']);
    await run(client, { name }, { ask: 'GET /recordings/live/{name}', ...missing });
  }
  await client.must(`DELETE /playbacks/${playback}`);
});

test('requests are refused for the first fault of several', async () => {
  const line = (query: string, channel = '{up}'): string => `POST /channels/${channel}/record?${query}`;
  const stored = await record();
  await client.must(`POST /recordings/live/${stored}/stop`);
  await about(stored, 'RecordingFinished');
  const exists = `Recording '${stored}' already exists and can not be overwritten`;
  const differs = (status: number, message: string | undefined, why: string) => ({
    difference: { status, ...(message === undefined ? {} : { message }), why },
  });
  const cases: Case[] = [
    { ask: line('maxDurationSeconds=-1', '{nobody}'), status: 400, message: 'max_duration_seconds cannot be negative' },
    { ask: line('maxSilenceSeconds=-1', '{nobody}'), status: 400, message: 'max_silence_seconds cannot be negative' },
    { ask: line('name=x&format=wav', '{nobody}'), status: 404, message: 'Channel not found' },
    { ask: line('name=x&format=wav', '{free}'), status: 409, message: 'Channel not in Stasis application' },
    { ask: line('name=x&format=wav&terminateOn=x&ifExists=x'), status: 400, message: 'terminateOn invalid' },
    { ask: line('name=x&format=x&ifExists=x'), status: 400, message: 'ifExists invalid' },
    { ask: line('name=x&format=x'), status: 422, message: 'specified format is unknown on this system' },
    {
      ask: line('format=wav'),
      status: 400,
      message: 'Invalid recording name',
      ...differs(500, undefined, 'Recording without a name'),
    },
    {
      ask: line('name=..%2Fx&format=wav'),
      status: 400,
      message: 'Invalid recording name',
      ...differs(500, undefined, 'A recording name that leaves the directory'),
    },
    {
      ask: line(`name=${stored}&format=wav`),
      status: 422,
      message: exists,
      ...differs(409, exists, 'A recording of the name exists'),
    },
  ];
  await runAll(client, calls, cases);
  await client.must(`DELETE /recordings/stored/${stored}`);
});

test('a recording that is stored is overwritten or lengthened where that is asked for', async () => {
  const name = await record();
  await client.must(`POST /recordings/live/${name}/stop`);
  await about(name, 'RecordingFinished');
  for (const ifExists of ['overwrite', 'append']) {
    await client.must(`POST /channels/${calls.up}/record?name=${name}&format=wav&ifExists=${ifExists}`);
    await client.must(`POST /recordings/live/${name}/stop`);
    await gone(name);
  }
  await app.fence();
  assert.is(finished(name), 3);
  // Also where the end was asked for before the file was open.
  if (client.target.ours)
    assert.equal(
      told(name),
      Array.from({ length: 3 }, () => ['RecordingStarted recording', 'RecordingFinished done']).flat(),
    );
  await client.must(`DELETE /recordings/stored/${name}`);
});

test('who hangs up while recorded: the recording is finished before the call is over', async () => {
  const caller = client.unique('recorded');
  await callUp(client, app, caller);
  const name = await record('', caller);
  await client.must(`DELETE /channels/${caller}`);
  await app.about(caller, 'ChannelDestroyed');
  const order = app.messages
    .filter(
      (message) =>
        (message['channel'] as { id?: string } | undefined)?.id === caller || recordingOf(message)?.name === name,
    )
    .map(({ type }) => type)
    .filter((type) => type !== 'ChannelVarset');
  assert.equal(order.slice(-5), [
    'RecordingStarted',
    'ChannelHangupRequest',
    'RecordingFinished',
    'StasisEnd',
    'ChannelDestroyed',
  ]);
  await client.must(`DELETE /recordings/stored/${name}`);
});

test('stored recordings are listed, fetched, copied and deleted', async () => {
  const name = await record();
  await client.must(`POST /recordings/live/${name}/stop`);
  await about(name, 'RecordingFinished');
  const copy = `${name}-copy`;
  const copied = await client.must(`POST /recordings/stored/${name}/copy?destinationRecordingName=${copy}`);
  assert.equal(copied, { name: copy, format: 'wav' });
  const names = (await client.must<Recording[]>('GET /recordings/stored')).map((each) => each.name);
  assert.ok(names.includes(name) && names.includes(copy));
  assert.equal(names, [...names].sort());
  const file = await client.ask(`GET /recordings/stored/${copy}/file`);
  assert.equal([file.status, file.headers['content-type']], [200, 'audio/wav']);
  assert.match(file.text, /^RIFF/);
  const scene = { name, copy };
  await runAll(client, scene, [
    { ask: 'GET /recordings/stored/nobody', ...missing },
    { ask: 'GET /recordings/stored/nobody/file', ...missing },
    { ask: 'GET /recordings/stored/..%2Fnobody/file', ...missing },
    { ask: 'DELETE /recordings/stored/nobody', ...missing },
    { ask: 'POST /recordings/stored/nobody/copy?destinationRecordingName=x', ...missing },
    { ask: 'POST /recordings/stored/{name}/copy', status: 400, message: 'Invalid destination recording name' },
    {
      ask: 'POST /recordings/stored/{name}/copy?destinationRecordingName=..%2Fx',
      status: 403,
      message: 'Destination file path is forbidden',
    },
    {
      ask: 'POST /recordings/stored/{name}/copy?destinationRecordingName={copy}',
      status: 409,
      message: 'A recording with the same name already exists on the system',
    },
    { ask: 'DELETE /recordings/stored/{name}', status: 204 },
    { ask: 'DELETE /recordings/stored/{copy}', status: 204 },
    { ask: 'GET /recordings/stored/{name}', ...missing },
  ]);
});

test('a part of a file is fetched, and a file that is known is not sent again', async () => {
  if (!client.target.ours) return;
  const name = await record();
  await client.must(`POST /recordings/live/${name}/stop`);
  await about(name, 'RecordingFinished');
  const line = `GET /recordings/stored/${name}/file`;
  const part = await client.ask(line, { headers: { range: 'bytes=1-3' } });
  assert.equal([part.status, part.text, part.headers['content-length']], [206, 'IFF', '3']);
  const etag = String(part.headers['etag']);
  assert.is((await client.ask(line, { headers: { 'if-none-match': etag } })).status, 304);
  const overWebSocket = await app.rest({ method: 'GET', uri: `recordings/stored/${name}/file`, request_id: '1' });
  assert.equal([overWebSocket['status_code'], overWebSocket['reason_phrase']], [406, 'Not Acceptable.  Use HTTP GET']);
  await client.must(`DELETE /recordings/stored/${name}`);
});

test('a snoop channel is made, enters its application, and ends with its target', async () => {
  const target = client.unique('target');
  await callUp(client, app, target);
  const id = client.unique('snoop');
  const made = await client.must<{ name: string; state: string }>(
    `POST /channels/${target}/snoop/${id}?spy=in&whisper=out&app=${app.name}&appArgs=a,b`,
  );
  assert.equal(misfits('Channel', made), []);
  assert.is(made.state, 'Up');
  assert.ok(made.name.startsWith(`Snoop/${target}-`), made.name);
  const start = await app.about(id, 'StasisStart');
  assert.equal(start['args'], ['a', 'b']);
  await client.must(`DELETE /channels/${target}`);
  await app.about(id, 'StasisEnd');
});

test('snooping is refused for the first fault of several', async () => {
  const line = (query: string, channel = '{nobody}'): string => `POST /channels/${channel}/snoop?${query}`;
  await runAll(client, calls, [
    { ask: line('spy=x&whisper=x'), status: 400, message: 'Invalid direction specified for spy' },
    { ask: line('whisper=x'), status: 400, message: 'Invalid direction specified for whisper' },
    { ask: line('app=x'), status: 400, message: 'Direction must be specified for at least spy or whisper' },
    { ask: line('spy=both'), status: 400, message: 'Application name is required' },
    { ask: line('spy=both&app=x'), status: 404, message: 'Provided channel was not found' },
    {
      ask: line('spy=both&app=x&snoopId={down}', '{up}'),
      status: 409,
      message: 'Channel with given unique ID already exists',
      difference: { status: 500, message: 'Snoop channel could not be created', why: 'An id that is in use' },
    },
  ]);
});

test.run();
