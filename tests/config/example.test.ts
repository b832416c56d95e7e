import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import type { Node } from '../../src/config/check.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigSchema } from '../../src/config/schema.ts';
import { validate } from '../../src/dialplan/parse.ts';

const file = fileURLToPath(new URL('../../hookswitch.example.yaml', import.meta.url));
const text = readFileSync(file, 'utf8');

/** The keys that stand in the example, `*` for names and list positions. */
function keysIn(node: Node, value: unknown, path = ''): string[] {
  const each = node.patternProperties && Object.values(node.patternProperties)[0];
  if (Array.isArray(value)) return value.flatMap((item) => keysIn(itemsOf(node), item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const at = each ? `${path}.*` : `${path}.${key}`;
    return [at, ...keysIn(each ?? node.properties?.[key] ?? alternative(node, key), child, at)];
  });
}

/** The keys there are. */
function keysOf(node: Node, path = ''): string[] {
  const each = node.patternProperties && Object.values(node.patternProperties)[0];
  if (each) return [`${path}.*`, ...keysOf(each, `${path}.*`)];
  if (node.items && !Array.isArray(node.items)) return keysOf(node.items as Node, `${path}[]`);
  const groups = [node, ...(node.anyOf ?? [])];
  return groups.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([key, child]) => [`${path}.${key}`, ...keysOf(child, `${path}.${key}`)]),
  );
}

const itemsOf = (node: Node) => (Array.isArray(node.items) ? {} : (node.items ?? {})) as Node;
const alternative = (node: Node, key: string): Node =>
  node.anyOf?.find(({ properties }) => properties?.[key])?.properties?.[key] ?? {};

/** The settings with their paths. */
function settings(node: Node, path = ''): { path: string; node: Node }[] {
  return [
    { path, node },
    ...Object.entries(node.properties ?? {}).flatMap(([key, child]) => settings(child, `${path}.${key}`)),
    ...Object.values(node.patternProperties ?? {}).flatMap((child) => settings(child, `${path}.*`)),
    ...(node.items && !Array.isArray(node.items) ? settings(node.items as Node, `${path}[]`) : []),
  ];
}

test('the example is a valid configuration', () => {
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  assert.is(config.sip.endpoints['alice']?.caller_id, '"Alice" <100>');
  assert.is(config.generated_password, undefined);
});

test('every setting stands in the example', () => {
  const shown = new Set(keysIn(ConfigSchema as Node, parse(text)));
  const missing = [...new Set(keysOf(ConfigSchema as Node))].filter((key) => !shown.has(key));
  assert.equal(missing, []);
});

test('what the example shows of the plain settings are their defaults', () => {
  const example = parse(text) as Record<string, Record<string, unknown>>;
  for (const section of ['general', 'http', 'sip', 'media', 'sounds', 'recordings', 'bans', 'limits']) {
    const properties = (ConfigSchema as unknown as { properties: Record<string, Node> }).properties[section]
      ?.properties;
    for (const [key, node] of Object.entries(properties ?? {})) {
      if (node.default === undefined || ['users', 'endpoints', 'templates', 'transports'].includes(key)) continue;
      assert.equal(example[section]?.[key], node.default, `${section}.${key}`);
    }
  }
});

test('every setting is described, and every number that has a unit says it', () => {
  const undescribed = settings(ConfigSchema as Node)
    .filter(
      ({ path, node }) => path !== '' && !path.endsWith(']') && !path.startsWith('.dialplan.*') && !node.description,
    )
    .map(({ path }) => path);
  assert.equal(undescribed, []);
  const unmeasured = settings(ConfigSchema as Node)
    .filter(({ node }) => (node.type === 'integer' || node.type === 'number') && !node.unit)
    .map(({ path }) => path);
  assert.equal(unmeasured, []);
});

test('every setting is read by some part of the system', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  // Templates are read by none but the checks, which make whole endpoints of them.
  const readers = files.filter(
    (name) => name.endsWith('.ts') && (!name.startsWith('config/') || name === 'config/templates.ts'),
  );
  const code = readers.map((name) => readFileSync(src + name, 'utf8')).join('\n');
  const names = settings(ConfigSchema as Node).map(({ path }) => path.split('.').at(-1)!.replace('[]', ''));
  const unread = [...new Set(names)].filter((name) => /^\w+$/.test(name) && !new RegExp(`\\b${name}\\b`).test(code));
  assert.equal(unread, []);
});

test.run();
