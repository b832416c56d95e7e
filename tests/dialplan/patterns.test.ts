import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compareSpecificity, matchesPattern, type Pattern, parsePattern } from '../../src/dialplan/patterns.ts';

const pattern = (text: string): Pattern => {
  const parsed = parsePattern(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};

const fits: [pattern: string, yes: string[], no: string[]][] = [
  ['_X.', ['10', '123', '1abc'], ['1', '', 'a1', '*12']],
  ['_X!', ['1', '12'], ['', 'a', '1\u007f']],
  ['_!', ['', 'anything'], []],
  ['_.', ['a', '1*#'], ['', '1&2', '1/2', '1@in', '1,2', '1(2', '1)', 'c^x^1', '1:2', '1\r\n2', '1\u0000', '1\u009b2']],
  ['_1[/]X.', ['1/234'], ['1/2/3', '1234']],
  ['_1@!', ['1@', '1@23'], ['1@2@3']],
  ['_NXX', ['200', '999'], ['100', '20', '2000']],
  ['_nxz', ['201', '999'], ['200', '101']],
  ['_Z', ['1', '9'], ['0', 'a']],
  ['_[15-7]X', ['10', '59', '60', '79'], ['20', '80', '1']],
  ['_[a-c1]', ['a', 'b', 'c', '1'], ['d', '-', '2']],
  ['_+49.', ['+4930'], ['4930', '+49']],
  ['_1-800-NXX', ['1800200'], ['1-800', '1800100']],
  ['_*9X', ['*91'], ['91', '*9a']],
];

for (const [text, yes, no] of fits)
  test(`${text} fits ${yes.join(' ') || 'nothing'} and not ${no.join(' ')}`, () => {
    assert.equal(
      yes.filter((each) => matchesPattern(pattern(text), each)),
      yes,
    );
    assert.equal(
      no.filter((each) => matchesPattern(pattern(text), each)),
      [],
    );
  });

for (const [order, texts] of [
  ['a digit before sets, smaller sets first', ['_1', '_[15]', '_N', '_Z', '_X', '_.', '_!']],
  ['place by place from the left', ['_1X.', '_1X', '_N1', '_X1']],
  ['the end of a pattern after everything', ['_12.', '_12!', '_12']],
] as const)
  test(`more specific patterns come first: ${order}`, () => {
    const sorted = [...texts].reverse().map(pattern).sort(compareSpecificity);
    assert.equal(
      sorted.map((each) => each.text),
      [...texts],
    );
  });

test('patterns that fit the same are equally specific, however they are written', () => {
  assert.is(compareSpecificity(pattern('_[2-9]x'), pattern('_N-X')), 0);
});

for (const [text, problem] of [
  ['_', 'matches nothing'],
  ['_--', 'matches nothing'],
  ['_[12', 'is not closed'],
  ['_[]1', 'a set is empty'],
  ['_[9-1]', 'runs backwards'],
  ['_X.5', 'nothing may follow'],
] as const)
  test(`the pattern ${text} is refused`, () => {
    assert.match(String(parsePattern(text)), problem);
  });

test('no text makes parsing or matching throw, and what is matched is decided', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, dialed) => {
      const parsed = parsePattern(`_${text}`);
      if (typeof parsed !== 'string') assert.type(matchesPattern(parsed, dialed), 'boolean');
    }),
  );
});

test('the order of patterns is the same from both sides', () => {
  const some = fc
    .string({ unit: fc.constantFrom('1', '2', 'X', 'N', 'Z', '[1-3]', '[24]'), minLength: 1, maxLength: 4 })
    .map((text) => pattern(`_${text}`));
  fc.assert(
    fc.property(some, some, (a, b) => {
      assert.is(Math.sign(compareSpecificity(a, b)) + Math.sign(compareSpecificity(b, a)), 0);
    }),
  );
});

test.run();
