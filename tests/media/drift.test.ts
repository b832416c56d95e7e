import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openCodec } from '../../src/media/codec/open-codec.ts';
import { IncomingAudio } from '../../src/media/external/incoming-audio.ts';
import type { Frame } from '../../src/media/frame.ts';
import { Playout } from '../../src/media/rtp/playout.ts';
import { octetsOf } from './support.ts';

const hourMs = 3_600_000;
const tickMs = 20;
/** Samples tell which packet they are of; a number comes again after so many. */
const numbers = 30_000;

type Heard = { delays: number[]; silent: number };

/**
 * An hour of a far side whose clock is off by some parts in a million: it sends every 20 ms of its own time, we play every
 * 20 ms of ours. @returns how late each 20 ms was heard, in ms, and how often nothing was.
 */
function hour(
  ppm: number,
  put: (number: number, octets: Uint8Array, now: number) => void,
  pull: (now: number) => Frame | 'made up' | undefined,
): Heard {
  const packetMs = tickMs / (1 + ppm / 1_000_000);
  const delays: number[] = [];
  let silent = 0;
  let sent = 0;
  for (let now = tickMs; now <= hourMs; now += tickMs) {
    for (; sent * packetMs + 7 <= now; sent++)
      put(sent, octetsOf(new Int16Array(160).fill((sent % numbers) + 1)), sent * packetMs + 7);
    const frame = pull(now);
    // What was made up for a packet that is late says nothing of delay.
    if (frame === 'made up') continue;
    const middle = frame?.samples[120];
    if (!middle) {
      silent++;
      continue;
    }
    const behind = (((sent - middle) % numbers) + numbers) % numbers;
    delays.push(now - (sent - 1 - behind) * packetMs - 7);
  }
  return { delays, silent };
}

/** The most of every ten minutes. */
const perTenMinutes = ({ delays }: Heard): number[] =>
  Array.from({ length: 6 }, (_, index) =>
    delays.slice(index * 30_000, (index + 1) * 30_000).reduce((most, each) => Math.max(most, each), 0),
  );

for (const ppm of [-200, 0, 200]) {
  const surplus = Math.abs((hourMs / tickMs) * ppm) / 1_000_000;

  test(`RTP of a clock that is off by ${ppm} in a million is heard as late after an hour as at first`, () => {
    const playout = new Playout(openCodec('slin', { order: 'host' }));
    const heard = hour(
      ppm,
      (number, packet, at) =>
        playout.put({
          sequence: number & 0xffff,
          packet,
          payloadStart: 0,
          payloadEnd: packet.length,
          at,
          isNoise: false,
        }),
      (now) => {
        const before = playout.concealed;
        const frame = playout.pull(now);
        return playout.concealed > before ? 'made up' : frame;
      },
    );
    const most = perTenMinutes(heard);
    assert.ok(Math.max(...most) <= 80, `${most.join()} ms`);
    assert.ok(Math.max(...most) - Math.min(...most) <= 25, `${most.join()} ms`);
    assert.is(playout.late, 0);
    assert.ok(playout.leftOut <= (ppm > 0 ? surplus + 4 : 0), `${playout.leftOut} packets were left out`);
    assert.ok(playout.concealed <= (ppm < 0 ? 3 * surplus + 4 : 1), `${playout.concealed} times 20 ms were made up`);
    playout.close();
  });

  test(`a stream of a clock that is off by ${ppm} in a million is heard as late after an hour as at first`, () => {
    const incoming = new IncomingAudio({ codec: 'slin', mostMs: 300, keepMs: 60 });
    const heard = hour(
      ppm,
      (_number, octets) => incoming.put(octets),
      () => incoming.pull(),
    );
    const most = perTenMinutes(heard);
    assert.ok(Math.max(...most) <= 130, `${most.join()} ms`);
    assert.ok(most.at(-1)! - most[1]! <= 25, `${most.join()} ms`);
    assert.ok(incoming.droppedMs <= (ppm > 0 ? tickMs * (surplus + 4) : 0), `${incoming.droppedMs} ms were left out`);
    assert.ok(heard.silent <= (ppm < 0 ? 3 * surplus + 4 : 4), `${heard.silent} times 20 ms were silent`);
    incoming.close();
  });
}

test.run();
