import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../support/free-port.ts';
import { need } from '../../support/need.ts';
import { patienceMs } from '../../support/waiting.ts';
import { anybody, createPhone, type Phone, type TestChannel, trunkTo } from './support.ts';

const sippProgram = need('sipp');
const phones: Phone[] = [];
const sipp = suite('SIPp as the other side');

/** Runs SIPp; resolves with its exit code, 0 when every call went as its scenario says. */
const run = (program: string, ...options: string[]) => {
  const always = ['-i', '127.0.0.1', '-nostdin', '-timeout', `${(2 * patienceMs) / 1000}s`];
  const child = spawn(program, [...always, ...options], {
    cwd: tmpdir(),
    stdio: 'ignore',
  });
  return new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code));
  });
};

/** Takes every call at once and lets it go when the caller has ended it. */
function answerAll(phone: Phone, answered: Set<TestChannel>): void {
  phone.facts
    .until(() => {
      for (const channel of phone.channels) {
        if (!answered.has(channel)) {
          answered.add(channel);
          channel.leg.ring();
          channel.leg.answer();
        } else if (channel.told.at(-1) === 'leg.hungUp 16') channel.leg.hangup(16);
      }
      return answered.size === 10;
    }, 'ten calls')
    .catch(() => {});
}

sipp.after.each(async () => {
  for (const phone of phones.splice(0)) {
    await phone.finish();
    await phone.close();
  }
});

for (const [protocol, mode] of [
  ['udp', 'u1'],
  ['tcp', 't1'],
] as const)
  sippProgram.test(sipp, `ten calls from SIPp over ${protocol} are answered and ended`, async (program) => {
    const phone = await createPhone({ protocol, config: { endpoints: [anybody] } });
    phones.push(phone);
    const answered = new Set<TestChannel>();
    answerAll(phone, answered);
    assert.is(
      await run(program, `127.0.0.1:${phone.port}`, '-sn', 'uac', '-t', mode, '-m', '10', '-r', '50', '-d', '20'),
      0,
    );
    assert.equal(
      [...answered].map(({ told }) => told[0]),
      Array(10).fill('leg.answered'),
    );
    assert.is(phone.driver.counts().dialogs, 0);
  });

sippProgram.test(sipp, 'ten calls to SIPp are answered and ended by us', async (program) => {
  const port = await freePort();
  const phone = await createPhone({ config: { endpoints: [trunkTo(`sip:127.0.0.1:${port}`)] } });
  phones.push(phone);
  const exit = run(program, '-sn', 'uas', '-p', String(port), '-m', '10');
  const calls = Array.from({ length: 10 }, () => phone.open('600@trunk'));
  for (const { leg } of calls) leg.dial();
  for (const call of calls) await call.heard('leg.answered');
  for (const { leg } of calls) leg.hangup(16);
  assert.is(await exit, 0);
});

sipp.run();
