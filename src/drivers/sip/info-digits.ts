import type { InviteUsage } from '../../sip/dialog/invite-usage.ts';
import type { Timers } from '../../sip/dialog/stack.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { DigitSequence } from '../../telephony/driver.ts';

/** A digit inside an INFO, as phones without RFC 4733 send it. */
export type InfoDigit = { digit: string; durationMs: number };

const DEFAULT_DURATION_MS = 100;
const pauses: Readonly<Record<string, number>> = { w: 500, W: 1000 };

/** Reads `application/dtmf-relay` (`Signal=5`, `Duration=160`) or `application/dtmf` (`5`); undefined for others. */
export function parseInfoDigit(request: SipRequest): InfoDigit | undefined {
  const text = request.body.toString('utf8', 0, 256);
  if (request.contentType === 'application/dtmf-relay') {
    const lines = text.split(/[\r\n]+/);
    const valueIn = (form: RegExp) => lines.map((line) => form.exec(line)?.[1]).find((value) => value !== undefined);
    const signal = valueIn(/^\s*signal\s*=\s*([0-9a-d*#]|1[0-6])\s*$/i);
    const duration = valueIn(/^\s*duration\s*=\s*(\d{1,5})\s*$/i);
    const durationMs = duration === undefined ? DEFAULT_DURATION_MS : Number(duration);
    return signal === undefined ? undefined : { digit: digitOf(signal), durationMs };
  }
  if (request.contentType !== 'application/dtmf') return undefined;
  const digit = /^\s*([0-9a-d*#]|1[0-6])\s*$/i.exec(text)?.[1];
  return digit === undefined ? undefined : { digit: digitOf(digit), durationMs: DEFAULT_DURATION_MS };
}

/** Event numbers of RFC 4733 stand for the signs that are no numbers. */
const digitOf = (signal: string): string => {
  const number = Number(signal);
  return signal.length === 2 ? ('*#ABCD'[number - 10] ?? 'D') : signal.toUpperCase();
};

/** Sends digits as INFO requests in their time; the timers are the leg's, so that they end with it. */
export function sendInfoDigits(timers: Timers, usage: InviteUsage, sequence: DigitSequence): void {
  let at = sequence.beforeMs;
  for (const digit of sequence.digits) {
    const pause = pauses[digit];
    if (pause !== undefined) {
      at += pause;
      continue;
    }
    const body = `Signal=${digit}\r\nDuration=${sequence.durationMs}\r\n`;
    timers.start(() => usage.request('INFO', { contentType: 'application/dtmf-relay', body }, () => {}), at);
    at += sequence.durationMs + sequence.betweenMs;
  }
}
