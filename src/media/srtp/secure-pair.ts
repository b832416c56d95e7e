import { isDeepStrictEqual } from 'node:util';
import type { SrtpKeys } from '../../lib/srtp.ts';
import type { PortPair } from '../rtp/ports.ts';
import type { PacketListener, PacketSocket } from '../rtp/sockets.ts';
import { behindSources, memoryWord, type SessionMemory, sourcesIn, sourceWords } from '../session-memory.ts';
import type { PacketPlace } from './layout.ts';
import { type HeardNumbers, Opener } from './opener.ts';
import { Sealer, type SendingNumbers } from './sealer.ts';

const { sealed, control, opened } = memoryWord;
/** From the first word of a source to that of its RTCP, and to its SSRC. */
const [toControl, toSource] = [memoryWord.openedControl - opened, memoryWord.openedSource - opened];

/** Makes a packet another one; undefined when there is none to be passed on. */
type Change = (packet: Uint8Array) => Uint8Array | undefined;

/** A port pair with SRTP and SRTCP only. New keys apply from the next packet. */
export class SecurePair implements PortPair {
  readonly rtp: PacketSocket;
  readonly rtcp: PacketSocket;
  readonly #memory: SessionMemory;
  #keys: SrtpKeys;
  #sealer: Sealer;
  #opener: Opener;

  constructor(plain: PortPair, keys: SrtpKeys, memory: SessionMemory) {
    this.#memory = memory;
    this.#keys = keys;
    this.#sealer = this.#newSealer(keys);
    this.#opener = this.#newOpener(keys);
    this.rtp = changing(
      plain.rtp,
      (packet) => this.#sealer.audio(packet),
      (packet) => this.#opener.audio(packet),
    );
    this.rtcp = changing(
      plain.rtcp,
      (packet) => this.#sealer.control(packet),
      (packet) => this.#opener.control(packet),
    );
  }

  /** Octets that the far side's packets of audio have beyond those that are opened. */
  get overhead(): number {
    return this.#opener.overhead;
  }

  /** Opens a packet of audio where it is: see {@link Opener.audioAt}. */
  openAt(place: PacketPlace, length: number): boolean {
    return this.#opener.audioAt(place, length);
  }

  /** Seals one: see {@link Sealer.audioAt}. */
  sealAt(place: PacketPlace, length: number): number {
    return this.#sealer.audioAt(place, length);
  }

  /** Keys that are the same go on; another one of either side begins. */
  use(keys: SrtpKeys): void {
    const { local, remote } = this.#keys;
    if (!isDeepStrictEqual(local, keys.local)) this.#sealer = this.#newSealer(keys);
    if (!isDeepStrictEqual(remote, keys.remote)) {
      // Indices of another key say nothing about replays with this one.
      for (const at of sourcesIn(this.#memory)) this.#memory[at + toControl] = this.#memory[at + toSource] = 0;
      this.#opener = this.#newOpener(keys);
    }
    this.#keys = keys;
  }

  #newSealer({ local }: SrtpKeys): Sealer {
    return new Sealer(local, new SealedWords(this.#memory));
  }

  #newOpener({ remote }: SrtpKeys): Opener {
    const [first, ...further] = sourcesIn(this.#memory).map((at) => new OpenedWords(this.#memory, at));
    return new Opener(remote, first, further);
  }
}

/** Forgets indices: keys of another DTLS association count from the start (RFC 5764 3). Never for keys that were in use. */
export function forgetIndices(memory: SessionMemory): void {
  memory[sealed] = memory[control] = 0;
  for (const at of sourcesIn(memory)) memory[at + toControl] = memory[at + toSource] = 0;
}

/** A sealer of further packets with a key of ours: those of another source. @param at its word in the memory, before one for RTCP. */
export const sealerAt = ({ local }: SrtpKeys, memory: SessionMemory, at: number): Sealer =>
  new Sealer(local, new SealedWords(memory.subarray(at - sealed)));

/** Our sent indices, in session memory. */
class SealedWords implements SendingNumbers {
  readonly #memory: SessionMemory;

  constructor(memory: SessionMemory) {
    this.#memory = memory;
  }

  get audio(): number {
    return this.#memory[sealed]!;
  }
  set audio(next: number) {
    this.#memory[sealed] = next;
  }
  get control(): number {
    return this.#memory[control]!;
  }
  set control(index: number) {
    this.#memory[control] = index;
  }
}

/** Whether SRTP has proved that a source is the far side's, and still remembers it. */
export function isProved(memory: SessionMemory, ssrc: number): boolean {
  for (let at = opened + toSource; at < Math.min(memory.length, behindSources); at += sourceWords)
    if (memory[at] === ssrc + 1) return true;
  return false;
}

/** The received indices of a source of the far side, in session memory. */
class OpenedWords implements HeardNumbers {
  readonly #memory: SessionMemory;
  readonly #at: number;

  /** @param at its first word. */
  constructor(memory: SessionMemory, at: number) {
    this.#memory = memory;
    this.#at = at;
  }

  get audio(): number {
    return this.#memory[this.#at]!;
  }
  set audio(next: number) {
    this.#memory[this.#at] = next;
  }
  get control(): number {
    return this.#memory[this.#at + toControl]!;
  }
  set control(next: number) {
    this.#memory[this.#at + toControl] = next;
  }
  get source(): number {
    return this.#memory[this.#at + toSource]!;
  }
  set source(source: number) {
    this.#memory[this.#at + toSource] = source;
  }
}

function changing(plain: PacketSocket, seal: Change, open: Change): PacketSocket {
  return {
    port: plain.port,
    copies: plain.copies,
    send(packet, port, address) {
      const sealed = seal(packet);
      if (sealed) plain.send(sealed, port, address);
    },
    listen(listener: PacketListener | undefined) {
      plain.listen(
        listener &&
          ((packet, address, port) => {
            const opened = open(packet);
            if (opened) listener(opened, address, port);
          }),
      );
    },
    close: () => plain.close(),
  };
}
