import { sequenceDistance } from './header.ts';

/** Where packets come from or go to. */
export type PacketAddress = { address: string; port: number };

/** An address that SDP names, and the one that a far side was found at instead. */
export type Displacement = { from: string; to: string };

/** What makes another source than the signalled one the far side. */
type SourceLockOptions = {
  /** Packets of one source in a row that are needed. */
  needed: number;
  /** Longest time between the first of them and the last, in ms. */
  withinMs: number;
  /** How long after a change of the SDP another source is looked for at all, in ms; 0 = never. */
  searchMs: number;
  /** Hears of another source than the signalled one that is the far side from now on. */
  located?: (source: PacketAddress) => void;
};

/** How the signalled far side is used. */
type Signalled = { expecting: boolean; isFixed?: boolean };

type Candidate = PacketAddress & {
  ssrc: number;
  sequence: number;
  inRow: number;
  /** When the row began and when it was heard last, monotonic ms. */
  since: number;
  heardAt: number;
};

const maximumCandidates = 8;
/** Farther ahead than this is no continuation of the same stream, lost packets included. */
const maximumStep = 50;

/**
 * Decides which source is heard and sent to. The source in the SDP is always heard; after that no other is. Another source
 * is accepted only if the far side must be behind a NAT (packets never come from the address in its SDP): after a few
 * packets in a row of one stream, in a short time, while no other source does the same. It stays until the signalled
 * source is heard or the SDP really changes. Until then unknown sources are neither heard nor sent to. Of a far side with several streams one that was found shows where the others are: see {@link beside}.
 */
export class SourceLock {
  readonly #options: SourceLockOptions;
  #signalled: PacketAddress | undefined;
  #candidates: Candidate[] = [];
  #locked = false;
  #target: PacketAddress | undefined;
  /** Packets go to the address of the SDP, whatever source is heard. */
  #isFixed = false;
  /** Until when another source is looked for, monotonic ms. */
  #searchedUntil = Number.NEGATIVE_INFINITY;
  #resumed: PacketAddress | undefined;
  /** The address at which another stream of the far side was found. */
  #near: string | undefined;
  /** Whether audio was expected by the last offer and answer. */
  #expecting = false;

  constructor(options: SourceLockOptions) {
    this.#options = options;
  }

  /** Where to send to: the far side that is locked onto, else the one signalled; always that where it is fixed. */
  get target(): PacketAddress | undefined {
    return this.#isFixed ? this.#signalled : this.#target;
  }

  /** Who is heard: the far side that is locked onto, else the one signalled. */
  get source(): PacketAddress | undefined {
    return this.#target;
  }

  get locked(): boolean {
    return this.#locked;
  }

  /** Where it was found instead of where SDP says; undefined where it was not found elsewhere. */
  get displaced(): Displacement | undefined {
    const signalled = this.#signalled;
    const target = this.#target;
    if (this.#isFixed || !this.#locked || !signalled || !target || signalled.address === target.address)
      return undefined;
    return { from: signalled.address, to: target.address };
  }

  /**
   * Another stream of the same far side was found elsewhere than SDP says. Where that says the same of this one, packets go
   * there, to the port of the SDP, until it is found: a NAT that keeps ports lets them in, and one stream that only shows others
   * something may never send a packet of its own.
   */
  beside({ from, to }: Displacement): void {
    const signalled = this.#signalled;
    if (this.#locked || signalled?.address !== from || this.#near === to) return;
    this.#near = to;
    this.#target = { address: to, port: signalled.port };
  }

  /**
   * Something has come, whatever it is (RFC 6263 4): from the address at which another stream of the far side was found it shows
   * where this one is.
   */
  greeted(address: string, port: number): void {
    if (this.#locked || address !== this.#near) return;
    this.#lock({ address, port });
    this.#options.located?.({ address, port });
  }

  /**
   * Takes over what offer and answer agreed on. Only what is new opens the search: another address or port begins
   * from the start; audio that is expected again lets a far side be found that was not found yet.
   *
   * @param expecting whether the far side will send. @param isFixed whether packets go to `signalled` alone.
   */
  signal(signalled: PacketAddress, { expecting, isFixed = false }: Signalled, now: number): void {
    this.#isFixed = isFixed;
    const before = this.#signalled;
    const moved = before?.address !== signalled.address || before.port !== signalled.port;
    if (moved) {
      this.#signalled = signalled;
      this.#near = undefined;
      this.#target = this.#resumed ?? signalled;
      this.#locked = this.#resumed !== undefined;
      this.#resumed = undefined;
    }
    if (moved || (expecting && !this.#expecting)) {
      this.#candidates = [];
      this.#searchedUntil = now + this.#options.searchMs;
    }
    this.#expecting = expecting;
  }

  /**
   * Goes on with a far side that was found before, as after a restart, once `signal` tells the SDP of that time: nobody
   * else is heard but it and the signalled source.
   */
  resume(target: PacketAddress): void {
    this.#resumed = target;
  }

  /** Whether a valid packet (known payload type) of this source is to be used. Before `signal` none is. */
  admits(address: string, port: number, ssrc: number, sequence: number, now: number): boolean {
    const target = this.#target;
    if (!target) return false;
    if (this.#locked && port === target.port && address === target.address) return true;
    const signalled = this.#signalled;
    if (signalled && port === signalled.port && address === signalled.address) {
      // With the address as packets have it: compared with theirs it is the same string, of which nothing is read.
      this.#lock({ address, port });
      return true;
    }
    if (this.#locked) return false;
    // A source that is found gets nothing while the target is fixed: another socket of that host may begin at any time.
    const isSameHost = this.#isFixed && address === signalled?.address;
    if (now >= this.#searchedUntil && !isSameHost) return false;
    const candidate = this.#candidate(address, port, ssrc, sequence, now);
    if (candidate.inRow < this.#options.needed || this.#contested(candidate, now)) return false;
    this.#lock({ address, port });
    this.#options.located?.({ address, port });
    return true;
  }

  #lock(target: PacketAddress): void {
    this.#target = target;
    this.#locked = true;
    this.#candidates = [];
  }

  /** Somebody else has a row under way, too: nobody can tell which of them is the far side. */
  #contested(candidate: Candidate, now: number): boolean {
    return this.#candidates.some((each) => each !== candidate && each.inRow > 1 && !this.#isStale(each, now));
  }

  #isStale(candidate: Candidate, now: number): boolean {
    return now - candidate.heardAt > this.#options.withinMs;
  }

  #candidate(address: string, port: number, ssrc: number, sequence: number, now: number): Candidate {
    const known = this.#candidates.find((each) => each.port === port && each.address === address);
    if (!known) return this.#newCandidate({ address, port, ssrc, sequence, inRow: 1, since: now, heardAt: now });
    const step = sequenceDistance(known.sequence, sequence);
    if (step === 0 && known.ssrc === ssrc) return known;
    const follows = known.ssrc === ssrc && step > 0 && step <= maximumStep;
    if (follows && now - known.since <= this.#options.withinMs) known.inRow++;
    else {
      known.inRow = 1;
      known.since = now;
    }
    known.ssrc = ssrc;
    known.sequence = sequence;
    known.heardAt = now;
    return known;
  }

  /** Makes room for a new source: drops the one that was silent longest. */
  #newCandidate(candidate: Candidate): Candidate {
    if (this.#candidates.length >= maximumCandidates) {
      let oldest = 0;
      for (let index = 1; index < this.#candidates.length; index++)
        if (this.#candidates[index]!.heardAt < this.#candidates[oldest]!.heardAt) oldest = index;
      this.#candidates.splice(oldest, 1);
    }
    this.#candidates.push(candidate);
    return candidate;
  }
}
