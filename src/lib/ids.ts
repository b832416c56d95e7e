import { randomUUID } from 'node:crypto';
import { customAlphabet } from 'nanoid';
import type { Clock } from './clock.ts';

/** The one source of identifiers: made in `build/base.ts`, passed down, counted up in tests. */
export interface Ids {
  /** A channel id in Asterisk's form, `<unix seconds>.<counter>`; with a system name `<name>-<seconds>.<counter>`. */
  channel(): string;
  /** A random UUID (bridges, playbacks). */
  uuid(): string;
  /** `digits` random lower-case hexadecimal digits (the tail of a channel name, SIP tags and branches). */
  hex(digits: number): string;
  /** An unguessable word of `length` letters and digits (passwords, nonces). */
  secret(length: number): string;
}

/** Identifiers that another process can go on with. */
export interface CountedIds extends Ids {
  /** How many channel ids were made. */
  readonly channels: number;
  /** Goes on counting channel ids from there. */
  goOn(channels: number): void;
}

/** @param systemName put in front of channel ids when several servers share a database; '' for none. */
export function createIds(clock: Clock, systemName = ''): CountedIds {
  const hexDigits = customAlphabet('0123456789abcdef', 8);
  const letters = customAlphabet('ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789', 20);
  const prefix = systemName && `${systemName}-`;
  let counter = 0;
  return {
    channel: () => `${prefix}${Math.floor(clock.now() / 1000)}.${counter++}`,
    get channels() {
      return counter;
    },
    goOn(channels) {
      counter = channels;
    },
    uuid: () => randomUUID(),
    hex: (digits) => hexDigits(digits),
    secret: (length) => letters(length),
  };
}
