import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { ranInNetwork } from '../support/networks.ts';

const jamis = suite("Jami as a phone: PJSIP's stack");
const jamid = need('jamid', '/usr/libexec');
const chromium = need('chromium');
const needed = [jamid, chromium, ...['unshare', 'ip', 'gdbus', 'dbus-run-session', 'ffmpeg'].map((name) => need(name))];

/** With addresses of IPv6, PJSIP waits for a message of the kernel that newer ones send together with the one before. */
const withoutIpv6 = 'for each in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $each; done; exec "$@"';

(needed.find(({ path }) => path === undefined) ?? jamid).test(
  jamis,
  'a browser calls it and it calls the browser, over SRTP with keys in SDP: they hear each other',
  async () => {
    const within = ['sh', '-c', withoutIpv6, 'sh', 'dbus-run-session', '--'];
    const stdout = await ranInNetwork('tests/e2e/jami-calls.ts', [chromium.path!, jamid.path!], within);
    assert.match(stdout, 'the page has called Jami');
    assert.match(stdout, 'Jami has called the page');
  },
);

jamis.run();
