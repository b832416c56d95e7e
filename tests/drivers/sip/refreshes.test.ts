import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPhone, endpoint, type TestChannel, trunkTo, trusted } from './support.ts';

/** Requests inside calls of phones with a password (RFC 3261 22). */
const refreshes = suite('requests inside a call of a phone with a password');

const credentials = { username: 'alice', password: 'secret' };

for (const protocol of ['udp', 'tcp'] as const)
  refreshes(`over ${protocol} the INVITE alone is challenged, not the UPDATEs of either side`, async () => {
    const challenges: string[] = [];
    const updates = { phone: new Set<string>(), server: new Set<string>() };
    const counting = (side: 'phone' | 'server') => (text: string) => {
      if (/^SIP\/2\.0 40[17] /.test(text)) challenges.push(/CSeq: \d+ (\w+)/.exec(text)?.[1] ?? '');
      if (text.startsWith('UPDATE ')) updates[side].add(/^CSeq: .*$/m.exec(text)![0]);
      return true;
    };
    const alice = endpoint('alice', { auth: credentials, ...trusted });
    const server = await createPhone({ config: { endpoints: [alice] }, protocol, lets: counting('server') });
    const trunk = trunkTo(server.uri, { outboundAuth: credentials, ...trusted });
    const phone = await createPhone({ config: { endpoints: [trunk] }, protocol, lets: counting('phone') });
    const out = phone.open('600@trunk');
    out.leg.dial();
    const inbound = await server.rung();
    inbound.leg.answer();
    await out.heard('leg.answered');
    const names = ({ reports }: Pick<TestChannel, 'reports'>) =>
      reports.flatMap((report) => (report.type === 'leg.connectedLine' ? [report.party.name] : []));
    for (let number = 0; number < 10; number++) {
      out.leg.present({ name: `Phone ${number}`, number: '1' });
      await server.facts.until(() => names(inbound).at(-1) === `Phone ${number}`, `UPDATE ${number} of the phone`);
      inbound.leg.present({ name: `Server ${number}`, number: '2' });
      await phone.facts.until(() => names(out).at(-1) === `Server ${number}`, `UPDATE ${number} of the server`);
    }
    assert.equal(challenges, ['INVITE']);
    assert.equal([updates.phone.size, updates.server.size], [10, 10]);
    await phone.finish();
    await server.finish();
    await phone.close();
    await server.close();
  });

refreshes.run();
