import { AriClient } from '@ipcom/asterisk-ari';
import { WebSocket } from 'ws';

// Talks with the caller: hears the caller over a WebSocket, waits for a pause, and answers, until the caller breaks
// in. A language model would think of something better to say than what it has just heard, twice.

type Channel = { id: string; channelvars?: Record<string, string> };

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(url);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

const suffix = '-model';
/** Linear samples of 16 bits at 8 kHz: octets a ms. How long a pause ends what the caller says, and how loud that is. */
const [perMs, pauseMs, loud, longestMs] = [16, 600, 500, 10_000];

/** The model's side of a call: what it hears and says goes over a WebSocket that it opens. */
function converse(connection: string): void {
  const authorization = `Basic ${Buffer.from(`hookswitch:${password}`).toString('base64')}`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/media/${connection}`, 'media', {
    headers: { authorization },
  });
  const ask = (command: string) => socket.send(JSON.stringify({ command }));
  let heard: Buffer[] = [];
  let pause: NodeJS.Timeout | undefined;
  /** What is being said now, in ms, and what the caller had heard before it. */
  let [saying, heardBefore] = [0, 0];

  const answer = () => {
    const speech = Buffer.concat([...heard, ...heard]);
    heard = [];
    saying = speech.length / perMs;
    socket.send(speech);
    ask('MARK_MEDIA');
  };
  const hear = (audio: Buffer) => {
    const samples = new Int16Array(Uint8Array.from(audio).buffer);
    if (!samples.some((sample) => Math.abs(sample) > loud) || heard.length * 20 > longestMs) return;
    // Who is interrupted falls silent at once, and asks how much of it was heard.
    if (saying > 0 && heard.length === 0) for (const command of ['FLUSH_MEDIA', 'GET_STATUS']) ask(command);
    heard.push(audio);
    clearTimeout(pause);
    pause = setTimeout(answer, pauseMs);
  };
  const follow = ({ event, heard_ms: now }: { event: string; heard_ms: number }) => {
    if (event === 'MEDIA_MARK_PROCESSED') console.log(`answered in ${saying} ms`);
    else if (event === 'STATUS') console.log(`interrupted after ${now - heardBefore} of ${saying} ms`);
    else return;
    [saying, heardBefore] = [0, now];
  };
  socket.on('message', (data: Buffer, isAudio) => (isAudio ? hear(data) : follow(JSON.parse(String(data)))));
  socket.on('close', () => clearTimeout(pause));
  socket.on('error', (error) => console.error(String(error)));
}

ari.on('StasisStart', async ({ channel: { id }, args: [role] }: { channel: Channel; args: string[] }) => {
  if (role === 'model') {
    const caller = id.slice(0, -suffix.length);
    await ari.bridges.addChannels(caller, { channel: [caller, id] });
    return;
  }
  await ari.channels.answerChannel(id);
  await ari.bridges.createBridge({ type: 'mixing', bridgeId: id });
  const media = { transport: 'websocket', encapsulation: 'none', connection_type: 'server', external_host: '' };
  const model = { app: 'hello', data: 'model', channelId: id + suffix, format: 'slin', transport_data: 'f(json)' };
  const { channelvars = {} } = (await ari.channels.createExternalMedia({ ...media, ...model })) as Channel;
  converse(channelvars['MEDIA_WEBSOCKET_CONNECTION_ID'] ?? '');
});

ari.on('StasisEnd', async ({ channel: { id } }: { channel: Channel }) => {
  if (id.endsWith(suffix)) return;
  await ari.channels.hangup(id + suffix);
  await ari.bridges.destroy(id);
});
// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
