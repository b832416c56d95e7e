import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilTrue } from '../support/browser.ts';
import { BrowserLeg } from '../support/browser-leg.ts';
import {
  BrowserPages,
  onlyCandidates,
  packageScript,
  pageHears,
  pageSees,
  pageToken,
} from '../support/browser-pages.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { TurnServer } from '../support/turn-server.ts';

const test = suite('browsers that cannot reach the port of their call');
const chromium = need('chromium');
const coturn = need('turnserver');

/** A page that takes the candidates of one type alone. */
const script = `
globalThis.test = {
  states: [],
  ${onlyCandidates},
  /** Sends and takes packets by its TURN server alone. */
  onlyRelay() {
    const Connection = RTCPeerConnection;
    globalThis.RTCPeerConnection = class extends Connection {
      constructor(options) { super({ ...options, iceTransportPolicy: 'relay' }); }
    };
  },
  async connect(server, token) {
    await new Promise((resolve) => {
      Hookswitch.Phone.connect(server, token, { video: true, onlistening: resolve }).then((phone) => {
        test.phone = phone;
        phone.onincoming = (made) => test.follow(made);
      });
    });
  },
  follow(made) {
    test.made = made;
    made.onchange = ({ state }) => test.states.push(state);
  },
  look() {
    ears.listen(new MediaStream(test.made.stream.getAudioTracks()));
    eyes.watch(test.made.stream.getVideoTracks());
  },
  async call(target) {
    test.follow(await test.phone.call(target));
    test.look();
  },
  async answer() {
    await test.made.answer();
    test.look();
  },
  async hum(hertz) { await test.made.connection.getSenders()[0].replaceTrack(ears.tone(hertz)); },
  /** The candidates of the pair that packets take. */
  async candidates() {
    const report = await test.made.connection.getStats();
    const all = [...report.values()];
    const { selectedCandidatePairId: id } = all.find(({ type }) => type === 'transport') ?? {};
    const { localCandidateId, remoteCandidateId } = report.get(id) ?? {};
    return [report.get(localCandidateId) ?? {}, report.get(remoteCandidateId) ?? {}];
  },
  /** The port of the server. */
  port: async () => (await test.candidates())[1].port,
  /** Types and addresses of the pair. */
  async pair() {
    const [ours, { candidateType, protocol, tcpType }] = await test.candidates();
    const isRelay = ours.candidateType === 'relay';
    return [isRelay ? 'relay to' : '', candidateType, protocol, tcpType].join(' ').trim();
  },
};
`;

/** A page that is in a call of an application by the server's candidates of that type alone; left out: by a relay of its own. */
async function withCall(
  path: string,
  { type, media, tls }: { type?: string; media: object; tls?: object | undefined },
  body: (call: { app: Awaited<ReturnType<TestServer['app']>>; page: Page; channel: string }) => Promise<void>,
): Promise<void> {
  await onServer({ http: { allowed_origins: ['*'] }, media, ...(tls && { tls }) }, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [await packageScript(), script]));
    const app = await server.app('desk');
    const page = await pages.page();
    await page.evaluate(type === undefined ? 'test.onlyRelay()' : `test.only(${JSON.stringify(type)})`);
    const at = [server.url.replace(/\/ari$/, ''), await pageToken(server, 'alice')];
    await page.evaluate(`test.connect(${at.map((each) => JSON.stringify(each)).join(', ')})`);
    await page.evaluate("test.call({ app: 'desk' })");
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await body({ app, page, channel: channel.id });
  });
}

const accounts = {
  'a name and password': [['--user=desk:north wind'], { username: 'desk', password: 'north wind' }],
  'a shared secret': [['--use-auth-secret', '--static-auth-secret=east wind'], { secret: 'east wind' }],
} as const;

chromium.test(test, 'a page that has only the TCP candidate hears and is heard, and restarts ICE', async (path) => {
  const tcp = { port: await freePort(), bind: '127.0.0.1' };
  await withCall(path, { type: 'tcptype passive', media: { webrtc: { tcp } } }, async ({ app, page, channel }) => {
    await app.ok('POST', `/channels/${channel}/play?media=tone:1004/10000,0/10`);
    await pageHears(page, 1004);
    assert.is(await page.evaluate('test.pair()'), 'host tcp passive');
    await page.evaluate("test.made.press('7')");
    await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
    await page.evaluate('test.made.restart()');
    await page.evaluate("test.made.press('8')");
    await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '8');
    await pageHears(page, 1004);
    await app.ok('DELETE', `/channels/${channel}`);
    await untilTrue(page, "test.states.at(-1) === 'ended'");
  });
});

type Way = {
  /** The candidates that alice takes; left out: all. */
  only?: string;
  /** Both send and take packets by their TURN server alone. */
  relays?: boolean;
  /** What packets of alice and of bob take. */
  pairs: readonly string[];
  /** The port of the server that both have. */
  port?: number;
  /** While they talk. */
  meanwhile?: (server: TestServer, alice: Page) => Promise<unknown>;
};

/** Alice calls bob, and they hear and see each other. */
async function callEachOther(
  path: string,
  webrtc: object,
  { only, relays, pairs, port, meanwhile }: Way,
): Promise<void> {
  const dialplan = { default: { bob: ['Dial(WebRTC/bob,30)'] } };
  await onServer({ http: { allowed_origins: ['*'] }, dialplan, media: { webrtc } }, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [await packageScript(), script]));
    const app = await server.app('desk', { subscribeAll: true });
    const connect = async (name: string, colour: string) => {
      const page = await pages.page();
      await page.evaluate(`eyes.useCamera('${colour}')`);
      if (relays) await page.evaluate('test.onlyRelay()');
      const at = [server.url.replace(/\/ari$/, ''), await pageToken(server, name)];
      await page.evaluate(`test.connect(${at.map((each) => JSON.stringify(each)).join(', ')})`);
      return page;
    };
    const [alice, bob] = [await connect('alice', 'red'), await connect('bob', 'blue')];
    if (only !== undefined) await alice.evaluate(`test.only('${only}')`);
    await alice.evaluate("test.call({ extension: 'bob' })");
    await untilTrue(bob, 'test.made !== undefined');
    await bob.evaluate('test.answer()');
    for (const page of [alice, bob]) await untilTrue(page, "test.states.at(-1) === 'up'");
    await alice.evaluate('test.hum(700)');
    await bob.evaluate('test.hum(1300)');
    await pageHears(bob, 700);
    await pageHears(alice, 1300);
    await pageSees(bob, 'red');
    await pageSees(alice, 'blue');
    if (meanwhile) {
      await meanwhile(server, alice);
      await alice.evaluate('test.hum(900)');
      await bob.evaluate('test.hum(1100)');
      await pageHears(bob, 900);
      await pageHears(alice, 1100);
    }
    assert.equal([await alice.evaluate('test.pair()'), await bob.evaluate('test.pair()')], pairs);
    if (port !== undefined) for (const page of [alice, bob]) assert.is(await page.evaluate('test.port()'), port);
    await alice.evaluate('test.made.hangup()');
    await untilTrue(bob, "test.states.at(-1) === 'ended'");
    for (const name of ['alice', 'bob'])
      await app.waitFor('ChannelDestroyed', ({ channel }) => channel.name.startsWith(`WebRTC/${name}`));
  });
}

chromium.test(test, 'a page by TCP and a page by UDP hear and see each other', async (path) => {
  const webrtc = { tcp: { port: await freePort(), bind: '127.0.0.1' } };
  await callEachOther(path, webrtc, { only: 'tcptype passive', pairs: ['host tcp passive', 'host udp'] });
});

for (const ice of ['full', 'lite'])
  chromium.test(
    test,
    `two pages call by one port, also behind the loss of its thread and a restart of ICE (${ice})`,
    async (path) => {
      const port = await freePort();
      await callEachOther(
        path,
        { ice, udp_port: port },
        {
          ...{ port, pairs: ['host udp', 'host udp'] },
          async meanwhile(server, alice) {
            await server.endMediaThreads();
            await alice.evaluate('test.made.restart()');
          },
        },
      );
    },
  );

test('the one port is told with the address outside of the NAT, which forwards it', async () => {
  const port = await freePort();
  const [outside, inside] = ['203.0.113.5', '127.0.0.1'];
  const media = { webrtc: { udp_port: port } };
  await onServer({ sip: { external_address: outside }, media }, async (server) => {
    const app = await server.app('desk');
    const leg = server.closing(await BrowserLeg.open());
    const token = await pageToken(server, 'alice');
    const response = await fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}/webrtc?app=desk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/sdp' },
      body: leg.offer(),
    });
    assert.is(response.status, 201);
    const answer = await response.text();
    const { channel } = await app.waitFor('StasisStart');
    const candidates = [...answer.matchAll(/^a=candidate:\S+ 1 udp \d+ (\S+) (\d+) typ (\S+)/gm)];
    assert.equal(
      candidates.map(([, address, at, type]) => [address, Number(at), type]),
      [[outside, port, 'host']],
    );
    leg.begin(answer.replaceAll(outside, inside));
    await leg.connected();
    const heard = new Promise<void>((resolve) => {
      leg.heard = () => resolve();
    });
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:440/10000,0/10`);
    await heard;
    await app.ok('DELETE', `/channels/${channel.id}`);
  });
});

/** Both are needed. */
const both = chromium.path ? coturn : chromium;

both.test(test, 'two pages call by one port and relays of their own TURN server', async () => {
  const [options, { secret }] = accounts['a shared secret'];
  const turn = await TurnServer.start(coturn.path!, options);
  const port = await freePort();
  try {
    await callEachOther(
      chromium.path!,
      { udp_port: port, turn: { urls: [`turn:127.0.0.1:${turn.port}`], secret } },
      { relays: true, port, pairs: ['relay to host udp', 'relay to host udp'] },
    );
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${turn.explain()}`, { cause: error });
  } finally {
    await turn.close();
  }
});

/**
 * A page in a call by a relay of a TURN server hears and is heard, and the relay is given back.
 * @param port the port of all browsers; left out: each call has its own
 */
async function hearsByRelay(
  turn: TurnServer,
  gathering: object,
  { tls, port = 0 }: { tls?: object; port?: number } = {},
): Promise<void> {
  try {
    // A full agent finds the page without its relay.
    const media = { webrtc: { ice: 'lite', udp_port: port, gathering: { ...gathering, wait: 5 } } };
    await withCall(chromium.path!, { type: ' typ relay', media, tls }, async ({ app, page, channel }) => {
      await app.ok('POST', `/channels/${channel}/play?media=tone:1004/10000,0/10`);
      await pageHears(page, 1004);
      assert.is(await page.evaluate('test.pair()'), 'relay udp');
      await page.evaluate("test.made.press('7')");
      await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
      await turn.logs(/CHANNEL_BIND processed, success/);
      await app.ok('DELETE', `/channels/${channel}`);
      await untilTrue(page, "test.states.at(-1) === 'ended'");
      // It is given back at once, and not left until it ends.
      await turn.logs(/delete|closed.*allocation|refreshed.*lifetime=0/i);
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${turn.explain()}`, { cause: error });
  } finally {
    await turn.close();
  }
}

for (const [how, [options, account]] of Object.entries(accounts))
  both.test(test, `a page hears and is heard by a relay of the server's TURN server, with ${how}`, async () => {
    const turn = await TurnServer.start(coturn.path!, options);
    await hearsByRelay(turn, { turn: `127.0.0.1:${turn.port}`, ...account });
  });

for (const [beside, hasPort] of [
  ['', false],
  [', beside one port for all browsers', true],
] as const)
  both.test(test, `a page hears and is heard by a relay of a TURN server that is reached by TCP${beside}`, async () => {
    const turn = await TurnServer.start(coturn.path!, ['--user=desk:north wind', '--no-udp']);
    const account = accounts['a name and password'][1];
    const gathering = { turn: `turn:127.0.0.1:${turn.port}?transport=tcp`, ...account };
    await hearsByRelay(turn, gathering, { port: hasPort ? await freePort() : 0 });
  });

both.test(test, 'the same by TLS, with a certificate of an authority that is trusted', async () => {
  const files = new CertificateFiles();
  try {
    const authority = new Authority();
    const pair = files.pair('turn', authority.sign('turn.example.com'));
    const turn = await TurnServer.start(coturn.path!, ['--user=desk:north wind'], pair);
    const gathering = { turn: `turns:127.0.0.1:${turn.port}`, turn_name: 'turn.example.com' };
    const account = accounts['a name and password'][1];
    await hearsByRelay(
      turn,
      { ...gathering, ...account },
      { tls: { certificates: [pair], authorities: [files.authority(authority)] } },
    );
  } finally {
    files.close();
  }
});

both.test(
  test,
  'a page and a server that reach nothing but the TURN server hear each other by a relay each',
  async () => {
    const [options, { secret }] = accounts['a shared secret'];
    // What is relayed comes from another address than that of the server, to which nothing is relayed.
    const apart = ['--relay-ip=127.0.0.2', '--denied-peer-ip=127.0.0.1'];
    const turn = await TurnServer.start(coturn.path!, [...options, ...apart]);
    const at = `127.0.0.1:${turn.port}`;
    const webrtc = { turn: { urls: [`turn:${at}`], secret }, gathering: { turn: at, secret, wait: 5 } };
    try {
      await withCall(chromium.path!, { media: { webrtc } }, async ({ app, page, channel }) => {
        await app.ok('POST', `/channels/${channel}/play?media=tone:1004/10000,0/10`);
        await pageHears(page, 1004);
        assert.is(await page.evaluate('test.pair()'), 'relay to relay udp');
        await page.evaluate("test.made.press('7')");
        await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
        await app.ok('DELETE', `/channels/${channel}`);
        await untilTrue(page, "test.states.at(-1) === 'ended'");
      });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${turn.explain()}`, { cause: error });
    } finally {
      await turn.close();
    }
  },
);

test.run();
