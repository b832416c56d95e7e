import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilTrue } from '../support/browser.ts';
import { BrowserPages, packageScript, pageHears, pageToken } from '../support/browser-pages.ts';
import { need } from '../support/need.ts';
import { onServer } from '../support/server.ts';
import { TurnServer } from '../support/turn-server.ts';

const test = suite('browsers that cannot reach the port of their call');
const chromium = need('chromium');
const coturn = need('turnserver');

/** A page that takes the candidates of one type alone. */
const script = `
globalThis.test = {
  states: [],
  only(type) {
    const take = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function (answer) {
      const lines = answer.sdp.split('\\r\\n');
      const kept = lines.filter((line) => !line.startsWith('a=candidate:') || line.includes(type));
      return take.call(this, { ...answer, sdp: kept.join('\\r\\n') });
    };
  },
  async dial(server, token, target) {
    test.phone = await Hookswitch.Phone.connect(server, token);
    test.call = await test.phone.call(target);
    test.call.onchange = ({ state }) => test.states.push(state);
    ears.listen(test.call.stream);
  },
  /** Types and addresses of the pair that packets take. */
  async pair() {
    const report = await test.call.connection.getStats();
    const all = [...report.values()];
    const { selectedCandidatePairId: id } = all.find(({ type }) => type === 'transport') ?? {};
    const { candidateType, protocol, tcpType } = report.get(report.get(id)?.remoteCandidateId) ?? {};
    return [candidateType, protocol, tcpType].join(' ').trim();
  },
};
`;

/** A page that is in a call of an application by candidates of that type alone. */
async function withCall(
  path: string,
  { type, media }: { type: string; media: object },
  body: (call: {
    server: Parameters<Parameters<typeof onServer>[1]>[0];
    app: Awaited<ReturnType<Parameters<Parameters<typeof onServer>[1]>[0]['app']>>;
    page: Awaited<ReturnType<BrowserPages['page']>>;
    channel: string;
  }) => Promise<void>,
): Promise<void> {
  await onServer({ http: { allowed_origins: ['*'] }, media }, async (server) => {
    const pages = server.closing(await BrowserPages.open(path, [await packageScript(), script]));
    const app = await server.app('desk');
    const page = await pages.page();
    await page.evaluate(`test.only(${JSON.stringify(type)})`);
    const called = [server.url.replace(/\/ari$/, ''), await pageToken(server, 'alice'), { app: 'desk' }];
    await page.evaluate(`test.dial(${called.map((each) => JSON.stringify(each)).join(', ')})`);
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await body({ server, app, page, channel: channel.id });
  });
}

const accounts = {
  'a name and password': [['--user=desk:north wind'], { username: 'desk', password: 'north wind' }],
  'a shared secret': [['--use-auth-secret', '--static-auth-secret=east wind'], { secret: 'east wind' }],
} as const;

/** Both are needed. */
const both = chromium.path ? coturn : chromium;

for (const [how, [options, account]] of Object.entries(accounts))
  both.test(test, `a page hears and is heard by a relay of the server's TURN server, with ${how}`, async () => {
    const turn = await TurnServer.start(coturn.path!, options);
    try {
      const gathering = { turn: `127.0.0.1:${turn.port}`, ...account, wait: 5 };
      await withCall(chromium.path!, { type: ' typ relay', media: { webrtc: { gathering } } }, async (call) => {
        const { app, page, channel } = call;
        await app.ok('POST', `/channels/${channel}/play?media=tone:1004/10000,0/10`);
        await pageHears(page, 1004);
        assert.is(await page.evaluate('test.pair()'), 'relay udp');
        await page.evaluate("test.call.press('7')");
        await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '7');
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
  });

test.run();
