import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callIn, callUp, create, hangupAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, type Client, channelOf, inShort } from '../support/conformance-client.ts';

/**
 * The exact events that one application gets, channel by channel. In Asterisk a thread of its own tells of the dialing,
 * so that nobody knows where a Dial stands among the other events; here the state comes first. Of other servers the
 * Dials are compared apart from the rest.
 */
const test = suite('order of events, asked from outside');
let client: Client;
let app: App;

usesTarget(test, (own) => {
  client = own;
});
test.before.each(async () => {
  app = await client.connect(client.unique('order'));
});
test.after.each(async () => {
  await hangupAll(client);
  await app.close();
});

/** What an application was told of a channel, in order. */
const told = (own: App, channelId: string): string[] =>
  own.messages.filter((message) => channelOf(message) === channelId).map(inShort);

const isDial = (event: string): boolean => /^Dial\b/.test(event);
/** What everybody agrees on: the order of the Dials, and that of everything else. */
const settled = (events: string[]): string[][] => [
  events.filter(isDial),
  events.filter((event) => !isDial(event) && event !== dialplanOver),
];
/** Asterisk asks for the end of a channel when its dialplan is over, with a cause of its own: docs/differences.md. */
const dialplanOver = 'ChannelHangupRequest 16 soft';

/** Compares once everything about the channel has arrived. */
async function expect(channelId: string, events: string[], own = app): Promise<void> {
  await own.fence();
  const seen = told(own, channelId);
  if (client.target.ours) assert.equal(seen, events);
  else assert.equal(settled(seen), settled(events));
}

const soft = (cause: number): string => `ChannelHangupRequest ${client.target.ours ? cause : 32} soft`;
const hangup = async (channelId: string, query = '', own = app, last = 'ChannelDestroyed') => {
  await client.must(`DELETE /channels/${encodeURIComponent(channelId)}${query}`);
  await own.about(channelId, last);
};
const entering = ['ChannelVarset STASISSTATUS='];
const success = 'ChannelVarset STASISSTATUS=SUCCESS';
const leaving = ['StasisEnd', success];

test('originate, answered, hung up by the application', async () => {
  const id = client.unique('call');
  await callUp(client, app, id, 'slow');
  await hangup(id, '?reason=busy');
  await expect(id, [
    'Dial',
    'ChannelStateChange Ringing',
    'Dial RINGING',
    'ChannelStateChange Up',
    'Dial ANSWER',
    ...entering,
    'StasisStart Up a b',
    soft(17),
    ...leaving,
    'ChannelDestroyed 17',
  ]);
});

test('originate, answered at once, hung up by the far side', async () => {
  const id = client.unique('call');
  await client.must(`POST /channels/${id}?endpoint=Local/hangup@conformance&app=${app.name}`);
  await app.about(id, 'ChannelDestroyed');
  await expect(id, [
    'Dial',
    'ChannelStateChange Up',
    'Dial ANSWER',
    ...entering,
    'StasisStart Up',
    'ChannelHangupRequest 21',
    ...leaving,
    'ChannelDestroyed 21',
  ]);
});

test('originate that is refused as busy', async () => {
  const id = client.unique('call');
  await client.must(`POST /channels/${id}?endpoint=Local/busy@conformance&app=${app.name}`);
  await app.about(id, 'ChannelDestroyed');
  // A Local channel that its dialplan refuses has no cause in Asterisk, and no request: docs/differences.md.
  const ends = client.target.ours
    ? ['ChannelHangupRequest 17', 'Dial BUSY', 'ChannelDestroyed 17']
    : ['Dial BUSY', 'ChannelDestroyed 0'];
  await expect(id, ['Dial', ...ends]);
});

test('originate that nobody answers in time', async () => {
  const id = client.unique('call');
  await client.must(`POST /channels/${id}?endpoint=Local/ringing@conformance&app=${app.name}&timeout=1`);
  await app.about(id, 'ChannelDestroyed');
  await expect(id, ['Dial', 'ChannelStateChange Ringing', 'Dial RINGING', 'ChannelDestroyed 19']);
});

test('originate that is given up while it rings', async () => {
  const id = client.unique('call');
  await client.must(`POST /channels/${id}?endpoint=Local/ringing@conformance&app=${app.name}`);
  await app.about(id, 'ChannelStateChange');
  await hangup(id);
  await expect(id, [
    'Dial',
    'ChannelStateChange Ringing',
    'Dial RINGING',
    soft(16),
    'Dial NOANSWER',
    'ChannelDestroyed 16',
  ]);
});

test('create, hung up without being dialed', async () => {
  const id = client.unique('call');
  await client.must(
    `POST /channels/create?channelId=${id}&endpoint=Local/wait@conformance&app=${app.name}&appArgs=x,y`,
    { json: { variables: { A: '1', B: { value: '2', report_events: true } } } },
  );
  await app.about(id, 'StasisStart');
  await hangup(id);
  await expect(id, [
    'ChannelVarset A=1',
    'ChannelVarset B=2',
    'ChannelDialplan',
    ...entering,
    'StasisStart Down x y',
    soft(16),
    ...leaving,
    'ChannelDestroyed 16',
  ]);
  const dialplan = await app.about(id, 'ChannelDialplan');
  assert.equal([dialplan['dialplan_app'], dialplan['dialplan_app_data']], ['Stasis', `${app.name},x,y`]);
});

test('create and dial, answered, hung up by the application', async () => {
  const id = client.unique('call');
  await create(client, app, id, 'slow');
  await client.must(`POST /channels/${id}/dial`);
  await app.about(id, 'ChannelStateChange', ({ channel }) => (channel as { state: string }).state === 'Up');
  await hangup(id);
  await expect(id, [
    'ChannelDialplan',
    ...entering,
    'StasisStart Down',
    'Dial',
    'ChannelStateChange Ringing',
    'Dial RINGING',
    'ChannelStateChange Up',
    'Dial ANSWER',
    soft(16),
    ...leaving,
    'ChannelDestroyed 16',
  ]);
});

test('create and dial, not answered in time', async () => {
  const id = client.unique('call');
  await create(client, app, id, 'silent');
  await client.must(`POST /channels/${id}/dial?timeout=1`);
  await app.about(id, 'ChannelDestroyed');
  await expect(id, [
    'ChannelDialplan',
    ...entering,
    'StasisStart Down',
    'Dial',
    client.target.ours ? 'ChannelHangupRequest 19 soft' : soft(19),
    ...leaving,
    'ChannelDestroyed 19',
  ]);
});

test('a call that comes in, answered and hung up by the application', async () => {
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  for (let count = 0; count < 2; count++) await client.must(`POST /channels/${inside}/answer`);
  await hangup(inside, '', app, 'StasisEnd');
  await expect(inside, ['StasisStart Ring one two, three', 'ChannelStateChange Up', soft(16), 'StasisEnd']);
  assert.equal(told(app, caller), []);
});

test('a call that comes in, hung up by the caller before the answer', async () => {
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  await client.must(`DELETE /channels/${caller}?reason=answered_elsewhere`);
  await app.about(inside, 'StasisEnd');
  await expect(inside, ['StasisStart Ring one two, three', 'ChannelHangupRequest 26', 'StasisEnd']);
});

test('a call that comes in, seen by who hears everything', async () => {
  const all = await client.connect(client.unique('all'), '&subscribeAll=true');
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  await client.must(`POST /channels/${inside}/answer`);
  await all.about(caller, 'ChannelDialplan', ({ dialplan_app }) => dialplan_app === 'Wait');
  await client.must(`DELETE /channels/${caller}`);
  await all.about(inside, 'ChannelDestroyed');
  await all.about(caller, 'ChannelDestroyed');
  await expect(
    inside,
    [
      'ChannelCreated',
      'ChannelDialplan',
      'ChannelVarset STASISSTATUS=',
      'ChannelStateChange Up',
      'ChannelHangupRequest 16',
      'ChannelVarset STASISSTATUS=SUCCESS',
      'ChannelDestroyed 16',
    ],
    all,
  );
  await expect(
    caller,
    [
      'ChannelCreated',
      'ChannelDialplan',
      'Dial',
      'ChannelStateChange Up',
      'Dial ANSWER',
      'ChannelDialplan',
      'ChannelDialplan',
      soft(16),
      'ChannelDestroyed 16',
    ],
    all,
  );
  await all.close();
});

test('continue, and come back', async () => {
  const inside = await callIn(client, app, client.unique('call'));
  await client.must(
    `POST /channels/${inside}/continue?context=conformance&extension=${encodeURIComponent(`u*${app.name}`)}`,
  );
  await app.about(inside, 'StasisStart', ({ args }) => (args as string[]).length === 0);
  await client.must(`POST /channels/${inside}/continue`);
  await app.fence();
  await expect(inside, ['StasisStart Ring one two, three', 'StasisEnd', 'StasisStart Up', 'StasisEnd']);
});

test('continue to a label, to a priority, and to the next step', async () => {
  const all = await client.connect(client.unique('all'), '&subscribeAll=true');
  const steps: [string, string, number][] = [
    ['context=conformance&extension=s&label=here', 's', 1],
    ['context=conformance&label=1', 's', 1],
    ['context=conformance&extension=over&priority=2', 'over', 2],
    ['', `a*${app.name}`, 2],
  ];
  for (const [query, exten, priority] of steps) {
    const inside = await callIn(client, app, client.unique('call'));
    await client.must(`POST /channels/${inside}/continue?${query}`);
    const there = ({ channel }: Record<string, unknown>) => {
      const { dialplan } = channel as { dialplan: { exten: string; priority: number; app_name: string } };
      return dialplan.exten === exten && dialplan.priority === priority;
    };
    await all.about(inside, 'ChannelDialplan', there);
  }
  await all.close();
});

test('a channel of create continues in the dialplan once it is answered', async () => {
  const id = client.unique('call');
  await create(client, app, id);
  await client.must(`POST /channels/${id}/dial`);
  await app.about(id, 'ChannelStateChange');
  await client.must(`POST /channels/${id}/continue?context=conformance&extension=over`);
  await app.about(id, 'ChannelDestroyed');
  await expect(id, [
    'ChannelDialplan',
    ...entering,
    'StasisStart Down',
    'Dial',
    'ChannelStateChange Up',
    'Dial ANSWER',
    'StasisEnd',
    // Asterisk says how the stay went once the dialplan is over: docs/differences.md.
    ...(client.target.ours ? [success, 'ChannelDialplan', 'ChannelDialplan', 'ChannelHangupRequest 31 soft'] : []),
    ...(client.target.ours ? [] : ['ChannelDialplan', 'ChannelDialplan', success]),
    'ChannelDestroyed 31',
  ]);
});

test('move to another application, and back with arguments', async () => {
  const other = await client.connect(client.unique('other'));
  const inside = await callIn(client, app, client.unique('call'));
  await client.must(`POST /channels/${inside}/move?app=${other.name}`);
  await other.about(inside, 'StasisStart');
  await client.must(`POST /channels/${inside}/answer`);
  await other.about(inside, 'ChannelStateChange');
  await client.must(`POST /channels/${inside}/move?app=${app.name}&appArgs=x,,y%20z`);
  await app.about(inside, 'StasisStart', ({ args }) => (args as string[])[0] === 'x');
  const first = await app.about(inside, 'StasisEnd');
  await client.must(`DELETE /channels/${inside}`);
  await app.about(inside, 'StasisEnd', (message) => message !== first);
  await expect(inside, ['StasisStart Ring one two, three', 'StasisEnd', 'StasisStart Up x y z', soft(16), 'StasisEnd']);
  await expect(inside, ['StasisStart Ring', 'ChannelStateChange Up', 'StasisEnd'], other);
  await other.close();
});

test('a move to an application that is not connected fails, and the channel stays', async () => {
  const id = client.unique('call');
  await callUp(client, app, id);
  await client.must(`POST /channels/${id}/move?app=nobody-is-this&appArgs=x,y`);
  const failed = await app.about(id, 'ApplicationMoveFailed');
  assert.equal([failed['destination'], failed['args']], ['nobody-is-this', ['x', 'y']]);
  await client.must(`POST /channels/${id}/answer`);
  await app.fence();
  assert.is(told(app, id).includes('StasisEnd'), false);
});

test('play, then hang-up by the application', async () => {
  const id = client.unique('call');
  await callUp(client, app, id);
  await client.must(`POST /channels/${id}/play?media=tone:ring`);
  await client.must(`POST /channels/${id}/play?media=sound:beep`);
  await app.about(id, 'PlaybackStarted');
  const before = told(app, id).indexOf('PlaybackStarted tone:ring playing');
  await hangup(id);
  await app.fence();
  assert.equal(told(app, id).slice(before), [
    'PlaybackStarted tone:ring playing',
    soft(16),
    'PlaybackFinished tone:ring failed',
    // Asterisk begins and ends what waits: docs/differences.md.
    ...(client.target.ours ? [] : ['PlaybackStarted sound:beep playing', 'PlaybackFinished sound:beep failed']),
    ...leaving,
    'ChannelDestroyed 16',
  ]);
});

test('a list with missing files, cut off by the far side', async () => {
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  await client.must(`POST /channels/${inside}/answer`);
  await client.must(`POST /channels/${inside}/play?media=sound:missing,sound:beep,sound:gone,tone:ring,sound:beep`);
  await app.about(
    inside,
    'PlaybackStarted',
    ({ playback }) => (playback as { media_uri: string }).media_uri === 'tone:ring',
  );
  await client.must(`DELETE /channels/${caller}`);
  await app.about(inside, 'StasisEnd');
  await expect(inside, [
    'StasisStart Ring one two, three',
    'ChannelStateChange Up',
    'PlaybackStarted sound:missing playing',
    'PlaybackContinuing sound:missing continuing',
    'PlaybackStarted sound:beep playing',
    'PlaybackContinuing sound:beep continuing',
    'PlaybackStarted sound:gone playing',
    'PlaybackContinuing sound:gone continuing',
    'PlaybackStarted tone:ring playing',
    'ChannelHangupRequest 16',
    'PlaybackFinished tone:ring failed',
    'StasisEnd',
  ]);
});

test('move and continue wait for what is played', async () => {
  const other = await client.connect(client.unique('other'));
  const inside = await callIn(client, app, client.unique('call'));
  await client.must(`POST /channels/${inside}/answer`);
  await client.must(`POST /channels/${inside}/play?media=sound:beep`);
  await client.must(`POST /channels/${inside}/move?app=${other.name}`);
  await other.about(inside, 'StasisStart');
  await client.must(`POST /channels/${inside}/play?media=sound:beep`);
  await client.must(`POST /channels/${inside}/continue?context=conformance&extension=s`);
  await other.about(inside, 'StasisEnd');
  const beep = ['PlaybackStarted sound:beep playing', 'PlaybackFinished sound:beep done'];
  await expect(inside, ['StasisStart Ring one two, three', 'ChannelStateChange Up', ...beep, 'StasisEnd']);
  await expect(inside, ['StasisStart Up', ...beep, 'StasisEnd'], other);
  await other.close();
});

test('digits go from one half of a Local channel to the other', async () => {
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  await client.must(`POST /channels/${inside}/answer`);
  const outside = await client.connect(client.unique('outside'));
  await client.must(`POST /applications/${outside.name}/subscription?eventSource=channel:${caller}`);
  await client.must(`POST /channels/${inside}/dtmf?dtmf=1a%23&between=1&duration=40`);
  await outside.about(caller, 'ChannelDtmfReceived', ({ digit }) => digit === '#');
  const letter = client.target.ours ? 'A' : 'a';
  await expect(caller, ['ChannelDtmfReceived 1', `ChannelDtmfReceived ${letter}`, 'ChannelDtmfReceived #'], outside);
  assert.is(
    told(app, inside).some((event) => event.startsWith('ChannelDtmf')),
    false,
  );
  await outside.close();
});

test('neither half of a Local channel is told of hold and unhold', async () => {
  const caller = client.unique('call');
  const inside = await callIn(client, app, caller);
  await client.must(`POST /channels/${inside}/answer`);
  const outside = await client.connect(client.unique('outside'));
  await client.must(`POST /applications/${outside.name}/subscription?eventSource=channel:${caller}`);
  await client.must(`POST /channels/${inside}/hold`);
  await client.must(`DELETE /channels/${inside}/hold`);
  await client.must(`DELETE /channels/${inside}`);
  await outside.about(caller, 'ChannelDestroyed');
  await expect(caller, ['ChannelHangupRequest 16', 'ChannelDestroyed 16'], outside);
  await outside.close();
});

test.run();
