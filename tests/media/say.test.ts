import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { characterSounds, digitSounds, numberSounds } from '../../src/media/say.ts';

const said = (text: string) =>
  numberSounds(text, 'en')
    ?.map((name) => name.replace('digits/', ''))
    .join(' ');

test('numbers are said as English says them', () => {
  const numbers = [
    '0',
    '7',
    '10',
    '19',
    '20',
    '21',
    '99',
    '100',
    '101',
    '115',
    '342',
    '1000',
    '1001',
    '12345',
    '1000000',
    '999999999',
  ];
  assert.equal(numbers.map(said), [
    '0',
    '7',
    '10',
    '19',
    '20',
    '20 1',
    '90 9',
    '1 hundred',
    '1 hundred 1',
    '1 hundred 15',
    '3 hundred 40 2',
    '1 thousand',
    '1 thousand 1',
    '12 thousand 3 hundred 40 5',
    '1 million',
    '9 hundred 90 9 million 9 hundred 90 9 thousand 9 hundred 90 9',
  ]);
});

test('negative numbers begin with minus', () => {
  assert.equal([said('-5'), said('-1200')], ['minus 5', 'minus 1 thousand 2 hundred']);
});

test('the leading integer counts; without one, or when it is too large, nothing can be said', () => {
  assert.equal([said('12abc'), said(' 42'), said('+3'), said('007')], ['12', '40 2', '3', '7']);
  assert.equal(['', 'abc', '-', '1000000000', '-9999999999'].map(said), new Array(5).fill(undefined));
});

test('a language without rules of its own is said in the order of English', () => {
  assert.equal(numberSounds('21', 'xx_YY'), ['digits/20', 'digits/1']);
});

test('digits, star, pound and minus are said, all else is skipped', () => {
  assert.equal(digitSounds('1-a2*#'), ['digits/1', 'digits/minus', 'digits/2', 'digits/star', 'digits/pound']);
});

test('characters have the names of Asterisk, in any case', () => {
  assert.equal(characterSounds('aZ0'), ['letters/a', 'letters/z', 'digits/0']);
  assert.equal(
    characterSounds('*#!@$-.=+/ ').map((name) => name.replace(/^letters\//, '')),
    [
      'digits/star',
      'digits/pound',
      'exclaimation-point',
      'at',
      'dollar',
      'dash',
      'dot',
      'equals',
      'plus',
      'slash',
      'space',
    ],
  );
  assert.equal(characterSounds('ü\u{1f600}'), []);
});

test.run();
