import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import {
  type Actions,
  type Decision,
  decisionOf,
  descendants,
  eventName,
  eventTypesOf,
  type Handling,
  handlingOf,
  type Ignored,
  isTransient,
  leavesOf,
  readActions,
  readTransition,
  regionsOf,
  transitionsOf,
} from './charts.ts';
import { importFile } from './compiled.ts';

/**
 * Writes docs/state-diagrams/<noun>.md from the charts in src/machines: diagram, states, what each command does in
 * each state, facts and effects. With --check nothing is written, and a page that is not up to date is an error.
 */

/** Why a command is refused in a state; undefined when it is not. */
export type Refuse = (snapshot: never, command: never) => string | undefined;

export type ChartPage = {
  noun: string;
  machine: AnyStateMachine;
  /** The file that declares it, for the note at the top. */
  file: string;
  /** The refusals of the file, when it has any. */
  refusals: readonly { name: string; refuse: Refuse; commands: readonly string[] }[];
  /** What the chart ignores, and why. */
  ignores: readonly Ignored[];
};

/** What becomes of an event in one state at a time of a chart. */
export type Decided = { region: AnyStateNode; leaf: AnyStateNode; event: string; decision: Decision };

/** Every event, and every operation that may be refused, in every state that one can arrive in. */
export function decisions({ noun, machine, refusals, ignores }: ChartPage): Decided[] {
  const events = [...new Set([...eventTypesOf(machine), ...refusals.flatMap(({ commands }) => commands)])];
  const regions = regionsOf(machine.root);
  return regions.flatMap((region) => {
    const all = restingLeaves(region).flatMap((leaf) =>
      events.map((event): Decided => {
        const refused = whyRefused(noun, machine, refusals, leaf, event);
        return { region, leaf, event, decision: decisionOf(leaf, event, { region, machine, ignores, refused }) };
      }),
    );
    if (regions.length === 1) return all;
    // One of several regions decides what it knows; what it does not know is another region's matter.
    const known = all.filter(({ decision: { type } }) => type === 'handled' || type === 'refused');
    return all.filter(({ event }) => known.some((each) => each.event === event));
  });
}

/** The states of a region in which an event can arrive. */
const restingLeaves = (region: AnyStateNode): AnyStateNode[] => {
  const inner = regionsOf(region).slice(1);
  return leavesOf(region).filter(
    (leaf) => leaf.type !== 'final' && !isTransient(leaf) && !inner.some((each) => isWithin(leaf, each)),
  );
};

/** Parts of the context that refusals look at; a refusal that depends on them is shown as `sometimes`. */
const contexts: Readonly<Record<string, readonly object[]>> = {
  channel: [{ origin: 'created' }, { origin: 'incoming' }],
};

/** The whole page. */
export function renderPage(page: ChartPage): string {
  const { noun, machine, file, refusals } = page;
  const regions = regionsOf(machine.root);
  const events = eventTypesOf(machine);
  const isReport = (type: string) => type.includes('.');
  const commands = [
    ...new Set([...events.filter((type) => !isReport(type)), ...refusals.flatMap((each) => each.commands)]),
  ];
  const decided = decisions(page);
  const reasons = [...new Set(page.ignores.map(({ why }) => why))];
  const tables = regions.flatMap((region) => {
    const here = decided.filter((each) => each.region === region);
    return [
      ...(regions.length > 1 ? [`### In ${code(nameOf(region) || machine.id)}`, ''] : []),
      ...eventTable('Command', commands, here, reasons),
      ...eventTable('Report', events.filter(isReport), here, reasons),
    ];
  });
  return [
    `# ${noun[0]!.toUpperCase()}${noun.slice(1).replaceAll('-', ' ')}`,
    '',
    `Generated from \`${file}\` by \`npm run diagrams\`; do not edit.`,
    '',
    '```mermaid',
    ...renderMermaid(machine),
    '```',
    '',
    '## States',
    '',
    ...stateTable(machine),
    '## What each command and report does in each state',
    '',
    '`→` names the next state. Words after `/` are effects. Words in _italics_ are facts.',
    ...(reasons.length > 0 ? ['`—` means ignored. Its number leads to the reason below.'] : []),
    ...(refusals.length > 0
      ? [
          '**Bold** is the error that a client gets instead. `sometimes` depends on the object, not on its state.',
          '`allowed` is accepted, and changes nothing in this chart.',
        ]
      : []),
    '',
    ...everywhereTable(machine, events),
    ...tables,
    ...(reasons.length > 0 ? ['Ignored, because', '', ...reasons.map((why, index) => `${index + 1}. ${why}`), ''] : []),
    ...delayTable(machine),
    ...whereTable('Facts', 'Fact', machine, ({ facts }) => facts),
    ...whereTable('Effects', 'Effect', machine, ({ effects }) => effects),
  ].join('\n');
}

/** The chart as a Mermaid state diagram, line by line. */
export function renderMermaid(machine: AnyStateMachine): string[] {
  const { root } = machine;
  const body = renderChildren(root, machine, root.type === 'parallel' ? 2 : 1);
  const outer = renderOwn(root, machine, 1).filter((line) => line.includes('-->'));
  if (root.type !== 'parallel') return ['stateDiagram-v2', ...body, ...outer];
  return ['stateDiagram-v2', `  state "${machine.id}" as ${idOf(root)} {`, ...body, '  }', ...outer];
}

function renderChildren(node: AnyStateNode, machine: AnyStateMachine, depth: number): string[] {
  const pad = '  '.repeat(depth);
  const initial = node.type === 'compound' ? node.initial.target[0] : undefined;
  const lines = initial ? [`${pad}[*] --> ${idOf(initial)}`] : [];
  for (const [index, child] of Object.values(node.states).entries()) {
    if (node.type === 'parallel' && index > 0) lines.push(`${pad}--`);
    lines.push(`${pad}state "${child.key}" as ${idOf(child)}`);
    if (Object.keys(child.states).length > 0) {
      lines[lines.length - 1] += ' {';
      lines.push(...renderChildren(child, machine, depth + 1), `${pad}}`);
    }
    lines.push(...renderOwn(child, machine, depth));
    if (child.type === 'final') lines.push(`${pad}${idOf(child)} --> [*]`);
  }
  return lines;
}

function renderOwn(node: AnyStateNode, machine: AnyStateMachine, depth: number): string[] {
  const pad = '  '.repeat(depth);
  return transitionsOf(node).flatMap((transition) => {
    const handling = readTransition(transition, machine);
    const label = plainLabel(eventName(transition.eventType), handling);
    if (handling.targets.length === 0) return [`${pad}${idOf(node)} : ${label}`];
    return handling.targets.map((target) => `${pad}${idOf(node)} --> ${idOf(target)} : ${label}`);
  });
}

/** `event [guard] / effects, facts`. */
function plainLabel(event: string, { guard, effects, facts, raised }: Handling): string {
  const done = [...effects, ...facts, ...raised.map((type) => `raise ${type}`)];
  return `${event}${guard && ` [${guard}]`}${done.length > 0 ? ` / ${done.join(', ')}` : ''}`.replaceAll(
    /[;#{}]/g,
    ' ',
  );
}

function stateTable(machine: AnyStateMachine): string[] {
  const nodes = descendants(machine.root);
  const rows = nodes.map((node) => {
    const { entry, exit } = { entry: describeActions(node.entry, machine), exit: describeActions(node.exit, machine) };
    const meta = Object.entries((node.meta ?? {}) as Record<string, unknown>).map(([key, value]) => `${key}: ${value}`);
    return [code(nameOf(node)), node.type, meta.join(', '), entry, exit, node.description ?? ''];
  });
  return table(['State', 'Kind', 'Seen by clients', 'On entry', 'On exit', ''], rows);
}

/** What is handled on the chart itself, whatever the states: only for charts whose regions leave it to the chart. */
function everywhereTable(machine: AnyStateMachine, events: readonly string[]): string[] {
  if (machine.root.type !== 'parallel') return [];
  const rows = events
    .map((type) => [type, handlingOf(machine.root, type, machine.root, machine)] as const)
    .filter(([, handling]) => handling)
    .map(([type, handling]) => [code(type), describeHandling(handling!)]);
  return rows.length > 0 ? ['### In every state', '', ...table(['Event', 'What happens'], rows)] : [];
}

function eventTable(
  title: string,
  types: readonly string[],
  decided: readonly Decided[],
  reasons: readonly string[],
): string[] {
  const leaves = [...new Set(decided.map(({ leaf }) => leaf))];
  const found = new Map(decided.map(({ leaf, event, decision }) => [`${leaf.id} ${event}`, decision]));
  const rows = types
    .filter((type) => decided.some(({ event }) => event === type))
    .map((type) => [
      code(type),
      ...leaves.map((leaf) => describeDecision(found.get(`${leaf.id} ${type}`) ?? { type: 'undecided' }, reasons)),
    ]);
  return rows.length > 0 ? table([title, ...leaves.map((leaf) => code(leaf.key))], rows) : [];
}

const sometimes = ({ refused }: { refused?: string }): string => (refused === undefined ? '' : ` · ${refused}`);

function describeDecision(decision: Decision, reasons: readonly string[]): string {
  switch (decision.type) {
    case 'handled':
      return `${describeHandling(decision.handling)}${sometimes(decision)}`;
    case 'refused':
      return decision.error;
    case 'allowed':
      return 'allowed';
    case 'ignored':
      return `— ${reasons.indexOf(decision.why) + 1}${sometimes(decision)}`;
    case 'undecided':
      return '?';
  }
}

const isWithin = (node: AnyStateNode, region: AnyStateNode): boolean =>
  node === region || (node.parent !== undefined && isWithin(node.parent, region));

function describeHandling(alternatives: readonly Handling[]): string {
  const words = alternatives.map((handling) => {
    const { guard, targets, effects, facts, raised, keeps } = handling;
    const done = [
      ...effects.map(code),
      ...facts.map((fact) => `_${fact}_`),
      ...raised.map((type) => `raise ${code(type)}`),
    ];
    const target = targets.map((node) => `→ ${code(node.key)}`).join(' ');
    const what = [target, done.join(', ')].filter(Boolean).join(' / ');
    return `${guard ? `[${guard}] ` : ''}${what || (keeps ? 'noted' : 'ignored')}`;
  });
  return words.join('; ');
}

/**
 * The error a client is given in this state. A state of a parallel chart is looked at together with every state of the
 * other regions: what is refused with all of them is refused by this one.
 */
function whyRefused(
  noun: string,
  machine: AnyStateMachine,
  refusals: ChartPage['refusals'],
  leaf: AnyStateNode,
  command: string,
): string | undefined {
  const refusal = refusals.find(({ commands }) => commands.includes(command));
  if (!refusal) return undefined;
  const given = refusal.name.endsWith('Operation') ? command : { type: command };
  const samples = contexts[noun] ?? [{}];
  /** The errors of a state for one context, `undefined` among them when some combination is not refused. */
  const errorsIn = (node: AnyStateNode, context: object) =>
    valuesWith(machine.root, node).map((value) =>
      refusal.refuse(machine.resolveState({ value, context } as never) as never, given as never),
    );
  const always = samples.map((context) => errorsIn(leaf, context)).filter((errors) => !errors.includes(undefined));
  if (always.length === 0) return undefined;
  // An error that comes and goes with the states of another region is decided there, and shown there.
  const siblings = Object.values(leaf.parent?.states ?? {});
  const elsewhere = samples
    .flatMap((context) => siblings.map((node) => errorsIn(node, context)))
    .filter((errors) => errors.includes(undefined))
    .flat();
  const own = [...new Set(always.flat())].filter((error) => !elsewhere.includes(error));
  return `**${own.join(' or ')}**${always.length < samples.length ? ' sometimes' : ''}`;
}

type StateValue = string | { [key: string]: StateValue };

/** Every value of the chart in which `leaf` is active; in regions that do not hold it, any state. */
function valuesWith(node: AnyStateNode, leaf: AnyStateNode): StateValue[] {
  const children = Object.values(node.states);
  if (children.length === 0) return [{}];
  if (node.type === 'parallel')
    return children.reduce<StateValue[]>(
      (values, child) =>
        values.flatMap((value) =>
          valuesWith(child, leaf).map((inner) => ({ ...(value as object), [child.key]: inner })),
        ),
      [{}],
    );
  const holding = children.filter((child) => isWithin(leaf, child));
  return (holding.length > 0 ? holding : children).flatMap((child) =>
    Object.keys(child.states).length === 0
      ? [child.key as StateValue]
      : valuesWith(child, leaf).map((value): StateValue => ({ [child.key]: value })),
  );
}

function delayTable(machine: AnyStateMachine): string[] {
  const rows = Object.entries(machine.implementations.delays).map(([name, delay]) => [
    code(name),
    typeof delay === 'number' ? `${delay} ms` : 'decided when it starts',
  ]);
  return rows.length > 0 ? ['## Delays', '', ...table(['Delay', 'Time'], rows)] : [];
}

/** Facts or effects, and where the chart asks for them. */
function whereTable(
  title: string,
  head: string,
  machine: AnyStateMachine,
  pick: (actions: Actions) => readonly string[],
): string[] {
  const places = new Map<string, Set<string>>();
  const note = (actions: Actions, place: string) => {
    for (const name of pick(actions)) places.set(name, (places.get(name) ?? new Set()).add(place));
  };
  const types = eventTypesOf(machine);
  for (const node of [machine.root, ...descendants(machine.root)]) {
    const name = nameOf(node) || machine.id;
    note(readActions(node.entry, machine, types), `entering ${code(name)}`);
    note(readActions(node.exit, machine, types), `leaving ${code(name)}`);
    for (const transition of transitionsOf(node)) {
      note(readTransition(transition, machine), `${code(name)} ${eventName(transition.eventType)}`);
    }
  }
  const rows = [...places].map(([name, found]) => [code(name), [...found].join(', ')]);
  return rows.length > 0 ? [`## ${title}`, '', ...table([head, 'When'], rows)] : [];
}

function describeActions(actions: readonly unknown[], machine: AnyStateMachine): string {
  const { effects, facts, raised } = readActions(actions, machine, eventTypesOf(machine));
  return [
    ...effects.map(code),
    ...facts.map((fact) => `_${fact}_`),
    ...raised.map((type) => `raise ${code(type)}`),
  ].join(', ');
}

/** A table without the columns that say nothing. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const used = head.map((_, column) => column === 0 || rows.some((row) => row[column]));
  const line = (cells: readonly string[]) =>
    `| ${cells
      .filter((_, column) => used[column])
      .map((cell) => cell.replaceAll('|', '\\|'))
      .join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''];
}

const code = (text: string) => `\`${text}\``;
const nameOf = (node: AnyStateNode) => node.path.join('.');
const idOf = (node: AnyStateNode) => node.path.join('_') || node.id.replaceAll('.', '_');

/* ---- The pages of the charts there are ------------------------------------------------------------------------- */

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = join(root, 'docs', 'state-diagrams');

/** Every chart exported as `<noun>Machine` by a file of src/machines, with what the file says of it. */
export async function chartPages(): Promise<ChartPage[]> {
  const pages: ChartPage[] = [];
  for (const name of readdirSync(join(root, 'src', 'machines')).sort()) {
    if (!name.endsWith('.ts')) continue;
    const module = await importFile(`src/machines/${name}`);
    for (const [exported, value] of Object.entries(module)) {
      if (!exported.endsWith('Machine') || !(value as AnyStateMachine).root) continue;
      const noun = exported.replace(/Machine$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      pages.push({
        noun,
        machine: value as AnyStateMachine,
        file: `src/machines/${name}`,
        refusals: refusalsOf(module),
        ignores: (module[exported.replace(/Machine$/, 'Ignores')] ?? []) as readonly Ignored[],
      });
    }
  }
  return pages;
}

/**
 * The refusals of a file: `refuse<Noun>Operation` (or `…Command`) goes with the exported list `<noun>Operations` (or
 * `…Commands`), an array of names or an object with the names as keys.
 */
function refusalsOf(module: Record<string, unknown>): ChartPage['refusals'] {
  return Object.entries(module).flatMap(([name, refuse]) => {
    const [, first = '', rest = ''] = /^refuse([A-Z])(\w+)$/.exec(name) ?? [];
    const list = module[`${first.toLowerCase()}${rest}s`];
    if (!first || !list) return [];
    return [{ name, refuse: refuse as Refuse, commands: Array.isArray(list) ? list : Object.keys(list) }];
  });
}

const read = (file: string) => {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch {
    return undefined;
  }
};

async function main(): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const pages = new Map((await chartPages()).map((page) => [`${page.noun}.md`, renderPage(page)]));
  const extra = readdirSync(directory).filter((name) => name.endsWith('.md') && !pages.has(name));
  const stale = [...[...pages].filter(([name, text]) => read(name) !== text).map(([name]) => name), ...extra];
  if (process.argv.includes('--check')) {
    for (const name of stale) console.error(`docs/state-diagrams/${name} is not up to date: run \`npm run diagrams\``);
    process.exitCode = stale.length > 0 ? 1 : 0;
    return;
  }
  for (const [name, text] of pages) writeFileSync(join(directory, name), text);
  for (const name of extra) rmSync(join(directory, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
