import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, parse } from 'acorn';
import { transformSync } from 'esbuild';

/** The root of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The TypeScript files below a directory of the repository, as paths from its root. */
export function filesIn(directory: string, names = /\.tsx?$/): string[] {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() && names.test(entry.name) && !/node_modules|[\\/]dist(?:$|[\\/])/.test(entry.parentPath),
    )
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** A function of a source file: its lines with all closures, its own branches, and its parameters. */
export type FunctionShape = {
  readonly path: string;
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  /** Cyclomatic complexity: 1, and 1 for each `if`, loop, `case`, `?:`, `&&`, `||` and `??` outside its closures. */
  readonly complexity: number;
  readonly parameters: number;
};

/** Every function, method and arrow function of a file. Lines are those of the TypeScript source. */
export function functionsOf(path: string): FunctionShape[] {
  const { code, map } = transformSync(readFileSync(join(root, path), 'utf8'), {
    loader: 'ts',
    target: 'esnext',
    sourcemap: 'external',
    sourcefile: path,
  });
  const source = new SourceMap(JSON.parse(map));
  const lineOf = ({ line, column }: { line: number; column: number }) => {
    const entry = source.findEntry(line - 1, column);
    return 'originalLine' in entry ? entry.originalLine + 1 : 0;
  };
  const found: FunctionShape[] = [];
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }), [], (node, parents) => {
    if (!isFunction(node)) return;
    const { start, end } = node.loc!;
    const line = lineOf(start);
    found.push({
      path,
      name: nameOf(node, parents),
      line,
      lines: lineOf({ line: end.line, column: end.column - 1 }) - line + 1,
      complexity: 1 + branchesIn(node),
      parameters: (node['params'] as unknown[]).length,
    });
  });
  return found;
}

type Tree = Node & Record<string, unknown>;

const isNode = (value: unknown): value is Tree => typeof (value as Tree | null)?.type === 'string';

const childrenOf = (node: Tree): Tree[] =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode);

function visit(node: Node, parents: Tree[], see: (node: Tree, parents: readonly Tree[]) => void): void {
  const tree = node as Tree;
  see(tree, parents);
  for (const child of childrenOf(tree)) visit(child, [...parents, tree], see);
}

const isFunction = ({ type }: Node) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);

const branching =
  /^(IfStatement|ConditionalExpression|LogicalExpression|ForStatement|ForInStatement|ForOfStatement|WhileStatement|DoWhileStatement)$/;

function branchesIn(node: Tree): number {
  return childrenOf(node)
    .filter((child) => !isFunction(child))
    .reduce((sum, child) => sum + branchesIn(child) + (isBranch(child) ? 1 : 0), 0);
}

const isBranch = (node: Tree) =>
  branching.test(node.type) ||
  (node.type === 'SwitchCase' && node['test'] !== null) ||
  (node.type === 'AssignmentExpression' && /^(&&|\|\||\?\?)=$/.test(String(node['operator'])));

/** The function's own name, else that of the variable, property or call it belongs to. */
function nameOf(node: Tree, parents: readonly Tree[]): string {
  const own = (node['id'] as { name: string } | null)?.name;
  if (own) return own;
  for (const parent of [...parents].reverse()) {
    const named = (parent['id'] ?? parent['key']) as { name?: string; value?: string } | null | undefined;
    if (named?.name ?? named?.value) return `${named?.name ?? named?.value}`;
    if (parent.type === 'AssignmentExpression') return 'assigned';
    if (isFunction(parent)) break;
  }
  return 'anonymous';
}

/** A name that a file of src exports, and the files that import it. */
export type ExportShape = { readonly path: string; readonly name: string; readonly importedBy: readonly string[] };

/** Every export of the files in `directories`, with the files of `users` that import it. */
export function exportsOf(directories: readonly string[], users: readonly string[]): ExportShape[] {
  const importers = new Map<string, string[]>();
  for (const file of users.flatMap((user) => filesIn(user, /\.(?:tsx?|mjs)$/)))
    for (const name of importedNames(file)) importers.set(name, [...(importers.get(name) ?? []), file]);
  return directories
    .flatMap((directory) => filesIn(directory))
    .flatMap((path) =>
      exportedNames(readFileSync(join(root, path), 'utf8')).map((name) => ({
        path,
        name,
        importedBy: [...(importers.get(`${path}#${name}`) ?? []), ...(importers.get(`${path}#*`) ?? [])],
      })),
    );
}

function exportedNames(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:declare )?(?:async )?(?:function\*?|const|let|class|type|interface|enum) (\w+)/gm,
  );
  const listed = text.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return [
    ...[...declared].map(([, name = '']) => name),
    ...[...listed].flatMap(([, names = '']) => namesOf(names).map(({ as }) => as)),
  ];
}

/** `path#name` of all that a file imports or passes on; `path#*` where it takes the whole module. */
function importedNames(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const of = (specifier = '') => {
    const path = join(dirname(file), specifier);
    return /\.\w+$/.test(path) ? path.replace(/\.js$/, '.ts') : `${path}.ts`;
  };
  const listed = text.matchAll(/^\s*(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from '(\.[^']+)'/gm);
  const dynamic = text.matchAll(/\{([^{}]*)\} = await import\(\s*'(\.[^']+)'/g);
  const typed = text.matchAll(/\bimport\('(\.[^']+)'\)\.(\w+)/g);
  const whole = text.matchAll(/^\s*(?:import|export) (?:type )?\* (?:as \w+ )?from '(\.[^']+)'/gm);
  // What is left of `import()` names no part: it takes all of the module.
  const loose = text.matchAll(/(?<!\} = await )\bimport\(\s*'(\.[^']+)'\s*\)(?!\.\w+)/g);
  return [
    ...[...listed, ...dynamic].flatMap(([, names = '', specifier]) =>
      namesOf(names).map(({ name }) => `${of(specifier)}#${name}`),
    ),
    ...[...typed].map(([, specifier, name]) => `${of(specifier)}#${name}`),
    ...[...whole, ...loose].map(([, specifier]) => `${of(specifier)}#*`),
  ];
}

const namesOf = (list: string) =>
  list
    .replaceAll(/\/\/.*$/gm, '')
    .split(',')
    .map((item) => item.trim().replace(/^type /, ''))
    .filter(Boolean)
    .map((item) => {
      const [name = '', as = name] = item.split(/ as |: /);
      return { name, as };
    });
/** Something of a file that changes after it was made: a field, a captured variable, or a member of another object. */
export type Mutable = { readonly path: string; readonly name: string };

/**
 * Fields that are assigned outside their constructor, variables that a closure or another function reassigns, and members of
 * other objects that are assigned. A variable that only its own function reassigns is no state.
 */
export function mutablesOf(path: string): Mutable[] {
  const { code } = transformSync(readFileSync(join(root, path), 'utf8'), { loader: 'ts', target: 'esnext' });
  const names = new Set<string>();
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), [], (node, parents) => {
    const target = (node.type === 'AssignmentExpression' ? node['left'] : undefined) as Tree | undefined;
    const updated = node.type === 'UpdateExpression' ? (node['argument'] as Tree) : undefined;
    for (const each of targetsIn(target ?? updated)) {
      const name = each.type === 'Identifier' ? variable(each, parents) : member(each, parents);
      if (name) names.add(name);
    }
  });
  return [...names].sort().map((name) => ({ path, name }));
}

/** The variables and members that an assignment changes, those of a pattern included. */
function targetsIn(node: Tree | undefined): Tree[] {
  if (!node) return [];
  if (node.type === 'Identifier' || node.type === 'MemberExpression') return [node];
  if (node.type === 'Property') return targetsIn(node['value'] as Tree);
  return childrenOf(node).flatMap(targetsIn);
}

/** A variable, unless the function that assigns it has declared it. */
function variable(node: Tree, parents: readonly Tree[]): string | undefined {
  const name = node['name'] as string;
  const own = [...parents].reverse().find(isFunction);
  return own && declares(own, name) ? undefined : name;
}

/** Whether a function declares a variable or parameter, outside its closures. */
function declares(node: Tree, name: string): boolean {
  return (
    childrenOf(node).some((child) => {
      if (child.type === 'VariableDeclarator' && namesIn(child['id'] as Tree).includes(name)) return true;
      return !isFunction(child) && declares(child, name);
    }) || (node['params'] as Tree[] | undefined)?.some((each) => namesIn(each).includes(name)) === true
  );
}

const namesIn = (node: Tree): string[] =>
  node.type === 'Identifier'
    ? [node['name'] as string]
    : node.type === 'Property'
      ? namesIn(node['value'] as Tree)
      : childrenOf(node).flatMap(namesIn);

/** `this.field` by its class, unless the constructor assigns it; a member of anything else by its name. */
function member(node: Tree, parents: readonly Tree[]): string | undefined {
  const { object, property, computed } = node as unknown as { object: Tree; property: Tree; computed: boolean };
  if (computed) return undefined;
  const name = `${property.type === 'PrivateIdentifier' ? '#' : ''}${property['name']}`;
  if (object.type !== 'ThisExpression') return `${object.type === 'Identifier' ? object['name'] : ''}.${name}`;
  const inConstructor = parents.findLast(({ type }) => type === 'MethodDefinition')?.['kind'] === 'constructor';
  const functions = parents.filter(isFunction).length;
  return inConstructor && functions === 1 ? undefined : name;
}
