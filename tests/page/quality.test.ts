import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { impairmentOf, opinionScore, rating, scoreWord } from '../../page/core/e-model.ts';
import { legQualities, withQuality } from '../../page/core/quality.ts';

const quality = suite('the quality of audio');

quality('the rating and the score are those of G.107', () => {
  // G.107: R = 93.2 is a score of 4.41, 50 of 2.58, 70 of 3.60; G.711 with concealment loses 10.6 by 3 % loss.
  assert.equal([93.2, 80, 70, 60, 50].map(opinionScore), [4.4, 4, 3.6, 3.1, 2.6]);
  assert.equal([opinionScore(0), opinionScore(-3), opinionScore(6)], [1, 1, 1]);
  assert.is(rating({ delayMs: 100, loss: 0 }), 93.2);
  assert.is(rating({ delayMs: 0, loss: 0.03 }).toFixed(1), '83.1');
  // Idd of 200 ms is 3, of 400 ms 24.1 (G.107 figure 7).
  assert.is((93.2 - rating({ delayMs: 200, loss: 0 })).toFixed(1), '3.0');
  assert.is((93.2 - rating({ delayMs: 400, loss: 0 })).toFixed(1), '24.1');
  assert.is(rating({ delayMs: 100, loss: 0 }, { ie: 11, bpl: 19 }).toFixed(1), '82.2');
  assert.is(rating({ delayMs: 2_000, loss: 1 }), 0);
  assert.equal([4, 3.9, 3.1, 3, 1].map(scoreWord), ['good', 'fair', 'fair', 'poor', 'poor']);
});

quality('each codec takes off what is published for it, and what is an approximation says so', () => {
  const at = (codec: string, loss: number) => rating({ delayMs: 0, loss }, impairmentOf(codec)).toFixed(1);
  // G.113 appendix I: G.711 with concealment has Ie 0 and Bpl 25.1. 1 % takes 3.6 off, 5 % 15.8.
  assert.equal([at('ulaw', 0), at('alaw', 0.01), at('ulaw', 0.05)], ['93.2', '89.6', '77.4']);
  // Alahmadi 2021, narrowband Opus at 11 kbit/s: Ie 2, Bpl 16.
  assert.equal([at('opus', 0), at('opus', 0.01), at('opus', 0.05)], ['91.2', '85.7', '69.1']);
  assert.is(at('g722', 0.05), at('ulaw', 0.05));
  assert.equal(
    ['ulaw', 'alaw', 'g722', 'opus', 'slin16', '', 'toString'].map((codec) => impairmentOf(codec).isPublished),
    [true, true, false, false, false, false, false],
  );
  const [leg] = legQualities(
    withQuality([
      measure(1, 'a', counts(95, 5, { codec: 'opus' })),
      measure(2, 'a', counts(195, 5, { codec: 'opus' })),
    ]),
    undefined,
  );
  assert.equal([leg?.codec, leg?.isPublished, leg?.worst, leg?.score], ['opus', false, 3.6, 4.4]);
  // Figures that are asked for later name no codec.
  const later = withQuality([measure(1, 'a', counts(100, 0, { codec: 'opus' })), measure(2, 'a', counts(195, 5))]);
  assert.equal([later[1]?.report['mos_heard'], legQualities(later, undefined)[0]?.codec], [3.6, 'opus']);
});

const measure = (at: number, object: string, report: object) => ({ at, object, report: { ...report } });
const counts = (heard: number, lost: number, more: object = {}) => ({
  ...{
    packets_heard: heard,
    loss_heard: lost,
    packets_sent: heard,
    loss_sent: 0,
    jitter_heard_ms: 1,
    jitter_sent_ms: 2,
  },
  ...more,
});

quality('each measure tells the loss since the one before, the delay and the score of both directions', () => {
  const [first, second, third] = withQuality([
    measure(1, 'a', counts(100, 0, { rtt_ms: 40 })),
    measure(2, 'a', counts(180, 20)),
    measure(3, 'a', counts(180, 20)),
  ]).map(({ report }) => report);
  assert.equal(
    [first?.['loss_heard_percent'], first?.['delay_heard_ms'], first?.['mos_heard'], first?.['mos_sent']],
    [0, 42, 4.4, 4.4],
  );
  // 20 of 100 packets; the last round trip is still known.
  assert.equal(
    [second?.['loss_heard_percent'], second?.['delay_sent_ms'], second?.['mos_heard'], second?.['mos_sent']],
    [20, 44, 2.6, 4.4],
  );
  assert.is(third?.['mos_heard'], undefined, 'nothing came');
});

quality('the leg that is bad is known by its worst moment, also when it is good again, and the past by its own', () => {
  const measures = withQuality([
    measure(1, 'a', counts(100, 0)),
    measure(1, 'b', counts(0, 0, { packets_sent: 100, level_sent_db: -20 })),
    measure(2, 'a', counts(150, 50)),
    measure(3, 'a', counts(250, 50, { level_db: -30 })),
    measure(3, 'a', { video: 1, packets_heard: 5, loss_heard: 5 }),
  ]);
  const shown = (at?: number) =>
    legQualities(measures, at).map(({ object, direction, word, score, worst, worstAt, levelDb }) =>
      [object, direction, word, score, worst, worstAt, levelDb].join(' '),
    );
  assert.equal(shown(), [
    'a heard poor 4.4 1.6 2 -30',
    'a sent good 4.4 4.4 1 ',
    'b heard silent    ',
    'b sent good 4.4 4.4 1 -20',
  ]);
  // A phone that rings has nothing to say yet.
  const [ringing] = legQualities(withQuality([measure(1, 'a', counts(0, 0))]), undefined);
  assert.is(ringing?.word, 'unknown');
  assert.equal(shown(1)[0], 'a heard good 4.4 4.4 1 ');
});

quality.run();
