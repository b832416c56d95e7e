import { isChannel, valueJson } from '../models/event-json.ts';

/** How long lists are sent. */
export type ListSending = {
  /** Runs a task after other input has been handled: what a long list waits for between its slices. */
  soon(task: () => void): void;
  /** Hears of a list that fails after its head has been sent; its connection is closed. */
  failed(error: unknown): void;
};

/** How much of a list is made at once, in octets: at most half a millisecond's work. Most lists take less. */
const sliceOctets = 192 * 1024;

/** Slices are put together here, then copied. Nothing stays in it between two slices. */
const workspace = Buffer.allocUnsafeSlow(2 * sliceOctets);
/** Most octets that a UTF-16 unit takes as UTF-8. */
const octetsOfUnit = 3;

type Slice = Uint8Array<ArrayBuffer>;

const open = '['.charCodeAt(0);
const comma = ','.charCodeAt(0);

/**
 * JSON of channels that were listed. A channel is another object after each change, so these texts stay true. They go
 * with their channels.
 */
const channelTexts = new WeakMap<object, string>();

function jsonOf(item: unknown): string {
  if (!isChannel(item)) return valueJson(item);
  let text = channelTexts.get(item);
  if (text === undefined) channelTexts.set(item, (text = valueJson(item)));
  return text;
}

/** The JSON text of a list, in slices. Each item is written by itself: to put their texts together first costs more. */
function* slicesOf(items: Iterable<unknown>): Generator<Slice, void> {
  let at = 0;
  let before = open;
  for (const item of items) {
    const text = jsonOf(item);
    const most = 1 + text.length * octetsOfUnit;
    if (at > 0 && at + most > workspace.length) {
      yield Buffer.from(workspace.subarray(0, at));
      at = 0;
    }
    if (most > workspace.length) yield Buffer.from(String.fromCharCode(before) + text);
    else {
      workspace[at] = before;
      at += 1 + workspace.write(text, at + 1, 'utf8');
    }
    before = comma;
    if (at < sliceOctets) continue;
    yield Buffer.from(workspace.subarray(0, at));
    at = 0;
  }
  at += workspace.write(before === open ? '[]' : ']', at, 'latin1');
  yield Buffer.from(workspace.subarray(0, at));
}

/**
 * A list as the body of an answer: the octets of its JSON text, or a stream if it takes more than one slice. A stream
 * makes a slice when the client has read those before, and other requests are handled between two slices.
 */
export function listBody(items: Iterable<unknown>, sending: ListSending): Slice | ReadableStream<Slice> {
  const slices = slicesOf(items);
  const first = slices.next().value as Slice;
  const second = slices.next();
  return second.done ? first : streamed(following(first, second.value, slices), sending);
}

function* following(first: Slice, second: Slice, rest: Iterable<Slice>): Generator<Slice, void> {
  yield first;
  yield second;
  yield* rest;
}

function streamed(slices: Iterator<Slice, void>, { soon, failed }: ListSending): ReadableStream<Slice> {
  const pull = (sink: ReadableStreamDefaultController<Slice>): Promise<void> | undefined => {
    try {
      const { done, value } = slices.next();
      if (done) return void sink.close();
      sink.enqueue(value);
      return new Promise(soon);
    } catch (error) {
      failed(error);
      sink.error(error);
    }
  };
  return new ReadableStream<Slice>({ pull, cancel: () => void slices.return?.() }, { highWaterMark: 0 });
}
