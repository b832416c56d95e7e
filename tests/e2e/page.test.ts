import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { createPhone } from '../drivers/sip/support.ts';
import { need } from '../support/need.ts';
import { registerPhone } from '../support/register.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { confirm, invite, provisional, receive, request, SippRun } from '../support/sipp.ts';

/** The page in a real browser, with a real call. With HOOKSWITCH_PICTURES set, pictures of it go to docs/page. */

const sipp = need('sipp');
const browser = need('chromium');
const page = suite('the page in a browser');

const dialplan = {
  default: { '_X.': ['Stasis(desk,${EXTEN})'], wait: ['Answer', 'Wait(60)'], engaged: ['Busy'], gone: ['Hangup(1)'] },
};
const endpoints = { anonymous: { match: ['127.0.0.1'] }, alice: { auth: { username: 'alice', password: 'a secret' } } };
const users = [
  { name: user, password },
  { name: 'looker', password: 'only looks', read_only: true },
  {
    ...{ name: 'desk', password: 'its own' },
    scope: { applications: ['desk'], operations: ['*:read', 'channels:hangup'] },
  },
  { name: 'narrow', password: 'its own', scope: { operations: ['endpoints:read'] } },
];
const pictures = fileURLToPath(new URL('../../docs/page', import.meta.url));
const patienceMs = 15_000;

const launch = (executablePath: string): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

type World = { server: TestServer; peer: RtpPeer; place(): SippRun; open(options?: Opening): Promise<Page> };
type Opening = { width?: number; height?: number; dark?: boolean; name?: string; secret?: string };

/** A test with a server, the audio of a phone, and pages that are logged in; what a page complains about fails it. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  browser.test(page, title, async (chromiumPath) => {
    const sippPath = sipp.path;
    if (!sippPath) return;
    await onServer({ dialplan, endpoints, users, listening: { on: true } }, async (server) => {
      const opened = await launch(chromiumPath);
      const complaints: string[] = [];
      try {
        const peer = server.closing(await RtpPeer.open());
        const place = () =>
          server.closing(
            new SippRun(sippPath, {
              remote: server.sip(),
              service: '100',
              steps: [
                invite({ mediaPort: peer.port, from: '4711' }),
                provisional(),
                receive(200),
                request('ACK', 1),
                receive('BYE'),
                confirm(),
              ],
            }),
          );
        const open = async ({
          width = 1400,
          height = 900,
          dark = false,
          name = user,
          secret = password,
        }: Opening = {}) => {
          const context = await opened.newContext({
            viewport: { width, height },
            colorScheme: dark ? 'dark' : 'light',
            reducedMotion: 'reduce',
          });
          const shown = await context.newPage();
          shown.setDefaultTimeout(patienceMs);
          shown.on('console', (message) => {
            // A channel may go while its figures are asked for.
            if (message.type() !== 'error' || message.location().url.endsWith('/rtp_statistics')) return;
            complaints.push(`${message.text()} ${message.location().url}`);
          });
          shown.on('pageerror', (error) => complaints.push(String(error)));
          shown.on('request', (asked) => {
            if (!asked.url().startsWith(server.url.replace(/\/ari$/, '')) && !asked.url().startsWith('data:'))
              complaints.push(`asked elsewhere: ${asked.url()}`);
          });
          await shown.goto(server.url.replace(/\/ari$/, '/'));
          await shown.getByLabel('Name').fill(name);
          await shown.getByLabel('Password').fill(secret);
          await shown.getByRole('button', { name: 'Log in' }).click();
          await shown.getByRole('button', { name: 'Log out' }).waitFor();
          if (name !== 'narrow') await shown.getByRole('heading', { name: 'Overview' }).waitFor();
          return shown;
        };
        await body({ server, peer, place, open });
        assert.equal(complaints, []);
      } finally {
        await opened.close();
      }
    });
  });

/** Pictures that the README shows. */
const kept: ReadonlySet<string> = new Set([
  ...['overview', 'overview-dark', 'overview-narrow', 'calls', 'call', 'call-then', 'call-dark', 'call-narrow'],
  ...['api', 'charts', 'phones', 'phone', 'application', 'call-audio'],
]);

/** Keeps a picture where that was asked for. */
async function picture(shown: Page, name: string): Promise<void> {
  if (!process.env['HOOKSWITCH_PICTURES'] || !kept.has(name)) return;
  mkdirSync(pictures, { recursive: true });
  await shown.screenshot({ path: join(pictures, `${name}.png`) });
}

const lit = (shown: Page, chart: string) => shown.locator(`[data-chart="${chart}"] .state.lit text`);
const isLit = (shown: Page, chart: string, state: string) =>
  lit(shown, chart)
    .filter({ hasText: new RegExp(`^${state}$`) })
    .waitFor();

/** The state that is lit in the drawing of this name. */
const isLitIn = (shown: Page, label: string, state: string) =>
  shown
    .getByLabel(label)
    .locator('.state.lit text')
    .filter({ hasText: new RegExp(`^${state}$`) })
    .first()
    .waitFor();

test('a call is seen from its ringing to its end, now and then', async ({ server, peer, place, open }) => {
  const app = await server.app('desk');
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls' }).click();
  await shown.getByText('No calls yet').waitFor();

  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  const row = shown.getByRole('link', { name: /4711/ });
  await row.waitFor();
  await row.click();

  // Live: it rings, is answered, hears a prompt, presses a digit.
  await isLit(shown, 'channel', 'ring');
  await shown.getByText('Model says Ring').waitFor();
  const moments = shown.getByLabel('Moment of the call');
  const ringing = await moments.inputValue();
  await shown.getByRole('button', { name: 'Answer', exact: true }).click();
  await isLit(shown, 'channel', 'up');
  await app.ok('POST', `/channels/${channel.id}/play?media=sound:hello-world`);
  await isLit(shown, 'playback', 'playing');
  await peer.press('5', 100);
  await app.waitFor('ChannelDtmfReceived');
  await shown.getByText('ChannelDtmfReceived 5').first().waitFor();
  await shown.getByRole('heading', { name: 'Audio' }).waitFor();
  await picture(shown, 'call');
  // What is measured of the audio is drawn, and somebody listens.
  peer.hum(440);
  await shown.getByText('Level (dB)').waitFor();
  await shown.getByRole('button', { name: 'Listen', exact: true }).click();
  await shown.getByText('You hear both sides. It is logged that you do.').waitFor();
  await shown.getByRole('button', { name: 'Stop listening' }).click();
  await shown.getByRole('button', { name: 'Listen', exact: true }).waitFor();
  await shown.getByRole('heading', { name: 'Audio' }).scrollIntoViewIfNeeded();
  await picture(shown, 'call-audio');

  // A forbidden operation says why, and when it would be allowed.
  const dial = shown.getByRole('button', { name: 'Dial', exact: true });
  assert.is(await dial.getAttribute('aria-disabled'), 'true');
  await dial.press('Enter');
  await shown.getByText("Dial: Channel is not in the 'Down' state").waitFor();

  // Then: charts, ladder and model are what they were.
  await moments.fill(ringing);
  await isLit(shown, 'channel', 'ring');
  await shown.getByText('Model says Ring').waitFor();
  assert.is(await shown.getByText('ChannelDtmfReceived 5').count(), 0);
  assert.is(await shown.locator('[data-chart="playback"]').count(), 0);
  await picture(shown, 'call-then');
  await shown.getByRole('button', { name: 'Now', exact: true }).click();
  await isLit(shown, 'channel', 'up');

  await shown.getByRole('button', { name: 'Hang up', exact: true }).click();
  await phone.done;
  await isLit(shown, 'channel', 'destroyed');
});

test('who may only look sees everything and has no buttons', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  const shown = await open({ name: 'looker', secret: 'only looks' });
  await shown.getByRole('link', { name: 'Calls' }).click();
  await shown.getByRole('link', { name: /4711/ }).click();
  await isLit(shown, 'channel', 'ring');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await isLit(shown, 'channel', 'up');
  assert.is(await shown.getByRole('toolbar').count(), 0);
  assert.is(await shown.getByRole('button', { name: 'Listen', exact: true }).count(), 0);
  assert.is(await shown.getByRole('button', { name: 'Hang up', exact: true }).count(), 0);
  await shown.getByRole('link', { name: 'Phones' }).click();
  await shown.getByText('alice').waitFor();
  assert.is(await shown.getByRole('heading', { name: 'Make a phone' }).count(), 0);
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
});

test('who is limited sees what its scope covers, and what it may not do is grey', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  const shown = await open({ name: 'desk', secret: 'its own' });
  await shown.getByRole('link', { name: 'Calls' }).click();
  await shown.getByRole('link', { name: /4711/ }).click();
  await isLit(shown, 'channel', 'up');
  const button = (name: string) => shown.getByRole('button', { name, exact: true });
  assert.is(await button('Hold').getAttribute('aria-disabled'), 'true');
  assert.is(await button('Hang up').getAttribute('aria-disabled'), 'false');
  const places = await open({ name: 'narrow', secret: 'its own' });
  const menu = places.getByRole('navigation', { name: 'Main' }).getByRole('listitem');
  await menu.first().waitFor();
  assert.equal(await menu.allTextContents(), ['Phones', 'API']);
  await places.getByText('alice').waitFor();
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
});

test('wrong passwords are told, and every view is there, wide and narrow', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  for (const [from, number, extension] of [
    ['Alice', '201', 'wait'],
    ['Bob', '202', 'wait'],
    ['Carol', '203', 'gone'],
    ['Dave', '204', 'engaged'],
  ])
    await app.ok('POST', `/channels?endpoint=Local/${extension}@default&app=desk&callerId=${from}%20<${number}>`);
  for (const { suffix, ...size } of [
    { suffix: '', width: 1400, height: 900 },
    { suffix: '-dark', width: 1400, height: 900, dark: true },
    { suffix: '-narrow', width: 400, height: 820 },
  ]) {
    const shown = await open(size);
    const main = shown.getByRole('main');
    await main.getByText('Live calls').first().waitFor();
    await main.getByText('desk').first().waitFor();
    // Curves need some time to be seen.
    if (process.env['HOOKSWITCH_PICTURES'] && kept.has(`overview${suffix}`)) await shown.waitForTimeout(4_000);
    await picture(shown, `overview${suffix}`);
    for (const [link, sign] of [
      ['Calls', '4711'],
      ['Applications', 'desk'],
      ['Phones', 'alice'],
      ['API', 'ChannelDestroyed'],
      ['Charts', 'What each command does'],
    ] as const) {
      await shown.getByRole('link', { name: link, exact: true }).first().click();
      await main.getByText(sign).first().waitFor();
      const wider = await shown.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      assert.is(wider, 0, `${link} is wider than ${size.width} px`);
      await picture(shown, `${link.toLowerCase()}${suffix}`);
    }
    await shown.getByRole('link', { name: 'Calls', exact: true }).first().click();
    await shown.getByRole('link', { name: /4711/ }).click();
    await isLit(shown, 'channel', 'up');
    if (suffix !== '') await picture(shown, `call${suffix}`);
    await shown.getByRole('button', { name: 'Log out' }).click();
    await shown.getByLabel('Name').fill('nobody');
    await shown.getByLabel('Password').fill('x');
    await shown.context().close();
  }
  for (const { id } of await app.ok<{ id: string }[]>('GET', '/channels'))
    await app.ok('DELETE', `/channels/${id}`).catch(() => undefined);
  await phone.done;
});

test('a registered phone shows the state of its contact, an application its sockets and whether they came back', async ({
  server,
  open,
}) => {
  const phone = await createPhone({ config: { endpoints: [] } });
  try {
    const port = Number(server.sip().split(':').at(-1));
    assert.is(await registerPhone(phone, { port }, { user: 'alice', password: 'a secret' }), 200);
    const app = await server.app('desk');
    const again = new WebSocket(`${server.url.replace('http', 'ws')}/events?app=desk&resume=0`, {
      headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
    });
    server.closing({ close: () => again.terminate() });
    await once(again, 'open');
    const shown = await open();
    await shown.getByRole('link', { name: 'Phones' }).click();
    await shown.getByRole('link', { name: /alice/ }).click();
    await isLitIn(shown, 'Registration and qualification', 'nonQualified');
    await picture(shown, 'phone');
    await shown.getByRole('link', { name: 'Applications' }).click();
    await shown.getByRole('link', { name: /desk/ }).click();
    await shown.getByLabel('WebSockets').getByText('resumed').waitFor();
    await app.ok('POST', '/channels/call-1?endpoint=Local/wait@default&app=desk&otherChannelId=other');
    await shown.getByText('StasisStart').first().waitFor();
    await picture(shown, 'application');
    await app.ok('DELETE', '/channels/call-1');
  } finally {
    await phone.close();
  }
});

test('a phone is made, and told what to type', async ({ open }) => {
  const shown = await open();
  await shown.getByRole('link', { name: 'Phones' }).click();
  await shown.getByLabel('Name').fill('carol');
  await shown.getByRole('button', { name: 'Make it' }).click();
  await shown.getByRole('heading', { name: 'Type this into the softphone of carol' }).waitFor();
  await shown.getByRole('img', { name: 'The account as a QR code' }).waitFor();
  await shown.getByRole('link', { name: /carol/ }).waitFor();
});

page.run();
