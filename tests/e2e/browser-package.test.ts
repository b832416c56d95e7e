import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fingerprintOf } from '../../src/lib/self-made-certificate.ts';
import { BrowserLeg } from '../support/browser-leg.ts';
import { BrowserPages, packageScript, pageHears, pageToken } from '../support/browser-pages.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { need } from '../support/need.ts';
import { onServer, password, type TestServer, type TestServerOptions, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const browsers = suite('browsers that call over HTTP, with the package for pages');
const chromium = need('chromium');

/** The certificate of the configuration, which DTLS of all these pages sees. */
const files = new CertificateFiles();
const certified = new Authority().sign('calls.example.com');
browsers.after(() => files.close());

const settings: TestServerOptions = {
  http: { allowed_origins: ['*'] },
  dialplan: {
    default: { '600': ['Stasis(desk,${CHANNEL(name)})'], bob: ['Dial(WebRTC/bob,30)'], echo: ['Answer', 'Echo'] },
  },
  listening: { on: true },
  media: {
    webrtc: {
      consent_timeout: 5,
      turn: { urls: ['turn:turn.example.com'], secret: 'north wind' },
      ...files.pair('calls', certified),
    },
  },
};

/** What tests do with the package. */
const script = `
globalThis.test = {
  states: [],
  async connect(server, token) {
    await new Promise((resolve) => {
      Hookswitch.Phone.connect(server, token, { onlistening: (name) => { test.name = name; resolve(); } })
        .then((phone) => { test.phone = phone; phone.onincoming = (call) => test.follow(call); });
    });
  },
  follow(call) {
    test.call = call;
    call.onchange = ({ state }) => test.states.push(state);
  },
  async dial(target, options) {
    test.follow(await test.phone.call(target, options));
    ears.listen(test.call.stream);
  },
  async supervise(channel, mode) {
    test.follow(await test.phone.supervise(channel, mode));
    ears.listen(test.call.stream);
  },
  async answer() { ears.listen(await test.call.answer()); },
  async hum(hertz) { await test.call.connection.getSenders()[0].replaceTrack(ears.tone(hertz)); },
};
`;

type Connect = (name: string) => Promise<import('playwright-core').Page>;

const withPages = (path: string, body: (server: TestServer, connect: Connect) => Promise<void>) =>
  onServer(settings, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [await packageScript(), script]));
    const base = server.url.replace(/\/ari$/, '');
    await body(server, async (name) => {
      const page = await pages.page();
      await page.evaluate(`test.connect(${JSON.stringify(base)}, ${JSON.stringify(await pageToken(server, name))})`);
      return page;
    });
  });

chromium.test(
  browsers,
  'a page calls an application, hears it, presses a key, holds, restarts ICE and is hung up',
  (path) =>
    withPages(path, async (server, connect) => {
      const app = await server.app('desk');
      const alice = await connect('alice');
      await alice.evaluate("test.dial({ app: 'desk', appArgs: 'a,b' })");
      const { channel, args } = await app.waitFor('StasisStart');
      assert.equal(args, ['a', 'b']);
      assert.match(channel.name, /^WebRTC\/alice-/);
      assert.is(channel.state, 'Ring');
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await alice.waitForFunction("test.states.at(-1) === 'up'");
      await app.ok('POST', `/channels/${channel.id}/play?media=tone:1004/10000,0/10`);
      await pageHears(alice, 1004);
      const described = await alice.evaluate<string>('test.call.connection.remoteDescription.sdp');
      assert.ok(described.includes(`a=fingerprint:sha-256 ${fingerprintOf(certified)}`), 'another certificate');
      await alice.evaluate("test.call.press('7')");
      await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
      await alice.evaluate('test.call.hold(true)');
      await app.waitFor('ChannelHold');
      await alice.evaluate('test.call.hold(false)');
      await app.waitFor('ChannelUnhold');
      const before = await alice.evaluate<string>('test.call.connection.remoteDescription.sdp');
      await alice.evaluate('test.call.restart()');
      const after = await alice.evaluate<string>('test.call.connection.remoteDescription.sdp');
      assert.is.not(/ice-ufrag:.*/.exec(after)![0], /ice-ufrag:.*/.exec(before)![0]);
      await pageHears(alice, 1004);
      await app.ok('DELETE', `/channels/${channel.id}`);
      await alice.waitForFunction("test.states.at(-1) === 'ended'");
    }),
);

chromium.test(browsers, 'a page calls another one over the dialplan: they hear each other, and one closes', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk', { subscribeAll: true });
    const [alice, bob] = [await connect('alice'), await connect('bob')];
    assert.is(await bob.evaluate('test.name'), 'bob');
    await alice.evaluate("test.dial({ extension: 'bob' })");
    await bob.waitForFunction('test.call !== undefined');
    assert.is(await bob.evaluate('test.call.caller.number'), 'alice');
    await bob.evaluate('test.answer()');
    for (const page of [alice, bob]) await page.waitForFunction("test.states.at(-1) === 'up'");
    await alice.evaluate('test.hum(700)');
    await bob.evaluate('test.hum(1300)');
    await pageHears(bob, 700);
    await pageHears(alice, 1300);
    await bob.close();
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.name.startsWith('WebRTC/bob'));
    await alice.waitForFunction("test.states.at(-1) === 'ended'");
  }),
);

chromium.test(
  browsers,
  'keys that are pressed before there is a connection, or faster than they are sent, all arrive',
  (path) =>
    withPages(path, async (server, connect) => {
      const app = await server.app('desk');
      const bob = await connect('bob');
      await app.ok('POST', '/channels?endpoint=WebRTC/bob&app=desk');
      await bob.waitForFunction('test.call !== undefined');
      const hears = (keys: string) => {
        const heard = () =>
          app.events.map((event) => (event.type === 'ChannelDtmfReceived' ? event.digit : '')).join('');
        return untilAsked(
          async () => heard() === keys,
          () => `heard ${heard()} and not ${keys}`,
        );
      };
      await bob.evaluate("test.call.press('12'); test.call.press('3')");
      assert.is(
        await bob.evaluate("(() => { try { test.call.press('4x'); } catch ({ name }) { return name; } })()"),
        'SyntaxError',
      );
      await bob.evaluate('test.answer()');
      await hears('123');
      await bob.evaluate("for (const key of '*0#') test.call.press(key)");
      await hears('123*0#');
      await bob.evaluate('test.call.hangup()');
    }),
);

chromium.test(browsers, 'a page refuses a call, and a name without a page cannot be reached', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    const bob = await connect('bob');
    const call = (name: string) => app.ok<{ id: string }>('POST', `/channels?endpoint=WebRTC/${name}&app=desk`);
    const refused = await call('bob');
    await bob.waitForFunction('test.call !== undefined');
    await bob.evaluate('test.call.hangup()');
    const end = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === refused.id);
    assert.is(end.cause, 21);
    const missing = await call('nobody');
    const other = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === missing.id);
    assert.is(other.cause, 20);
  }),
);

/** Waits until a page hears a frequency, perhaps among others. */
const hearsAlso = (page: import('playwright-core').Page, hertz: number) =>
  page.waitForFunction(`ears.level(${hertz}) > -60`);

chromium.test(browsers, 'a page listens to a call, whispers to one party, and talks to both', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    const bridge = await app.ok<{ id: string }>('POST', '/bridges?type=mixing');
    const join = async (name: string, hertz: number) => {
      const page = await connect(name);
      await page.evaluate("test.dial({ app: 'desk' })");
      const { channel } = await app.waitFor('StasisStart', (event) => event.channel.name.startsWith(`WebRTC/${name}-`));
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await app.ok('POST', `/bridges/${bridge.id}/addChannel?channel=${channel.id}`);
      await page.evaluate(`test.hum(${hertz})`);
      return { page, id: channel.id };
    };
    const [alice, bob, boss] = [await join('alice', 700), await join('bob', 1300), await connect('boss')];
    await pageHears(alice.page, 1300);
    await pageHears(bob.page, 700);
    const refused = await boss.evaluate<string>(`test.supervise('${alice.id}', 'shout').catch(String)`);
    assert.match(refused, /mode/);
    const supervise = async (mode: string) => {
      await boss.evaluate(`test.supervise('${alice.id}', '${mode}')`);
      await boss.waitForFunction("test.call.state === 'up'");
      for (const hertz of [700, 1300]) await hearsAlso(boss, hertz);
    };
    await supervise('listen');
    assert.is(await boss.evaluate('test.call.local'), undefined);
    await boss.evaluate('test.call.hangup()');
    await supervise('whisper');
    await boss.evaluate('test.hum(1900)');
    await hearsAlso(alice.page, 1900);
    assert.ok((await bob.page.evaluate<number>('ears.level(1900)')) < -60, 'the other party hears a whisper');
    await boss.evaluate('test.call.hangup()');
    await supervise('barge');
    await boss.evaluate('test.hum(1900)');
    for (const { page } of [alice, bob]) await hearsAlso(page, 1900);
    await app.ok('DELETE', `/channels/${alice.id}`);
    await boss.waitForFunction("test.call.state === 'ended'");
    await app.ok('DELETE', `/channels/${bob.id}`);
    await app.ok('DELETE', `/bridges/${bridge.id}`);
  }),
);

/** A page that is to be the server of DTLS: it hears a tone of its own again. */
const passiveClient = `
globalThis.passive = async (url, token) => {
  const connection = new RTCPeerConnection();
  const { receiver } = connection.addTransceiver(ears.tone(700), { direction: 'sendrecv' });
  await connection.setLocalDescription();
  // Chromium takes either side, but offers no other choice than that.
  const offer = connection.localDescription.sdp.replaceAll('a=setup:actpass', 'a=setup:passive');
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/sdp' };
  const response = await fetch(url, { method: 'POST', headers, body: offer });
  const sdp = await response.text();
  if (response.status !== 201) throw new Error(sdp);
  const over = new Promise((resolve) => {
    connection.onconnectionstatechange = () =>
      ['connected', 'failed', 'closed'].includes(connection.connectionState) && resolve(connection.connectionState);
  });
  await connection.setRemoteDescription({ type: 'answer', sdp });
  ears.listen(new MediaStream([receiver.track]));
  globalThis.kept = connection;
  return [/^a=setup:(.*)$/m.exec(sdp)[1], await over];
};
`;

chromium.test(browsers, 'the server is the client of DTLS for a page that offers to be its server', (path) =>
  onServer(settings, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [passiveClient]));
    const page = await pages.page();
    const url = `${server.url.replace(/\/ari$/, '')}/hookswitch/webrtc?extension=echo`;
    const parts = [url, await pageToken(server, 'alice')].map((each) => JSON.stringify(each));
    const [answered, state] = await page.evaluate<string[]>(`passive(${parts.join(', ')})`);
    assert.equal([answered?.trim(), state], ['active', 'connected']);
    await pageHears(page, 700);
    const app = await server.app('desk');
    await page.evaluate('kept.close()');
    await untilAsked(
      async () => (await app.ok<unknown[]>('GET', '/channels')).length === 0,
      () => 'the goodbye of the page was not heard',
    );
  }),
);

browsers('the package has less than 15 KB', async () => {
  assert.ok((await packageScript(true)).length < 15_000);
});

browsers('a drained server says so to new calls, and lets users listen to a live one', () =>
  onServer(settings, async (server) => {
    const app = await server.app('desk');
    const base = server.url.replace(/\/ari$/, '/hookswitch');
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const offer = async (path: string) => {
      const leg = server.closing(await BrowserLeg.open());
      const headers = { authorization, 'content-type': 'application/sdp' };
      const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: leg.offer() });
      const text = await response.text();
      if (response.status === 201) leg.begin(text);
      return [response.status, response.status === 201 ? '' : (JSON.parse(text) as { message: string }).message];
    };
    assert.equal(await offer('/webrtc?app=desk'), [201, '']);
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    const change = (to: string) => fetch(`${base}/server/${to}`, { method: 'POST', headers: { authorization } });
    assert.is((await change('drain')).status, 200);
    assert.equal(await offer('/webrtc?app=desk'), [
      503,
      'The server is drained: it takes no new calls (hookswitch drain)',
    ]);
    assert.equal(await offer(`/channels/${channel.id}/supervise?supervisorId=boss`), [201, '']);
    const names = async () => (await app.ok<{ name: string }[]>('GET', '/channels')).map(({ name }) => name);
    await untilAsked(
      async () => (await names()).some((name) => name.startsWith('Snoop/')),
      () => 'nobody listens to the channel',
    );
    await app.ok('DELETE', `/channels/${channel.id}`);
  }),
);

/** A client that knows RFC 9725 and nothing of the server: it sends a track, or listens. */
const standardClient = `
globalThis.standard = async (url, token, direction, hertz) => {
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  const { sender, receiver } = connection.addTransceiver(hertz ? ears.tone(hertz) : 'audio', { direction });
  await connection.setLocalDescription();
  await new Promise((resolve) => {
    if (connection.iceGatheringState === 'complete') return resolve();
    connection.onicegatheringstatechange = () => connection.iceGatheringState === 'complete' && resolve();
  });
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/sdp' };
  const response = await fetch(url, { method: 'POST', headers, body: connection.localDescription.sdp });
  if (response.status !== 201) throw new Error(response.status + ' ' + (await response.text()));
  const sdp = await response.text();
  await connection.setRemoteDescription({ type: 'answer', sdp });
  if (direction === 'recvonly') ears.listen(new MediaStream([receiver.track]));
  globalThis.kept = { connection, sender };
  globalThis.end = () => fetch(new URL(response.headers.get('location'), url), { method: 'DELETE', headers });
  return /^a=(sendrecv|sendonly|recvonly|inactive)/m.exec(sdp)?.[1];
};
`;

chromium.test(browsers, 'a WHIP client sends to a bridge, a WHEP client hears it, and each ends by DELETE', (path) =>
  onServer(settings, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [standardClient]));
    const app = await server.app('desk');
    const url = `${server.url.replace(/\/ari$/, '')}/hookswitch/webrtc?app=desk`;
    const join = async (name: string, direction: string, hertz?: number) => {
      const page = await pages.page();
      const call = [url, await pageToken(server, name), direction, hertz ?? 0].map((each) => JSON.stringify(each));
      const answered = await page.evaluate<string>(`standard(${call.join(', ')})`);
      const { channel } = await app.waitFor('StasisStart', ({ channel }) => channel.name.startsWith(`WebRTC/${name}-`));
      await app.ok('POST', `/channels/${channel.id}/answer`);
      return { page, channel, answered };
    };
    const bridge = await app.ok<{ id: string }>('POST', '/bridges?type=mixing');
    const speaker = await join('speaker', 'sendonly', 700);
    const listener = await join('listener', 'recvonly');
    assert.equal([speaker.answered, listener.answered], ['recvonly', 'sendonly']);
    const members = [speaker, listener].map(({ channel }) => channel.id).join();
    await app.ok('POST', `/bridges/${bridge.id}/addChannel?channel=${members}`);
    await pageHears(listener.page, 700);
    for (const { page, channel } of [listener, speaker]) {
      assert.is(await page.evaluate('end().then(({ status }) => status)'), 204);
      await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);
    }
    await app.ok('DELETE', `/bridges/${bridge.id}`);
  }),
);

browsers.run();
