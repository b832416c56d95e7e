import type { FormatName } from '../../lib/formats.ts';
import type { AudioSocketRequest } from '../../telephony/external.ts';
import { formatRates } from '../codec/audio-codec.ts';
import {
  AudioSocketReader,
  audioKind,
  audioSocketFrame,
  audioSocketKind,
  isAudioKind,
  uuidOctets,
} from './audio-socket.ts';
import { StreamEnd, type StreamEndOptions } from './stream-end.ts';
import type { Wire, Wires } from './wires.ts';

/** Assumed length of a digit without duration, in ms. */
const digitMs = 100;

/** Audio over a TCP connection that we make, in the frames of AudioSocket. */
export class AudioSocketEnd extends StreamEnd {
  protected override readonly wire: Wire;
  readonly #kind: number;
  readonly #reader = new AudioSocketReader((kind, payload) => this.#read(kind, payload));
  readonly #nextFrame = () => this.#reader.next();
  #connected = false;

  constructor(
    options: StreamEndOptions,
    { host, port, uuid, codec }: AudioSocketRequest & { codec: FormatName },
    wires: Wires,
  ) {
    super(options);
    this.#kind = audioKind(codec, formatRates[codec].sampleRate);
    this.wire = wires.connect(host, port, {
      opened: (local) => {
        this.#connected = true;
        this.wire.send(audioSocketFrame(audioSocketKind.id, uuidOctets(uuid) ?? new Uint8Array(16)));
        this.report({ type: 'connected', session: this.session, local });
      },
      received: (octets) => {
        this.#reader.add(octets);
        this.inbox.putAll(this.#nextFrame);
      },
      closed: (reason) => this.inbox.put(() => this.lost(reason)),
    });
  }

  override close(reason: string): void {
    super.close(reason);
    if (this.#connected) this.wire.send(audioSocketFrame(audioSocketKind.hangup, new Uint8Array(0)));
    this.wire.end();
  }

  protected override sendAudio(payload: Uint8Array): void {
    if (this.#connected) this.wire.send(audioSocketFrame(this.#kind, payload));
  }

  protected override sendDigitMessage(digit: string): void {
    if (this.#connected) this.wire.send(audioSocketFrame(audioSocketKind.digit, Buffer.from(digit, 'latin1')));
  }

  /** Unknown frames are skipped: newer servers may send more. */
  #read(kind: number, payload: Uint8Array): void {
    if (isAudioKind(kind)) this.take(payload);
    else if (kind === audioSocketKind.hangup) this.report({ type: 'hangupAsked', session: this.session });
    else if (kind === audioSocketKind.digit) {
      const digit = String.fromCharCode(payload[0] ?? 0).toUpperCase();
      if (/^[0-9*#A-D]$/.test(digit)) this.takeDigit(digit, digitMs);
    } else if (kind === audioSocketKind.error) this.lost(`the far side told of error ${payload[0] ?? 0}`);
  }
}
