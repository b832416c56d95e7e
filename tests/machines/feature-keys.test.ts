import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type FeatureKeysEvent, type FeatureKeysInput, featureKeysMachine } from '../../src/machines/feature-keys.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const { inputs, events } = chartSamples.find(({ machine }) => machine.id === 'featureKeys')!;
const [transfers, everything, talksFirst] = inputs as [FeatureKeysInput, FeatureKeysInput, FeatureKeysInput];
const separate: FeatureKeysInput = {
  ...everything,
  codes: [
    { feature: 'blindxfer', code: '#1' },
    { feature: 'disconnect', code: '*0' },
    { feature: 'automon', code: '*1' },
    { feature: 'automixmon', code: '*3' },
  ],
};

const keys = (digits: string): FeatureKeysEvent[] =>
  [...digits].map((digit) => ({ type: 'key', digit, durationMs: 120 }));
const over = (state: string, delay: string) =>
  ({ type: `xstate.after.${delay}.featureKeys.${state}` }) as unknown as FeatureKeysEvent;
const told = (status: number): FeatureKeysEvent => ({ type: 'transfer.told', status });

type Asked = { type: string; params?: { keys?: { digit: string }[]; number?: string; feature?: string } };

/** Takes a party through events; gives where it is, and what was asked for on the way. */
function after(input: FeatureKeysInput, ...happened: FeatureKeysEvent[]): [state: unknown, ...asked: string[]] {
  let [snapshot, actions] = initialTransition(featureKeysMachine, input);
  const asked: string[] = [];
  for (const event of happened) {
    [snapshot, actions] = transition(featureKeysMachine, snapshot, event);
    for (const { type, params } of actions as unknown as Asked[]) {
      if (type.startsWith('xstate.')) continue;
      const about = params?.keys?.map(({ digit }) => digit).join('') ?? params?.number ?? params?.feature;
      if (about !== '') asked.push(about === undefined ? type : `${type} ${about}`);
    }
  }
  return [snapshot.value, ...asked];
}

const chart = suite('feature keys chart');

chart('keys of no code are pressed for the others at once', () => {
  assert.equal(after(separate, ...keys('12')), ['talking', 'passKeys 1', 'passKeys 2']);
});

chart('keys of a code are kept, and do what it stands for', () => {
  assert.equal(after(separate, ...keys('*')), ['collecting']);
  assert.equal(after(separate, ...keys('*0')), ['over', 'endCall']);
  assert.equal(after(separate, ...keys('*3*3')), [
    ...['talking', 'toggleRecording automixmon', 'toggleRecording automixmon'],
  ]);
  assert.equal(after(separate, ...keys('*1')), ['talking', 'toggleRecording automon']);
  assert.equal(after(separate, ...keys('#1')), ['invited', 'inviteNumber']);
});

chart('keys that become no code are pressed for the others, in their order, as soon as that is known', () => {
  assert.equal(after(separate, ...keys('*7')), ['talking', 'passKeys *7']);
  assert.equal(after(separate, ...keys('**0')), ['over', 'passKeys *', 'endCall']);
  assert.equal(after(separate, ...keys('##1')), ['invited', 'passKeys #', 'inviteNumber']);
  assert.equal(after(separate, ...keys('*'), over('collecting', 'digitTimeout')), ['talking', 'passKeys *']);
});

chart('a code that is the beginning of another counts when no further key comes', () => {
  assert.equal(after(everything, ...keys('*')), ['collecting']);
  assert.equal(after(everything, ...keys('*'), over('collecting', 'digitTimeout')), ['over', 'endCall']);
  assert.equal(after(everything, ...keys('*3')), ['talking', 'toggleRecording automixmon']);
  assert.equal(after(everything, ...keys('#')), ['invited', 'inviteNumber']);
  const longer = (feature: 'automon' | 'automixmon' | 'blindxfer'): FeatureKeysInput => ({
    ...everything,
    codes: [
      { feature, code: '*' },
      { feature: 'disconnect', code: '*0' },
    ],
  });
  const waited = (feature: 'automon' | 'automixmon' | 'blindxfer') =>
    after(longer(feature), ...keys('*'), over('collecting', 'digitTimeout'));
  assert.equal(waited('automon'), ['talking', 'toggleRecording automon']);
  assert.equal(waited('automixmon'), ['talking', 'toggleRecording automixmon']);
  assert.equal(waited('blindxfer'), ['invited', 'inviteNumber']);
});

const dialed = [...keys('#1'), ...keys('20')];

chart('a number is weighed key by key, and called when it is complete, at #, or when no further key comes', () => {
  const weighed = ['inviteNumber', 'stopTone', 'weighNumber 2', 'weighNumber 20'];
  assert.equal(after(transfers, ...dialed), ['dialing', ...weighed]);
  const called = ['puttingThrough', ...weighed, 'askTransfer 20'];
  assert.equal(after(transfers, ...dialed, { type: 'number.complete' }), called);
  assert.equal(after(transfers, ...dialed, ...keys('#')), called);
  assert.equal(after(transfers, ...dialed, over('dialing', 'numberTimeout')), called);
});

chart('no number gets longer than one can be', () => {
  const told = after(transfers, ...keys('#1'), ...keys('2'.repeat(200)));
  assert.equal([told[0], told.at(-1)], ['dialing', `weighNumber ${'2'.repeat(80)}`]);
});

chart('who dials nothing, or #, is back in its call', () => {
  const back = ['talking', 'inviteNumber', 'stopTone', 'resumeCall'];
  assert.equal(after(transfers, ...keys('#1#')), back);
  assert.equal(after(transfers, ...keys('#1'), over('invited', 'numberTimeout')), back);
});

const through = [...dialed, { type: 'number.complete' } as const];
const asked = ['inviteNumber', 'stopTone', 'weighNumber 2', 'weighNumber 20', 'askTransfer 20'];

chart('it hears the target ring, and its part is over when that answers', () => {
  assert.equal(after(transfers, ...through, told(100), told(180)), ['puttingThrough', ...asked, 'playRinging']);
  assert.equal(after(transfers, ...through, told(180), told(200)), ['over', ...asked, 'playRinging', 'stopTone']);
});

chart('what is refused may be tried again, so often as is set; then the party is back in its call', () => {
  const refused = after(transfers, ...through, told(486));
  assert.equal(refused, ['refused', ...asked, 'stopTone', 'playRefusal']);
  const ended = over('refused', 'refusalTone');
  assert.equal(after(transfers, ...through, told(486), ended), [
    ...['talking', ...asked, 'stopTone', 'playRefusal', 'stopTone', 'resumeCall'],
  ]);
  const twice = { ...transfers, attempts: 2 };
  const unknown = { type: 'number.unknown' } as const;
  assert.equal(after(twice, ...keys('#1'), ...keys('9'), unknown, ended)[0], 'invited');
  const again = [...keys('#1'), ...keys('9'), unknown, ended, ...keys('9'), unknown, ended];
  assert.equal(after(twice, ...again)[0], 'talking');
  // Every time anew.
  assert.equal(after(twice, ...again, ...keys('#1'), ...keys('9'), unknown, ended)[0], 'invited');
});

const calling = [...keys('*3'), ...keys('2'), { type: 'number.complete' } as const];
const talking = [...calling, told(180), told(183)];

chart('who wants to talk to the target first hears it ring, and has it go on or not by keys', () => {
  const asked = ['inviteNumber', 'stopTone', 'weighNumber 2', 'askTransfer 2'];
  assert.equal(after(talksFirst, ...calling), ['calling', ...asked]);
  assert.equal(after(talksFirst, ...keys('*32#')), ['calling', ...asked]);
  assert.equal(after(talksFirst, ...keys('*32'), over('dialing', 'numberTimeout')), ['calling', ...asked]);
  assert.equal(after(talksFirst, ...calling, told(100), told(180)), ['calling', ...asked, 'playRinging']);
  assert.equal(after(talksFirst, ...calling, ...keys('7*3')), ['calling', ...asked, 'completeTransfer']);
  assert.equal(after(talksFirst, ...calling, ...keys('**1'), told(487)), [
    ...['talking', ...asked, 'abortTransfer', 'stopTone', 'resumeCall'],
  ]);
  assert.equal(after(talksFirst, ...calling, told(486)), ['refused', ...asked, 'stopTone', 'playRefusal']);
  assert.equal(after(talksFirst, ...calling, told(200))[0], 'over');
});

chart('in the talk its keys go to the target, but for those of codes', () => {
  const then = (...events: FeatureKeysEvent[]) => {
    const [state, ...asked] = after(talksFirst, ...talking, ...events);
    return [state, ...asked.slice(6)];
  };
  assert.equal(after(talksFirst, ...talking).slice(5), ['playRinging', 'stopTone']);
  assert.equal(then(), ['consulting']);
  assert.equal(then(...keys('5')), ['consulting', 'passKeys 5']);
  assert.equal(then(...keys('*')), ['collectingThere']);
  assert.equal(then(...keys('*'), over('collectingThere', 'digitTimeout')), ['consulting', 'passKeys *']);
  assert.equal(then(...keys('*7')), ['consulting', 'passKeys *7']);
  assert.equal(then(...keys('*3'), told(200)), ['over', 'completeTransfer']);
  assert.equal(then(...keys('**1'), told(487)), ['talking', 'passKeys *', 'abortTransfer', 'resumeCall']);
  assert.equal(then(told(480)), ['talking', 'resumeCall']);
  // What was begun there is forgotten here.
  assert.equal(then(...keys('*'), told(480), ...keys('3')), ['talking', 'resumeCall', 'passKeys 3']);
});

chart('of two codes the shorter counts at once', () => {
  const short: FeatureKeysInput = {
    ...talksFirst,
    consultationCodes: [
      { feature: 'atxferabort', code: '*1' },
      { feature: 'atxfercomplete', code: '*' },
    ],
  };
  assert.equal(after(short, ...talking, ...keys('*')).slice(-1), ['completeTransfer']);
});

chart('who leaves its call is listened to no more, wherever it is', () => {
  const there = [calling, talking, [...talking, ...keys('*')]];
  for (const way of there) assert.equal(after(talksFirst, ...way, { type: 'party.left' })[0], 'over');
  const ways = [[], keys('#'), keys('#1'), dialed, through, [...through, told(486)]];
  for (const way of ways) assert.equal(after(transfers, ...way, { type: 'party.left' })[0], 'over');
});

chart('a party that presses nothing more is waited for so long as is set', () => {
  const times = (...events: FeatureKeysEvent[]) => {
    let [snapshot] = initialTransition(featureKeysMachine, transfers);
    for (const each of events) [snapshot] = transition(featureKeysMachine, snapshot, each);
    return delaysIn(featureKeysMachine, snapshot);
  };
  const { digitTimeoutMs: digitTimeout, numberTimeoutMs: numberTimeout } = transfers;
  assert.equal(times(...keys('#')), { digitTimeout });
  assert.equal([times(...keys('#1')), times(...dialed)], [{ numberTimeout }, { numberTimeout }]);
  assert.equal(times(...through, told(486)), { refusalTone: 1_500 });
});

chart('a status of 300 is a refusal; in the talk the end of a code leaves the party there', () => {
  assert.is(after(transfers, ...through, told(300))[0], 'refused');
  assert.is(after(talksFirst, ...talking, ...keys('*3'))[0], 'consulting');
  assert.is(after(talksFirst, ...talking, ...keys('**1'))[0], 'consulting');
  assert.is(after(talksFirst, ...keys('*32'), ...keys('0'))[0], 'dialing');
});

chart('every state and transition is reached', () => {
  const coverage = coverChart(featureKeysMachine, {
    inputs: [
      ...inputs,
      separate,
      everything,
      { ...everything, codes: [{ feature: 'disconnect', code: '5' }] },
      {
        ...everything,
        codes: [{ feature: 'atxfer', code: '#' }],
        consultationCodes: [
          { feature: 'atxferabort', code: '*' },
          { feature: 'atxfercomplete', code: '#' },
        ],
      },
      {
        ...everything,
        codes: [
          { feature: 'disconnect', code: '*3' },
          { feature: 'automixmon', code: '3' },
          { feature: 'blindxfer', code: '#' },
        ],
      },
      ...(['automixmon', 'blindxfer', 'atxfer'] as const).map((feature) => ({
        ...everything,
        codes: [
          { feature, code: '*' },
          { feature: 'disconnect', code: '*0' },
        ],
      })),
    ] as FeatureKeysInput[],
    events: events as FeatureKeysEvent[],
    key: ({ context: { pressed, failed, consults, codes, consultationCodes } }) => [
      ...[pressed.map(({ digit }) => digit), failed, consults, codes, consultationCodes],
    ],
    limit: 20_000,
  });
  assertCovered(featureKeysMachine, coverage);
});

chart.run();
