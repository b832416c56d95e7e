import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTimestampFormatter, formatTimestamp, timestampPattern } from '../../src/models/timestamp.ts';

const timestamps = suite('timestamps');
const pattern = new RegExp(timestampPattern);

timestamps('have the form of Asterisk, and lead back to the moment they were made from', () => {
  const from = Date.UTC(1971, 0, 1);
  const to = Date.UTC(2100, 0, 1);
  fc.assert(
    fc.property(fc.integer({ min: from, max: to }), (moment) => {
      const text = formatTimestamp(moment);
      assert.match(text, pattern);
      assert.is(text.length, 28);
      assert.is(Date.parse(text.replace(/(\d\d)$/, ':$1')), moment);
    }),
  );
});

timestamps('move on within a minute and over its end', () => {
  const format = createTimestampFormatter();
  const minute = new Date(2026, 0, 31, 12, 0).getTime();
  const tails = [0, 7, 42, 1_099, 59_999, 60_000, 0].map((ms) => format(minute + ms).slice(14, 23));
  assert.equal(tails, ['00:00.000', '00:00.007', '00:00.042', '00:01.099', '00:59.999', '01:00.000', '00:00.000']);
});

timestamps('have whole milliseconds', () => {
  assert.is(formatTimestamp(1_000.9), formatTimestamp(1_000));
});

timestamps.run();
