import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { paths, startTestServer, type TestServer } from '../../packages/testing/src/index.ts';
import { nodeArguments } from '../../scripts/compiled.ts';
import { exampleCalls } from '../support/example-calls.ts';

/** The programs of `examples`, with the testing kit: a normal call, and some of the calls that `paths` makes of it. */
const examples = suite('examples with the testing kit');

/** A loaded machine lets programs wait longer than usual. */
const quietMs = 15;
const most = Number(process.env['HOOKSWITCH_TEST_PATHS'] ?? 5);

for (const { name, title, call } of exampleCalls)
  examples(`${name}: ${title}; disturbed calls do no harm`, async () => {
    const start = (pbx: TestServer) => pbx.run(process.execPath, nodeArguments(`examples/${name}.ts`));
    const report = await paths({ server: { app: 'hello', quietMs }, start, call, most, within: '9m' });
    assert.equal(report.findings, [], report.text);
    assert.ok(report.runs > 0, report.text);
  });

examples('recorded-call: a call whose recording fails ends', async () => {
  const pbx = await startTestServer({ app: 'hello', quietMs });
  try {
    await pbx.run(process.execPath, nodeArguments('examples/recorded-call.ts'));
    const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
    await alice.dial('100');
    await bob.answer();
    await pbx.event('RecordingStarted');
    pbx.faults.diskFull();
    await Promise.all([alice.hungUp(), bob.hungUp()]);
    await pbx.idle();
  } finally {
    await pbx.close();
  }
});

examples.run();
