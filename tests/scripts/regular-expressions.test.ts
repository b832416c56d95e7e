import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expressionsIn, problemOf } from '../../scripts/regular-expressions.ts';

test('every regular expression of a program is found, however it is written', () => {
  const program = `
    const literal = text.replace(/a+/gi, 'b') / 2 / 3;
    const made = [new RegExp('c+', 'm'), RegExp("d+")];
    const schema = Type.String({ pattern: '^e+$', description: '/no/' });
    // /nor this/
  `;
  assert.equal(expressionsIn(program), [
    { source: 'a+', flags: 'gi' },
    { source: 'c+', flags: 'm' },
    { source: 'd+', flags: '' },
    { source: '^e+$', flags: '' },
  ]);
});

test('what can take more time than its input is long is told, and what cannot be proved', () => {
  const quadratic = '2nd degree polynomial time';
  const verdicts: [RegExp, string | undefined][] = [
    [/[ \t]*:[ \t]*/, quadratic],
    [/^[0-9a-f:.]*:[0-9a-f:.]*$/i, quadratic],
    [/^\s*signal\s*=/im, quadratic],
    [/^(a+)+$/, 'exponential time'],
    [/^(["'])(.*)\1$/, 'not proved: unsupported'],
    [/^[^:]*:[^:]*$/, undefined],
    [/;\s*tag\s*=/i, undefined],
    [/\s*([a-z]+)\s*=\s*/y, undefined],
  ];
  assert.equal(
    verdicts.map(([{ source, flags }]) => problemOf({ source, flags })),
    verdicts.map(([, problem]) => problem),
  );
});

test.run();
