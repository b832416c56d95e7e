/** A request that the server refused; `status` is that of HTTP, the message is the server's. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What the server tells a page of its calls. */
export type News =
  | { type: 'listening'; name: string }
  | { type: 'incoming'; call: string; caller: { name: string; number: string } }
  | { type: 'answered'; call: string }
  | { type: 'ended'; call: string; cause: number };

/** The requests of a phone, with its token. */
export class Server {
  readonly #base: string;
  readonly #token: string;

  constructor(base: string, token: string) {
    this.#base = base.replace(/\/$/, '');
    this.#token = token;
  }

  /** @param path begins behind `/hookswitch`. @param sdp a description, or a fragment with ICE alone. @throws Refused */
  async ask(method: string, path: string, sdp?: string): Promise<Response> {
    const isFragment = sdp !== undefined && !sdp.startsWith('v=');
    const response = await fetch(`${this.#base}/hookswitch${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(sdp !== undefined && { 'content-type': `application/${isFragment ? 'trickle-ice-sdpfrag' : 'sdp'}` }),
        ...(isFragment && { 'if-match': '*' }),
      },
      ...(sdp !== undefined && { body: sdp }),
      // A hang-up reaches the server even while the page is closed.
      keepalive: method === 'DELETE',
    });
    if (response.ok) return response;
    const { message = response.statusText } = (await response.json().catch(() => ({}))) as { message?: string };
    throw new Refused(response.status, message);
  }

  /** The WebSocket on which the server tells of calls. */
  async news(): Promise<WebSocket> {
    const { ticket } = (await (await this.ask('POST', '/sessions/tickets')).json()) as { ticket: string };
    return new WebSocket(`${this.#base.replace(/^http/, 'ws')}/hookswitch/webrtc/calls?ticket=${ticket}`);
  }
}
