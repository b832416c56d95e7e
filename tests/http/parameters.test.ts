import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyParam, type Params, pathParam, queryParam } from '../../src/http/operation.ts';
import {
  createParamReader,
  parsePairs,
  queryOf,
  readBoolean,
  readInteger,
  splitList,
} from '../../src/http/parameters.ts';
import { AriError } from '../../src/models/errors.ts';
import { anyCodePoint } from '../support/any-text.ts';

const parameters = suite('parameters');

const params: Params = {
  id: pathParam('id'),
  name: queryParam('string', 'name'),
  count: queryParam('int', 'count', { min: 0 }),
  far: queryParam('long', 'far'),
  flag: queryParam('boolean', 'flag'),
  eventSource: queryParam('list', 'sources'),
  offsetms: queryParam('int', 'offset', { aliases: ['offset'] }),
  variables: bodyParam('variables'),
};
const reader = createParamReader(params);

type Given = { query?: string; form?: string; json?: unknown; path?: Record<string, string> };
const read = ({ query, form, json, path = {} }: Given) =>
  reader(path, {
    query: query === undefined ? undefined : parsePairs(query),
    form: form === undefined ? undefined : parsePairs(form),
    json,
  });

const table: [what: string, given: Given, expected: Record<string, unknown>][] = [
  ['nothing gives nothing', {}, {}],
  ['a query is decoded, + is a space', { query: 'name=a+b%2Bc%20%C3%A9' }, { name: 'a b+c é' }],
  ['the last of a repeated name counts', { query: 'name=a&name=b' }, { name: 'b' }],
  ['a name without = is empty', { query: 'name' }, { name: '' }],
  ['unknown names are ignored', { query: 'other=1&__proto__=2', json: { constructor: 1 } }, {}],
  ['a broken percent sequence stays', { query: 'name=100%&flag=%ZZ' }, { name: '100%', flag: false }],
  ['bytes that are no UTF-8 are replaced', { query: 'name=%ff' }, { name: '\ufffd' }],
  ['the query wins over the form', { query: 'name=q', form: 'name=f&count=2' }, { name: 'q', count: 2 }],
  ['JSON wins over the query', { query: 'name=q&count=1', json: { name: 'j' } }, { name: 'j', count: 1 }],
  ['a JSON string of the wrong type is missing', { query: 'name=q', json: { name: 5 } }, {}],
  [
    'a JSON integer is taken',
    { json: { count: 7, far: 9_007_199_254_740_991 } },
    { count: 7, far: 9_007_199_254_740_991 },
  ],
  ['a JSON number that is no integer is 0', { json: { count: 1.5, far: '12' } }, { count: 0, far: 0 }],
  ['only a JSON true is true', { json: { flag: 1 } }, { flag: false }],
  ['a JSON true is true', { json: { flag: true } }, { flag: true }],
  ['integers are read as far as they go', { query: 'count=12ab&far=-5' }, { count: 12, far: -5 }],
  ['what is no integer is 0', { query: 'count=ab' }, { count: 0 }],
  [
    'integers stay within their bounds',
    { query: 'count=99999999999&far=-99999999999' },
    { count: 2147483647, far: -99999999999 },
  ],
  ['a list is split', { query: 'eventSource=a,b' }, { eventSource: ['a', 'b'] }],
  ['an empty list is one empty item', { query: 'eventSource=' }, { eventSource: [''] }],
  ['a JSON list is taken as it is', { json: { eventSource: ['a,b', ''] } }, { eventSource: ['a,b', ''] }],
  ['a JSON string is a list of one', { json: { eventSource: 'a,b' } }, { eventSource: ['a,b'] }],
  ['a JSON list of another kind is missing', { json: { eventSource: { a: 1 } } }, {}],
  ['an alias is taken', { query: 'offset=5' }, { offsetms: 5 }],
  ['the name wins over its alias', { query: 'offset=5&offsetms=6' }, { offsetms: 6 }],
  ['variables come as they are', { json: { variables: [1] } }, { variables: [1] }],
  ['variables do not come from the query', { query: 'variables=a' }, {}],
  ['a JSON body that is no object has no parameters', { json: ['name'] }, {}],
  ['the path is not overridden', { path: { id: 'p' }, query: 'id=q', form: 'id=f', json: { id: 'j' } }, { id: 'p' }],
];
parameters('names of things lose the spaces around them once, also those of variables in a body', () => {
  const named = createParamReader({
    channel: queryParam('list', 'ids', { names: 'channel' }),
    variables: { ...bodyParam('variables'), names: 'variables' },
  });
  const json = { variables: { ' A ': '1', B: { value: '2' } } };
  assert.equal(named({}, { query: parsePairs('channel=%20c1,c2%20'), form: undefined, json }), {
    channel: ['c1', 'c2'],
    variables: { A: '1', B: { value: '2' } },
  });
});

for (const [what, given, expected] of table) parameters(what, () => assert.equal(read(given), expected));

const refused = (given: Given): { code: string; message: string } => {
  try {
    read(given);
  } catch (error) {
    assert.instance(error, AriError);
    return { code: (error as AriError).code, message: (error as AriError).message };
  }
  return { code: '', message: '' };
};

parameters('127 items are taken, 128 are refused under the name in snake case', () => {
  const items = (count: number) => Array.from({ length: count }, () => 'x');
  assert.is((read({ query: `eventSource=${items(127).join(',')}` })['eventSource'] as string[]).length, 127);
  const expected = { code: 'tooManyValues', message: 'Too many values for event_source' };
  assert.equal(refused({ query: `eventSource=${items(128).join(',')}` }), expected);
  assert.equal(refused({ json: { eventSource: items(128) } }), expected);
});

parameters('a number below the smallest and a list of other things are refused by name', () => {
  assert.equal(refused({ query: 'count=-1' }), {
    code: 'parameterInvalid',
    message: "Parameter 'count' must be a whole number from 0",
  });
  assert.equal(refused({ json: { eventSource: ['a', 1] } }), {
    code: 'parameterInvalid',
    message: "Parameter 'eventSource' must be a list of strings",
  });
});

parameters('a whole body is the parameter itself', () => {
  const whole = createParamReader({ filter: bodyParam('filter', { whole: true }) });
  const given = (json: unknown) => whole({}, { query: undefined, form: undefined, json });
  assert.equal(given([1]), { filter: [1] });
  assert.equal(given(null), { filter: null });
  assert.equal(given(undefined), {});
});

const lists: [string, string[]][] = [
  ['', ['']],
  ['a', ['a']],
  ['a,', ['a', '']],
  [' a , b ', [' a ', ' b ']],
  ['"a,b",c', ['a,b', 'c']],
  ['f(a,b),c', ['f(a,b)', 'c']],
  ['f(a,[b,c],d),e', ['f(a,[b,c],d)', 'e']],
  ['a\\,b,c', ['a,b', 'c']],
  ['a\\', ['a\\']],
  ['a)b,c', ['a)b', 'c']],
  ['"a(",b', ['a(', 'b']],
];
for (const [list, items] of lists) {
  parameters(`the list ${JSON.stringify(list)} is split into ${items.length}`, () =>
    assert.equal(splitList(list), items),
  );
}

parameters('the words for true are known in any case', () => {
  for (const word of ['yes', 'TRUE', 'y', 'T', '1', 'On']) assert.ok(readBoolean(word), word);
  for (const word of ['', '0', 'no', 'false', '2', 'truee', ' true']) assert.not(readBoolean(word), word);
});

parameters('integers begin where text does', () => {
  const texts: [string, number][] = [
    [' +5', 5],
    ['-0', 0],
    ['', 0],
    ['0x10', 0],
    ['1e3', 1],
  ];
  for (const [text, expected] of texts) assert.is(readInteger(text, 'int') + 0, expected, text);
});

parameters('the query of a URL ends at the fragment', () => {
  assert.is(queryOf('http://x/a'), undefined);
  assert.is(queryOf('http://x/a?'), undefined);
  assert.equal(queryOf('http://x/a?b=c#d'), new Map([['b', 'c']]));
});

parameters('whatever is encoded is read back', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: anyCodePoint, minLength: 1 }), fc.string({ unit: anyCodePoint })),
      (pairs) => {
        const valid = Object.entries(pairs).every(([name, value]) => !/\p{Surrogate}/u.test(name + value));
        fc.pre(valid);
        assert.equal(parsePairs(new URLSearchParams(pairs).toString()), new Map(Object.entries(pairs)));
      },
    ),
  );
});

parameters('no text makes the reader throw anything but a refusal', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), fc.json(), (query, body) => {
      try {
        read({ query, json: JSON.parse(body) });
      } catch (error) {
        assert.instance(error, AriError);
      }
    }),
  );
});

parameters.run();
