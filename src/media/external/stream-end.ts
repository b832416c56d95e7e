import type { FormatName } from '../../lib/formats.ts';
import type { ExternalDirection } from '../../telephony/external.ts';
import type { SessionCommand } from '../../telephony/media.ts';
import type { PlaneUsage } from '../../telephony/plane-figures.ts';
import { type AudioCodec, maximumPayload } from '../codec/audio-codec.ts';
import { openCodec } from '../codec/open-codec.ts';
import type { MediaConfig } from '../config.ts';
import { End, type EndOptions, type Hearer, levelOf, type Passing } from '../end.ts';
import { emptyFrame, type Frame } from '../frame.ts';
import { RateChanger } from '../rate-changer.ts';
import { digitOfEvent } from '../rtp/telephone-event.ts';
import { tickMs } from '../ticker.ts';
import { Inbox } from './inbox.ts';
import { IncomingAudio } from './incoming-audio.ts';
import { Pace } from './pace.ts';
import type { Wire } from './wires.ts';

export type StreamEndOptions = EndOptions & {
  direction: ExternalDirection;
  bounds: MediaConfig['external'];
  opus: MediaConfig['opus'];
  incoming: { mostMs: number; keepMs: number };
  /** Whether further reports to the main thread are allowed: see `report-window.ts`. */
  mayTell: () => boolean;
  /** The connection is lost; nothing more is reported. */
  lost: (reason: string) => void;
};

/** One that is connected to a server: audio goes over a stream, as messages of a codec. */
export abstract class StreamEnd extends End {
  protected readonly incoming: IncomingAudio;
  protected readonly lost: (reason: string) => void;
  /** All incoming messages go through it. */
  protected readonly inbox: Inbox;
  readonly #codec: AudioCodec;
  readonly #bounds: MediaConfig['external'];
  readonly #rate: RateChanger;
  readonly #payload: Uint8Array;
  readonly #silence: Frame;
  #direction: ExternalDirection;
  #muted = { in: false, out: false };
  #flowing = false;
  #stalledAt: number | undefined;
  readonly #pace = new Pace();
  #hearer: Hearer | undefined;
  /** Something was given on since the last tick. */
  #spoke = false;
  /** Frames that were left out because the server does not read. */
  unsentFrames = 0;

  constructor(options: StreamEndOptions) {
    super(options);
    const { codec, direction, bounds, opus, incoming, lost, mayTell } = options;
    this.lost = lost;
    this.inbox = new Inbox({
      mayGoOn: mayTell,
      pause: () => this.wire.pause(),
      resume: () => this.wire.resume(),
    });
    this.#bounds = bounds;
    this.#direction = direction;
    this.incoming = new IncomingAudio({ codec, clock: options.clock, ...incoming });
    this.#codec = openCodec(codec, { order: 'host', opus });
    this.#rate = new RateChanger(this.#codec.sampleRate);
    this.#silence = emptyFrame(this.#codec.sampleRate);
    this.#payload = new Uint8Array(maximumPayload(this.#silence.samples.length));
  }

  override get sampleRate(): number {
    return this.#codec.sampleRate;
  }

  get codec(): FormatName {
    return this.#codec.codec;
  }

  override get passing(): Passing {
    const said = this.#direction === 'in' ? undefined : levelOf(this.saidAlone);
    return { heard: levelOf(this.heardAlone), said: said !== undefined && this.#muted.out ? 0 : said };
  }

  /** The server's audio not yet played, and dropped audio so far, in ms. */
  get queuedMs(): number {
    return this.incoming.queuedMs;
  }

  get droppedMs(): number {
    return this.incoming.droppedMs;
  }

  /** Data from the server wait until they are read. */
  protected get held(): boolean {
    return false;
  }

  /** The connection to the server. */
  protected abstract readonly wire: Wire;

  /** Sends 20 ms of audio; the payload holds until it returns. */
  protected abstract sendAudio(payload: Uint8Array): void;

  /** Tells the server of a digit. */
  protected abstract sendDigitMessage(digit: string, durationMs: number): void;

  override apply(command: SessionCommand): void {
    switch (command.type) {
      case 'echo':
        this.echoing = command.on;
        this.mix?.reconsider();
        return;
      case 'mute':
        this.#muted = { in: command.in, out: command.out };
        this.mix?.reconsider();
        return;
      default:
        super.apply(command);
    }
  }

  override get hearsAtOnce(): boolean {
    return !this.tapped && !this.echoing;
  }

  override get speaksAtOnce(): boolean {
    return this.hearsAtOnce && this.#direction !== 'out' && !this.#muted.in && !this.held && this.#pace.even;
  }

  override sayTo(hearer: Hearer | undefined): void {
    if (hearer === this.#hearer) return;
    this.#hearer = hearer;
    this.#sayOn(this.clock.monotonic());
  }

  override sayAtOnce(frame: Frame, now: number): void {
    if (!this.player.active && this.digits.idle) this.#say(this.compose(frame), now);
  }

  override receive(now: number): void {
    this.inbox.goOn();
    if (this.#pace.check(now, this.clock.monotonic())) this.mix?.reconsider();
    if (this.#hearer) {
      if (!this.#spoke) this.setHeard(undefined);
      this.#spoke = false;
      this.incoming.pass(now);
      return;
    }
    const frame = this.incoming.pull(now);
    this.setHeard(this.#muted.in || this.#direction === 'out' ? undefined : frame);
  }

  /** Gives on what is there in full. */
  #sayOn(now: number): void {
    for (let frame = this.#hearer && this.incoming.ready(); frame; frame = this.#hearer && this.incoming.ready()) {
      this.#spoke = true;
      this.setHeard(frame);
      this.#hearer?.sayAtOnce(frame, now);
    }
  }

  override send(now: number): void {
    const step = this.digits.tick();
    if (step?.ended) this.sendDigitMessage(digitOfEvent[step.event]!, step.durationMs);
    if (this.saidAtOnce && !this.player.active) return;
    this.#say(this.compose(this.echoing ? this.heard : this.inMix ? this.mixed : undefined), now);
  }

  #say(frame: Frame | undefined, now: number): void {
    if (!frame || this.#direction === 'in' || this.#isStalled(now)) return;
    const samples = this.#rate.samples(this.#muted.out ? this.#silence : frame);
    const length = this.#codec.encode(samples, this.#payload);
    if (length > 0) this.sendAudio(this.#payload.subarray(0, length));
  }

  override close(reason: string): void {
    super.close(reason);
    this.inbox.close();
    this.incoming.close();
    this.#codec.close();
  }

  protected override listenedChanged(): void {}

  /** Takes audio of the server. */
  protected take(octets: Uint8Array): void {
    if (octets.length === 0) return;
    if (!this.#flowing) {
      this.#flowing = true;
      this.report({ type: 'flowing', session: this.session });
    }
    const before = Math.floor(this.incoming.queuedMs / tickMs);
    this.incoming.put(octets);
    const frames = Math.floor(this.incoming.queuedMs / tickMs);
    if (frames <= before) return;
    const now = this.clock.monotonic();
    const waiting = frames - (this.#hearer ? 0 : before) - 1;
    if (this.#pace.hear(waiting, now)) this.mix?.reconsider();
    this.#sayOn(now);
  }

  /** The server told of a digit that was pressed there. */
  protected takeDigit(digit: string, durationMs: number): void {
    this.report({ type: 'digit', session: this.session, digit, durationMs });
    this.pressed(digit, durationMs);
  }

  protected turn(direction: ExternalDirection): void {
    this.#direction = direction;
    this.mix?.reconsider();
  }

  #isStalled(now: number): boolean {
    if (this.wire.unsent <= this.#bounds.unsentBytes) {
      this.#stalledAt = undefined;
      return false;
    }
    this.unsentFrames++;
    this.#stalledAt ??= now;
    if (now - this.#stalledAt >= this.#bounds.stallMs) this.lost('the far side does not read');
    return true;
  }
}

/** Counts of all connections to servers among some ends. */
export function streamUsage(
  ends: Iterable<End>,
): Pick<PlaneUsage, 'externalWaitingMs' | 'externalDroppedMs' | 'externalUnsentFrames'> {
  const usage = { externalWaitingMs: 0, externalDroppedMs: 0, externalUnsentFrames: 0 };
  for (const end of ends) {
    if (!(end instanceof StreamEnd)) continue;
    usage.externalWaitingMs += Math.round(end.queuedMs);
    usage.externalDroppedMs += Math.round(end.droppedMs);
    usage.externalUnsentFrames += end.unsentFrames;
  }
  return usage;
}
