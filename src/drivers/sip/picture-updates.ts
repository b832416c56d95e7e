import type { Clock } from '../../lib/clock.ts';
import {
  type PictureUpdatesEffect,
  type PictureUpdatesEvent,
  pictureUpdatesTable,
} from '../../machines/picture-updates.ts';
import { TableRun, type Watched } from '../../machines/table-run.ts';
import type { SipRequest } from '../../sip/message/message.ts';

/** Commands about video in the body of an INFO (RFC 5168). */
const mediaControl = 'application/media_control+xml';
/** The only media control command: the encoder should send a key frame. */
const body =
  '<?xml version="1.0" encoding="utf-8"?>\r\n' +
  '<media_control><vc_primitive><to_encoder><picture_fast_update/></to_encoder></vc_primitive></media_control>\r\n';
/** Statuses that say that the far side will never understand it. */
const neverTaken: ReadonlySet<number> = new Set([405, 406, 415, 420, 501]);
/** Characters of a body that are read. */
const longestBody = 4096;

/** The video command of an INFO: a key frame, an unknown command, or unreadable; undefined for other INFOs. */
type MediaControl = 'picture_fast_update' | 'unknown' | 'malformed';

/** Reads the body of an INFO. Elements beside the command are ignored, as RFC 5168 requires. */
export function readMediaControl({ contentType, body: octets }: SipRequest): MediaControl | undefined {
  if (contentType !== mediaControl) return undefined;
  if (octets.length > longestBody) return 'malformed';
  const elements = elementsOf(octets.toString('utf8'));
  if (elements?.[0] !== 'media_control') return 'malformed';
  return elements.includes('picture_fast_update') ? 'picture_fast_update' : 'unknown';
}

/** Local names of the elements of a document in their order; undefined when they are not one within the other. */
function elementsOf(text: string): string[] | undefined {
  const found: string[] = [];
  const open: string[] = [];
  const plain = withoutNotes(text);
  if (plain === undefined) return undefined;
  for (let at = plain.indexOf('<'); at >= 0; at = plain.indexOf('<', at)) {
    const end = plain.indexOf('>', at);
    if (end < 0) return undefined;
    const tag = plain.slice(at + 1, end);
    at = end + 1;
    if (tag.startsWith('!')) continue;
    const isEnd = tag.startsWith('/');
    const [full = ''] = tag.slice(isEnd ? 1 : 0).split(/[\s/]/, 1);
    const name = full.slice(full.indexOf(':') + 1);
    if (!/^[\w.-]+$/.test(name)) return undefined;
    if (isEnd) {
      if (open.pop() !== name) return undefined;
      continue;
    }
    if (open.length === 0 && found.length > 0) return undefined;
    found.push(name);
    if (!tag.endsWith('/')) open.push(name);
  }
  return open.length === 0 ? found : undefined;
}

/** A document without its declaration and comments; undefined when one of them has no end. */
function withoutNotes(text: string): string | undefined {
  let rest = text;
  for (const [begin, end] of [
    ['<!--', '-->'],
    ['<?', '?>'],
  ] as const)
    for (let at = rest.indexOf(begin); at >= 0; at = rest.indexOf(begin, at)) {
      const over = rest.indexOf(end, at + begin.length);
      if (over < 0) return undefined;
      rest = rest.slice(0, at) + rest.slice(over + end.length);
    }
  return rest;
}

type PictureUpdatesOptions = {
  clock: Pick<Clock, 'now'>;
  watched?: Watched;
  /** Shortest time between two that are sent, in ms. */
  intervalMs: number;
  /** Sends an INFO with this body; false where that cannot be (yet). */
  send(info: { contentType: string; body: string }): boolean;
  /** Shows the far side a key frame as soon as its source has one. */
  show(): void;
};

/**
 * Key frame requests by INFO, in both directions, for far sides without RTCP feedback. One request is in progress at a
 * time. Further or early ones are dropped, because viewers repeat them. A far side that does not support the request
 * gets no more.
 */
export class PictureUpdates {
  /** Label of the requests. */
  static readonly label = 'picture';
  readonly #options: PictureUpdatesOptions;
  readonly #run: TableRun<keyof typeof pictureUpdatesTable, PictureUpdatesEvent, PictureUpdatesEffect>;
  #at = Number.NEGATIVE_INFINITY;

  constructor(options: PictureUpdatesOptions) {
    this.#options = options;
    this.#run = new TableRun(pictureUpdatesTable, 'ready', { sendInfo: () => this.#send() }, options.watched);
  }

  /** A key frame of the far side is wanted. */
  ask(): void {
    const { clock, intervalMs } = this.#options;
    if (clock.now() - this.#at >= intervalMs) this.#run.send({ type: 'picture.wanted' });
  }

  /** The call is over. */
  close(): void {
    this.#run.send({ type: 'call.over' });
  }

  #send(): void {
    if (!this.#options.send({ contentType: mediaControl, body })) return;
    this.#at = this.#options.clock.now();
    this.#run.send({ type: 'info.sent' });
  }

  /** A request inside the call has ended. */
  ended(label: string, status: number): void {
    if (label === PictureUpdates.label)
      this.#run.send({ type: neverTaken.has(status) ? 'info.refused' : 'info.ended' });
  }

  /** The response to an INFO of the far side; undefined if it is not about video. */
  receive(request: SipRequest): number | undefined {
    const control = readMediaControl(request);
    if (control === 'picture_fast_update') this.#options.show();
    if (control === undefined) return undefined;
    return control === 'malformed' ? 400 : 200;
  }
}
