/*
 * What a flood of strangers does to the calls of those who are known: `npm run build && npx tsx bench/sip-flood.ts
 * [packets/s] [seconds]`. Strangers are 200 loopback addresses that send OPTIONS, REGISTER and INVITE of all sizes; the
 * known is one registered phone that keeps calls standing and makes new ones. Loopback only, and over after its time.
 */
import { fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/log.ts';
import { createDigestClient } from '../src/sip/auth/client.ts';
import type { OutgoingCall } from '../src/sip/dialog/outgoing-call.ts';
import { createUserAgent } from '../src/sip/dialog/user-agent.ts';
import { parseNameAddr } from '../src/sip/message/name-addr.ts';
import { parseUri } from '../src/sip/message/uri.ts';
import { createTransactionLayer } from '../src/sip/transaction/layer.ts';
import type { Target } from '../src/sip/transport/transport.ts';
import { createTransports } from '../src/sip/transport/transports.ts';
import { CpuMeter, peakOctets, startServerProcess } from './server-process.ts';

const strangers = 200;
const standingCalls = 20;
const callsPerSecond = 10;
const password = 'wonderland';
const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.2\r\ns=-\r\nc=IN IP4 127.0.0.2\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

const [first = '20000', second = '15', port] = process.argv.slice(2);
if (first === 'sender') await flood(Number(second), Number(port));
else await measure(Math.min(Number(first), 50_000), Math.min(Number(second), 60));

/** The sending process: so many packets a second to the port until the parent says stop; then it tells how many. */
async function flood(rate: number, to: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: strangers }, async (_, i) => {
      const socket = createSocket('udp4').bind(0, `127.0.1.${i + 1}`);
      await once(socket, 'listening');
      return socket.on('message', () => {});
    }),
  );
  let sent = 0;
  let stopped = false;
  process.on('message', () => (stopped = true));
  const start = performance.now();
  while (!stopped) {
    const due = ((performance.now() - start) / 1000) * rate;
    for (; sent < due; sent++) sockets[sent % strangers]!.send(strange(sent), to, '127.0.0.1', () => {});
    await wait(2);
  }
  process.send?.({ sent, seconds: (performance.now() - start) / 1000 });
  for (const socket of sockets) socket.close();
  process.disconnect();
}

function strange(number: number): string {
  const method = ['OPTIONS', 'REGISTER', 'INVITE'][number % 3]!;
  const address = `127.0.1.${(number % strangers) + 1}`;
  const nonce = '4u7x.abcdefghjkmnpqrs.0123456789abcdef0123456789abcdef';
  const guess = `Digest username="phone",realm="hookswitch",nonce="${nonce}",uri="sip:x",response="${'0'.repeat(32)}"`;
  return [
    `${method} sip:held@127.0.0.1 SIP/2.0`,
    `Via: SIP/2.0/UDP ${address};branch=z9hG4bK${number};rport${method === 'INVITE' ? ';maddr=127.0.2.1' : ''}`,
    `From: <sip:s@${address}>;tag=${number}`,
    'To: <sip:held@127.0.0.1>',
    `Call-ID: ${number}@${address}`,
    `CSeq: 1 ${method}`,
    ...(method === 'REGISTER' ? [`Authorization: ${guess}`] : []),
    ...(number % 50 === 0 ? [`X-Fill: ${'x'.repeat(8_000)}`] : []),
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');
}

async function measure(rate: number, seconds: number): Promise<void> {
  const auth = { username: 'phone', password };
  const server = await startServerProcess({ phone: { auth, aor: { max_contacts: 1 } } });
  const phone = await openPhone(server.sip);
  try {
    await phone.register();
    const standing = await Promise.all(Array.from({ length: standingCalls }, () => phone.call()));
    if (standing.includes(undefined)) throw new Error('the calls before the flood did not come about');
    const before = await phone.callsFor(3);
    const cpu = new CpuMeter(server.pid);
    const execArgv = process.execArgv;
    const sender = fork(fileURLToPath(import.meta.url), ['sender', String(rate), server.sip.split(':')[1]!], {
      execArgv,
    });
    await wait(1_000);
    const during = await phone.callsFor(seconds);
    const share = cpu.share(seconds * 1000);
    cpu.stop();
    const alive = await Promise.all(standing.map((call) => phone.isAlive(call!)));
    sender.send('stop');
    const [told] = (await once(sender, 'message')) as [{ sent: number; seconds: number }];
    for (const call of standing) call?.hangup();
    const perSecond = Math.round(told.sent / told.seconds).toLocaleString('en');
    console.log(`${perSecond} packets/s from ${strangers} strangers for ${told.seconds.toFixed(0)} s`);
    console.log(`new calls of the known: ${before.text} before, ${during.text} during the flood`);
    console.log(`standing calls alive after it: ${alive.filter(Boolean).length} of ${standingCalls}`);
    console.log(`server: ${share.toFixed(2)} cores, ${Math.round(peakOctets(server.pid) / 1e6)} MB at most`);
  } finally {
    await phone.close();
    await server.stop();
  }
}

/** The known phone: our own SIP stack at an address of its own. */
async function openPhone(sip: string) {
  const [address = '', to = ''] = sip.split(':');
  const clock = systemClock;
  const ids = createIds(clock);
  const log = createLogger({ level: 'silent' });
  const transports = createTransports({ clock, log });
  await transports.bind([{ protocol: 'udp', host: '127.0.0.2', port: 0 }]);
  const transactions = createTransactionLayer({ transports, clock, ids, log });
  const stack = { transactions, transports, clock, ids, log, timing: { t1Ms: 500, t2Ms: 4_000 }, userAgent: 'Bench' };
  const agent = createUserAgent(stack);
  const target: Target = { protocol: 'udp', address, port: Number(to) };
  const digest = () => createDigestClient([{ username: 'phone', password }], ids);
  const from = parseNameAddr(`<sip:phone@${sip}>`)!;

  /** Callbacks for responses inside a call, by label. */
  const asked = new Map<string, (status: number) => void>();

  /** Undefined if it was refused or not answered. */
  const call = (): Promise<OutgoingCall | undefined> =>
    new Promise((resolve) => {
      const uri = parseUri(`sip:held@${sip}`)!;
      const nothing = () => {};
      const onRequestEnded = (label: string, status: number) => {
        asked.get(label)?.(status);
        asked.delete(label);
      };
      const placed = agent.invite(
        { uri, from, to: { uri, params: {} }, target, sdp, digest: digest(), symmetric: true },
        {
          answerOffer: () => sdp,
          makeOffer: () => sdp,
          acceptAnswer: () => true,
          onRequest: () => 200,
          onRequestEnded,
          onProvisional: nothing,
          onAnswered: () => resolve(placed),
          onRefused: () => resolve(undefined),
          onFailed: () => resolve(undefined),
          onEnded: nothing,
          onClosed: nothing,
        },
      );
    });

  return {
    call,
    register: () =>
      new Promise<void>((resolve, reject) => {
        const uri = parseUri(`sip:${sip}`)!;
        const headers = [['Expires', '600']] as const;
        agent.request(
          { method: 'REGISTER', uri, from, to: from, target, headers, digest: digest() },
          {
            onFinal: ({ status }) => (status === 200 ? resolve() : reject(new Error(`${status} to REGISTER`))),
            onFailure: (status) => reject(new Error(`${status} to REGISTER`)),
          },
        );
      }),
    isAlive: ({ usage }: OutgoingCall) =>
      new Promise<boolean>((resolve) => {
        if (!usage) return resolve(false);
        const label = ids.uuid();
        asked.set(label, (status) => resolve(status !== 408 && status !== 481));
        usage.request(label, 'INFO');
      }),
    /** Makes calls one after the other at a steady rate and tells what became of them. */
    async callsFor(seconds: number) {
      const setUps: number[] = [];
      const calls = Array.from({ length: seconds * callsPerSecond }, async (_, i) => {
        await wait((i * 1000) / callsPerSecond);
        const begin = performance.now();
        const placed = await call();
        if (placed) setUps.push(performance.now() - begin);
        placed?.hangup();
      });
      await Promise.all(calls);
      setUps.sort((a, b) => a - b);
      const p = (part: number) => `${setUps[Math.floor(part * (setUps.length - 1))]?.toFixed(0)} ms`;
      return { text: `${setUps.length} of ${calls.length} (set up in ${p(0.5)}, p99 ${p(0.99)})` };
    },
    async close() {
      agent.close();
      transactions.close();
      await transports.close();
    },
  };
}
