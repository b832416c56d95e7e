import type { Listened } from '../../src/models/live.ts';
import { socketUrl } from './session.ts';

/** How it is with listening: `over` with the words of the server, where it said any. */
export type Listening = { state: 'opening' | 'heard' } | { state: 'over'; reason: string };

/** Buffered audio in s: with less the next piece may be late, with more it is dropped. */
const aheadS = 0.15;
const mostAheadS = 1;

/** Samples of 16 bits as the browser plays them. */
export function toFloats(octets: ArrayBuffer): Float32Array<ArrayBuffer> {
  const view = new DataView(octets);
  return Float32Array.from({ length: octets.byteLength >> 1 }, (_, index) => view.getInt16(index * 2, true) / 32_768);
}

/** Start time of a piece on the audio clock; undefined for a dropped one. */
export function placeOf(now: number, next: number): number | undefined {
  if (next < now) return now + aheadS;
  return next - now > mostAheadS ? undefined : next;
}

/** Lets the loudspeaker say what a channel says and hears. @returns a function that ends it. */
export function listenTo(channel: string, told: (listening: Listening) => void): () => void {
  const player = new AudioContext();
  let socket: WebSocket | undefined;
  let over = false;
  let next = 0;
  let sampleRate = 8_000;
  const end = (reason: string): void => {
    if (over) return;
    over = true;
    socket?.close();
    void player.close();
    told({ state: 'over', reason });
  };
  const play = (octets: ArrayBuffer): void => {
    const samples = toFloats(octets);
    const begin = placeOf(player.currentTime, next);
    if (begin === undefined || samples.length === 0) return;
    const buffer = player.createBuffer(1, samples.length, sampleRate);
    buffer.copyToChannel(samples, 0);
    const source = player.createBufferSource();
    source.buffer = buffer;
    source.connect(player.destination);
    source.start(begin);
    next = begin + buffer.duration;
  };
  told({ state: 'opening' });
  socketUrl(`/hookswitch/channels/${encodeURIComponent(channel)}/listen`).then(
    (url) => {
      if (over) return;
      socket = new WebSocket(url);
      socket.binaryType = 'arraybuffer';
      socket.onmessage = ({ data }) => {
        if (typeof data !== 'string') return play(data as ArrayBuffer);
        sampleRate = (JSON.parse(data) as Listened).sample_rate;
        told({ state: 'heard' });
      };
      socket.onclose = ({ reason }) => end(reason || 'Nothing more is heard.');
    },
    (error: unknown) => end(error instanceof Error ? error.message : 'There is no connection.'),
  );
  return () => end('');
}
