import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newRtpTrace, RtpTraceWriter, readRtpTrace } from '../../src/lib/rtp-trace.ts';

const tracing = suite('the heads of RTP packets');

const about = (at: number, address = '192.0.2.9', direction: 'in' | 'out' = 'in') => ({
  ...{ at, direction, localPort: 4000, address, port: 5000 },
});

tracing('the last ones are there, oldest first, with where they came from and nothing of what they carry', () => {
  const memory = newRtpTrace(2);
  const writer = new RtpTraceWriter(memory, '192.0.2.1');
  const packet = Uint8Array.from({ length: 172 }, (_, index) => index);
  writer.put(packet, about(1));
  writer.put(packet, about(2.5));
  writer.put(packet.subarray(0, 8), about(3, '2001:db8::9:1', 'out'));
  const local = { address: '192.0.2.1', port: 4000 };
  assert.equal(readRtpTrace(memory), [
    {
      ...{ at: 2.5, direction: 'in', local, length: 172 },
      remote: { address: '192.0.2.9', port: 5000 },
      head: packet.slice(0, 12),
    },
    {
      ...{ at: 3, direction: 'out', local, length: 8 },
      remote: { address: '2001:db8:0:0:0:0:9:1', port: 5000 },
      head: packet.slice(0, 8),
    },
  ]);
});

tracing('where there is no room nothing is kept', () => {
  const memory = newRtpTrace(0);
  new RtpTraceWriter(memory, '::1').put(new Uint8Array(20), about(1));
  assert.equal(readRtpTrace(memory), []);
});

tracing.run();
