import { valueJson } from '../models/event-json.ts';

/** How long lists are sent. */
export type ListSending = {
  /** Runs a task after other input has been handled: what a long list waits for between its slices. */
  soon(task: () => void): void;
  /** Hears of a list that fails after its head has been sent; its connection is closed. */
  failed(error: unknown): void;
};

/** How much of a list is made at once, in characters: about half a millisecond's work. Most lists take less. */
const sliceLength = 192 * 1024;

/** The JSON text of a list, in slices. */
function* slicesOf(items: Iterable<unknown>): Generator<string, void> {
  let text = '[';
  let isFirst = true;
  for (const item of items) {
    text += isFirst ? valueJson(item) : `,${valueJson(item)}`;
    isFirst = false;
    if (text.length < sliceLength) continue;
    yield text;
    text = '';
  }
  yield `${text}]`;
}

/**
 * A list as the body of an answer: its JSON text, or a stream if it takes more than one slice. A stream makes a slice
 * when the client has read those before, and other requests are handled between two slices.
 */
export function listBody(items: Iterable<unknown>, sending: ListSending): string | ReadableStream<Uint8Array> {
  const slices = slicesOf(items);
  const { value: first = '[]' } = slices.next();
  const second = slices.next();
  return second.done ? first : streamed(following(first, second.value, slices), sending);
}

function* following(first: string, second: string, rest: Iterable<string>): Generator<string, void> {
  yield first;
  yield second;
  yield* rest;
}

function streamed(slices: Iterator<string, void>, { soon, failed }: ListSending): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const pull = (sink: ReadableStreamDefaultController<Uint8Array>): Promise<void> | undefined => {
    try {
      const { done, value } = slices.next();
      if (done) return void sink.close();
      sink.enqueue(encoder.encode(value));
      return new Promise(soon);
    } catch (error) {
      failed(error);
      sink.error(error);
    }
  };
  return new ReadableStream<Uint8Array>({ pull, cancel: () => void slices.return?.() }, { highWaterMark: 0 });
}
