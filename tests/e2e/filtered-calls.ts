import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { isBindingRequest, writeBindingResponse } from '../../src/lib/stun.ts';
import { pageHears } from '../support/browser-pages.ts';
import { BrowserPhones } from '../support/browser-phone.ts';
import { jsSipScripts } from '../support/jssip-phone.ts';
import { Networks, ownAddress } from '../support/networks.ts';
import { onServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Calls of a browser whose packets reach the media address of the server only once the server has sent some to it, as behind
 * a filter of the server's network. So only checks of the server's own find a way.
 */
const [path = '', directory = ''] = process.argv.slice(2);

const networks = new Networks(['home']);
// Without a route Chromium has no addresses.
networks.route('home', ownAddress);
const [media = ''] = networks.ownAddresses(1);
/** Chromium on a host of its own. */
const command = join(directory, 'chromium');
writeFileSync(command, `#!/bin/sh\nexec ${networks.on('home').join(' ')} '${path}' "$@"\n`);
chmodSync(command, 0o755);

/** Tells the browser its address: its host candidates are names (mDNS). */
const stun = createSocket('udp4');
stun.on('message', (asked, { address, port }) => {
  if (isBindingRequest(asked)) stun.send(writeBindingResponse(asked, { address, port })!, port, address);
});
stun.bind(0, ownAddress);
await once(stun, 'listening');

const useStun = `(() => {
  const Connection = RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Connection {
    constructor() { super({ iceServers: [{ urls: 'stun:${ownAddress}:${stun.address().port}' }] }); }
  };
})()`;

/** A check of the server has come to the page. */
const checked = `(async () => {
  const report = await phone.call?.sessionDescriptionHandler?.peerConnection?.getStats();
  return [...(report?.values() ?? [])].some(({ type, requestsReceived }) => type === 'candidate-pair' && requestsReceived > 0);
})()`;

async function passFilter(page: Page): Promise<void> {
  await untilAsked(
    () => page.evaluate<boolean>(checked),
    () => 'no check of the server has come',
  );
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
    const phones = server.closing(await BrowserPhones.open(command, await jsSipScripts()));
    const at = server.sip('ws');
    const alice = await phones.register(at, 'alice', 'wonderland', true);
    await alice.evaluate(useStun);
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

    // JsSIP, as an application has it tell its candidates one after another (RFC 8840): the offer has none.
    networks.mute('home', media, true);
    await alice.evaluate(
      `(async () => { await jsPhone.start('${at}', 'alice', 'wonderland'); await jsPhone.trickle('600'); })()`,
    );
    const trickled = await app.waitFor(
      'StasisStart',
      (event) => event.channel.id !== channel.id && event.channel.id !== made.id,
    );
    await app.ok('POST', `/channels/${trickled.channel.id}/answer`);
    await untilAsked(
      () => alice.evaluate<boolean>('jsPhone.checked()'),
      () => 'no check of the server has come',
    );
    networks.mute('home', media, false);
    await app.ok('POST', `/channels/${trickled.channel.id}/play?media=tone:1004/10000,0/10`);
    await pageHears(alice, 1004);

    // With the other card there at once, Chromium could go on without a moment of silence.
    networks.unplug('home', media);
    await alice.waitForFunction('ears.loudest() === 0');
    networks.changeCard('home', media);
    await alice.evaluate('jsPhone.restart()');
    await pageHears(alice, 1004);
    process.stdout.write('the browser has changed its network\n');
    await app.ok('DELETE', `/channels/${trickled.channel.id}`);
    await alice.waitForFunction("jsPhone.states.at(-1) === 'Terminated'");
    process.stdout.write('the browser has told its candidates by INFO\n');
  },
);
process.exit(0);
