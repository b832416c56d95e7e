import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Calls,
  type Case,
  callUp,
  create,
  makeCalls,
  run,
  runAll,
  shownVariables,
  usesTarget,
} from '../support/conformance-cases.ts';
import type { App, Client } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';

const test = suite('channels, asked from outside');
let client: Client;
let app: App;
let calls: Calls;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('channels'));
  calls = await makeCalls(client, app);
});

const cases = (title: string, list: readonly Case[]) => test(title, () => runAll(client, calls, list));

/* ---- Commands to a channel: who may be commanded, and in which state ------------------------------------------------ */

const missing = { status: 404, message: 'Channel not found' };
const foreign = { status: 409, message: 'Channel not in Stasis application' };
const early = { status: 412, message: 'Channel in invalid state' };

/** Commands that need a channel that is answered, or calls in: method, path, what makes them right, what wrong. */
const stateful = [
  ['POST', 'continue', 'context=conformance&extension=over', 'context=conformance&extension=s&label=nowhere'],
  ['POST', 'redirect', 'endpoint=Local/wait@conformance', 'endpoint=nothing'],
  ['POST', 'answer', '', ''],
  ['POST', 'ring', '', ''],
  ['DELETE', 'ring', '', ''],
  ['POST', 'progress', '', ''],
  ['POST', 'dtmf', 'dtmf=1', ''],
  ['POST', 'mute', 'direction=in', 'direction=up'],
  ['DELETE', 'mute', 'direction=in', 'direction=up'],
  ['POST', 'hold', '', ''],
  ['DELETE', 'hold', '', ''],
  ['POST', 'moh', 'mohClass=default', ''],
  ['DELETE', 'moh', '', ''],
  ['POST', 'silence', '', ''],
  ['DELETE', 'silence', '', ''],
  ['POST', 'play', 'media=sound:beep', 'media=sound:beep&skipms=-1'],
  ['POST', 'play/some-id', 'media=sound:beep', 'offsetms=-1&media=sound:beep'],
] as const;

for (const [method, path, right, wrong] of stateful) {
  const ask = (id: string, query: string) => `${method} /channels/{${id}}/${path}?${query}`;
  cases(`${method} ${path} refuses in order: unknown, not in an application, not answered, wrong parameter`, [
    { ask: ask('nobody', right), ...missing },
    { ask: ask('nobody', wrong), ...missing },
    { ask: ask('free', right), ...foreign },
    { ask: ask('free', wrong), ...foreign },
    { ask: ask('down', right), ...early },
    { ask: ask('down', wrong), ...early },
    { ask: ask('ringing', right), ...early },
    { ask: ask('ringing', wrong), ...early },
  ]);
}

const dialable = [
  { ask: 'POST /channels/{nobody}/dial', ...missing },
  { ask: 'POST /channels/{nobody}/dial?caller={nobody}', ...missing },
  { ask: 'POST /channels/{free}/dial', ...foreign },
  { ask: 'POST /channels/{up}/dial', status: 409, message: "Channel is not in the 'Down' state" },
  { ask: 'POST /channels/{ringing}/dial', status: 409, message: "Channel is not in the 'Down' state" },
] as const satisfies Case[];
cases('dial needs a created channel that is Down', dialable);

cases('commands with no say about the state are refused for unknown channels and those in no application', [
  { ask: 'POST /channels/{nobody}/move?app=other', ...missing },
  { ask: 'POST /channels/{free}/move?app=other', ...foreign },
  { ask: 'POST /channels/{nobody}/variable?variable=A&value=1', ...missing },
  { ask: 'POST /channels/{free}/variable?variable=A&value=1', ...foreign },
  { ask: 'POST /channels/{free}/variables', with: { json: { variables: { A: '1' } } }, ...foreign },
]);

cases('how a transfer goes is told by who controls the channel, and of a transfer that there is', [
  { ask: 'POST /channels/{nobody}/transfer_progress?states=channel_answered', ...missing },
  { ask: 'POST /channels/{free}/transfer_progress?states=channel_answered', ...foreign },
  {
    ask: 'POST /channels/{up}/transfer_progress?states=channel_answered',
    status: 404,
    message: 'Callee not found',
    oursAlone: true,
  },
]);

cases('commands are carried out on a channel that is up', [
  { ask: 'POST /channels/{up}/answer', status: 204 },
  { ask: 'POST /channels/{up}/ring', status: 204 },
  { ask: 'DELETE /channels/{up}/ring', status: 204 },
  { ask: 'DELETE /channels/{up}/ring', status: 204 },
  { ask: 'POST /channels/{up}/progress', status: 204 },
  { ask: 'POST /channels/{up}/dtmf?dtmf=12wW*A&before=1&between=0&duration=0&after=1', status: 204 },
  { ask: 'POST /channels/{up}/dtmf?dtmf=xyz', status: 204 },
  { ask: 'POST /channels/{up}/mute?direction=both', status: 204 },
  { ask: 'POST /channels/{up}/mute?direction=in', status: 204 },
  { ask: 'DELETE /channels/{up}/mute?direction=out', status: 204 },
  { ask: 'DELETE /channels/{up}/mute?direction=both', status: 204 },
  { ask: 'POST /channels/{up}/hold', status: 204 },
  { ask: 'DELETE /channels/{up}/hold', status: 204 },
  { ask: 'POST /channels/{up}/moh', status: 204 },
  { ask: 'POST /channels/{up}/moh?mohClass=other', status: 204 },
  { ask: 'DELETE /channels/{up}/moh', status: 204 },
  { ask: 'DELETE /channels/{up}/moh', status: 204 },
  { ask: 'POST /channels/{up}/silence', status: 204 },
  { ask: 'POST /channels/{up}/silence', status: 204 },
  { ask: 'DELETE /channels/{up}/silence', status: 204 },
]);

cases('commands are carried out on a channel that calls in and is not answered', [
  { ask: 'POST /channels/{ring}/ring', status: 204 },
  { ask: 'DELETE /channels/{ring}/ring', status: 204 },
  { ask: 'POST /channels/{ring}/progress', status: 204 },
  { ask: 'POST /channels/{ring}/dtmf?dtmf=1', status: 204 },
  { ask: 'POST /channels/{ring}/mute?direction=in', status: 204 },
  { ask: 'DELETE /channels/{ring}/mute?direction=in', status: 204 },
  { ask: 'POST /channels/{ring}/moh', status: 204 },
  { ask: 'DELETE /channels/{ring}/moh', status: 204 },
  { ask: 'POST /channels/{ring}/silence', status: 204 },
  { ask: 'DELETE /channels/{ring}/silence', status: 204 },
]);

const noMedia = {
  status: 400,
  message: "Parameter 'media' must name at least one media URI, none of them empty",
  difference: { why: 'a play without media', status: 500, message: 'Failed to queue media for playback' },
};
const why = 'mute without a direction';
cases('parameters of commands are refused in the words of Asterisk', [
  { ask: 'POST /channels/{up}/dtmf', status: 400, message: 'DTMF is required' },
  { ask: 'POST /channels/{up}/dtmf?dtmf=', status: 400, message: 'DTMF is required' },
  { ask: 'POST /channels/{up}/mute?direction=up', status: 400, message: 'Invalid direction specified' },
  { ask: 'DELETE /channels/{up}/mute?direction=IN', status: 400, message: 'Invalid direction specified' },
  {
    ask: 'POST /channels/{up}/mute',
    status: 204,
    difference: { why, status: 400, message: 'Direction is required' },
  },
  {
    ask: 'DELETE /channels/{up}/mute',
    status: 204,
    difference: { why, status: 400, message: 'Direction is required' },
  },
  {
    ask: 'POST /channels/{up}/redirect',
    status: 400,
    reason: 'Not Found',
    message: "Required parameter 'endpoint' not provided.",
  },
  {
    ask: 'POST /channels/{up}/redirect?endpoint=nothing',
    status: 422,
    message: "Endpoint parameter 'nothing' does not contain tech/resource",
  },
  {
    ask: 'POST /channels/{up}/redirect?endpoint=Local/',
    status: 422,
    message: "No resource provided in endpoint parameter 'Local/'",
  },
  {
    ask: 'POST /channels/{up}/redirect?endpoint=PJSIP/bob',
    status: 422,
    message: "Endpoint technology 'PJSIP' does not match channel technology 'Local'",
  },
  {
    ask: 'POST /channels/{up}/continue?context=conformance&extension=s&label=nowhere',
    status: 404,
    message: 'Requested label can not be found',
  },
  { ask: 'POST /channels/{up}/continue?label=0', status: 400, message: 'Requested priority is illegal' },
  { ask: 'POST /channels/{up}/play?media=sound:beep&skipms=-1', status: 400, message: 'skipms cannot be negative' },
  {
    ask: 'POST /channels/{up}/play?media=sound:beep&skipms=-1&offsetms=-1',
    status: 400,
    message: 'skipms cannot be negative',
  },
  { ask: 'POST /channels/{up}/play?media=sound:beep&offsetms=-1', status: 400, message: 'offsetms cannot be negative' },
  { ask: 'POST /channels/{up}/play', ...noMedia },
  { ask: 'POST /channels/{up}/play?media=', ...noMedia },
  { ask: 'POST /channels/{up}/play?media=sound:beep,', ...noMedia },
  {
    ask: 'POST /channels/{up}/play?media=&offsetms=-1',
    status: 400,
    message: 'offsetms cannot be negative',
  },
]);

/* ---- Looking ---------------------------------------------------------------------------------------------------------- */

cases('a channel is got by its id alone', [
  { ask: 'GET /channels/{nobody}', ...missing },
  { ask: 'GET /channels/{nobody}/rtp_statistics', ...missing },
  { ask: 'GET /channels/{up}/rtp_statistics', status: 403, message: 'Unsupported channel type' },
]);

test('a channel shows every field', async () => {
  const channel = await client.must(`GET /channels/${calls.up}`);
  assert.equal(misfits('Channel', channel), []);
  const { name, creationtime, channelvars, ...rest } = channel;
  assert.match(String(name), /^Local\/wait@conformance-[0-9a-f]{8};1$/);
  assert.match(String(creationtime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}$/);
  if (client.target.ours) assert.equal(channelvars, { COLOUR: '' });
  assert.equal(rest, {
    id: calls.up,
    protocol_id: '',
    state: 'Up',
    caller: { name: '', number: '' },
    connected: { name: '', number: '' },
    accountcode: '',
    dialplan: {
      context: 'conformance',
      exten: 'wait',
      priority: 1,
      app_name: 'Stasis',
      app_data: `${app.name},a,b`,
    },
    language: 'en',
  });
});

test('the list holds every channel of the system, those in no application too', async () => {
  const list = await client.must<{ id: string; state: string }[]>('GET /channels');
  assert.equal(misfits('List[Channel]', list), []);
  const states = Object.fromEntries(list.map(({ id, state }) => [id, state]));
  assert.is(states[calls.up], 'Up');
  assert.is(states[calls.free], 'Up');
  assert.is(states[calls.down], 'Down');
  assert.is(states[calls.ringing], 'Ringing');
  assert.is(states[calls.ring], 'Ring');
});

test('a channel is commanded by its name as well as by its id', async () => {
  const { name } = await client.must<{ name: string }>(`GET /channels/${calls.up}`);
  await run(
    client,
    { name },
    {
      ask: 'POST /channels/{name}/answer',
      status: 204,
      difference: { why: 'a channel that is commanded by its name', ...foreign },
    },
  );
  await run(client, { name }, { ask: 'GET /channels/{name}/variable?variable=CHANNEL(name)', status: 200 });
  await run(client, { name }, { ask: 'GET /channels/{name}', ...missing });
});

/* ---- Originate and create --------------------------------------------------------------------------------------------- */

const long = 'x'.repeat(150);
const variableFaults: readonly [unknown, string][] = [
  [{ A: {} }, "Each object value in 'variables' must include string field 'value'"],
  [{ A: { value: 1 } }, "Each object value in 'variables' must include string field 'value'"],
  [{ A: { value: '1', report_events: 'yes' } }, "Field 'report_events' in 'variables' entries must be boolean"],
  [{ A: 1 }, "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'"],
  [{ A: ['1'] }, "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'"],
  [{ A: null }, "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'"],
];
const noEndpoint = { status: 400, message: 'Endpoint must be specified' };
const both = { status: 400, message: "Originator and formats can't both be specified" };
const badEndpoint = { status: 400, message: 'Invalid endpoint specified' };
const noOriginator = { status: 400, message: 'Provided originator channel was not found' };
const noFormat = { status: 400, message: 'Provided format (what) was not found' };
const used = { status: 409, message: 'Channel with given unique ID already exists' };
const tooLong = { status: 400, message: 'Uniqueid length exceeds maximum of 149' };
const refused = (reason: string) =>
  ({
    with: { fresh: true },
    status: 400,
    message: `Allocation failed: ${reason}`,
    error: 'Allocation failed',
    difference: { why: 'a channel that cannot be made', status: 500, error: 'Allocation failed' },
  }) as const;

/** Each refusal with the faults that come after it; `at` is the path, with `?` or `&` at its end. */
const originateRefusals = (at: string): Case[] => [
  ...variableFaults.map(([variables, message]) => ({
    ask: `POST ${at}otherChannelId=${long}`,
    with: { json: { variables } },
    status: 400,
    message,
  })),
  { ask: `POST ${at}otherChannelId=${long}`, ...tooLong },
  { ask: `POST ${at}originator={nobody}&formats=what`, ...noEndpoint },
  { ask: `POST ${at}endpoint=&app={app}`, ...noEndpoint },
  { ask: `POST ${at}endpoint=nothing&originator={nobody}&formats=what`, ...both },
  { ask: `POST ${at}endpoint=nothing&originator={nobody}`, ...badEndpoint },
  { ask: `POST ${at}endpoint=Local/&app={app}`, ...badEndpoint },
  { ask: `POST ${at}endpoint=/wait&app={app}`, ...badEndpoint },
  {
    ask: `POST ${at}endpoint=X/y&originator={nobody}&extension=s&context=conformance&label=nowhere`,
    status: 404,
    message: 'Requested label can not be found',
  },
  {
    ask: `POST ${at}endpoint=X/y&originator={nobody}&extension=s&context=conformance&label=0`,
    status: 400,
    message: 'Requested priority is illegal',
  },
  {
    ask: `POST ${at}endpoint=X/y&originator={nobody}`,
    status: 400,
    message: 'Application or extension must be specified',
  },
  { ask: `POST ${at}endpoint=X/y&originator={nobody}&app={app}`, ...noOriginator },
  { ask: `POST ${at}endpoint=X/y&formats=ulaw,what&app={app}&otherChannelId={up}`, ...noFormat },
  {
    ask: `POST ${at}endpoint=Local/wait@conformance&app={app}&otherChannelId={up}`,
    ...used,
    // Elsewhere that id counts only beside one for the first half.
    ...(at.endsWith('/channels?') ? { oursAlone: true } : {}),
  },
  { ask: `POST ${at}endpoint=X/y&app={app}`, ...refused("there is no technology 'X'") },
];

const refusalsAt = (path: string): Case[] => [
  ...originateRefusals(`${path}?`),
  ...originateRefusals(`${path}?channelId=new&`),
  { ask: `POST ${path}?channelId=${long}&endpoint=nothing`, ...tooLong },
  { ask: `POST ${path}?channelId={up}&endpoint=X/y&app={app}&formats=what`, ...noFormat },
  { ask: `POST ${path}?channelId={up}&endpoint=Local/wait@conformance&app={app}`, ...used },
];
cases('POST /channels is refused for the first fault of several', refusalsAt('/channels'));
// Elsewhere that path is a channel with the id `originate`.
cases(
  'POST /channels/originate is refused for the first fault of several',
  refusalsAt('/channels/originate').map((one) => ({ ...one, oursAlone: true })),
);
cases('POST /channels/{channelId} is refused for the first fault of several', [
  ...originateRefusals('/channels/new?'),
  { ask: `POST /channels/${long}?endpoint=nothing`, ...tooLong },
  { ask: 'POST /channels/{up}?endpoint=X/y&app={app}&formats=what', ...noFormat },
  { ask: 'POST /channels/{up}?endpoint=Local/wait@conformance&app={app}', ...used },
]);

test('the figures of RTP of a channel that is not dialed are not there', async () => {
  // Asterisk makes no channel of an endpoint that has no contact.
  if (!client.target.ours) return;
  const id = client.unique('undialed');
  await client.must(`POST /channels/create?channelId=${id}&endpoint=PJSIP/alice&app=${app.name}`);
  await run(client, calls, { ask: `GET /channels/${id}/rtp_statistics`, status: 404, message: 'RTP info not found' });
  await client.must(`DELETE /channels/${id}`);
});

cases('POST /channels/create is refused for the first fault of several', [
  ...variableFaults.map(([variables, message]) => ({
    ask: `POST /channels/create?originator={nobody}&formats=what`,
    with: { json: { variables } },
    status: 400,
    message,
  })),
  { ask: 'POST /channels/create?originator={nobody}&formats=what', ...both },
  { ask: 'POST /channels/create?formats=what&app={app}', ...noEndpoint },
  { ask: 'POST /channels/create?formats=what&app={app}&endpoint=nothing', ...badEndpoint },
  { ask: 'POST /channels/create?formats=what&app={app}&endpoint=X/y&channelId={up}', ...noFormat },
  { ask: 'POST /channels/create?app={app}&endpoint=Local/wait@conformance&channelId={up}', ...used },
  { ask: 'POST /channels/create?app={app}&endpoint=Local/wait@conformance&channelId=new&otherChannelId={up}', ...used },
  { ask: 'POST /channels/create?app={app}&endpoint=X/y', ...refused("there is no technology 'X'") },
  {
    ask: 'POST /channels/create?endpoint=Local/wait@conformance',
    status: 400,
    message: 'Application name is required',
    oursAlone: true,
  },
]);

// Elsewhere the channel is made, and ends when it is dialed.
cases('a destination that cannot be is refused before anything is made', [
  {
    ask: 'POST /channels?endpoint=Local/1@nowhere-at-all&app={app}',
    ...refused("there is no context 'nowhere-at-all'"),
    oursAlone: true,
  },
  {
    ask: 'POST /channels?endpoint=Local/@conformance&app={app}',
    ...refused("'@conformance' is not extension@context"),
    oursAlone: true,
  },
]);

test('originate shows what was asked for, and the variables of its body', async () => {
  const id = client.unique('asked');
  const channel = await client.must(
    `POST /channels?endpoint=local/silent@conformance&app=${app.name}&channelId=${id}&otherChannelId=${id}-b`,
    { json: { callerId: '"Bob" <200>', variables: { A: '1', 'CALLERID(name)': 'Robert', B: { value: '2' } } } },
  );
  assert.equal(misfits('Channel', channel), []);
  assert.equal([channel['id'], channel['state']], [id, 'Down']);
  assert.equal(channel['caller'], { name: 'Robert', number: '200' });
  assert.is((await client.must(`GET /channels/${id}/variable?variable=A`))['value'], '1');
  assert.is((await client.must(`GET /channels/${id}/variable?variable=B`))['value'], '2');
  const other = await client.must(`GET /channels/${id}-b`);
  assert.match(String(other['name']), /^Local\/silent@conformance-[0-9a-f]{8};2$/);
  await client.must(`DELETE /channels/${id}`);
});

test('the second half of a Local channel is called after the first', async () => {
  const id = client.unique('half');
  await client.must(`POST /channels/${id}?endpoint=Local/silent@conformance&app=${app.name}`);
  assert.is((await client.must(`GET /channels/${id};2`))['id'], `${id};2`);
  await client.must(`DELETE /channels/${id}`);
});

test('an id is in use, too, when the second half would have it', async () => {
  const id = client.unique('taken');
  await client.must(`POST /channels/${id};2?endpoint=Local/silent@conformance&app=${app.name}`);
  for (const ask of ['POST /channels/{id}?', 'POST /channels/create?channelId={id}&', 'POST /channels?channelId={id}&'])
    await run(client, { ...calls, id }, { ask: `${ask}endpoint=Local/silent@conformance&app={app}`, ...used });
  const same = `POST /channels?channelId=${id}&otherChannelId=${id}&endpoint=Local/silent@conformance&app={app}`;
  await run(client, calls, { ask: same, ...used });
  await client.must(`DELETE /channels/${id};2`);
});

test('a channel without a wanted id gets seconds and a number', async () => {
  const channel = await client.must(`POST /channels?endpoint=Local/silent@conformance&app=${app.name}`);
  assert.match(String(channel['id']), /^(.+-)?\d+\.\d+$/);
  await client.must(`DELETE /channels/${channel['id']}`);
});

test('an originate into an application that nobody is, or to a dialplan, is accepted', async () => {
  const channel = await client.must('POST /channels?endpoint=Local/silent@conformance&app=nobody-is-this');
  await client.must(`DELETE /channels/${channel['id']}`);
  const query = 'endpoint=Local/silent@conformance&extension=s&context=conformance&label=here&timeout=-1';
  const other = await client.must(`POST /channels?${query}`);
  await client.must(`DELETE /channels/${other['id']}`);
});

test('an application wins over an extension, and both may be given', async () => {
  const id = client.unique('both');
  await client.must(
    `POST /channels/${id}?endpoint=Local/wait@conformance&app=${app.name}&extension=nowhere&label=nowhere&context=x`,
  );
  await app.about(id, 'StasisStart');
  await client.must(`DELETE /channels/${id}`);
});

test('a created channel is Down in its application until it is dialed', async () => {
  const id = client.unique('created');
  const channel = await client.must(
    `POST /channels/create?channelId=${id}&endpoint=Local/wait@conformance&app=${app.name}&appArgs=x,"y,z"&originator=${calls.nobody}`,
  );
  assert.equal(misfits('Channel', channel), []);
  assert.is(channel['state'], 'Down');
  const start = await app.about(id, 'StasisStart');
  assert.equal(start['args'], ['x', 'y,z']);
  await run(client, { id }, { ask: 'POST /channels/{id}/dial?timeout=5&caller=nobody-at-all', status: 204 });
  await app.about(id, 'ChannelStateChange');
  await client.must(`DELETE /channels/${id}`);
});

test('only a channel of create is dialed', async () => {
  const id = client.unique('originated');
  await client.must(`POST /channels/${id}?endpoint=Local/silent@conformance&app=${app.name}`);
  await run(client, { id }, { ask: 'POST /channels/{id}/dial', ...foreign });
  await client.must(`DELETE /channels/${id}`);
});

/* ---- Hanging up ------------------------------------------------------------------------------------------------------ */

const badReason = { status: 400, reason: 'Invalid Reason', message: 'Invalid reason for hangup reason provided' };
const badCode = {
  status: 400,
  reason: 'Invalid Reason Code',
  message: 'Invalid reason for hangup reason code provided',
};
cases('a hang-up is refused for the first fault of several', [
  { ask: 'DELETE /channels/{nobody}?reason=what&reason_code=what', ...missing },
  {
    ask: 'DELETE /channels/{up}?reason=what&reason_code=what',
    status: 400,
    message: "The reason and reason_code can't both be specified",
  },
  { ask: 'DELETE /channels/{up}?reason_code=what', ...badCode },
  { ask: 'DELETE /channels/{up}?reason=what', ...badReason },
  { ask: 'DELETE /channels/{up}?reason=NORMAL', ...badReason },
]);

const causes: readonly [string, number, string][] = [
  ['', 16, 'Normal Clearing'],
  ['reason=&reason_code=', 16, 'Normal Clearing'],
  ['reason=normal', 16, 'Normal Clearing'],
  ['reason=busy', 17, 'User busy'],
  ['reason=timeout', 18, 'No user responding'],
  ['reason=no_answer', 19, 'User alerting, no answer'],
  ['reason=rejected', 21, 'Call Rejected'],
  ['reason=answered_elsewhere', 26, 'Answered elsewhere'],
  ['reason=unallocated', 1, 'Unallocated (unassigned) number'],
  ['reason=number_incomplete', 28, 'Invalid number format'],
  ['reason=normal_unspecified', 31, 'Normal, unspecified'],
  ['reason=congestion', 34, 'Circuit/channel congestion'],
  ['reason=failure', 38, 'Network out of order'],
  ['reason=codec_mismatch', 58, 'Bearer capability not available'],
  ['reason=interworking', 127, 'Interworking, unspecified'],
  ['reason_code=42', 42, 'Switching equipment congestion'],
  ['reason_code=20 and more', 20, 'Subscriber absent'],
  ['reason_code=12', 12, 'Unknown'],
];

test('every reason has its cause and text, in the request and in the end', async () => {
  for (const [query, cause, text] of causes) {
    const id = client.unique('hungup');
    await callUp(client, app, id);
    await run(client, { id }, { ask: `DELETE /channels/{id}?${query.replaceAll(' ', '+')}`, status: 204 });
    const asked = await app.about(id, 'ChannelHangupRequest');
    assert.equal([asked['cause'], asked['soft']], [client.target.ours ? cause : 32, true], query);
    const destroyed = await app.about(id, 'ChannelDestroyed');
    assert.equal([destroyed['cause'], destroyed['cause_txt']], [cause, text], query);
    await run(client, { id }, { ask: 'DELETE /channels/{id}', ...missing });
  }
});

test('a channel in no application can be hung up, too', async () => {
  const id = client.unique('free');
  await callUp(client, app, id);
  await run(client, { id: `${id};2` }, { ask: 'DELETE /channels/{id}', status: 204 });
  await app.about(id, 'ChannelDestroyed');
});

/* ---- Variables ------------------------------------------------------------------------------------------------------- */

const noName = { status: 400, message: 'Variable name is required' };
const noNames = { status: 400, message: 'At least one variable name is required' };
const notProvided = { status: 404, reason: 'Channel Not Found', message: 'Provided channel was not found' };
const unset = { status: 404, reason: 'Variable Not Found', message: 'Provided variable was not found' };
const unreadable = { status: 500, reason: 'Error With Function', message: 'Unable to read provided function' };

cases('reading a variable is refused for the first fault of several', [
  { ask: 'GET /channels/{nobody}/variable', ...noName },
  { ask: 'GET /channels/{nobody}/variable?variable=', ...noName },
  { ask: 'GET /channels/{nobody}/variable?variable=A', ...notProvided },
  { ask: 'GET /channels/{up}/variable?variable=NOT_SET', ...unset },
  { ask: 'GET /channels/{up}/variable?variable=constructor', ...unset },
  { ask: 'GET /channels/{up}/variable?variable=__proto__', ...unset },
  { ask: 'GET /channels/{up}/variable?variable=NO_SUCH(function)', ...unreadable },
  { ask: 'GET /channels/{up}/variable?variable=CALLERID(what)', status: 200, body: { value: '' } },
  { ask: 'GET /channels/{up}/variable?variable=CALLERID()', ...unreadable },
  { ask: 'GET /channels/{up}/variable?variable=CHANNEL(what)', ...unreadable },
  { ask: 'GET /channels/{free}/variable?variable=CHANNEL(state)', status: 200, body: { value: 'Up' } },
  { ask: 'GET /channels/{nobody}/variables', ...noNames },
  { ask: 'GET /channels/{nobody}/variables?variables=A', ...notProvided },
  { ask: 'GET /channels/{up}/variables?variables=NOT_SET,NO_SUCH(x)', ...unset },
  { ask: 'GET /channels/{up}/variables?variables=NO_SUCH(x),NOT_SET', ...unreadable },
  { ask: 'GET /channels/{up}/variables?variables=NOT_SET,', ...unset },
  { ask: 'GET /channels/{up}/variables?variables=,NOT_SET', status: 400, message: 'Variable names are required' },
]);

cases('writing a variable is refused for the first fault of several', [
  { ask: 'POST /channels/{nobody}/variable?value=1', ...noName },
  { ask: 'POST /channels/{nobody}/variable?variable=A', ...missing },
  { ask: 'POST /channels/{free}/variable?variable=A', ...foreign },
  { ask: 'POST /channels/{up}/variable?variable=NO_SUCH(x)&value=1', status: 204 },
  {
    ask: 'POST /channels/{nobody}/variables',
    status: 400,
    message: "The 'variables' field is required",
  },
  {
    ask: 'POST /channels/{nobody}/variables',
    with: { json: { variables: 1 } },
    ...notProvided,
  },
  {
    ask: 'POST /channels/{free}/variables',
    with: { json: { variables: 1 } },
    ...foreign,
  },
  {
    ask: 'POST /channels/{up}/variables',
    with: { json: { variables: 1 } },
    status: 400,
    message: "The 'variables' field must be a JSON object",
  },
  {
    ask: 'POST /channels/{up}/variables',
    with: { json: { variables: [] } },
    status: 400,
    message: "The 'variables' field must be a JSON object",
  },
  ...variableFaults.map(([variables, message]) => ({
    ask: 'POST /channels/{up}/variables',
    with: { json: { variables } },
    status: 400,
    message,
  })),
]);

cases('variables and functions are written and read, one and several', [
  { ask: 'POST /channels/{up}/variable?variable=ONE&value=a+b', status: 204 },
  { ask: 'GET /channels/{up}/variable?variable=ONE', status: 200, body: { value: 'a b' } },
  { ask: 'POST /channels/{up}/variable?variable=ONE', status: 204 },
  { ask: 'GET /channels/{up}/variable?variable=ONE', ...unset },
  { ask: 'POST /channels/{up}/variable?variable=__DEEP&value=1', status: 204 },
  { ask: 'GET /channels/{up}/variable?variable=DEEP', status: 200, body: { value: '1' } },
  {
    ask: 'POST /channels/{up}/variables',
    with: { json: { variables: { ' A ': '1', B: { value: '2', report_events: false }, 'CALLERID(num)': '7' } } },
    status: 204,
  },
  {
    ask: 'GET /channels/{up}/variables?variables=A,+B,CALLERID(num)',
    status: 200,
    body: { variables: { A: '1', B: '2', 'CALLERID(num)': '7' } },
  },
  { ask: 'POST /channels/{up}/variable?variable=CALLERID(num)&value=', status: 204 },
  { ask: 'POST /channels/{up}/variable?variable=CHANNEL(language)&value=en', status: 204 },
  { ask: 'GET /channels/{up}/variable?variable=CHANNEL(language)', status: 200, body: { value: 'en' } },
]);

test('a variable that is reported stands in the channel until it is set without', async () => {
  const id = client.unique('reported');
  await create(client, app, id);
  const shown = async () => (await shownVariables(client, id))?.['SIZE'];
  await client.must(`POST /channels/${id}/variable?variable=SIZE&value=9&report_events=true`);
  assert.is(await shown(), '9');
  await client.must(`POST /channels/${id}/variable?variable=SIZE&value=10&report_events=false`);
  assert.is(await shown(), undefined);
  await client.must(`POST /channels/${id}/variables`, {
    json: { variables: { SIZE: { value: '11', report_events: true } } },
  });
  assert.is(await shown(), '11');
  if (client.target.ours) {
    await client.must(`POST /channels/${id}/variable?variable=COLOUR&value=red`);
    const { channelvars } = await client.must<{ channelvars: unknown }>(`GET /channels/${id}`);
    assert.equal(channelvars, { COLOUR: 'red', SIZE: '11' });
  }
  await client.must(`DELETE /channels/${id}`);
});

/* ---- Playing --------------------------------------------------------------------------------------------------------- */

test('play answers 201 with the playback and where it is', async () => {
  for (const path of ['play', `play/${client.unique('given')}`]) {
    const answer = await client.ask(
      `POST /channels/${calls.up}/${path}?media=${encodeURIComponent('tone:ring,sound:beep')}`,
    );
    assert.is(answer.status, 201, answer.text);
    assert.equal(misfits('Playback', answer.body), []);
    const { id, state, ...rest } = answer.body as { id: string; state: string };
    // Whether it plays already when the answer is written is a matter of speed.
    assert.ok(['queued', 'playing'].includes(state), state);
    assert.equal(rest, {
      media_uri: 'tone:ring',
      next_media_uri: 'sound:beep',
      target_uri: `channel:${calls.up}`,
      language: 'en',
    });
    assert.is(answer.headers['location'], `/ari/playbacks/${id}`);
    if (path !== 'play') assert.is(`play/${id}`, path);
    await client.must(`DELETE /playbacks/${id}`);
    await app.wait('PlaybackFinished', ({ playback }) => (playback as { id: string }).id === id);
  }
});

test('a playback id that is in use is refused', async () => {
  const id = client.unique('twice');
  await client.must(`POST /channels/${calls.up}/play/${id}?media=tone:ring`);
  const again: Case = {
    ask: 'POST /channels/{up}/play/{id}?media=tone:ring',
    status: 409,
    message: 'Playback with given ID already exists',
    difference: { why: 'a playback id that is in use', status: 201 },
  };
  await run(client, { ...calls, id }, again);
  await run(client, { ...calls, id }, { ...again, ask: 'POST /channels/{up}/play?playbackId={id}&media=tone:ring' });
  await client.must(`DELETE /playbacks/${id}`);
});

test('the offset of a play is accepted under both names', async () => {
  for (const name of ['offset', 'offsetms'])
    await run(client, calls, {
      ask: `POST /channels/{up}/play?media=sound:beep&${name}=-5`,
      status: name === 'offset' && !client.target.ours ? 201 : 400,
    });
});

test.run();
