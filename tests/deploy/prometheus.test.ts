import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { inWorld } from '../watch/world.ts';

const prometheus = suite('what Prometheus and Grafana are given');
const promtool = need('promtool');

const fileOf = (name: string): string => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
const rules = fileOf('prometheus/hookswitch.rules.yml');
const dashboard = fileOf('grafana/hookswitch.json');

/** Names of metrics, those that Prometheus makes of histograms aside. */
const namesIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/\bhookswitch_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')));

promtool.test(prometheus, 'the alert rules can be read and do what they say', (program) => {
  execFileSync(program, ['check', 'rules', rules], { encoding: 'utf8', stdio: 'pipe' });
  execFileSync(program, ['test', 'rules', fileOf('prometheus/hookswitch.test.yml')], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
});

promtool.test(prometheus, 'the metrics are as Prometheus wants them', (program) =>
  inWorld(async ({ request }) => {
    const input = await (await request('GET', '/metrics')).text();
    assert.is(execFileSync(program, ['check', 'metrics'], { encoding: 'utf8', input }), '');
  }),
);

prometheus('every metric that the dashboard and the rules read is there', () =>
  inWorld(async ({ request }) => {
    const there = namesIn(await (await request('GET', '/metrics')).text());
    const used = new Set([...namesIn(readFileSync(rules, 'utf8')), ...namesIn(readFileSync(dashboard, 'utf8'))]);
    assert.equal(
      [...used].filter((name) => !there.has(name)),
      [],
    );
    assert.ok(used.size > 20, `${used.size} metrics are used`);
  }),
);

prometheus('the dashboard has a place of its own for each panel', () => {
  const { panels } = JSON.parse(readFileSync(dashboard, 'utf8')) as {
    panels: { id: number; gridPos: object; targets: { expr: string }[] }[];
  };
  assert.is(new Set(panels.map(({ id }) => id)).size, panels.length);
  assert.is(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size, panels.length);
  assert.ok(panels.every(({ targets }) => targets.length > 0));
});

prometheus.run();
