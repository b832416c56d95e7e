import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RtpTraceWriter, rtpTraceOctets, type TracedKind } from '../../src/lib/rtp-trace.ts';
import type { CallPage } from '../../src/models/call.ts';
import { RtpTraces } from '../../src/recorder/rtp-traces.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';

const headers = suite('headers of RTP in a capture');

const dialplan = { default: { '_X.': ['Answer', 'Echo'] } };
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const get = (server: TestServer, path: string): Promise<Response> =>
  fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}${path}`, { headers: { authorization } });

need('tshark').test(
  headers,
  'tshark reads the packets of a call that has ended, both ways, and none of what was said',
  (tshark) =>
    onServer({ dialplan, recorder: { rtp_headers: 40 } }, async (server) => {
      const phone = server.closing(await Phone.open('4711', server.sip()));
      await phone.call('100');
      phone.audio.hum(440);
      await phone.audio.until(() => phone.audio.packets.length > 50, 'what is echoed');
      phone.hangup();
      const [call] = ((await (await get(server, '/calls')).json()) as CallPage).calls;
      const path = `/calls/${call?.id}.pcap`;
      const [plain, whole] = await Promise.all(
        [path, `${path}?rtp=headers`].map(async (each) => Buffer.from(await (await get(server, each)).arrayBuffer())),
      );
      const directory = mkdtempSync(join(tmpdir(), 'hookswitch-pcap-'));
      try {
        const file = join(directory, 'call.pcap');
        writeFileSync(file, whole ?? '');
        const decode = ['-d', `udp.port==${phone.audio.port},rtp`];
        const fields = ['rtp.p_type', 'rtp.ssrc', 'rtp.seq', 'udp.length', 'frame.cap_len', 'udp.dstport'];
        const read = execFileSync(
          tshark,
          [...['-r', file, '-Y', 'rtp', ...decode, '-T', 'fields'], ...fields.flatMap((field) => ['-e', field])],
          { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
        );
        const packets = read
          .trim()
          .split('\n')
          .map((line) => line.split('\t'));
        // The last 40, in both directions; of each 12 octets behind the headers of IP and UDP.
        assert.ok(packets.length >= 36 && packets.length <= 40, `${packets.length} packets`);
        assert.equal(
          [...new Set(packets.map(([type, , , length, captured]) => [type, length, captured].join()))],
          ['0,180,40'],
        );
        const toPhone = packets.filter(([, , , , , to]) => to === String(phone.audio.port));
        assert.ok(
          toPhone.length > 10 && packets.length - toPhone.length > 10,
          `${toPhone.length} of ${packets.length}`,
        );
        const sent = packets.filter((each) => !toPhone.includes(each));
        assert.equal([...new Set(sent.map(([, ssrc]) => ssrc))], ['0x1234abcd']);
        const numbers = sent.map(([, , sequence]) => Number(sequence));
        assert.equal(
          numbers,
          numbers.map((_, index) => (numbers[0] ?? 0) + index),
        );
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
      // Without being asked for they are in no capture.
      assert.ok((plain?.length ?? 0) < (whole?.length ?? 0));
      assert.not.ok(plain?.includes(Buffer.from([0x12, 0x34, 0xab, 0xcd])));
    }),
);

headers('where they are not kept it is said, and SIP is there as always', () =>
  onServer({ dialplan }, async (server) => {
    const phone = server.closing(await Phone.open('4711', server.sip()));
    await phone.call('100');
    const [call] = ((await (await get(server, '/calls')).json()) as CallPage).calls;
    const refused = await get(server, `/calls/${call?.id}.pcap?rtp=headers`);
    assert.equal(
      [refused.status, ((await refused.json()) as { message: string }).message],
      [409, 'RTP headers are not recorded. Turn on recorder.rtp_headers'],
    );
    assert.is((await get(server, `/calls/${call?.id}.pcap?rtp=none`)).status, 200);
    assert.is((await get(server, `/calls/${call?.id}.pcap?rtp=payload`)).status, 400);
    phone.hangup();
  }),
);

headers('all together are bounded: those of the oldest channel go', () => {
  const traces = new RtpTraces({ packets: 10, octets: 2 * rtpTraceOctets(10) });
  const made = ['a', 'b', 'c'].map((id) => traces.open(id, 'audio'));
  assert.equal(
    made.map((memory) => memory?.byteLength),
    new Array(3).fill(rtpTraceOctets(10)),
  );
  assert.equal(traces.channels, ['b', 'c']);
  traces.open('b', 'audio');
  assert.equal(traces.channels, ['c', 'b'], 'who is opened again is the newest');
  traces.reconfigure({ packets: 40, octets: rtpTraceOctets(40) });
  assert.equal(traces.channels, ['c', 'b'], 'they take no more than they may');
  traces.open('d', 'audio');
  assert.equal(traces.channels, ['d'], 'a longer one needs the room of both');
  traces.reconfigure({ packets: 0, octets: rtpTraceOctets(40) });
  assert.equal([traces.channels, traces.on, traces.open('e', 'audio')], [[], false, undefined]);
  assert.is(new RtpTraces({ packets: 0, octets: 1_000 }).open('a', 'audio'), undefined);
});

headers('video has as much room beside that of audio, which goes with it', () => {
  const traces = new RtpTraces({ packets: 10, octets: 3 * rtpTraceOctets(10) });
  const address = { local: { address: '192.0.2.1', port: 4 }, remote: { address: '192.0.2.2', port: 6 } };
  const write = (id: string, kind: TracedKind, first: number) =>
    new RtpTraceWriter(traces.open(id, kind)!, address.local.address).put(Buffer.alloc(100, first), {
      ...{ at: first, direction: 'out', localPort: address.local.port },
      ...address.remote,
    });
  write('a', 'audio', 2);
  write('a', 'video', 1);
  write('b', 'audio', 3);
  const kept = (at: number) => ({ at, direction: 'out', ...address, length: 100, head: new Uint8Array(12).fill(at) });
  assert.equal(traces.of(['a', 'b']), [kept(1), kept(2), kept(3)]);
  write('b', 'video', 4);
  assert.equal([traces.channels, traces.of(['a', 'b'])], [['b'], [kept(3), kept(4)]]);
});

headers.run();
