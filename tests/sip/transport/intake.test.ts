import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Intake } from '../../../src/sip/transport/intake.ts';
import type { Source } from '../../../src/sip/transport/transport.ts';
import { createTransports } from '../../../src/sip/transport/transports.ts';
import type { OpenUdp } from '../../../src/sip/transport/udp.ts';
import { silentLog } from '../../support/log.ts';

const source: Source = { protocol: 'udp', address: '192.0.2.2', port: 5060, listener: 1 };

/** An intake whose messages take so many ms each to handle; turns of the event loop end when the test says so. */
function createBench(eachMs: number, most = 10) {
  let now = 0;
  let turns: (() => void)[] = [];
  let dropped = 0;
  const taken: [text: string, waitedMs: number][] = [];
  const trying: string[] = [];
  const intake: Intake = new Intake({
    clock: { monotonic: () => now, soon: (fn) => void turns.push(fn) },
    most,
    take(bytes) {
      taken.push([String(bytes), intake.waitedMs]);
      now += eachMs;
    },
    callWaits: (bytes) => void trying.push(String(bytes)),
    full: () => void dropped++,
  });
  return {
    intake,
    arrive: (...texts: string[]) => {
      for (const text of texts) intake.arrived(Buffer.from(text), source);
    },
    pass: (ms: number) => void (now += ms),
    endTurn() {
      const due = turns;
      turns = [];
      for (const fn of due) fn();
    },
    taken: () => taken.splice(0),
    trying: () => trying.splice(0),
    dropped: () => dropped,
    waits: () => turns.length > 0,
  };
}

test('messages that can be handled are handled as they come', () => {
  const { arrive, pass, taken, waits } = createBench(1);
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    arrive(text);
    pass(1);
  }
  assert.equal(
    taken(),
    ['a', 'b', 'c', 'd', 'e'].map((text) => [text, 0]),
  );
  assert.not(waits());
});

test('a burst is handled over several turns, in order, and each message says how long it waited', () => {
  const { arrive, endTurn, taken, waits } = createBench(1);
  arrive('a', 'b', 'c', 'd', 'e', 'f', 'g');
  assert.equal(taken(), [
    ['a', 0],
    ['b', 0],
    ['c', 0],
  ]);
  endTurn();
  arrive('h');
  assert.equal(taken(), [
    ['d', 0],
    ['e', 1],
    ['f', 2],
  ]);
  endTurn();
  assert.equal(taken(), [
    ['g', 3],
    ['h', 1],
  ]);
  assert.not(waits());
  arrive('i');
  assert.equal(taken(), [['i', 0]]);
});

test('beyond the bound messages are dropped and counted', () => {
  const { arrive, endTurn, taken, dropped } = createBench(3, 2);
  arrive('a', 'b', 'c', 'd');
  assert.is(dropped(), 1);
  endTurn();
  endTurn();
  assert.equal(taken(), [
    ['a', 0],
    ['b', 0],
    ['c', 3],
  ]);
});

const invite = (name: string, to = '<sip:b@host>') =>
  `INVITE sip:b@host SIP/2.0\r\nCall-ID: ${name}\r\nTo: ${to}\r\n\r\n`;
const cancel = 'CANCEL sip:b@host SIP/2.0\r\nCall-ID: one\r\n\r\n';

test('new calls wait behind all other messages, and CANCEL behind its INVITE', () => {
  const { arrive, endTurn, taken } = createBench(3);
  const again = invite('again', '<sip:b@host>;tag=1');
  arrive('a', invite('one'), cancel, 'BYE sip:b@host SIP/2.0', again, invite('two'));
  for (let turn = 0; turn < 6; turn++) endTurn();
  assert.equal(
    taken().map(([text]) => text),
    ['a', 'BYE sip:b@host SIP/2.0', again, invite('one'), cancel, invite('two')],
  );
});

test('a new call is told that it waits once others have waited for 100 ms', () => {
  const { arrive, pass, taken, trying } = createBench(3);
  arrive('a', invite('one'));
  pass(99);
  arrive(invite('two'));
  assert.equal(trying(), []);
  pass(1);
  arrive(invite('three'), 'b');
  assert.equal(trying(), [invite('three')]);
  assert.is(taken().length, 1);
});

test('what waits when it is closed is dropped', () => {
  const { intake, arrive, endTurn, taken, waits } = createBench(3);
  arrive('a', 'b');
  intake.close();
  endTurn();
  assert.equal(taken(), [['a', 0]]);
  assert.not(waits());
});

test('a copy of an INVITE that is answered already gets no 100: it would follow the final response', async () => {
  let now = 0;
  let socket: Parameters<OpenUdp>[0] | undefined;
  const begun = new Set<string>();
  const sent: string[] = [];
  const transports = createTransports({
    clock: { now: () => now, monotonic: () => now, setTimeout: () => 0, clearTimeout() {}, soon() {} },
    log: silentLog,
    openUdp: async (opened) => {
      socket = opened;
      return { port: 5060, send: (bytes) => void sent.push(String(bytes)), close: async () => {} };
    },
    isBegun: ({ callId }) => begun.has(callId),
  });
  transports.onMessage((message) => {
    begun.add(message.callId);
    // Longer than a turn may take: what follows waits.
    now += 3;
  });
  await transports.bind([{ protocol: 'udp', host: '192.0.2.1', port: 5060 }]);
  const arrive = (callId: string) =>
    socket?.onDatagram(
      Buffer.from(
        `INVITE sip:b@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.2;branch=z9hG4bK${callId}\r\nFrom: <sip:a@h>;tag=1\r\n` +
          `To: <sip:b@h>\r\nCall-ID: ${callId}\r\nCSeq: 1 INVITE\r\n\r\n`,
      ),
      { address: '192.0.2.2', port: 5060, family: 'IPv4', size: 0 },
    );
  arrive('first');
  arrive('second');
  now += 100;
  arrive('first');
  arrive('third');
  assert.equal(
    sent.map((text) => /^(.*)\r[\s\S]*Call-ID: (\w+)/.exec(text)?.slice(1)),
    [['SIP/2.0 100 Trying', 'third']],
  );
});

test.run();
