import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import type { MediaCommand, MediaMessage } from '../../src/media/protocol.ts';
import type { MediaThread } from '../../src/media/start-worker.ts';
import type { MediaReport, PlayReport } from '../../src/telephony/media.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { endTurn, memoryLogger } from './support.ts';

/** A plane over a thread that only writes down what it is asked. */
function planeOverFake() {
  const posted: MediaCommand[][] = [];
  let tell: (value: unknown) => void = () => {};
  let exit: (code: number) => void = () => {};
  const thread: MediaThread = {
    postMessage(commands: MediaCommand[]) {
      posted.push(commands);
      for (const command of commands)
        if (command.type === 'shutdown') tell([{ type: 'ended', request: command.request } satisfies MediaMessage]);
    },
    terminate: async () => {
      exit(0);
      return 0;
    },
    on(event: string, listener: (value: never) => void) {
      if (event === 'message') tell = listener as typeof tell;
      if (event === 'exit') exit = listener as typeof exit;
    },
  };
  const plane = createMediaPlane({
    config: defaultMediaConfig,
    clock: new ManualClock(0),
    log: memoryLogger(),
    startThread: () => thread,
  });
  return { plane, posted, tell: (...messages: MediaMessage[]) => tell(messages) };
}

const digits = { digits: '12', beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 };

test('ten thousand pairs that are opened, echoed, muted and closed cost no message', async () => {
  const { plane, posted } = planeOverFake();
  for (let call = 0; call < 10_000; call++) {
    const [first, second] = plane.openPair([`${call}`, `${call};2`], [() => {}, () => {}]);
    second.echo(true);
    first.indicate('ringing');
    first.mute({ in: true, out: true });
    assert.is(await first.statistics(), undefined);
    first.close();
    second.close();
  }
  await endTurn();
  assert.equal(posted, []);
  await plane.close();
});

test('the first item opens its half in the thread, all of one turn in one message', async () => {
  const { plane, posted, tell } = planeOverFake();
  const [first] = plane.openPair(['a', 'b'], [() => {}, () => {}]);
  const reports: PlayReport[] = [];
  const item = { uri: 'sound:beep', language: 'en', offsetMs: 0 };
  first.play(item, (report) => reports.push(report)).pause();
  first.sendDigits(digits);
  await endTurn();
  assert.is(posted[0]?.shift()?.type, 'memory');
  assert.equal(posted, [
    [
      { type: 'openLocal', session: 1, slot: 0 },
      { type: 'play', session: 1, play: 1, item },
      { type: 'control', session: 1, play: 1, action: 'pause' },
      { type: 'sendDigits', session: 1, sequence: digits },
    ],
  ]);
  tell({ type: 'played', session: 1, play: 1, report: { type: 'media.finished' } });
  assert.equal(reports, [{ type: 'media.finished' }]);
  first.close();
  await endTurn();
  assert.equal(posted[1], [{ type: 'close', session: 1 }]);
  await plane.close();
});

test('digits sent on one half are told on the other; an echoing half sends them back once', async () => {
  const { plane, tell } = planeOverFake();
  const heard: string[] = [];
  const hear = (name: string) => (report: MediaReport) =>
    heard.push(`${name} ${report.type === 'media.digit' ? `${report.digit} ${report.durationMs}` : report.type}`);
  const [first, second] = plane.openPair(['a', 'b'], [hear('first'), hear('second')]);
  first.sendDigits(digits);
  tell({ type: 'digitSent', session: 1, digit: '1', durationMs: 100 });
  assert.equal(heard, ['second 1 100']);
  first.echo(true);
  second.echo(true);
  tell({ type: 'digitSent', session: 1, digit: '2', durationMs: 100 });
  assert.equal(heard, ['second 1 100', 'second 2 100', 'first 2 100']);
  second.close();
  tell({ type: 'digitSent', session: 1, digit: '3', durationMs: 100 });
  assert.is(heard.length, 3);
  await plane.close();
});

test('a listener that throws costs no other session its report', async () => {
  const { plane, tell } = planeOverFake();
  const heard: PlayReport[] = [];
  const item = { uri: 'sound:beep', language: 'en', offsetMs: 0 };
  const [first, second] = plane.openPair(['a', 'b'], [() => {}, () => {}]);
  first.play(item, () => {
    throw new Error('a mistake');
  });
  second.play(item, (report) => heard.push(report));
  const finished = { type: 'media.finished' } as const;
  tell(
    { type: 'played', session: 1, play: 1, report: finished },
    { type: 'played', session: 2, play: 1, report: finished },
  );
  assert.equal(heard, [finished]);
  await plane.close();
});

test.run();
