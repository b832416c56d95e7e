import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isLit, pageTests } from '../support/browser.ts';

/** What a screen reader and weak eyes get of every view: the accessibility tree and the contrast that Chromium computes. */

const page = suite('the page for screen readers and weak eyes');
const test = pageTests(page);

/** A node of Chromium's accessibility tree, as its protocol gives it. */
type Node = {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  value?: { value: unknown };
  properties?: { name: string; value: { value: unknown } }[];
};

/** Roles of controls, and of what has to say what it is of. */
const controls: ReadonlySet<string> = new Set([
  ...[
    'button',
    'link',
    'textbox',
    'searchbox',
    'checkbox',
    'combobox',
    'slider',
    'spinbutton',
    'tab',
    'menuitem',
    'switch',
  ],
  ...[
    'DisclosureTriangle',
    'Date',
    'DateTime',
    'InputTime',
    'image',
    'meter',
    'table',
    'tablist',
    'toolbar',
    'navigation',
  ],
]);

/** Controls with a state that has to be told: a tab whether it is chosen, a slider its value in words. */
const states: Readonly<Record<string, string>> = {
  tab: 'selected',
  slider: 'valuetext',
  DisclosureTriangle: 'expanded',
};

/** What is wrong with the accessibility tree of a page, and how many controls it has. */
async function treeOf(shown: Page): Promise<{ faults: string[]; count: number }> {
  const devTools = await shown.context().newCDPSession(shown);
  const { nodes } = (await devTools.send('Accessibility.getFullAXTree')) as unknown as { nodes: Node[] };
  await devTools.detach();
  const faults: string[] = [];
  let count = 0;
  for (const { ignored, role, name, properties = [] } of nodes) {
    const kind = role?.value ?? '';
    if (ignored || !controls.has(kind)) continue;
    count++;
    const called = name?.value.trim() ?? '';
    if (called === '') faults.push(`a ${kind} without a name`);
    const state = states[kind];
    if (state !== undefined && !properties.some((each) => each.name === state))
      faults.push(`${kind} ${called}: not ${state}`);
  }
  return { faults, count };
}

/** Texts whose contrast is too low (WCAG 2.2, 1.4.3), by the colours that Chromium computes. */
const faint = `(() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].map((part, at) => (at === 3 ? part / 255 : part));
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (text.data.trim() === '' || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest('[disabled], [aria-disabled="true"], [aria-hidden="true"], .unseen, option')) continue;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGElement;
    // What a state of a chart is filled with lies beside its text, not around it.
    const shape = isDrawn ? element.parentElement.querySelector('rect, path, polygon') : undefined;
    const ground = shape && getComputedStyle(shape).fill !== 'none' && element.closest('.state') ? over(rgba(getComputedStyle(shape).fill), behind(element)) : behind(element);
    const ink = over(rgba(isDrawn ? style.fill : style.color), ground);
    const [dark, bright] = [light(ink), light(ground)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (bright + 0.05) / (dark + 0.05);
    count++;
    if (ratio < least) found.push(text.data.trim().slice(0, 30) + ' (' + element.tagName + '.' + element.getAttribute('class') + '): ' + ratio.toFixed(2));
  }
  return { found: [...new Set(found)], count };
})()`;

test('every control of every view has a role, a name and its state, and every text stands out', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels/c1?endpoint=Local/wait@default&app=desk&callerId=c1<201>&otherChannelId=other');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/c1/play/p1?media=tone:dial');
  await app.ok('POST', '/channels/c1/record?name=r1&format=wav');
  await app.ok('POST', '/channels/gone?endpoint=Local/gone@default&app=desk&otherChannelId=gone2').catch(() => {});
  const found: Record<string, string[]> = {};
  for (const dark of [false, true]) {
    const shown = await open({ dark });
    const main = shown.getByRole('main');
    for (const [place, sign] of [
      ['overview', 'Objects in memory'],
      ['calls', '201'],
      ['calls?stored=1', 'From'],
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
      if (place === 'calls/c1') {
        await isLit(shown, 'channel', 'up');
        await shown.getByRole('button', { name: 'Show all' }).click();
        await shown.getByRole('button', { name: 'Hang up', exact: true }).first().click();
        await shown.locator('.rung').first().click();
      }
      const { faults, count } = await treeOf(shown);
      const colours = await shown.evaluate<{ found: string[]; count: number }>(faint);
      assert.ok(count > 8 && colours.count > 8, `${place}: ${count} controls, ${colours.count} texts`);
      const all = [...faults, ...colours.found];
      if (all.length > 0) found[`${place}${dark ? ', dark' : ''}`] = all;
    }
    await shown.getByRole('button', { name: 'Log out' }).click();
    await shown.getByRole('button', { name: 'Log in' }).waitFor();
    const { faults } = await treeOf(shown);
    const colours = await shown.evaluate<{ found: string[] }>(faint);
    if (faults.length + colours.found.length > 0) found[`log-in ${dark}`] = [...faults, ...colours.found];
  }
  await app.ok('DELETE', '/channels/c1');
  assert.equal(found, {});
});

page.run();
