import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebrtcDriver } from '../../../src/drivers/webrtc/webrtc.ts';
import { iceServers } from '../../../src/lib/turn-credentials.ts';
import type { LocalCandidate } from '../../../src/lib/webrtc.ts';
import { credentialsIn, fragmentOf, withCredentials } from '../../../src/sip/sdp/ice-fragment.ts';
import { DriverError, type LegReport } from '../../../src/telephony/driver.ts';
import type { MediaReport, RtpFlow } from '../../../src/telephony/media.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';
import type { BrowserNews } from '../../../src/telephony/webrtc.ts';

const browsers = suite('browsers over HTTP');

const offer = readFileSync(new URL('../../sip/sdp/offers/chromium-156.sdp', import.meta.url), 'utf8').replaceAll(
  /\r?\n/g,
  '\r\n',
);

/** A driver whose ports are none. */
function setUp({
  ports = true,
  candidates = [],
  ice = 'lite',
}: {
  ports?: boolean;
  candidates?: readonly LocalCandidate[];
  ice?: 'lite' | 'full';
} = {}) {
  let count = 0;
  const flows: RtpFlow[] = [];
  const videos: [string, number, boolean][] = [];
  const reachable: [string, boolean][] = [];
  const closed: string[] = [];
  const reopened: string[] = [];
  const told = new Map<string, (report: MediaReport) => void>();
  const session = (id: string) =>
    ({
      ...{ id, local: { address: '127.0.0.1', port: 4000, candidates } },
      configure: (flow: RtpFlow) => flows.push(flow),
      openVideo: async (stream: number, bundled: boolean) => {
        videos.push(['open', stream, bundled]);
        return { address: '127.0.0.1', port: 4000 };
      },
      configureVideo: (stream: number, flow: VideoFlow) => videos.push([flow.codec, stream, flow.send]),
      indicate: () => undefined,
      close: () => closed.push(id),
      dump: () => ({ version: 1, id, local: { address: '127.0.0.1', port: 4000 }, standing: [] }),
    }) as never;
  const quiet = { warn: () => undefined, error: () => undefined } as never;
  const driver = createWebrtcDriver({
    media: {
      openRtp: async (id, hear) => {
        if (!ports) throw new Error('no port is free');
        told.set(id, hear);
        return session(id);
      },
      reopenRtp: async ({ id }, hear) => {
        reopened.push(id);
        told.set(id, hear);
        return session(id);
      },
    },
    ids: {
      mark: '',
      channel: () => 'c',
      uuid: () => `s${++count}`,
      hex: (n) => `${++count}`.padStart(n, '0'),
      secret: () => 'x',
    },
    log: quiet,
    ...{ hit: () => undefined, video: { codecs: ['vp8'], most: 4 } },
    ...{
      ice,
      iceCandidates: 16,
      fingerprint: 'AA',
      codecs: ['opus', 'ulaw'],
      opus: { wishes: {}, sending: {} } as never,
    },
    outside: () => undefined,
    localAddress: () => '127.0.0.1',
    reachable: (owner, is) => reachable.push([owner, is]),
  });
  const prepare = (more: object = {}) =>
    driver.prepare({ channelId: 'c1', offer, owner: 'alice', peer: undefined, formats: undefined, ...more });
  return { driver, prepare, flows, videos, reachable, closed, told, reopened };
}

const nobody = { name: '', number: '' };
const part = (error: unknown) => (error as DriverError).part;
const rejects = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, DriverError);
  return part(error);
};

browsers('an offer gets an answer and a session; what cannot be agreed on leaves nothing open', async () => {
  const { driver, prepare, flows } = setUp();
  const prepared = await prepare();
  assert.match(prepared.sdp, /^a=setup:passive\r$/m);
  assert.match(prepared.name, /^WebRTC\/alice-/);
  assert.is(flows.length, 1);
  assert.is(await rejects(prepare({ offer: 'v=0' })), 'format');
  assert.is(await rejects(prepare({ formats: ['g722'] })), 'format');
  assert.is(await rejects(prepare({ offer: offer.replaceAll('a=rtcp-mux\r\n', '') })), 'format');
  assert.is(driver.size, 1);
  prepared.abandon();
  assert.is(driver.size, 0);
  assert.is(await rejects(setUp({ ports: false }).prepare()), 'capacity');
});

browsers('video of an offer is taken with the formats that may be used, and as many streams as it offers', async () => {
  const { prepare, videos } = setUp();
  const prepared = await prepare();
  assert.match(prepared.sdp, /^a=group:BUNDLE 0 1\r$/m);
  assert.equal(videos.slice(0, 2), [
    ['open', 0, true],
    ['vp8', 0, true],
  ]);
  const { video } = prepared.open(() => undefined);
  assert.equal([video?.streams.length, video?.capacity, video?.formats], [1, 1, ['vp8']]);
  const silent = await prepare({ channelId: 'c2', formats: ['ulaw'] });
  assert.match(silent.sdp, /^m=video 0 /m);
  assert.is(silent.open(() => undefined).video, undefined);
});

browsers('a session is that of its owner alone', async () => {
  const { driver, prepare } = setUp();
  const { session } = await prepare();
  assert.is(await driver.change({ session, owner: 'bob', body: offer }), undefined);
  assert.is(driver.end(session, 'bob'), false);
  assert.is(driver.size, 1);
  assert.is(driver.end(session, 'alice'), true);
  assert.is(driver.size, 0);
});

browsers('candidates change nothing, other credentials restart ICE, and those of the past are refused', async () => {
  const { driver, prepare } = setUp();
  const { session, tag } = await prepare();
  const change = (body: string, ifMatch = '*') => driver.change({ session, owner: 'alice', body, ifMatch });
  const { ufrag, password } = credentialsIn(offer)!;
  const fragment = (name: string) => `a=ice-ufrag:${name}\r\na=ice-pwd:${password}\r\n`;
  const trickled = await change(`${fragment(ufrag)}a=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\n`);
  assert.equal([trickled?.sdp, trickled?.tag], [undefined, tag]);
  const restarted = await change(fragment('next'));
  assert.is.not(restarted?.tag, tag);
  assert.match(restarted?.sdp ?? '', /^a=ice-lite\r\na=group:BUNDLE 0 1\r\nm=audio /);
  assert.not.match(restarted?.sdp ?? '', /rtpmap|fingerprint/);
  assert.is(await rejects(change(fragment(ufrag))), 'data');
  assert.is(await rejects(change('a=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\n')), 'format');
});

browsers(
  'candidates of a fragment are let through a relay, each once and 16 at most; without one they mean nothing',
  async () => {
    const relayed = [{ type: 'relay', address: '203.0.113.7', port: 50_000 }] as const;
    const lines = (addresses: readonly string[]) =>
      addresses.map((address) => `a=candidate:1 1 udp 1 ${address} 5000 typ host\r\n`).join('');
    const trickle = async (candidates: readonly LocalCandidate[], addresses: readonly string[]) => {
      const { driver, prepare, flows } = setUp({ candidates });
      const { session } = await prepare({ peer: '192.0.2.9' });
      const { ufrag, password } = credentialsIn(offer)!;
      const body = `a=ice-ufrag:${ufrag}\r\na=ice-pwd:${password}\r\n${lines(addresses)}`;
      for (let times = 0; times < 2; times++) await driver.change({ session, owner: 'alice', body, ifMatch: '*' });
      return flows.slice(1).map(({ webrtc }) => webrtc?.places?.filter((place) => addresses.includes(place)));
    };
    assert.equal(await trickle(relayed, ['198.51.100.1', 'a.local', '198.51.100.1', '2001:db8::5']), [
      ['198.51.100.1', '2001:db8::5'],
    ]);
    const many = Array.from({ length: 40 }, (_, index) => `198.51.100.${index}`);
    const [all] = await trickle(relayed, many);
    assert.ok(all!.length > 8 && all!.length < 16);
    assert.equal(await trickle([], ['198.51.100.1']), []);
  },
);

browsers('a full agent checks the candidates of a fragment, each once and 16 at most', async () => {
  const { driver, prepare, flows } = setUp({ ice: 'full' });
  const { session } = await prepare();
  const { ufrag, password } = credentialsIn(offer)!;
  const trickle = async (lines: readonly string[], name = ufrag) => {
    const body = [`a=ice-ufrag:${name}`, `a=ice-pwd:${password}`, ...lines, ''].join('\r\n');
    await driver.change({ session, owner: 'alice', body, ifMatch: '*' });
    return flows.at(-1)!.webrtc!;
  };
  const known = flows.at(-1)!.webrtc!.checked!;
  const line = 'a=candidate:1 1 udp 7 198.51.100.1 5000 typ host';
  const others = [
    'a=candidate:2 1 tcp 7 198.51.100.2 9 typ host',
    'a=candidate:3 1 udp 7 a.local 5000 typ host',
    'a=c',
  ];
  const { checked, isControlled } = await trickle([line, line, ...others]);
  assert.equal([checked, isControlled], [[...known, { address: '198.51.100.1', port: 5000, priority: 7 }], true]);
  const many = Array.from({ length: 40 }, (_, at) => line.replace('5000', `${5001 + at}`));
  assert.is((await trickle(many)).checked?.length, 16);
  // Those of a restart are known at once.
  const { checked: anew } = await trickle([line.replace('198.51.100.1', '198.51.100.9')], 'anew');
  assert.ok(anew?.some(({ address }) => address === '198.51.100.9'));
});

browsers('a fragment names the tag of its session or any, and an offer may: another tag is of the past', async () => {
  const { driver, prepare } = setUp();
  const { session, tag } = await prepare();
  const change = (body: string, ifMatch?: string) => driver.change({ session, owner: 'alice', body, ifMatch });
  const { ufrag, password } = credentialsIn(offer)!;
  const fragment = (name: string) => `a=ice-ufrag:${name}\r\na=ice-pwd:${password}\r\n`;
  assert.is(await rejects(change(fragment('next'))), 'condition');
  for (const other of ['"other"', `W/"${tag}"`, tag, '', '"*"']) assert.is(await rejects(change(offer, other)), 'data');
  assert.is(await rejects(change(fragment('next'), '"other"')), 'data');
  assert.is((await change(fragment(ufrag), `"other", "${tag}"`))?.tag, tag, 'nothing has changed before');
  const restarted = await change(fragment('next'), '*');
  assert.is.not(restarted?.tag, tag);
  assert.is(await rejects(change(fragment('third'), `"${tag}"`)), 'data');
  assert.ok((await change(offer))?.sdp);
});

browsers('a call reaches every page of a name; the first that offers has it, and a refusal ends it', async () => {
  const { driver, reachable } = setUp();
  const heard: BrowserNews[][] = [[], []];
  const stop = heard.map((news) => driver.listen('bob', (each) => news.push(each)));
  const call = (id: string) => {
    const reports: LegReport[] = [];
    const { leg } = driver.driver.open({ channelId: id, resource: 'bob', caller: nobody, variables: {} }, (report) =>
      reports.push(report),
    );
    leg.dial({ caller: { name: 'Al', number: '7' } });
    return { leg, reports, session: leg.protocolId };
  };
  const first = call('c1');
  assert.equal(heard[0], [{ type: 'incoming', call: first.session, caller: { name: 'Al', number: '7' } }]);
  assert.equal(heard[0], heard[1]);
  assert.equal(first.reports, [{ type: 'leg.ringing' }]);
  const from = { offer, owner: 'bob', peer: undefined };
  assert.is(await driver.take(first.session, { ...from, owner: 'eve' }), undefined);
  const [taken, late] = await Promise.all([driver.take(first.session, from), driver.take(first.session, from)]);
  assert.is(taken?.channelId, 'c1');
  assert.is(late, undefined);
  assert.equal(first.reports.at(-1), { type: 'leg.answered' });
  first.leg.hangup(16);
  assert.equal(first.reports.at(-1), { type: 'leg.ended' });
  assert.equal(heard[1]?.slice(1), [
    { type: 'answered', call: first.session },
    { type: 'ended', call: first.session, cause: 16 },
  ]);
  const second = call('c2');
  driver.end(second.session, 'bob');
  assert.equal(second.reports.at(-1), { type: 'leg.hungUp', cause: 21 });
  for (const each of stop) each();
  assert.equal(reachable, [
    ['bob', true],
    ['bob', false],
  ]);
  const third = call('c3');
  assert.equal(third.reports, [{ type: 'leg.hungUp', cause: 20 }]);
  for (const { leg } of [first, second, third]) leg.release();
  assert.is(driver.size, 0);
});

browsers("a browser's call is answered once, holds and is taken back, and ends with its transport", async () => {
  const { driver, prepare, told } = setUp();
  const prepared = await prepare();
  const reports: LegReport[] = [];
  const leg = prepared.open((report) => reports.push(report));
  leg.answer();
  leg.answer();
  const { session } = prepared;
  const change = (body: string) => driver.change({ session, owner: 'alice', body });
  await change(offer.replaceAll('a=sendrecv', 'a=sendonly'));
  await change(offer);
  told.get('c1')?.({ type: 'media.digit', digit: '5', durationMs: 100 });
  told.get('c1')?.({ type: 'media.timedOut' });
  assert.equal(reports, [
    { type: 'leg.answered' },
    { type: 'leg.held', musicClass: 'default' },
    { type: 'leg.videoChanged' },
    { type: 'leg.unheld' },
    { type: 'leg.videoChanged' },
    { type: 'leg.digit', digit: '5', durationMs: 100 },
    { type: 'leg.hungUp', cause: 16 },
  ]);
  leg.release();
});

browsers('credentials are read and replaced in all sections, and a fragment has lines of ICE alone', () => {
  assert.is(credentialsIn('a=ice-ufrag:abc\r\n'), undefined);
  const other = { ufrag: 'abcd', password: 'p'.repeat(24) };
  const text = withCredentials(offer, other);
  assert.is(text.match(/a=ice-ufrag:abcd\r\n/g)?.length, 2);
  assert.equal(credentialsIn(text), other);
  assert.is(
    text.length > 0 &&
      fragmentOf(text)
        .split('\r\n')
        .every((line) => /^$|^m=|^a=(?:ice-|mid|group)/.test(line)),
    true,
  );
});

browsers('passwords of TURN servers end, and are the HMAC of their name', () => {
  const turn = { urls: ['turn:turn.example.com'], secret: 'north wind', lifetime: 3600 };
  assert.equal(iceServers({ ...turn, urls: [] }, 'alice', 0), []);
  assert.equal(iceServers({ ...turn, secret: '' }, 'alice', 0), [{ urls: turn.urls }]);
  const [server] = iceServers(turn, 'alice', 1_000_000_000_500);
  assert.is(server?.username, '1000003600:alice');
  // printf %s 1000003600:alice | openssl dgst -sha1 -hmac 'north wind' -binary | base64
  assert.is(server?.credential, 'bUCRSE7xqWBTCwwiPYD90CwBdrk=');
});

browsers('a call goes on in another process: its session takes offers, hears digits and ends', async () => {
  const first = setUp();
  const { driver, prepare } = first;
  const { open, session, tag } = await prepare();
  const before = open(() => undefined);
  before.answer();
  const data = JSON.parse(JSON.stringify(before.dump()));
  const second = setUp();
  const reports: LegReport[] = [];
  const leg = second.driver.driver.resume(data, 'c1', (report) => reports.push(report));
  assert.equal([second.reopened, leg.formats], [['c1'], ['opus']]);
  assert.equal(JSON.parse(JSON.stringify(leg.dump())), data, 'the same again');
  await driver.change({ session, owner: 'alice', body: offer, ifMatch: undefined });
  const held = offer.replace('a=sendrecv', 'a=sendonly');
  const changed = await second.driver.change({ session, owner: 'alice', body: held, ifMatch: `"${tag}"` });
  assert.match(changed!.sdp!, /^a=recvonly\r$/m);
  assert.is(await second.driver.change({ session, owner: 'bob', body: held, ifMatch: undefined }), undefined);
  second.told.get('c1')!({ type: 'media.digit', digit: '5', durationMs: 100 });
  assert.is(second.driver.end(session, 'alice'), true);
  assert.equal(
    reports.map(({ type }) => type),
    ['leg.held', 'leg.digit', 'leg.hungUp'],
  );
  assert.throws(
    () => second.driver.driver.resume({ version: 2 }, 'c2', () => undefined),
    (error: unknown) => error instanceof DriverError,
  );
});

browsers.run();
