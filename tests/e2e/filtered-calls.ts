import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { pageHears } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { Networks, ownAddress } from '../support/networks.ts';
import { onServer } from '../support/server.ts';

/**
 * Calls of a browser whose packets reach the media address of the server only once the server has sent some to it, as behind
 * a filter of the server's network. So only checks of the server's own find a way.
 */
const [path = '', directory = ''] = process.argv.slice(2);

const networks = new Networks(['home']);
const [media = ''] = networks.ownAddresses(1);
/** Chromium on a host of its own. */
const command = join(directory, 'chromium');
writeFileSync(command, `#!/bin/sh\nexec ${networks.on('home').join(' ')} '${path}' "$@"\n`);
chmodSync(command, 0o755);

/** A check of the server has come to the page. */
const checked = `phone.call && phone.connection?.getStats().then((report) =>
  [...report.values()].some(({ type, requestsReceived }) => type === 'candidate-pair' && requestsReceived > 0))`;

async function passFilter(page: Page): Promise<void> {
  await page.waitForFunction(checked);
  networks.mute('home', media, false);
  await page.waitForFunction("phone.connection.connectionState === 'connected'");
}

await onServer(
  {
    endpoints: {
      alice: { webrtc: true, codecs: ['opus'], aor: {}, auth: { username: 'alice', password: 'wonderland' } },
    },
    dialplan: { default: { '600': ['Stasis(desk)'] } },
    media: { rtp_address: media },
    sip: { transports: [{ protocol: 'ws', bind: ownAddress, port: 0 }], allowed_origins: ['*'] },
  },
  async (server) => {
    const phones = server.closing(await BrowserPhones.open(command));
    const at = server.sip('ws');
    const alice = await phones.register(at, 'alice', 'wonderland', true);
    const app = await server.app('desk');

    networks.mute('home', media, true);
    const dialed = alice.evaluate(`phone.dial('sip:600@${at}')`);
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await dialed;
    await passFilter(alice);
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:1004/10000,0/10`);
    await pageHears(alice, 1004);
    await app.ok('DELETE', `/channels/${channel.id}`);
    await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
    process.stdout.write('the browser has called\n');

    networks.mute('home', media, true);
    await alice.evaluate('phone.call = undefined');
    const made = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
    await app.waitFor('StasisStart', (event) => event.channel.id === made.id);
    await passFilter(alice);
    await app.ok('POST', `/channels/${made.id}/play?media=tone:1004/10000,0/10`);
    await pageHears(alice, 1004);
    await app.ok('DELETE', `/channels/${made.id}`);
    await alice.waitForFunction("phone.states.at(-1) === 'Terminated'");
    process.stdout.write('the browser was called\n');
  },
);
process.exit(0);
