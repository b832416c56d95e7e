import type { EngineReport } from './protocol.ts';
import type { SessionProxy } from './session-proxy.ts';
import type { Linked, ThreadLink } from './thread-link.ts';
import { newRing } from './tie/ring.ts';

/** The main thread's side of a tie: a session as member of a mix that lives in another thread. */
export class TieProxy implements Linked {
  /** The number that stands for the session in the mix's thread. */
  readonly number: number;
  readonly #mixLink: ThreadLink;
  readonly #endLink: ThreadLink;
  readonly #session: number;
  readonly #tie: number;
  #hasVideo = false;

  /** @param session is open in `endLink`, under this number. */
  constructor(session: number, endLink: ThreadLink, mixLink: ThreadLink, tieBytes: number) {
    this.#session = session;
    this.#endLink = endLink;
    this.#mixLink = mixLink;
    this.number = mixLink.addOther(this);
    this.#tie = endLink.nextTie();
    const far = mixLink.nextTie();
    const toMix = newRing(tieBytes);
    const toEnd = newRing(tieBytes);
    mixLink.send({
      type: 'openTieEnd',
      session: this.number,
      plan: { tie: far, outgoing: toEnd, incoming: toMix, farBell: endLink.bell, farTie: this.#tie },
    });
    endLink.send({
      type: 'openTie',
      session,
      plan: { tie: this.#tie, outgoing: toMix, incoming: toEnd, farBell: mixLink.bell, farTie: far },
    });
  }

  /** Lets video pass as well, from now on. @param octets that may wait in each direction. */
  openVideo(octets: number): void {
    if (this.#hasVideo) return;
    this.#hasVideo = true;
    const [near, far] = [this.#endLink.nextTie(), this.#mixLink.nextTie()];
    const toMix = newRing(octets);
    const toEnd = newRing(octets);
    const beside = this.#tie;
    this.#mixLink.send({
      ...{ type: 'openVideoTie', session: this.number, at: 'mix', beside },
      plan: { tie: far, outgoing: toEnd, incoming: toMix, farBell: this.#endLink.bell, farTie: near },
    });
    this.#endLink.send({
      ...{ type: 'openVideoTie', session: this.#session, at: 'session', beside },
      plan: { tie: near, outgoing: toMix, incoming: toEnd, farBell: this.#mixLink.bell, farTie: far },
    });
  }

  /** Whether both threads still run. */
  isBetween(endLink: ThreadLink | undefined, mixLink: ThreadLink | undefined): boolean {
    return this.#endLink === endLink && this.#mixLink === mixLink;
  }

  close(): void {
    this.#mixLink.send({ type: 'close', session: this.number });
    this.#mixLink.removeOther(this.number);
    this.#endLink.send({ type: 'closeTie', session: this.#session, tie: this.#tie });
  }

  /** What stands for a session tells nothing of it: the session itself does. */
  heard(_report: EngineReport): void {}
}

/** How a session is a member of a mix: by its own number, or by that of what stands for it. */
export type Membership = { number: number; tie: TieProxy | undefined };

/** Makes a session known in the thread of a mix; undefined when it is over. */
export function meet(session: SessionProxy, link: ThreadLink, tieBytes: number): Membership | undefined {
  const number = session.audible(link);
  const from = session.thread;
  if (number === undefined || !from) return undefined;
  if (from === link) return { number, tie: undefined };
  const tie = new TieProxy(number, from, link, tieBytes);
  return { number: tie.number, tie };
}
