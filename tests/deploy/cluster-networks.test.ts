import { execFileSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { need } from '../support/need.ts';
import { missingNetworks } from '../support/networks.ts';

/** Many calls over three nodes in networks of their own. HOOKSWITCH_TEST_CALLS=300 makes so many. */
const networks = suite('a cluster in networks of its own');
const total = process.env['HOOKSWITCH_TEST_CALLS'] ?? '30';
const title = `of ${total} calls none is lost where networks are cut, and where a machine does not come back`;

const missing = missingNetworks();
if (missing) process.stdout.write(`not run, as this kernel has no networks for it: ${missing}\n`);
else
  need('nats-server').test(networks, title, (nats) => {
    const programs = ['kamailio', 'haproxy', 'sipp'].map((name) => need(name).path ?? '');
    assert.ok(programs.every(Boolean), 'needs kamailio, haproxy and sipp');
    const program = [process.execPath, ...nodeArguments('tests/deploy/cluster-networks.ts')];
    const own = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--map-root-user'];
    execFileSync('unshare', [...own, ...program, nats, ...programs, total], { stdio: 'inherit' });
  });

networks.run();
