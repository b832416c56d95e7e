import { sequenceDistance } from './header.ts';

/** Where packets come from or go to. */
export type PacketAddress = { address: string; port: number };

type Candidate = PacketAddress & { ssrc: number; sequence: number; inRow: number };

const maximumCandidates = 8;
/** Farther ahead than this is no continuation of the same stream, lost packets included. */
const maximumStep = 50;

/**
 * Symmetric RTP: a far side behind a NAT sends from another address than its SDP says. The source of the first few
 * packets that follow one another is taken as the far side; from then on nobody else is heard.
 */
export class SourceLock {
  readonly #needed: number;
  #signalled: PacketAddress | undefined;
  #candidates: Candidate[] = [];
  #locked = false;
  #target: PacketAddress | undefined;

  /** @param needed packets in a row from one source that decide. */
  constructor(needed = 4) {
    this.#needed = needed;
  }

  /** Where to send to: the far side that is locked onto, else the one signalled. */
  get target(): PacketAddress | undefined {
    return this.#target;
  }

  get locked(): boolean {
    return this.#locked;
  }

  /**
   * Begins to listen for the far side again after offer and answer. Packets go to `signalled` meanwhile; when that is
   * the address signalled before, they keep going to where the far side was found.
   */
  relock(signalled: PacketAddress): void {
    const before = this.#signalled;
    if (before?.address !== signalled.address || before.port !== signalled.port) this.#target = signalled;
    this.#signalled = signalled;
    this.#candidates = [];
    this.#locked = false;
  }

  /** Whether a valid packet (known payload type) of this source is to be used. Before `relock` none is. */
  admits(address: string, port: number, ssrc: number, sequence: number): boolean {
    if (this.#locked) return port === this.#target!.port && address === this.#target!.address;
    if (!this.#signalled) return false;
    const candidate = this.#candidate(address, port, ssrc, sequence);
    if (!candidate) return false;
    if (candidate.inRow < this.#needed) return candidate === this.#favourite(this.#signalled);
    this.#target = { address, port };
    this.#locked = true;
    this.#candidates = [];
    return true;
  }

  #candidate(address: string, port: number, ssrc: number, sequence: number): Candidate | undefined {
    const known = this.#candidates.find((each) => each.port === port && each.address === address);
    if (!known) {
      if (this.#candidates.length >= maximumCandidates) return undefined;
      const fresh = { address, port, ssrc, sequence, inRow: 1 };
      this.#candidates.push(fresh);
      return fresh;
    }
    const step = sequenceDistance(known.sequence, sequence);
    if (step === 0 && known.ssrc === ssrc) return known;
    known.inRow = known.ssrc === ssrc && step > 0 && step <= maximumStep ? known.inRow + 1 : 1;
    known.ssrc = ssrc;
    known.sequence = sequence;
    return known;
  }

  /** Whom to hear until the lock decides: the signalled source once it was heard, else the first that was. */
  #favourite(signalled: PacketAddress): Candidate | undefined {
    return (
      this.#candidates.find((each) => each.port === signalled.port && each.address === signalled.address) ??
      this.#candidates[0]
    );
  }
}
