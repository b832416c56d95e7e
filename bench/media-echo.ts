/**
 * Two-way G.711 through the media plane: N sessions that echo, fed and checked by a separate process.
 *
 *   tsx bench/media-echo.ts [calls[,calls…]] [seconds] [kind[,kind…]] [echo|pairs]   default 100,500, 10, plain and echo
 *
 * Kinds are plain, ipv6, suites of SRTP by their names in SDP, and webrtc: browsers behind their handshake, with
 * AEAD_AES_128_GCM. With webrtc the server is lite, with webrtc-full it makes checks. They take turns. With pairs, two and two are in a bridge and hear each other.
 *
 * For a profile of the media thread: node --cpu-prof --cpu-prof-dir=/tmp/profile --import tsx bench/media-echo.ts 500 10
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/lib/clock.ts';
import type { Logger } from '../src/lib/log.ts';
import { createCertificate } from '../src/lib/self-made-certificate.ts';
import { isSrtpSuite, type SrtpKeys, srtpSuites } from '../src/lib/srtp.ts';
import { defaultMediaConfig } from '../src/media/config.ts';
import { createMediaPlane } from '../src/media/media-plane.ts';
import type { MediaSource, RtpFlow, RtpSession } from '../src/telephony/media.ts';
import { checkPassword, type EchoFigures } from './echo-audio.ts';
import type { Drops } from './media-sender.ts';

const addressOf = (kind: string): string => (kind === 'ipv6' ? '::1' : '127.0.0.1');

/** Keys of both sides, where the kind is a suite of SRTP, or of browsers. */
function keysOf(kind: string): SrtpKeys | undefined {
  const suite = kind.startsWith('webrtc') ? 'AEAD_AES_128_GCM' : kind;
  if (!isSrtpSuite(suite)) return undefined;
  const { key, salt } = srtpSuites[suite];
  const one = (seed: number) => ({ suite, key: Buffer.alloc(key + salt, seed).toString('base64') });
  return { local: one(1), remote: one(2) };
}
/** What is said of keys: those of browsers come from DTLS, which is over. */
function secrecyOf(kind: string, keys: SrtpKeys | undefined, source: MediaSource): Partial<RtpFlow> {
  if (!kind.startsWith('webrtc')) return keys ? { srtp: keys } : {};
  const credentials = { ufrag: 'bench', password: checkPassword };
  const fingerprint = { hash: 'sha256', digest: '00'.repeat(32) } as const;
  const established = { fingerprint, keys: keys!, source };
  const checked = kind === 'webrtc-full' && { checked: [{ ...source, priority: 1 }] };
  return { webrtc: { local: credentials, remote: credentials, fingerprint, established, ...checked } };
}

/** As `media.webrtc` has it, for longer than any run. */
function webrtcConfig() {
  const until = Date.now() + 86_400_000;
  const certificate = createCertificate({ names: ['bench'], from: Date.now(), until, serial: '0011223344556677' });
  return { certificate, handshakeMs: 10_000, consentMs: 3_600_000 };
}

/** A call sends and receives 50 packets a second. */
const packetsPerSecond = 50;

/** Resident memory of this process in octets, as the kernel counts it. */
function residentOctets(): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Logs warnings, and keeps the engine's tick report at the end. */
function tickLogger() {
  const ticks = { late: 0, skipped: 0 };
  const say = (fields: object, message: string) => console.log(message, fields);
  const log: Logger = {
    trace: () => {},
    debug: (fields) => Object.assign(ticks, fields),
    info: () => {},
    warn: say,
    error: say,
    child: () => log,
    enabled: () => false,
  };
  return { log, ticks };
}

async function measure(calls: number, seconds: number, kind: string, pairs: boolean): Promise<void> {
  const address = addressOf(kind);
  const keys = keysOf(kind);
  const { log, ticks } = tickLogger();
  const config = { ...defaultMediaConfig, address, webrtc: webrtcConfig() };
  const plane = createMediaPlane({ config, clock: systemClock, log });
  await plane.usage();
  const before = residentOctets();
  const sender = fork(fileURLToPath(new URL('./media-sender.ts', import.meta.url)), [address, String(calls)]);
  const [senderPorts] = (await once(sender, 'message')) as [number[]];
  const sessions: RtpSession[] = [];
  for (let call = 0; call < calls; call++) sessions.push(await plane.openRtp(`call-${call}`, () => {}));
  for (const [call, session] of sessions.entries()) {
    const remote = { address, port: senderPorts[call % senderPorts.length]! };
    session.configure({
      remote,
      codec: 'ulaw',
      payloadType: 0,
      ptimeMs: 20,
      send: true,
      receive: true,
      ...secrecyOf(kind, keys, remote),
    });
    if (!pairs) session.echo(true);
  }
  for (let call = 0; pairs && call + 1 < calls; call += 2) {
    const mix = plane.openMix(`pair-${call}`, 'mixing', () => {});
    const member = { role: 'participant', muted: false, passDigits: false } as const;
    for (const session of sessions.slice(call, call + 2)) mix.join(session, member);
  }
  await plane.usage();

  sender.send({ ports: sessions.map((session) => session.local.port), address, seconds, keys, pairs });
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const [figures] = (await once(sender, 'message')) as [EchoFigures & Drops];
  const { user, system } = process.cpuUsage(cpuBefore);
  const elapsedMs = performance.now() - startedAt;
  const resident = residentOctets() - before;
  await plane.close();

  const share = (part: number) => `${((100 * part) / figures.sent).toFixed(3)} %`;
  // Elapsed time includes start and end of the sender, the packets do not: CPU is per second of audio.
  const cpu = (user + system) / 1000 / (seconds * 1000);
  console.log(
    [
      `${kind}: ${calls} calls, ${seconds} s, ${calls * packetsPerSecond} packets/s each way (${(elapsedMs / 1000).toFixed(1)} s in all)`,
      `  lost ${share(figures.lost)}, late (gap > 40 ms) ${share(figures.late)}, wrong ${figures.wrong}, sender itself late ${share(figures.sentLate)}`,
      `  dropped by the kernel: ${figures.droppedThere} at the server, ${figures.droppedHere} at the sender`,
      `  delay p50 ${figures.delayP50.toFixed(2)} ms, p99 ${figures.delayP99.toFixed(2)} ms, maximum ${figures.delayMaximum.toFixed(1)} ms`,
      `  ticks of the media thread late by more than 10 ms: ${ticks.late}, skipped: ${ticks.skipped}`,
      `  CPU ${(100 * cpu).toFixed(1)} % of a core, ${((100 * cpu) / calls).toFixed(4)} % a call, ${((cpu * 1e6) / (calls * packetsPerSecond)).toFixed(1)} µs a packet`,
      `  memory ${(resident / 1024 / calls).toFixed(0)} KB a call`,
    ].join('\n'),
  );
}

const [counts = '100,500', seconds = '10', kinds = 'plain', joined = 'echo'] = process.argv.slice(2);
for (const calls of counts.split(','))
  for (const kind of kinds.split(',')) await measure(Number(calls), Number(seconds), kind, joined === 'pairs');
