import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { VideoVisibility } from '../../src/models/video-visibility.ts';
import type { AriClient } from '../support/ari-client.ts';
import { BrowserPages, packageScript, pageHears, pageSees, pageToken } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { LossyWay } from '../support/lossy-way.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer, type TestServerOptions } from '../support/server.ts';
import { clipOf } from '../support/video/clips.ts';
import { decode, framesOf } from '../support/video/pictures.ts';
import { VideoPeer } from '../support/video/video-peer.ts';
import { untilAsked } from '../support/waiting.ts';

/** Browsers with cameras that show a colour each: who sees whom is read from a canvas. */
const videos = suite('video of browsers');
const chromium = need('chromium');
const ffmpeg = need('ffmpeg');

const phone = (name: string) => ({
  ...{ webrtc: true, codecs: ['opus'], video_codecs: ['vp8'], max_video_streams: 4, aor: {} },
  auth: { username: name, password: 'wonderland' },
});
const settings: TestServerOptions = {
  endpoints: {
    ...{ alice: phone('alice'), bob: phone('bob'), carol: phone('carol') },
    anonymous: { match: ['127.0.0.1'], video_codecs: ['vp8'] },
  },
  http: { allowed_origins: ['*'] },
  dialplan: { default: { '_X.': ['Stasis(desk)'], bob: ['Dial(WebRTC/bob,30)'] } },
  sip: {
    transports: [
      { protocol: 'ws', bind: '127.0.0.1', port: 0 },
      { protocol: 'udp', bind: '127.0.0.1', port: 0 },
    ],
    allowed_origins: ['*'],
    video: { renegotiate_delay: 20, renegotiate_interval: 0.2 },
  },
};

/** What tests do with the package. */
const script = `
globalThis.test = {
  states: [],
  async connect(server, token, video, colour, more = {}) {
    eyes.useCamera(colour, ...(more.size ?? []));
    if (more.takes) test.takeOnly(more.takes);
    if (more.isLossy) test.goBy(globalThis.lossyWay);
    await new Promise((resolve) => {
      Hookswitch.Phone.connect(server, token, { video, onlistening: resolve, ...more.options })
        .then((phone) => { test.phone = phone; phone.onincoming = (call) => test.follow(call); });
    });
  },
  /** Packets go by the ports that its function gives for those of answers. */
  goBy(way) {
    const ask = globalThis.fetch;
    globalThis.fetch = async (url, options) => {
      const response = await ask(url, options);
      if (!response.headers.get('content-type')?.startsWith('application/sdp')) return response;
      const text = await response.text();
      const port = /^a=candidate:.* (\\d+) typ host/m.exec(text)?.[1];
      const there = port && text.replaceAll(' ' + port + ' typ host', ' ' + (await way(Number(port))) + ' typ host');
      return new Response(there ?? text, response);
    };
  },
  /** What the page has sent or received of video, summed up. */
  async count(kind, name) {
    const stats = [...(await test.call.connection.getStats()).values()];
    return stats.filter((each) => each.type === kind && each.kind === 'video').reduce((sum, each) => sum + (each[name] ?? 0), 0);
  },
  /** Offers say that each stream of video may have so many kbit/s. */
  takeOnly(kbits) {
    const ask = globalThis.fetch;
    globalThis.fetch = (url, options = {}) => {
      const { body } = options;
      const isOffer = typeof body === 'string' && body.startsWith('v=0');
      const limited = isOffer ? body.replaceAll(/(m=video [^]*?c=\\S+ \\S+ \\S+)/g, '$1\\r\\nb=AS:' + kbits) : body;
      return ask(url, { ...options, body: limited });
    };
  },
  follow(call) {
    test.call = call;
    call.onchange = ({ state }) => test.states.push(state);
  },
  /** A busy machine sends fewer pictures, and not smaller ones. */
  async keepSize() {
    const sender = test.call.connection.getSenders().find(({ track }) => track?.kind === 'video');
    await sender.setParameters({ ...sender.getParameters(), degradationPreference: 'maintain-resolution' });
  },
  look() { eyes.watch(test.call.stream.getVideoTracks()); },
  async dial(target, options) {
    test.follow(await test.phone.call(target, options));
    test.look();
  },
  async answer() { await test.call.answer(); test.look(); },
  async hum(hertz) { await test.call.connection.getSenders()[0].replaceTrack(hertz ? ears.tone(hertz) : null); },
};
`;

const calling = (parts: readonly unknown[]) => parts.map((each) => JSON.stringify(each)).join(', ');

/** What a page has besides: the picture of its camera, kbit/s that it takes, and options of the phone. */
type More = {
  size?: readonly [width: number, height: number, specks: number];
  takes?: number;
  options?: object;
  /** A way that its packets go by. */
  way?: LossyWay;
};

/** A page with the package, whose camera shows a colour, and so many screens. */
type Connect = (name: string, colour: string, screens?: number, more?: More) => Promise<Page>;

const withPages = (
  path: string,
  body: (server: TestServer, connect: Connect) => Promise<void>,
  more: TestServerOptions = {},
) =>
  onServer({ ...settings, ...more }, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [await packageScript(), script]));
    const base = server.url.replace(/\/ari$/, '');
    await body(server, async (name, colour, screens = 1, { way, ...more } = {}) => {
      const page = await pages.page();
      if (way) await page.exposeFunction('lossyWay', (port: number) => way.before(port));
      const options = { ...more, isLossy: way !== undefined };
      await page.evaluate(`test.connect(${calling([base, await pageToken(server, name), screens, colour, options])})`);
      return page;
    });
  });

/** A channel that comes into the application, answered and in a bridge. */
async function enter(app: AriClient, ids: string[], begin: () => Promise<unknown>): Promise<void> {
  const begun = begin();
  const { channel } = await app.waitFor('StasisStart', ({ channel: { id } }) => !ids.includes(id));
  ids.push(channel.id);
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await begun;
  await app.ok('POST', `/bridges/b1/addChannel?channel=${channel.id}`);
}

async function hangUp(app: AriClient, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await app.ok('DELETE', `/channels/${id}`);
    await app.waitFor('StasisEnd', ({ channel }) => channel.id === id);
  }
  await app.ok('DELETE', '/bridges/b1');
}

/** Waits until a page sees these colours, in any order. */
function seesAll(page: Page, colours: readonly string[]): Promise<void> {
  let seen: string[] = [];
  return untilAsked(
    async () => {
      seen = await page.evaluate<string[]>('eyes.colours()');
      return calling(seen.filter((each) => each !== 'nothing').sort()) === calling([...colours].sort());
    },
    () => `a page sees ${seen.join(', ')} instead of ${colours.join(', ')}`,
  );
}

chromium.test(videos, 'two pages see each other, hold and see each other again', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk', { subscribeAll: true });
    const [alice, bob] = [await connect('alice', 'red'), await connect('bob', 'blue')];
    await alice.evaluate("test.dial({ extension: 'bob' })");
    await bob.waitForFunction('test.call !== undefined');
    await bob.evaluate('test.answer()');
    await pageSees(bob, 'red');
    await pageSees(alice, 'blue');
    await alice.evaluate('test.call.hold(true)');
    await app.waitFor('ChannelHold');
    await alice.evaluate('test.call.hold(false)');
    await app.waitFor('ChannelUnhold');
    await pageSees(alice, 'blue');
    await pageSees(bob, 'red');
    await alice.evaluate('test.call.hangup()');
    await bob.waitForFunction("test.states.at(-1) === 'ended'");
  }),
);

/** Far enough from one another, and from multiples of one another, for the filters of a page. */
const pitches = [420, 700, 1100, 1700, 2300] as const;

/** Waits until a page hears the tones of all others at one time, and not its own. */
function hearsOthers(page: Page, own: number): Promise<void> {
  let levels: number[] = [];
  return untilAsked(
    async () => {
      levels = await page.evaluate<number[]>(`${JSON.stringify(pitches)}.map((hertz) => ears.level(hertz))`);
      return levels.every((level, at) => level > -55 === (at !== own));
    },
    () => `page ${own} hears ${pitches} with ${levels.map(Math.round)} dB`,
  );
}

chromium.test(videos, 'in a bridge that shows everybody, five pages see and hear the other four', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=video_sfu');
    const colours = ['red', 'green', 'blue', 'yellow', 'white'];
    const pages: Page[] = [];
    const ids: string[] = [];
    for (const colour of colours) {
      const page = await connect(colour, colour, 4);
      await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
      await page.evaluate('ears.listen(new MediaStream(test.call.stream.getAudioTracks()))');
      await page.evaluate(`test.hum(${pitches[pages.length]})`);
      pages.push(page);
    }
    for (const [at, page] of pages.entries()) {
      await seesAll(page, colours.toSpliced(at, 1));
      await hearsOthers(page, at);
    }
    await hangUp(app, ids);
  }),
);

/** Waits until the pictures on the first screens of pages are so wide at one time. */
function seeWide(pages: readonly Page[], widths: readonly number[]): Promise<void> {
  let seen: number[] = [];
  return untilAsked(
    async () => {
      seen = await Promise.all(pages.map((page) => page.evaluate<number>('eyes.width()')));
      return calling(seen) === calling(widths);
    },
    () => `pages see pictures that are ${seen} wide instead of ${widths}`,
  );
}

/** What the interface says of the pictures that a member of the bridge gets. */
async function picturesOf(app: AriClient, member: string): Promise<(string | number | undefined)[][]> {
  const members = await app.ok<VideoVisibility[]>('GET', '/../hookswitch/bridges/b1/video-visibility');
  const { others = [] } = members.find(({ channel }) => channel === member) ?? {};
  return others
    .filter(({ seen, bitrate = 0 }) => seen && bitrate > 0)
    .map((other) => [other.codec, other.size, other.sizes]);
}

for (const codec of ['vp8', 'h264'] as const)
  chromium.test(videos, `a camera in two sizes of ${codec} is seen by each page in the one that it can take`, (path) =>
    withPages(
      path,
      async (server, connect) => {
        const app = await server.app('desk');
        await app.ok('POST', '/bridges/b1?type=video_sfu');
        const simulcast = [
          { rid: 'l', scaleResolutionDownBy: 2, maxBitrate: 60_000 },
          { rid: 'h', maxBitrate: 220_000 },
        ];
        const source = await connect('alice', 'red', 1, { size: [640, 360, 100], options: { simulcast } });
        const slow = await connect('bob', 'green', 1, { takes: 120 });
        const fast = await connect('carol', 'blue', 1);
        const ids: string[] = [];
        for (const page of [source, slow, fast])
          await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
        await source.evaluate('test.keepSize()');
        for (const page of [slow, fast]) await pageSees(page, 'red');
        await seeWide([slow, fast], [320, 640]);
        for (const page of [slow, fast]) await pageSees(page, 'red');
        let told = '';
        await untilAsked(
          async () => {
            const [, slowOne = '', fastOne = ''] = ids;
            told = calling([await picturesOf(app, slowOne), await picturesOf(app, fastOne)]);
            return told === calling([[[codec, 1, 2]], [[codec, 2, 2]]]);
          },
          () => `the interface tells ${told}`,
        );
        await hangUp(app, ids);
      },
      { media: { webrtc: { video_codecs: [codec] } } },
    ),
  );

type RtpStatistics = { video?: { bitrate_taken?: number; txoctetcount?: number; sent_again?: number }[] };

/** Bit/s that a page may send, by its own estimate. */
const maySend = `(async () => {
  const pairs = [...(await test.call.connection.getStats()).values()].filter((each) => each.type === 'candidate-pair');
  return Math.max(0, ...pairs.map((each) => each.availableOutgoingBitrate ?? 0));
})()`;

chromium.test(videos, 'a page hears when its packets came: it finds out how much it may send', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=video_sfu');
    const page = await connect('alice', 'red', 1, { size: [640, 360, 100] });
    const ids: string[] = [];
    await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
    let estimate = 0;
    // It begins with 300 kbit/s. While it waits for such news in vain, it takes a fifth off each second.
    await untilAsked(
      async () => (estimate = await page.evaluate<number>(maySend)) > 310_000,
      () => `the page may send ${estimate} bit/s`,
    );
    await hangUp(app, ids);
  }),
);

chromium.test(videos, 'a page estimates more than it gets: its video is told with the time when it was sent', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=video_sfu');
    const ids: string[] = [];
    const source = await connect('alice', 'red', 1, { size: [640, 360, 100] });
    const viewer = await connect('bob', 'blue');
    for (const page of [source, viewer]) await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
    await pageSees(viewer, 'red');
    // Without that, estimates fall below what is sent, and go on falling.
    let before = { at: 0, octets: 0 };
    let seen = '';
    await untilAsked(
      async () => {
        const { video } = (await app.ok('GET', `/channels/${ids[1]}/rtp_statistics`)) as RtpStatistics;
        const [{ bitrate_taken: taken = 0, txoctetcount: octets = 0 } = {}] = video ?? [];
        const at = performance.now();
        if (at - before.at < 2000) return false;
        const sent = (8000 * (octets - before.octets)) / (at - before.at);
        const isBegun = before.octets > 0;
        before = { at, octets };
        seen = `${taken} bit/s are estimated, and ${Math.round(sent)} sent`;
        return isBegun && sent > 50_000 && taken > 1.5 * sent;
      },
      () => seen,
    );
    await hangUp(app, ids);
  }),
);

/** Waits until a page has sent or received more than so many of something. */
async function untilMore(page: Page, kind: string, name: string, than: number): Promise<void> {
  let count = 0;
  await untilAsked(
    async () => (count = await page.evaluate<number>(`test.count('${kind}', '${name}')`)) > than,
    () => `${name} is ${count}`,
  );
}

chromium.test(
  videos,
  'of 10 % loss packets come again in a stream of their own, both ways, and the picture stays',
  (path) =>
    withPages(path, async (server, connect) => {
      const app = await server.app('desk');
      await app.ok('POST', '/bridges/b1?type=video_sfu');
      const ids: string[] = [];
      const ways = [new LossyWay(10), new LossyWay(10)] as const;
      for (const way of ways) server.closing(way);
      const source = await connect('alice', 'red', 1, { size: [640, 360, 100], way: ways[0] });
      const viewer = await connect('bob', 'blue', 1, { way: ways[1] });
      for (const page of [source, viewer]) await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
      await pageSees(viewer, 'red');
      await untilMore(source, 'outbound-rtp', 'rtxSsrc', 0);
      await untilMore(viewer, 'inbound-rtp', 'rtxSsrc', 0);
      await untilMore(source, 'outbound-rtp', 'retransmittedPacketsSent', 10);
      await untilMore(viewer, 'inbound-rtp', 'retransmittedPacketsReceived', 10);
      await pageSees(viewer, 'red');
      for (const way of ways)
        await untilAsked(
          async () => way.lost > 10,
          () => `${way.lost} packets are lost`,
        );
      const { video: [sent] = [] } = (await app.ok('GET', `/channels/${ids[1]}/rtp_statistics`)) as RtpStatistics;
      assert.ok(sent!.sent_again! > 10);
      await hangUp(app, ids);
    }),
);

chromium.test(videos, 'where each tenth packet of any kind is lost, pages connect and hear each other', (path) =>
  withPages(
    path,
    async (server, connect) => {
      const app = await server.app('desk');
      await app.ok('POST', '/bridges/b1?type=mixing');
      const ids: string[] = [];
      const ways = [new LossyWay(10, true), new LossyWay(10, true)] as const;
      const pages: Page[] = [];
      for (const way of ways) {
        server.closing(way);
        const page = await connect(`page${pages.length}`, 'red', 0, { way });
        pages.push(page);
        await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
        await page.evaluate('ears.listen(new MediaStream(test.call.stream.getAudioTracks()))');
      }
      const [one, other] = pages as [Page, Page];
      const hear = async (ofOne: number, ofOther: number) => {
        await one.evaluate(`test.hum(${ofOne})`);
        await other.evaluate(`test.hum(${ofOther})`);
        await pageHears(other, ofOne);
        await pageHears(one, ofOther);
      };
      await hear(700, 1300);
      for (const way of ways)
        await untilAsked(
          async () => way.lost > 50,
          () => `${way.lost} packets are lost`,
        );
      await hear(900, 1700);
      await hangUp(app, ids);
    },
    // A full agent would find a way around.
    { media: { webrtc: { ice: 'lite' } } },
  ),
);

chromium.test(videos, 'in a bridge that shows who talks, pages see the one that does', (path) =>
  withPages(path, async (server, connect) => {
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=mixing');
    const colours = ['red', 'green', 'blue'];
    const pages: Page[] = [];
    const ids: string[] = [];
    for (const colour of colours) {
      const page = await connect(colour, colour);
      await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
      await page.evaluate('test.hum(0)');
      pages.push(page);
    }
    const [red, green, blue] = pages as [Page, Page, Page];
    await red.evaluate('test.hum(440)');
    for (const page of [green, blue]) await pageSees(page, 'red');
    await red.evaluate('test.hum(0)');
    await blue.evaluate('test.hum(440)');
    for (const page of [red, green]) await pageSees(page, 'blue');
    await hangUp(app, ids);
  }),
);

chromium.test(videos, 'a page and a SIP phone see each other', (path) =>
  ffmpeg.path === undefined
    ? Promise.resolve()
    : withPages(path, async (server, connect) => {
        const app = await server.app('desk');
        await app.ok('POST', '/bridges/b1?type=mixing');
        const screen = server.closing(await VideoPeer.open());
        const phone = server.closing(await Phone.open('200', server.sip('udp'), 0, [screen]));
        screen.show(await clipOf('vp8', 'green'));
        const ids: string[] = [];
        await enter(app, ids, () => phone.call('100'));
        const page = await connect('alice', 'red');
        await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
        await pageSees(page, 'green');
        await untilAsked(
          async () => {
            await screen.sees(5);
            return (await decode('vp8', framesOf('vp8', screen.packets))).pictures.at(-1) === 'red';
          },
          () => 'the phone does not see the page',
        );
        await hangUp(app, ids);
      }),
);

/** What the page sends its pictures with. */
const sendsWith = `(async () => {
  const stats = [...(await test.call.connection.getStats()).values()];
  const sent = stats.find((each) => each.type === 'outbound-rtp' && each.kind === 'video');
  const codec = stats.find((each) => each.id === sent?.codecId);
  return codec && codec.mimeType + ' ' + codec.sdpFmtpLine;
})()`;

chromium.test(
  videos,
  'pages and a SIP phone see each other with H.264, in parts and with the profile of all browsers',
  (path) =>
    ffmpeg.path === undefined
      ? Promise.resolve()
      : withPages(
          path,
          async (server, connect) => {
            const app = await server.app('desk');
            await app.ok('POST', '/bridges/b1?type=video_sfu');
            const screen = server.closing(await VideoPeer.open());
            const phone = server.closing(await Phone.open('200', server.sip('udp'), 0, [screen]));
            phone.videoFormat = { map: 'H264/90000', parameters: 'profile-level-id=42e01f;packetization-mode=1' };
            screen.show(await clipOf('h264', 'green'));
            const ids: string[] = [];
            await enter(app, ids, () => phone.call('100'));
            const pages: Page[] = [];
            for (const colour of ['red', 'blue']) {
              const page = await connect(colour, colour, 2);
              await enter(app, ids, () => page.evaluate("test.dial({ app: 'desk' })"));
              pages.push(page);
            }
            await seesAll(pages[0]!, ['green', 'blue']);
            await seesAll(pages[1]!, ['green', 'red']);
            await untilAsked(
              async () => {
                await screen.sees(5);
                return (await decode('h264', framesOf('h264', screen.packets))).pictures.some(
                  (each) => each === 'red' || each === 'blue',
                );
              },
              () => 'the phone does not see a page',
            );
            for (const page of pages)
              assert.match(
                String(await page.evaluate(sendsWith)),
                /^video\/H264 .*packetization-mode=1;profile-level-id=42(e0|c0)/,
              );
            await hangUp(app, ids);
          },
          {
            endpoints: { anonymous: { match: ['127.0.0.1'], video_codecs: ['h264'] } },
            media: { webrtc: { video_codecs: ['h264'] } },
          },
        ),
);

chromium.test(videos, 'SIP.js pages call and are called with video, and are offered the pictures of others', (path) =>
  onServer(settings, async (server) => {
    const all = server.closing(await BrowserPhones.open(path));
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=video_sfu');
    const open = async (name: string, colour: string) => {
      const page = await all.register(server.sip('ws'), name, 'wonderland');
      await page.evaluate(`eyes.useCamera('${colour}'); phone.video = true;`);
      return page;
    };
    const ids: string[] = [];
    const call = async (name: string) => {
      const { id } = await app.ok<{ id: string }>('POST', `/channels?endpoint=PJSIP/${name}&app=desk&formats=opus,vp8`);
      ids.push(id);
      await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
      await app.ok('POST', `/bridges/b1/addChannel?channel=${id}`);
    };
    const alice = await open('alice', 'red');
    await enter(app, ids, () => alice.evaluate(`phone.dial('sip:100@${server.sip('ws')}', true)`));
    const bob = await open('bob', 'blue');
    await call('bob');
    for (const page of [alice, bob]) await page.evaluate('phone.look()');
    await pageSees(alice, 'blue');
    await pageSees(bob, 'red');
    const carol = await open('carol', 'green');
    await call('carol');
    // SIP.js stops the track of a picture when another comes: what comes is counted below it.
    for (const page of [alice, bob, carol])
      await untilAsked(
        async () => (await page.evaluate<number>('phone.pictures()')) === 2,
        () => 'a page does not get the pictures of both others',
      );
    await hangUp(app, ids);
  }),
);

videos.run();
