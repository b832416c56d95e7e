import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from '../support/need.ts';
import { ranInNetwork } from '../support/networks.ts';

const firefoxes = suite('Firefox as a phone');
const firefox = need('firefox-esr');
/** The first of what it needs that is missing, which is said; else Firefox. */
const needed = [firefox, need('unshare'), need('ip')].find(({ path }) => path === undefined) ?? firefox;

needed.test(
  firefoxes,
  'it calls an application: audio, keys, hold, another start of ICE; two tabs hear and see each other',
  async (path) => {
    const stdout = await ranInNetwork('tests/e2e/firefox-calls.ts', [path]);
    assert.match(stdout, 'Firefox and an application have talked');
    assert.match(stdout, 'two tabs have seen each other');
  },
);

const coturn = need('turnserver');
(needed.path === undefined ? needed : coturn).test(
  firefoxes,
  'it calls by TCP, by TURN servers of either side, and sends its camera in two sizes',
  async () => {
    const stdout = await ranInNetwork('tests/e2e/firefox-ways.ts', [firefox.path!, coturn.path!]);
    for (const pair of ['host host tcp', 'host relay udp', 'relay host udp'])
      assert.match(stdout, `Firefox has called by ${pair}`);
    assert.match(stdout, 'Firefox has sent two sizes');
  },
);

firefoxes.run();
