import { randomBytes } from 'node:crypto';
import { type IpVersion, ipVersionOf } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IceAddress, WebrtcTransport } from '../../lib/webrtc.ts';
import { type IceRole, readCheckAnswer, writeCheck } from './checks.ts';

/** Between checks of two pairs, in ms (RFC 8445 14.2). */
const paceMs = 50;
/** Between two checks of one pair: it doubles from the first to the second, in ms. */
const [firstRepeatMs, lastRepeatMs] = [500, 4_000];
/** Checks of one pair without an answer; then it waits for a check of the far side (RFC 8489 6.2.1). One that is lite makes none. */
const mostRepeats = 7;
/** A better pair may prove itself for so long after the first one, in ms. */
const betterMs = 100;
/** Nominations of a pair without an answer, before another one is tried. */
const mostNominations = 4;
/** Checks for consent come so often, in ms, a fifth more or less (RFC 7675 5.1): thrice in a shorter time for answers. */
const consentEveryMs = 5_000;
/** Checks for consent without an answer, before other pairs are tried. */
const mostSilent = 3;
/** Checks of one pair whose answers are awaited. */
const mostOpen = 4;
/** Pairs, of which at least so many are of addresses that only checks tell. The others are of candidates, which a setting bounds. */
const [leastMost, mostHeard] = [40, 8];
/** Changes of our role until ICE restarts: a far side that contradicts itself gets no further ones. */
const mostSwitches = 8;

/** What we know of the pairs, and which side chooses one. */
type CheckState =
  /** We choose (controlling). No pair works so far. */
  | 'checking'
  /** At least one works, and a better one may. */
  | 'comparing'
  /** The far side is told which one is taken. */
  | 'nominating'
  /** It knows; what follows asks whether it still agrees to media. */
  | 'nominated'
  /** The far side chooses (we are controlled), and has not. */
  | 'following'
  /** It has chosen a pair that works; it may choose another one. */
  | 'chosen'
  | 'closed';

type CheckEvent =
  /** A pair works. */
  | 'valid'
  /** There was time for a better one. */
  | 'time'
  /** The far side knows the nomination. */
  | 'granted'
  | 'noPair'
  /** The pair that is taken no longer works. */
  | 'silent'
  /** The far side has nominated a pair that works. */
  | 'named'
  /** A conflict of roles makes us choose, or makes the far side choose (RFC 8445 7.3.1.1). */
  | 'lead'
  | 'follow'
  | 'restart'
  | 'close';

const leads = { restart: 'checking', follow: 'following', close: 'closed' } as const;
const follows = { restart: 'following', named: 'chosen', close: 'closed' } as const;
/** The state after each event; left out: as before. */
const checkTable: Readonly<Record<CheckState, Readonly<Partial<Record<CheckEvent, CheckState>>>>> = {
  checking: { ...leads, valid: 'comparing' },
  comparing: { ...leads, time: 'nominating' },
  nominating: { ...leads, granted: 'nominated', noPair: 'checking' },
  nominated: { ...leads, silent: 'checking', follow: 'chosen' },
  following: { ...follows, lead: 'checking' },
  chosen: { ...follows, lead: 'nominated' },
  closed: {},
};

type Pair = {
  readonly to: IceAddress;
  /** A candidate of the far side; else its checks came from there (peer-reflexive). */
  readonly isTold: boolean;
  /** Its checks by their ids, the latest last: whether they nominate, and our role in them. */
  readonly open: Map<string, { readonly nominates: boolean; readonly role: IceRole }>;
  isValid: boolean;
  /** The far side has checked it and it is not known to work: it is checked in every state (RFC 8445 7.3.1.4). */
  isTriggered: boolean;
  /** The far side has nominated it. */
  isWanted: boolean;
  nextAt: number;
  askedAt: number;
  everyMs: number;
  repeats: number;
};

type CheckOptions = {
  readonly clock: Clock;
  /** See {@link IceAgentOptions}. */
  readonly consentMs: number;
  readonly send: (datagram: Uint8Array, to: IceAddress) => void;
  /** The far side has answered from there. @param isNominated media goes there, and the far side agrees to it. */
  readonly found: (source: IceAddress, isNominated: boolean) => void;
};

const isSame = (one: IceAddress, other: IceAddress): boolean =>
  one.port === other.port && one.address === other.address && one.via === other.via;

const pairTo = (to: IceAddress, isTold: boolean): Pair => ({
  ...{ to, isTold, open: new Map(), isValid: false, isTriggered: false, isWanted: false },
  ...{ nextAt: 0, askedAt: Number.NEGATIVE_INFINITY, everyMs: firstRepeatMs, repeats: 0 },
});

/** The pairs in the order of their checks: those by a relay of ours come last. There are none that packets cannot take. */
const pairsOf = ({ checked = [], places, reach = {} }: WebrtcTransport): IceAddress[] => {
  const best = [...checked].sort((one, other) => other.priority - one.priority);
  const of = (version: IpVersion | undefined) =>
    best
      .filter(({ address }) => version === undefined || ipVersionOf(address) === version)
      .map(({ address, port }) => ({ address, port }));
  return [...of(reach.port), ...(places ? of(reach.relay).map((place) => ({ ...place, via: 'relay' as const })) : [])];
};

/**
 * The checks of a full agent (RFC 8445 6 to 8), of one component. As the controlling one, it nominates the first pair that
 * works, or a better one that works at nearly the same time. As the controlled one, it takes the pair that the far side
 * nominates, once that works. Then checks ask for consent (RFC 7675) until `close`.
 */
export class OwnChecks {
  readonly #options: CheckOptions;
  readonly #tiebreaker = randomBytes(8);
  #transport: WebrtcTransport;
  #state: CheckState;
  #pairs: Pair[] = [];
  /** The pair that is nominated, or being so. */
  #taken: Pair | undefined;
  #nominations = 0;
  #switches = 0;
  /** When a pair is chosen, or the one that is taken is asked again. */
  #actAt = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** They take turns with the others, so that a flood of them keeps no candidate waiting. */
  #prefersTriggered = false;
  #timer: unknown;

  /** @param found where media went before, in another thread or process. */
  constructor(transport: WebrtcTransport, options: CheckOptions, found?: IceAddress) {
    this.#transport = transport;
    this.#options = options;
    this.#state = transport.isControlled ? 'following' : 'checking';
    this.#begin();
    if (found) {
      this.#taken = this.#pairAt(found);
      this.#state = transport.isControlled ? 'chosen' : 'nominated';
    }
    this.#plan();
  }

  get state(): CheckState {
    return this.#state;
  }

  get role(): IceRole {
    return this.#state === 'following' || this.#state === 'chosen' ? 'controlled' : 'controlling';
  }

  /** Other credentials begin anew (RFC 8445 section 9). Further candidates are checked, too (trickle, RFC 8838). */
  use(transport: WebrtcTransport): void {
    const { remote, local } = this.#transport;
    this.#transport = transport;
    const told = pairsOf(transport);
    const isKnown = this.#taken === undefined || !this.#taken.isTold || told.some((to) => isSame(to, this.#taken!.to));
    if (isKnown && remote.ufrag === transport.remote.ufrag && local.ufrag === transport.local.ufrag) {
      for (const to of told)
        if (!this.#pairs.some((pair) => isSame(pair.to, to)) && this.#hasRoom()) this.#pairs.push(pairTo(to, true));
    } else {
      this.#happen('restart');
      this.#begin();
    }
    this.#plan();
  }

  /** Takes a datagram. @returns whether it is an answer to one of these checks. */
  receive(datagram: Uint8Array, source: IceAddress): boolean {
    const id = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length).toString('hex', 8, 20);
    const pair = this.#pairs.find(({ open }) => open.has(id));
    const check = pair?.open.get(id);
    if (!pair || !check || this.#state === 'closed') return false;
    // An answer from elsewhere is none (RFC 8445 7.2.5.2.1).
    const answer = isSame(pair.to, source) && readCheckAnswer(datagram, this.#transport.remote.password);
    if (!answer) return true;
    if (answer === 'granted') {
      pair.open.clear();
      Object.assign(pair, { isValid: true, isTriggered: false });
      this.#answered(pair, check.nominates);
    } else {
      pair.open.delete(id);
      if (check.role === this.role && this.#changeRole()) this.#trigger(pair, this.#now);
    }
    this.#plan();
    return true;
  }

  /**
   * Whether a check of the far side fits our role, or we change ours for it (RFC 8445 7.3.1.1).
   * @param tiebreaker of the far side: the greater one leads.
   */
  admits(role: IceRole | undefined, tiebreaker: Uint8Array): boolean {
    const { role: ours } = this;
    if (role !== ours) return true;
    const isToLead = Buffer.compare(this.#tiebreaker, tiebreaker) >= 0;
    return isToLead !== (ours === 'controlling') && this.#changeRole();
  }

  /** A check of the far side has come from there: it is checked in turn (RFC 8445 7.3.1.3 to 7.3.1.5). */
  hear(source: IceAddress, nominates: boolean): void {
    if (this.#state === 'closed') return;
    const pair = this.#pairAt(source);
    if (!pair) return;
    if (nominates) {
      for (const each of this.#pairs) each.isWanted = each === pair;
      this.#follow(pair);
    }
    if (!pair.isValid) this.#trigger(pair);
    this.#plan();
  }

  close(): void {
    this.#happen('close');
    this.#options.clock.clearTimeout(this.#timer);
  }

  get #consentEveryMs(): number {
    return Math.min(consentEveryMs, this.#options.consentMs / 3);
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #answered(pair: Pair, nominates: boolean): void {
    const isTaken = pair === this.#taken;
    const isAsked = isTaken && (nominates || this.#state === 'chosen' || this.#state === 'nominated');
    if (isAsked) this.#happen('granted');
    const isAgreed = this.#state === 'nominated' || this.#state === 'chosen';
    this.#options.found(pair.to, isTaken && isAgreed);
    if (this.#state === 'checking') {
      this.#happen('valid');
      this.#actAt = this.#now + (pair === this.#pairs[0] ? 0 : betterMs);
    } else if (isAsked) this.#actAt = this.#now + this.#consentEveryMs * (0.8 + (0.4 * randomBytes(1)[0]!) / 256);
    this.#follow(pair);
  }

  /** Takes the pair that the far side has nominated, if it leads and the pair works. */
  #follow(pair: Pair): void {
    if (this.role !== 'controlled' || !pair.isWanted || !pair.isValid || pair === this.#taken) return;
    this.#taken = pair;
    this.#happen('named');
    this.#actAt = this.#now + this.#consentEveryMs;
    this.#options.found(pair.to, true);
  }

  /** @returns false when our role stays. */
  #changeRole(): boolean {
    if (this.#transport.isFarLite || this.#switches >= mostSwitches) return false;
    this.#switches++;
    if (this.role === 'controlling') {
      this.#happen('follow');
      const wanted = this.#pairs.find(({ isWanted }) => isWanted);
      if (this.#state === 'following') this.#taken = undefined;
      if (wanted) this.#follow(wanted);
    } else {
      this.#happen('lead');
      if (this.#state === 'checking' && this.#pairs.some(({ isValid }) => isValid)) {
        this.#happen('valid');
        this.#actAt = this.#now + betterMs;
      }
    }
    return true;
  }

  #begin(): void {
    this.#pairs = pairsOf(this.#transport).map((to) => pairTo(to, true));
    this.#taken = undefined;
    this.#switches = 0;
  }

  /** The pair with this address. A new one takes the place of another that only a check told, and that is of no use. */
  #pairAt(to: IceAddress): Pair | undefined {
    const known = this.#pairs.find((pair) => isSame(pair.to, to));
    if (known || !this.#hasRoom()) return known;
    const pair = pairTo(to, false);
    this.#pairs.push(pair);
    return pair;
  }

  #hasRoom(): boolean {
    const told = this.#pairs.filter(({ isTold }) => isTold).length;
    if (this.#pairs.length < Math.max(leastMost, told + mostHeard)) return true;
    const useless = this.#pairs.findIndex((pair) => !pair.isTold && !pair.isValid && pair !== this.#taken);
    if (useless >= 0) this.#pairs.splice(useless, 1);
    return useless >= 0;
  }

  /** Checks a pair again, whatever the state: a flood of checks causes no more of ours than repetitions. */
  #trigger(pair: Pair, nextAt = pair.askedAt + firstRepeatMs): void {
    Object.assign(pair, { isTriggered: true, everyMs: firstRepeatMs, nextAt });
    pair.repeats = Math.min(pair.repeats, mostRepeats - 1);
  }

  #happen(event: CheckEvent): void {
    this.#state = checkTable[this.#state][event] ?? this.#state;
  }

  /** Whether the pairs are still compared, so that all of them are checked. */
  get #isOpen(): boolean {
    return this.#state === 'checking' || this.#state === 'comparing' || this.#state === 'following';
  }

  /** When the next thing is due, monotonic ms. */
  get #dueAt(): number {
    const acts = this.#state !== 'checking' && this.#state !== 'following';
    const next = Math.min(...this.#pairs.map((pair) => this.#dueOf(pair)));
    return Math.min(acts ? this.#actAt : Number.POSITIVE_INFINITY, Math.max(next, this.#sentAt + paceMs));
  }

  #dueOf(pair: Pair): number {
    const isOver = pair.isValid || (pair.repeats >= mostRepeats && !this.#transport.isFarLite);
    return isOver || !(this.#isOpen || pair.isTriggered) ? Number.POSITIVE_INFINITY : pair.nextAt;
  }

  #plan(): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    const at = this.#dueAt;
    if (this.#state === 'closed' || at === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.setTimeout(() => this.#due(), Math.max(0, at - this.#now));
  }

  #due(): void {
    if (this.#actAt <= this.#now) this.#act();
    if (this.#sentAt + paceMs <= this.#now) this.#checkNext();
    this.#plan();
  }

  #act(): void {
    if (this.#state === 'comparing') {
      this.#happen('time');
      this.#take();
    }
    if (this.#state === 'nominating') this.#nominate();
    else if (this.#taken && (this.#state === 'nominated' || this.#state === 'chosen')) this.#askConsent(this.#taken);
  }

  /** The best pair that works. */
  #take(): void {
    this.#nominations = 0;
    this.#taken = this.#pairs.find(({ isValid }) => isValid);
    if (!this.#taken) this.#happen('noPair');
  }

  #nominate(): void {
    if (this.#nominations === mostNominations) {
      this.#forget(this.#taken!);
      this.#take();
    }
    this.#nominations++;
    if (!this.#taken) return;
    this.#actAt = this.#now + firstRepeatMs;
    this.#ask(this.#taken, true);
  }

  #askConsent(taken: Pair): void {
    const isAlone = this.#pairs.length === 1;
    if (this.#state === 'nominated' && taken.open.size >= mostSilent && !isAlone) {
      for (const pair of this.#pairs) this.#forget(pair);
      this.#happen('silent');
      return;
    }
    this.#actAt = this.#now + this.#consentEveryMs;
    this.#ask(taken, this.#state === 'nominated');
  }

  /** It has to work again. */
  #forget(pair: Pair): void {
    Object.assign(pair, { isValid: false, nextAt: this.#now, everyMs: firstRepeatMs, repeats: 0 });
  }

  #checkNext(): void {
    const due = this.#pairs.filter((pair) => this.#dueOf(pair) <= this.#now);
    this.#prefersTriggered = !this.#prefersTriggered;
    const pair = due.find(({ isTriggered }) => isTriggered === this.#prefersTriggered) ?? due[0];
    if (!pair) return;
    pair.nextAt = this.#now + pair.everyMs;
    pair.everyMs = Math.min(lastRepeatMs, 2 * pair.everyMs);
    pair.repeats++;
    this.#ask(pair, false);
  }

  #ask(pair: Pair, nominates: boolean): void {
    const id = randomBytes(12);
    const { role } = this;
    pair.open.set(id.toString('hex'), { nominates, role });
    if (pair.open.size > mostOpen) pair.open.delete(pair.open.keys().next().value!);
    pair.askedAt = this.#now;
    this.#sentAt = this.#now;
    const { local, remote } = this.#transport;
    this.#options.send(writeCheck({ id, local, remote, role, tiebreaker: this.#tiebreaker, nominates }), pair.to);
  }
}
