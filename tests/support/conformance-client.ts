import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { WebSocket } from 'ws';
import type { Target } from './conformance-target.ts';
import { inTime } from './waiting.ts';

/** What a request carries besides its line. At most one kind of body. */
export type AskOptions = {
  json?: unknown;
  form?: string;
  /** A body of any type, as it is. */
  raw?: { type?: string; body: string | Buffer; headers?: Record<string, string> };
  headers?: Record<string, string>;
  /** On a connection of its own: Asterisk keeps the last error of each. */
  fresh?: true;
  /** `user:password` of another user; null for nobody. */
  credentials?: string | null;
};

/** An answer as it came over the wire. */
export type Answer = {
  status: number;
  reason: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body parsed, when it is JSON. */
  body: unknown;
};

/** A message on the events WebSocket; what it holds is what the tests look at. */
export type Message = Record<string, unknown> & { type: string };

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;

/** A client of one server, over real sockets; it sends paths exactly as they are given. */
export class Client {
  readonly target: Target;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #apps = new Set<App>();
  #made = 0;

  constructor(target: Target) {
    this.target = target;
  }

  /** A name or id that was not used before, also not by an earlier run against the same server. */
  unique(word: string): string {
    return `${word}-${process.pid.toString(36)}-${Date.now().toString(36)}-${++this.#made}`;
  }

  /** Asks `METHOD /path?query`; the path is behind `/ari`. */
  ask(line: string, options: AskOptions = {}): Promise<Answer> {
    const space = line.indexOf(' ');
    const method = line.slice(0, space);
    const { origin, pathname } = new URL(this.target.url);
    const headers: Record<string, string> = { ...options.headers };
    const { credentials = this.target.credentials } = options;
    if (credentials !== null) headers['authorization'] = basic(credentials);
    const body = bodyOf(options, headers);
    // Node sends none of its own accord with a DELETE.
    if (body !== undefined && !headers['transfer-encoding']) headers['content-length'] = `${Buffer.byteLength(body)}`;
    const path = pathname + line.slice(space + 1);
    const answered = new Promise<Answer>((resolve, reject) => {
      const agent = options.fresh ? false : this.#agent;
      const asked = request(origin, { method, path, headers, agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode = 0, statusMessage = '', headers: received } = response;
          resolve({ status: statusCode, reason: statusMessage, headers: received, text, body: parse(text) });
        });
      });
      asked.on('error', reject);
      asked.end(body);
    });
    return inTime(answered, () => `no answer to ${line}`);
  }

  /** Asks, and throws unless the answer is a success. */
  async must<T = Record<string, unknown>>(line: string, options: AskOptions = {}): Promise<T> {
    const answer = await this.ask(line, options);
    if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${answer.text}`);
    return answer.body as T;
  }

  /** Connects one or more applications by one WebSocket and waits until they are there. */
  async connect(
    names: string | string[],
    query = '',
    credentials: string | null = this.target.credentials,
  ): Promise<App> {
    const list = typeof names === 'string' ? [names] : names;
    const url = `${this.target.url.replace(/^http/, 'ws')}/events?app=${list.map(encodeURIComponent).join(',')}${query}`;
    const headers = credentials === null ? {} : { authorization: basic(credentials) };
    const socket = new WebSocket(url, { headers });
    const app = new App(this, list, socket);
    this.#apps.add(app);
    await app.opened;
    // The handshake may be over before the applications are registered.
    for (const name of list) await app.fence(name);
    return app;
  }

  /**
   * Resolves once an application is unknown. The server may see that a socket is closed later than its client does,
   * and no event tells of it: so it is asked until it knows. Asterisk looks for what may go when another comes or goes.
   */
  async gone(name: string): Promise<void> {
    const line = `GET /applications/${encodeURIComponent(name)}`;
    const asking = async () => {
      while ((await this.ask(line)).status !== 404) if (!this.target.ours) await this.#passBy();
    };
    await inTime(asking(), () => `application ${name} stays`);
  }

  /** An application comes and goes. */
  async #passBy(): Promise<void> {
    const app = await this.connect(this.unique('passer-by'));
    await app.close();
  }

  /** Whether the server has a resource; of Asterisk some are modules that may be missing. */
  async has(path: string): Promise<boolean> {
    return this.target.ours || (await this.ask(`GET ${path}`)).status !== 404;
  }

  /** Closes sockets and connections. */
  async close(): Promise<void> {
    for (const app of this.#apps) await app.close();
    this.#agent.destroy();
  }
}

function bodyOf(options: AskOptions, headers: Record<string, string>): string | Buffer | undefined {
  const { json, form, raw } = options;
  if (raw) {
    if (raw.type !== undefined) headers['content-type'] = raw.type;
    Object.assign(headers, raw.headers);
    return raw.body;
  }
  if (form !== undefined) {
    headers['content-type'] = 'application/x-www-form-urlencoded';
    return form;
  }
  if (json === undefined) return undefined;
  headers['content-type'] = 'application/json';
  return JSON.stringify(json);
}

type Waiting = { matches(message: Message): boolean; resolve(message: Message): void };

/** Applications on one WebSocket, and everything they were told, in order. */
export class App {
  readonly names: readonly string[];
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** All messages, without those that {@link fence} made. */
  readonly messages: Message[] = [];
  readonly #client: Client;
  #waiting: Waiting[] = [];
  #fences = 0;

  constructor(client: Client, names: readonly string[], socket: WebSocket) {
    this.#client = client;
    this.names = names;
    this.socket = socket;
    this.opened = new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    socket.on('message', (data) => this.#take(JSON.parse(String(data)) as Message));
  }

  /** Name of the first application. */
  get name(): string {
    return this.names[0] ?? '';
  }

  #take(message: Message): void {
    if (!isFence(message)) this.messages.push(message);
    const fits = this.#waiting.filter(({ matches }) => matches(message));
    this.#waiting = this.#waiting.filter((waiting) => !fits.includes(waiting));
    for (const { resolve } of fits) resolve(message);
  }

  #next(matches: (message: Message) => boolean, what: string): Promise<Message> {
    const seen = new Promise<Message>((resolve) => this.#waiting.push({ matches, resolve }));
    return inTime(seen, () => `${what} did not come; seen: ${this.messages.map(({ type }) => type).join(' ')}`);
  }

  /** The first message that matches, among those that came and those that will. */
  wait(type: string, matches: (message: Message) => boolean = () => true): Promise<Message> {
    const fits = (message: Message) => message.type === type && matches(message);
    const known = this.messages.find(fits);
    return known ? Promise.resolve(known) : this.#next(fits, type);
  }

  /** The first message of a type about a channel. */
  about(channelId: string, type: string, matches: (message: Message) => boolean = () => true): Promise<Message> {
    return this.wait(type, (message) => channelOf(message) === channelId && matches(message));
  }

  /** Resolves once everything that was published for an application before this call has arrived. */
  async fence(name = this.name): Promise<void> {
    const eventName = `fence-${++this.#fences}`;
    const passed = this.#next(
      (message) => isFence(message) && message['eventname'] === eventName && message['application'] === name,
      'the fence',
    );
    await this.#client.must(`POST /events/user/${eventName}?application=${encodeURIComponent(name)}`);
    await passed;
  }

  /** Sends one text message. */
  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Sends a request over the WebSocket and gives its answer. */
  rest(request: Record<string, unknown>): Promise<Message> {
    const answer = this.#next(({ type }) => type === 'RESTResponse', 'RESTResponse');
    this.send({ type: 'RESTRequest', ...request });
    return answer;
  }

  /** Sends any text and gives the answer. */
  tell(text: string): Promise<Message> {
    const answer = this.#next(({ type }) => type === 'RESTResponse', 'RESTResponse');
    this.send(text);
    return answer;
  }

  async close(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    this.socket.close();
    await this.closed;
  }
}

const isFence = ({ type, eventname }: Message): boolean =>
  type === 'ChannelUserevent' && String(eventname).startsWith('fence-');

/** The id of the channel that a message is about: its channel, the peer of a Dial, the target of a playback or recording. */
export function channelOf(message: Message): string | undefined {
  const { channel, peer, playback, recording } = message as {
    channel?: { id: string };
    peer?: { id: string };
    playback?: { target_uri: string };
    recording?: { target_uri: string };
  };
  return channel?.id ?? peer?.id ?? (playback ?? recording)?.target_uri.replace(/^channel:/, '');
}

/** An event in a few words, for tests that expect a list of them. */
export function inShort(message: Message): string {
  const { type, channel, variable, value, dialstatus, cause, soft, digit, playback, args, bridge, recording } =
    message as Message & {
      bridge?: { channels: string[] };
      recording?: { state: string; cause?: string };
      channel?: { state: string };
      playback?: { media_uri: string; state: string };
      args?: string[];
    };
  const words: unknown[] = [type];
  if (type === 'ChannelStateChange') words.push(channel?.state);
  if (type === 'StasisStart') words.push(channel?.state, ...(args ?? []));
  if (variable !== undefined) words.push(`${variable}=${value}`);
  if (dialstatus !== undefined) words.push(dialstatus);
  if (cause !== undefined) words.push(cause);
  if (soft !== undefined) words.push('soft');
  if (digit !== undefined) words.push(digit);
  if (playback) words.push(playback.media_uri, playback.state);
  if (bridge) words.push(`[${bridge.channels.join()}]`);
  if (recording) words.push(recording.state, recording.cause ?? '');
  return words.filter((word) => word !== '').join(' ');
}
