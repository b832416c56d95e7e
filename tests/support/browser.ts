import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from './need.ts';
import { RtpPeer } from './rtp-peer.ts';
import { onServer, password, type TestServer, type TestServerOptions, user } from './server.ts';
import { answered, SippRun } from './sipp.ts';
import { patienceMs, untilAsked } from './waiting.ts';

/** The page in a real browser, with a real call. With HOOKSWITCH_PICTURES set, pictures of it go to docs/page. */

const sipp = need('sipp');
const browser = need('chromium');
const dialplan = {
  default: { '_X.': ['Stasis(desk,${EXTEN})'], wait: ['Answer', 'Wait(3600)'], engaged: ['Busy'], gone: ['Hangup(1)'] },
};
const endpoints = { anonymous: { match: ['127.0.0.1'] }, alice: { auth: { username: 'alice', password: 'a secret' } } };
const users = [
  { name: user, password },
  { name: 'looker', password: 'only looks', read_only: true },
  {
    ...{ name: 'desk', password: 'its own' },
    scope: { applications: ['desk'], operations: ['*:read', 'channels:hangup'] },
  },
  { name: 'watcher', password: 'its own', scope: { operations: ['live', 'calls:read'] } },
  { name: 'narrow', password: 'its own', scope: { operations: ['endpoints:read'] } },
];
const pictures = fileURLToPath(new URL('../../docs/page', import.meta.url));

/** How long a browser may take for anything, in ms: on a busy machine that is long, and only then a failure. */
const browserMs = patienceMs;

const launch = (executablePath: string): Promise<Browser> =>
  chromium.launch({
    executablePath,
    timeout: browserMs,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // A microphone that beeps, without a question.
      ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
    ],
  });

/** What a test of the page has; `complaints` of pages fail it in the end. */
export type World = {
  server: TestServer;
  peer: RtpPeer;
  place(): SippRun;
  open(options?: Opening): Promise<Page>;
  complaints: string[];
};
type Opening = { width?: number; height?: number; dark?: boolean; name?: string; secret?: string };

/**
 * Tests with a server, the audio of a phone, and pages that are logged in; what a page complains about fails them.
 * @param more settings of the server besides the usual ones; what has to be there before may be made then
 */
export const pageTests = (page: Test<Record<string, unknown>>) => {
  // Each page has a context of its own: nothing is shared but the programs of the browser.
  let launched: Promise<Browser> | undefined;
  page.after(async () => (await launched)?.close());
  return (
    title: string,
    body: (world: World) => Promise<void>,
    more: () => TestServerOptions | Promise<TestServerOptions> = () => ({}),
  ) =>
    browser.test(page, title, async (chromiumPath) => {
      const sippPath = sipp.path;
      if (!sippPath) return;
      const { endpoints: others, ...rest } = await more();
      // Calls that ring, or whose phones say nothing, for as long as a browser takes to look at them are no fault.
      const stuck = { ringing: 3600, no_audio: 3600 };
      const settings = {
        dialplan,
        endpoints: { ...endpoints, ...others },
        users,
        listening: { on: true },
        stuck,
        ...rest,
      };
      await onServer(settings, async (server) => {
        const opened = await (launched ??= launch(chromiumPath));
        const complaints: string[] = [];
        try {
          const peer = server.closing(await RtpPeer.open());
          const place = () =>
            server.closing(
              new SippRun(sippPath, {
                remote: server.sip(),
                service: '100',
                steps: answered(peer.port),
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
            shown.setDefaultTimeout(browserMs);
            shown.on('console', (message) => {
              // A channel may go while its figures are asked for, and a session of WebRTC while it is changed.
              const { url } = message.location();
              if (message.type() !== 'error' || /\/rtp_statistics$|\/webrtc\/sessions\//.test(url)) return;
              complaints.push(`${message.text()} ${url}`);
            });
            shown.on('pageerror', (error) => complaints.push(String(error)));
            shown.on('request', (asked) => {
              const own = [server.url.replace(/\/ari$/, ''), 'data:', 'blob:'];
              if (!own.some((place) => asked.url().startsWith(place)))
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
          await body({ server, peer, place, open, complaints });
          assert.equal(complaints, []);
        } finally {
          await Promise.all(opened.contexts().map((context) => context.close()));
        }
      });
    });
};

/**
 * Resolves once an expression is true in a page. Playwright's `waitForFunction` would evaluate it again and again inside the
 * page, which the policy of ours forbids: only its first look succeeds.
 */
export const untilTrue = (shown: Page, expression: string): Promise<void> =>
  untilAsked(
    () => shown.evaluate<boolean>(expression),
    () => `this did not become true: ${expression}`,
  );

/** Pictures that the README shows. */
export const kept: ReadonlySet<string> = new Set([
  ...['overview', 'overview-dark', 'overview-narrow', 'calls', 'call', 'call-then', 'call-dark', 'call-narrow'],
  ...['api', 'charts', 'phones', 'phone', 'application', 'call-audio', 'server', 'line'],
  ...[
    'fault-one-way',
    'fault-codec',
    'fault-dropped',
    'fault-digits',
    'fault-away',
    'fault-silent',
    'fault-no-audio',
    'fault-phone',
    'fault-provider',
    'stored-calls',
    'alarms',
    'call-recording',
    'call-bad-audio',
  ],
]);

/** Those of which there is one in the dark and one on a telephone as well, taken where the page stands. */
const everyWay: ReadonlySet<string> = new Set([
  'phone',
  'line',
  'application',
  'call-audio',
  'charts',
  'api',
  'server',
]);

/** Keeps a picture where that was asked for; `of` is what has to be in it. */
export async function picture(shown: Page, name: string, of?: Locator): Promise<void> {
  if (!process.env['HOOKSWITCH_PICTURES'] || !kept.has(name)) return;
  mkdirSync(pictures, { recursive: true });
  const take = async (what: string) => {
    await of?.scrollIntoViewIfNeeded();
    await shown.screenshot({ path: join(pictures, `${what}.png`) });
  };
  await take(name);
  const size = shown.viewportSize();
  if (!everyWay.has(name) || !size) return;
  await shown.emulateMedia({ colorScheme: 'dark' });
  await shown.waitForTimeout(settlingMs);
  await take(`${name}-dark`);
  await shown.emulateMedia({ colorScheme: 'light' });
  await shown.setViewportSize({ width: 400, height: 820 });
  await shown.waitForTimeout(settlingMs);
  await take(`${name}-narrow`);
  await shown.setViewportSize(size);
}

/** What pictures wait until curves are drawn anew, in ms. */
const settlingMs = 400;

const lit = (shown: Page, chart: string) => shown.locator(`[data-chart="${chart}"] .state.lit text`);
/** The state that is lit in the chart of this name. */
export const isLit = (shown: Page, chart: string, state: string) =>
  lit(shown, chart)
    .filter({ hasText: new RegExp(`^${state}$`) })
    .waitFor();

/** The state that is lit in the drawing of this name. */
export const isLitIn = (shown: Page, label: string, state: string) =>
  shown
    .getByLabel(label)
    .locator('.state.lit text')
    .filter({ hasText: new RegExp(`^${state}$`) })
    .first()
    .waitFor();
