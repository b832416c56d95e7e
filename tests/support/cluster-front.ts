import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Host } from './cluster-nodes.ts';
import { freePort } from './free-port.ts';
import { startShippedKamailio } from './kamailio.ts';
import { Command } from './program.ts';

/** A file of `deploy/cluster`. */
export const clusterFile = (name: string): string =>
  fileURLToPath(new URL(`../../deploy/cluster/${name}`, import.meta.url));

/** The shipped Kamailio in front of these SIP addresses. */
export async function kamailioFor(
  program: string,
  nodes: readonly string[],
  { address, enter }: Host = { address: '127.0.0.1', enter: [] },
): Promise<Command & { port: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-cluster-'));
  const list = join(directory, 'dispatcher.list');
  writeFileSync(list, nodes.map((address) => `1 sip:${address}\n`).join(''));
  const port = await freePort();
  const defines = {
    ...{ HOST_PORT: port, INNER_PORT: await freePort(), PING: 1, NODES: `"${list}"` },
    ...{ HOST_ADDRESS: `"${address}"`, INNER_ADDRESS: `"${address}"` },
  };
  const kamailio = startShippedKamailio([...enter, program], clusterFile('kamailio.cfg'), defines);
  const close = kamailio.close.bind(kamailio);
  return Object.assign(kamailio, {
    port,
    async close() {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

/** The shipped HAProxy in front of three interfaces, `address:port` each. */
export async function haproxyFor(
  program: string,
  nodes: readonly string[],
  { address, enter }: Host = { address: '127.0.0.1', enter: [] },
): Promise<Command & { url: string }> {
  const at = `${address}:${await freePort()}`;
  const [a = '', b = '', c = ''] = nodes;
  const env = { LISTEN: at, NODE_A: a, NODE_B: b, NODE_C: c };
  const [first = '', ...more] = [...enter, program, '-db', '-f', clusterFile('haproxy.cfg')];
  const command = new Command(first, more, env, true);
  return Object.assign(command, { url: `http://${at}` });
}
