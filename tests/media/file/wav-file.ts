/** A WAV file of 16-bit samples, with other chunks around as recorders write them. */
export function wavFile(
  samples: Int16Array,
  { rate = 8000, channels = 1, bits = 16, tag = 1, extra = true } = {},
): Uint8Array {
  const chunk = (name: string, body: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(body.length, 4);
    return Buffer.concat([head, body, Buffer.alloc(body.length & 1)]);
  };
  const format = Buffer.alloc(16);
  format.writeUInt16LE(tag, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE((rate * channels * bits) / 8, 8);
  format.writeUInt16LE((channels * bits) / 8, 12);
  format.writeUInt16LE(bits, 14);
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const chunks = [
    chunk('fmt ', format),
    ...(extra ? [chunk('LIST', Buffer.from('odd'))] : []),
    chunk('data', data),
    ...(extra ? [chunk('id3 ', Buffer.from('tail'))] : []),
  ];
  return chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]));
}
