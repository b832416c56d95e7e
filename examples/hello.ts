import { connect } from 'hookswitch/client';

// HOOKSWITCH_PASSWORD is the password that `npm start` printed, or the one you started the server with.
const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

ari.on('StasisStart', async ({ channel }) => {
  console.log(`${channel.caller.number || 'somebody'} calls ${channel.dialplan.exten}`);
  await ari.channels.answer({ channelId: channel.id });
  await ari.channels.play({ channelId: channel.id, media: 'sound:hello-world' });
});

ari.on('ChannelDtmfReceived', async ({ channel, digit }) => {
  console.log(`pressed ${digit}`);
  if (digit === '#') await ari.channels.hangup({ channelId: channel.id });
});

ari.on('StasisEnd', ({ channel }) => console.log(`${channel.id} has left`));
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
