import assert from 'node:assert/strict';
import type { VideoVisibility } from '../../src/models/video-visibility.ts';
import type { AriClient } from '../support/ari-client.ts';
import { onlyCandidates, packageScript, pageToken, servePages } from '../support/browser-pages.ts';
import { Firefox, type FirefoxPage } from '../support/firefox.ts';
import { freePort } from '../support/free-port.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { TurnServer } from '../support/turn-server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls of Firefox with the package: by TCP, by TURN servers of either side, and with a camera in two sizes. */
const [path = '', turnserver = '', address = ''] = process.argv.slice(2);

/** What pages do with the package. */
const script = `
globalThis.test = {
  ${onlyCandidates},
  /** Its own candidates are those of its TURN server alone. */
  relayOnly() {
    const Connection = RTCPeerConnection;
    globalThis.RTCPeerConnection = class extends Connection {
      constructor(settings) { super({ ...settings, iceTransportPolicy: 'relay' }); }
    };
  },
  async connect(server, token, options = {}) {
    await new Promise((resolve) => {
      Hookswitch.Phone.connect(server, token, { onlistening: resolve, ...options }).then((phone) => { test.phone = phone; });
    });
  },
  async call() { test.made = await test.phone.call({ app: 'desk' }); },
  watch() { eyes.watch(test.made.stream.getVideoTracks()); },
  async loud() {
    return [...(await test.made.connection.getStats()).values()].some(({ type, kind, audioLevel }) =>
      type === 'inbound-rtp' && kind === 'audio' && audioLevel > 0.01);
  },
  /** Both candidates of the pair that packets take. */
  async candidates() {
    const report = await test.made.connection.getStats();
    const { localCandidateId, remoteCandidateId } = [...report.values()].find(({ type, selected }) => type === 'candidate-pair' && selected) ?? {};
    return [report.get(localCandidateId), report.get(remoteCandidateId)];
  },
  /** Their types. */
  async pair() {
    const [local, remote] = await test.candidates();
    return [local?.candidateType, remote?.candidateType, remote?.protocol].join(' ');
  },
  /** The port of the server. */
  port: async () => (await test.candidates())[1]?.port,
};
`;

const evaluate = (page: FirefoxPage, name: string, ...args: unknown[]): Promise<unknown> =>
  page.evaluate(`test.${name}(${args.map((each) => JSON.stringify(each)).join(', ')})`);

async function enter(app: AriClient, page: FirefoxPage, known: readonly string[] = []): Promise<string> {
  const made = evaluate(page, 'call');
  const { channel } = await app.waitFor('StasisStart', ({ channel: { id } }) => !known.includes(id));
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await made;
  return channel.id;
}

type Open = (server: TestServer, name: string, options?: object) => Promise<FirefoxPage>;

/** A call that takes one way alone: tone and key pass. @param pair what Firefox says of it. */
async function callBy(open: Open, media: object, prepare: readonly unknown[], pair: string): Promise<void> {
  await onServer({ http: { allowed_origins: ['*'] }, media: { rtp_address: address, ...media } }, async (server) => {
    const app = await server.app('desk');
    const page = await open(server, 'alice');
    const [name, ...args] = prepare;
    await evaluate(page, String(name), ...args);
    const channel = await enter(app, page);
    await app.ok('POST', `/channels/${channel}/play?media=tone:1004/10000,0/10`);
    await page.until('test.loud()');
    assert.equal(await page.evaluate('test.pair()'), pair);
    const pressed = app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
    await page.evaluate("test.made.press('7')");
    await pressed;
    await app.ok('DELETE', `/channels/${channel}`);
  });
  process.stdout.write(`Firefox has called by ${pair}\n`);
}

/** Two tabs, by the one port of all browsers. */
async function seeSizes(open: Open): Promise<void> {
  const port = await freePort();
  const media = { rtp_address: address, webrtc: { udp_port: port } };
  await onServer({ http: { allowed_origins: ['*'] }, media }, async (server) => {
    const app = await server.app('desk');
    await app.ok('POST', '/bridges/b1?type=video_sfu');
    const simulcast = [
      { rid: 'l', scaleResolutionDownBy: 2, maxBitrate: 60_000 },
      { rid: 'h', maxBitrate: 220_000 },
    ];
    const source = await open(server, 'alice', { video: true, simulcast });
    await source.evaluate("eyes.useCamera('red', 640, 360, 100)");
    const viewer = await open(server, 'bob', { video: true });
    await viewer.evaluate("eyes.useCamera('blue')");
    const ids: string[] = [];
    for (const page of [source, viewer]) {
      ids.push(await enter(app, page, ids));
      await app.ok('POST', `/bridges/b1/addChannel?channel=${ids.at(-1)}`);
    }
    await evaluate(viewer, 'watch');
    await viewer.until("eyes.colour(0) === 'red'");
    let told = '';
    await untilAsked(
      async () => {
        const members = await app.ok<VideoVisibility[]>('GET', '/../hookswitch/bridges/b1/video-visibility');
        told = JSON.stringify(members);
        const { others = [] } = members.find(({ channel }) => channel === ids[1]) ?? {};
        return others.some(({ seen, size, sizes }) => seen && size === 2 && sizes === 2);
      },
      () => `the interface tells ${told}`,
    );
    for (const page of [source, viewer]) assert.equal(await page.evaluate('test.port()'), port);
    for (const id of ids) await app.ok('DELETE', `/channels/${id}`);
    await app.ok('DELETE', '/bridges/b1');
  });
  process.stdout.write('Firefox has sent two sizes\n');
}

const served = await servePages([await packageScript(), script]);
const browser = await Firefox.open(path);
const account = ['--user=desk:north wind', '--allowed-peer-ip=0.0.0.0-255.255.255.255'];
const turn = await TurnServer.start(turnserver, account, undefined, address);
const secret = 'east wind';
const shared = ['--use-auth-secret', `--static-auth-secret=${secret}`];
const pageTurn = await TurnServer.start(turnserver, shared, undefined, address);
try {
  const open: Open = async (server, name, options = {}) => {
    const page = await browser.page(served.origin);
    await evaluate(page, 'connect', server.url.replace(/\/ari$/, ''), await pageToken(server, name), options);
    return page;
  };
  const gathering = { turn: `${address}:${turn.port}`, username: 'desk', password: 'north wind' };
  // A full agent finds the browser without its relay.
  await callBy(open, { webrtc: { ice: 'lite', gathering } }, ['only', 'typ relay'], 'host relay udp');
  const told = { urls: [`turn:${address}:${pageTurn.port}`], secret };
  await callBy(open, { webrtc: { turn: told } }, ['relayOnly'], 'relay host udp');
  await seeSizes(open);
  const tcp = { port: await freePort(), bind: address };
  // A full agent would find the browser by UDP.
  await callBy(open, { webrtc: { ice: 'lite', tcp } }, ['only', 'tcptype passive'], 'host host tcp');
} catch (error) {
  process.stdout.write(`${turn.explain()}\n${pageTurn.explain()}\n`);
  throw error;
} finally {
  await browser.close();
  await turn.close();
  await pageTurn.close();
  served.close();
}
process.exit(0);
