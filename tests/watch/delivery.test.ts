import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Batch } from '../../src/stores/spool.ts';
import { createDelivery } from '../../src/watch/delivery.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const delivery = suite('the delivery of records');

/** A spool in memory, and whoever is told. */
function world(answers: (number | string)[]) {
  const clock = new ManualClock();
  const { log, lines } = createRecordingLog();
  const batches: Batch[] = [];
  const told: string[] = [];
  const posted: [ms: number, body: string][] = [];
  const begun = clock.now();
  let number = 0;
  const spool = {
    oldest: async () => batches[0],
    drop(batch: Batch) {
      batches.shift();
      told.push(`drop ${batch.number}`);
    },
    setAside(batch: Batch) {
      batches.shift();
      told.push(`set aside ${batch.number}`);
      return `${batch.number}.refused`;
    },
    get octets() {
      return batches.length * 100;
    },
  };
  const made = createDelivery({
    spool,
    async post(body) {
      posted.push([clock.now() - begun, body]);
      const answer = answers.shift() ?? 204;
      if (typeof answer === 'string') throw new Error(answer);
      return answer;
    },
    abort: () => void told.push('abort'),
    chance: () => 0.5,
    retryMs: 1_000,
    longestRetryMs: 3_000,
    clock,
    log,
  });
  const put = (...records: number[]): void => {
    batches.push({ number: ++number, lines: records.map((id) => `{"id":${id}}\n`) });
    made.wake();
  };
  return { clock, made, put, told, posted, lines, settle: () => clock.run(0) };
}

delivery('posts each batch as JSON, in order, and forgets it when it was taken', async () => {
  const { put, posted, told, settle, made } = world([]);
  put(1, 2);
  put(3);
  await settle();
  put(4);
  await settle();
  assert.equal(posted, [
    [0, '{"records":[{"id":1},{"id":2}]}'],
    [0, '{"records":[{"id":3}]}'],
    [0, '{"records":[{"id":4}]}'],
  ]);
  assert.equal(told, ['drop 1', 'drop 2', 'drop 3']);
  await made.close();
});

delivery('tries again later and later, a part by chance, no longer than it may, and nothing overtakes', async () => {
  const { clock, put, posted, told, lines, settle } = world([503, 'refused', 404, 500, 200]);
  put(1);
  await settle();
  put(2);
  await settle();
  await clock.run(10_000);
  assert.equal(posted, [
    [0, '{"records":[{"id":1}]}'],
    [750, '{"records":[{"id":1}]}'],
    [2_250, '{"records":[{"id":1}]}'],
    [4_500, '{"records":[{"id":1}]}'],
    [6_750, '{"records":[{"id":1}]}'],
    [6_750, '{"records":[{"id":2}]}'],
  ]);
  assert.equal(told, ['drop 1', 'drop 2']);
  assert.equal(
    lines.map(({ message, fields }) => [message, fields['reason'], fields['attempts'], fields['next_s']]),
    [
      ['cannot deliver records; they are queued', 'it answered 503', 1, 0.75],
      ['cannot deliver records; they are queued', 'refused', 2, 1.5],
      ['cannot deliver records; they are queued', 'it answered 404', 3, 2.25],
      ['cannot deliver records; they are queued', 'it answered 500', 4, 2.25],
      ['the delivery of records resumed', undefined, 5, undefined],
    ],
  );
});

delivery('what would be refused for ever is put aside, and the next goes on', async () => {
  const { put, posted, told, lines, settle } = world([422]);
  put(1);
  put(2);
  await settle();
  assert.equal([posted.length, told], [2, ['set aside 1', 'drop 2']]);
  assert.equal(
    lines.map(({ message, fields }) => [message, fields]),
    [['call detail records were refused and set aside', { status: 422, records: 1, file: '1.refused' }]],
  );
});

delivery('closing leaves what was not taken, and sets no timer', async () => {
  const { clock, put, posted, told, settle, made } = world([503]);
  put(1);
  await settle();
  await made.close();
  await clock.run(60_000);
  put(2);
  await settle();
  assert.equal([posted.length, told, clock.pending], [1, ['abort'], 0]);
});

delivery.run();
