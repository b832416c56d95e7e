import { AriClient } from '@ipcom/asterisk-ari';

type Call = { channel: { id: string; caller: { number: string }; dialplan: { exten: string } } };

// HOOKSWITCH_PASSWORD is the password that `npm start` printed, or the one you started the server with.
const { HOOKSWITCH_URL = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

ari.on('StasisStart', async ({ channel }: Call) => {
  console.log(`${channel.caller.number || 'somebody'} calls ${channel.dialplan.exten}`);
  await ari.channels.answerChannel(channel.id);
  await ari.Channel(channel.id).play({ media: 'sound:hello-world' });
});

ari.on('ChannelDtmfReceived', async ({ channel, digit }: Call & { digit: string }) => {
  console.log(`pressed ${digit}`);
  if (digit === '#') await ari.channels.hangup(channel.id);
});

ari.on('StasisEnd', ({ channel }: Call) => console.log(`${channel.id} has left`));
// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
