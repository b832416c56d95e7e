import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { type SrtpKeys, srtpSuites } from '../../src/lib/srtp.ts';
import { DtlsClient } from '../../src/media/webrtc/dtls-client.ts';
import { identityOf } from '../../src/media/webrtc/dtls-end.ts';
import { DtlsServer } from '../../src/media/webrtc/dtls-server.ts';
import { srtpProfiles } from '../../src/media/webrtc/secrets.ts';
import { certifiedKey, fingerprintOf } from '../support/dtls-client.ts';
import { need } from '../support/need.ts';
import { patienceMs } from '../support/waiting.ts';

const interop = suite('DTLS with openssl');
const openssl = need('openssl');

/** Names of the suites as s_client has them, by number. */
const names: Readonly<Record<number, string>> = {
  1: 'SRTP_AES128_CM_SHA1_80',
  7: 'SRTP_AEAD_AES_128_GCM',
  8: 'SRTP_AEAD_AES_256_GCM',
};

/** A promise, and what resolves it. */
function later<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

for (const { id, suite: name } of srtpProfiles)
  openssl.test(interop, `${name}: both export the same keys, and close_notify ends it`, async (program) => {
    const client = certifiedKey('browser');
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-dtls-'));
    const file = join(directory, 'client.pem');
    writeFileSync(file, client.certificate + client.key);
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    let peer = { port: 0, address: '' };
    const connected = later<SrtpKeys>();
    const over = later<string>();
    const server = new DtlsServer({
      clock: systemClock,
      identity: identityOf(certifiedKey('server')),
      fingerprint: fingerprintOf(identityOf(client)),
      handshakeMs: patienceMs,
      send: (datagram) => socket.send(datagram, peer.port, peer.address),
      connected: connected.resolve,
      ended: over.resolve,
    });
    socket.on('message', (datagram, { address, port }) => {
      peer = { address, port };
      server.receive(datagram, `${address} ${port}`);
    });
    const { key, salt } = srtpSuites[name];
    const child = spawn(program, [
      ...['s_client', '-dtls1_2', '-connect', `127.0.0.1:${socket.address().port}`, '-cert', file],
      ...['-use_srtp', names[id]!, '-keymatexport', 'EXTRACTOR-dtls_srtp', '-keymatexportlen', `${2 * (key + salt)}`],
    ]);
    let said = '';
    child.stdout.on('data', (octets) => {
      said += octets;
      if (said.includes('Keying material: ') && said.includes('---', said.indexOf('Keying material: ')))
        child.stdin.end();
    });
    try {
      const keys = await Promise.race([
        connected.promise,
        over.promise.then((why) => Promise.reject<SrtpKeys>(new Error(why))),
      ]);
      assert.is(await over.promise, 'the far side has closed DTLS');
      await once(child.stdout, 'close');
      const exported = Buffer.from(/Keying material: ([0-9A-F]+)/.exec(said)?.[1] ?? '', 'hex');
      const piece = (at: number, octets: number) => exported.subarray(at, at + octets);
      const side = (which: 0 | 1) =>
        Buffer.concat([piece(which * key, key), piece(2 * key + which * salt, salt)]).toString('base64');
      assert.equal([keys.remote.key, keys.local.key], [side(0), side(1)]);
      assert.match(said, `SRTP Extension negotiated, profile=${names[id]}`);
    } finally {
      child.kill();
      server.close();
      socket.close();
      rmSync(directory, { recursive: true });
    }
  });

for (const { id, suite: name } of srtpProfiles)
  openssl.test(interop, `${name}: our client and s_server export the same keys`, async (program) => {
    const certificate = certifiedKey('far');
    const ours = certifiedKey('ours');
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-dtls-'));
    const file = join(directory, 'server.pem');
    writeFileSync(file, certificate.certificate + certificate.key);
    const { key, salt } = srtpSuites[name];
    // `-listen` asks for a cookie, `-Verify` for our certificate.
    const child = spawn(program, [
      ...['s_server', '-dtls1_2', '-listen', '-accept', '127.0.0.1:0', '-cert', file, '-Verify', '1'],
      ...['-use_srtp', names[id]!, '-keymatexport', 'EXTRACTOR-dtls_srtp', '-keymatexportlen', `${2 * (key + salt)}`],
    ]);
    const listening = later<number>();
    const exporting = later<void>();
    let said = '';
    child.stdout.on('data', (octets) => {
      said += octets;
      const port = /^ACCEPT \S+:(\d+)$/m.exec(said)?.[1];
      if (port) listening.resolve(Number(port));
      if (/Keying material: [0-9A-F]+\n/.test(said)) exporting.resolve();
    });
    child.once('exit', (code) => over.resolve(`s_server has ended with ${code}`));
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const connected = later<SrtpKeys>();
    const over = later<string>();
    const failed = over.promise.then((why) => Promise.reject<never>(new Error(why)));
    const port = await Promise.race([listening.promise, failed]);
    const client = new DtlsClient({
      clock: systemClock,
      identity: identityOf(ours),
      fingerprint: fingerprintOf(identityOf(certificate)),
      handshakeMs: patienceMs,
      send: (datagram) => socket.send(datagram, port, '127.0.0.1'),
      connected: connected.resolve,
      ended: over.resolve,
    });
    socket.on('message', (datagram) => client.receive(datagram, ''));
    try {
      client.begin();
      const keys = await Promise.race([connected.promise, failed]);
      await Promise.race([exporting.promise, failed]);
      const exported = Buffer.from(/Keying material: ([0-9A-F]+)/.exec(said)![1]!, 'hex');
      const piece = (at: number, octets: number) => exported.subarray(at, at + octets);
      const side = (which: 0 | 1) =>
        Buffer.concat([piece(which * key, key), piece(2 * key + which * salt, salt)]).toString('base64');
      assert.equal([keys.local.key, keys.remote.key], [side(0), side(1)]);
      assert.match(said, /Client certificate/);
    } finally {
      child.kill();
      client.close();
      socket.close();
      rmSync(directory, { recursive: true });
    }
  });

interop.run();
