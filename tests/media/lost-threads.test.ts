import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { BroadcastChannel } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import { untilAsked } from '../support/waiting.ts';
import { memoryLogger, usualFlow } from './support.ts';

/** How often each test loses its threads; more by hand. */
const rounds = Number(process.env.HOOKSWITCH_TEST_LOST_THREADS ?? 1);
const ways = ['hang', 'memory', 'terminate'] as const;
const legs = 20;

/** Sends to ports as fast as it is let, from a process of its own. */
const flood = (ports: number[]) =>
  spawn(process.execPath, [
    '-e',
    `const { createSocket } = require('node:dgram');
     const socket = createSocket('udp4').on('error', () => {});
     const packet = Buffer.alloc(172); packet[0] = 0x80;
     let sequence = 0;
     setInterval(() => {
       packet.writeUInt16BE(++sequence & 0xffff, 2); packet.writeUInt32BE(sequence * 160, 4);
       for (const port of ${JSON.stringify(ports)}) for (let n = 0; n < 4; n++) socket.send(packet, port, '127.0.0.1');
     }, 2);`,
  ]);

const saboteur = fileURLToPath(new URL('./saboteur.cjs', import.meta.url));

for (const sockets of ['native', 'dgram'] as const)
  test(`the process survives threads that hang, run out of memory or are ended while packets arrive (${sockets})`, async () => {
    for (let round = 0; round < rounds; round++) await loseThreads(sockets, `lost-${sockets}-${round}`);
  });

async function loseThreads(sockets: 'native' | 'dgram', name: string): Promise<void> {
  const threads: MediaThread[] = [];
  const log = memoryLogger();
  const plane = createMediaPlane({
    config: { ...defaultMediaConfig, sockets, threads: 1, ports: { first: 0, last: 0 }, threadTimeoutMs: 60_000 },
    clock: systemClock,
    log,
    startThread: (start) => {
      const thread = startWorker(start, {
        execArgv: ['--require', saboteur],
        env: { ...process.env, SABOTEUR: name },
        resourceLimits: { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 96 },
      });
      threads.push(thread);
      return thread;
    },
  });
  const lost: string[] = [];
  const sessions = await Promise.all(
    Array.from({ length: legs }, (_, leg) => plane.openRtp(`${leg}`, ({ type }) => lost.push(type))),
  );
  for (const session of sessions) {
    session.configure({ ...usualFlow, remote: { address: '127.0.0.1', port: 9 } });
    session.echo(true);
  }
  const sender = flood(sessions.map(({ local }) => local.port));
  const channel = new BroadcastChannel(name);
  try {
    for (const [at, way] of ways.entries()) {
      await untilAsked(
        async () => ((await sessions[0]!.statistics())?.rxcount ?? 0) >= 100,
        () =>
          `nothing arrives before ${way}: ${JSON.stringify({ lost, threads: threads.length, lines: log.lines.slice(-12) })}`,
      );
      const told = new Promise((done) => (channel.onmessage = done));
      if (way !== 'terminate') {
        channel.postMessage(way);
        await told;
      }
      // What the supervisor of a thread does when it answers no longer; one without memory ends by itself.
      if (way !== 'memory') await threads[at]!.terminate();
      await untilAsked(
        () => threads.length === at + 2,
        () => `no thread took the place of one that was lost (${way})`,
      );
    }
    assert.equal(lost, []);
  } finally {
    sender.kill();
    channel.close();
    await plane.close();
  }
}

test.run();
