import { randomUUID } from 'node:crypto';
import { customAlphabet } from 'nanoid';
import type { Clock } from './clock.ts';

/** The one source of identifiers: made in `build/base.ts`, passed down, counted up in tests. */
export interface Ids {
  /** The mark of this node, which begins its SIP tags and the ids of its objects; '' outside a cluster. */
  readonly mark: string;
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

/** Between the mark of a node and the rest of an id: RFC 3986 lets it stand in a path. */
const markEnd = '~';

/** The mark of a node, put in front of its ids; '' for none. */
export const markFor = (node: string): string => node && `${node}${markEnd}`;

/** The node that made an id, as its mark says; undefined for an id without one. */
export function markOf(id: string): string | undefined {
  const end = id.indexOf(markEnd);
  return end < 1 ? undefined : id.slice(0, end);
}

/**
 * @param systemName put in front of channel ids when several servers share a database; '' for none.
 * @param node put in front of all ids of objects in a cluster; '' for none.
 */
export function createIds(clock: Clock, systemName = '', node = ''): CountedIds {
  const mark = markFor(node);
  const hexDigits = customAlphabet('0123456789abcdef', 8);
  const letters = customAlphabet('ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789', 20);
  const prefix = mark + (systemName && `${systemName}-`);
  let counter = 0;
  return {
    mark,
    channel: () => `${prefix}${Math.floor(clock.now() / 1000)}.${counter++}`,
    get channels() {
      return counter;
    },
    goOn(channels) {
      counter = channels;
    },
    uuid: () => mark + randomUUID(),
    hex: (digits) => hexDigits(digits),
    secret: (length) => letters(length),
  };
}
