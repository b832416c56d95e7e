import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { type Attribute, createDynamicConfig, type DynamicConfigOptions } from '../../src/stores/dynamic-config.ts';
import { createRecordingLog, type LoggedLine } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

const text: Attribute = { initial: '', read: (given) => given };
const list: Attribute = {
  initial: 'x',
  read: (given, before, again) => (given === 'bad' ? undefined : again ? `${before},${given}` : given),
};
const types: DynamicConfigOptions['types'] = {
  phone: {
    isId: (id) => !id.includes(' '),
    check: ({ list: items }) => (items === '' ? 'the list is empty; expected at least one entry' : undefined),
    attributes: {
      colour: { ...text, initial: 'grey' },
      list,
      less: { initial: '', changes: 'list', read: () => '' },
      pin: { ...text, secret: true },
    },
  },
};
const fixed = { phone: [{ id: 'Desk', values: { colour: 'black', list: 'y', pin: '1' } }] };

type World = {
  directory: string;
  lines: LoggedLine[];
  changes: string[];
  /** Closed after the test. */
  open: ReturnType<typeof createDynamicConfig>[];
  make(refuses?: DynamicConfigOptions['refuses']): ReturnType<typeof createDynamicConfig>;
};

const config = suite<World>('dynamic configuration');

config.before.each((world) => {
  const { log, lines } = createRecordingLog();
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const changes: string[] = [];
  const onChanged = (type: string, id: string) => void changes.push(`${type} ${id}`);
  const make: World['make'] = (refuses) => {
    const made = createDynamicConfig({
      directory,
      clock: systemClock,
      log,
      configClass: 'res_pjsip',
      types,
      fixed,
      onChanged,
      ...(refuses && { refuses }),
    });
    open.push(made);
    return made;
  };
  const open: ReturnType<typeof createDynamicConfig>[] = [];
  Object.assign(world, { directory, lines, changes, make, open });
});
config.after.each(async ({ directory, open }) => {
  await Promise.all(open.map((each) => each.close()));
  rmSync(directory, { recursive: true, force: true });
});

const of = (colour: string, items: string) => [
  { attribute: 'colour', value: colour },
  { attribute: 'list', value: items },
];
const field = (attribute: string, value: unknown) => ({ attribute, value });

config(
  'an object is made with what is not said as usual, changed, shown without secrets, and removed',
  async ({ make, changes }) => {
    const objects = make();
    assert.equal(await objects.update('res_pjsip', 'phone', 'hall', undefined), of('grey', 'x'));
    const fields = [field('colour', 'red'), field('pin', '1234')];
    assert.equal(await objects.update('res_pjsip', 'phone', 'hall', fields), of('red', 'x'));
    assert.equal(objects.get('res_pjsip', 'phone', 'HALL'), of('red', 'x'));
    assert.equal(objects.find('phone', 'hall')?.values, { colour: 'red', list: 'x', pin: '1234' });
    objects.update('res_pjsip', 'phone', 'Hall', [field('colour', 'blue')]);
    assert.equal(
      objects.made('phone').map(({ id, values }) => [id, values['pin']]),
      [['hall', '1234']],
    );
    objects.delete('res_pjsip', 'phone', 'hall');
    assert.is(objects.find('phone', 'hall'), undefined);
    assert.equal(changes, ['phone hall', 'phone hall', 'phone hall', 'phone hall']);
  },
);

config('fields are taken in their order, a repeated one and one that changes another included', async ({ make }) => {
  const objects = make();
  const twice = [field('list', 'a'), field('list', 'b')];
  assert.equal(await objects.update('res_pjsip', 'phone', 'hall', twice), of('grey', 'a,b'));
  const anew = [field('less', 'all'), field('list', 'c')];
  assert.equal(await objects.update('res_pjsip', 'phone', 'hall', anew), of('grey', ',c'));
});

config('what is not there is 404, in the order of class, kind and object', ({ make }) => {
  const objects = make();
  for (const run of ['get', 'delete'] as const) {
    assert.equal(
      refusal(() => objects[run]('res_other', 'car', 'x')),
      [404, "configClass 'res_other' not found"],
    );
    assert.equal(
      refusal(() => objects[run]('res_pjsip', 'car', 'x')),
      [404, "objectType 'car' not found"],
    );
    assert.equal(
      refusal(() => objects[run]('res_pjsip', 'toString', 'x')),
      [404, "objectType 'toString' not found"],
    );
    assert.equal(
      refusal(() => objects[run]('res_pjsip', 'phone', 'x')),
      [404, "Object with id 'x' not found"],
    );
  }
  const update = (configClass: string, type: string) => refusal(() => objects.update(configClass, type, 'x', []));
  assert.equal(update('res_other', 'phone'), [404, "configClass 'res_other' not found"]);
  assert.equal(update('res_pjsip', 'car'), [404, "objectType 'car' not found"]);
});

const noField = 'a field is not of the form {"attribute", "value"}';
const wrong: readonly [what: string, fields: unknown, told: string][] = [
  ['no list', { colour: 'red' }, 'the fields are no list'],
  ['an unknown attribute', [field('size', '1')], 'there is no attribute size'],
  ['an attribute that every object has', [field('constructor', '1')], 'there is no attribute constructor'],
  ['a value that makes no sense', [field('colour', 'red'), field('list', 'bad')], 'list cannot be so'],
  ['a value that is no text', [field('colour', 7)], noField],
  ['an entry that is no field', ['colour'], noField],
  ['an entry that is nothing', [null], noField],
  ['values that do not go together', [field('less', 'all')], 'the list is empty; expected at least one entry'],
];
for (const [what, fields, told] of wrong)
  config(`${what} is refused as a whole`, ({ make, changes }) => {
    const objects = make();
    const put = () => refusal(() => objects.update('res_pjsip', 'phone', 'hall', fields));
    assert.equal(put(), [400, `Creation of object 'hall' failed field value validation: ${told}`]);
    assert.is(objects.find('phone', 'hall'), undefined);
    objects.update('res_pjsip', 'phone', 'hall', [field('colour', 'blue')]);
    assert.equal(put(), [400, `Update of object 'hall' failed field value validation: ${told}`]);
    assert.is(objects.find('phone', 'hall')?.values['colour'], 'blue');
    assert.is(changes.length, 1);
  });

config(
  'an id that cannot be, and what somebody else objects to, are refused with a word in the log',
  ({ make, lines }) => {
    const objects = make((_type, { values }) => (values['colour'] === 'red' ? 'red is taken' : undefined));
    const put = (id: string, fields: unknown) => refusal(() => objects.update('res_pjsip', 'phone', id, fields));
    assert.equal(put('a b', []), [
      400,
      "Creation of object 'a b' failed field value validation: nothing can have that id",
    ]);
    assert.equal(put('a', [field('colour', 'red')]), [
      400,
      "Creation of object 'a' failed field value validation: red is taken",
    ]);
    assert.equal(
      lines.map(({ fields }) => fields['problem']),
      ['nothing can have that id', 'red is taken'],
    );
  },
);

config('an object that is there needs fields to be changed', ({ make }) => {
  const objects = make();
  objects.update('res_pjsip', 'phone', 'hall', undefined);
  const put = (fields: unknown) => refusal(() => objects.update('res_pjsip', 'phone', 'hall', fields));
  assert.equal(put(undefined), [400, "Fields must be provided to update object 'hall'"]);
  assert.equal(put(null), [400, "Fields must be provided to update object 'hall'"]);
  assert.is(put([]), undefined);
});

config('what stands in the configuration file can be read, and nothing else, whatever its case', ({ make }) => {
  const objects = make();
  assert.equal(objects.get('res_pjsip', 'phone', 'desk'), of('black', 'y'));
  const put = (fields: unknown) => refusal(() => objects.update('res_pjsip', 'phone', 'desk', fields));
  assert.equal(put(undefined), [400, "Fields must be provided to update object 'desk'"]);
  assert.equal(put([field('size', '')]), [
    400,
    "Update of object 'desk' failed field value validation: there is no attribute size",
  ]);
  assert.equal(put([field('colour', 'red')]), [403, "Cannot update sorcery objects of type 'phone'"]);
  assert.equal(
    refusal(() => objects.delete('res_pjsip', 'phone', 'desk')),
    [403, "Could not delete object with id 'desk'"],
  );
  assert.equal(objects.made('phone'), []);
});

config('objects come back after a restart, from a file that only we may read', async ({ make, directory, lines }) => {
  const objects = make();
  objects.update('res_pjsip', 'phone', 'hall', [field('pin', '1234')]);
  objects.update('res_pjsip', 'phone', 'gone', undefined);
  objects.delete('res_pjsip', 'phone', 'gone');
  await objects.close();
  const file = join(directory, 'dynamic-config.json');
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.is(make().find('phone', 'hall')?.values['pin'], '1234');
  assert.is(make().made('phone').length, 1);

  const kept = JSON.parse(readFileSync(file, 'utf8')) as object[];
  const more = [
    { type: 'phone', id: 'desk', values: {} },
    { type: 'car', id: 'x', values: {} },
    { type: 'phone', id: 'old', values: {} },
  ];
  writeFileSync(file, JSON.stringify([...kept, ...more]));
  const after = make();
  assert.is(after.find('phone', 'desk')?.values['colour'], 'black');
  assert.equal(after.find('phone', 'old')?.values, { colour: 'grey', list: 'x', pin: '' });
  assert.equal(
    after.made('phone').map(({ id }) => id),
    ['hall', 'old'],
  );
  assert.equal(
    lines.map(({ level, message }) => [level, message]),
    [['warn', 'the configuration file replaces an object created at run time']],
  );
});

config('a file that makes no sense is told, and nothing of it taken', ({ make, directory, lines }) => {
  for (const broken of ['{}', '[{"type":"phone","id":"a","values":{"colour":1}}]', '[{"id":"a"}]', '[nul']) {
    writeFileSync(join(directory, 'dynamic-config.json'), broken);
    assert.equal(make().made('phone'), []);
  }
  assert.equal(
    lines.map(({ level }) => level),
    ['error', 'error', 'error', 'error'],
  );
});

config.run();
