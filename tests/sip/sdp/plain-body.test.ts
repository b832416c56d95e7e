import { write } from 'sdp-transform';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { plainBody } from '../../../src/sip/sdp/plain-body.ts';

const line = { type: 'audio', port: 0, protocol: 'RTP/SAVP', formats: [] };
const key = { suite: 'AES_CM_128_HMAC_SHA1_80' as const, key: 'a'.repeat(40) };

test('a plain description has the octets that sdp-transform writes', () => {
  for (const [address, ipVer] of [
    ['192.0.2.1', 4],
    ['2001:db8::1', 6],
  ] as const) {
    const body = plainBody(
      { sessionId: '4294967295', version: 2 },
      {
        ...{ line, address, port: 4000, ptimeMs: 20, direction: 'sendrecv' },
        formats: [
          { payloadType: 107, name: 'opus', rate: 48_000, channels: 2, parameters: 'useinbandfec=1' },
          { payloadType: 0, name: 'PCMU', rate: 8000 },
        ],
        events: [{ payloadType: 101, rate: 8000 }],
        sdes: [{ tag: 1, key }],
      },
    );
    const written = write({
      version: 0,
      origin: {
        ...{ username: '-', sessionId: '4294967295', sessionVersion: 2, netType: 'IN' },
        ...{ ipVer, address },
      },
      name: 'Hookswitch',
      connection: { version: ipVer, ip: address },
      timing: { start: 0, stop: 0 },
      media: [
        {
          ...{
            type: 'audio',
            port: 4000,
            protocol: 'RTP/SAVP',
            payloads: '107 0 101',
            ptime: 20,
            direction: 'sendrecv',
          },
          rtp: [
            { payload: 107, codec: 'opus', rate: 48_000, encoding: 2 },
            { payload: 0, codec: 'PCMU', rate: 8000 },
            { payload: 101, codec: 'telephone-event', rate: 8000 },
          ],
          fmtp: [
            { payload: 107, config: 'useinbandfec=1' },
            { payload: 101, config: '0-16' },
          ],
          crypto: [{ id: 1, suite: key.suite, config: `inline:${key.key}` }],
        },
      ],
    });
    assert.is(body, written);
  }
});

test.run();
