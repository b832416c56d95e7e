import { newRing } from './pipe/ring.ts';
import type { EngineReport } from './protocol.ts';
import type { SessionProxy } from './session-proxy.ts';
import type { Linked, ThreadLink } from './thread-link.ts';

/** The main thread's side of a pipe: a session as member of a mix that lives in another thread. */
class PipeProxy implements Linked {
  /** The number that stands for the session in the mix's thread. */
  readonly number: number;
  readonly #mixLink: ThreadLink;
  readonly #endLink: ThreadLink;
  readonly #session: number;
  readonly #pipe: number;
  #hasVideo = false;

  /** @param session is open in `endLink`, under this number. */
  constructor(session: number, endLink: ThreadLink, mixLink: ThreadLink, pipeBytes: number) {
    this.#session = session;
    this.#endLink = endLink;
    this.#mixLink = mixLink;
    this.number = mixLink.addOther(this);
    this.#pipe = endLink.nextPipe();
    const far = mixLink.nextPipe();
    const toMix = newRing(pipeBytes);
    const toEnd = newRing(pipeBytes);
    mixLink.send({
      type: 'openPipeEnd',
      session: this.number,
      plan: { pipe: far, outgoing: toEnd, incoming: toMix, farWakeUp: endLink.wakeUp, farPipe: this.#pipe },
    });
    endLink.send({
      type: 'openPipe',
      session,
      plan: { pipe: this.#pipe, outgoing: toMix, incoming: toEnd, farWakeUp: mixLink.wakeUp, farPipe: far },
    });
  }

  /** Lets video pass as well, from now on. @param octets that may wait in each direction. */
  openVideo(octets: number): void {
    if (this.#hasVideo) return;
    this.#hasVideo = true;
    const [near, far] = [this.#endLink.nextPipe(), this.#mixLink.nextPipe()];
    const toMix = newRing(octets);
    const toEnd = newRing(octets);
    const beside = this.#pipe;
    this.#mixLink.send({
      ...{ type: 'openVideoPipe', session: this.number, at: 'mix', beside },
      plan: { pipe: far, outgoing: toEnd, incoming: toMix, farWakeUp: this.#endLink.wakeUp, farPipe: near },
    });
    this.#endLink.send({
      ...{ type: 'openVideoPipe', session: this.#session, at: 'session', beside },
      plan: { pipe: near, outgoing: toMix, incoming: toEnd, farWakeUp: this.#mixLink.wakeUp, farPipe: far },
    });
  }

  /** Whether both threads still run. */
  isBetween(endLink: ThreadLink | undefined, mixLink: ThreadLink | undefined): boolean {
    return this.#endLink === endLink && this.#mixLink === mixLink;
  }

  close(): void {
    this.#mixLink.send({ type: 'close', session: this.number });
    this.#mixLink.removeOther(this.number);
    this.#endLink.send({ type: 'closePipe', session: this.#session, pipe: this.#pipe });
  }

  /** The session itself reports; its stand-in does not. */
  heard(_report: EngineReport): void {}
}

/** A session's membership in a mix: by its own number, or by its stand-in's. */
export type Membership = { number: number; pipe: PipeProxy | undefined };

/** Makes a session known in the thread of a mix; undefined when it is over. */
export function meet(session: SessionProxy, link: ThreadLink, pipeBytes: number): Membership | undefined {
  const number = session.audible(link);
  const from = session.thread;
  if (number === undefined || !from) return undefined;
  if (from === link) return { number, pipe: undefined };
  const pipe = new PipeProxy(number, from, link, pipeBytes);
  return { number: pipe.number, pipe };
}
