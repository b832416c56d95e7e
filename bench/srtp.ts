import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type SrtpKey, type SrtpSuite, srtpSuites } from '../src/lib/srtp.ts';
import { Opener } from '../src/media/srtp/opener.ts';
import { Sealer } from '../src/media/srtp/sealer.ts';

/*
 * What secret audio costs per packet of 20 ms of G.711 (172 octets): `npx tsx bench/srtp.ts`. "Plain" is what each packet costs
 * in any case: it is copied, and sent and received over a socket of this machine. Rounds of all take turns, and the quickest of
 * each counts. Figures only, nothing is asserted; look at the ratios.
 */

const rounds = 7;
const packets = 20_000;

const keyOf = (suite: SrtpSuite): SrtpKey => {
  const { key, salt } = srtpSuites[suite];
  return { suite, key: Buffer.alloc(key + salt, 7).toString('base64') };
};

function packetOf(sequence: number): Buffer {
  const packet = Buffer.alloc(172, 0x55);
  packet[0] = 0x80;
  packet.writeUInt16BE(sequence & 0xffff, 2);
  packet.writeUInt32BE(sequence * 160, 4);
  packet.writeUInt32BE(0x12345678, 8);
  return packet;
}
const plain = Array.from({ length: packets }, (_, at) => packetOf(at));

/** µs for each packet. */
async function timed(run: () => void | Promise<void>): Promise<number> {
  const begun = performance.now();
  await run();
  return ((performance.now() - begun) * 1000) / packets;
}

/** Packets over a socket and back in, a few at a time, as the system takes them. */
async function overSocket(): Promise<void> {
  const [from, to] = [createSocket('udp4'), createSocket('udp4')];
  to.bind(0, '127.0.0.1');
  await once(to, 'listening');
  const { port } = to.address();
  from.connect(port, '127.0.0.1');
  await once(from, 'connect');
  let heard = 0;
  let sent = 0;
  const more = (): void => {
    for (let each = 0; each < 16 && sent < packets; each++) from.send(Buffer.from(plain[sent++]!));
  };
  await new Promise<void>((resolve) => {
    to.on('message', () => {
      heard++;
      if (heard === packets) resolve();
      else if (heard === sent) more();
    });
    more();
  });
  from.close();
  to.close();
}

const suites = Object.keys(srtpSuites) as SrtpSuite[];
const best = new Map<string, number>();
const note = (what: string, took: number) => best.set(what, Math.min(best.get(what) ?? Number.POSITIVE_INFINITY, took));

for (let round = 0; round < rounds; round++) {
  note('plain', await timed(overSocket));
  for (const suite of suites) {
    const sealer = new Sealer(keyOf(suite), { audio: 0, control: 0 });
    const opener = new Opener(keyOf(suite));
    const sealed: Buffer[] = [];
    note(`${suite} protect`, await timed(() => void sealed.push(...plain.map((packet) => sealer.audio(packet)!))));
    note(`${suite} unprotect`, await timed(() => void sealed.forEach((packet) => void opener.audio(packet))));
    if (opener.refused > 0) throw new Error(`${opener.refused} packets were refused`);
  }
}

const base = best.get('plain')!;
for (const [what, took] of best)
  process.stdout.write(`${what.padEnd(34)} ${took.toFixed(2).padStart(6)} µs  ${(took / base).toFixed(2)} × plain\n`);
