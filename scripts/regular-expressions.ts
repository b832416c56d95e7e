import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, parse } from 'acorn';
import { transformSync } from 'esbuild';
import { checkSync } from 'recheck';

/**
 * Proves that every regular expression of src takes time linear in the length of its input. Reads each file without its
 * types, as a program.
 */

/** A regular expression as it stands in a program. */
export type Expression = { readonly source: string; readonly flags: string };

// The checker in JavaScript: the same everywhere, no binary is called.
process.env['RECHECK_BACKEND'] = 'pure';

/** Every regular expression of a program: literals, arguments of RegExp, and `pattern` of a schema. */
export function expressionsIn(code: string): Expression[] {
  const found: Expression[] = [];
  const isPattern = (node: Fields) =>
    node.type === 'Property' && node['key']?.name === 'pattern' && typeof node['value']?.value === 'string';
  const isMade = (node: Fields) => /^(New|Call)Expression$/.test(node.type) && node['callee']?.name === 'RegExp';
  const visit = (node: Fields): void => {
    if (node['regex']) found.push({ source: node['regex'].pattern, flags: node['regex'].flags });
    if (isPattern(node)) found.push({ source: node['value'].value, flags: '' });
    const [first, flags] = isMade(node) ? node['arguments'] : [];
    if (typeof first?.value === 'string') found.push({ source: first.value, flags: flags?.value ?? '' });
    for (const child of Object.values(node)) {
      if (Array.isArray(child)) for (const each of child) each?.type && visit(each);
      else if (child?.type && typeof child.type === 'string') visit(child);
    }
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true }) as Fields);
  return found;
}

// biome-ignore lint/suspicious/noExplicitAny: every kind of node has other fields
type Fields = Node & Record<string, any>;

/** Why an expression is not proved to be linear; undefined when it is. A guess that it may be is no proof. */
export function problemOf({ source, flags }: Expression): string | undefined {
  const diagnosis = checkSync(source, flags, { checker: 'automaton', timeout: 120_000 });
  if (diagnosis.status === 'vulnerable') return `${diagnosis.complexity.summary} time`;
  if (diagnosis.status === 'unknown') return `not proved: ${diagnosis.error.kind}`;
  return undefined;
}

function check(): void {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = ['src', 'packages']
    .flatMap((place) =>
      readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).map((file) => join(place, file)),
    )
    .filter((file) => file.endsWith('.ts'));
  const programOf = (file: string): string =>
    transformSync(readFileSync(join(root, file), 'utf8'), { loader: 'ts', target: 'es2022' }).code;
  const all = files
    .sort()
    .flatMap((file) => expressionsIn(programOf(file)).map((expression) => ({ file, expression })));
  const bad = all.flatMap(({ file, expression }) => {
    const problem = problemOf(expression);
    return problem === undefined ? [] : [`${file}: /${expression.source}/${expression.flags}: ${problem}`];
  });
  for (const line of bad) process.stdout.write(`${line}\n`);
  process.stdout.write(`${all.length} regular expressions, ${bad.length} not linear\n`);
  if (bad.length > 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check();
