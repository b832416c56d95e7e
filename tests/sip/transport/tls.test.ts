import { once } from 'node:events';
import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Listen } from '../../../src/sip/transport/transport.ts';
import type { TransportsOptions } from '../../../src/sip/transport/transports.ts';
import { createCertificates } from '../../../src/stores/certificates.ts';
import { Authority, CertificateFiles, tlsKeys } from '../../support/certificates.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { addressOf, failureOf, openParty, options, type Party } from './bench.ts';

const authority = new Authority();
const stranger = new Authority('an authority that nobody knows');
const request = options('TLS 127.0.0.1:5061;branch=z9hG4bKx');

/** What a party warned of. */
function warnings() {
  const lines: object[] = [];
  const silent = () => {};
  const log = {
    trace: silent,
    debug: silent,
    info: silent,
    error: silent,
    child: () => log,
    enabled: () => false,
    warn,
  };
  function warn(fields: object, sentence: string) {
    lines.push({ ...fields, sentence });
  }
  return { lines, log };
}

const tlsListen = (more: Partial<Listen> = {}): Listen => ({ protocol: 'tls', host: '127.0.0.1', port: 0, ...more });

const secureParty = (more: Partial<TransportsOptions> = {}, listen: Partial<Listen> = {}) =>
  openParty(
    { tls: tlsKeys({ shows: [authority.sign('127.0.0.1', 'sip.example.com')], believes: [authority] }), ...more },
    [tlsListen(listen)],
  );

async function dial(party: Party, more: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: addressOf(party, 'tls').port,
    ca: [authority.own.certificate],
    ...more,
  });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

/** What a client sees of a connection that the server does not want. */
async function ending(party: Party, more: ConnectionOptions): Promise<string> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: addressOf(party, 'tls').port,
    ca: [authority.own.certificate],
    ...more,
  });
  socket.resume();
  return new Promise((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
}

test('messages over TLS share a connection, answers come back on it, and the port of the URI is 5061', async () => {
  const [a, b] = [await secureParty(), await secureParty()];
  const target = addressOf(b, 'tls');
  a.transports.send(request, target);
  a.transports.send(request, target);
  const first = await b.messages.next();
  const second = await b.messages.next();
  assert.is(first.source.protocol, 'tls');
  assert.is(first.source.connection, second.source.connection);
  b.transports.send(request, first.source);
  assert.is((await a.messages.next()).source.port, target.port);
  await Promise.all([a.transports.close(), b.transports.close()]);
  assert.equal([a.transports.counts().connections, b.transports.counts().connections], [0, 0]);
});

test('whoever we connect to must show a certificate that is believed, and for its name', async () => {
  const { lines, log } = warnings();
  const b = await secureParty();
  const believing = await secureParty({ log });
  const doubting = await secureParty({
    log,
    tls: tlsKeys({ shows: [authority.sign('127.0.0.1')], believes: [stranger] }),
  });
  const target = addressOf(b, 'tls');
  const failures = [
    await failureOf(doubting.transports, request, target),
    await failureOf(believing.transports, request, { ...target, serverName: 'other.example.com' }),
  ];
  assert.equal(
    failures.map(({ reason }) => reason),
    ['connect', 'connect'],
  );
  const about = { address: '127.0.0.1', port: target.port };
  const sentence = 'a SIP peer has no valid TLS certificate: nothing was sent to it';
  assert.equal(lines, [
    { ...about, name: undefined, reason: 'unable to verify the first certificate', sentence },
    {
      ...about,
      name: 'other.example.com',
      reason:
        "Hostname/IP does not match certificate's altnames: Host: other.example.com. is not in the cert's altnames: IP Address:127.0.0.1, DNS:sip.example.com",
      sentence,
    },
  ]);
  believing.transports.send(request, { ...target, serverName: 'sip.example.com' });
  assert.is((await b.messages.next()).message.callId, 'abc');
  await Promise.all([b, believing, doubting].map(({ transports }) => transports.close()));
});

test('a connection that somebody has opened to us is not used for a name that it has not proved', async () => {
  const party = await secureParty();
  const socket = await dial(party);
  socket.write(request);
  const { source } = await party.messages.next();
  const named = { protocol: 'tls', address: source.address, port: source.port, serverName: 'sip.example.com' } as const;
  assert.is((await failureOf(party.transports, request, named)).reason, 'connect');
  socket.destroy();
  await party.transports.close();
});

test('the certificate is chosen by the name that the peer asks for', async () => {
  const names = ['one.example.com', 'two.example.com'];
  const tls = tlsKeys({ shows: names.map((name) => authority.sign(name)) });
  const party = await secureParty({ tls });
  const shown = [];
  for (const servername of ['two.example.com', 'one.example.com', 'three.example.com']) {
    const socket = await dial(party, { servername, checkServerIdentity: () => undefined });
    shown.push(socket.getPeerCertificate().subjectaltname);
    socket.destroy();
  }
  assert.equal(shown, ['DNS:two.example.com', 'DNS:one.example.com', 'DNS:one.example.com']);
  await party.transports.close();
});

test('a client certificate is required if the setting says so; a wrong one is always refused', async () => {
  const { lines, log } = warnings();
  const tls = tlsKeys({ shows: [authority.sign('127.0.0.1')], believesClients: [authority] });
  const mine = authority.sign('phone.example.com');
  const foreign = stranger.sign('phone.example.com');
  const shown = (pair: typeof mine) => ({ cert: pair.certificate, key: pair.key });
  const strict = await secureParty({ tls, log }, { clientCertificates: 'required' });
  const lax = await secureParty({ tls, log }, { clientCertificates: 'optional' });
  for (const [party, more] of [
    [strict, shown(mine)],
    [lax, shown(mine)],
    [lax, {}],
  ] as const) {
    const socket = await dial(party, more);
    socket.write(request);
    assert.is((await party.messages.next()).message.callId, 'abc');
    socket.destroy();
  }
  await ending(strict, {});
  await ending(strict, shown(foreign));
  await ending(lax, shown(foreign));
  // At most one line a minute for each party.
  assert.equal(
    lines.map((line) => (line as { reason: string }).reason),
    [
      'it shows no certificate, which is required',
      'no authority of tls.client_authorities has signed its certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ].map((reason) => lines.map((line) => (line as { reason: string }).reason).find((said) => said.includes(reason))),
  );
  assert.is(strict.messages.size + lax.messages.size, 0);
  await Promise.all([strict.transports.close(), lax.transports.close()]);
});

test('TLS older than 1.2 is not spoken', async () => {
  const party = await secureParty();
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  assert.is(await ending(party, old), 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
  await party.transports.close();
});

test('certificates that are read anew hold for the next handshake, and connections go on', async () => {
  const files = new CertificateFiles();
  const clock = new ManualClock();
  const errors: string[] = [];
  const silent = () => {};
  const error = (fields: object) => errors.push((fields as { reason: string }).reason);
  const log = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error,
    child: () => log,
    enabled: () => false,
  };
  const settings = {
    certificates: [files.pair('own', authority.sign('127.0.0.1', 'first.example.com'))],
    authorities: [],
    clientAuthorities: [],
    clientCrl: [],
    minimumVersion: '1.2',
    checkEveryMs: 1_000,
  } as const;
  const tls = createCertificates(settings, { clock, log });
  const party = await secureParty({ tls });
  const old = await dial(party);
  files.pair('own', authority.sign('127.0.0.1', 'second.example.com'));
  clock.advance(1_000);
  const next = await dial(party);
  assert.is(next.getPeerCertificate().subjectaltname, 'IP Address:127.0.0.1, DNS:second.example.com');
  old.write(request);
  assert.is((await party.messages.next()).message.callId, 'abc');
  files.pair('own', { certificate: 'nonsense', key: 'nonsense' });
  clock.advance(2_000);
  const kept = await dial(party);
  assert.is(kept.getPeerCertificate().subjectaltname, 'IP Address:127.0.0.1, DNS:second.example.com');
  assert.is(errors.length, 1);
  assert.ok(errors[0]!.startsWith(`${settings.certificates[0]!.certificate} is no certificate in PEM`));
  for (const socket of [old, next, kept]) socket.destroy();
  tls.close();
  assert.is(clock.pending, 0);
  await party.transports.close();
  files.close();
});

test('a handshake that takes too long is given up; one address may have so many of them', async () => {
  const clock = new ManualClock();
  const party = await secureParty({
    clock,
    isKnownAddress: () => false,
    limits: { maxSourceHandshakes: 2, handshakeTimeout: 1_000 },
  });
  const { port } = addressOf(party, 'tls');
  const sockets = [];
  for (let i = 0; i < 2; i++) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    sockets.push(socket);
  }
  const third = connect(port, '127.0.0.1').resume();
  await once(third, 'close');
  assert.is(party.transports.counts().connections, 2);
  const closed = sockets.map((socket) => once(socket.resume(), 'close'));
  clock.advance(1_000);
  await Promise.all(closed);
  assert.equal(party.limits.figures(), { 'sip.limits.source_handshakes': 1, 'sip.limits.handshake': 2 });
  await party.transports.close();
  assert.equal([party.transports.counts().connections, clock.pending], [0, 0]);
});

test('a full house gives the place of a handshake to whoever comes next', async () => {
  const party = await secureParty({ limits: { maxConnections: 1 } });
  const slow = connect(addressOf(party, 'tls').port, '127.0.0.1').resume();
  slow.on('error', () => {});
  await once(slow, 'connect');
  const cut = once(slow, 'close');
  const socket = await dial(party);
  await cut;
  socket.write(request);
  assert.is((await party.messages.next()).message.callId, 'abc');
  socket.destroy();
  await party.transports.close();
});

test('a connection over the rate limit begins no handshake', async () => {
  const party = await secureParty({ rateLimiter: { admits: () => false } });
  assert.is(await ending(party, {}), 'ECONNRESET');
  await party.transports.close();
});

test.run();
