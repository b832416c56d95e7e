import type { FormatName } from '../../lib/formats.ts';
import type { AwaitedWebSocketRequest, WebSocketRequest } from '../../telephony/external.ts';
import type { RelayedIn, RelayedOut } from '../protocol.ts';
import { tickMs } from '../ticker.ts';
import { type MediaEvent, type MediaEventForm, readMediaCommand, writeMediaEvent } from './media-commands.ts';
import { RelayedWire } from './relayed-wire.ts';
import { StreamEnd, type StreamEndOptions } from './stream-end.ts';
import type { Wire, WireListener, Wires } from './wires.ts';

/** Waiting frames of 20 ms: the limit, and the numbers for pausing and resuming the far side. */
export const mediaQueue = { most: 1000, off: 900, on: 800 } as const;

/** Marks that may wait; further ones are refused. */
const mostMarks = 1000;

type Mark = { at: number; event: 'MEDIA_MARK_PROCESSED' | 'MEDIA_BUFFERING_COMPLETED'; id: string };

/** Audio over a WebSocket: binary messages, as early as the far side likes, steered by commands in text. */
export class WebSocketEnd extends StreamEnd {
  protected override readonly wire: Wire;
  readonly #relayed: RelayedWire | undefined;
  readonly #form: MediaEventForm;
  readonly #channelId: string;
  readonly #unsentBytes: number;
  readonly #marks: Mark[] = [];
  #connected = false;
  #paused = false;
  #buffering = false;
  #stopped = false;
  #reportsDrained = false;

  constructor(
    options: StreamEndOptions,
    request: (WebSocketRequest | AwaitedWebSocketRequest) & { codec: FormatName },
    wires: Wires,
  ) {
    super(options);
    const { json, start, codec, frameOctets } = request;
    this.#form = { json, tellsCounts: options.bounds.countsInText };
    this.#channelId = start.channelId;
    this.#unsentBytes = options.bounds.unsentBytes;
    const listener: WireListener = {
      opened: (local, again) => {
        this.#connected = true;
        const { connectionId, channel, channelId, variables } = start;
        const about = { connection_id: connectionId, channel, channel_id: channelId, format: codec };
        const size = { optimal_frame_size: frameOctets, ptime: tickMs };
        this.#tell('MEDIA_START', { fields: { ...about, ...size }, more: { channel_variables: variables } });
        // It may have been told to pause by a session that is gone.
        if (again) this.#tell('MEDIA_XON');
        this.report({ type: 'connected', session: this.session, local });
      },
      received: (octets) => this.inbox.put(() => this.#takeAudio(octets)),
      told: (text) => this.inbox.put(() => this.#obey(text)),
      closed: (reason) => this.inbox.put(() => this.lost(reason)),
    };
    const { bounds } = options;
    if (request.transport === 'awaitedWebSocket') {
      const tell = (relay: RelayedOut) => this.report({ type: 'relayed', session: this.session, relay });
      this.#relayed = new RelayedWire(listener, tell, bounds.unsentBytes);
      this.wire = this.#relayed;
    } else {
      const { url, headers, protocols, authorities } = request;
      this.wire = wires.openWebSocket(
        { url, headers, protocols, authorities, mostOctets: bounds.messageBytes },
        listener,
      );
    }
  }

  /** Handles a message of the WebSocket that the main thread holds. */
  relayed(relay: RelayedIn): void {
    this.#relayed?.hear(relay);
  }

  protected override get held(): boolean {
    return this.#paused;
  }

  override receive(now: number): void {
    if (this.#paused) {
      this.inbox.goOn();
      this.setHeard(undefined);
      return;
    }
    super.receive(now);
    this.#passMarks();
    const frames = this.#frames;
    if (this.#stopped && frames < mediaQueue.on) {
      this.#stopped = false;
      this.#tell('MEDIA_XON');
    }
    if (this.#reportsDrained && frames === 0) {
      this.#reportsDrained = false;
      this.#tell('QUEUE_DRAINED');
    }
  }

  override close(reason: string): void {
    super.close(reason);
    this.wire.end();
  }

  protected override sendAudio(payload: Uint8Array): void {
    // A copy: the payload is written over before the far side may have read it.
    if (this.#connected) this.wire.send(payload.slice());
  }

  protected override sendDigitMessage(digit: string, durationMs: number): void {
    this.#tell('DTMF_END', { fields: { digit, channel_id: this.#channelId }, counts: { duration_ms: durationMs } });
  }

  get #frames(): number {
    return Math.ceil(this.incoming.queuedMs / tickMs);
  }

  #takeAudio(octets: Uint8Array): void {
    this.take(octets);
    this.#passMarks();
    if (this.#stopped || this.#frames < mediaQueue.off) return;
    this.#stopped = true;
    this.#tell('MEDIA_XOFF');
  }

  #obey(text: string): void {
    const asked = readMediaCommand(text, this.#form.json);
    switch (asked?.command) {
      case 'ANSWER':
        this.report({ type: 'answerAsked', session: this.session });
        return;
      case 'HANGUP':
        this.report({ type: 'hangupAsked', session: this.session });
        return;
      case 'START_MEDIA_BUFFERING':
        this.#buffering = true;
        return;
      case 'STOP_MEDIA_BUFFERING':
        this.#buffering = false;
        this.#mark('MEDIA_BUFFERING_COMPLETED', asked.id);
        return;
      case 'MARK_MEDIA':
        this.#mark('MEDIA_MARK_PROCESSED', asked.id);
        return;
      case 'FLUSH_MEDIA':
        this.incoming.flush();
        this.#marks.length = 0;
        this.#buffering = false;
        return;
      case 'REPORT_QUEUE_DRAINED':
        this.#reportsDrained = true;
        return;
      case 'GET_STATUS':
        this.#tellStatus();
        return;
      case 'PAUSE_MEDIA':
        this.#paused = true;
        this.mix?.reconsider();
        return;
      case 'CONTINUE_MEDIA':
        this.#paused = false;
        this.mix?.reconsider();
        return;
      case 'SET_MEDIA_DIRECTION':
        this.#turn(asked.direction);
        return;
      default:
        this.#tellError('this is no command');
    }
  }

  #turn(direction: unknown): void {
    if (this.#form.json && (direction === 'both' || direction === 'in' || direction === 'out')) this.turn(direction);
    else this.#tellError('the direction is both, in or out, and asked for in JSON');
  }

  #mark(event: Mark['event'], id: string): void {
    if (this.#marks.length >= mostMarks) this.#tellError(`${mostMarks} marks wait already`);
    else this.#marks.push({ at: this.incoming.accepted, event, id });
    this.#passMarks();
  }

  #passMarks(): void {
    while (this.#marks.length > 0 && this.#marks[0]!.at <= this.incoming.passed) {
      const { event, id } = this.#marks.shift()!;
      this.#tell(event, { fields: { correlation_id: id }, counts: { heard_ms: Math.round(this.incoming.heardMs) } });
    }
  }

  #tellStatus(): void {
    const fields = {
      channel_id: this.#channelId,
      queue_length: this.#frames,
      xon_level: mediaQueue.on,
      xoff_level: mediaQueue.off,
      queue_full: this.#frames >= mediaQueue.most,
      bulk_media: this.#buffering,
      media_paused: this.#paused,
    };
    const { heardMs, droppedMs } = this.incoming;
    const counts = {
      heard_ms: Math.round(heardMs),
      dropped_ms: Math.round(droppedMs),
      unsent_frames: this.unsentFrames,
    };
    this.#tell('STATUS', { fields, counts });
  }

  #tellError(reason: string): void {
    this.#tell('ERROR', { fields: { channel_id: this.#channelId, error_text: reason } });
  }

  #tell(event: string, what: Omit<MediaEvent, 'event' | 'channelId'> = {}): void {
    if (!this.#connected) return;
    // Audio is left out long before; answers to its commands must not pile up either.
    if (this.wire.unsent > 2 * this.#unsentBytes) {
      this.lost('the far side does not read');
      return;
    }
    this.wire.send(writeMediaEvent({ event, channelId: this.#channelId, ...what }, this.#form));
  }
}
