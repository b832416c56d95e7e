import { type RtpHeader, sequenceDistance } from './header.ts';

/** An address and port. */
export type PacketAddress = { address: string; port: number };

/** An address in SDP, and the address where the far side was located instead. */
export type Displacement = { from: string; to: string };

/** Conditions to accept another source than the signalled one. */
type SourceLockOptions = {
  /** Packets of one source in a row that are needed. */
  needed: number;
  /** Longest time between the first of them and the last, in ms. */
  withinMs: number;
  /** How long after a change of the SDP another source is looked for at all, in ms; 0 = never. */
  searchMs: number;
  /** Called when another source is accepted as the far side. */
  located?: (source: PacketAddress) => void;
};

/** Numbers of a packet that tell its stream. */
export type SourceNumbers = Pick<RtpHeader, 'ssrc' | 'sequence'>;

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
 * Decides the source and the destination. The source in the SDP always wins. Another source is accepted only if the far
 * side must be behind a NAT (no packets from the address in its SDP). It needs a few consecutive packets of one stream
 * in a short time, without competitors. It stays until the signalled source sends or the SDP really changes. Until then
 * unknown sources are ignored. A located stream shows where others of the far side are: see {@link beside}.
 */
export class SourceLock {
  readonly #options: SourceLockOptions;
  #signalled: PacketAddress | undefined;
  #candidates: Candidate[] = [];
  #locked = false;
  #target: PacketAddress | undefined;
  /** Packets always go to the address in SDP. */
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

  /** The destination: the accepted source, else the signalled one; always the latter if it is fixed. */
  get target(): PacketAddress | undefined {
    return this.#isFixed ? this.#signalled : this.#target;
  }

  /** The accepted source, else the signalled one. */
  get source(): PacketAddress | undefined {
    return this.#target;
  }

  get locked(): boolean {
    return this.#locked;
  }

  /** The located address and the one in SDP; undefined if they are equal. */
  get displaced(): Displacement | undefined {
    const signalled = this.#signalled;
    const target = this.#target;
    if (this.#isFixed || !this.#locked || !signalled || !target || signalled.address === target.address)
      return undefined;
    return { from: signalled.address, to: target.address };
  }

  /**
   * Another stream of the same far side was located elsewhere than SDP says. If SDP has the same address for this one,
   * packets go there, to this stream's port, until it is located. A NAT that keeps ports lets them in, and a send-only
   * stream may never receive a packet.
   */
  beside({ from, to }: Displacement): void {
    const signalled = this.#signalled;
    if (this.#locked || signalled?.address !== from || this.#near === to) return;
    this.#near = to;
    this.#target = { address: to, port: signalled.port };
  }

  /** Any packet (RFC 6263 4) from the address where another stream was located also locates this one. */
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
   * Continues with a located far side, as after a restart, once `signal` has the SDP of that time. Only it and the
   * signalled source are accepted.
   */
  resume(target: PacketAddress): void {
    this.#resumed = target;
  }

  /** Whether a valid packet (known payload type) of this source is to be used. Before `signal` none is. */
  admits(address: string, port: number, numbers: SourceNumbers, now: number): boolean {
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
    // A located source gets nothing while the destination is fixed: another socket of that host may start at any time.
    const isSameHost = this.#isFixed && address === signalled?.address;
    if (now >= this.#searchedUntil && !isSameHost) return false;
    const candidate = this.#candidate(address, port, numbers, now);
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

  /** Another source competes, so neither is accepted. */
  #contested(candidate: Candidate, now: number): boolean {
    return this.#candidates.some((each) => each !== candidate && each.inRow > 1 && !this.#isStale(each, now));
  }

  #isStale(candidate: Candidate, now: number): boolean {
    return now - candidate.heardAt > this.#options.withinMs;
  }

  #candidate(address: string, port: number, { ssrc, sequence }: SourceNumbers, now: number): Candidate {
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

  /** Replaces the candidate that was silent longest. */
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
