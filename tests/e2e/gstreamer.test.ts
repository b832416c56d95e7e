import { execFileSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { ranInNetwork } from '../support/networks.ts';

const gstreamers = suite("GStreamer's webrtcbin as a phone: libnice, its DTLS and libsrtp");
const python = need('python3', '/usr/bin');
const imports = 'import gi; gi.require_version("GstWebRTC", "1.0"); from gi.repository import GstWebRTC';

function hasGstreamer(): boolean {
  try {
    execFileSync(python.path!, ['-c', imports], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const gstreamer = python.path !== undefined && hasGstreamer() ? python : need('python3-gi and GstWebRTC', '');
const needed = [gstreamer, need('unshare'), need('ip')].find(({ path }) => path === undefined) ?? gstreamer;

needed.test(gstreamers, 'it calls by an offer over HTTP, and hears its own tone', async (path) => {
  assert.match(await ranInNetwork('tests/e2e/gstreamer-calls.ts', [path]), 'webrtcbin has heard itself');
});

gstreamers.run();
