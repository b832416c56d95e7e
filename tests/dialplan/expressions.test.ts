import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseSeconds, splitArguments } from '../../src/dialplan/arguments.ts';
import { calculate } from '../../src/dialplan/calculation.ts';
import { compile, expand, expandArguments, isConstant, longestText } from '../../src/dialplan/expressions.ts';
import { textFunctions, type Values } from '../../src/dialplan/text-functions.ts';

/** The value of `IF(…)`, as the dialplan has it. */
const textFunction = (name: string) => {
  const [, called = '', text = ''] = /^(\w+)\((.*)\)$/s.exec(name) ?? [];
  return textFunctions[called]?.(text, { value: () => '', now: 0 } as unknown as Values);
};

const values: Record<string, string> = {
  NAME: 'hookswitch',
  X: 'NAME',
  ONE: '1',
  COMMA: 'a,b',
  TRICK: '${NAME}',
  'LEN(abc)': '3',
  'CALLERID(num)': '+4930',
  'F(hookswitch,(x))': 'inner',
};

function expanded(text: string): { text: string; warnings: string[] } {
  const warnings: string[] = [];
  const scope = { value: (name: string) => values[name] ?? '', warn: (message: string) => void warnings.push(message) };
  return { text: expand(compile(text), scope), warnings };
}

for (const [text, result] of [
  ['', ''],
  ['plain $ text {}', 'plain $ text {}'],
  ['${NAME}', 'hookswitch'],
  ['a${NAME}b${ONE}', 'ahookswitchb1'],
  ['${UNSET}', ''],
  ['${${X}}', 'hookswitch'],
  ['${NAME:4}', 'switch'],
  ['${NAME:0:4}', 'hook'],
  ['${NAME:1:2}', 'oo'],
  ['${NAME:-3}', 'tch'],
  ['${NAME:-6:3}', 'swi'],
  ['${NAME:0:-6}', 'hook'],
  ['${NAME:4:-2}', 'swit'],
  ['${NAME:-99:2}', 'ho'],
  ['${NAME:99}', ''],
  ['${NAME:2:0}', ''],
  ['${NAME:8:-5}', ''],
  ['${NAME:${ONE}:${ONE}}', 'o'],
  ['${LEN(abc)}', '3'],
  ['${LEN(abc):0:1}', '3'],
  ['${CALLERID(num):1}', '4930'],
  ['${F(${NAME},(x))}', 'inner'],
  ['${TRICK}', '${NAME}'],
  ['$[1 + 2]', '3'],
  ['$["abc" =~ "b+"]', '1'],
  ['$["abc" : "b"]', '0'],
  ['$["abc123" : "([a-z]*)"]', 'abc'],
  ['$["4930" =~ "^49" & 1]', '2'],
  ['$["a" ~~ "b" ~~ c]', 'abc'],
  ['$[1 ? "this" :: "that"]', 'this'],
  ['$[0 ? 1 :: 0 ? 2 :: 3]', '3'],
  ['$[12:30 = 12:30]', '1'],
  ['$[${ONE} = 1]', '1'],
  ['$["${NAME}" = "hookswitch"]', '1'],
  ['x$[$[1 + 1] * 2]y', 'x4y'],
] as const)
  test(`${JSON.stringify(text)} expands to ${JSON.stringify(result)}`, () => {
    assert.equal(expanded(text), { text: result, warnings: [] });
  });

for (const text of ['${NAME', 'a${', '${${X}', '$[1 + 1', 'x$['])
  test(`${JSON.stringify(text)}, never closed, has a problem and stays text`, () => {
    assert.match(compile(text).problem ?? '', 'is not closed');
    assert.is(expanded(text).text, text);
  });

test('deeper nesting than any dialplan needs is refused', () => {
  const deep = `${'${'.repeat(100_000)}X${'}'.repeat(100_000)}`;
  assert.match(compile(deep).problem ?? '', 'more than 20 levels');
});

test('an expansion never grows beyond its longest text', () => {
  const warnings: string[] = [];
  const text = expand(compile('${A}${A}'), {
    value: () => 'x'.repeat(longestText - 1),
    warn: (message) => void warnings.push(message),
  });
  assert.is(text.length, longestText);
  assert.is(warnings.length, 1);
});

test('text without variables is constant', () => {
  assert.is(isConstant(compile('hello,$5')), true);
  assert.is(isConstant(compile('hello,${EXTEN}')), false);
});

for (const [text, result] of [
  ['1 + 2 * 3', '7'],
  ['(1 + 2) * 3', '9'],
  ['5-3', '2'],
  ['7 / 2', '3.5'],
  ['7 % 4', '3'],
  ['-2 + 5', '3'],
  ['1 = 1.0', '1'],
  ['abc = abc', '1'],
  ['abc != abd', '1'],
  ['10 > 9', '1'],
  ['b > a', '1'],
  ['2 <= 1', '0'],
  ['3 >= 3', '1'],
  ['"a b" = "a b"', '1'],
  ['"" = ""', '1'],
  ['0 | 5', '5'],
  ['7 | 5', '7'],
  ['1 & 0', '0'],
  ['4 & 5', '4'],
  ['!0', '1'],
  ['!(1 = 1)', '0'],
  ['1 = 1 & 2 = 2', '1'],
  ['x', 'x'],
] as const)
  test(`$[${text}] is ${result}`, () => {
    assert.is(calculate(text), result);
  });

for (const text of ['', '1 +', '= 1', '(1', '1)', '1 2', '1 / 0', 'a + 1', '"open'])
  test(`$[${text}] cannot be calculated`, () => {
    assert.is(calculate(text), undefined);
  });

for (const [text, result] of [
  ['', []],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  ['a, b', ['a', ' b']],
  ['a,', ['a', '']],
  [',', ['', '']],
  ['"a,b",c', ['a,b', 'c']],
  ['a\\,b,c', ['a,b', 'c']],
  ['a\\"b', ['a"b']],
  ['F(x,y),z', ['F(x,y)', 'z']],
  ['[1,2],3', ['[1,2]', '3']],
  ['"(",b', ['(', 'b']],
  ['a),b', ['a)', 'b']],
  ['"open,b', ['open,b']],
  ['end\\', ['end\\']],
] as const)
  test(`the arguments ${JSON.stringify(text)} are ${JSON.stringify(result)}`, () => {
    assert.equal(splitArguments(text), [...result]);
  });

for (const [text, ms] of [
  ['1', 1000],
  ['0.5', 500],
  ['.25', 250],
  [' 2. ', 2000],
  ['0', 0],
  ['', undefined],
  ['-1', undefined],
  ['1s', undefined],
  ['1e9', undefined],
] as const)
  test(`${JSON.stringify(text)} seconds are ${ms} ms`, () => {
    assert.is(parseSeconds(text), ms);
  });

const anything = fc.string({
  unit: fc.constantFrom('$', '{', '}', '[', ']', '(', ')', ':', '-', '1', 'X', ',', '"', '\\', ' '),
});

test('no text makes compiling, expanding, splitting or calculating throw', () => {
  fc.assert(
    fc.property(fc.oneof(anything, fc.string()), (text) => {
      assert.type(expanded(text).text, 'string');
      assert.ok(Array.isArray(splitArguments(text)));
      const result = calculate(text);
      assert.ok(result === undefined || typeof result === 'string');
    }),
    { numRuns: 500 },
  );
});

const argumentsOf = (text: string, held: Record<string, string> = values) =>
  expandArguments(compile(text), { value: (name) => held[name] ?? '', warn: () => {} });

test('what a variable holds adds no argument, and its quotes, brackets and backslashes stay', () => {
  assert.equal(argumentsOf('x,${COMMA},1'), { data: 'x,a,b,1', args: ['x', 'a,b', '1'] });
  assert.equal(argumentsOf('"${COMMA},c",${NAME:0:4}-$[1+1]'), { data: '"a,b,c",hook-2', args: ['a,b,c', 'hook-2'] });
  assert.equal(argumentsOf('${A},2', { A: '"(\\' }), { data: '"(\\,2', args: ['"(\\', '2'] });
});

test('a text that is one variable alone may hold all arguments', () => {
  assert.equal(argumentsOf(' ${COMMA} ').args, [' a', 'b ']);
  assert.equal(argumentsOf('').args, []);
});

test('as many arguments as are configured are there, whatever variables hold', () => {
  fc.assert(
    fc.property(fc.array(anything, { minLength: 2, maxLength: 5 }), (held) => {
      const text = held.map((_, at) => `\${V${at}}`).join(',');
      const found = argumentsOf(text, Object.fromEntries(held.map((value, at) => [`V${at}`, value])));
      assert.equal(found, { data: held.join(','), args: held });
    }),
    { numRuns: 500 },
  );
});

test('text without special characters splits and expands to itself', () => {
  const plain = fc.string({ unit: fc.constantFrom('a', '1', ' ', '&', ':', '.') });
  fc.assert(
    fc.property(fc.array(plain, { minLength: 2 }), (items) => {
      assert.equal(splitArguments(items.join(',')), items);
      assert.is(expanded(items.join(',')).text, items.join(','));
    }),
  );
});

test('what a variable holds in quotes is one word of a calculation, and in IF no branch of its own', () => {
  const held = (text: string, X: string) => {
    const { value } = { value: (name: string) => (name === 'X' ? X : (textFunction(name) ?? '')) };
    return expand(compile(text), { value, warn: assert.unreachable });
  };
  assert.is(held('$["${X}" = "100"]', '" | "1'), '0');
  assert.is(held('$["${X}" = "100"]', '100'), '1');
  assert.is(held('$["${X}" : ".*(.)$"]', 'a"b?'), '?');
  assert.is(held('$["a.b:c" =~ "${X}"]', '^a\\.b:(.)'), 'c');
  assert.is(held('$[${X}]', '1 + 2'), '3');
  assert.is(held('${IF($["${X}" = "1"]?yes:internal)}', '1"]?evil:'), 'internal');
  assert.is(held('${IF(0?${X}:internal)}', 'x:evil'), 'internal');
  assert.is(held('${IF(1?${X}:internal)}', 'a:b(c'), 'a:b(c');
  assert.is(held('${IF(${X}?here:there)}', '0?evil'), 'here');
  assert.is(held('${IF(${X})}', '0?a:b'), 'b');
});

test.run();
