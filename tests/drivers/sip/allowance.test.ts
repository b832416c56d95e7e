import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createExtensionLists } from '../../../src/dialplan/patterns.ts';
import { type Allowance, sourceAllowance } from '../../../src/drivers/sip/allowance.ts';
import { defaultAor, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { createPhone, endpoint, type Phone } from './support.ts';

/** What a stolen password is good for. */

const allowance = suite('what an endpoint may do');

allowance('its requests come from where it may be, over what it may use; registrations from where phones are', () => {
  const from = (address: string, protocol: 'udp' | 'tls' = 'udp') => ({ address, protocol });
  const free = sourceAllowance();
  assert.is(free(from('203.0.113.5'), 'INVITE'), undefined);
  const bound = sourceAllowance({
    sources: ['10.0.0.0/8', '2001:db8::/32'],
    registrationSources: ['10.1.0.0/16'],
    protocols: ['tls'],
  });
  assert.is(bound(from('10.2.0.1', 'tls'), 'INVITE'), undefined);
  assert.is(bound(from('2001:db8::5', 'tls'), 'INVITE'), undefined);
  assert.is(bound(from('10.1.0.1', 'tls'), 'REGISTER'), undefined);
  assert.is(bound(from('10.2.0.1', 'tls'), 'REGISTER'), 'it may not register from there');
  assert.is(bound(from('203.0.113.5', 'tls'), 'INVITE'), 'its address is not in allow.addresses');
  assert.is(bound(from('10.1.0.1', 'udp'), 'REGISTER'), 'it may not come over udp');
});

allowance('extensions are those of the list, with patterns and dashes as in the dialplan', () => {
  const isAmong = createExtensionLists();
  const extensions = ['_2XX', '110', '_0[1-9]X.', '_['];
  const allowed = ['200', '2-99', '110', '0301234', '2000', '112', '00441', '01', '['].filter((each) =>
    isAmong(each, extensions),
  );
  assert.equal(allowed, ['200', '2-99', '110', '0301234']);
});

/** Alice at a server that bounds what she may do, and her phone, which knows her password. */
async function world(bounds: Allowance, test: (server: Phone, phone: Phone) => Promise<void>, named = 'alice') {
  const auth = { username: 'alice', password: 'secret' };
  const server = await createPhone({
    config: {
      endpoints: [
        endpoint('alice', { auth, allowance: bounds }),
        endpoint('bob', { auth: { username: 'bob', password: 'other' } }),
      ],
    },
  });
  const line: Partial<EndpointConfig> = { outboundAuth: auth, fromUser: named };
  const aor = { ...defaultAor, contacts: [server.uri] };
  const phone = await createPhone({ config: { endpoints: [endpoint('line', { ...line, aor })] } });
  try {
    await test(server, phone);
  } finally {
    await phone.finish();
    await server.finish();
    await phone.close();
    await server.close();
  }
}

async function refusedWith(phone: Phone, number: string): Promise<number | undefined> {
  const call = phone.open(`${number}@line`);
  call.leg.dial();
  return (await call.heard('leg.hungUp')).techCause;
}

async function taken(server: Phone, phone: Phone, number: string, index = 0): Promise<void> {
  const call = phone.open(`${number}@line`);
  call.leg.dial();
  assert.is((await server.rung(index)).call?.extension, number);
}

allowance('she calls what she may call, and nothing else', async () => {
  await world({ extensions: ['100', '101'] }, async (server, phone) => {
    assert.is(await refusedWith(phone, '0044900'), 403);
    await taken(server, phone, '100');
    assert.is(server.incoming.length, 1);
  });
});

allowance('she has as many calls at once as she may have, in both directions', async () => {
  await world({ calls: 1 }, async (server, phone) => {
    await taken(server, phone, '100');
    assert.is(await refusedWith(phone, '101'), 486);
    assert.throws(() => server.open('alice'), /endpoint "alice" has as many calls as it may have/);
    await phone.finish();
    await server.finish();
    await taken(server, phone, '102', 1);
  });
});

allowance('from elsewhere her password is worth nothing', async () => {
  await world({ sources: ['10.0.0.0/8'] }, async (server, phone) => {
    assert.is(await refusedWith(phone, '100'), 403);
    assert.is(server.incoming.length, 0);
  });
});

allowance('nobody goes by the name of another phone with a password of its own', async () => {
  await world(
    {},
    async (server, phone) => {
      assert.is(await refusedWith(phone, '100'), 403);
      assert.is(server.incoming.length, 0);
    },
    'bob',
  );
  await world({}, async (server, phone) => taken(server, phone, '100'), 'Alice');
  await world({}, async (server, phone) => taken(server, phone, '100'), 'somebody');
});

allowance.run();
