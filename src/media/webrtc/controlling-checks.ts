import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { IceAddress, RemoteCandidate, WebrtcTransport } from '../../lib/webrtc.ts';
import { isCheckAnswer, writeCheck } from './checks.ts';

/** Between checks of two pairs, in ms (RFC 8445 14.2). */
const paceMs = 50;
/** Between two checks of one pair: it doubles from the first to the second, in ms. */
const [firstRepeatMs, lastRepeatMs] = [500, 4_000];
/** A better pair may prove itself for so long after the first one, in ms. */
const betterMs = 100;
/** Nominations of a pair without an answer, before another one is tried. */
const mostNominations = 4;
/** Checks for consent come so often, in ms, a fifth more or less (RFC 7675 5.1). */
const consentEveryMs = 5_000;
/** Checks of one pair whose answers are awaited. */
const mostOpen = 4;

/** What we know of the far side, which only answers. */
type CheckState =
  /** No pair works so far. */
  | 'checking'
  /** At least one works, and a better one may. */
  | 'comparing'
  /** The far side is told which one is taken. */
  | 'nominating'
  /** It knows; what follows asks whether it still agrees to media. */
  | 'nominated'
  | 'closed';

type CheckEvent = 'valid' | 'time' | 'granted' | 'noPair' | 'restart' | 'close';

const always = { restart: 'checking', close: 'closed' } as const;
/** The state after each event; left out: as before. */
const checkTable: Readonly<Record<CheckState, Readonly<Partial<Record<CheckEvent, CheckState>>>>> = {
  checking: { ...always, valid: 'comparing' },
  comparing: { ...always, time: 'nominating' },
  nominating: { ...always, granted: 'nominated', noPair: 'checking' },
  nominated: always,
  closed: {},
};

type Pair = {
  readonly to: IceAddress;
  /** Ids of its checks, the latest last. */
  readonly open: string[];
  isValid: boolean;
  nextAt: number;
  everyMs: number;
};

type CheckOptions = {
  readonly clock: Clock;
  readonly send: (datagram: Uint8Array, to: IceAddress) => void;
  /** The far side has answered from there. @param isNominated media goes there, and the far side agrees to it. */
  readonly found: (source: IceAddress, isNominated: boolean) => void;
};

/** The pairs in the order of their checks: those by a relay of ours come last. */
const pairsOf = (candidates: readonly RemoteCandidate[], isRelayed: boolean): IceAddress[] => {
  const direct = [...candidates].sort((one, other) => other.priority - one.priority);
  const places = direct.map(({ address, port }) => ({ address, port }));
  return [...places, ...(isRelayed ? places.map((place) => ({ ...place, via: 'relay' as const })) : [])];
};

/**
 * The checks of a controlling agent (RFC 8445 6.1, 7.2), for a far side that is lite and makes none. The first pair that works
 * is nominated, or a better one that works at nearly the same time. Then checks ask for consent (RFC 7675) until `close`.
 */
export class ControllingChecks {
  readonly #options: CheckOptions;
  readonly #tiebreaker = randomBytes(8);
  #transport: WebrtcTransport;
  #state: CheckState = 'checking';
  #pairs: Pair[] = [];
  /** The pair that is nominated, or being so. */
  #taken: Pair | undefined;
  #nominations = 0;
  #timer: unknown;

  /** @param found where media went before, in another thread or process. */
  constructor(transport: WebrtcTransport, options: CheckOptions, found?: IceAddress) {
    this.#transport = transport;
    this.#options = options;
    this.#begin();
    const known = found && this.#pairs.find(({ to }) => isSame(to, found));
    if (known) {
      this.#taken = known;
      this.#state = 'nominated';
    }
    this.#plan(0);
  }

  get state(): CheckState {
    return this.#state;
  }

  /** Other credentials begin anew (RFC 8445 section 9), other candidates as well. */
  use(transport: WebrtcTransport): void {
    const { remote, local, checked = [] } = this.#transport;
    this.#transport = transport;
    const now = transport.checked ?? [];
    const isAsBefore =
      remote.ufrag === transport.remote.ufrag &&
      local.ufrag === transport.local.ufrag &&
      now.length === checked.length &&
      now.every((each, at) => isSame(each, checked[at]!));
    if (isAsBefore) return;
    this.#happen('restart');
    this.#begin();
    this.#plan(0);
  }

  /** Takes a datagram. @returns whether it is an answer to one of these checks. */
  receive(datagram: Uint8Array, source: IceAddress): boolean {
    const id = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length).toString('hex', 8, 20);
    const pair = this.#pairs.find(({ open }) => open.includes(id));
    if (!pair || this.#state === 'closed') return false;
    // An answer from elsewhere is none (RFC 8445 7.2.5.2.1).
    if (!isSame(pair.to, source) || !isCheckAnswer(datagram, this.#transport.remote.password)) return true;
    pair.open.splice(0, pair.open.length);
    pair.isValid = true;
    this.#answered(pair);
    return true;
  }

  close(): void {
    this.#happen('close');
    this.#options.clock.clearTimeout(this.#timer);
  }

  #answered(pair: Pair): void {
    const isTaken = pair === this.#taken;
    if (isTaken) this.#happen('granted');
    this.#options.found(pair.to, isTaken && this.#state === 'nominated');
    if (this.#state === 'checking') {
      this.#happen('valid');
      this.#plan(pair === this.#pairs[0] ? 0 : betterMs);
    } else if (isTaken) this.#plan(consentEveryMs * (0.8 + (0.4 * randomBytes(1)[0]!) / 256));
  }

  #begin(): void {
    const { checked = [], places } = this.#transport;
    const [open, everyMs, nextAt] = [[], firstRepeatMs, 0];
    this.#pairs = pairsOf(checked, places !== undefined).map((to) => ({
      to,
      open: [...open],
      isValid: false,
      nextAt,
      everyMs,
    }));
    this.#taken = undefined;
  }

  #happen(event: CheckEvent): void {
    this.#state = checkTable[this.#state][event] ?? this.#state;
  }

  #plan(ms: number): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    if (this.#state !== 'closed') this.#timer = clock.setTimeout(() => this.#due(), ms);
  }

  #due(): void {
    if (this.#state === 'comparing') {
      this.#happen('time');
      this.#take();
    }
    if (this.#state === 'nominating') this.#nominate();
    else if (this.#state === 'nominated') this.#ask(this.#taken!, true, consentEveryMs);
    else this.#checkNext();
  }

  /** The best pair that works. */
  #take(): void {
    this.#nominations = 0;
    this.#taken = this.#pairs.find(({ isValid }) => isValid);
    if (!this.#taken) this.#happen('noPair');
  }

  #nominate(): void {
    if (this.#nominations === mostNominations) {
      this.#taken!.isValid = false;
      this.#take();
    }
    this.#nominations++;
    if (this.#taken) this.#ask(this.#taken, true, firstRepeatMs);
    else this.#plan(0);
  }

  #checkNext(): void {
    const now = this.#options.clock.monotonic();
    const pair = this.#pairs.find(({ nextAt }) => nextAt <= now);
    if (pair) {
      pair.nextAt = now + pair.everyMs;
      pair.everyMs = Math.min(lastRepeatMs, 2 * pair.everyMs);
      this.#ask(pair, false, paceMs);
    } else if (this.#pairs.length > 0) this.#plan(paceMs);
  }

  #ask(pair: Pair, nominates: boolean, nextMs: number): void {
    const id = randomBytes(12);
    pair.open.push(id.toString('hex'));
    if (pair.open.length > mostOpen) pair.open.shift();
    const { local, remote } = this.#transport;
    this.#plan(nextMs);
    this.#options.send(writeCheck({ id, local, remote, tiebreaker: this.#tiebreaker, nominates }), pair.to);
  }
}

const isSame = (one: IceAddress, other: IceAddress): boolean =>
  one.port === other.port && one.address === other.address && one.via === other.via;
