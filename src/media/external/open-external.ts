import type { ExternalRequest } from '../../telephony/external.ts';
import { tickMs } from '../ticker.ts';
import { AudioSocketEnd } from './audio-socket-end.ts';
import type { StreamEnd, StreamEndOptions } from './stream-end.ts';
import { mediaQueue, WebSocketEnd } from './web-socket-end.ts';
import type { Wires } from './wires.ts';

/** Audio that is kept if a server sent too early, in ms. */
const keptMs = 60;

/** Opens the end that a request asks for. */
export function openExternalEnd(
  common: Omit<StreamEndOptions, 'codec' | 'direction' | 'incoming'>,
  request: ExternalRequest,
  wires: Wires,
): StreamEnd {
  const { bounds } = common;
  const { codec, direction } = request;
  const options = { ...common, codec, direction };
  if (request.transport === 'audioSocket') {
    const incoming = { mostMs: bounds.backlogMs, keepMs: Math.min(bounds.backlogMs, keptMs) };
    return new AudioSocketEnd({ ...options, incoming }, request, wires);
  }
  // Early audio waits: its sender wants that, and can flush it.
  const incoming = { mostMs: mediaQueue.most * tickMs, keepMs: 0 };
  return new WebSocketEnd({ ...options, incoming }, request, wires);
}
