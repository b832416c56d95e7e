import { existsSync, readdirSync } from 'node:fs';
import { createRequire, SourceMap } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Node, parse } from 'acorn';
import { build, type Metafile } from 'esbuild';
import type { AnyStateMachine } from 'xstate';
import { descendants } from './charts.ts';

/**
 * Makes mutants of charts. A chart and its tests are bundled once; a mutant is the bundle with a few characters changed, run in
 * this process. Its tests see the changed chart and nothing else of the previous mutant.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

/** One change of a chart. */
export type Mutant = {
  chart: string;
  /** Its position: the keys and constants around it, from outside. */
  path: string;
  /** The change, in words. */
  change: string;
  /** File and line. */
  place: string;
  edits: readonly Edit[];
};
type Edit = { start: number; end: number; text: string };

/** Unique within a chart, and stable while the chart is. */
export const describeMutant = ({ chart, path, change }: Mutant): string => `${chart}: ${path}: ${change}`;

/** The charts that have tests of their own. */
export const chartsWithTests = (): string[] =>
  readdirSync(join(root, 'tests', 'machines'))
    .map((file) => file.replace(/\.test\.ts$/, ''))
    .filter((name) => existsSync(join(root, 'src', 'machines', `${name}.ts`)))
    .filter((name) => name !== 'allowed')
    .sort();

type Chart = {
  name: string;
  code: string;
  map: SourceMap;
  machine: AnyStateMachine;
  /** Its files in src/machines. */
  files: ReadonlySet<string>;
  mutants: Mutant[];
};
const charts = new Map<string, Promise<Chart>>();

/** Bundles a chart with its tests, and finds what can be changed. Fails if its tests fail. */
export function loadChart(name: string): Promise<Chart> {
  const known = charts.get(name);
  if (known) return known;
  charts.clear();
  const loading = load(name);
  charts.set(name, loading);
  return loading;
}

export const mutantsOf = async (name: string): Promise<readonly Mutant[]> => (await loadChart(name)).mutants;

/** @returns the title of a test that fails with the mutant, or undefined if none does. */
export async function runMutant(name: string, index: number): Promise<string | undefined> {
  const { code, mutants } = await loadChart(name);
  return runTests(edited(code, mutants[index]!.edits));
}

function edited(code: string, edits: readonly Edit[]): string {
  let text = code;
  for (const { start, end, text: into } of edits.toSorted((one, other) => other.start - one.start))
    text = text.slice(0, start) + into + text.slice(end);
  return text;
}

async function load(name: string): Promise<Chart> {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `export * as chart from './src/machines/${name}.ts'; import './tests/machines/${name}.test.ts';`,
      resolveDir: root,
      sourcefile: 'mutants.ts',
    },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    sourcemap: 'external',
    outfile: 'bundle.js',
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(join(root, 'tests', 'machines', `${name}.test.ts`)).href),
    },
    logLevel: 'error',
  });
  const text = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))!.text;
  const code = text('.js');
  const { exports } = evaluate(code);
  const machine = Object.values(exports.chart as object).find(isMachine);
  if (!machine) throw new Error(`src/machines/${name}.ts exports no chart`);
  const failure = await runTests(code);
  if (failure !== undefined) throw new Error(`the tests of ${name} fail before any change: ${failure}`);
  const map = new SourceMap(JSON.parse(text('.map')));
  const files = filesOf(`src/machines/${name}.ts`, metafile);
  const chart: Chart = { name, code, map, machine, files, mutants: [] };
  chart.mutants = new Finder(chart).find();
  return chart;
}

/** A file and those of src/machines that it imports. A chart that has tests of its own is no part of another one. */
function filesOf(file: string, { inputs }: Metafile): ReadonlySet<string> {
  const others = new Set(chartsWithTests().map((chart) => `src/machines/${chart}.ts`));
  const files = new Set([file]);
  for (const each of files)
    for (const { path } of inputs[each]?.imports ?? [])
      if (path.startsWith('src/machines/') && !others.has(path)) files.add(path);
  return files;
}

const isMachine = (value: unknown): value is AnyStateMachine =>
  typeof value === 'object' && value !== null && 'root' in value && 'implementations' in value;

/* ---- Running --------------------------------------------------------------------------------------------------- */

type Test = { title: string; run: () => unknown };

/** Names of the helpers that changed code calls. */
const helpers = {
  /** The guards of a chart, each also the other way round, and two that are always alike. */
  __guards: (guards: Record<string, (args: unknown, params: unknown) => boolean>) => ({
    ...guards,
    ...Object.fromEntries(
      Object.entries(guards).map(([name, guard]) => [
        `not ${name}`,
        (args: unknown, params: unknown) => !guard(args, params),
      ]),
    ),
    always: () => true,
    never: () => false,
  }),
  __negated: (guard: string | { type: string }) =>
    typeof guard === 'string' ? `not ${guard}` : { ...guard, type: `not ${guard.type}` },
  __later:
    (delay: (args: unknown) => number) =>
    (args: unknown): number =>
      delay(args) + 1_000,
};

/** Runs a bundle. Instead of uvu its tests are collected. */
function evaluate(code: string): { exports: Record<string, unknown>; tests: Test[] } {
  const tests: Test[] = [];
  const suite = () => {
    const add = (title: string, run: () => unknown) => void tests.push({ title, run });
    return Object.assign(add, { run: () => {}, skip: () => {}, only: add, before: () => {}, after: () => {} });
  };
  const uvu = { test: suite(), suite };
  const module = { exports: {} as Record<string, unknown> };
  const load = (name: string): unknown => (name === 'uvu' ? uvu : require(name));
  const names = Object.keys(helpers);
  const run = new Function('require', 'module', 'exports', ...names, code);
  run(load, module, module.exports, ...Object.values(helpers));
  return { exports: module.exports, tests };
}

async function runTests(code: string): Promise<string | undefined> {
  let title = 'the chart could not be loaded';
  try {
    for (const test of evaluate(code).tests) {
      title = test.title;
      await test.run();
    }
    return undefined;
  } catch {
    return title;
  }
}

/* ---- Finding --------------------------------------------------------------------------------------------------- */

type Property = Node & { key: Node & { name?: string; value?: unknown }; value: Node; computed: boolean };

/** Finds possible changes in the parts of a bundle that come from `src/machines`. */
class Finder {
  readonly #chart: Chart;
  readonly #mutants: Mutant[] = [];
  readonly #states: readonly { id: string; key: string; parent: string | undefined }[];
  readonly #events: ReadonlySet<string>;
  readonly #delays: readonly string[];
  readonly #lineStarts: number[] = [0];
  /** Declaration of the chart's guards. */
  #guards: Node | undefined;

  constructor(chart: Chart) {
    this.#chart = chart;
    const { machine, code } = chart;
    this.#states = descendants(machine.root).map(({ id, key, parent }) => ({ id, key, parent: parent?.id }));
    this.#events = new Set(machine.events);
    this.#delays = Object.keys(machine.implementations.delays);
    for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1);
  }

  find(): Mutant[] {
    const program = parse(this.#chart.code, { ecmaVersion: 'latest', sourceType: 'script' });
    const statements = (program as unknown as { body: Node[] }).body.filter((node) => this.#isOfChart(node));
    for (const statement of statements) this.#findGuards(statement);
    for (const statement of statements) this.#visit(statement, []);
    return this.#mutants;
  }

  /** Whether a statement comes from a chart's file. Expectations of states are no behaviour. */
  #isOfChart(node: Node): boolean {
    const { file } = this.#placeOf(node);
    return (
      this.#chart.files.has(file) && !/^var \w+(Expectations|Ignores|Operations|Commands)\d* =/.test(this.#text(node))
    );
  }

  #findGuards(node: Node): void {
    each(node, (inner) => {
      if (isProperty(inner, 'guards') && inner.value.type === 'ObjectExpression') this.#guards = inner.value;
    });
  }

  #visit(node: Node, path: readonly string[]): void {
    const here = [...path, ...nameOf(node)];
    this.#guardUse(node, here);
    this.#guardParts(node, here);
    this.#target(node, here);
    this.#delay(node, here);
    this.#constant(node, here);
    for (const child of childrenOf(node)) if (!isIdiom(child, node)) this.#visit(child, here);
  }

  #guardUse(node: Node, path: readonly string[]): void {
    if (!isProperty(node, 'guard') || !this.#guards) return;
    const { value } = node;
    const text = this.#text(value);
    const { start, end } = this.#guards;
    const declared = { start, end, text: `__guards(${this.#text(this.#guards)})` };
    this.#add(path, `guard ${text} negated`, value, `__negated(${text})`, [declared]);
    this.#add(path, `guard ${text} always true`, value, "'always'", [declared]);
    this.#add(path, `guard ${text} always false`, value, "'never'", [declared]);
  }

  /** Each condition of a guard left out. */
  #guardParts(node: Node, path: readonly string[]): void {
    if (!this.#guards || node.start < this.#guards.start || node.end > this.#guards.end) return;
    if (node.type !== 'LogicalExpression') return;
    const { left, right } = node as Node & { left: Node; right: Node };
    for (const [dropped, kept] of [
      [left, right],
      [right, left],
    ] as const)
      if (!narrows.test(this.#text(dropped))) this.#add(path, `without ${this.#text(dropped)}`, node, this.#text(kept));
  }

  #target(node: Node, path: readonly string[]): void {
    if (node.type !== 'Property' && node.type !== 'ArrayExpression') return;
    const { value } = node as Property;
    if (node.type !== 'Property' || value.type !== 'Literal') return;
    const target = (value as Node & { value?: unknown }).value;
    const key = keyOf(node as Property);
    if (typeof target !== 'string' || key === undefined) return;
    const isShort = this.#events.has(key) || this.#delays.includes(key) || key === 'always';
    if (key !== 'target' && !isShort) return;
    const name = target.split(/[.#]/).at(-1);
    const meant = this.#states.filter((state) => state.key === name);
    if (meant.length === 0) return;
    // Another region or a parent state says little: neighbouring states are tried, two for each target.
    const beside = this.#states.filter(({ parent }) => meant.some((state) => state.parent === parent));
    const at = beside.findIndex((state) => state.key === name);
    const others = [...beside.slice(at + 1), ...beside.slice(0, at)].filter((state) => state.key !== name).slice(0, 2);
    const from = key === 'target' ? path.slice(0, -1) : path;
    for (const { id } of others) this.#add(from, `target ${target} becomes ${id}`, value, JSON.stringify(`#${id}`));
    if (key === 'target') this.#add(from, `target ${target} removed`, value, 'undefined');
    else this.#add(from, `target ${target} removed`, value, '{}');
  }

  #delay(node: Node, path: readonly string[]): void {
    if (isProperty(node, 'delays') && node.value.type === 'ObjectExpression')
      for (const property of childrenOf(node.value)) {
        const { value } = property as Property;
        if (property.type !== 'Property' || value.type === 'Literal') continue;
        this.#add([...path, keyOf(property as Property)!], 'a second later', value, `__later(${this.#text(value)})`);
      }
    if (!isProperty(node, 'after') || node.value.type !== 'ObjectExpression') return;
    const used = childrenOf(node.value).map((child) => keyOf(child as Property));
    for (const property of childrenOf(node.value)) {
      const key = keyOf(property as Property);
      if (key === undefined || !this.#delays.includes(key)) continue;
      for (const other of this.#delays)
        if (!used.includes(other)) this.#add(path, `${key} becomes ${other}`, (property as Property).key, other);
    }
  }

  #constant(node: Node, path: readonly string[]): void {
    if (node.type === 'MemberExpression' && /^Cause\d*\.\w+$/.test(this.#text(node))) {
      const [object, name] = this.#text(node).split('.');
      const other = name === 'interworking' ? 'userBusy' : 'interworking';
      this.#add(path, `Cause.${name} becomes Cause.${other}`, node, `${object}.${other}`);
    }
    const { value } = node as Node & { value?: unknown };
    if (node.type === 'Literal' && typeof value === 'number')
      this.#add(path, `${value} becomes ${value + 1}`, node, String(value + 1));
  }

  #add(path: readonly string[], change: string, node: Node, text: string, also: readonly Edit[] = []): void {
    const { file, line } = this.#placeOf(node);
    const { name: chart } = this.#chart;
    const mutant = {
      ...{ chart, path: path.join(' > '), change, place: `${file}:${line}` },
      edits: [{ start: node.start, end: node.end, text }, ...also],
    };
    // A name is unique: the second place of the same kind gets a number.
    const twins = this.#mutants.filter(
      (other) => other.path === mutant.path && other.change.replace(/ #\d+$/, '') === change,
    );
    this.#mutants.push(twins.length === 0 ? mutant : { ...mutant, change: `${change} #${twins.length + 1}` });
  }

  #text({ start, end }: Node): string {
    return this.#chart.code.slice(start, end);
  }

  #placeOf({ start }: Node): { file: string; line: number } {
    let line = 0;
    let high = this.#lineStarts.length;
    while (high - line > 1) {
      const middle = (line + high) >> 1;
      if (this.#lineStarts[middle]! <= start) line = middle;
      else high = middle;
    }
    const entry = this.#chart.map.findEntry(line, start - this.#lineStarts[line]!) as {
      originalSource?: string;
      originalLine?: number;
    };
    const file = entry.originalSource ? relative(root, join(root, entry.originalSource)) : '';
    return { file, line: (entry.originalLine ?? 0) + 1 };
  }
}

const keyOf = ({ key, computed }: Property): string | undefined =>
  !key || computed ? undefined : (key.name ?? String(key.value));

const isProperty = (node: Node, name: string): node is Property =>
  node.type === 'Property' && keyOf(node as Property) === name;

/** The 0 of `void 0` and `(0, call)()`: how bundles write undefined, and calls of imported functions. */
const isIdiom = (node: Node, parent: Node): boolean =>
  node.type === 'Literal' &&
  (parent.type === 'SequenceExpression' ||
    (parent.type === 'UnaryExpression' && (parent as Node & { operator?: string }).operator === 'void'));

/** Conditions for the type checker alone: such a guard stands at no other event. */
const narrows = /^(event\d*\.type === "[\w.]+"|"\w+" in event\d*)( &&|$)/;

/** Keys that say nothing about where something is. */
const plainKeys = new Set(['on', 'states', 'actions', 'params', 'guard']);

function nameOf(node: Node): string[] {
  const { id } = node as Node & { id?: { name?: string } };
  if (id?.name) return [id.name];
  const key = node.type === 'Property' ? keyOf(node as Property) : undefined;
  return key === undefined || plainKeys.has(key) ? [] : [key];
}

const childrenOf = (node: Node): Node[] =>
  Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value === 'object' && value !== null && typeof value.type === 'string');

function each(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const child of childrenOf(node)) each(child, visit);
}
