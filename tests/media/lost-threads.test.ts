import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { BroadcastChannel } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import type { SrtpKey } from '../../src/lib/srtp.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import { claimPorts } from '../support/free-port.ts';
import { untilAsked } from '../support/waiting.ts';
import { FloodingServers } from './flooding-servers.ts';
import { encodePacket, memoryLogger, ramp, usualFlow } from './support.ts';

/** How often each test loses its threads; more by hand. */
const rounds = Number(process.env.HOOKSWITCH_TEST_LOST_THREADS ?? 1);
/** How they are lost: a place that loses more than three threads a minute is given up, so each list has a plane. */
const lists = [['hang', 'memory', 'error'], ['terminate']] as const;
const legs = 20;
/** Those of them whose audio is SRTP. */
const secretLegs = 5;
const keyOf = (seed: number): SrtpKey => ({
  suite: seed % 2 === 0 ? 'AES_CM_128_HMAC_SHA1_80' : 'AEAD_AES_128_GCM',
  key: Buffer.alloc(30, seed).toString('base64'),
});

/** Sends to ports ten times as fast as a phone, from a process of its own. */
const flood = (ports: number[]) =>
  spawn(process.execPath, [
    '-e',
    `const { createSocket } = require('node:dgram');
     const socket = createSocket('udp4').on('error', () => {});
     const packet = Buffer.alloc(172); packet[0] = 0x80;
     let sequence = 0;
     setInterval(() => {
       packet.writeUInt16BE(++sequence & 0xffff, 2); packet.writeUInt32BE(sequence * 160, 4);
       for (const port of ${JSON.stringify(ports)}) socket.send(packet, port, '127.0.0.1');
     }, 2);`,
  ]);

const saboteur = fileURLToPath(new URL('./saboteur.cjs', import.meta.url));

for (const sockets of ['native', 'dgram'] as const)
  test(`the process survives threads that hang, run out of memory, fail or end while audio arrives (${sockets})`, async () => {
    for (let round = 0; round < rounds; round++)
      for (const ways of lists) await loseThreads(sockets, `lost-${sockets}-${round}-${ways[0]}`, ways);
  });

async function loseThreads(
  sockets: 'native' | 'dgram',
  name: string,
  ways: readonly (typeof lists)[number][number][],
): Promise<void> {
  const threads: MediaThread[] = [];
  const log = memoryLogger();
  // Not ports of the system's choice: another program may take one before a new thread opens it again.
  const first = await claimPorts(200);
  const plane = createMediaPlane({
    config: {
      ...defaultMediaConfig,
      sockets,
      threads: 1,
      ports: { first, last: first + 199 },
      threadTimeoutMs: 60_000,
    },
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
    Array.from({ length: legs }, (_, leg) =>
      plane.openRtp(`${leg}`, (report) =>
        lost.push(report.type === 'media.lost' ? `${report.type}: ${report.reason}` : report.type),
      ),
    ),
  );
  const servers = await FloodingServers.open();
  for (const [at, request] of servers.requests.entries())
    plane.openExternal(`server-${at}`, request, () => {}).echo(true);
  const phone = await SecretPhone.open();
  for (const [leg, session] of sessions.entries()) {
    const srtp = leg < secretLegs && { srtp: { local: keyOf(1), remote: keyOf(2) } };
    const port = srtp ? phone.port : 9;
    session.configure({ ...usualFlow, remote: { address: '127.0.0.1', port }, ...srtp });
    session.echo(true);
  }
  phone.talk(sessions.slice(0, secretLegs).map(({ local }) => local.port));
  const sender = flood(sessions.slice(secretLegs).map(({ local }) => local.port));
  const channel = new BroadcastChannel(name);
  try {
    for (const [at, way] of ways.entries()) {
      await untilAsked(
        async () => {
          const heard = await Promise.all([0, secretLegs].map((leg) => sessions[leg]!.statistics()));
          const isFlooded = heard.every((each) => (each?.rxcount ?? 0) >= 100);
          return isFlooded && Object.values(servers.connected).every((connected) => connected > at);
        },
        () =>
          `nothing arrives before ${way}: ${JSON.stringify({ lost, threads: threads.length, lines: log.lines.slice(-12) })}`,
      );
      const told = new Promise((done) => (channel.onmessage = done));
      if (way !== 'terminate') {
        channel.postMessage(way);
        await told;
      }
      // What the supervisor of a thread does when it answers no longer; one without memory, and one that fails, end by themselves.
      if (way === 'hang' || way === 'terminate') await threads[at]!.terminate();
      await untilAsked(
        () => threads.length >= at + 2,
        () =>
          `no thread took the place of one that was lost (${way}): ${JSON.stringify({ threads: threads.length, at, lines: log.lines.slice(-8) })}`,
      );
    }
    assert.equal(lost, []);
  } finally {
    sender.kill();
    phone.close();
    servers.close();
    channel.close();
    await plane.close();
  }
}

/** Sends SRTP to ports, each with numbers of its own. */
class SecretPhone {
  readonly #socket = createSocket('udp4');
  #timer: NodeJS.Timeout | undefined;

  static async open(): Promise<SecretPhone> {
    const phone = new SecretPhone();
    phone.#socket.bind(0, '127.0.0.1');
    await once(phone.#socket, 'listening');
    return phone;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  talk(ports: number[]): void {
    const sealers = ports.map(() => new Sealer(keyOf(2), { audio: 0, control: 0 }));
    const packet = { marker: false, payloadType: 0, ssrc: 5, payload: ramp(160) };
    let sequence = 0;
    this.#timer = setInterval(() => {
      sequence = (sequence + 1) & 0xffff;
      const plain = encodePacket({ ...packet, sequence, timestamp: 160 * sequence });
      for (const [at, sealer] of sealers.entries()) this.#socket.send(sealer.audio(plain)!, ports[at], '127.0.0.1');
    }, 20);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }
}

test.run();
