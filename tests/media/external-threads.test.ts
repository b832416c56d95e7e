import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import type { ArrivedSocket, ExternalReport, ExternalRequest } from '../../src/telephony/external.ts';
import { AudioSocketServer } from '../support/audio-socket-server.ts';
import { memoryLogger } from './support.ts';

const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
const local = { address: '127.0.0.1', port: 8088 };
/** 20 ms that are no silence, as octets of linear samples. */
const loud = new Uint8Array(new Int16Array(160).fill(5000).buffer);

/** A plane over three threads that can be ended from outside, and what one session of it is told. */
function threePlaces() {
  const threads: MediaThread[] = [];
  const reports: ExternalReport['type'][] = [];
  let look = () => {};
  const plane = createMediaPlane({
    // A busy machine takes its time to start them.
    config: { ...defaultMediaConfig, threads: 3, threadTimeoutMs: 60_000, ports: { first: 0, last: 0 } },
    clock: systemClock,
    log: memoryLogger(),
    startThread(start) {
      const thread = startWorker(start);
      threads.push(thread);
      return thread;
    },
  });
  return {
    plane,
    threads,
    reports,
    told(report: ExternalReport) {
      reports.push(report.type);
      look();
    },
    /** Resolves when these are the last reports. */
    lastTold: (...last: ExternalReport['type'][]) =>
      new Promise<void>((resolve) => {
        look = () => {
          if (reports.slice(-last.length).join() === last.join()) resolve();
        };
        look();
      }),
  };
}

const toServer = (server: AudioSocketServer): ExternalRequest => {
  const [host = '', port] = server.address.split(':');
  return { transport: 'audioSocket', host, port: Number(port), uuid, codec: 'slin', direction: 'both' };
};

test('a connection to a server is made again when its thread dies: what holds of the session holds again', async () => {
  const server = await AudioSocketServer.open();
  const { plane, threads, reports, told, lastTold } = threePlaces();
  const session = plane.openExternal('ai', toServer(server), told);
  session.echo(true);
  for (const round of [0, 1]) {
    const call = await server.call(round);
    call.send(0x10, loud);
    await call.until(() => call.samples().some((sample) => sample === 5000), 'the echo');
    assert.equal(
      [call.frames[0]?.kind, call.frames[0]?.payload.toString('hex')],
      [0x01, uuid.replaceAll('-', '')],
      'each connection begins by saying which call it is',
    );
    await lastTold('media.flowing');
    if (round === 0) await threads[0]!.terminate();
  }
  assert.equal(reports, ['media.connected', 'media.flowing', 'media.cut', 'media.connected', 'media.flowing']);
  assert.equal(plane.spread?.(), [1, 0, 0]);
  session.close();
  const [, last] = server.calls;
  await last!.until(() => last!.isClosed, 'the goodbye');
  assert.is(last!.frames.at(-1)?.kind, 0x00);
  await plane.close();
  server.close();
});

test('a server that takes no connection again has lost the session, and whoever has it is told', async () => {
  const server = await AudioSocketServer.open();
  const { plane, threads, reports, told, lastTold } = threePlaces();
  plane.openExternal('ai', toServer(server), told);
  await server.call();
  await lastTold('media.connected');
  server.stopListening();
  await threads[0]!.terminate();
  await lastTold('media.lost');
  assert.equal(reports, ['media.connected', 'media.cut', 'media.lost']);
  await plane.close();
  server.close();
});

test('the WebSocket that a server has opened stays when a thread dies; it is told that all begins anew', async () => {
  const { plane, threads, reports, told, lastTold } = threePlaces();
  const sent: (string | Uint8Array)[] = [];
  const ends: string[] = [];
  let listener: Parameters<ArrivedSocket['listen']>[0] | undefined;
  let look = () => {};
  const socket: ArrivedSocket = {
    local,
    listen: (given) => {
      listener = given;
    },
    send(message, taken) {
      sent.push(message);
      taken();
      look();
    },
    pause: () => {},
    resume: () => {},
    end: () => ends.push('end'),
  };
  const session = plane.openExternal(
    'ai',
    {
      transport: 'awaitedWebSocket',
      codec: 'slin',
      direction: 'both',
      json: false,
      frameOctets: 320,
      start: { connectionId: 'c1', channel: 'WebSocket/INCOMING/0x1', channelId: 'ai', variables: {} },
    },
    told,
  );
  session.echo(true);
  session.attach(socket);
  await lastTold('media.connected');
  const echoed = () =>
    new Promise<void>((resolve) => {
      const before = sent.length;
      look = () => {
        if (sent.slice(before).some((each) => typeof each !== 'string' && each[1] === loud[1])) resolve();
      };
      listener!.received(loud);
    });
  await echoed();
  await threads[0]!.terminate();
  await lastTold('media.cut', 'media.connected');
  await echoed();
  assert.equal(
    sent.filter((each) => typeof each === 'string').map((each) => each.split(' ')[0]),
    ['MEDIA_START', 'MEDIA_START', 'MEDIA_XON'],
  );
  listener!.closed('gone');
  await lastTold('media.lost');
  assert.equal(
    reports.filter((type) => type !== 'media.flowing'),
    ['media.connected', 'media.cut', 'media.connected', 'media.lost'],
  );
  assert.equal(ends, ['end']);
  await plane.close();
});

test('one that closes while its thread is gone is not there any more in the next', async () => {
  const { plane, threads, told, lastTold } = threePlaces();
  let listener: Parameters<ArrivedSocket['listen']>[0] | undefined;
  const session = plane.openExternal(
    'ai',
    {
      transport: 'awaitedWebSocket',
      codec: 'slin',
      direction: 'both',
      json: false,
      frameOctets: 320,
      start: { connectionId: 'c1', channel: 'WebSocket/INCOMING/0x1', channelId: 'ai', variables: {} },
    },
    told,
  );
  session.attach({
    local,
    listen: (given) => {
      listener = given;
    },
    send: () => {},
    pause: () => {},
    resume: () => {},
    end: () => {},
  });
  await lastTold('media.connected');
  const gone = threads[0]!.terminate();
  listener!.closed('gone');
  await gone;
  await lastTold('media.cut', 'media.lost');
  await plane.close();
});

test('it lives in the thread of the session that it will meet, where that is known', async () => {
  const { plane } = threePlaces();
  const server = await AudioSocketServer.open();
  await plane.openRtp('phone', () => {});
  plane.openExternal('near', toServer(server), () => {}, 'phone');
  plane.openExternal('elsewhere', toServer(server), () => {});
  assert.equal(plane.spread?.(), [2, 1, 0]);
  await plane.close();
  server.close();
});

test.run();
