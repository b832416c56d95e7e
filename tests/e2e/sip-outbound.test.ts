import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { assertContinuous, assertHears, prompt } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, type TestServer } from '../support/server.ts';
import {
  confirm,
  invite,
  provisional,
  receive,
  register,
  request,
  respond,
  type SippOptions,
  SippRun,
  type Step,
  sameBranch,
  send,
} from '../support/sipp.ts';

const sipp = need('sipp');
const calls = suite('calls to a SIP phone');

type World = {
  server: TestServer;
  peer: RtpPeer;
  /** Port of the phone that `PJSIP/desk-phone` is. */
  phonePort: number;
  /** SIPp with steps of its own; as the called phone when it has its port. */
  phone(steps: Step[], options?: Partial<SippOptions>): SippRun;
};

const alicePassword = 'wonderland';

/** A test with a server that knows a phone at a fixed address, and alice who registers. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  sipp.test(calls, title, async (program) => {
    const phonePort = await freePort();
    const endpoints = {
      'desk-phone': { aor: { contacts: [`sip:desk@127.0.0.1:${phonePort}`] } },
      alice: { auth: { username: 'alice', password: alicePassword } },
    };
    await onServer({ endpoints }, async (server) => {
      const peer = server.closing(await RtpPeer.open());
      const phone: World['phone'] = (steps, options) =>
        server.closing(new SippRun(program, { remote: server.sip(), steps, ...options }));
      await body({ server, peer, phonePort, phone });
    });
  });

/** The answer to a challenge of our INVITE or CANCEL that ends the transaction: ACK is not answered. */
const refused = (status: number, reason: string): Step[] => [respond(status, reason, { again: true }), receive('ACK')];

test('a phone that is busy is Dial BUSY and cause 17', async ({ server, phonePort, phone }) => {
  const app = await server.app('desk');
  const busy = phone([receive('INVITE'), ...refused(486, 'Busy Here')], { port: phonePort });
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/desk-phone&app=desk');
  const destroyed = await app.waitFor('ChannelDestroyed');
  assert.is(destroyed.cause, 17);
  assert.is(destroyed.cause_txt, 'User busy');
  assert.is(destroyed.tech_cause, 486);
  await busy.done;
  assert.equal(app.story(id), ['Dial', 'ChannelHangupRequest', 'Dial BUSY', 'ChannelDestroyed']);
});

test('a phone that nobody answers is given up with CANCEL and cause 19', async ({ server, phonePort, phone }) => {
  const app = await server.app('desk');
  const unattended = phone(
    [
      receive('INVITE'),
      respond(180, 'Ringing'),
      receive('CANCEL'),
      confirm(),
      // The INVITE is what is refused now, not the CANCEL that came last.
      send(
        [
          'SIP/2.0 487 Request Terminated',
          '[last_Via:]',
          '[last_From:]',
          '[last_To:];tag=[pid]-[call_number]',
          '[last_Call-ID:]',
          'CSeq: [last_cseq_number] INVITE',
          'Content-Length: 0',
        ],
        { again: true },
      ),
      receive('ACK'),
    ],
    { port: phonePort },
  );
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/desk-phone&app=desk&timeout=15');
  await app.waitFor('Dial', ({ dialstatus }) => dialstatus === 'RINGING');
  server.clock.skip(15_000);
  const destroyed = await app.waitFor('ChannelDestroyed');
  assert.is(destroyed.cause, 19);
  await unattended.done;
  assert.equal(
    app.story(id).filter((type) => !type.startsWith('ChannelStateChange')),
    ['Dial', 'Dial RINGING', 'ChannelDestroyed'],
  );
});

test('a phone that never says anything ends the call when its INVITE times out', async ({ server, phonePort }) => {
  const app = await server.app('desk');
  const silent = createSocket('udp4').bind(phonePort, '127.0.0.1');
  const invited = once(silent, 'message');
  await app.ok('POST', '/channels?endpoint=PJSIP/desk-phone&app=desk&timeout=-1');
  await invited;
  // Timer B, 64 × T1 (RFC 3261 17.1.1.2).
  server.clock.skip(32_000);
  const destroyed = await app.waitFor('ChannelDestroyed');
  silent.close();
  assert.is(destroyed.cause, 18);
  assert.is(destroyed.cause_txt, 'No user responding');
});

test('alice registers with a password, is called, hears a prompt and is hung up', async (world) => {
  const { server, peer, phonePort, phone } = world;
  const app = await server.app('desk', { subscribeAll: true });
  const credentials = { user: 'alice', password: alicePassword };
  const registration = phone(
    [
      register('alice', { cseq: 1, expires: 600 }),
      receive(401, { attributes: ' auth="true"' }),
      register('alice', { cseq: 2, expires: 600, authenticate: true }),
      receive(200),
    ],
    // Where it registers from is where it is called.
    { credentials, port: phonePort },
  );
  await registration.done;
  assert.match(
    registration.received('SIP/2.0 200'),
    new RegExp(`^Contact: .*127\\.0\\.0\\.1:${phonePort}.*expires=`, 'im'),
  );
  const contact = await app.waitFor('ContactStatusChange');
  assert.is(contact.contact_info.contact_status, 'NonQualified');
  assert.is(contact.contact_info.aor, 'alice');
  assert.is((await app.waitFor('PeerStatusChange')).peer.peer_status, 'Reachable');
  await app.waitFor(
    'EndpointStateChange',
    ({ endpoint }) => endpoint.resource === 'alice' && endpoint.state === 'online',
  );

  const answering = phone(
    [
      receive('INVITE'),
      respond(180, 'Ringing'),
      respond(200, 'OK', { mediaPort: peer.port, again: true }),
      receive('ACK'),
      receive('BYE'),
      confirm(),
    ],
    { port: phonePort },
  );
  const { id } = await app.ok<{ id: string }>(
    'POST',
    `/channels?${new URLSearchParams({ endpoint: 'PJSIP/alice', app: 'desk', callerId: '"Reception" <100>' })}`,
  );
  const { channel } = await app.waitFor('StasisStart');
  assert.is(channel.id, id);
  assert.is(channel.state, 'Up');
  await app.ok('POST', `/channels/${id}/play?media=sound:hello-world`);
  const finished = await app.waitFor('PlaybackFinished');
  assert.is(finished.playback.state, 'done');
  const expected = prompt('hello-world');
  await peer.until(() => peer.words().length >= expected.length, 'the whole prompt');
  assertHears(peer.words(), expected);
  assertContinuous(peer.packets);
  await app.ok('DELETE', `/channels/${id}?reason=normal`);
  await answering.done;
  assert.match(answering.received('INVITE'), /^From: "?Reception"? <sip:100@/m);
  assert.match(answering.received('BYE'), /^Reason: *Q\.850 *;cause=16/im);
  await app.waitFor('ChannelDestroyed', (event) => event.channel.id === id);
  assert.equal(
    app.story(id).filter((type) => type.startsWith('Dial') || type.startsWith('Stasis')),
    ['Dial', 'Dial RINGING', 'Dial ANSWER', 'StasisStart', 'StasisEnd'],
  );

  server.clock.skip(601_000);
  await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Removed');
  await app.waitFor('PeerStatusChange', ({ peer: { peer_status } }) => peer_status === 'Unreachable');
});

test('a wrong password registers nobody', async ({ server, phone }) => {
  const app = await server.app('desk', { subscribeAll: true });
  const credentials = { user: 'alice', password: 'looking-glass' };
  await phone(
    [
      register('alice', { cseq: 1, expires: 600 }),
      receive(401, { attributes: ' auth="true"' }),
      register('alice', { cseq: 2, expires: 600, authenticate: true }),
      receive(401),
    ],
    { credentials },
  ).done;
  const { state } = await app.ok<{ state: string }>('GET', '/endpoints/PJSIP/alice');
  assert.is(state, 'offline');
  assert.equal(
    app.events.filter(({ type }) => type === 'ContactStatusChange'),
    [],
  );
});

test('a call without a password from an unknown address is challenged and makes no channel', async (world) => {
  const { server, peer, phone } = world;
  const app = await server.app('desk', { subscribeAll: true });
  const steps = [invite({ mediaPort: peer.port, from: 'alice' }), receive(401), sameBranch('ACK')];
  await phone(steps, { service: '100' }).done;
  assert.equal(
    app.events.filter(({ type }) => type === 'ChannelCreated'),
    [],
  );
});

test('a phone on this machine without an account is told in the log why it is asked for a password', async ({
  server,
  peer,
  phone,
}) => {
  const steps = [invite({ mediaPort: peer.port, from: 'nobody' }), receive(401), sameBranch('ACK')];
  await phone(steps, { service: '100' }).done;
  const msg = 'a call from this machine without an account is refused';
  assert.equal(
    server.lines().flatMap((line) => (line.msg === msg ? [[line['status'], line['from'], line['reason']]] : [])),
    [[401, 'nobody', 'no endpoint has 127.0.0.1 in `match`: add the address']],
  );
});

test('alice calls with her password', async ({ server, peer, phone }) => {
  const app = await server.app('hello');
  const authenticated = phone(
    [
      invite({ mediaPort: peer.port, from: 'alice' }),
      receive(401, { attributes: ' auth="true"' }),
      sameBranch('ACK'),
      invite({ mediaPort: peer.port, from: 'alice', cseq: 2, headers: ['[authentication]'] }),
      provisional(),
      receive(200),
      request('ACK', 2),
      receive('BYE'),
      confirm(),
    ],
    { service: '100', credentials: { user: 'alice', password: alicePassword } },
  );
  const { channel } = await app.waitFor('StasisStart');
  assert.match(channel.name, /^PJSIP\/alice-/);
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await app.waitFor('ChannelStateChange', (event) => event.channel.state === 'Up');
  await app.ok('DELETE', `/channels/${channel.id}`);
  await authenticated.done;
});

calls.run();
