import { type CallHandle, createCall } from './call.ts';
import { type AnyEvent, EventStream, type Listener } from './event-stream.ts';
import {
  type AriOperations,
  ariOperations,
  type Channel,
  type Events,
  type OwnOperations,
  ownOperations,
} from './generated.ts';
import { type Ask, createAsk, type ServerOptions } from './requests.ts';
import { EventSocket } from './socket.ts';

export type { CallHandle } from './call.ts';
export type { AnyEvent, Listener } from './event-stream.ts';
export type * from './generated.ts';
export { AriError, type RequestOptions, type ServerOptions } from './requests.ts';

/** Options of {@link connect}. */
export interface ConnectOptions extends ServerOptions {
  /** The application to be, or several over one WebSocket. */
  app: string | readonly string[];
  /** Every event of the server, not only those of the application's own channels and bridges. Default: false. */
  subscribeAll?: boolean;
  /** Opens a broken WebSocket again, and asks for the events that were missed. Default: true. */
  reconnect?: boolean;
}

/** A client of a server that speaks ARI. */
export interface Ari extends AriOperations {
  /** Operations that only Hookswitch has. */
  readonly hookswitch: OwnOperations;
  /** Listens to one type of event, or to all (`*`). @returns the function that stops it. */
  on<T extends keyof Events>(type: T, listener: Listener<Events[T]>): () => void;
  on(type: '*', listener: Listener<AnyEvent>): () => void;
  /** The connection was opened, or opened again. */
  on(type: 'connected', listener: () => unknown): () => void;
  /** The connection was lost; `over` = it is not opened again. */
  on(type: 'disconnected', listener: (lost: { reason: string; over: boolean }) => unknown): () => void;
  /** A listener has failed. Without such a listener the error is thrown as an unhandled rejection. */
  on(type: 'error', listener: (error: unknown) => unknown): () => void;
  /** The next event of a type. @throws Error when the client is closed before. */
  next<T extends keyof Events>(
    type: T,
    accepts?: (event: Events[T]) => boolean,
    options?: { signal?: AbortSignal },
  ): Promise<Events[T]>;
  /** All events from now on, until the client is closed. */
  stream(): AsyncIterableIterator<AnyEvent>;
  /** The channels that enter the application from now on. */
  incoming(): AsyncIterableIterator<CallHandle>;
  /** The handle of a channel that is known by its id or its model. */
  call(channel: string | Channel): CallHandle;
  /** Closes the WebSocket. Channels stay in the application. */
  close(): void;
}

/** A client without a WebSocket: requests only. */
export function createClient(options: ServerOptions): AriOperations & { readonly hookswitch: OwnOperations } {
  const ask = createAsk(options);
  return { ...(operationsOf(ariOperations, ask) as AriOperations), hookswitch: ownOf(ask) };
}

const ownOf = (ask: Ask) => operationsOf(ownOperations, ask) as OwnOperations;

const operationsOf = (table: Readonly<Record<string, Readonly<Record<string, string>>>>, ask: Ask): unknown =>
  Object.fromEntries(
    Object.entries(table).map(([resource, operations]) => [
      resource,
      Object.fromEntries(
        Object.entries(operations).map(([name, row]) => [
          name,
          (params?: object, options?: object) => ask(row, params, options),
        ]),
      ),
    ]),
  );

/**
 * Connects an application. Events come from here on; requests may be made at once.
 * @throws Error when the server refuses the application or cannot be reached.
 */
export async function connect(options: ConnectOptions): Promise<Ari> {
  const client = createClient(options);
  const signals = new Map<string, Set<(value: never) => unknown>>();
  const tell = (type: string, value?: unknown) => {
    const listeners = signals.get(type) ?? [];
    for (const listener of listeners) (listener as (value: unknown) => unknown)(value);
    return [...listeners].length > 0;
  };
  const failed = (error: unknown) => {
    if (!tell('error', error)) void Promise.reject(error);
  };
  const stream = new EventStream(failed);
  const socket = new EventSocket({
    ...options,
    apps: [options.app].flat(),
    subscribeAll: options.subscribeAll === true,
    reconnect: options.reconnect !== false,
    heard: (event) => stream.publish(event),
    connected: () => void tell('connected'),
    disconnected(reason, over) {
      tell('disconnected', { reason, over });
      if (over) stream.end();
    },
  });
  const on = (type: string, listener: (value: never) => unknown) => {
    if (!['connected', 'disconnected', 'error'].includes(type)) return stream.on(type, listener as Listener<AnyEvent>);
    const listeners = signals.get(type) ?? new Set();
    signals.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  };
  const callOf = (first: Parameters<typeof createCall>[2]) => createCall(stream, client.channels, first);
  const never = () => false;
  await socket.open();
  return {
    ...client,
    on,
    next: (type: string, accepts = () => true, { signal }: { signal?: AbortSignal } = {}) =>
      stream.next(type as AnyEvent['type'], accepts as (event: AnyEvent) => boolean, { signal }),
    stream: () => stream.collect(never),
    incoming() {
      const events = stream.collect(never);
      return (async function* () {
        for await (const event of events) if (event.type === 'StasisStart') yield callOf(event);
      })();
    },
    call: (channel: string | Channel) =>
      callOf({ channel: typeof channel === 'string' ? ({ id: channel } as Channel) : channel }),
    close: () => socket.close(),
  } as Ari;
}
