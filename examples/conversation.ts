import { connect } from 'hookswitch/client';
import { WebSocket } from 'ws';

// Talks with the caller: hears the caller over a WebSocket, waits for a pause, and answers, until the caller breaks
// in. A language model would think of something better to say than what it has just heard, twice.

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

const suffix = '-model';
/** Callers who have not hung up. Each has a bridge of its own id. */
const callers = new Set<string>();
/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge(bridgeId: string) {
  const bridge = await ari.bridges.create({ type: 'mixing', bridgeId });
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

async function hangUp(id: string): Promise<void> {
  if (callers.has(id)) await ari.channels.hangup({ channelId: id });
}
/** Linear samples of 16 bits at 8 kHz: octets a ms. How long a pause ends what the caller says, and how loud that is. */
const [perMs, pauseMs, loud, longestMs] = [16, 600, 500, 10_000];

/** The model's side of a call: what it hears and says goes over a WebSocket that it opens. */
function converse(caller: string, connection: string): void {
  const authorization = `Basic ${Buffer.from(`hookswitch:${password}`).toString('base64')}`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/media/${connection}`, 'media', {
    headers: { authorization },
  });
  const ask = (command: string) => socket.send(JSON.stringify({ command }));
  let heard: Buffer[] = [];
  /** How long the caller has been quiet, in ms of audio. A phone that sends nothing in pauses is timed. */
  let quiet = 0;
  let pause: NodeJS.Timeout | undefined;
  /** What is being said now, in ms, and what the caller had heard before it. */
  let [saying, heardBefore] = [0, 0];

  const answer = () => {
    clearTimeout(pause);
    const speech = Buffer.concat([...heard, ...heard]);
    heard = [];
    saying = speech.length / perMs;
    socket.send(speech);
    ask('MARK_MEDIA');
  };
  const hear = (audio: Buffer) => {
    const samples = new Int16Array(Uint8Array.from(audio).buffer);
    if (!samples.some((sample) => Math.abs(sample) > loud) || heard.length * 20 > longestMs) {
      quiet += audio.length / perMs;
      if (heard.length > 0 && quiet >= pauseMs) answer();
      return;
    }
    quiet = 0;
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
  socket.on('close', () => {
    clearTimeout(pause);
    hangUp(caller).catch(() => {});
  });
  socket.on('error', (error) => console.error(String(error)));
}

ari.on('StasisStart', async ({ channel: { id }, args: [role] }) => {
  if (role === 'model') {
    const caller = id.slice(0, -suffix.length);
    await ari.bridges.addChannel({ bridgeId: caller, channel: [caller, id] }).catch(() => hangUp(caller));
    return;
  }
  callers.add(id);
  await serve(id).catch(() => hangUp(id));
});

async function serve(id: string): Promise<void> {
  await ari.channels.answer({ channelId: id });
  await openBridge(id);
  // The end of a caller who has gone meanwhile was told before.
  if (!callers.has(id)) return ari.bridges.destroy({ bridgeId: id });
  const media = {
    transport: 'websocket',
    encapsulation: 'none',
    connection_type: 'server',
    external_host: '',
  } as const;
  const model = { app: 'hello', data: 'model', channelId: id + suffix, format: 'slin', transport_data: 'f(json)' };
  const { channelvars = {} } = await ari.channels.externalMedia({ ...media, ...model });
  if (!callers.has(id)) return ari.channels.hangup({ channelId: id + suffix });
  converse(id, channelvars['MEDIA_WEBSOCKET_CONNECTION_ID'] ?? '');
}

ari.on('StasisEnd', async ({ channel: { id } }) => {
  // Without the model, or without the caller, the other goes, too.
  if (id.endsWith(suffix)) return hangUp(id.slice(0, -suffix.length));
  if (!callers.delete(id)) return;
  await ari.channels.hangup({ channelId: id + suffix }).catch(() => {});
  await ari.bridges.destroy({ bridgeId: id });
});
// Somebody else has destroyed the bridge: nobody is heard any more.
ari.on('BridgeDestroyed', async ({ bridge: { id } }) => {
  await hangUp(id);
});
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
