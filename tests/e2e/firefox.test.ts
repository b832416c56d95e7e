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

needed.test(
  firefoxes,
  'it calls an application: audio, keys, hold, another start of ICE; two tabs hear and see each other',
  async (path) => {
    const program = [process.execPath, ...nodeArguments('tests/e2e/firefox-calls.ts'), path, address];
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--net', '--map-root-user', 'sh', '-c', network, 'sh', ...program],
      { timeout: 2 * patienceMs },
    );
    assert.match(stdout, 'Firefox and an application have talked');
    assert.match(stdout, 'two tabs have seen each other');
  },
);

firefoxes.run();
