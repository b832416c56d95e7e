import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isLit, pageTests, untilTrue } from '../support/browser.ts';
import { password, user } from '../support/server.ts';

/** The page by keyboard alone, in a real browser: every control is reached, seen to be, and has a name. */

const page = suite('the page by keyboard');
const test = pageTests(page);

/** What of a view the walk by Tab looks at, evaluated in the page: marks all that Tab should reach. */
const survey = `(() => {
  const shown = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled;
  const all = [...document.querySelectorAll('a[href], button, input, textarea, select, summary, [tabindex="0"]')];
  // A list is one place, whichever of its rows that is.
  const placeOf = (each) => each.closest('.windowed') ?? each;
  const reachable = [...new Set(all.filter((each) => shown(each) && each.tabIndex >= 0).map(placeOf))];
  const wordOf = (each) => (each.getAttribute('aria-label') ?? each.labels?.[0]?.textContent ?? each.textContent ?? '').trim();
  const describe = (each) => each.tagName.toLowerCase() + ' ' + wordOf(each).slice(0, 40);
  reachable.forEach((each, at) => { each.dataset.walk = String(at); });
  const faults = [];
  for (const each of reachable) if (wordOf(each) === '') faults.push('no name: ' + each.outerHTML.slice(0, 80));
  for (const each of all.filter((each) => shown(each) && each.tabIndex < 0))
    if (!each.closest('.windowed')) faults.push('out of reach: ' + describe(each));
  for (const each of document.querySelectorAll('img:not([alt]), svg[role=img]:not([aria-label]), th:not([scope])'))
    faults.push('says nothing: ' + each.outerHTML.slice(0, 80));
  for (const each of document.querySelectorAll('[role=tablist] > :not([role=tab]), section:not([aria-label], .panel, .object)'))
    faults.push('no place for: ' + each.outerHTML.slice(0, 80));
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one heading of the whole');
  if (!document.documentElement.lang || !document.title.includes('Hookswitch')) faults.push('no language or title');
  document.activeElement?.blur();
  return { faults, names: reachable.map(describe) };
})()`;

/** Which of them has the focus, and whether that is seen. */
const focus = `(() => {
  const { activeElement: at } = document;
  if (!at || at === document.body) return undefined;
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  return { walk: Number((at.closest('.windowed') ?? at).dataset.walk ?? -1), seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1, html: at.outerHTML.slice(0, 80) };
})()`;
type Focus = { walk: number; seen: boolean; html: string } | undefined;

/** Goes through a view by Tab, to its end: what is wrong with it. */
async function walk(shown: Page): Promise<string[]> {
  const { faults, names } = await shown.evaluate<{ faults: string[]; names: string[] }>(survey);
  const reached = new Set<number>();
  for (let presses = 0; presses < 2 * names.length + 10 && reached.size < names.length; presses++) {
    await shown.keyboard.press('Tab');
    const at = await shown.evaluate<Focus>(focus);
    if (!at) continue;
    if (!at.seen) faults.push(`focus is not seen: ${at.html}`);
    if (at.walk >= 0) reached.add(at.walk);
  }
  return [...new Set(faults), ...names.filter((_, at) => !reached.has(at)).map((name) => `not reached: ${name}`)];
}

/** The words of what has the focus, in the page. */
const words =
  '(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "").trim()';
const focusedText = (shown: Page) => shown.evaluate<string>(words);

/** Resolves once something of this name has the focus. @throws Error when that does not come. */
async function focusOn(shown: Page, name: RegExp): Promise<void> {
  await untilTrue(shown, `${String(name)}.test(${words})`);
}

/** Presses Tab until something of this name has the focus. */
async function tabTo(shown: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 150; presses++) {
    await shown.keyboard.press('Tab');
    if (name.test(await focusedText(shown))) return;
  }
  throw new Error(`Tab never reaches ${name}`);
}

test('every control of every view is reached by Tab, has a name, and is seen to have the focus', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  for (const id of ['c1', 'c2'])
    await app.ok(
      'POST',
      `/channels/${id}?endpoint=Local/wait@default&app=desk&callerId=${id}<${id === 'c1' ? 201 : 202}>`,
    );
  const shown = await open();
  const main = shown.getByRole('main');
  const found: Record<string, string[]> = {};
  for (const [place, sign] of [
    ['overview', 'Objects in memory'],
    ['calls', '201'],
    ['calls/c1', 'Ladder'],
    ['applications', 'desk'],
    ['applications/desk', 'Events'],
    ['phones', 'Create a phone'],
    ['phones/PJSIP%2Falice', 'Not registered'],
    ['server', 'BLF and message subscriptions'],
    ['api', 'ChannelDestroyed'],
    ['api/POST %2Fari%2Fchannels', 'Possible answers'],
    ['charts', 'Commands and their transitions'],
  ] as const) {
    await shown.evaluate(`location.hash = '#/${place}'`);
    await main.getByText(sign).first().waitFor();
    if (place === 'calls/c1') await isLit(shown, 'channel', 'up');
    found[place] = await walk(shown);
  }
  await shown.getByRole('button', { name: 'Log out' }).click();
  await shown.getByRole('button', { name: 'Log in' }).waitFor();
  await shown.reload();
  await shown.getByRole('button', { name: 'Log in' }).waitFor();
  found['log-in'] = await walk(shown);
  for (const id of ['c1', 'c2']) await app.ok('DELETE', `/channels/${id}`);
  assert.equal(Object.fromEntries(Object.entries(found).filter(([, faults]) => faults.length > 0)), {});
});

test('a call is found, gone through in time, acted upon and ended without a mouse', async ({ server, open }) => {
  const app = await server.app('desk');
  for (const [id, number] of [
    ['c1', '201'],
    ['c2', '202'],
    ['c3', '203'],
  ])
    await app.ok('POST', `/channels/${id}?endpoint=Local/wait@default&app=desk&callerId=${id}<${number}>`);
  const shown = await open();
  const { keyboard } = shown;
  await shown.getByRole('button', { name: 'Log out' }).click();
  await shown.getByRole('button', { name: 'Log in' }).waitFor();
  await shown.reload();
  // Whoever comes has the name under the fingers.
  await shown.getByLabel('Name').waitFor();
  await keyboard.type(user);
  await keyboard.press('Tab');
  await keyboard.type(password);
  await keyboard.press('Enter');
  await shown.getByRole('heading', { name: 'Overview' }).waitFor();

  // The way past the menu leads to what is shown, and nowhere else.
  await tabTo(shown, /^Skip to the content$/);
  await keyboard.press('Enter');
  await shown.locator('#main:focus').waitFor();
  await shown.getByRole('heading', { name: 'Overview' }).waitFor();
  await tabTo(shown, /^Calls\d*$/);
  await keyboard.press('Enter');

  // A list is one place to Tab; arrows go through it.
  await tabTo(shown, /\(203\)/);
  await keyboard.press('ArrowDown');
  await focusOn(shown, /\(202\)/);
  await keyboard.press('End');
  await focusOn(shown, /\(201\)/);
  await keyboard.press('Home');
  await focusOn(shown, /\(203\)/);
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await shown.getByRole('heading', { name: /c2 \(202\)/ }).waitFor();
  // What had the focus has gone with the list.
  await shown.locator('#main:focus').waitFor();
  await isLit(shown, 'channel', 'up');

  // The slider, by arrows.
  const moment = shown.getByLabel('Moment of the call');
  await tabTo(shown, /^Moment of the call$/);
  await keyboard.press('ArrowLeft');
  await shown.getByText('earlier moment', { exact: true }).waitFor();
  // The present goes on meanwhile; a moment of the past stays what it is.
  const chosen = Number(await moment.inputValue());
  assert.ok(chosen < Number(await moment.getAttribute('max')));
  await keyboard.press('ArrowLeft');
  assert.is(Number(await moment.inputValue()), chosen - 1);
  await keyboard.press('Home');
  assert.is(await moment.inputValue(), '1');
  await keyboard.press('End');
  await shown.getByText('earlier moment', { exact: true }).waitFor({ state: 'hidden' });

  // The charts of an object, and its operations: a form gives the focus back to the button that opened it.
  await tabTo(shown, /^channel$/);
  await keyboard.press('ArrowRight');
  await focusOn(shown, /^ownership$/);
  await keyboard.press('ArrowLeft');
  await tabTo(shown, /^Set variable$/);
  await keyboard.press('Enter');
  await shown.locator('.fields input:focus').first().waitFor();
  await keyboard.press('Escape');
  await focusOn(shown, /^Set variable$/);
  await keyboard.press('Enter');
  await shown.locator('.fields input:focus').first().waitFor();
  await keyboard.type('COLOUR');
  await keyboard.press('Tab');
  await keyboard.type('green');
  await keyboard.press('Enter');
  await app.waitFor('ChannelVarset', ({ variable, value }) => variable === 'COLOUR' && value === 'green');
  await focusOn(shown, /^Set variable$/);

  // The ladder: an entry is opened and closed, and has the focus again.
  await tabTo(shown, /^Filter the ladder$/);
  await keyboard.type('ChannelVarset "kind":"event"');
  await untilTrue(
    shown,
    `(() => {
    const entries = [...document.querySelectorAll('.ladder-rows .rung')];
    return entries.length > 0 && entries.every((each) => each.textContent.includes('ChannelVarset'));
  })()`,
  );
  await tabTo(shown, /ChannelVarset/);
  const entry = await focusedText(shown);
  await keyboard.press('Enter');
  await shown.getByLabel('The chosen entry').waitFor();
  await tabTo(shown, /^Close$/);
  await keyboard.press('Enter');
  await untilTrue(shown, `${words} === ${JSON.stringify(entry)}`);

  // The question has the focus; Escape takes it back.
  await tabTo(shown, /^Hang up$/);
  await keyboard.press('Enter');
  await focusOn(shown, /^Hang up now$/);
  await keyboard.press('Escape');
  await focusOn(shown, /^Hang up$/);
  await keyboard.press('Enter');
  await focusOn(shown, /^Hang up now$/);
  await keyboard.press('Enter');
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'c2');
  await isLit(shown, 'channel', 'destroyed');
  for (const id of ['c1', 'c3']) await app.ok('DELETE', `/channels/${id}`);

  // Whoever has logged out can log in at once.
  await tabTo(shown, /^Log out$/);
  await keyboard.press('Enter');
  await shown.locator('input[name="name"]:focus').waitFor();
});

page.run();
