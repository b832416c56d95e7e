import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths, startTestServer, type TestServer } from 'hookswitch/testing';

const start = (pbx: TestServer) => pbx.run(process.execPath, ['--import', 'tsx', 'greeter.ts']);

/** A normal call. */
async function call(pbx: TestServer): Promise<void> {
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
