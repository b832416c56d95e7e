import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chartDocuments } from '../../scripts/chart-documents.ts';
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
