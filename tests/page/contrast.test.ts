import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** What is written can be read: WCAG 2.2, 1.4.3 (AA) of the colours that text and what lies behind it have. */
const contrast = suite('colours of the page');

const css = readFileSync(new URL('../../page/app.css', import.meta.url), 'utf8');
const colours = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', light = '', dark = '']) => [
    name,
    { light, dark },
  ]),
);

/** WCAG 2.2, relative luminance. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function ratio(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Text, and everything that it stands on. */
const written: Readonly<Record<string, readonly string[]>> = {
  ink: ['paper', 'card', 'sunk', 'brand-soft', 'lit-soft', 'past-soft'],
  quiet: ['paper', 'card', 'sunk'],
  brand: ['paper', 'card', 'sunk', 'brand-soft'],
  'on-brand': ['brand'],
  lit: ['card', 'paper', 'lit-soft'],
  good: ['card', 'good-soft'],
  bad: ['card', 'bad-soft'],
  past: ['card', 'past-soft'],
  sip: ['card'],
};

contrast('text stands out from what is behind it, in the light and in the dark', () => {
  const faint = Object.entries(written).flatMap(([text, grounds]) =>
    grounds.flatMap((ground) =>
      (['light', 'dark'] as const).flatMap((scheme) => {
        const [front, back] = [colours.get(text)?.[scheme], colours.get(ground)?.[scheme]];
        assert.ok(front && back, `${text} or ${ground} is no colour`);
        const found = ratio(front, back);
        return found >= 4.5 ? [] : [`${text} on ${ground}, ${scheme}: ${found.toFixed(2)}`];
      }),
    ),
  );
  assert.equal(faint, []);
});

contrast('a colour that is written again for one scheme, for canvases, is the same there', () => {
  const again = (['light', 'dark'] as const).flatMap((scheme) => {
    const [, block = ''] = new RegExp(`prefers-color-scheme: ${scheme}\\) \\{\\s*:root \\{([^}]*)`).exec(css) ?? [];
    return [...block.matchAll(/--([\w-]+): (#\w{6});/g)].map(([, name = '', value]) => ({ name, scheme, value }));
  });
  assert.ok(
    again.some(({ name }) => name === 'quiet'),
    'no colour is written again',
  );
  assert.equal(
    again.filter(({ name, scheme, value }) => colours.has(name) && colours.get(name)?.[scheme] !== value),
    [],
  );
});

contrast.run();
