import { connect } from 'hookswitch/client';

// Greets callers, and hangs up when they press #.

const { HOOKSWITCH_URL: url, HOOKSWITCH_USERNAME: username, HOOKSWITCH_PASSWORD: password } = process.env;
if (!url || !username || !password) throw new Error('set HOOKSWITCH_URL, HOOKSWITCH_USERNAME and HOOKSWITCH_PASSWORD');
const ari = await connect({ url, username, password, app: 'hello' });
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

ari.on('StasisStart', async ({ channel }) => {
  const call = ari.call(channel);
  call.on('ChannelDtmfReceived', ({ digit }) => (digit === '#' ? call.hangup() : undefined));
  await call.answer();
  await call.play({ media: 'sound:hello-world' });
});
