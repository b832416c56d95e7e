import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fingerprintOf } from '../../src/lib/self-made-certificate.ts';
import type { VideoVisibility } from '../../src/models/video-visibility.ts';
import { BrowserPages, packageScript, pageHears, pageSees } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { type SupervisedServer, startSupervised } from '../support/supervised-server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls of browsers go on behind a crash of the server: the browser shakes hands for its keys only once. */
const browsers = suite('calls of browsers over a crash');
const chromium = need('chromium');

const script = `
globalThis.call = async (server, token) => {
  const phone = await Hookswitch.Phone.connect(server, token);
  globalThis.current = await phone.call({ extension: 'echo' });
  ears.listen(current.stream);
};
globalThis.hum = (hertz) => current.connection.getSenders()[0].replaceTrack(ears.tone(hertz));
`;

/** Pages with a camera, that answer what comes. */
const videoScript = `
globalThis.connect = async (server, token, colour, size = [], options = {}) => {
  eyes.useCamera(colour, ...size);
  await new Promise((resolve) => {
    Hookswitch.Phone.connect(server, token, { video: true, onlistening: resolve, ...options }).then((phone) => {
      globalThis.phone = phone;
      phone.onincoming = (call) => { globalThis.current = call; void call.answer(); };
    });
  });
};
globalThis.dial = async (extension) => { globalThis.current = await phone.call({ extension }); };
const camera = () => current.connection.getSenders().find(({ track }) => track?.kind === 'video');
globalThis.show = (colour, ...size) => camera().replaceTrack(eyes.camera(colour, ...size));
/** A busy machine sends fewer pictures, and not smaller ones. */
globalThis.keepSize = () =>
  camera().setParameters({ ...camera().getParameters(), degradationPreference: 'maintain-resolution' });
`;

/** Makes a token that covers calls of browsers alone. */
async function tokenAt(base: string, name: string): Promise<string> {
  const made = await fetch(`${base}/hookswitch/tokens`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('tester:secret')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, operations: ['webrtc'], contexts: ['default'] }),
  });
  return ((await made.json()) as { token: string }).token;
}

const fingerprintIn = (sdp: string): string => /^a=fingerprint:sha-256 (\S+)/m.exec(sdp)?.[1] ?? 'none';

/** @param webrtc settings of its calls. @param replace has another process go on; left out: behind `kill -9`. */
async function hearsAgain(
  path: string,
  webrtc: object,
  replace = (server: SupervisedServer): Promise<void> => server.kill(),
): Promise<string> {
  const server = await startSupervised({
    dialplan: { default: { echo: ['Answer', 'Echo'] } },
    more: { http: { allowed_origins: ['*'] }, media: { webrtc } },
  });
  const pages = await BrowserPages.open(path, [await packageScript(), script]);
  try {
    const base = `http://127.0.0.1:${server.httpPort}`;
    const token = await tokenAt(base, 'alice');
    const page = await pages.page();
    await page.evaluate(`call(${JSON.stringify(base)}, ${JSON.stringify(token)})`);
    await page.evaluate('hum(700)');
    await pageHears(page, 700);
    const [channel] = await server.client().ok<{ id: string }[]>('GET', '/channels');
    const described = () => page.evaluate<string>('current.connection.remoteDescription.sdp');
    const known = fingerprintIn(await described());
    await replace(server);
    const after = server.client();
    const channels = await after.ok<{ id: string; state: string }[]>('GET', '/channels');
    assert.equal(
      channels.map(({ id, state }) => [id, state]),
      [[channel!.id, 'Up']],
    );
    await page.evaluate('hum(1300)');
    await pageHears(page, 1300);
    assert.is(await page.evaluate('current.connection.connectionState'), 'connected');
    await page.evaluate('current.hold(true)');
    await page.evaluate('current.hold(false)');
    await page.evaluate('hum(900)');
    await pageHears(page, 900);
    assert.is(fingerprintIn(await described()), known, 'another certificate in a call');
    await page.evaluate('current.hangup()');
    await untilAsked(
      async () => (await after.ok<unknown[]>('GET', '/channels')).length === 0,
      () => 'the channel stays',
    );
    await page.evaluate(`call(${JSON.stringify(base)}, ${JSON.stringify(token)})`);
    await page.evaluate('hum(500)');
    await pageHears(page, 500);
    return fingerprintIn(await described());
  } finally {
    await pages.close();
    await server.close();
  }
}

chromium.test(browsers, 'a page that calls over HTTP hears itself again, holds, and hangs up', async (path) => {
  await hearsAgain(path, {});
});

chromium.test(
  browsers,
  'so does one that has seen a configured certificate; later calls see what stands there then',
  async (path) => {
    const files = new CertificateFiles();
    try {
      const [first, second] = [new Authority().sign('calls'), new Authority().sign('calls')];
      const pair = files.pair('calls', first);
      assert.is(await hearsAgain(path, pair), fingerprintOf(first));
      const replaced = hearsAgain(path, pair, (server) => {
        files.pair('calls', second);
        return server.kill();
      });
      assert.is(await replaced, fingerprintOf(second));
    } finally {
      files.close();
    }
  },
);

for (const [how, replace] of [
  ['', (server: SupervisedServer) => server.kill()],
  [', also over an upgrade', (server: SupervisedServer) => server.replace()],
] as const)
  chromium.test(browsers, `so does one on the port that all browsers share${how}`, async (path) => {
    await hearsAgain(path, { udp_port: await freePort() }, replace);
  });

type Seeing = { server: SupervisedServer; alice: Page; bob: Page };

/**
 * Alice, whose camera shows red, calls bob, whose camera shows blue.
 * @param how arguments of the page of alice behind her colour. @param codec of both cameras.
 */
async function withCall(
  path: string,
  how: readonly unknown[],
  body: (call: Seeing) => Promise<void>,
  codec: 'vp8' | 'h264' = 'vp8',
): Promise<void> {
  const server = await startSupervised({
    dialplan: { default: { bob: ['Dial(WebRTC/bob,30)'] } },
    // Written rarely: the numbers of the next process follow old ones, and none may come twice.
    more: {
      http: { allowed_origins: ['*'] },
      state_store: { interval: 30 },
      media: { webrtc: { video_codecs: [codec] } },
    },
  });
  const pages = await BrowserPages.open(path, [await packageScript(), videoScript]);
  try {
    const base = `http://127.0.0.1:${server.httpPort}`;
    const open = async (name: string, ...more: readonly unknown[]) => {
      const page = await pages.page();
      const parts = [base, await tokenAt(base, name), ...more].map((each) => JSON.stringify(each));
      await page.evaluate(`connect(${parts.join(', ')})`);
      return page;
    };
    const [alice, bob] = [await open('alice', 'red', ...how), await open('bob', 'blue')];
    await alice.evaluate("dial('bob')");
    for (const page of [alice, bob]) await page.waitForFunction('globalThis.current?.connection.remoteDescription');
    for (const page of [alice, bob]) await page.evaluate('eyes.watch(current.stream.getVideoTracks())');
    await body({ server, alice, bob });
    await alice.evaluate('current.hangup()');
    const after = server.client();
    await untilAsked(
      async () => (await after.ok<unknown[]>('GET', '/channels')).length === 0,
      () => 'a channel stays',
    );
  } catch (error) {
    process.stderr.write(server.logged());
    throw error;
  } finally {
    await pages.close();
    await server.close();
  }
}

chromium.test(browsers, 'two pages see each other again, with the same keys', (path) =>
  withCall(path, [], async ({ server, alice, bob }) => {
    await pageSees(alice, 'blue');
    await pageSees(bob, 'red');
    await server.kill();
    // What is seen from here on went through the next process.
    await alice.evaluate("show('green')");
    await bob.evaluate("show('yellow')");
    await pageSees(alice, 'yellow');
    await pageSees(bob, 'green');
    for (const page of [alice, bob]) assert.is(await page.evaluate('current.connection.connectionState'), 'connected');
  }),
);

/** Waits until a page gets the larger of two sizes. */
async function seesLarger(server: SupervisedServer, codec: string): Promise<void> {
  let told = '';
  await untilAsked(
    async () => {
      const client = server.client();
      const [bridge] = await client.ok<{ id: string }[]>('GET', '/bridges');
      const path = `/../hookswitch/bridges/${bridge?.id}/video-visibility`;
      const members = await client.ok<VideoVisibility[]>('GET', path);
      told = JSON.stringify(members);
      const others = members.flatMap((member) => member.others);
      return others.some((each) => each.seen && each.codec === codec && each.size === 2 && each.sizes === 2);
    },
    () => `the interface tells ${told}`,
  );
}

const simulcast = [
  { rid: 'l', scaleResolutionDownBy: 2, maxBitrate: 60_000 },
  { rid: 'h', maxBitrate: 220_000 },
];

for (const codec of ['vp8', 'h264'] as const)
  chromium.test(
    browsers,
    `a camera in two sizes of ${codec} comes in both again, and its viewer has the larger one`,
    (path) =>
      withCall(
        path,
        [[640, 360, 100], { simulcast }],
        async ({ server, alice, bob }) => {
          await alice.evaluate('keepSize()');
          await pageSees(bob, 'red');
          await seesLarger(server, codec);
          await server.kill();
          await alice.evaluate("show('green', 640, 360, 100)");
          await pageSees(bob, 'green');
          await seesLarger(server, codec);
        },
        codec,
      ),
  );

chromium.test(
  browsers,
  'a page with SIP.js hears itself again, and its next connection carries hold and BYE',
  async (path) => {
    const alice = { webrtc: true, codecs: ['opus'], aor: {}, auth: { username: 'alice', password: 'wonderland' } };
    const server = await startSupervised({
      ws: true,
      endpoints: { alice },
      dialplan: { default: { echo: ['Answer', 'Echo'] } },
    });
    const phones = await BrowserPhones.open(path);
    try {
      const at = `127.0.0.1:${server.wsPort}`;
      const page = await phones.register(at, 'alice', 'wonderland');
      await page.evaluate(`phone.dial('sip:echo@${at}')`);
      await page.waitForFunction("phone.states.at(-1) === 'Established'");
      await page.evaluate('phone.hum(700)');
      await pageHears(page, 700);
      await server.kill();
      await page.evaluate('phone.hum(1300)');
      await pageHears(page, 1300);
      await page.evaluate('phone.agent.reconnect()');
      await page.evaluate('phone.hold(true)');
      await page.evaluate('phone.hold(false)');
      await page.evaluate('phone.hum(900)');
      await pageHears(page, 900);
      await page.evaluate('phone.call.bye()');
      const after = server.client();
      await untilAsked(
        async () => (await after.ok<unknown[]>('GET', '/channels')).length === 0,
        () => 'the channel stays',
      );
    } finally {
      await phones.close();
      await server.close();
    }
  },
);

browsers.run();
