import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Channel } from '../../src/models/channel.ts';
import { pageHears } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { freePort } from '../support/free-port.ts';
import { Jami } from '../support/jami.ts';
import { amplitude } from '../support/rtp-audio.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls between Chromium and Jami, in a network of their own: without one Jami looks for routers of the network (UPnP). */
const [chromium = '', jamid = '', address = ''] = process.argv.slice(2);

const auth = (username: string) => ({ aor: {}, auth: { username, password: 'wonderland' } });
/** The page hears the tone of Jami, and Jami that of the page. */
async function talk(server: TestServer, alice: Page, bob: Jami, call: string): Promise<void> {
  await alice.waitForFunction("phone.states.at(-1) === 'Established'");
  await alice.evaluate('phone.hum(1300)');
  await pageHears(alice, 700);
  const client = server.client();
  const channels = await client.ok<Channel[]>('GET', '/channels');
  const { id } = channels.find(({ name }) => name.startsWith('PJSIP/bob'))!;
  const sent = async () => (await client.ok<{ txcount: number }>('GET', `/channels/${id}/rtp_statistics`)).txcount;
  const samples = await bob.record(call, async () => {
    const before = await sent();
    await untilAsked(
      async () => (await sent()) > before + 100,
      () => 'Jami gets no audio',
    );
  });
  const [hers, nobodys] = [1300, 1900].map((hertz) => amplitude(samples.subarray(-8000), hertz)) as [number, number];
  assert.ok(hers > 1000 && hers > 20 * nobodys, `Jami hears ${hers} of 1300 Hz and ${nobodys} of 1900 Hz`);
}

await onServer(
  {
    endpoints: {
      alice: { webrtc: true, codecs: ['opus'], ...auth('alice') },
      bob: { media_encryption: 'required', codecs: ['opus'], ...auth('bob') },
    },
    dialplan: { default: { alice: ['Dial(PJSIP/alice)'], bob: ['Dial(PJSIP/bob)'] } },
    media: { rtp_address: address },
    sip: {
      transports: [
        { protocol: 'ws', bind: '127.0.0.1', port: 0 },
        { protocol: 'udp', bind: address, port: 0 },
      ],
      allowed_origins: ['*'],
    },
  },
  async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const registered = app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'bob');
    const account = {
      user: 'bob',
      password: 'wonderland',
      registrar: server.sip('udp'),
      port: await freePort(),
      hertz: 700,
    };
    const bob = server.closing(await Jami.start(jamid, account));
    await registered;
    const phones = server.closing(await BrowserPhones.open(chromium));
    const alice = await phones.register(server.sip('ws'), 'alice', 'wonderland');
    await alice.evaluate(`phone.dial('sip:bob@${server.sip('ws')}')`);
    await talk(server, alice, bob, await bob.inCall());
    await alice.evaluate('void phone.call.bye()');
    const isEmpty = async () => (await app.ok<unknown[]>('GET', '/channels')).length === 0;
    await untilAsked(isEmpty, () => 'a channel stays');
    process.stdout.write('the page has called Jami\n');
    const call = await bob.call(`sip:alice@${server.sip('udp')}`);
    await talk(server, alice, bob, call);
    await bob.hangUp(call);
    await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
    await untilAsked(isEmpty, () => 'a channel stays');
    process.stdout.write('Jami has called the page\n');
  },
);
process.exit(0);
