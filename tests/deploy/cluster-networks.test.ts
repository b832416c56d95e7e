import { execFileSync } from 'node:child_process';
import { suite } from 'uvu';
import { nodeArguments } from '../../scripts/compiled.ts';
import { need } from '../support/need.ts';
import { missingNetworks } from '../support/networks.ts';

/** Many calls over three nodes in networks of their own. HOOKSWITCH_TEST_CALLS=300 makes so many. */
const networks = suite('a cluster in networks of its own');
const total = process.env['HOOKSWITCH_TEST_CALLS'] ?? '30';
const title = `of ${total} calls none is lost where networks are cut, and where a machine does not come back`;

const programs = ['nats-server', 'kamailio', 'haproxy', 'sipp', 'ip', 'unshare', 'nsenter'].map((name) => ({
  name,
  path: need(name).path,
}));
const missing = programs.find(({ path }) => path === undefined);
const unable = missing ? undefined : missingNetworks();
if (unable !== undefined) process.stdout.write(`not run, as this kernel has no networks for it: ${unable}\n`);
else
  need((missing ?? programs[0]!).name).test(networks, title, () => {
    const program = [process.execPath, ...nodeArguments('tests/deploy/cluster-networks.ts')];
    const own = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--map-root-user'];
    const called = programs.slice(0, 4).map(({ path = '' }) => path);
    execFileSync('unshare', [...own, ...program, ...called, total], { stdio: 'inherit' });
  });

networks.run();
