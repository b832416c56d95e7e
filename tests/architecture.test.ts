import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Which layers each layer may import from, itself always included (docs/architecture.md). */
const layers: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  models: ['lib'],
  telephony: ['lib', 'models'],
  config: ['lib', 'models'],
  machines: ['models', 'telephony'],
  bus: ['lib', 'models'],
  stores: ['lib', 'models', 'bus'],
  dialplan: ['lib', 'models', 'telephony'],
  actors: ['lib', 'models', 'telephony', 'machines', 'bus', 'stores', 'dialplan'],
  calls: ['lib', 'models', 'telephony', 'machines', 'bus', 'stores', 'dialplan', 'actors'],
  watch: ['lib', 'models', 'telephony', 'stores', 'actors'],
  recorder: ['lib', 'models', 'machines', 'actors'],
  cluster: ['lib', 'models', 'machines', 'bus', 'actors'],
  http: ['lib', 'models', 'telephony', 'bus', 'stores', 'actors', 'calls', 'watch', 'recorder', 'cluster'],
  operator: ['lib', 'models'],
  native: ['lib'],
  supervision: ['lib', 'machines', 'actors', 'native'],
  sip: ['lib'],
  media: ['lib', 'telephony', 'native'],
  drivers: ['lib', 'models', 'telephony', 'machines', 'sip'],
  // A package of its own: only the command line loads it, when it is asked to import.
  'packages/importer': ['lib', 'models', 'config', 'dialplan'],
  // Packages of their own, which the server never loads. The client works with any server and knows nothing of ours.
  'packages/client': [],
  'packages/testing': [
    ...['lib', 'models', 'config', 'dialplan', 'telephony', 'drivers', 'sip', 'media', 'virtual', 'http', 'build'],
    ...['machines', 'actors', 'recorder', 'settings.ts', 'logging.ts', 'packages/client'],
  ],
  // It runs in browsers.
  'packages/browser': [],
  virtual: ['lib', 'media', 'sip', 'config', 'cluster', 'http', 'build', 'main.ts', 'logging.ts'],
};

/** The files that know everything, besides those of `build`. */
const roots = [
  'index.ts',
  'compatibility.ts',
  'main.ts',
  'cli.ts',
  'serve.ts',
  'run-server.ts',
  'read-configuration.ts',
  'compiled-code.ts',
  'signals.ts',
  'start-errors.ts',
  'settings.ts',
  'logging.ts',
  'inspect.ts',
];

/** Where a library may be imported: layers, folders or files of src. What is not named may appear nowhere. */
const libraries: Readonly<Record<string, readonly string[]>> = {
  xstate: ['machines', 'actors'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  '@hono/node-ws': ['http'],
  ws: ['http', 'operator', 'sip/transport', 'media/external', 'packages/client/src/socket.ts'],
  typebox: [
    'models',
    'telephony',
    'machines',
    'config',
    'http',
    'actors/call-leg.ts',
    'actors/dumps.ts',
    'build/server-data.ts',
  ],
  yaml: ['config', 'packages/importer/src/import.ts'],
  nanoid: ['lib/ids.ts'],
  pino: ['lib/log.ts'],
  'pino-pretty': ['serve.ts'],
  'rtp.js': ['media'],
  'libopus-wasm': ['media/codec/opus.ts'],
  koffi: ['native'],
  '@nats-io/transport-node': ['cluster/nats-link.ts'],
  '@nats-io/jetstream': ['cluster/nats-link.ts'],
  '@nats-io/kv': ['cluster/nats-link.ts'],
  'sdp-transform': ['sip/sdp'],
  'node:dgram': ['sip/transport', 'media/rtp', 'drivers/external'],
  'node:net': [
    'http/server.ts',
    'http/left-connections.ts',
    'native',
    'sip/transport',
    'media/rtp',
    'media/external',
    'media/webrtc/ice-tcp.ts',
    'media/webrtc/turn-stream.ts',
    'drivers/external',
    'cluster/nats-link.ts',
    'packages/testing',
  ],
  'node:tls': [
    'lib/cut-connection.ts',
    'sip/transport',
    'stores/certificates.ts',
    'media/rtp',
    'media/webrtc/turn-stream.ts',
    'drivers/external',
    'cluster/nats-link.ts',
  ],
  'node:child_process': ['packages/testing', 'supervision/server-process.ts'],
  'node:http': ['http', 'sip/transport', 'operator/ready.ts', 'packages/testing'],
  'node:https': ['http', 'operator/ready.ts'],
  'node:fs': [
    'lib/core-pressure.ts',
    'lib/open-within.ts',
    'config',
    'packages/importer/src/directory.ts',
    'packages/testing',
    'stores',
    'media/file',
    'media/rtp/descriptors.ts',
    'native',
    'supervision',
    'virtual/warm-up.ts',
    'compiled-code.ts',
  ],
  'node:fs/promises': ['lib/open-within.ts', 'config', 'stores', 'media/file'],
  'node:worker_threads': ['media'],
  'node:perf_hooks': ['lib/loop-delay.ts'],
  'node:v8': ['lib/heap.ts'],
  'node:zlib': ['stores/call-files.ts', 'stores/state-store.ts', 'media/webrtc/stun-message.ts', 'compiled-code.ts'],
  'node:vm': ['lib/heap.ts', 'compiled-code.ts'],
  'prom-client': ['watch/metrics.ts'],
  '@opentelemetry/api': ['watch/tracing.ts'],
  'node:dns/promises': ['build'],
};

/** Node's modules that touch nothing outside the process. */
const harmless = /^node:(assert|buffer|crypto|events|module|os|path|stream|string_decoder|url|util)(\/|$)/;

/** Globals that stand for one clock, one id source and one logger; each with the places that may use it. */
const injected: readonly { name: string; pattern: RegExp; allowed: readonly string[] }[] = [
  { name: 'Date.now', pattern: /\bDate\.now\b|\bnew Date\(\)/, allowed: ['lib/clock.ts'] },
  { name: 'performance', pattern: /\bperformance\.now\b/, allowed: ['lib/clock.ts', 'media'] },
  {
    name: 'timers',
    pattern: /(?<![.\w#])(setTimeout|setInterval|setImmediate|clearTimeout|clearInterval)\(/,
    allowed: [
      ...['lib/clock.ts', 'virtual/manual-clock.ts', 'packages/client/src/pause.ts', 'packages/browser'],
      'packages/testing',
    ],
  },
  { name: 'Math.random', pattern: /\bMath\.random\b/, allowed: [] },
  { name: 'console', pattern: /(?<![.\w])console\.\w/, allowed: [] },
];

const linesAllowed = 500;

type Source = { path: string; text: string; code: string; imports: { specifier: string; typesOnly: boolean }[] };

const sources: readonly Source[] = [
  ...filesIn('src'),
  ...filesIn('packages').filter((file) => !file.endsWith('.d.ts')),
].map((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return { path: inSource(file), text, code: withoutComments(text), imports: importsOf(text) };
});

test('imports run one way: each layer knows only the layers below it', () => {
  const wrong = sources.flatMap((source) =>
    targetsOf(source)
      .filter((target) => !mayImport(source.path, target))
      .map((target) => `${source.path} imports ${target}`),
  );
  assert.equal(wrong, []);
});

test('no two files import each other, not even by way of others', () => {
  const known = new Map(sources.map((source) => [source.path, targetsOf(source)]));
  const reach = (from: string, seen = new Set<string>()): Set<string> => {
    for (const target of known.get(from) ?? []) {
      if (seen.has(target)) continue;
      seen.add(target);
      reach(target, seen);
    }
    return seen;
  };
  const inCircles = [...known.keys()].filter((path) => reach(path).has(path));
  assert.equal(inCircles, []);
});

test('each library appears only where architecture.md puts it', () => {
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter(({ specifier }) => !specifier.startsWith('.') && !harmless.test(specifier))
      // A type of Node's opens nothing.
      .filter(({ specifier, typesOnly }) => !(typesOnly && specifier.startsWith('node:')))
      .filter(({ specifier }) => !isIn(source.path, libraries[packageOf(specifier)] ?? []))
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  );
  assert.equal(wrong, []);
});

test('no media thread has sockets of node:dgram: Node may abort when such a thread is terminated', () => {
  const loaded = new Set(['media/worker.ts']);
  for (const path of loaded)
    for (const { specifier, typesOnly } of sources.find((source) => source.path === path)!.imports)
      if (!typesOnly && specifier.startsWith('.')) loaded.add(join(dirname(path), specifier));
  const wrong = sources.filter(
    ({ path, imports }) =>
      loaded.has(path) && imports.some(({ specifier, typesOnly }) => !typesOnly && specifier === 'node:dgram'),
  );
  assert.equal(
    wrong.map(({ path }) => path),
    [],
  );
});

test('only the command line loads the importer, and only when it is asked to import', () => {
  const importers = sources.filter(
    (source) =>
      !source.path.startsWith('packages/') &&
      targetsOf(source).some((target) => target.startsWith('packages/importer/')),
  );
  assert.equal(
    importers.map(({ path }) => path),
    ['cli.ts'],
  );
  assert.not.match(importers[0]!.code, /^import .*packages/m);
});

test('charts import no I/O: of the port only types, causes and schemas of data, of Node nothing', () => {
  const data = /^\.\.\/telephony\/(causes|contacts|driver|features|party|registrations|watchers)\.ts$/;
  const wrong = sources
    .filter(({ path }) => layerOf(path) === 'machines')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier, typesOnly }) => !typesOnly && /^(node:|\.\.\/telephony\/)/.test(specifier))
        .filter(({ specifier }) => !data.test(specifier))
        .map(({ specifier }) => `${path} imports ${specifier}`),
    );
  assert.equal(wrong, []);
});

test('time, chance and the console are injected', () => {
  const wrong = sources.flatMap(({ path, code }) =>
    injected
      .filter(({ pattern, allowed }) => !isIn(path, allowed) && pattern.test(code))
      .map(({ name }) => `${path} uses ${name}`),
  );
  assert.equal(wrong, []);
});

test(`no file is longer than ${linesAllowed} lines`, () => {
  const long = sources
    .filter(({ path }) => path !== 'packages/client/src/generated.ts')
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > linesAllowed)
    .map(({ path, lines }) => `${path} has ${lines} lines`);
  assert.equal(long, []);
});

test('only spawn.ts creates actors, and only chart-run.ts says what charts do next', () => {
  const creators = ['actors/spawn.ts', 'actors/chart-run.ts'];
  const wrong = sources.filter(
    ({ path, code }) =>
      (!creators.includes(path) && /\bcreateActor\(/.test(code)) ||
      (path !== 'actors/chart-run.ts' && /\bfastLogic\(\w+\);/.test(code)),
  );
  assert.equal(
    wrong.map(({ path }) => path),
    [],
  );
});

test('only compatibility.ts reads whose behaviour to have: everything else gets a policy', () => {
  const readers = sources.filter(({ code }) => /\bcompatibility\b(?!\.ts)/.test(code)).map(({ path }) => path);
  assert.equal(readers, ['compatibility.ts', 'config/schema.ts']);
});

test('every test file hands its tests to the runner, each suite of it', () => {
  const silent = filesIn('tests').filter((file) => {
    if (!file.endsWith('.test.ts')) return false;
    const text = readFileSync(join(root, file), 'utf8');
    const run = new Set([...text.matchAll(/^(\w+)\.run\(\);$/gm)].map(([, name]) => name));
    const suites = [...text.matchAll(/^const (\w+) = suite\(/gm)].map(([, name]) => name);
    return run.size === 0 || suites.some((name) => !run.has(name));
  });
  assert.equal(silent, []);
});

test('every runtime dependency of package.json has a place', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const unplaced = Object.keys(dependencies).filter((name) => !libraries[name]);
  assert.equal(unplaced, []);
});

/** Words and phrases that hide what a sentence is about, or that only this project ever used. */
const unclear =
  /\b(?:whoever|whomever|otherwise than|of nobody|lest|as it were|go(?:es)? (?:its|their) way|rous(?:e|es|ed|ing)|hush(?:es|ed)?|passages?)\b/i;

test('sources, pages and documents use plain words (CONTRIBUTING.md, rule 13)', () => {
  const places = ['src', 'packages', 'page', 'docs', 'examples', 'bench', 'scripts'];
  const files = [...places.flatMap((place) => filesIn(place, /\.(?:tsx?|mjs|md)$/)), 'README.md', 'CONTRIBUTING.md'];
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const word = unclear.exec(line)?.[0];
        return word === undefined ? [] : [`${file}:${index + 1}: ${word}`];
      }),
  );
  assert.equal(found, []);
});

/** Words that the trade does not use, and that names of this project once had. */
const retired = new Set(
  [
    'absence absences asker attention belonging belongings bell company door doors gate grant grants hush lamp lamps',
    'passage passages passport passports rehearsal rouse scene seat sight sights tie ties voice voices',
  ].flatMap((line) => line.split(' ')),
);

/** Names that have such a word all the same, and why. */
const retained: Readonly<Record<string, string>> = {
  'models/ban.ts doors': 'a public member, until 0.3',
  'stores/bans.ts doors': 'fills that member',
  'http/audit.ts door': 'a public member of audit lines, until 0.3',
  'packages/client/src/generated.ts doors': 'that member in the client',
  'packages/importer/src/directory.ts absence': 'of a file',
};

/** The names of a file: identifiers outside comments, strings and regular expressions. */
const namesIn = (code: string): Set<string> =>
  new Set(
    code
      .replaceAll(
        /`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=[(=,:]\s*)\/(?![*/])(?:[^/\\\n]|\\.)+\//g,
        ' ',
      )
      .match(/[A-Za-z_$][\w$]*/g),
  );

test('no name has a word that was retired for one of the trade', () => {
  const found = sources.flatMap(({ path, code }) =>
    [...namesIn(code)]
      .filter((name) => name.split(/(?=[A-Z])|_/).some((word) => retired.has(word.toLowerCase())))
      .map((name) => `${path} ${name}`),
  );
  assert.equal(
    found.filter((each) => retained[each] === undefined),
    [],
    'name it as docs/glossary.md does',
  );
  assert.equal(
    Object.keys(retained).filter((each) => !found.includes(each)),
    [],
    'not there any more: take it out of the list',
  );
});

test('every file, folder and name in architecture.md exists', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
  const participants = [...text.matchAll(/participant \w+ as ([\w/-]+\.ts)/g)].map(([, path = '']) => path);
  const effects = [...text.matchAll(/: effect (\w+)/g)].map(([, name = '']) => name);
  const everything = [...sources.map(({ code }) => code), readFileSync(join(root, 'package.json'), 'utf8')].join('\n');
  /** A file or folder, from the root, from `src`, or from a layer whose file is named before. */
  const isThere = (path: string): boolean =>
    ['', 'src'].some((base) => existsSync(join(root, base, path))) ||
    (!path.includes('/') && sources.some((source) => source.path.endsWith(`/${path}`)));
  const isPath = (name: string): boolean => /^[\w.-]+(?:\/[\w.-]+)+\/?$|^[\w-]+\.(?:ts|md|yaml|json)$/.test(name);
  const isKnown = (name: string): boolean =>
    isPath(name) ? isThere(name) : (name.match(/[A-Za-z_$][\w$]*/g) ?? []).every((word) => everything.includes(word));
  assert.equal(
    [...quoted, ...participants, ...effects]
      // The pattern of a chart's file, whose names stand for others.
      .filter((name) => !/noun|verbObject/.test(name))
      .filter((name) => !isKnown(name)),
    [],
  );
});

function filesIn(directory: string, names = /\.ts$/): string[] {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && names.test(entry.name) && !/[\\/]dist(?:$|[\\/])/.test(entry.parentPath))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** Files of `src` go by their path in it, those of packages by their path from the root. */
function inSource(file: string): string {
  return file.startsWith('src/') ? relative('src', file) : file;
}

function layerOf(path: string): string {
  return path
    .split('/')
    .slice(0, path.startsWith('packages/') ? 2 : 1)
    .join('/');
}

function mayImport(from: string, to: string): boolean {
  if (roots.includes(from) || layerOf(from) === 'build' || layerOf(from) === layerOf(to)) return true;
  return layers[layerOf(from)]?.includes(layerOf(to)) ?? false;
}

/** The files of src that a file imports, types included. */
const targetsOf = ({ path, imports }: Source): string[] =>
  imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => inSource(join(path.startsWith('packages/') ? '' : 'src', dirname(path), specifier)));

const isIn = (path: string, places: readonly string[]) =>
  places.some((place) => path === place || path.startsWith(`${place}/`));

/** `@hono/node-ws` of `@hono/node-ws/x`, `typebox` of `typebox/value`; Node's modules as they stand. */
function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function importsOf(text: string): Source['imports'] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm);
  const dynamic = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [
    ...[...statements].map(([, type, named, bare]) => ({ specifier: named ?? bare ?? '', typesOnly: Boolean(type) })),
    ...[...dynamic].map(([, specifier = '']) => ({ specifier, typesOnly: false })),
  ];
}

/** Comments may speak of clocks and consoles; a `//` within a string is left alone when a quote follows it. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/[^'"`\n]*$/gm, '');
}

test.run();
