/**
 * G.711 by tables: 256 entries to decode, 65,536 to encode. Linear samples are 16 bit; µ-law uses the upper 14 of
 * them, A-law the upper 13 (ITU-T G.711, tables 1 and 2).
 */

/** Decodes one octet of one law to a 16-bit sample. */
type Decode = (code: number) => number;

const muLawBias = 33 << 2;

/** µ-law: all bits are sent inverted; magnitude = (2 × mantissa + 33) × 2^segment − 33, in units of 4. */
function decodeMuLaw(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = (((bits & 0x0f) << 3) + muLawBias) << ((bits >> 4) & 7);
  return bits & 0x80 ? muLawBias - magnitude : magnitude - muLawBias;
}

/** A-law: even bits are sent inverted; segment 0 is linear, the others carry a hidden leading one. */
function decodeALaw(code: number): number {
  const bits = code ^ 0x55;
  const segment = (bits >> 4) & 7;
  const step = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

/** Position of the highest bit set of `value` above `lowest`, 0 to 7. */
function segmentOf(value: number, lowest: number): number {
  return Math.max(0, Math.min(7, 31 - Math.clz32(value) - lowest));
}

function encodeMuLaw(sample: number): number {
  // Negated before it is scaled: shifting a negative number right would round it away from zero.
  const magnitude = Math.min(sample < 0 ? -sample : sample, 32_635) + muLawBias;
  const segment = segmentOf(magnitude, 7);
  const bits = (sample < 0 ? 0x80 : 0) | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f);
  return ~bits & 0xff;
}

function encodeALaw(sample: number): number {
  // The decision values of the negative half mirror the positive ones, hence the one's complement.
  const magnitude = Math.min(sample < 0 ? ~sample : sample, 32_767);
  const segment = segmentOf(magnitude, 7);
  const mantissa = (magnitude >> (segment === 0 ? 4 : segment + 3)) & 0x0f;
  return ((sample < 0 ? 0 : 0x80) | (segment << 4) | mantissa) ^ 0x55;
}

function decodeTable(decode: Decode): Int16Array {
  return Int16Array.from({ length: 256 }, (_, code) => decode(code));
}

/**
 * Indexed by the sample's 16 bits taken as unsigned. A code stands for a range of samples. An interval whose ends have
 * the same code has it everywhere: that takes 3,300 calls at start-up instead of 65,536.
 */
function encodeTable(encode: (sample: number) => number): Uint8Array {
  const table = new Uint8Array(65_536);
  const fill = (first: number, last: number): void => {
    const code = encode(first);
    if (code === encode(last)) {
      table.fill(code, first & 0xffff, (last & 0xffff) + 1);
      return;
    }
    const middle = (first + last) >> 1;
    fill(first, middle);
    fill(middle + 1, last);
  };
  fill(-32_768, -1);
  fill(0, 32_767);
  return table;
}

function transcodeTable(from: Readonly<Int16Array>, to: Readonly<Uint8Array>): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => to[from[code]! & 0xffff]!);
}

/** µ-law octet to 16-bit sample. */
export const ulawToLinear: Readonly<Int16Array> = decodeTable(decodeMuLaw);
/** A-law octet to 16-bit sample. */
export const alawToLinear: Readonly<Int16Array> = decodeTable(decodeALaw);
/** 16-bit sample, masked with 0xffff, to µ-law octet. */
export const linearToUlaw: Readonly<Uint8Array> = encodeTable(encodeMuLaw);
/** 16-bit sample, masked with 0xffff, to A-law octet. */
export const linearToAlaw: Readonly<Uint8Array> = encodeTable(encodeALaw);
/** µ-law octet to the nearest A-law octet. */
export const ulawToAlaw: Readonly<Uint8Array> = transcodeTable(ulawToLinear, linearToAlaw);
/** A-law octet to the nearest µ-law octet. */
export const alawToUlaw: Readonly<Uint8Array> = transcodeTable(alawToLinear, linearToUlaw);
