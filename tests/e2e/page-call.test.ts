import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isLit, pageTests, untilTrue } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';

/** One call with a transfer, from the list to its end, in a real browser. */

const page = suite('a call on the page');
const test = pageTests(page);

const ports = { bob: await freePort(), carol: await freePort() };
const at = (name: keyof typeof ports) => ({ aor: { contacts: [`sip:${name}@127.0.0.1:${ports[name]}`] } });

const heading = (shown: Page, text: string) =>
  shown.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();

/** How much wider what is shown is than the window. */
const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Whether the present state of bob's chart is in view. */
const isLitInView = `(() => {
  const card = [...document.querySelectorAll('.object')].find((each) => each.textContent.includes('PJSIP/bob-'));
  const box = card?.querySelector('.drawing');
  const [around, lit] = [box, box?.querySelector('.state.lit')].map((each) => each?.getBoundingClientRect());
  return Boolean(around && lit && lit.left >= around.left && lit.right <= around.right);
})()`;

test(
  'its title names who talks, also after a transfer, and then as they were; its buttons ask and say what they did',
  async ({ server, open }) => {
    const [alice, bob, carol] = await Promise.all([
      Phone.open('4711', server.sip()),
      Phone.open('202', server.sip(), ports.bob),
      Phone.open('203', server.sip(), ports.carol),
    ]);
    for (const phone of [alice, bob, carol]) server.closing(phone);
    await alice.call('202');
    const shown = await open();
    await shown.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await shown.getByRole('link', { name: /4711/ }).click();
    await heading(shown, '4711 → bob (202)');
    const spans = shown.getByLabel('States over time');
    await spans.getByText('talking', { exact: true }).first().waitFor();
    // A lane for the channel, with its leg and its audio.
    assert.is(await shown.getByRole('button', { name: /^Only .* PJSIP\/bob-/ }).count(), 1);

    // The name of an object beside its spans limits the ladder, and the chosen chart of an object stays after a reload.
    const limits = spans.getByRole('button', { name: /^Limit the ladder to channel PJSIP\/bob-/ });
    await limits.click();
    await shown.getByRole('button', { name: /^Only channel PJSIP\/bob-/, pressed: true }).waitFor();
    await limits.click();
    const first = shown.locator('.object').first();
    await first.getByRole('tab', { name: 'ownership' }).click();
    await shown.reload();
    await first.getByRole('tab', { name: 'ownership', selected: true }).waitFor();

    assert.is(await alice.refer('<sip:203@127.0.0.1>'), 202);
    await heading(shown, 'bob (202) → carol (203)');
    const length = await shown.locator('.facts').textContent();
    await shown.getByLabel('Moment of the call').fill('4');
    await heading(shown, '4711 → 202');
    await shown.getByLabel('Summary').getByText('4711 → 202, not answered yet').waitFor();
    assert.match((await shown.locator('.facts').textContent()) ?? '', / · 0 s$/, `and not ${length}`);
    await shown.getByRole('button', { name: 'Play 20 ×' }).click();
    await shown.getByRole('button', { name: 'Now', pressed: true }).waitFor();
    await heading(shown, 'bob (202) → carol (203)');

    // What an operator does is apart, and asks before it ends a call.
    const card = shown.locator('.object', { hasText: 'PJSIP/bob-' });
    await card
      .getByRole('toolbar', { name: 'Operations', exact: true })
      .getByRole('button', { name: 'Hold', exact: true })
      .waitFor();
    await card.getByRole('toolbar', { name: 'Operations for developers' }).getByText('Set variable').waitFor();
    await card.getByRole('button', { name: 'Copy a link to this object' }).click();
    await card.getByText('Link copied.').waitFor();
    const link = await shown.evaluate<string>('navigator.clipboard.readText()');
    await card.getByRole('button', { name: "Copy this object's request as curl" }).click();
    await card.getByText('Command copied.').waitFor();
    assert.match(
      await shown.evaluate('navigator.clipboard.readText()'),
      /^curl -u USER 'http:.*\/ari\/channels\/[^/]+'$/,
    );
    await card.getByRole('button', { name: 'Hang up', exact: true }).click();
    await card.getByText('Hang up: are you sure? This cannot be undone.').waitFor();
    await card.getByRole('button', { name: 'Cancel' }).click();
    assert.ok(bob.inCall);

    // A link to an object opens it; its chart shows where it is, and is as large as wanted.
    await shown.goto(link);
    await shown.reload();
    await isLit(shown, 'channel', 'up');
    const chart = card.locator('.drawing');
    await chart.waitFor();
    for (let presses = 0; presses < 4; presses++) await card.getByRole('button', { name: 'Larger' }).click();
    await card.getByRole('button', { name: 'Usual size' }).getByText('244 %').waitFor();
    await untilTrue(shown, isLitInView);
    for (const [width, height] of [
      [400, 820],
      [1920, 1000],
    ] as const) {
      await shown.setViewportSize({ width, height });
      assert.is(await shown.evaluate(overflow), 0, `${width} px`);
      await untilTrue(shown, isLitInView);
    }
    await card.getByRole('button', { name: 'Hang up', exact: true }).click();
    await card.getByRole('button', { name: 'Hang up now' }).click();
    await bob.over();
    await carol.over();
    await heading(shown, '4711 → bob (202) and 1 more');
  },
  () => ({
    dialplan: { default: { '202': ['Dial(PJSIP/bob,20)'], '203': ['Dial(PJSIP/carol,20)'] } },
    endpoints: { bob: at('bob'), carol: at('carol') },
  }),
);

test('what nothing brings back asks first: a playback that is stopped, and DELETE of the interface', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels/c1?endpoint=Local/wait@default&app=desk&otherChannelId=other');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/c1/play/p1?media=tone:dial');
  await app.waitFor('PlaybackStarted');
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.locator('a.call-row').first().click();
  const card = shown.locator('[data-chart="playback"]');
  await card.getByRole('button', { name: 'Stop', exact: true }).click();
  await card.getByText('Stop: are you sure? This cannot be undone.').waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await app.ok('GET', '/playbacks/p1');
  await card.getByRole('button', { name: 'Stop', exact: true }).click();
  await card.getByRole('button', { name: 'Stop now' }).click();
  await app.waitFor('PlaybackFinished');

  await shown.getByRole('link', { name: 'API', exact: true }).click();
  await shown.getByRole('searchbox', { name: 'Find an operation' }).fill('Hang a channel up');
  await shown.getByRole('link', { name: 'DELETE /channels/{channelId}', exact: true }).click();
  await shown.getByLabel('channelId').fill('c1');
  const asks = shown.getByRole('group', { name: 'Send DELETE: are you sure?' });
  await shown.getByRole('button', { name: 'Send', exact: true }).click();
  await asks.getByText('DELETE /ari/channels/c1 ends or removes something. This cannot be undone.').waitFor();
  await shown.keyboard.press('Escape');
  await asks.waitFor({ state: 'detached' });
  await app.ok('GET', '/channels/c1');
  await shown.getByRole('button', { name: 'Send', exact: true }).click();
  await asks.getByRole('button', { name: 'Send now' }).click();
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'c1');
  await shown.getByText('204', { exact: true }).first().waitFor();
});

page.run();
