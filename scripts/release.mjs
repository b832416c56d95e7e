#!/usr/bin/env node
// Makes the commit and the tag of a version: node scripts/release.mjs 0.3.0
// It publishes nothing. The last line says what a build with an identity of its own (OIDC) runs to publish with provenance.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const version = process.argv[2] ?? '';
const fail = (reason) => {
  process.stderr.write(`release: ${reason}\n`);
  process.exit(1);
};
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));
const write = (file, value) => writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);

if (!/^\d+\.\d+\.\d+$/.test(version)) fail('give a version such as 0.3.0');
if (git('status', '--porcelain') !== '') fail('commit or stash your changes first');
const old = json('package.json').version;
const order = (text) =>
  text
    .split('.')
    .map((part) => part.padStart(6, '0'))
    .join('.');
if (order(version) <= order(old)) fail(`${version} does not follow ${old}`);
const changes = readFileSync('CHANGELOG.md', 'utf8');
const [, unreleased = ''] = /^## \[Unreleased\]\n([\s\S]*?)(?=^## \[)/m.exec(changes) ?? [];
if (unreleased.trim() === '') fail('CHANGELOG.md has nothing under [Unreleased]');
execFileSync('npm', ['run', '--silent', 'types', '--', '--check'], { stdio: 'inherit' });
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changes.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`));
const workspaces = readdirSync('packages').map((name) => `packages/${name}/package.json`);
const files = ['package.json', ...workspaces.filter((file) => existsSync(file))];
for (const file of files) write(file, { ...json(file), version });
execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
  stdio: 'inherit',
});
git('commit', '--all', '--message', `Release ${version}`);
git('tag', '--annotate', `v${version}`, '--message', `Hookswitch ${version}`);
process.stdout.write(`v${version} is tagged. To publish it: npm publish --provenance --access public\n`);
