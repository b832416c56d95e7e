import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMachine } from 'xstate';
import { chartDocuments } from '../../scripts/chart-documents.ts';
import { descendants, eventName, transitionsOf } from '../../scripts/charts.ts';
import { createCheck } from '../../src/http/router.ts';
import { Chart } from '../../src/models/chart.ts';

const test = suite('charts as documents');
const documents = await chartDocuments();

const check = createCheck(Chart);
for (const { chart, svg } of documents) {
  test(`${chart.name}: every state and way of the drawing is one of the chart`, () => {
    assert.is(check(chart), undefined);
    const ids = [...svg.matchAll(/ id="((?:state|edge):[^"]*)"/g)].map(([, id = '']) =>
      id.replaceAll('&gt;', '>').replaceAll('&#45;', '-'),
    );
    const states = chart.states.map(({ id }) => `state:${id}`);
    const edges = chart.transitions.flatMap(({ edge }) => edge ?? []);
    assert.equal(ids.filter((id) => id.startsWith('state:')).sort(), states.sort());
    assert.equal(
      ids.filter((id) => id.startsWith('edge:') && !edges.includes(id)),
      [],
    );
    assert.ok(svg.startsWith('<svg') && svg.endsWith('</svg>'));
    assert.not.ok(/<script|<style|style=|xlink:href/.test(svg), 'nothing in it needs leave of a page');
  });
}

for (const { chart, machine: config, scxml } of documents) {
  test(`${chart.name}: xstate makes a machine of the same states and transitions of its JSON`, () => {
    const machine = createMachine(JSON.parse(JSON.stringify(config)));
    const states = descendants(machine.root);
    assert.equal(states.map(({ path }) => path.join('.')).sort(), chart.states.map(({ id }) => id).sort());
    const ways = [machine.root, ...states].flatMap((node) =>
      transitionsOf(node).flatMap(({ eventType, target, guard }) => {
        const way = [node.path.join('.'), eventName(eventType), (guard as { type?: string } | undefined)?.type ?? ''];
        return target ? target.map(({ path }) => [...way, path.join('.')].join('|')) : [[...way, ''].join('|')];
      }),
    );
    const wanted = chart.transitions.map(({ from, event, guard = '', to = '' }) => [from, event, guard, to].join('|'));
    assert.equal(ways.sort(), wanted.sort());
  });

  test(`${chart.name}: its SCXML is well-formed, and every target is a state of it`, () => {
    const open: string[] = [];
    for (const [, closing, name = '', alone] of scxml.matchAll(/<(\/)?([a-z]+)[^<>]*?(\/)?>/g))
      if (closing) assert.is(open.pop(), name);
      else if (!alone) open.push(name);
    assert.equal(open, []);
    const ids = [...scxml.matchAll(/<(?:state|parallel|final) id="([^"]*)"/g)].map(([, id]) => id);
    assert.is(new Set(ids).size, chart.states.length + 1);
    const goals = [...scxml.matchAll(/ (?:target|initial)="([^"#]*)"/g)].flatMap(([, goal = '']) => goal.split(' '));
    assert.equal(
      goals.filter((goal) => !ids.includes(goal)),
      [],
    );
  });
}

test('a chart has a sentence about it, and says what a command does in each state', () => {
  assert.equal(
    documents.filter(({ chart }) => chart.about === '').map(({ chart }) => chart.name),
    [],
  );
  const channel = documents.find(({ chart }) => chart.name === 'channel')?.chart;
  const mute = channel?.events.find(({ event }) => event === 'mute');
  assert.equal([mute?.kind, mute?.in.down, mute?.in.up], ['command', 'refused: channelInvalidState', 'allowed']);
  const answered = channel?.events.find(({ event }) => event === 'leg.answered');
  assert.equal([answered?.kind, answered?.in.ring], ['report', '→ up / ChannelStateChange']);
});

test.run();
