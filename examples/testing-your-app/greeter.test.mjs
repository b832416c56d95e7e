import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths, startTestServer } from 'hookswitch/testing';

const start = (pbx) => pbx.run(process.execPath, ['greeter.mjs']);

/** A normal call. */
async function call(pbx) {
  const alice = pbx.phone('alice');
  await alice.call('100');
  await alice.hears('hello-world');
  await alice.press('1#');
  await alice.hungUp();
}

test('callers are greeted, and # hangs up', async () => {
  const pbx = await startTestServer({ app: 'hello' });
  try {
    await start(pbx);
    await call(pbx);
    await pbx.idle();
  } finally {
    await pbx.close();
  }
});

test('it survives all that can happen to a call', async () => {
  const report = await paths({ server: { app: 'hello' }, start, call, most: 12 });
  assert.deepEqual(report.findings, [], report.text);
});
