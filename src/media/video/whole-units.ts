import type { VideoPacket } from './camera.ts';
import { emptyMark } from './frame-mark.ts';
import { nal } from './h264.ts';

type WholeUnitsOptions = {
  /** Octets of the longest unit that is passed on. */
  largest: number;
  /** Units of a picture, and packets that wait for one that is missing, at most. */
  most: number;
  /** Takes one unit as a packet of its own. Its octets do not change any more; the rest is ours again when it returns. */
  pass: (packet: VideoPacket) => void;
  /** A picture was left out because a unit of it is longer than is passed on. */
  tooLong: () => void;
};

type Unit = { octets: Uint8Array; key: boolean; sets: readonly Uint8Array[] };
type Picture = { time: number; units: Unit[]; isBroken: boolean };

/** How long a packet that is missing is waited for, in ms: until it was asked for and has come again. */
const waitMs = 150;
/** The last type of a unit that is none of a packet (RFC 6184 5.2). */
const lastUnitType = 23;
const noSets: readonly Uint8Array[] = [];

/**
 * Puts H.264 of one camera that comes in parts and together (packetization-mode 1) into packets of a whole unit each (mode 0;
 * RFC 6184 5.6 to 5.8). Packets are put in order first. A picture goes out as soon as all of it is there; one that lacks something,
 * or has a unit that is too long, is left out whole, and a new generation begins: what follows makes sense from a key frame on.
 */
export class WholeUnits {
  readonly #options: WholeUnitsOptions;
  /** Of the camera, and ours. */
  #theirs: number | undefined;
  #generation = 0;
  /** Numbers of the packet that comes next, and of the last that went out. */
  #next = 0;
  #index = 0x1_0000;
  readonly #waiting = new Map<number, VideoPacket>();
  #waitingSince = 0;
  #picture: Picture | undefined;
  /** The packet before the next one is lost. */
  #isGap = false;
  /** The unit under way, in parts, and what is known of it by the first one. */
  #parts: Uint8Array[] | undefined;
  #partsOctets = 0;
  #first: Pick<Unit, 'key' | 'sets'> = { key: false, sets: noSets };
  #mark = emptyMark();
  /** Pictures that were left out. */
  leftOut = 0;

  constructor(options: WholeUnitsOptions) {
    this.#options = options;
  }

  /** @param now monotonic ms. */
  take(packet: VideoPacket, now: number): void {
    if (packet.generation !== this.#theirs) this.#begin(packet);
    if (packet.index < this.#next) return;
    if (packet.index > this.#next) {
      if (this.#waiting.size === 0) this.#waitingSince = now;
      this.#waiting.set(packet.index, { ...packet, mark: { ...packet.mark } });
      if (this.#waiting.size <= this.#options.most && now - this.#waitingSince <= waitMs) return;
      this.#next = Math.min(...this.#waiting.keys());
      this.#skip();
    } else this.#read(packet);
    for (let held = this.#waiting.get(this.#next); held; held = this.#waiting.get(this.#next)) this.#read(held);
    this.#waitingSince = now;
  }

  #begin({ generation, index }: VideoPacket): void {
    this.#theirs = generation;
    this.#next = index;
    this.#waiting.clear();
    this.#picture = undefined;
    this.#skip();
  }

  /** Packets before the next one are lost: their picture, and maybe the beginning of the next picture. */
  #skip(): void {
    this.#generation++;
    this.#isGap = true;
    this.#parts = undefined;
    if (this.#picture) this.#picture.isBroken = true;
  }

  /** The packet that is next. */
  #read(packet: VideoPacket): void {
    const { time, octets, payloadStart: start, payloadEnd: end, marker } = packet;
    this.#waiting.delete(packet.index);
    this.#next = packet.index + 1;
    if (this.#picture && this.#picture.time !== time) this.#end(packet, false);
    this.#picture ??= { time, units: [], isBroken: this.#isGap && !packet.key };
    this.#isGap = false;
    if (end > start) {
      const type = octets[start]! & 0x1f;
      if (type === nal.fuA) this.#part(packet);
      else if (this.#parts) this.#break();
      else if (type === nal.stapA) this.#apart(packet);
      else this.#add(octets.subarray(start, end), packet);
    }
    if (marker) this.#end(packet, true);
  }

  #part(packet: VideoPacket): void {
    const { octets, payloadStart: start, payloadEnd: end } = packet;
    const head = octets[start + 1]!;
    const isFirst = (head & 0x80) !== 0;
    if (isFirst === (this.#parts !== undefined)) {
      this.#break();
      return;
    }
    if (isFirst) {
      const first = Uint8Array.of((octets[start]! & 0xe0) | (head & 0x1f));
      this.#parts = [first];
      this.#partsOctets = first.length;
      this.#first = { key: packet.key, sets: packet.sets };
    }
    const part = octets.subarray(start + 2, end);
    this.#partsOctets += part.length;
    // A unit that never ends is not kept until it does.
    if (this.#partsOctets > this.#options.largest) {
      this.#options.tooLong();
      this.#break();
      return;
    }
    this.#parts!.push(part);
    if (!(head & 0x40)) return;
    const unit = Buffer.concat(this.#parts!);
    this.#parts = undefined;
    this.#add(unit, this.#first);
  }

  /** Units that came together; the parameter sets that belong before a picture go before its first part alone. */
  #apart({ octets, payloadStart, payloadEnd, key, sets, mark }: VideoPacket): void {
    let isKey = key && !mark.key;
    for (let at = payloadStart + 1; at + 2 < payloadEnd; ) {
      const length = (octets[at]! << 8) | octets[at + 1]!;
      at += 2;
      if (length === 0 || at + length > payloadEnd) {
        this.#break();
        return;
      }
      const type = octets[at]! & 0x1f;
      const begins = type === nal.sps || (isKey && type === nal.idr);
      this.#add(octets.subarray(at, at + length), { key: begins, sets: begins && isKey ? sets : noSets });
      if (begins) isKey = false;
      at += length;
    }
  }

  #add(octets: Uint8Array, { key, sets }: Pick<Unit, 'key' | 'sets'>): void {
    const { largest, most, tooLong } = this.#options;
    const picture = this.#picture!;
    if (picture.isBroken) return;
    const type = octets[0]! & 0x1f;
    if (octets.length > largest) tooLong();
    // Other types are packets, and none that such a far side can read.
    const isUnit = type > 0 && type <= lastUnitType;
    if (!isUnit || octets.length > largest || picture.units.length >= most) this.#break();
    else picture.units.push({ octets, key, sets });
  }

  /** Something is missing of the picture under way. */
  #break(): void {
    this.#parts = undefined;
    if (this.#picture) this.#picture.isBroken = true;
  }

  /** A picture is over; @param packet of it, or of the one behind. @param isWhole it said so itself. */
  #end(packet: VideoPacket, isWhole: boolean): void {
    const { time, units, isBroken } = this.#picture!;
    this.#picture = undefined;
    if (isBroken || this.#parts) {
      this.#parts = undefined;
      this.leftOut++;
      this.#generation++;
      return;
    }
    const last = units.length - 1;
    for (const [at, { octets, key, sets }] of units.entries()) {
      const mark = this.#mark;
      mark.idr = (octets[0]! & 0x1f) === nal.idr;
      mark.key = (octets[0]! & 0x1f) === nal.sps;
      this.#options.pass({
        ...{
          camera: packet.camera,
          layer: packet.layer,
          codec: packet.codec,
          octets,
          payloadStart: 0,
          payloadEnd: octets.length,
        },
        ...{
          marker: isWhole && at === last,
          index: ++this.#index,
          time,
          generation: this.#generation,
          key,
          mark,
          sets,
        },
      });
    }
  }
}
