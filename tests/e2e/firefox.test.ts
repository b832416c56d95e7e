import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { need } from '../support/need.ts';
import { patienceMs } from '../support/waiting.ts';

const firefoxes = suite('Firefox as a phone');
const firefox = need('firefox-esr');
/** The first of what it needs that is missing, which is said; else Firefox. */
const needed = [firefox, need('unshare'), need('ip')].find(({ path }) => path === undefined) ?? firefox;

/** A network of its own whose one address is no loopback: Firefox takes no other ICE candidates. */
const address = '192.0.2.1';
const network = [
  ...['ip link set lo up', 'ip link add d0 type veth peer name d1', `ip address add ${address}/24 dev d0`],
  ...['ip link set d0 up', 'ip link set d1 up', 'ip route add default dev d0', 'exec "$@"'],
].join(' && ');

/** What a program says that runs in such a network. */
async function ranAt(program: string, ...args: string[]): Promise<string> {
  const started = [process.execPath, ...nodeArguments(program), ...args, address];
  const all = ['--net', '--map-root-user', 'sh', '-c', network, 'sh', ...started];
  return (await promisify(execFile)('unshare', all, { timeout: 2 * patienceMs })).stdout;
}

needed.test(
  firefoxes,
  'it calls an application: audio, keys, hold, another start of ICE; two tabs hear and see each other',
  async (path) => {
    const stdout = await ranAt('tests/e2e/firefox-calls.ts', path);
    assert.match(stdout, 'Firefox and an application have talked');
    assert.match(stdout, 'two tabs have seen each other');
  },
);

const coturn = need('turnserver');
(needed.path === undefined ? needed : coturn).test(
  firefoxes,
  'it calls by TCP, by TURN servers of either side, and sends its camera in two sizes',
  async () => {
    const stdout = await ranAt('tests/e2e/firefox-ways.ts', firefox.path!, coturn.path!);
    for (const pair of ['host host tcp', 'host relay udp', 'relay host udp'])
      assert.match(stdout, `Firefox has called by ${pair}`);
    assert.match(stdout, 'Firefox has sent two sizes');
  },
);

firefoxes.run();
