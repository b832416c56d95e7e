import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { curvesOf, measuresOf, mediaText, valueAt, videoRowsOf } from '../../page/core/measures.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';

const drawing = suite('curves of what was measured');

const media = (at: number, object: string, report: object) =>
  ({ kind: 'media', seq: at, at, object, report }) as TimelineEntry;
const request = { kind: 'request', seq: 2, at: 2 } as TimelineEntry;

drawing('what was recorded and what was asked for are one line in the order of time', () => {
  const measures = measuresOf(
    [media(1, 'a', { loss_heard: 0, level_db: -20 }), request, media(6, 'a', { loss_heard: 3, level_db: -30 })],
    [{ at: 4, object: 'a', report: { loss_heard: 2 } }],
  );
  assert.equal(
    measures.map(({ at }) => at),
    [1, 4, 6],
  );
  assert.equal(curvesOf(measures, String), [
    { title: 'Loss (packets)', lines: [{ label: 'heard', values: [0, 2, 3] }], range: { low: 0, high: 4 } },
    { title: 'Level (dB)', lines: [{ label: 'heard', values: [-20, null, -30] }], range: { low: -90, high: 0 } },
  ]);
});

drawing('lines of several channels say whose they are', () => {
  const measures = [
    { at: 1, object: 'a', report: { jitter_heard_ms: 1, jitter_sent_ms: 2 } },
    { at: 2, object: 'b', report: { jitter_heard_ms: 3 } },
  ];
  assert.equal(
    curvesOf(measures, (object) => object.toUpperCase()).map(({ lines }) => lines),
    [
      [
        { label: 'A heard', values: [1, null] },
        { label: 'A sent', values: [2, null] },
        { label: 'B heard', values: [null, 3] },
      ],
    ],
  );
});

drawing('of many channels the first are drawn, or the one that was chosen', () => {
  const measures = ['a', 'b', 'c'].map((object, at) => ({ at, object, report: { loss_heard: at, loss_sent: 0 } }));
  const labels = (chosen?: string) =>
    curvesOf(measures, String, 'audio', chosen).map(({ lines }) => lines.map(({ label }) => label));
  assert.equal(labels(), [['a heard', 'a sent', 'b heard', 'b sent']]);
  assert.equal(labels('c'), [['heard', 'sent']]);
});

drawing('at a moment of the past the value of then is told', () => {
  const [times, values] = [
    [1, 2, 3],
    [5, null, 7],
  ];
  assert.equal(
    [0, 1, 2, 3, undefined].map((at) => valueAt(times, values, at)),
    [undefined, 5, 5, 7, 7],
  );
});

drawing('a measure is told in a few words', () => {
  assert.is(
    mediaText({ codec: 'ulaw', loss_heard: 3, jitter_heard_ms: 2.1, level_db: -23 }),
    '3 lost, jitter 2.1 ms, -23 dB',
  );
  assert.is(mediaText({ dropped_ms: 40, level_db: -23, level_sent_db: -90 }), '40 ms left out, -23 dB, sent -90 dB');
  assert.is(mediaText({ codec: 'ulaw' }), '');
  assert.is(
    mediaText({ video: 0, loss_heard: 0, jitter_heard_ms: 1, key_frames_asked: 2 }),
    '0 lost, jitter 1 ms, key frames asked for: 2',
  );
});

drawing('streams of video have curves of their own, and a row that says whom each shows', () => {
  const measures = [
    { at: 1, object: 'a', report: { codec: 'ulaw', loss_heard: 9 } },
    { at: 1, object: 'a', report: { video: 0, codec: 'vp8', loss_heard: 1, shows: 'b', key_frames_asked: 2 } },
    { at: 1, object: 'b', report: { video: 0, codec: 'vp8', loss_heard: 2 } },
    { at: 3, object: 'a', report: { video: 0, codec: 'vp8', loss_heard: 4, shows: 'c', key_frames_asked: 3 } },
  ];
  assert.equal(curvesOf(measures, String), [
    { title: 'Loss (packets)', lines: [{ label: 'heard', values: [9, null, null, null] }], range: { low: 0, high: 4 } },
  ]);
  const upper = (object: string) => object.toUpperCase();
  assert.equal(
    curvesOf(measures, upper, 'video').map(({ lines }) => lines),
    [
      [
        { label: 'A heard', values: [null, 1, null, 4] },
        { label: 'B heard', values: [null, null, 2, null] },
      ],
    ],
  );
  assert.equal(
    [videoRowsOf(measures, upper, 2), videoRowsOf(measures, upper, undefined)].map((rows) =>
      rows.map(({ name, report }) => [name, report['shows']]),
    ),
    [
      [
        ['A', 'b'],
        ['B', undefined],
      ],
      [
        ['A', 'c'],
        ['B', undefined],
      ],
    ],
  );
  const second = { at: 4, object: 'a', report: { video: 1, shows: 'b' } };
  assert.equal(
    videoRowsOf([...measures, second], upper, undefined).map(({ name }) => name),
    ['A 0', 'B', 'A 1'],
  );
});

drawing.run();
