import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CertificateFiles } from '../support/certificates.ts';
import {
  Caller,
  clientHello,
  dialTls,
  dialWebSocket,
  gone,
  heapMegabytes,
  type Mutations,
  mutated,
  mutations,
  ownCertificates,
  portOf,
  sipRequest,
  trusted,
  writeAndGo,
} from '../support/hostile.ts';
import { onServer } from '../support/server.ts';

/*
 * Hostile octets at every secret door of a running server: TLS, SIP within it, WebSockets and the messages within those, SRTP
 * and SRTCP. A call that stands over the same doors hears nothing of it.
 */

const files = new CertificateFiles();
test.after(() => files.close());
const tls = ownCertificates(files);

const runs = { numRuns: 40, endOnFailure: true };

test('mutated TLS, SIP, WebSocket, SRTP and SRTCP input ends neither the process nor a call, and leaks nothing', async () => {
  const endpoints = { anonymous: { match: ['127.0.0.1'], media_encryption: 'required' } };
  const dialplan = { default: { '600': ['Answer', 'Echo'] } };
  await onServer({ endpoints, dialplan, tls }, async (server) => {
    const caller = await Caller.call(server);
    await caller.hearsItself();
    const hello = await clientHello();
    const options = Buffer.from(
      sipRequest('OPTIONS', { to: `<sip:600@${server.sip('tls')}>`, branch: 'options', callId: 'other' }),
    );
    let heapBefore = 0;

    const doors: [string, (changes: Mutations) => Promise<void>][] = [
      [
        'a handshake',
        (changes) => writeAndGo(connect(portOf(server.sip('tls')), '127.0.0.1'), mutated(hello, changes)),
      ],
      ['SIP over TLS', async (changes) => writeAndGo(await dialTls(server), mutated(options, changes))],
      [
        'a WebSocket’s handshake',
        (changes) => {
          const head =
            'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: sip\r\n\r\n';
          const port = portOf(server.sip('wss'));
          const socket = connectTls({ host: '127.0.0.1', port, ca: trusted });
          return writeAndGo(socket, mutated(Buffer.from(head), changes));
        },
      ],
      [
        'a message of a WebSocket',
        async (changes) => {
          const socket = await dialWebSocket(server);
          const closed = gone(socket);
          socket.send(mutated(options, changes));
          socket.close();
          await closed;
        },
      ],
      [
        'a frame of a WebSocket',
        async (changes) => {
          const socket = await dialWebSocket(server);
          const closed = gone(socket);
          const masked = Buffer.concat([
            Buffer.of(0x82, 0xfe, options.length >> 8, options.length & 255, 0, 0, 0, 0),
            options,
          ]);
          const { _socket: raw } = socket as unknown as { _socket: Socket };
          raw.write(mutated(masked, changes), () => raw.end());
          await closed;
        },
      ],
      [
        'SRTP',
        async (changes) => {
          const good = caller.packet();
          caller.send(mutated(good, changes));
          caller.send(good);
          caller.send(good);
        },
      ],
      [
        'SRTCP',
        async (changes) => {
          const good = caller.report();
          caller.send(mutated(good, changes), caller.rtp + 1);
          caller.send(good, caller.rtp + 1);
          caller.send(mutated(good, changes));
        },
      ],
    ];
    for (const round of ['warm', 'counted']) {
      if (round === 'counted') heapBefore = heapMegabytes();
      for (const [, attack] of doors) {
        await fc.assert(fc.asyncProperty(mutations, attack), runs);
        await caller.hearsItself();
      }
    }
    const { media, sip } = await server.running.usage();
    assert.equal([media.sessions, media.ports, sip.dialogs, sip.legs], [1, 1, 1, 1]);
    assert.ok(heapMegabytes() < heapBefore + 8, `the heap grew from ${heapBefore} to ${heapMegabytes()} MB`);
    await caller.hangup(server);
  });
});

test.run();
