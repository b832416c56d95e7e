import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import type { MediaMessage } from '../../src/media/protocol.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import type { ExternalReport } from '../../src/telephony/external.ts';
import { AudioSocketServer } from '../support/audio-socket-server.ts';
import { untilAsked } from '../support/waiting.ts';
import { memoryLogger } from './support.ts';

/** Messages that may wait, of one call and of a thread. */
const reports = { perSession: 4, inAll: 80 };
/** Those of them that servers may use together. */
const share = 10;
const calls = 5;
/** Digits that each server sends at once. */
const digits = 300;

test('a media thread reports digits up to the bound, stops reading, and reports the rest when they are handled', async () => {
  const server = await AudioSocketServer.open();
  const held: MediaMessage[][] = [];
  let isHolding = false;
  let release = () => {};
  // A main thread that has other things to do: what arrives waits.
  const startThread = (start: Parameters<typeof startWorker>[0]): MediaThread => {
    const thread = startWorker(start);
    return {
      postMessage: (message) => thread.postMessage(message),
      terminate: () => thread.terminate(),
      on(event: string, listener: (value: never) => void) {
        if (event !== 'message') return thread.on(event as 'exit', listener as never);
        release = () => {
          isHolding = false;
          for (const messages of held.splice(0)) listener(messages as never);
        };
        return thread.on('message', (messages) => {
          if (isHolding) held.push(messages as MediaMessage[]);
          else listener(messages as never);
        });
      },
    };
  };
  const plane = createMediaPlane({
    config: { ...defaultMediaConfig, reports, threads: 1, threadTimeoutMs: 60_000, ports: { first: 0, last: 0 } },
    clock: systemClock,
    log: memoryLogger(),
    startThread,
  });
  const heard = new Array<number>(calls).fill(0);
  const [host = '', port] = server.address.split(':');
  for (let call = 0; call < calls; call++) {
    const uuid = `40325ec2-5efd-4bd3-805f-53576e581d1${call}`;
    const told = ({ type }: ExternalReport): void => {
      if (type === 'media.digit') heard[call]!++;
    };
    plane.openExternal(
      `${call}`,
      { transport: 'audioSocket', host, port: Number(port), uuid, codec: 'slin', direction: 'both' },
      told,
    );
    await server.call(call);
  }
  await plane.load?.();
  isHolding = true;
  for (const call of server.calls) for (let digit = 0; digit < digits; digit++) call.send(0x03, Buffer.from('5'));
  const waiting = () =>
    held.flat().filter(({ type }) => type === 'digit') as Extract<MediaMessage, { type: 'digit' }>[];
  await untilAsked(
    () => waiting().length > 0,
    () => 'no digit arrives',
  );
  // The thread answers three times more: it has had the time to read everything that there is.
  for (let answer = 1; answer <= 3; answer++) {
    void plane.load?.().catch(() => {});
    await untilAsked(
      () => held.flat().filter(({ type }) => type === 'load').length >= answer,
      () => 'the thread does not answer',
    );
  }
  const perCall = waiting();
  assert.ok(perCall.length <= share, `${perCall.length} digits wait`);
  for (const one of new Set(perCall.map(({ session }) => session))) {
    const count = perCall.filter(({ session }) => session === one).length;
    assert.ok(count <= reports.perSession, `${count} digits of one call wait`);
  }
  release();
  await untilAsked(
    () => heard.every((count) => count === digits),
    () => `digits are missing: ${heard}`,
  );
  await plane.close();
  server.close();
});

test.run();
