import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Protocol } from '../../../src/sip/transport/kind.ts';
import { peer, settle } from '../../sip/transaction/fake-transports.ts';
import { createVictim } from './victim.ts';

/** RFC 5630 5.2: what a registrar keeps of `sips` contacts, by the address of record and by how the request came. */
for (const [aor, contact, protocol, status] of [
  ['sips:everybody@192.0.2.1', 'sips:everybody@192.0.2.9', 'tls', 200],
  ['sips:everybody@192.0.2.1', 'sips:everybody@192.0.2.9', 'wss', 200],
  ['sips:everybody@192.0.2.1', 'sip:everybody@192.0.2.9', 'tls', 200],
  ['sip:everybody@192.0.2.1', 'sip:everybody@192.0.2.9', 'udp', 200],
  ['sip:everybody@192.0.2.1', 'sips:everybody@192.0.2.9', 'tls', 400],
  ['sips:everybody@192.0.2.1', 'sips:everybody@192.0.2.9', 'udp', 400],
  ['sips:everybody@192.0.2.1', 'sips:everybody@192.0.2.9', 'tcp', 400],
] as const satisfies readonly (readonly [string, string, Protocol, number])[])
  test(`${contact} for ${aor} over ${protocol}: ${status}`, async () => {
    const victim = createVictim(() => {});
    const lines = [
      'REGISTER sip:192.0.2.1 SIP/2.0',
      `Via: SIP/2.0/${protocol.toUpperCase()} 192.0.2.9:5070;branch=z9hG4bKsecure`,
      `From: <${aor}>;tag=1`,
      `To: <${aor}>`,
      'Call-ID: secure',
      'CSeq: 1 REGISTER',
      'Max-Forwards: 70',
      `Contact: <${contact}>`,
      'Content-Length: 0',
      '',
      '',
    ];
    victim.transports.deliver(lines.join('\n'), peer(protocol));
    await settle();
    const statuses = victim.transports.sent.flatMap(({ message }) =>
      message.kind === 'response' ? [message.status] : [],
    );
    assert.equal([statuses, victim.driver.counts().bindings], [[status], status === 200 ? 1 : 0]);
    assert.equal(victim.errors, []);
  });

test.run();
