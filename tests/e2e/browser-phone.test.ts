import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AudioSocketServer } from '../support/audio-socket-server.ts';
import { pageHears } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { amplitude } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, type TestServer, type TestServerOptions } from '../support/server.ts';
import { answered, SippRun } from '../support/sipp.ts';

const phones = suite('browsers as phones: SIP.js over WebSockets, ICE and DTLS-SRTP');
const chromium = need('chromium');
const sipp = need('sipp');

const browser = (name: string, codecs: string[]) => ({
  ...{ webrtc: true, codecs, aor: {} },
  auth: { username: name, password: 'wonderland' },
});
const settings: TestServerOptions = {
  endpoints: {
    alice: browser('alice', ['opus']),
    bob: browser('bob', ['ulaw']),
    anonymous: { match: ['127.0.0.1'] },
  },
  dialplan: {
    default: { '600': ['Stasis(desk,${CHANNEL(name)})'], bob: ['Dial(PJSIP/bob)'] },
  },
  sip: {
    transports: [
      { protocol: 'ws', bind: '127.0.0.1', port: 0 },
      { protocol: 'udp', bind: '127.0.0.1', port: 0 },
    ],
    allowed_origins: ['*'],
  },
};

/** A tab that is closed is gone soon. So is one that a busy machine lets stand still. */
const goneSoon: TestServerOptions = { media: { webrtc: { consent_timeout: 5 } } };

type Register = (name: string) => ReturnType<BrowserPhones['register']>;

const withPhones = (
  path: string,
  body: (server: TestServer, register: Register) => Promise<void>,
  more: TestServerOptions = {},
) =>
  onServer({ ...settings, ...more }, async (server) => {
    const all = server.closing(await BrowserPhones.open(path));
    await body(server, (name) => all.register(server.sip('ws'), name, 'wonderland'));
  });

const dial = (server: TestServer, target: string, video = false) =>
  `phone.dial('sip:${target}@${server.sip('ws')}', ${video})`;

chromium.test(phones, 'a browser calls an application, hears its tone, presses a key and is hung up', (path) =>
  withPhones(path, async (server, register) => {
    const app = await server.app('desk');
    const alice = await register('alice');
    await alice.evaluate(dial(server, '600'));
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:1004/10000,0/10`);
    await pageHears(alice, 1004);
    await alice.evaluate("phone.connection.getSenders()[0].dtmf.insertDTMF('7')");
    await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
    await app.ok('DELETE', `/channels/${channel.id}`);
    await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
  }),
);

chromium.test(
  phones,
  'an application calls a browser; it is held, taken back and heard, and its tab is closed',
  (path) =>
    withPhones(
      path,
      async (server, register) => {
        const app = await server.app('desk', { subscribeAll: true });
        const alice = await register('alice');
        const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
        await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
        await app.ok('POST', `/channels/${id}/play?media=tone:852/10000,0/10`);
        await pageHears(alice, 852);
        await alice.evaluate('phone.hold(true)');
        await app.waitFor('ChannelHold', ({ channel }) => channel.id === id);
        await alice.evaluate('phone.hold(false)');
        await app.waitFor('ChannelUnhold', ({ channel }) => channel.id === id);
        await pageHears(alice, 852);
        await alice.close();
        await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
      },
      goneSoon,
    ),
);

chromium.test(
  phones,
  'two browsers, one with Opus and one with PCMU, hear each other; video is refused, ICE restarts',
  (path) =>
    withPhones(path, async (server, register) => {
      const [alice, bob] = [await register('alice'), await register('bob')];
      await alice.evaluate(dial(server, 'bob', true));
      for (const page of [alice, bob]) await page.waitForFunction("phone.states.at(-1) === 'Established'");
      await alice.evaluate('phone.hum(700)');
      await bob.evaluate('phone.hum(1300)');
      await pageHears(bob, 700);
      await pageHears(alice, 1300);
      const lines = await alice.evaluate<string>('phone.connection.remoteDescription.sdp');
      assert.match(lines, /^m=video 0 UDP\/TLS\/RTP\/SAVPF/m);
      const codecs = await alice.evaluate<string[]>('phone.codecs()');
      assert.equal(codecs, ['audio/opus']);
      assert.equal(await bob.evaluate<string[]>('phone.codecs()'), ['audio/PCMU']);
      const before = /a=ice-ufrag:(.*)/.exec(lines)![1];
      await alice.evaluate('phone.restart()');
      await alice.waitForFunction(`!phone.connection.remoteDescription.sdp.includes('ice-ufrag:${before}')`);
      await bob.evaluate('phone.hum(1800)');
      await pageHears(alice, 1800);
      await bob.evaluate('phone.call.bye()');
      await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
    }),
);

chromium.test(phones, 'a browser and a SIP phone hear each other in a bridge, which is recorded', (path) =>
  withPhones(path, async (server, register) => {
    if (!sipp.path) return;
    const app = await server.app('desk');
    const alice = await register('alice');
    const peer = server.closing(await RtpPeer.open());
    await alice.evaluate(dial(server, '600'));
    const hers = await app.waitFor('StasisStart', ({ args }) => args[0]!.includes('alice'));
    server.closing(new SippRun(sipp.path, { remote: server.sip(), service: '600', steps: answered(peer.port) }));
    const his = await app.waitFor('StasisStart', ({ args }) => args[0]!.includes('anonymous'));
    const channels = [hers.channel.id, his.channel.id];
    for (const id of channels) await app.ok('POST', `/channels/${id}/answer`);
    const bridge = await app.ok<{ id: string }>('POST', '/bridges?type=mixing');
    await app.ok('POST', `/bridges/${bridge.id}/addChannel?channel=${channels.join(',')}`);
    await alice.waitForFunction("phone.states.at(-1) === 'Established'");
    await alice.evaluate('phone.hum(700)');
    await peer.hears([700], [700, 1300]);
    peer.hum(1300);
    await pageHears(alice, 1300);
    await app.ok('POST', `/bridges/${bridge.id}/record?name=browser&format=wav`);
    await pageHears(alice, 1300);
    await peer.hears([700], [700, 1300]);
    await app.ok('DELETE', `/bridges/${bridge.id}`);
    for (const id of channels) await app.ok('DELETE', `/channels/${id}`);
  }),
);

const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
/** Twenty milliseconds of 1300 Hz, which follow themselves without a break. */
const said = Buffer.from(
  Int16Array.from({ length: 160 }, (_, at) => Math.round(8000 * Math.sin((2 * Math.PI * 1300 * at) / 8000))).buffer,
);

chromium.test(phones, 'a browser talks to an AudioSocket server, and by a provider to a phone', async (path) => {
  const port = await freePort();
  const endpoints = { ...settings.endpoints, trunk: { aor: { contacts: [`sip:trunk@127.0.0.1:${port}`] } } };
  const dialplan = { default: { ...settings.dialplan!['default'], '_0X.': ['Dial(PJSIP/${EXTEN}@trunk)'] } };
  await withPhones(
    path,
    async (server, register) => {
      const alice = await register('alice');
      const provider = server.closing(await Phone.open('trunk', server.sip('udp'), port));
      await alice.evaluate(dial(server, '0123'));
      await provider.answered();
      await alice.waitForFunction("phone.states.at(-1) === 'Established'");
      await alice.evaluate('phone.hum(700)');
      provider.audio.hum(1300);
      await pageHears(alice, 1300);
      await provider.audio.hears([700], [700, 1300]);
      provider.hangup();
      await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");

      const outside = server.closing(await AudioSocketServer.open());
      const app = await server.app('desk');
      await alice.evaluate(dial(server, '600'));
      const { channel } = await app.waitFor('StasisStart');
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await app.ok('POST', '/bridges/b1?type=mixing');
      const external = `transport=tcp&encapsulation=audiosocket&external_host=${outside.address}&data=${uuid}&format=slin`;
      await app.ok('POST', `/channels/externalMedia?app=desk&channelId=ai&${external}`);
      const call = await outside.call();
      await app.ok('POST', `/bridges/b1/addChannel?channel=${channel.id},ai`);
      const saying = setInterval(() => call.send(0x10, said), 20);
      server.closing({ close: () => clearInterval(saying) });
      await alice.evaluate('phone.hum(700)');
      await pageHears(alice, 1300);
      await call.until(() => amplitude(call.samples().slice(-1600), 700) > 2000, 'the tone of the browser');
      for (const id of [channel.id, 'ai']) await app.ok('DELETE', `/channels/${id}`);
      await app.ok('DELETE', '/bridges/b1');
    },
    { endpoints, dialplan },
  );
});

phones.run();
