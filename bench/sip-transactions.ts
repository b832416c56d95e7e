import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/log.ts';
import { buildRequest } from '../src/sip/message/build.ts';
import { createTransactionLayer } from '../src/sip/transaction/layer.ts';
import type { Target } from '../src/sip/transport/transport.ts';
import { createTransports } from '../src/sip/transport/transports.ts';

/*
 * How many OPTIONS transactions per second one core runs as client and server together over loopback sockets:
 * `npx tsx bench/sip-transactions.ts`. Figures only, nothing is asserted.
 */

const total = 30_000;
const inFlight = 32;
const ids = createIds(systemClock);
const log = createLogger({ level: 'silent' });

async function party() {
  const transports = createTransports({ clock: systemClock, log });
  const layer = createTransactionLayer({ transports, clock: systemClock, ids, log });
  const [udp, tcp] = await transports.bind([
    { protocol: 'udp', host: '127.0.0.1', port: 0 },
    { protocol: 'tcp', host: '127.0.0.1', port: 0 },
  ]);
  return { transports, layer, udp: udp!, tcp: tcp! };
}

async function measure(protocol: 'udp' | 'tcp'): Promise<void> {
  const [client, server] = [await party(), await party()];
  server.layer.onRequest((transaction) => transaction.reply(200));
  const target: Target = { protocol, address: '127.0.0.1', port: server[protocol].port };
  let started = 0;
  let finished = 0;
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await new Promise<void>((resolve, reject) => {
    const next = () => {
      if (started++ >= total) return;
      const request = buildRequest({
        method: 'OPTIONS',
        uri: 'sip:server@127.0.0.1',
        from: `<sip:client@127.0.0.1>;tag=${started}`,
        to: '<sip:server@127.0.0.1>',
        callId: `${started}@127.0.0.1`,
        cseq: 1,
      });
      client.layer.request(request, target, {
        onFinal: () => (++finished === total ? resolve() : next()),
        onTimeout: () => reject(new Error('timeout')),
        onTransportError: ({ reason }) => reject(new Error(reason)),
      });
    };
    for (let i = 0; i < inFlight; i++) next();
  });
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const microseconds = ((user + system) / total).toFixed(1);
  const rate = Math.round(total / seconds).toLocaleString('en');
  const again = client.layer.counts().retransmissions;
  console.log(
    `OPTIONS over ${protocol}, both sides: ${rate} transactions/s, ${microseconds} µs CPU each, ${again} repeated`,
  );
  client.layer.close();
  server.layer.close();
  await Promise.all([client.transports.close(), server.transports.close()]);
}

await measure('udp');
await measure('tcp');
