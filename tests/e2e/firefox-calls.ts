import assert from 'node:assert/strict';
import { servePages } from '../support/browser-pages.ts';
import { phoneScripts } from '../support/browser-phone.ts';
import { Firefox, type FirefoxPage } from '../support/firefox.ts';
import { onServer, type TestServer } from '../support/server.ts';

/**
 * Calls of Firefox with SIP.js: its offers, answers, ICE and DTLS are not those of Chromium. It takes no ICE candidates of
 * 127.0.0.1, so this program runs in a network of its own, with another address.
 */
const [path = '', address = ''] = process.argv.slice(2);

const phone = (name: string) => ({
  ...{ webrtc: true, codecs: ['opus'], video_codecs: ['vp8'], aor: {} },
  auth: { username: name, password: 'wonderland' },
});

const dial = (server: TestServer, target: string, video: boolean) =>
  `phone.dial('sip:${target}@${server.sip('ws')}', ${video})`;

const connected = (page: FirefoxPage) => page.until("phone.connection.connectionState === 'connected'");

/** Without a sound card there is no Web Audio: the level of what is received tells. */
const hears = (page: FirefoxPage) =>
  page.until(`phone.connection.getStats().then((report) =>
    [...report.values()].some(({ type, kind, audioLevel }) => type === 'inbound-rtp' && kind === 'audio' && audioLevel > 0.01))`);

async function callApplication(server: TestServer, alice: FirefoxPage): Promise<void> {
  const app = await server.app('desk');
  const dialed = alice.evaluate(dial(server, '600', false));
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await dialed;
  await connected(alice);
  await app.ok('POST', `/channels/${channel.id}/play?media=tone:1004/10000,0/10`);
  await hears(alice);
  await alice.evaluate("phone.connection.getSenders()[0].dtmf.insertDTMF('7')");
  await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
  await alice.evaluate('phone.hold(true)');
  await app.waitFor('ChannelHold');
  await alice.evaluate('phone.hold(false)');
  await app.waitFor('ChannelUnhold');
  const user = async () =>
    /a=ice-ufrag:(.*)/.exec(await alice.evaluate<string>('phone.connection.remoteDescription.sdp'))?.[1];
  const before = await user();
  await alice.evaluate('phone.restart()');
  assert.notEqual(await user(), before);
  await connected(alice);
  await alice.evaluate("phone.connection.getSenders()[0].dtmf.insertDTMF('8')");
  await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '8');
  await app.ok('DELETE', `/channels/${channel.id}`);
  await alice.until("phone.states.at(-1) === 'Terminated'");
}

async function callEachOther(server: TestServer, alice: FirefoxPage, bob: FirefoxPage): Promise<void> {
  for (const [page, colour] of [
    [alice, 'red'],
    [bob, 'blue'],
  ] as const)
    await page.evaluate(`(phone.video = true, eyes.useCamera('${colour}'))`);
  await alice.evaluate(dial(server, 'bob', true));
  for (const page of [alice, bob]) {
    await page.until("phone.states.at(-1) === 'Established'");
    await connected(page);
    await hears(page);
    await page.evaluate('phone.look()');
  }
  await alice.until("eyes.colour(0) === 'blue'");
  await bob.until("eyes.colour(0) === 'red'");
  await bob.evaluate('void phone.call.bye()');
  await alice.until("phone.states.at(-1) === 'Terminated'");
}

await onServer(
  {
    endpoints: { alice: phone('alice'), bob: phone('bob') },
    dialplan: { default: { '600': ['Stasis(desk)'], bob: ['Dial(PJSIP/bob)'] } },
    media: { rtp_address: address },
    sip: { transports: [{ protocol: 'ws', bind: '127.0.0.1', port: 0 }], allowed_origins: ['*'] },
  },
  async (server) => {
    const served = server.closing(await servePages(await phoneScripts()));
    const browser = server.closing(await Firefox.open(path));
    const register = async (name: string) => {
      const page = await browser.page(served.origin);
      await page.evaluate(`phone.start(${JSON.stringify(server.sip('ws'))}, '${name}', 'wonderland')`);
      return page;
    };
    const alice = await register('alice');
    await callApplication(server, alice);
    process.stdout.write('Firefox and an application have talked\n');
    await callEachOther(server, alice, await register('bob'));
    process.stdout.write('two tabs have seen each other\n');
  },
);
process.exit(0);
