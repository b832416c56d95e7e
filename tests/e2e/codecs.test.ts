import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriClient } from '../support/ari-client.ts';
import { freePort } from '../support/free-port.ts';
import { audioTypes, Phone } from '../support/phone.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** Whom a call is for decides which codec its caller is answered with, over real sockets. */
const codecs = suite('codecs of callers');

const [ulaw, g722] = [0, 9];

const dialplan = {
  default: {
    '200': ['Dial(PJSIP/bob)'],
    '201': ['Dial(Local/200@default)'],
    '202': ['Progress', 'Dial(PJSIP/bob)'],
    desk: ['Stasis(desk)'],
  },
};

type World = { server: TestServer; app: AriClient; alice: Phone; bob: Phone };

/** A server that likes µ-law best, Alice who calls with it and with G.722, and Bob who has G.722 alone. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  codecs(title, async () => {
    const port = await freePort();
    const endpoints = {
      anonymous: { match: ['127.0.0.1'], codecs: ['ulaw', 'g722'] },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] }, codecs: ['ulaw', 'g722'] },
    };
    await onServer({ dialplan, endpoints }, async (server) => {
      const alice = server.closing(await Phone.open('4711', server.sip()));
      const bob = server.closing(await Phone.open('bob', server.sip(), port));
      alice.codecs = [ulaw, g722];
      bob.codecs = [g722];
      const app = await server.app('desk', { subscribeAll: true });
      await body({ server, app, alice, bob });
      alice.hangup();
      await Promise.all([alice.over(), bob.over()]);
    });
  });

/** The codec that a phone was described with last. */
const toldOf = (phone: Phone): number | undefined => audioTypes(phone.described.at(-1) ?? '')[0];

/** A caller in the application, for whom a channel that was made for nobody is dialed: Bob, who has answered. */
async function dialedFor({ app, alice }: World) {
  const called = alice.call('desk');
  const { channel: caller } = await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/create?endpoint=PJSIP/bob&app=desk&channelId=bob');
  await app.waitFor('StasisStart', ({ channel }) => channel.id === 'bob');
  await app.ok('POST', `/channels/bob/dial?caller=${caller.id}`);
  await app.waitFor('ChannelStateChange', ({ channel }) => channel.id === 'bob' && channel.state === 'Up');
  return { caller, called };
}

/**
 * What one says the other hears octet by octet: such noise is not what a decoder and an encoder would make of it. Once the
 * first has come, nothing else does.
 */
async function assertPassedOn(speaker: Phone, listener: Phone): Promise<void> {
  const said = randomBytes(160);
  const isSaid = ({ payloadType, payload }: (typeof listener.audio.packets)[number]): boolean =>
    payloadType === g722 && payload.equals(said);
  speaker.audio.repeat(g722, said);
  const first = (): number => listener.audio.packets.findIndex(isSaid);
  await listener.audio.until(
    () => first() >= 0 && listener.audio.packets.length >= first() + 25,
    'what the other says',
  );
  assert.ok(listener.audio.packets.slice(first()).every(isSaid));
  speaker.audio.hush();
}

test('who calls somebody through the dialplan is answered with the codec of whoever answers', async (world) => {
  const { alice, bob } = world;
  await alice.call('200');
  assert.equal([toldOf(alice), audioTypes(bob.described[0] ?? '')], [g722, [ulaw, g722, 101]]);
  await assertPassedOn(alice, bob);
  await assertPassedOn(bob, alice);
});

test('whoever is called is offered first what the caller has', async ({ alice, bob }) => {
  alice.codecs = [g722];
  bob.codecs = [ulaw, g722];
  await alice.call('200');
  assert.equal([toldOf(alice), audioTypes(bob.described[0] ?? '')], [g722, [g722, ulaw, 101]]);
  await assertPassedOn(alice, bob);
});

test('so is who calls somebody by way of a Local channel', async ({ alice, bob }) => {
  await alice.call('201');
  assert.is(toldOf(alice), g722);
  await assertPassedOn(alice, bob);
});

test('so is who an application answers once another phone, called for it, has answered', async (world) => {
  const { app, alice, bob } = world;
  const called = alice.call('desk');
  const { channel: caller } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels?endpoint=PJSIP/bob&app=desk&channelId=bob&originator=${caller.id}`);
  await app.waitFor('StasisStart', ({ channel }) => channel.id === 'bob');
  await app.ok('POST', `/channels/${caller.id}/answer`);
  await called;
  assert.is(toldOf(alice), g722);
  await app.ok('POST', '/bridges/both?type=mixing');
  await app.ok('POST', `/bridges/both/addChannel?channel=${caller.id},bob`);
  await assertPassedOn(alice, bob);
  await assertPassedOn(bob, alice);
  await app.ok('DELETE', '/bridges/both');
  await app.ok('DELETE', '/channels/bob');
});

test('so is who a channel of an application, which was made for nobody, is dialed for', async (world) => {
  const { app, alice, bob } = world;
  alice.codecs = [g722];
  bob.codecs = [ulaw, g722];
  const { caller, called } = await dialedFor(world);
  assert.equal(audioTypes(bob.described[0] ?? ''), [g722, ulaw, 101], 'it is offered first what the caller has');
  await app.ok('POST', `/channels/${caller.id}/answer`);
  await called;
  assert.is(toldOf(alice), g722);
  await app.ok('POST', '/bridges/both?type=mixing');
  await app.ok('POST', `/bridges/both/addChannel?channel=${caller.id},bob`);
  await assertPassedOn(alice, bob);
  await app.ok('DELETE', '/bridges/both');
  await app.ok('DELETE', '/channels/bob');
});

test('a caller with several is answered with what the one has that was dialed for it', async (world) => {
  const { app, alice } = world;
  const { caller, called } = await dialedFor(world);
  await app.ok('POST', `/channels/${caller.id}/answer`);
  await called;
  assert.is(toldOf(alice), g722);
  await app.ok('DELETE', '/channels/bob');
});

test('who nobody is called for is answered with the codec that comes first by configuration', async (world) => {
  const { app, alice, bob } = world;
  const called = alice.call('desk');
  const { channel: caller } = await app.waitFor('StasisStart');
  await app.ok('POST', '/channels?endpoint=PJSIP/bob&app=desk&channelId=bob');
  await app.waitFor('StasisStart', ({ channel }) => channel.id === 'bob');
  await app.ok('POST', `/channels/${caller.id}/answer`);
  await called;
  assert.equal([toldOf(alice), bob.inCall], [ulaw, true]);
  await app.ok('DELETE', '/channels/bob');
});

test('who was told of a codec before keeps it', async ({ alice }) => {
  await alice.call('202');
  assert.is(toldOf(alice), ulaw);
});

codecs.run();
