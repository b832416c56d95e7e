import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriClient } from '../support/ari-client.ts';
import { startBaresip, tell } from '../support/baresip.ts';
import { piecesOf, toneSettings } from '../support/baresip-audio.ts';
import { packageScript, pageHears, pageToken } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { freePort } from '../support/free-port.ts';
import { jsSipScripts } from '../support/jssip-phone.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls between browsers and a plain SIP phone that are held and transferred. Each party says a tone of its own. */
const transfers = suite('browsers and baresip hold and transfer their calls');
const chromium = need('chromium');
const baresip = need('baresip');

const browser = (name: string) => ({
  ...{ webrtc: true, codecs: ['opus'], aor: {} },
  auth: { username: name, password: 'wonderland' },
});
const settings = {
  endpoints: {
    ...{ alice: browser('alice'), bob: browser('bob') },
    dave: { aor: {}, auth: { username: 'dave', password: 'wonderland' } },
  },
  http: { allowed_origins: ['*'] },
  dialplan: {
    default: {
      ...{ '100': ['Dial(PJSIP/alice)'], '200': ['Dial(PJSIP/dave,60,T)'] },
      ...{ '300': ['Dial(PJSIP/bob)'], '400': ['Dial(WebRTC/carol,60,t)'] },
    },
  },
  // However slow the machine is.
  features: { digit_timeout: 60_000, transfer_digit_timeout: 60_000 },
  sip: {
    transports: [
      { protocol: 'ws' as const, bind: '127.0.0.1', port: 0 },
      { protocol: 'udp' as const, bind: '127.0.0.1', port: 0 },
    ],
    allowed_origins: ['*'],
    transfers: { timeout: 600 },
  },
};

/** What Carol's page does with the package. */
const script = `
globalThis.carol = {
  states: [],
  async connect(server, token) {
    const phone = await new Promise((resolve) => {
      const made = Hookswitch.Phone.connect(server, token, { onlistening: () => resolve(made) });
    });
    this.phone = phone;
    phone.onincoming = async (call) => {
      this.follow(call);
      ears.listen(await call.answer());
    };
  },
  follow(call) {
    this.call = call;
    call.onchange = ({ state }) => this.states.push(state);
  },
  async dial(extension) {
    this.follow(await this.phone.call({ extension }));
    ears.listen(this.call.stream);
  },
  async hum(hertz) { await this.call.connection.getSenders()[0].replaceTrack(ears.tone(hertz)); },
};
`;

const pitches = { alice: 400, aliceAgain: 600, bob: 700, carol: 1000, dave: 1300 };

/** The plain phone, and what it hears. */
async function startDave(program: string, server: TestServer) {
  const control = await freePort();
  const { directory } = await startBaresip(program, server, 'dave', {
    more: (path) => [
      ...toneSettings(path, pitches.dave),
      ...['module_app ctrl_tcp.so', `ctrl_tcp_listen 127.0.0.1:${control}`],
    ],
  });
  const newest = () => piecesOf(directory, Object.values(pitches)).at(-1);
  return {
    tell: (command: string, params?: string) => tell(control, command, params),
    /** Waits until nothing but this is heard: a tone in Hz, or `other` for music. */
    hears: (what: number | 'other') =>
      untilAsked(
        () => newest() === String(what),
        () => `dave hears ${newest()} and not ${what}`,
      ),
  };
}

/** Waits until a page hears neither a tone nor silence. */
const hearsMusic = (page: Page, hertz: number) =>
  page.waitForFunction(`ears.level(${hertz}) < -60 && ears.loudest() > 0`);

type World = {
  server: TestServer;
  app: AriClient;
  dave: Awaited<ReturnType<typeof startDave>>;
  /** With SIP.js, with JsSIP, and with the package. */
  alice: Page;
  bob: Page;
  carol: Page;
};

const uri = ({ server }: World, extension: string) => `'sip:${extension}@${server.sip('ws')}'`;

/** Alice calls Dave; each holds the call and takes it back. */
async function callAndHold(world: World): Promise<void> {
  const { app, alice, dave } = world;
  await alice.evaluate(`phone.dial(${uri(world, '200')})`);
  await alice.waitForFunction("phone.states.at(-1) === 'Established'");
  await alice.evaluate(`phone.hum(${pitches.alice})`);
  await pageHears(alice, pitches.dave);
  await dave.hears(pitches.alice);
  await alice.evaluate('phone.hold(true)');
  await dave.hears('other');
  await alice.evaluate('phone.hold(false)');
  await alice.evaluate(`phone.hum(${pitches.aliceAgain})`);
  await pageHears(alice, pitches.dave);
  await dave.hears(pitches.aliceAgain);
  await dave.tell('hold');
  await app.waitFor('ChannelHold', ({ channel }) => channel.name.startsWith('PJSIP/dave'));
  await hearsMusic(alice, pitches.dave);
  await dave.tell('resume');
  await pageHears(alice, pitches.dave);
  await dave.hears(pitches.aliceAgain);
}

/** Dave, then Bob, ask for transfers of a call of Alice. */
async function transferBlind(world: World): Promise<void> {
  const { server, alice, bob, dave } = world;
  await dave.tell('transfer', `sip:300@${server.sip('udp')}`);
  await bob.waitForFunction("jsPhone.states.at(-1) === 'Established'");
  await bob.evaluate(`jsPhone.hum(${pitches.bob})`);
  await pageHears(alice, pitches.bob);
  await pageHears(bob, pitches.aliceAgain);
  await bob.evaluate(`jsPhone.call.refer(${uri(world, '200')})`);
  await bob.waitForFunction("jsPhone.states.at(-1) === 'Terminated'");
  await pageHears(alice, pitches.dave);
  await dave.hears(pitches.aliceAgain);
}

/** Alice consults Bob and gives Dave to him; then Bob gives him back to her. */
async function transferAttended(world: World): Promise<void> {
  const { alice, bob, dave } = world;
  await alice.evaluate('phone.hold(true)');
  await alice.evaluate('globalThis.first = phone.call');
  await alice.evaluate(`phone.dial(${uri(world, '300')})`);
  await bob.waitForFunction("jsPhone.states.at(-1) === 'Established'");
  await bob.evaluate(`jsPhone.hum(${pitches.bob})`);
  await pageHears(alice, pitches.bob);
  await alice.evaluate('first.refer(phone.call)');
  await alice.waitForFunction("first.state === 'Terminated' && phone.call.state === 'Terminated'");
  await pageHears(bob, pitches.dave);
  await dave.hears(pitches.bob);

  await bob.evaluate('void (globalThis.first = jsPhone.call).hold()');
  await dave.hears('other');
  await bob.evaluate(`jsPhone.dial(${uri(world, '100')})`);
  await bob.waitForFunction('first !== jsPhone.call && jsPhone.call.isEstablished()');
  await alice.waitForFunction("phone.states.at(-1) === 'Established'");
  await alice.evaluate(`phone.hum(${pitches.alice})`);
  await pageHears(bob, pitches.alice);
  await bob.evaluate(`void first.refer(${uri(world, '100')}, { replaces: jsPhone.call })`);
  await bob.waitForFunction('first.isEnded() && jsPhone.call.isEnded()');
  await pageHears(alice, pitches.dave);
  await dave.hears(pitches.alice);
  await alice.evaluate('phone.call.bye()');
  await alice.waitForFunction("phone.call.state === 'Terminated'");
}

/** A page that calls and is called over HTTP transfers by keys, and is a target. */
async function transferByKeys(world: World): Promise<void> {
  const { bob, carol, dave } = world;
  await carol.evaluate("carol.dial('200')");
  await carol.waitForFunction("carol.states.at(-1) === 'up'");
  await carol.evaluate(`carol.hum(${pitches.carol})`);
  await pageHears(carol, pitches.dave);
  await dave.hears(pitches.carol);
  await carol.evaluate("carol.call.press('#1300')");
  await carol.waitForFunction("carol.states.at(-1) === 'ended'");
  await bob.waitForFunction("jsPhone.states.at(-1) === 'Established'");
  await bob.evaluate(`jsPhone.hum(${pitches.bob})`);
  await pageHears(bob, pitches.dave);
  await dave.hears(pitches.bob);

  await bob.evaluate(`jsPhone.call.refer(${uri(world, '400')})`);
  await carol.waitForFunction("carol.states.at(-1) === 'up'");
  await carol.evaluate(`carol.hum(${pitches.carol})`);
  await pageHears(carol, pitches.dave);
  await dave.hears(pitches.carol);
  await bob.waitForFunction('jsPhone.call.isEnded()');
  await carol.evaluate("carol.call.press('*2300')");
  await bob.waitForFunction("jsPhone.states.at(-1) === 'Established'");
  await bob.evaluate(`jsPhone.hum(${pitches.bob})`);
  await pageHears(carol, pitches.bob);
  await pageHears(bob, pitches.carol);
  await carol.evaluate('carol.call.hangup()');
  await pageHears(bob, pitches.dave);
  await dave.hears(pitches.bob);
  await bob.evaluate('void jsPhone.call.terminate()');
}

const needed = chromium.path ? baresip : chromium;

needed.test(transfers, 'by REFER of each, blind and attended, by keys over HTTP: the new parties hear each other', () =>
  onServer(settings, async (server) => {
    const phones = server.closing(
      await BrowserPhones.open(chromium.path!, [await packageScript(), script, ...(await jsSipScripts())]),
    );
    const app = await server.app('desk', { subscribeAll: true });
    const dave = await startDave(baresip.path!, server);
    const [alice, bob, carol] = [await phones.page(), await phones.page(), await phones.page()];
    const at = (name: string) => `${JSON.stringify(server.sip('ws'))}, '${name}', 'wonderland'`;
    await alice.evaluate(`phone.start(${at('alice')})`);
    await bob.evaluate(`jsPhone.start(${at('bob')})`);
    const here = [server.url.replace(/\/ari$/, ''), await pageToken(server, 'carol')].map((each) =>
      JSON.stringify(each),
    );
    await carol.evaluate(`carol.connect(${here.join(', ')})`);
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'dave');
    const world = { server, app, dave, alice, bob, carol };
    await callAndHold(world);
    await transferBlind(world);
    const untilFree = (): Promise<void> =>
      untilAsked(
        async () => (await app.ok<unknown[]>('GET', '/channels')).length === 0,
        () => 'calls are left',
      );
    await transferAttended(world);
    // A BYE over SIP may be overtaken by a call over HTTP.
    await untilFree();
    await transferByKeys(world);
    await untilFree();
    const results = app.events.flatMap((event) =>
      event.type === 'BridgeBlindTransfer' || event.type === 'BridgeAttendedTransfer' ? [event.type, event.result] : [],
    );
    assert.equal(results, [
      ...['BridgeBlindTransfer', 'Success', 'BridgeBlindTransfer', 'Success'],
      ...['BridgeAttendedTransfer', 'Success', 'BridgeAttendedTransfer', 'Success'],
      ...['BridgeBlindTransfer', 'Success', 'BridgeBlindTransfer', 'Success', 'BridgeAttendedTransfer', 'Success'],
    ]);
  }),
);

transfers.run();
