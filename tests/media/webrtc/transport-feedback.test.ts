import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TransportFeedback } from '../../../src/media/webrtc/transport-feedback.ts';

/** Reports of arrivals for senders that estimate bit rates (draft-holmer-rmcat-transport-wide-cc-extensions-01). */
const feedback = suite('arrivals of packets in a transport');

/** A message as a sender reads it: ms by number; undefined: it has not come. */
function read(message: Uint8Array) {
  const packet = Buffer.from(message);
  assert.equal([packet[0], packet[1], packet.readUInt16BE(2)], [0x8f, 205, packet.length / 4 - 1]);
  const [base, count] = [packet.readUInt16BE(12), packet.readUInt16BE(14)];
  const statuses: number[] = [];
  let at = 20;
  while (statuses.length < count) {
    const chunk = packet.readUInt16BE(at);
    at += 2;
    if (chunk < 0x8000) statuses.push(...Array<number>(chunk & 0x1fff).fill(chunk >> 13));
    else for (let index = 0; index < 7; index++) statuses.push((chunk >> (12 - 2 * index)) & 3);
  }
  let time = packet.readUIntBE(16, 3) * 64;
  const arrivals = statuses.slice(0, count).map((status, index): [number, number | undefined] => {
    const number = (base + index) & 0xffff;
    if (status === 0) return [number, undefined];
    time += (status === 1 ? packet.readUInt8(at) : packet.readInt16BE(at)) / 4;
    at += status;
    return [number, time];
  });
  assert.ok(packet.length - at >= 0 && packet.length - at < 4, 'nothing but padding behind the times');
  return { ours: packet.readUInt32BE(4), about: packet.readUInt32BE(8), count: packet[19], arrivals };
}

feedback('each packet is reported with its time, and each that has not come without', () => {
  const transport = new TransportFeedback();
  assert.equal(transport.due(1, 0), []);
  transport.arrived(0xfffe, 70, 1000.5);
  transport.arrived(0xffff, 70, 1010);
  transport.arrived(1, 71, 1200);
  const [message, ...more] = transport.due(1, 1300) as [Uint8Array];
  assert.equal(more, []);
  assert.equal(read(message), {
    ...{ ours: 1, about: 71, count: 0 },
    arrivals: [
      [0xfffe, 1000.5],
      [0xffff, 1010],
      [0, undefined],
      [1, 1200],
    ],
  });
  assert.equal(transport.due(1, 1500), [], 'nothing is new');
  // The one that was missing is late.
  transport.arrived(0, 70, 1510);
  assert.equal(transport.due(1, 1520).map(read), [
    {
      ...{ ours: 1, about: 70, count: 1 },
      arrivals: [
        [0, 1510],
        [1, 1200],
      ],
    },
  ]);
});

feedback('reports come ten times a second, and long ones in several messages', () => {
  const transport = new TransportFeedback();
  transport.arrived(0, 70, 0);
  assert.is(transport.due(1, 0).length, 1);
  for (let number = 1; number <= 900; number++) transport.arrived(number, 70, number / 10);
  assert.equal(transport.due(1, 99), []);
  const messages = transport.due(1, 100);
  assert.ok(messages.every(({ length }) => length <= 1200));
  assert.equal(
    messages.flatMap((each) => read(each).arrivals.map(([number]) => number)),
    Array.from({ length: 900 }, (_, index) => index + 1),
  );
  // More than 8 s lie between two.
  transport.arrived(901, 70, 1000);
  transport.arrived(902, 70, 20_000);
  assert.equal(
    transport.due(1, 20_100).flatMap((each) => read(each).arrivals),
    [
      [901, 1000],
      [902, 20_000],
    ],
  );
});

feedback('whatever numbers come, messages are bounded and say when the packets came', () => {
  const packets = fc.array(
    fc.record({ number: fc.nat(0xffff), step: fc.nat(70), jumps: fc.nat(30), after: fc.nat(300) }),
  );
  fc.assert(
    fc.property(packets, (list) => {
      const transport = new TransportFeedback();
      const came = new Map<number, number[]>();
      let now = 0;
      let sequence = 0;
      for (const { number, step, jumps, after } of list) {
        now += after / 4;
        sequence = jumps === 0 ? number : (sequence + step - 30) & 0xffff;
        transport.arrived(sequence, 70, now);
        came.set(sequence, [...(came.get(sequence) ?? []), now]);
        const messages = transport.due(1, now);
        assert.ok(messages.length <= 4);
        for (const message of messages)
          for (const [each, at] of read(message).arrivals)
            assert.ok(at === undefined || came.get(each)?.includes(at), `${each} at ${at}`);
      }
    }),
  );
});

feedback.run();
