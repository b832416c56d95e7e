import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startTestServer } from '../../packages/testing/src/index.ts';

const settling = suite('waiting for programs');

/** Works in small turns for most of a second, so that it answers pings meanwhile, and then answers the call. */
const slow = `
  const { HOOKSWITCH_URL: url, HOOKSWITCH_USERNAME: user, HOOKSWITCH_PASSWORD: password } = process.env;
  const headers = { authorization: 'Basic ' + Buffer.from(user + ':' + password).toString('base64') };
  const events = new (require('ws'))(url.replace('http', 'ws') + '/ari/events?app=hello', { headers });
  events.on('message', async (text) => {
    const { type, channel } = JSON.parse(text);
    if (type !== 'StasisStart') return;
    for (const end = performance.now() + 800; performance.now() < end; ) await new Promise(setImmediate);
    fetch(url + '/ari/channels/' + channel.id + '/answer', { method: 'POST', headers });
  });`;

settling('time stands still while a program works, however long that takes', async () => {
  const pbx = await startTestServer();
  try {
    await pbx.run(process.execPath, ['-e', slow]);
    const alice = pbx.phone('alice');
    await alice.dial('100');
    const begun = pbx.clock.now();
    await pbx.event('ChannelStateChange', ({ channel }) => channel.state === 'Up');
    assert.ok(pbx.clock.now() - begun <= 100, `${pbx.clock.now() - begun} ms passed`);
  } finally {
    await pbx.close();
  }
});

settling.run();
