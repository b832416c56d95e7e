import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseAllDocuments } from 'yaml';

/** Names and types of all fields in the shipped files for Compose and Kubernetes, by validators of others. */
const manifests = suite('files for Compose and Kubernetes');

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8');

/** Runs a program of `node_modules`. @returns what it wrote; it may have found faults. */
function run(program: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(process.execPath, [join(root, 'node_modules', program), ...args], { cwd, encoding: 'utf8' });
  } catch (error) {
    const { status, stdout = '' } = error as { status?: number | null; stdout?: string };
    // Another status than that of faults is a failure of the program.
    if (typeof status !== 'number' || stdout === '') throw error;
    return stdout;
  }
}

/** Gives a directory whose files find the packages of this repository. */
function inDirectory<T>(work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-manifests-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

type Manifest = { apiVersion: string; kind: string };

/** Faults of manifests by the types of `kubernetes-models`. Its own `validate` accepts fields that do not exist. */
const kubernetesFaults = (text: string): string[] =>
  inDirectory((directory) => {
    const all = parseAllDocuments(text).map((each) => each.toJS() as Manifest);
    const lines = all.flatMap((each, at) => [
      `import type { I${each.kind} as Type${at} } from 'kubernetes-models/${each.apiVersion}';`,
      `export const manifest${at}: Type${at} = ${JSON.stringify(each)};`,
    ]);
    assert.ok(all.length > 0);
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'manifests.ts'), lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'];
    const told = run('typescript/bin/tsc', [...options, 'manifests.ts'], directory);
    return told.split('\n').filter((line) => line.includes('error'));
  });

type Told = { messages: { rule: string; message: string }[] };

/** Faults of a file for Compose by the schema of its specification. Style is ours. */
const composeFaults = (text: string): string[] =>
  inDirectory((directory) => {
    writeFileSync(join(directory, 'compose.yaml'), text);
    const told = JSON.parse(run('dclint/bin/dclint.cjs', ['--formatter', 'json', 'compose.yaml'], directory)) as Told[];
    assert.is(told.length, 1, 'it was read');
    return told.flatMap(({ messages }) =>
      messages.filter(({ rule }) => rule.startsWith('invalid')).map(({ message }) => message),
    );
  });

/** The text with one line changed. */
function changed(text: string, from: string, to: string): string {
  assert.ok(text.includes(from), from);
  return text.replace(from, to);
}

manifests('the manifests for Kubernetes have fields that exist, with values of their types', () => {
  assert.equal(kubernetesFaults(textOf('cluster/kubernetes.yaml')), []);
});

for (const [fault, from, to, names] of [
  ['a field that does not exist', 'serviceName:', 'service:', /'"service"' does not exist in type 'IStatefulSetSpec'/],
  ['a wrong name deep inside', 'httpGet:', 'httpGett:', /'"httpGett"' does not exist in type 'IProbe'/],
  ['a text in place of a number', 'replicas: 3', 'replicas: three', /'string' is not assignable to type 'number'/],
] as const)
  manifests(`${fault} fails the check of the manifests`, () => {
    const [found = '', ...more] = kubernetesFaults(changed(textOf('cluster/kubernetes.yaml'), from, to));
    assert.match(found, names);
    assert.equal(more, []);
  });

for (const file of ['cluster/compose.yaml', 'compose/compose.yaml'])
  manifests(`${file} follows the specification of Compose`, () => assert.equal(composeFaults(textOf(file)), []));

for (const [fault, from, to, names] of [
  ['a field that does not exist', 'restart: unless-stopped', 'restrat: unless-stopped', /additional properties/],
  [
    'a list in place of a text',
    'stop_grace_period: 30s',
    'stop_grace_period: [30]',
    /stop_grace_period.*must be string/,
  ],
] as const)
  manifests(`${fault} fails the check of the file for Compose`, () => {
    const [found = ''] = composeFaults(changed(textOf('cluster/compose.yaml'), from, to));
    assert.match(found, names);
  });

manifests.run();
