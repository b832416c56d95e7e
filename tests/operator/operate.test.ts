import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Call } from '../../src/models/call.ts';
import type { ContactView } from '../../src/models/contact.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import type { StepEntry, TimelineEntry } from '../../src/models/timeline.ts';
import { callCells, entryCells, phoneCells, visibilityCells } from '../../src/operator/lines.ts';
import { operate } from '../../src/operator/operate.ts';
import { lineOf, type Style, tableOf } from '../../src/operator/table.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { VideoPeer } from '../support/video/video-peer.ts';

/** The commands at the terminal, against a running server. */
const operator = suite('the commands at the terminal');

const dialplan = { default: { wait: ['Answer', 'Wait(3600)'], ring: ['Ringing', 'Wait(3600)'] } };

type Wish = { command: string; id?: string; app?: string; json?: boolean; waitMs?: number; off?: boolean };

/** What a command writes; ended after so many lines where it would go on. */
async function says(
  server: TestServer,
  { json = false, ...wish }: Wish,
  style?: Style,
  lines = 1_000,
): Promise<string[]> {
  const written: string[] = [];
  const end = new AbortController();
  await operate(
    { json, ...wish },
    { url: server.url, user: `${user}:${password}` },
    {
      write(text) {
        written.push(...text.split('\n').filter((line) => line !== ''));
        if (written.length >= lines) end.abort();
      },
      now: () => server.clock.now(),
      signal: end.signal,
      ...(style && { style }),
    },
  );
  return written;
}

const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'nothing was refused',
    (error: unknown) => `${(error as Error).name} ${(error as Error).message}`,
  );

operator('a subscription to all is told as such, and a call that we have made by whom it is to', () =>
  onServer({ dialplan }, async (server) => {
    const app = await server.app('all', { subscribeAll: true });
    assert.equal(await says(server, { command: 'apps' }), [
      'APPLICATION  STATE      EVENTS  MISSED  UNREAD  SUBSCRIBED TO',
      'all          connected  0       0       0       all channels, all bridges, all endpoints, all devices',
    ]);
    await app.ok('POST', '/channels/ours?endpoint=Local/wait@default&app=all&otherChannelId=theirs');
    await app.waitFor('StasisStart');
    const [, call = ''] = await says(server, { command: 'calls' });
    assert.match(call, /^ours {2}up {5}\d+s +- {5}Local\/wait@default-\w+;1 {2}all /);
    await app.ok('DELETE', '/channels/ours');
  }),
);

operator('lists stand in columns under their heads; of nothing only a terminal hears', () =>
  onServer({ dialplan }, async (server) => {
    assert.equal(await says(server, { command: 'calls' }), []);
    assert.equal(await says(server, { command: 'calls' }, { colours: false, columns: 80 }), ['no live calls']);
    const app = await server.app('desk');
    await app.ok('POST', '/channels/c1?endpoint=Local/wait@default&app=desk&callerId=Alice%20<201>&otherChannelId=c2');
    await app.waitFor('StasisStart');
    const [heads = '', call = '', ...more] = await says(server, { command: 'calls' });
    assert.match(heads, /^CALL {2}STATE {2}FOR {2}FROM {2}TO {4}APPLICATIONS {2}WAITS FOR {2}CHANNELS$/);
    assert.match(call, /^c1 {4}up {5}\d+s +201 {3}wait {2}desk {10}- {10}Local\/wait@default-\w+;1 Local\/\S+;2$/);
    assert.equal(more, []);
    const events = app.events.length;
    assert.equal(await says(server, { command: 'apps' }), [
      'APPLICATION  STATE      EVENTS  MISSED  UNREAD  SUBSCRIBED TO',
      `desk         connected  ${String(events).padEnd(6)}  0       0       2 channels`,
    ]);
    assert.equal(await says(server, { command: 'phones' }), [
      'PHONE            STATE    CALLS  WHERE',
      'PJSIP/anonymous  offline  0      -',
    ]);
    assert.equal(await says(server, { command: 'stuck' }), []);
    const [json = ''] = await says(server, { command: 'calls', json: true });
    assert.is((JSON.parse(json) as { id: string }).id, 'c1');

    // A call with all that was recorded of it; it is followed while it goes on.
    const all = await says(server, { command: 'call', id: 'c1' });
    assert.match(
      all[2] ?? '',
      /^\d\d:\d\d:\d\d\.\d{3} {2}request {2}tester: POST \/ari\/channels\/c1 200 \([\d.]+ ms\)$/,
    );
    assert.ok(
      all.some((line) =>
        /step {5}channel c1: begins \(name Local\/wait@default-\w+;1, dialString wait@default, wait@default:1\): down \/ ChannelCreated$/.test(
          line,
        ),
      ),
    );
    assert.ok(all.some((line) => /event {4}to desk #\d+: StasisStart Local\/wait@default-\w+;1$/.test(line)));
    assert.match(
      (await says(server, { command: 'watch', id: 'c1' }, undefined, 3))[0] ?? '',
      /request {2}tester: POST/,
    );
    assert.ok((await says(server, { command: 'tail', app: 'desk' }, undefined, 2)).length >= 2);
    assert.match((await says(server, { command: 'tail' }, undefined, 1))[0] ?? '', /^c1 /);
    const [bundle = ''] = await says(server, { command: 'bundle', id: 'c1' });
    assert.is((JSON.parse(bundle) as { format: string }).format, 'hookswitch-bundle');
    await app.ok('DELETE', '/channels/c1');
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'c1');
  }),
);

operator('a drained server takes no new calls, says so to proxies, and waits for live ones', () =>
  onServer({ dialplan }, async (server) => {
    const alice = server.closing(await Phone.open('alice', server.sip()));
    await alice.call('wait');
    assert.equal(
      await refusal(says(server, { command: 'drain', waitMs: 0 })),
      'AskError 1 channel left. The server takes no new calls',
    );
    const app = await server.app('desk');
    const refused = await app.request('POST', '/channels?endpoint=Local/wait@default&app=desk');
    assert.is(refused.status, 503);
    const origin = server.url.replace(/\/ari$/, '');
    assert.is((await fetch(`${origin}/health/ready`)).status, 503);
    const bob = server.closing(await Phone.open('bob', server.sip()));
    assert.is(await bob.call('wait').catch((error: Error) => error.message.match(/503/)?.[0]), '503');
    const waiting = says(server, { command: 'drain' });
    alice.hangup();
    assert.is((await waiting).at(-1), 'no new calls; channels left: 0');
    assert.equal(await says(server, { command: 'drain', off: true }), ['the server takes new calls again']);
    assert.is((await fetch(`${origin}/health/ready`)).status, 200);
    await bob.call('wait');
    bob.hangup();
  }),
);

operator('the lines of a call show its place in the dialplan, whom a Dial calls, and why audio was not played', () => {
  const step = (chart: string, event: object, facts: object[] = []) =>
    ({
      kind: 'step',
      at: 0,
      object: 'x',
      chart,
      event,
      from: 'a',
      to: 'b',
      facts,
      effects: [],
    }) as unknown as StepEntry;
  const position = { context: 'inside', extension: '201', priority: 2 };
  const shown = [
    step('channel', {
      type: 'xstate.init',
      input: {
        id: 'x',
        name: 'PJSIP/alice-1',
        variables: {},
        dialplan: { context: 'inside', exten: '201', priority: 1 },
      },
    }),
    step('channel', { type: 'dialplan.entered', position, app: 'Dial', data: 'PJSIP/bob,30' }),
    step('channel', { type: 'dial' }, [{ type: 'Dial', dialstatus: '', dialstring: 'bob', forward: '' }]),
    step('playback', { type: 'xstate.init', input: { media: ['sound:a', 'sound:b'], targetUri: 'channel:x' } }),
    step('playback', { type: 'media.failed', reason: "no sound file for 'a'" }),
    step('channel', { type: 'variable.set', name: 'LONG', value: 'x'.repeat(500) }),
    step('channel', { type: 'leg.answered' }),
    step('dial', {
      type: 'targets.opened',
      callees: [
        { channelId: '17.1', number: 'bob' },
        { channelId: '17.2', number: '' },
      ],
      failures: [20],
    }),
  ].map((entry) => entryCells(entry)[2]?.text);
  assert.equal(shown, [
    'channel x: begins (name PJSIP/alice-1, 201@inside:1): a → b',
    'channel x: dialplan.entered (201@inside:2, Dial(PJSIP/bob,30)): a → b',
    'channel x: dial (target bob): a → b / Dial',
    'playback x: begins (media sound:a sound:b, targetUri channel:x): a → b',
    "playback x: media.failed (reason no sound file for 'a'): a → b",
    `channel x: variable.set (name LONG, value ${'x'.repeat(119)}…): a → b`,
    'channel x: leg.answered: a → b',
    'dial x: targets.opened (callees 17.1/bob 17.2, failures 20): a → b',
  ]);
});

operator('a call whose first channel has gone is told by one that is left', () => {
  const channel = { caller: { name: '', number: '201' }, extension: '202@default', name: 'PJSIP/alice-1' };
  const call = (channels: object[]) =>
    ({ id: 'c', state: 'live', duration_ms: 5000, applications: [], stuck: [], channels }) as unknown as Call;
  const gone = { ...channel, life: 'destroyed', ended: 1 };
  const states = (channels: object[]) => callCells(call(channels)).map(({ text }) => text)[1];
  assert.is(states([gone, { ...channel, life: 'ringing' }, { ...channel, life: 'up' }]), 'up');
  assert.is(states([gone, { ...channel, life: 'ringing' }]), 'ringing');
  assert.is(states([{ ...channel, life: 'ring' }]), 'ring');
});

operator('where a phone is stands behind how it is reached, which is seen on a narrow terminal, too', () => {
  const phone = { technology: 'PJSIP', resource: 'alice', state: 'online', channel_ids: [] } as unknown as Endpoint;
  const contact = { endpoint: 'PJSIP/alice', uri: 'sip:alice@127.0.0.1:5070', contact_status: 'Reachable' };
  assert.equal(
    phoneCells(phone, [contact as ContactView]).map(({ text }) => text),
    ['PJSIP/alice', 'online', '0', 'Reachable sip:alice@127.0.0.1:5070'],
  );
});

operator('of an event about two channels it is told who is called', () => {
  const entry = { kind: 'event', at: 0, application: 'desk', number: 1, type: 'Dial', missed: false };
  const dial = {
    ...entry,
    event: { type: 'Dial', peer: { id: '1', name: 'PJSIP/bob-1' } },
  } as unknown as TimelineEntry;
  assert.is(entryCells(dial)[2]?.text, 'to desk #1: Dial PJSIP/bob-1');
});

operator('who sees whom in bridges is told with the reason, in all of them or in one', () =>
  onServer(
    {
      dialplan: { default: { '100': ['Stasis(desk)'] } },
      endpoints: { anonymous: { match: ['127.0.0.1'], video_codecs: ['vp8'] } },
    },
    async (server) => {
      const app = await server.app('desk');
      await app.ok('POST', '/bridges/b1?type=mixing');
      const none = await says(server, { command: 'video-visibility' }, { colours: false, columns: 80 });
      assert.equal(none, ['no bridge has video']);
      const enter = async (number: string, peers: VideoPeer[]) => {
        const phone = server.closing(await Phone.open(number, server.sip(), 0, peers));
        const calling = phone.call('100');
        const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === number);
        await app.ok('POST', `/channels/${channel.id}/answer`);
        await calling;
        await app.ok('POST', `/bridges/b1/addChannel?channel=${channel.id}`);
        return { phone, id: channel.id, name: channel.name };
      };
      const alice = await enter('201', [server.closing(await VideoPeer.open())]);
      const bob = await enter('202', []);
      for (const id of [undefined, 'b1'])
        assert.equal(await says(server, { command: 'video-visibility', ...(id && { id }) }), [
          `BRIDGE  ${'MEMBER'.padEnd(bob.name.length)}  SEES  DOES NOT SEE`,
          `b1      ${bob.name}  -     ${alice.name}: has no video`,
        ]);
      assert.equal(
        (await says(server, { command: 'video-visibility', json: true })).map((line) => JSON.parse(line) as unknown),
        [
          { bridge: 'b1', channel: alice.id, others: [] },
          { bridge: 'b1', channel: bob.id, others: [{ channel: alice.id, seen: false, why: 'no_video' }] },
        ],
      );
      assert.is(
        await refusal(says(server, { command: 'video-visibility', id: 'none' })),
        'AskError 404: Bridge not found',
      );
      await app.ok('DELETE', '/bridges/b1');
      for (const { phone } of [alice, bob]) phone.hangup();
      await Promise.all([alice, bob].map(({ phone }) => phone.over()));
    },
  ),
);

operator('who sees several of many has one line, with those it does not see by reason', () => {
  const visibility = {
    ...{ bridge: 'b1', member: 'PJSIP/alice-1', sees: ['PJSIP/bob-1', 'PJSIP/carol-1 (another profile)'] },
    unseen: [
      { why: 'has no video', others: ['PJSIP/dave-1', 'PJSIP/eve-1'] },
      { why: '', others: ['PJSIP/frank-1'] },
    ],
  };
  assert.equal(visibilityCells(visibility), [
    { text: 'b1' },
    { text: 'PJSIP/alice-1', tone: 'strong' },
    { text: 'PJSIP/bob-1, PJSIP/carol-1 (another profile)', tone: 'good' },
    { text: 'PJSIP/dave-1, PJSIP/eve-1: has no video; PJSIP/frank-1', tone: 'bad' },
  ]);
});

operator('what the server refuses is said in its words', () =>
  onServer({ dialplan }, async (server) => {
    assert.is(
      await refusal(says(server, { command: 'call', id: 'none' })),
      'AskError 404: The flight recorder has no record of this call',
    );
    assert.is(
      await refusal(says(server, { command: 'watch', id: 'none' })),
      'AskError 404: The flight recorder has no record of this call',
    );
    assert.is(await refusal(says(server, { command: 'tail', app: 'none' })), 'AskError 404: Application not found');
  }),
);

operator('lines are cut to the width of a terminal, and coloured where that is wanted', () => {
  const rows = [[{ text: 'a-long-name', tone: 'strong' as const }, { text: 'what\u001bever\nit is' }]];
  assert.is(tableOf(['NAME', 'WHAT'], rows, { colours: false }), 'NAME         WHAT\na-long-name  what?ever?it is\n');
  assert.is(
    tableOf(['NAME', 'WHAT'], rows, { colours: false, columns: 18 }),
    'NAME         WHAT\na-long-name  what…\n',
  );
  assert.is(tableOf(['NAME', 'WHAT'], rows, { colours: false, columns: 6 }), 'NAME\na-lon…\n');
  assert.is(lineOf(rows[0] ?? [], [3], { colours: true }), '\u001b[1ma-long-name\u001b[0m  what?ever?it is\n');
  assert.is(tableOf(['NAME'], [], { colours: true }), '');
});

operator.run();
