import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import type { AriEvent, AriEventOf, AriEventType } from '../../src/models/events.ts';
import { untilFound } from './waiting.ts';

/** What a request was answered with; `body` is parsed JSON, undefined when there was none. */
export type Answer<T = unknown> = { status: number; headers: Headers; body: T };

/** A client in a few lines: requests, events by a WebSocket, everything it heard kept in order. */
export class AriClient {
  /** Every event that was heard, in order. */
  readonly events: AriEvent[] = [];
  readonly #base: string;
  readonly #authorization: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #waiting = new Set<() => void>();
  #socket: WebSocket | undefined;

  /** @param base base URL ending in `/ari`. @param credentials `user:password`. */
  constructor(base: string, credentials: string) {
    this.#base = base;
    this.#authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }

  /** Registers as applications (comma-separated) on the events WebSocket. */
  async connect(
    apps: string,
    {
      subscribeAll = false,
      ...more
    }: { subscribeAll?: boolean; resume?: string; ack?: string; group?: string; member?: string; nodes?: string } = {},
  ): Promise<this> {
    const query = new URLSearchParams({
      app: apps,
      ...(subscribeAll && { subscribeAll: 'true' }),
      ...more,
    });
    const headers = { authorization: this.#authorization };
    this.#socket = new WebSocket(`${this.#base.replace('http', 'ws')}/events?${query}`, { headers });
    this.#socket.on('message', (data) => this.#hear(JSON.parse(String(data)) as AriEvent));
    await once(this.#socket, 'open');
    return this;
  }

  /** Sends a request; `path` begins behind `/ari`, `body` is sent as JSON. */
  async request<T = never>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      authorization: this.#authorization,
      ...(sent !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
    };
    const asked = request(new URL(`${this.#base}${path}`), { method, headers, agent: this.#agent }).end(sent);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const read = await text(response);
    return {
      status: response.statusCode!,
      headers: new Headers(
        Object.entries(response.headersDistinct).flatMap(([name, all = []]) => all.map((one) => [name, one])),
      ),
      body: (read ? JSON.parse(read) : undefined) as T,
    };
  }

  /** As `request`, for requests that must succeed. @throws Error with the answer when they do not. */
  async ok<T = never>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request<T>(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /**
   * The first event of a type, heard already or still to come, of which `matches` is true.
   * @throws Error with the list of everything heard, when it does not come.
   */
  waitFor<T extends AriEventType>(type: T, matches: (event: AriEventOf<T>) => boolean = () => true) {
    const wanted = (event: AriEvent): boolean => event.type === type && matches(event as AriEventOf<T>);
    let isFirst = true;
    // All that was heard is looked at once, and then each event as it comes.
    const found = () => {
      const event = isFirst ? this.events.find(wanted) : this.events.slice(-1).find(wanted);
      isFirst = false;
      return event as AriEventOf<T> | undefined;
    };
    const late = () => `no ${type} as wanted; heard:\n${this.events.map(describe).join('\n')}`;
    return untilFound(this.#waiting, found, late);
  }

  /** The first message of a type that is no event, heard already or still to come. */
  message(type: string): Promise<Record<string, unknown>> {
    const all = this.events as unknown as Record<string, unknown>[];
    return untilFound(
      this.#waiting,
      () => all.find((each) => each['type'] === type),
      () => `no ${type}; heard:\n${this.events.map(describe).join('\n')}`,
    );
  }

  /** Sends a message over the WebSocket. */
  say(message: object): void {
    this.#socket?.send(JSON.stringify(message));
  }

  /** The types of the events about one channel, in order; `Dial` with its status. */
  story(channelId: string): string[] {
    return this.events.filter((event) => channelOf(event) === channelId).map(label);
  }

  /** Forgets the events about channels with these ids: for tests of so many calls that keeping them all would cost. */
  forget(...channelIds: string[]): void {
    const kept = this.events.filter((event) => !channelIds.includes(channelOf(event) ?? ''));
    this.events.splice(0, this.events.length, ...kept);
  }

  /** Closes the WebSocket; resolves when it is closed. */
  async close(): Promise<void> {
    const socket = this.#socket;
    if (!socket || socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, 'close');
    socket.close();
    await closed;
  }

  #hear(event: AriEvent): void {
    this.events.push(event);
    for (const look of [...this.#waiting]) look();
  }
}

/** Id of the channel that an event is about. */
function channelOf(event: AriEvent): string | undefined {
  if (event.type === 'Dial') return event.peer.id;
  return 'channel' in event ? event.channel?.id : undefined;
}

const label = (event: AriEvent): string => (event.type === 'Dial' ? `Dial ${event.dialstatus}`.trim() : event.type);

function describe(event: AriEvent): string {
  const { timestamp: _time, application: _app, asterisk_id: _id, ...rest } = event;
  return `  ${JSON.stringify(rest).slice(0, 240)}`;
}
