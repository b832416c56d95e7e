import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { setup } from 'xstate';
import { descendants, ignoredBy, isInState } from '../../scripts/charts.ts';
import { type ChartPage, chartPages, decisions } from '../../scripts/state-diagrams.ts';

/** Every event that a chart knows is decided in every state: handled, refused, or ignored for a reason. */

const undecided = (page: ChartPage): string[] =>
  decisions(page)
    .filter(({ decision }) => decision.type === 'undecided')
    .map(
      ({ leaf, event }) => `${page.noun}: ${event} in ${leaf.path.join('.')} is neither handled, refused nor ignored`,
    );

/** What of a list of ignored events decides nothing: the event is handled there, or there is no such event or state. */
const needless = (page: ChartPage): string[] =>
  page.ignores.flatMap((entry) => {
    const used = decisions(page).filter(
      ({ leaf, event, decision }) => decision.type === 'ignored' && ignoredBy(leaf, event, page.ignores) === entry,
    );
    const events = entry.events.filter((event) => !used.some((each) => each.event === event));
    const states = (entry.in ?? []).filter((state) => !used.some(({ leaf }) => isInState(leaf, state)));
    return [...events, ...states].map((name) => `${page.noun}: ${name} is nowhere ignored because ${entry.why}`);
  });

const pages = await chartPages();

test('there are charts to look at', () => {
  assert.ok(pages.length >= 7);
  for (const { machine } of pages) assert.ok(descendants(machine.root).length > 1);
});

for (const page of pages) {
  test(`${page.noun}: every event is decided in every state`, () => {
    assert.equal(undecided(page), []);
  });

  test(`${page.noun}: whatever is said to be ignored is ignored there, and for that reason`, () => {
    assert.equal(needless(page), []);
  });
}

const lamp = setup({
  types: { events: {} as { type: 'turn' } | { type: 'break' } | { type: 'remove' } },
}).createMachine({
  id: 'lamp',
  initial: 'dark',
  on: { remove: '.removed' },
  states: {
    dark: { on: { turn: 'lit', break: {} } },
    lit: { initial: 'dim', states: { dim: { on: { turn: 'bright' } }, bright: {} } },
    removed: { type: 'final' },
  },
});
const page = { noun: 'lamp', machine: lamp, file: 'lamp.ts', refusals: [] };

test('what nobody has decided is found, state by state; an empty transition decides nothing', () => {
  assert.equal(undecided({ ...page, ignores: [] }), [
    'lamp: break in dark is neither handled, refused nor ignored',
    'lamp: break in lit.dim is neither handled, refused nor ignored',
    'lamp: turn in lit.bright is neither handled, refused nor ignored',
    'lamp: break in lit.bright is neither handled, refused nor ignored',
  ]);
  const refuse = (_: never, { type }: { type: string }) => (type === 'break' ? 'lampInvalidState' : undefined);
  const refusals = [{ name: 'refuseLampCommand', refuse: refuse as never, commands: ['break'] }];
  const ignores = [{ events: ['turn'], in: ['lit.bright'], why: 'it is as bright as can be' }];
  assert.equal(undecided({ ...page, refusals, ignores }), []);
});

test('what is ignored without need is found', () => {
  const ignores = [
    { events: ['turn', 'smash'], in: ['lit', 'gone'], why: 'it shines' },
    { events: ['break'], why: 'it is made of steel' },
    { events: ['break'], in: ['dark'], why: 'it cannot be seen' },
  ];
  assert.equal(needless({ ...page, ignores }), [
    'lamp: smash is nowhere ignored because it shines',
    'lamp: gone is nowhere ignored because it shines',
    'lamp: break is nowhere ignored because it cannot be seen',
    'lamp: dark is nowhere ignored because it cannot be seen',
  ]);
});

test.run();
