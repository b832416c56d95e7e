import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { hostEngine } from '../../src/media/engine-host.ts';
import { audioSocketFrame, audioSocketKind } from '../../src/media/external/audio-socket.ts';
import type { Wire, WireListener, Wires } from '../../src/media/external/wires.ts';
import { inlineWakeUps, newWakeUp } from '../../src/media/pipe/wake-up.ts';
import type { MediaMessage } from '../../src/media/protocol.ts';
import { countHeard, newHeardCounter, ReportWindow } from '../../src/media/report-window.ts';
import { newDescriptorTable } from '../../src/media/rtp/descriptors.ts';
import { newBlock } from '../../src/media/session-memory.ts';
import type { ExternalRequest } from '../../src/telephony/external.ts';
import { heapMegabytes } from '../support/hostile.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { endTurn, FakeNetwork } from './support.ts';

const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
const there = { address: '127.0.0.1', port: 4000 };
const start = { connectionId: 'one', channel: 'WebSocket/one', channelId: 'one', variables: {} };
const common = { codec: 'slin', direction: 'both' } as const;
const audioSocket: ExternalRequest = { ...common, transport: 'audioSocket', host: 'server.example', port: 9092, uuid };
const webSocket: ExternalRequest = {
  ...common,
  ...{ transport: 'webSocket', url: 'ws://server.example', headers: {}, protocols: [], json: true },
  ...{ start, frameOctets: 320 },
};
const awaited: ExternalRequest = {
  ...common,
  ...{ transport: 'awaitedWebSocket', json: true, start, frameOctets: 320 },
};

/** A connection to a server, and how often it was told to stop and to go on. */
class Server implements Wire {
  readonly listener: WireListener;
  unsent = 0;
  told: ('pause' | 'resume')[] = [];

  constructor(listener: WireListener) {
    this.listener = listener;
  }

  send(octets: Uint8Array | string): void {
    this.unsent += octets.length;
  }

  pause(): void {
    this.told.push('pause');
  }

  resume(): void {
    this.told.push('resume');
  }

  end(): void {}
}

/** A media thread whose messages are heard when the test says so. */
function thread(reports = defaultMediaConfig.reports) {
  const clock = new ManualClock();
  const heard = newHeardCounter();
  const servers: Server[] = [];
  const posted: MediaMessage[][] = [];
  const open = (_where: unknown, ...rest: unknown[]): Wire => {
    const server = new Server(rest.at(-1) as WireListener);
    servers.push(server);
    return server;
  };
  const wires: Wires = { connect: open, openWebSocket: open };
  const config = { ...defaultMediaConfig, reports };
  const carryOut = hostEngine(
    { config, thread: 0, wakeUp: newWakeUp(1), heard, descriptors: newDescriptorTable() },
    { clock, sockets: new FakeNetwork(), wires, random32: () => 1, wakeUps: inlineWakeUps() },
    (messages) => posted.push(messages),
  );
  carryOut([{ type: 'memory', block: newBlock() }]);
  return {
    servers,
    open(session: number, external: ExternalRequest) {
      carryOut([{ type: 'openExternal', session, slot: session, external }]);
      servers.at(-1)?.listener.opened(there);
    },
    carryOut,
    /** What waits to be heard. */
    unheard: () => posted.flat(),
    async hear() {
      await endTurn();
      const all = posted.splice(0);
      for (const _batch of all) countHeard(heard);
      return all.flat();
    },
    async tick() {
      clock.advance(20);
      await endTurn();
    },
  };
}

const digits = (count: number): Uint8Array =>
  Buffer.concat(
    Array.from({ length: count }, (_, at) => audioSocketFrame(audioSocketKind.digit, Buffer.from(`${at % 10}`))),
  );
const digitsOf = (messages: readonly MediaMessage[]) =>
  messages.flatMap((message) => (message.type === 'digit' ? [message.digit] : [])).join('');

test('a server that sends digits faster than they are heard is not read meanwhile, and none is lost', async () => {
  const { open, servers, hear, tick, unheard } = thread();
  open(1, audioSocket);
  await hear();
  servers[0]!.listener.received(digits(200));
  servers[0]!.listener.received(digits(200));
  for (let ticks = 0; ticks < 50; ticks++) await tick();
  assert.is(unheard().length, defaultMediaConfig.reports.perSession, 'nobody hears: no more is told');
  assert.equal(servers[0]!.told, ['pause']);
  let all = '';
  for (let ticks = 0; ticks < 30; ticks++) {
    all += digitsOf(await hear());
    await tick();
  }
  assert.is(all, '0123456789'.repeat(40));
  assert.equal(servers[0]!.told, ['pause', 'resume']);
});

test('a server that has gone is told behind the digits that it sent', async () => {
  const { open, servers, hear, tick } = thread();
  open(1, audioSocket);
  await hear();
  servers[0]!.listener.received(digits(40));
  servers[0]!.listener.closed('the far side closed the connection');
  const messages: MediaMessage[] = [];
  for (let ticks = 0; ticks < 5; ticks++) {
    messages.push(...(await hear()));
    await tick();
  }
  assert.is(digitsOf(messages).length, 40);
  assert.equal(messages.at(-1), { type: 'faulted', session: 1, reason: 'the far side closed the connection' });
});

test('many servers together make no more messages than their share of those that may wait in all', async () => {
  const { open, servers, hear, tick, unheard } = thread({ perSession: 16, inAll: 800 });
  for (let session = 1; session <= 30; session++) open(session, session % 2 ? audioSocket : webSocket);
  for (let left = 1; left > 0; left = (await hear()).length) await tick();
  for (const [at, { listener }] of servers.entries())
    if (at % 2 === 0) listener.received(digits(50));
    else for (let count = 0; count < 50; count++) listener.told?.('{"command":"ANSWER"}');
  for (let ticks = 0; ticks < 10; ticks++) await tick();
  assert.is(unheard().length, 100);
});

test('digits that wait take the memory of their octets', async () => {
  const { open, servers, hear } = thread();
  for (let session = 1; session <= 50; session++) open(session, audioSocket);
  await hear();
  const read = digits(16_384);
  const before = heapMegabytes();
  for (const { listener } of servers) listener.received(read);
  const taken = heapMegabytes() - before;
  assert.ok(taken < 10, `${taken} MB for 50 reads of 64 KiB`);
  assert.ok(servers.every(({ told }) => told.length === 1 && told[0] === 'pause'));
});

test('a WebSocket that another thread holds is not read while its commands wait', async () => {
  const { open, carryOut, hear, tick } = thread();
  open(1, awaited);
  carryOut([{ type: 'relay', session: 1, relay: { type: 'opened', local: there } }]);
  await hear();
  const message = `{"command":"ANSWER","id":"${'x'.repeat(936)}"}`;
  // 64 KiB and more: the socket is read no further until it is told that they were taken.
  for (let count = 0; count < 80; count++)
    carryOut([{ type: 'relay', session: 1, relay: { type: 'message', message } }]);
  const taken = (messages: MediaMessage[]): boolean =>
    messages.some((told) => told.type === 'relayed' && told.relay.type === 'taken');
  assert.not(taken((await hear()).slice(16)));
  let all: MediaMessage[] = [];
  for (let ticks = 0; ticks < 10; ticks++) {
    await tick();
    all = [...all, ...(await hear())];
  }
  assert.ok(taken(all), 'it goes on when they were dealt with');
});

test('a server that reads no answers to its commands is given up', async () => {
  const { open, servers, hear, tick } = thread();
  open(1, webSocket);
  const messages = await hear();
  for (let count = 0; count < 5_000; count++) servers[0]!.listener.told?.('{"command":"NONSENSE"}');
  for (let ticks = 0; ticks < 3; ticks++) {
    await tick();
    messages.push(...(await hear()));
  }
  assert.equal(messages.at(-1), { type: 'faulted', session: 1, reason: 'the far side does not read' });
  assert.ok(servers[0]!.unsent < 3 * defaultMediaConfig.external.unsentBytes);
});

test('events of packets beyond the limit of a call are dropped, answers and ends never are', () => {
  const heard = newHeardCounter();
  const window = new ReportWindow(heard, { perSession: 2, inAll: 3 });
  const digit = (session: number): MediaMessage => ({ type: 'digit', session, digit: '1', durationMs: 100 });
  assert.equal(
    [1, 1, 1, 2, 2].map(digit).map((message) => window.take(message)),
    [true, true, false, true, false],
  );
  assert.ok(window.take({ type: 'faulted', session: 1, reason: 'over' }));
  assert.ok(window.take({ type: 'ended', request: 1 }));
  window.posted();
  assert.not(window.take(digit(3)), 'nothing was heard yet');
  assert.not(window.mayTell(3));
  countHeard(heard);
  assert.ok(window.take(digit(1)));
});

test('servers that send too much leave room for the digits of phones', () => {
  const window = new ReportWindow(newHeardCounter(), { perSession: 16, inAll: 800 });
  const digit = (session: number): MediaMessage => ({ type: 'digit', session, digit: '1', durationMs: 100 });
  for (let server = 1; server <= 100; server++) while (window.mayTell(server)) window.take(digit(server));
  assert.ok(window.take(digit(101)), 'a phone');
});

test.run();
