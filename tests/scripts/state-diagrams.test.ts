import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { setup } from 'xstate';
import { renderMermaid, renderPage } from '../../scripts/state-diagrams.ts';

type Event = { type: 'open' } | { type: 'close' } | { type: 'lock'; by: string } | { type: 'bolt.slid' };

const door = setup({
  types: {
    context: {} as { by: string },
    events: {} as Event,
    emitted: {} as { type: 'Opened' } | { type: 'Locked'; by: string },
    meta: {} as { ari: string },
  },
  actions: { slideBolt: () => {}, squeak: () => {} },
  guards: { isOiled: () => true },
  delays: { closeTimeout: 1_000, patience: () => 5 },
});

const flat = door.createMachine({
  id: 'door',
  context: { by: '' },
  initial: 'closed',
  states: {
    closed: {
      meta: { ari: 'Shut' },
      on: {
        open: [
          { guard: 'isOiled', target: 'open' },
          { target: 'open', actions: 'squeak' },
        ],
        lock: { actions: [door.assign(({ event }) => ({ by: (event as { by: string }).by })), 'slideBolt'] },
        'bolt.slid': 'locked',
      },
    },
    open: {
      entry: door.emit({ type: 'Opened' }),
      exit: 'squeak',
      on: { close: 'closed', lock: {} },
      after: { closeTimeout: 'closed' },
    },
    locked: { type: 'final', entry: door.emit(({ context }) => ({ type: 'Locked', by: context.by })) },
  },
});

const parallel = door.createMachine({
  id: 'gate',
  context: { by: '' },
  type: 'parallel',
  on: { 'bolt.slid': { actions: 'squeak' } },
  states: {
    leaf: {
      initial: 'closed',
      states: { closed: { on: { open: 'open' } }, open: { always: { guard: 'isOiled', target: 'closed' } } },
    },
    lamp: { initial: 'off', states: { off: { on: { open: 'lit' } }, lit: {} } },
  },
});

test('a chart becomes a Mermaid diagram with guards, effects, facts, delays and ends', () => {
  assert.equal(renderMermaid(flat), [
    'stateDiagram-v2',
    '  [*] --> closed',
    '  state "closed" as closed',
    '  closed --> open : open [isOiled]',
    '  closed --> open : open / squeak',
    '  closed : lock / slideBolt',
    '  closed --> locked : bolt.slid',
    '  state "open" as open',
    '  open --> closed : close',
    '  open : lock',
    '  open --> closed : after closeTimeout',
    '  state "locked" as locked',
    '  locked --> [*]',
  ]);
});

test('regions of a parallel chart stand side by side, states nest, and always is a word', () => {
  assert.equal(renderMermaid(parallel), [
    'stateDiagram-v2',
    '  state "gate" as gate {',
    '    state "leaf" as leaf {',
    '      [*] --> leaf_closed',
    '      state "closed" as leaf_closed',
    '      leaf_closed --> leaf_open : open',
    '      state "open" as leaf_open',
    '      leaf_open --> leaf_closed : always [isOiled]',
    '    }',
    '    --',
    '    state "lamp" as lamp {',
    '      [*] --> lamp_off',
    '      state "off" as lamp_off',
    '      lamp_off --> lamp_lit : open',
    '      state "lit" as lamp_lit',
    '    }',
    '  }',
  ]);
});

/** The page's lines that begin with one of these. */
const linesOf = (page: string, ...starts: string[]) =>
  page.split('\n').filter((line) => starts.some((start) => line.startsWith(start)));

test('a diagram page lists for each state what clients see, what events do, and its facts and effects', () => {
  const ignores = [
    { events: ['open', 'lock'], in: ['open'], why: 'it is open' },
    { events: ['close'], why: 'it is closed' },
  ];
  const page = renderPage({ noun: 'door', machine: flat, file: 'src/machines/door.ts', refusals: [], ignores });
  assert.equal(linesOf(page, '# ', 'Generated', '## '), [
    '# Door',
    'Generated from `src/machines/door.ts` by `npm run diagrams`; do not edit.',
    '## States',
    '## What each command and report does in each state',
    '## Delays',
    '## Facts',
    '## Effects',
  ]);
  assert.equal(linesOf(page, '| '), [
    '| State | Kind | Seen by clients | On entry | On exit |',
    '| --- | --- | --- | --- | --- |',
    '| `closed` | atomic | ari: Shut |  |  |',
    '| `open` | atomic |  | _Opened_ | `squeak` |',
    '| `locked` | final |  | _Locked_ |  |',
    '| Command | `closed` | `open` |',
    '| --- | --- | --- |',
    '| `open` | [isOiled] → `open`; → `open` / `squeak` | — 1 |',
    '| `lock` | `slideBolt` | — 1 |',
    '| `close` | — 2 | → `closed` |',
    '| Report | `closed` | `open` |',
    '| --- | --- | --- |',
    '| `bolt.slid` | → `locked` | ? |',
    '| Delay | Time |',
    '| --- | --- |',
    '| `closeTimeout` | 1000 ms |',
    '| `patience` | decided when it starts |',
    '| Fact | When |',
    '| --- | --- |',
    '| `Opened` | entering `open` |',
    '| `Locked` | entering `locked` |',
    '| Effect | When |',
    '| --- | --- |',
    '| `squeak` | `closed` open, leaving `open` |',
    '| `slideBolt` | `closed` lock |',
  ]);
  assert.equal(linesOf(page, 'Ignored', '1. ', '2. '), ['Ignored, because', '1. it is open', '2. it is closed']);
});

test('refusals stand in the region that decides them, and as sometimes where the object decides', () => {
  type Look = { value: { leaf: string; lamp: string } };
  const refusals = [
    {
      name: 'refuseGateOperation',
      commands: ['open', 'close', 'paint'],
      refuse: ((snapshot: Look, command: string) => {
        if (snapshot.value.lamp === 'off') return 'tooDark';
        if (command === 'open' && snapshot.value.leaf === 'open') return 'isOpen';
        return undefined;
      }) as never,
    },
  ];
  const page = renderPage({
    noun: 'gate',
    machine: parallel,
    file: 'x.ts',
    refusals,
    ignores: [{ events: ['open'], why: 'it shines' }],
  });
  assert.equal(linesOf(page, '###', '| Command', '| `open` |', '| `paint` |', '| `close` |', '| `bolt'), [
    '### In every state',
    '| `bolt.slid` | `squeak` |',
    '### In `leaf`',
    '| Command | `closed` | `open` |',
    '| `open` | → `open` | **isOpen** |',
    '### In `lamp`',
    '| Command | `off` | `lit` |',
    '| `open` | **tooDark** | — 1 |',
    '| `close` | **tooDark** | allowed |',
    '| `paint` | **tooDark** | allowed |',
  ]);
});

test.run();
