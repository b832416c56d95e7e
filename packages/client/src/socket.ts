import type { AnyEvent } from './event-stream.ts';
import { pause } from './pause.ts';
import { pauseBefore, type ServerOptions } from './requests.ts';

/** What is used of a WebSocket, of browsers and Node alike. */
type Socket = {
  addEventListener(type: string, listener: (event: { data?: unknown; code?: number; reason?: string }) => void): void;
  close(code?: number): void;
};

type SocketOptions = ServerOptions & {
  apps: readonly string[];
  /** Every event of the server, not only those of the applications' own objects. */
  subscribeAll: boolean;
  reconnect: boolean;
  heard(event: AnyEvent): void;
  /** Tells that it is connected, for the first time or again. */
  connected(): void;
  /** Tells that the connection is lost; with `over` for good. */
  disconnected(reason: string, over: boolean): void;
};

/** Node has WebSockets of its own from version 22 on. */
async function openSocket(url: string): Promise<Socket> {
  const Own = (globalThis as { WebSocket?: new (url: string) => Socket }).WebSocket;
  if (Own) return new Own(url);
  const { WebSocket } = await import('ws');
  return new WebSocket(url) as unknown as Socket;
}

/** The WebSocket of an application. It is opened again when it breaks, and asks for the events that it missed. */
export class EventSocket {
  readonly #options: SocketOptions;
  readonly #end = new AbortController();
  /** The number of the last event of each application: only our server counts them. */
  readonly #last = new Map<string, number>();
  #socket: Socket | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /** Connects. @throws Error when the server refuses or cannot be reached. */
  async open(): Promise<void> {
    const reason = await this.#connect();
    if (reason !== undefined) throw new Error(`cannot connect to ${this.#options.url}: ${reason}`);
  }

  close(): void {
    this.#end.abort();
    this.#socket?.close(1000);
  }

  #url(): string {
    const { url, username, password, apps, subscribeAll } = this.#options;
    const base = url.replace(/\/(ari\/?)?$/, '').replace(/^http/, 'ws');
    const query = new URLSearchParams({ app: apps.join(','), api_key: `${username}:${password}` });
    if (subscribeAll) query.set('subscribeAll', 'true');
    if (this.#last.size > 0) query.set('resume', apps.map((name) => this.#last.get(name) ?? '').join(','));
    return `${base}/ari/events?${query}`;
  }

  /** One attempt. @returns why it failed. */
  async #connect(): Promise<string | undefined> {
    const socket = await openSocket(this.#url());
    this.#socket = socket;
    return new Promise((resolve) => {
      let isOpen = false;
      socket.addEventListener('open', () => {
        isOpen = true;
        this.#options.connected();
        resolve(undefined);
        if (this.#end.signal.aborted) socket.close(1000);
      });
      socket.addEventListener('message', ({ data }) => this.#take(String(data)));
      socket.addEventListener('error', () => {});
      socket.addEventListener('close', ({ code = 1006, reason = '' }) => {
        const why = `${reason || 'the connection was lost or refused'} (${code})`;
        if (isOpen) this.#lost(why);
        else resolve(why);
      });
    });
  }

  #take(text: string): void {
    let event: AnyEvent;
    try {
      event = JSON.parse(text);
    } catch {
      return;
    }
    const { seq, application } = event;
    if (seq !== undefined && application !== undefined) this.#last.set(application, seq);
    this.#options.heard(event);
  }

  #lost(reason: string): void {
    const over = this.#end.signal.aborted || !this.#options.reconnect;
    this.#options.disconnected(reason, over);
    if (!over) void this.#again();
  }

  async #again(): Promise<void> {
    const { signal } = this.#end;
    for (let attempt = 0; ; attempt++) {
      await pause(pauseBefore(attempt), signal);
      if (signal.aborted) return this.#options.disconnected('closed', true);
      const reason = await this.#connect().catch((error: Error) => error.message);
      if (reason === undefined) return;
    }
  }
}
