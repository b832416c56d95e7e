/**
 * Phone → WebSocket → phone: N phones in bridges with a server each that sends back what it hears over a WebSocket. Tells
 * how much later a phone hears itself.
 *
 *   tsx bench/media-websocket.ts [calls] [seconds]        default 100 and 10
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { systemClock } from '../src/lib/clock.ts';
import type { Logger } from '../src/lib/log.ts';
import { defaultMediaConfig } from '../src/media/config.ts';
import { createMediaPlane } from '../src/media/media-plane.ts';
import type { RtpSession } from '../src/telephony/media.ts';
import type { EchoFigures } from './echo-audio.ts';

const address = '127.0.0.1';
const member = { role: 'participant', muted: false, passDigits: true } as const;
/** Largest added round trip at the 99th percentile, in ms. */
const mostMs = 60;

const quiet = () => {};
const log: Logger = {
  ...{ trace: quiet, debug: quiet, info: quiet },
  warn: (fields, message) => console.log(message, fields),
  error: (fields, message) => console.log(message, fields),
  child: () => log,
  enabled: () => false,
};

/** The external server: a process of its own, which reports its port and echoes audio. */
async function serve(): Promise<void> {
  const server = new WebSocketServer({ port: 0, host: address, perMessageDeflate: false });
  server.on('connection', (socket) =>
    socket.on('message', (audio, isAudio) => {
      if (isAudio) socket.send(audio);
    }),
  );
  await once(server, 'listening');
  process.send!((server.address() as AddressInfo).port);
}

async function measure(calls: number, seconds: number): Promise<void> {
  const plane = createMediaPlane({ config: { ...defaultMediaConfig, address }, clock: systemClock, log });
  const outside = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(outside, 'message')) as [number];
  const phones = fork(fileURLToPath(new URL('./media-sender.ts', import.meta.url)));
  const [[phonesPort = 0]] = (await once(phones, 'message')) as [number[]];
  const sessions: RtpSession[] = [];
  for (let call = 0; call < calls; call++) {
    const phone = await plane.openRtp(`phone-${call}`, quiet);
    const remote = { address, port: phonesPort };
    phone.configure({ remote, codec: 'ulaw', payloadType: 0, ptimeMs: 20, send: true, receive: true });
    sessions.push(phone);
    await new Promise<void>((connected, failed) => {
      const start = { connectionId: `${call}`, channel: '', channelId: `${call}`, variables: {} };
      const to = {
        url: `ws://${address}:${port}/`,
        headers: {},
        protocols: ['media'],
        json: false,
        frameOctets: 160,
        start,
      };
      const request = { transport: 'webSocket', codec: 'ulaw', direction: 'both', ...to } as const;
      const server = plane.openExternal(`server-${call}`, request, (report) => {
        if (report.type === 'media.connected') connected();
        else if (report.type === 'media.lost') failed(new Error(report.reason));
      });
      const mix = plane.openMix(`call-${call}`, 'mixing', quiet);
      for (const each of [phone, server]) mix.join(each, member);
    });
  }
  phones.send({ ports: sessions.map(({ local }) => local.port), address, seconds });
  const cpuBefore = process.cpuUsage();
  const [figures] = (await once(phones, 'message')) as [EchoFigures];
  const { user, system } = process.cpuUsage(cpuBefore);
  const { externalDroppedMs, externalUnsentFrames } = await plane.usage();
  await plane.close();
  outside.kill();
  const share = (part: number) => `${((100 * part) / figures.sent).toFixed(3)} %`;
  const cpu = (100 * (user + system)) / 1000 / (seconds * 1000);
  console.log(
    [
      `${calls} phones, each with a server over a WebSocket, ${seconds} s`,
      `  delay p50 ${figures.delayP50.toFixed(2)} ms, p99 ${figures.delayP99.toFixed(2)} ms (at most ${mostMs} ms wanted), maximum ${figures.delayMaximum.toFixed(1)} ms`,
      `  lost ${share(figures.lost)}, late (gap > 40 ms) ${share(figures.late)}, silent in between ${share(figures.silent)}, not as sent ${figures.wrong}, phones themselves late ${share(figures.sentLate)}`,
      `  left out ${externalDroppedMs} ms of the servers', ${externalUnsentFrames} frames for them`,
      `  CPU ${cpu.toFixed(1)} % of a core, ${(cpu / calls).toFixed(4)} % a call`,
    ].join('\n'),
  );
}

const [calls = '100', seconds = '10'] = process.argv.slice(2);
if (calls === 'serve') await serve();
else await measure(Number(calls), Number(seconds));
