import type { Clock } from '../../lib/clock.ts';
import type { Timers } from '../../sip/dialog/stack.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { DigitSequence } from '../../telephony/media.ts';
import type { EndpointConfig } from './config.ts';

/** The answer to an INFO whose body is of no kind that is known (RFC 3261 21.4.13). */
export const unknownInfo = {
  status: 415,
  headers: [['Accept', 'application/dtmf-relay, application/dtmf, application/media_control+xml']] as const,
};

/** A digit inside an INFO, as phones without RFC 4733 send it. */
type InfoDigit = { digit: string; durationMs: number };

/** A digit as a sequence of its own. */
export const oneDigit = ({ digit, durationMs }: InfoDigit): DigitSequence => ({
  ...{ digits: digit, durationMs },
  ...{ beforeMs: 0, betweenMs: 0, afterMs: 0 },
});

const DEFAULT_DURATION_MS = 100;
const pauses: Readonly<Record<string, number>> = { w: 500, W: 1000 };

/** Reads `application/dtmf-relay` (`Signal=5`, `Duration=160`) or `application/dtmf` (`5`); undefined for others. */
export function parseInfoDigit(request: SipRequest): InfoDigit | undefined {
  const text = request.body.toString('utf8', 0, 256);
  if (request.contentType === 'application/dtmf-relay') {
    const lines = text.split(/[\r\n]+/);
    const valueIn = (form: RegExp) => lines.map((line) => form.exec(line)?.[1]).find((value) => value !== undefined);
    const signal = valueIn(/^\s*signal\s*=\s*([0-9a-d*#]|1[0-5])\s*$/i);
    const duration = valueIn(/^\s*duration\s*=\s*(\d{1,5})\s*$/i);
    const durationMs = duration === undefined ? DEFAULT_DURATION_MS : Number(duration);
    return signal === undefined ? undefined : { digit: digitOf(signal), durationMs };
  }
  if (request.contentType !== 'application/dtmf') return undefined;
  const digit = /^\s*([0-9a-d*#]|1[0-5])\s*$/i.exec(text)?.[1];
  return digit === undefined ? undefined : { digit: digitOf(digit), durationMs: DEFAULT_DURATION_MS };
}

/** Whether it tells of a hook flash (`!`, or 16 as in RFC 4733), which is no digit. */
export const isFlash = ({ contentType, body }: SipRequest): boolean =>
  (contentType === 'application/dtmf-relay' || contentType === 'application/dtmf') &&
  body
    .toString('utf8', 0, 256)
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^\s*signal\s*=/i, '').trim())
    .some((signal) => signal === '!' || signal === '16');

/** Event numbers of RFC 4733 stand for the signs that are no numbers. */
const digitOf = (signal: string): string => {
  const number = Number(signal);
  return signal.length === 2 ? '*#ABCD'[number - 10]! : signal.toUpperCase();
};

/** An INFO to be sent: when, in ms since the Unix epoch, and its body. Plain data. */
export type InfoToSend = { readonly at: number; readonly body: string };

/** The INFO requests that a sequence of digits becomes. @param now ms since the Unix epoch. */
export function infosOf(sequence: DigitSequence, now: number): InfoToSend[] {
  const infos: InfoToSend[] = [];
  let at = now + sequence.beforeMs;
  for (const digit of sequence.digits) {
    const pause = pauses[digit];
    if (pause !== undefined) {
      at += pause;
      continue;
    }
    infos.push({ at, body: `Signal=${digit}\r\nDuration=${sequence.durationMs}\r\n` });
    at += sequence.durationMs + sequence.betweenMs;
  }
  return infos;
}

/** Sends digits as INFO requests in their time; the timers are the leg's, so that they end with it. */
export class InfoDigits {
  readonly #timers: Timers;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #send: (body: string) => void;
  readonly #waiting = new Set<InfoToSend>();

  /** @param send sends an INFO `application/dtmf-relay` with that body. */
  constructor(timers: Timers, clock: Pick<Clock, 'now'>, send: (body: string) => void) {
    this.#timers = timers;
    this.#clock = clock;
    this.#send = send;
  }

  /** INFO requests that are still to be sent. */
  get waiting(): readonly InfoToSend[] {
    return [...this.#waiting];
  }

  send(infos: readonly InfoToSend[]): void {
    const now = this.#clock.now();
    for (const info of infos) {
      this.#waiting.add(info);
      this.#timers.start(
        () => {
          this.#waiting.delete(info);
          this.#send(info.body);
        },
        Math.max(0, info.at - now),
      );
    }
  }
}

/** When digits are looked for in the audio, by how they travel. */
const inbandDigits = { auto: 'never', info: 'never', inband: 'always', auto_inband: 'without events' } as const;

/** SDP terms of a digit mode, and how digits of a bridge leave. */
export const digitTerms = (digits: EndpointConfig['digits']) => ({
  telephoneEvents: digits === 'auto' || digits === 'auto_inband',
  inbandDigits: inbandDigits[digits],
  infoDigits: digits === 'auto' || digits === 'info',
});
