import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ulawToLinear } from '../../../src/media/codec/g711.ts';
import { emptyHeader, readHeader } from '../../../src/media/rtp/header.ts';
import type { Leg, LegReport } from '../../../src/telephony/driver.ts';
import type { VirtualHost } from '../../../src/virtual/network.ts';
import { describeAudio, Ear, find, type Heard, isSilent, patternOf, purity, samplesPerMs } from './audio.ts';
import { type Duration, inSeconds, toMs } from './duration.ts';
import { createVirtualPhone, type PhoneCall } from './sip-phone.ts';
import { audioOf, nameOf, type Prompts, type Sound, writeWav } from './sounds.ts';
import { ExpectationError, type World, within } from './world.ts';

/** What a phone does when it is called. */
export type Behaviour = {
  /**
   * `ring` (default): it rings until `answer()` or `hangup()`. `answer`, `busy`, `reject`: at once, or `after` a time.
   * `silent`: it takes the call and does nothing, until `ring()`, `progress()`, `answer()` or `hangup()`.
   */
  when?: 'ring' | 'answer' | 'busy' | 'reject' | 'silent';
  after?: Duration;
  /** What the caller hears before the answer. */
  earlyMedia?: Sound;
  /** Hangs up so long after the answer. */
  hangsUpAfter?: Duration;
};

/** How long to wait, in simulated time; 10 s when left out. */
export type Wait = { within?: Duration };

const causes: Readonly<Record<number, string>> = {
  1: 'no such number',
  16: 'normal clearing',
  17: 'busy',
  18: 'no response',
  19: 'no answer',
  20: 'not registered',
  21: 'rejected',
  34: 'congestion',
  127: 'interworking',
};
const causeOf = (cause: number): string => `${causes[cause] ?? 'cause'} (${cause})`;
const busy = 17;
const rejected = 21;
const normal = 16;

type State = 'idle' | 'dialing' | 'ringing' | 'up' | 'over';
type Current = { call: PhoneCall; state: State; startedAt: number; cause: number | undefined; ear: Ear };
type Parts = {
  name: string;
  host: VirtualHost;
  world: World;
  prompts: Prompts;
  seed: number;
  /** The address of the server, as `address:port`. */
  server: string;
  say: ((text: string) => Promise<Int16Array> | Int16Array) | undefined;
};

/** A telephone on the simulated network, in the hands of a test. It is in one call at a time. */
export class Phone {
  readonly name: string;
  readonly #parts: Parts;
  readonly #sounds: string;
  readonly #ready: Promise<Awaited<ReturnType<typeof createVirtualPhone>>>;
  #behaviour: Behaviour = {};
  #current: Current | undefined;
  /** How far what was heard has been asked for, in samples. */
  #listened = 0;
  #said = 0;

  /** @internal */
  constructor(parts: Parts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#sounds = mkdtempSync(join(tmpdir(), 'hookswitch-phone-'));
    const { world, host, seed } = parts;
    const person = {
      called: (call: PhoneCall) => this.#called(call),
      heard: (call: PhoneCall, report: LegReport) => this.#heard(call, report),
    };
    const options = { person, soundsDirectory: this.#sounds, codecs: ['ulaw'] as const };
    this.#ready = createVirtualPhone(parts.name, this.#listening(host), { clock: world.clock, seed }, options);
    world.opening.add(this.#ready);
    void this.#ready.finally(() => world.opening.delete(this.#ready));
  }

  /** Whether a call of it is up. */
  get inCall(): boolean {
    return this.#current?.state === 'up';
  }

  /** What it does when it is called. */
  does(behaviour: Behaviour): this {
    this.#behaviour = behaviour;
    return this;
  }

  /** Calls an extension, without waiting for the answer. */
  async dial(extension: string): Promise<void> {
    const phone = await this.#ready;
    await this.#parts.world.settle();
    const current = this.#begin(undefined as never, 'dialing');
    current.call = phone.dial(`sip:${extension}@${this.#parts.server}`);
  }

  /** Calls an extension and waits for the answer. @throws ExpectationError when it is refused, or not answered. */
  async call(extension: string, { within: most = '10s' }: Wait = {}): Promise<void> {
    await this.dial(extension);
    const over = () => this.#current?.state === 'up' || this.#current?.state === 'over';
    await this.#until(over, most, `to be answered at ${extension}`);
    if (this.#current?.state !== 'up')
      throw new ExpectationError(
        `${this.name} expected to be answered at ${extension}, but the call ended: ${causeOf(this.#current?.cause ?? normal)}`,
      );
  }

  /** Waits until somebody calls. */
  rings({ within: most = '10s' }: Wait = {}): Promise<void> {
    return this.#until(() => this.#current?.state === 'ringing', most, 'a call');
  }

  /** Tells the caller that it rings (180), where `does` has it silent. Waits for a call first. */
  async ring(wait: Wait = {}): Promise<void> {
    await this.rings(wait);
    this.#current?.call.leg.ring();
    await this.#parts.world.settle();
  }

  /** Opens early media (183), and says something in it. Waits for a call first. */
  async progress(sound?: Sound, wait: Wait = {}): Promise<void> {
    await this.rings(wait);
    const { leg } = (this.#current as Current).call;
    leg.progress();
    if (sound) this.#play(leg, audioOf(sound), () => {});
    await this.#parts.world.settle();
  }

  /** Answers the call that rings; waits for one first. */
  async answer(wait: Wait = {}): Promise<void> {
    await this.rings(wait);
    this.#current?.call.leg.answer();
    await this.#until(() => this.inCall, wait.within ?? '10s', 'its call to be up');
  }

  /** Hangs up, or refuses the call that rings. */
  async hangup(cause = normal): Promise<void> {
    this.#current?.call.leg.hangup(cause);
    await this.#parts.world.settle();
  }

  /** Waits until the other side has ended the call. With `cause` (Q.850) it must be that. */
  async hungUp({ cause, ...wait }: Wait & { cause?: number } = {}): Promise<void> {
    await this.#until(() => this.#current?.state === 'over', wait.within ?? '10s', 'the call to end');
    const ended = this.#current?.cause ?? normal;
    if (cause !== undefined && cause !== ended)
      throw new ExpectationError(
        `${this.name} expected the call to end by ${causeOf(cause)}, but it was ${causeOf(ended)}`,
      );
  }

  /** Presses digits (`0-9*#A-D`), one after the other. */
  async press(digits: string): Promise<void> {
    const { leg } = this.#up('press digits').call;
    leg.sendDigits({ digits, beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 });
    await this.#parts.world.advance(digits.length * 200 + 40);
  }

  /** Says a sound, or a text by the function `say` of the server's options; waits until it is said. */
  async says(what: Sound | string): Promise<void> {
    const { leg } = this.#up('say something').call;
    const audio = typeof what === 'string' ? await this.#spoken(what) : audioOf(what);
    let over = false;
    this.#play(leg, audio, () => {
      over = true;
    });
    await this.#until(() => over, audio.length / samplesPerMs + 10_000, 'to have said it');
  }

  /**
   * Waits until it hears a prompt (by its name, such as `hello-world` or `recording:message`), a tone, silence, or
   * samples. What was heard before an earlier `hears` counts no more. With `begins` the first half second is enough.
   * @throws ExpectationError with what was heard instead; SoundError if there is no such prompt.
   */
  async hears(what: Sound | string, { within: most = '10s', begins = false }: Wait & { begins?: boolean } = {}) {
    const looks = await this.#search(what, begins);
    const name = typeof what === 'string' ? `the prompt '${what}'` : nameOf(what);
    const from = this.#listened;
    const late = () => `${this.name} expected to hear ${name} ${within(most)}, but heard ${this.#instead(from)}`;
    const gone = () => this.#current?.state !== 'up' && this.#current?.state !== 'dialing';
    let found: number | undefined;
    await this.#parts.world.until(() => (found = looks(this.#ear())) !== undefined || gone(), most, late);
    if (found === undefined) throw new ExpectationError(`${late()}; then the call ended`);
    this.#listened = found;
  }

  /** Puts the other side on hold. */
  async hold(): Promise<void> {
    this.#up('hold').call.leg.hold();
    await this.#parts.world.advance(stepMs);
  }

  async unhold(): Promise<void> {
    this.#up('take back').call.leg.unhold();
    await this.#parts.world.advance(stepMs);
  }

  /** Transfers the other side to an extension (SIP REFER). */
  async transfer(extension: string): Promise<void> {
    this.#up('transfer').call.leg.redirect(`sip:${extension}@${this.#parts.server}`);
    await this.#parts.world.advance(stepMs);
  }

  /** What it has heard in this call or the last one, in words. */
  get heard(): string {
    return this.#instead(0);
  }

  /** Unplugs it: from here on it sends and answers nothing. */
  async close(): Promise<void> {
    const phone = await this.#ready;
    await phone.close();
    rmSync(this.#sounds, { recursive: true, force: true });
  }

  #play(leg: Leg, audio: Int16Array, told: () => void): void {
    const name = `said-${this.#said++}`;
    writeWav(join(this.#sounds, `${name}.wav`), audio);
    leg.media.play({ uri: `sound:${name}`, language: '', offsetMs: 0 }, told);
  }

  #up(what: string): Current {
    if (this.#current?.state === 'up') return this.#current;
    throw new ExpectationError(`${this.name} cannot ${what}: it is in no call (${this.#stateInWords()})`);
  }

  #stateInWords(): string {
    const { state = 'idle', cause } = this.#current ?? {};
    return state === 'over' ? `the call ended: ${causeOf(cause ?? normal)}` : `it is ${state}`;
  }

  #until(holds: () => boolean, most: Duration, what: string): Promise<void> {
    return this.#parts.world.until(
      holds,
      most,
      () => `${this.name} expected ${what} ${within(most)}, but ${this.#stateInWords()}`,
    );
  }

  #begin(call: PhoneCall, state: State): Current {
    this.#listened = 0;
    const startedAt = this.#parts.world.clock.now();
    this.#current = { call, state, startedAt, cause: undefined, ear: new Ear() };
    return this.#current;
  }

  #called(call: PhoneCall): void {
    const { state = 'idle' } = this.#current ?? {};
    if (state === 'idle' || state === 'over') this.#behave(this.#begin(call, 'ringing'));
    else call.leg.hangup(busy);
  }

  #behave(current: Current): void {
    const { leg } = current.call;
    const { when = 'ring', after, earlyMedia } = this.#behaviour;
    const acts = {
      ring: () => {},
      silent: () => {},
      answer: () => leg.answer(),
      busy: () => leg.hangup(busy),
      reject: () => leg.hangup(rejected),
    };
    if (when === 'ring' || (when === 'answer' && after !== undefined)) leg.ring();
    if (earlyMedia) {
      leg.progress();
      this.#play(leg, audioOf(earlyMedia), () => {});
    }
    this.#later(current, after, acts[when]);
  }

  #later(current: Current, after: Duration | undefined, act: () => void): void {
    const ifThere = () => {
      if (current.state !== 'over') act();
    };
    if (after === undefined) act();
    else this.#parts.world.clock.setTimeout(ifThere, toMs(after));
  }

  #heard(call: PhoneCall, report: LegReport): void {
    const current = this.#current;
    if (!current || (current.call !== undefined && current.call !== call)) return;
    if (report.type === 'leg.answered') {
      current.state = 'up';
      call.leg.media.silence(true);
      const { hangsUpAfter } = this.#behaviour;
      if (hangsUpAfter !== undefined) this.#later(current, hangsUpAfter, () => call.leg.hangup(normal));
    } else if (report.type === 'leg.hungUp') {
      current.cause = report.cause;
    } else if (report.type === 'leg.ended') current.state = 'over';
  }

  #ear(): Int16Array {
    const { ear, startedAt, state } = this.#current ?? this.#begin(undefined as never, 'idle');
    if (state !== 'over') ear.until(this.#parts.world.clock.now() - startedAt);
    return ear.heard;
  }

  async #spoken(text: string): Promise<Int16Array> {
    const { say } = this.#parts;
    if (!say) throw new TypeError(`${this.name} cannot say a text: give startTestServer a function \`say\``);
    return say(text);
  }

  /** Makes the function that looks for a sound in what was heard: it gives where the sound ends, in samples. */
  async #search(what: Sound | string, begins: boolean): Promise<(heard: Int16Array) => number | undefined> {
    let looked = this.#listened;
    if (typeof what !== 'string' && what.kind === 'silence')
      return (heard) =>
        heard.length - looked >= what.ms * samplesPerMs && isSilent(heard, what.ms) ? heard.length : undefined;
    if (typeof what !== 'string' && what.kind === 'tone') {
      let sounding = 0;
      return (heard) => {
        for (; looked + toneWindow <= heard.length; looked += toneWindow) {
          sounding = purity(heard.subarray(looked, looked + toneWindow), what.hertz) > 0.7 ? sounding + toneWindow : 0;
          if (sounding >= what.ms * samplesPerMs) return looked + toneWindow;
        }
        return undefined;
      };
    }
    const whole = typeof what === 'string' ? await this.#parts.prompts.load(what) : patternOf(what.samples);
    const pattern = begins ? patternOf(whole.samples.subarray(0, beginning)) : whole;
    const distance = typeof what === 'string' ? promptDistance : what.distance;
    return (heard) => {
      const found = find(heard, pattern, looked, distance);
      looked = found.looked;
      return found.at === undefined ? undefined : found.at + pattern.samples.length;
    };
  }

  #instead(from: number): string {
    const heard = this.#ear();
    const named: Heard[] = [];
    for (const [name, pattern] of this.#parts.prompts.known)
      for (let at: number | undefined = from; at !== undefined; ) {
        at = find(heard, pattern, at, promptDistance).at;
        if (at === undefined) break;
        const end: number = at + pattern.samples.length;
        named.push({ fromMs: at / samplesPerMs, toMs: end / samplesPerMs, what: `the prompt '${name}'` });
        at = end;
      }
    const pieces = describeAudio(heard, from, named);
    if (pieces.length === 0) return 'nothing';
    return pieces.map(({ fromMs, toMs, what }) => `${what} (${inSeconds(fromMs)} to ${inSeconds(toMs)})`).join(', ');
  }

  /** The host, with an ear at its sockets for audio. */
  #listening(host: VirtualHost): VirtualHost {
    const header = emptyHeader();
    return {
      ...host,
      sockets: {
        bind: async (address, port) => {
          const socket = await host.sockets.bind(address, port);
          return {
            port: socket.port,
            send: (packet, to, at) => socket.send(packet, to, at),
            listen: (listener) =>
              socket.listen(
                listener &&
                  ((packet, from, fromPort) => {
                    if (readHeader(packet, header) && header.payloadType === 0) this.#put(packet, header);
                    listener(packet, from, fromPort);
                  }),
              ),
            close: () => socket.close(),
          };
        },
      },
    };
  }

  #put(packet: Uint8Array, { ssrc, timestamp, payloadStart, payloadEnd }: ReturnType<typeof emptyHeader>): void {
    if (!this.#current) return;
    const audio = Int16Array.from(packet.subarray(payloadStart, payloadEnd), (octet) => ulawToLinear[octet]!);
    const { ear, startedAt } = this.#current;
    ear.put(ssrc, timestamp, audio, this.#parts.world.clock.now() - startedAt);
  }
}

const stepMs = 20;
const toneWindow = stepMs * samplesPerMs;
const beginning = 500 * samplesPerMs;
const promptDistance = 0.3;
