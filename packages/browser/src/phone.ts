import { Call } from './call.ts';
import { type News, Server } from './server.ts';

/** Who is called: an extension of the dialplan, or an application. */
export type Target = { extension: string; context?: string } | { app: string; appArgs?: string };

export type CallOptions = {
  /** Id for the channel. */
  channelId?: string;
  /** Formats that may be used, e.g. `ulaw,opus`. */
  formats?: string;
};

export type PhoneOptions = {
  /** Calls have video: `true`, or how many pictures a call can show at once. Default: no video. */
  video?: boolean | number;
  /**
   * The camera is sent in three sizes (simulcast), so that each viewer in a bridge gets one that its line can carry. A list:
   * in these sizes, each with a `rid`, the smallest first. Default: in one.
   */
  simulcast?: boolean | readonly RTCRtpEncodingParameters[];
  /** What is asked of the microphone and the camera. Default: audio, and video where calls have that. */
  media?: MediaStreamConstraints;
  /** Hears the phone's name once it can be called, and undefined while it cannot. */
  onlistening?: (name: string | undefined) => void;
};

/** Who hears a phone that listens to a channel: nobody, the party of that channel, or both sides of its call. */
export type Supervision = 'listen' | 'whisper' | 'barge';

/** News of calls whose answer is still on its way, at most. */
const mostEarly = 16;

/** Sizes of a camera, the smallest first: browsers give bit rate to the first ones first. */
const sizes: readonly RTCRtpEncodingParameters[] = [
  { rid: 'l', scaleResolutionDownBy: 4 },
  { rid: 'm', scaleResolutionDownBy: 2 },
  { rid: 'h' },
];

/** Shortest and longest time before another try to listen, in ms. */
const patience = [1_000, 30_000] as const;

/**
 * A phone in a page. It calls, and is called as `WebRTC/<name of its token or user>`.
 *
 * ```js
 * const phone = await Phone.connect('https://pbx.example.com', token);
 * phone.onincoming = async (call) => { audio.srcObject = await call.answer(); };
 * const call = await phone.call({ extension: '600' });
 * audio.srcObject = call.stream;
 * ```
 */
export class Phone {
  /** Hears of each call to this phone. Without it they ring here without an answer. */
  onincoming: ((call: Call) => void) | undefined;
  readonly #server: Server;
  readonly #options: PhoneOptions;
  readonly #calls = new Set<Call>();
  /** The latest news of calls that are not known yet. */
  readonly #early = new Map<string, News>();
  #iceServers: RTCIceServer[] = [];
  #socket: WebSocket | undefined;
  #wait: number = patience[0];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  private constructor(server: Server, options: PhoneOptions) {
    this.#server = server;
    this.#options = options;
    globalThis.addEventListener?.('online', () => {
      for (const call of this.#calls) if (call.state !== 'ended') call.restart().catch(() => {});
    });
  }

  /**
   * Connects to a server: `server` is its address, `token` what stands for the user.
   * @throws Refused when the token is not good for calls.
   */
  static async connect(server: string, token: string, options: PhoneOptions = {}): Promise<Phone> {
    const phone = new Phone(new Server(server, token), options);
    await phone.#learn();
    void phone.#listen();
    return phone;
  }

  /** Calls that are not over. */
  get calls(): readonly Call[] {
    return [...this.#calls];
  }

  /** Places a call. It resolves when audio can flow; `state` says when it is answered. @throws Refused */
  async call(target: Target, options: CallOptions = {}): Promise<Call> {
    const query = new URLSearchParams({ ...target, ...options } as Record<string, string>);
    return this.#begin(`/webrtc?${query}`, this.#media, this.#screens);
  }

  /** Listens to a channel, by its id, until that ends. Only `listen` needs no microphone. @throws Refused */
  async supervise(channelId: string, mode: Supervision = 'listen'): Promise<Call> {
    const path = `/channels/${encodeURIComponent(channelId)}/supervise?mode=${mode}`;
    return this.#begin(path, mode === 'listen' ? undefined : { ...this.#media, video: false });
  }

  /** Hangs up, and can be called no longer. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const call of this.#calls) call.hangup();
    this.#socket?.close();
  }

  get #media(): MediaStreamConstraints {
    return this.#options.media ?? { audio: true, video: this.#screens > 0 };
  }

  get #screens(): number {
    return Number(this.#options.video ?? 0);
  }

  async #begin(path: string, media: MediaStreamConstraints | undefined, screens = 0): Promise<Call> {
    const call = this.#make('', { name: '', number: '' }, { media, screens });
    await call.begin(path);
    const news = this.#early.get(call.id);
    if (news) this.#hear(news);
    return call;
  }

  #make(
    id: string,
    caller: Call['caller'],
    local: { media: MediaStreamConstraints | undefined; screens: number },
  ): Call {
    const { simulcast = false } = this.#options;
    const encodings = simulcast === true ? sizes : simulcast || [];
    const parts = { server: this.#server, id, caller, iceServers: this.#iceServers, encodings, ...local };
    const call = new Call({ ...parts, ended: (over) => this.#calls.delete(over) });
    this.#calls.add(call);
    return call;
  }

  /** Passwords of TURN servers end: they are asked for with each connection. */
  async #learn(): Promise<void> {
    const terms = (await (await this.#server.ask('GET', '/webrtc')).json()) as { ice_servers: RTCIceServer[] };
    this.#iceServers = terms.ice_servers;
  }

  async #listen(): Promise<void> {
    try {
      const socket = await this.#server.news();
      if (this.#closed) return socket.close();
      this.#socket = socket;
      socket.onmessage = ({ data }) => this.#hear(JSON.parse(data as string) as News);
      socket.onclose = () => this.#listenLater();
    } catch {
      this.#listenLater();
    }
  }

  #keep(id: string, news: News): void {
    this.#early.set(id, news);
    if (this.#early.size > mostEarly) this.#early.delete(this.#early.keys().next().value ?? '');
  }

  #listenLater(): void {
    if (this.#closed) return;
    this.#options.onlistening?.(undefined);
    this.#timer = setTimeout(() => {
      this.#learn().catch(() => {});
      void this.#listen();
    }, this.#wait);
    this.#wait = Math.min(2 * this.#wait, patience[1]);
  }

  #hear(news: News): void {
    if (news.type === 'listening') {
      this.#wait = patience[0];
      this.#options.onlistening?.(news.name);
      return;
    }
    if (news.type === 'incoming') {
      this.onincoming?.(this.#make(news.call, news.caller, { media: this.#media, screens: this.#screens }));
      return;
    }
    const call = [...this.#calls].find(({ id }) => id === news.call);
    if (!call) this.#keep(news.call, news);
    else if (news.type === 'answered') call.accept();
    else call.finish(news.cause);
  }
}
