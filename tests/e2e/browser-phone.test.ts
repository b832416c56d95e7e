import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BrowserPhones, hears } from '../support/browser-phone.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer, type TestServerOptions } from '../support/server.ts';

const phones = suite('browsers as phones: SIP.js over WebSockets, ICE and DTLS-SRTP');
const chromium = need('chromium');

const browser = (name: string) => ({ webrtc: true, auth: { username: name, password: 'wonderland' }, aor: {} });
const settings: TestServerOptions = {
  endpoints: { alice: browser('alice'), bob: browser('bob') },
  dialplan: {
    default: { '600': ['Stasis(desk)'], '601': ['Answer', 'Echo'], bob: ['Dial(PJSIP/bob)'] },
  },
  media: { webrtc: { consent_timeout: 5 } },
  sip: { transports: [{ protocol: 'ws', bind: '127.0.0.1', port: 0 }], allowed_origins: ['*'] },
};

const withPhones = (path: string, body: (server: TestServer, all: BrowserPhones) => Promise<void>) =>
  onServer(settings, async (server) => {
    const all = server.closing(await BrowserPhones.open(path));
    await body(server, all);
  });

chromium.test(phones, 'a browser calls an application and hears its tone; the application hangs up', (path) =>
  withPhones(path, async (server, all) => {
    const app = await server.app('desk');
    const alice = await all.register(server.sip('ws'), 'alice', 'wonderland');
    await alice.evaluate(`phone.dial('sip:600@${server.sip('ws')}')`);
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:1004/10000,0/10`);
    await hears(alice, 1004);
    const read = await app.ok<{ codec?: string }>('GET', `/channels/${channel.id}/rtp_statistics`);
    assert.ok(read);
    await app.ok('DELETE', `/channels/${channel.id}`);
    await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
  }),
);

phones.run();
