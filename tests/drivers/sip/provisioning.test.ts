import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { objectsOf } from '../../../src/drivers/sip/configured-objects.ts';
import { type SipObject, type SipObjectKind, sipObjectTypes } from '../../../src/drivers/sip/objects.ts';
import { createProvisioning, type ProvisionedObjects } from '../../../src/drivers/sip/provisioning.ts';
import { createRecordingLog } from '../../support/log.ts';
import { registerPhone } from '../../support/register.ts';
import { anybody, createPhone, endpoint, type Phone } from './support.ts';

const phones: Phone[] = [];
const alice = endpoint('alice', { auth: { username: 'alice', password: 'wonderland' } });
const callerIds = { parse: (name: string) => ({ name, number: '' }), format: ({ name }: { name: string }) => name };

/** A server whose phones are made at run time, and a phone that takes calls. */
async function world() {
  const server = await createPhone({ config: { endpoints: [alice] } });
  const client = await createPhone({ config: { endpoints: [anybody] } });
  phones.push(server, client);
  const objects = new Map<string, SipObject>();
  const fixed = objectsOf([alice], callerIds);
  const told: string[] = [];
  const { log, lines } = createRecordingLog();
  const provisioned: ProvisionedObjects = {
    find: (kind, id) => fixed[kind].find((object) => object.id === id) ?? objects.get(`${kind}/${id}`),
    made: (kind) => [...objects].flatMap(([key, object]) => (key.startsWith(`${kind}/`) ? [object] : [])),
  };
  const provisioning = createProvisioning({
    callerIds,
    driver: server.driver,
    added: (name) => void told.push(`added ${name}`),
    removed: (name) => void told.push(`removed ${name}`),
    log,
  });
  provisioning.start(provisioned);
  const make = (kind: SipObjectKind, id: string, values: Record<string, string>): SipObject => {
    const attributes = sipObjectTypes[kind].attributes as Record<string, { initial: string }>;
    const initial = Object.fromEntries(Object.entries(attributes).map(([name, each]) => [name, each.initial]));
    return { id, values: { ...initial, ...values } };
  };
  const put = (kind: SipObjectKind, id: string, values: Record<string, string>, quietly = false) => {
    objects.set(`${kind}/${id}`, make(kind, id, values));
    if (!quietly) provisioning.changed(kind, id);
  };
  const remove = (kind: SipObjectKind, id: string) => {
    objects.delete(`${kind}/${id}`);
    provisioning.changed(kind, id);
  };
  const register = (user: string, password: string, username = user) =>
    registerPhone(client, server, { user, username, password });
  return { server, client, provisioning, provisioned, put, remove, make, register, told, lines };
}

const provisioning = suite('phones made at run time');

provisioning.after.each(async () => {
  const all = phones.splice(0);
  await Promise.all(all.map((phone) => phone.finish()));
  for (const phone of all) await phone.close();
});

provisioning('a phone registers and is called as soon as its objects are there, in any order', async () => {
  const { server, client, put, register, told } = await world();
  put('endpoint', 'carol', { auth: 'carol', aors: 'carol', allow: 'alaw' });
  assert.is(await register('carol', 'secret'), 401);
  put('auth', 'carol', { username: 'carol', password: 'secret' });
  assert.is(await register('carol', 'secret'), 403, 'no AOR yet');
  put('aor', 'carol', { max_contacts: '1' });
  assert.is(await register('carol', 'secret'), 200);
  assert.equal(told, ['added carol']);
  assert.equal(
    [...server.contacts.values()].map(({ aor, uri }) => [aor, uri]),
    [['carol', `sip:carol@127.0.0.1:${client.port}`]],
  );
  const out = server.open('carol');
  out.leg.dial();
  const inbound = await client.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
});

provisioning('a change holds at once: another password, a contact that need not register', async () => {
  const { server, client, put, register } = await world();
  put('auth', 'carol', { username: 'carol', password: 'secret' });
  put('aor', 'carol', { max_contacts: '1' });
  put('endpoint', 'carol', { auth: 'carol', aors: 'carol' });
  assert.is(await register('carol', 'secret'), 200);
  put('auth', 'carol', { username: 'carol', password: 'other' });
  assert.is(await register('carol', 'secret'), 401);
  assert.is(await register('carol', 'other'), 200);
  put('aor', 'carol', { contact: `sip:fixed@127.0.0.1:${client.port}` });
  const out = server.open('carol');
  out.leg.dial();
  assert.ok(await client.rung());
});

provisioning('an AOR of another name is what the phone registers as', async () => {
  const { put, register, server } = await world();
  put('auth', 'line', { username: 'carol', password: 'secret' });
  put('aor', '100', { max_contacts: '1' });
  put('endpoint', 'desk-phone', { auth: 'line', aors: '100' });
  // Strangers on this machine are let in, but not under a name that has a password.
  server.driver.setEndpoint(anybody);
  assert.is(await register('100', 'secret', 'carol'), 200);
  assert.equal(
    [...server.contacts.values()].map(({ aor, endpoint: name }) => [aor, name]),
    [['100', 'desk-phone']],
  );
});

provisioning('an endpoint that is removed is gone, and so are its contacts', async () => {
  const { server, put, remove, register, told } = await world();
  put('auth', 'carol', { username: 'carol', password: 'secret' });
  put('aor', 'carol', { max_contacts: '1' });
  put('endpoint', 'carol', { auth: 'carol', aors: 'carol' });
  assert.is(await register('carol', 'secret'), 200);
  remove('endpoint', 'carol');
  assert.equal([server.contacts.size, told], [0, ['added carol', 'removed carol']]);
  assert.throws(() => server.open('carol'), /no endpoint/);
  assert.is(await register('carol', 'secret'), 401);
});

provisioning('without its credentials a phone is let in no more', async () => {
  const { put, remove, register } = await world();
  put('auth', 'carol', { username: 'carol', password: 'secret' });
  put('aor', 'carol', { max_contacts: '1' });
  put('endpoint', 'carol', { auth: 'carol', aors: 'carol' });
  remove('auth', 'carol');
  assert.is(await register('carol', 'secret'), 401);
});

provisioning('a user name belongs to one endpoint', async () => {
  const { provisioning: owner, put, make } = await world();
  put('auth', 'carol', { username: 'carol', password: 'secret' });
  put('endpoint', 'carol', { auth: 'carol' });
  assert.is(owner.refuses('endpoint', make('endpoint', 'carol', { auth: 'carol' })), undefined);
  assert.is(
    owner.refuses('endpoint', make('endpoint', 'dave', { auth: 'carol' })),
    'the user name carol is already used by carol',
  );
  assert.is(
    owner.refuses('auth', make('auth', 'carol', { username: 'alice', password: 'x' })),
    'the user name alice is already used by alice',
  );
  assert.is(owner.refuses('auth', make('auth', 'unused', { username: 'alice', password: 'x' })), undefined);
  assert.is(owner.refuses('aor', make('aor', 'alice', {})), undefined);
});

provisioning('what was kept is made at the start, except what the configuration file has taken meanwhile', async () => {
  const { server, provisioning: owner, provisioned, put, told, lines } = await world();
  put('auth', 'carol', { username: 'carol', password: 'secret' }, true);
  put('auth', 'thief', { username: 'alice', password: 'x' }, true);
  put('endpoint', 'carol', { auth: 'carol' }, true);
  put('endpoint', 'thief', { auth: 'thief' }, true);
  owner.start(provisioned);
  assert.equal(told, ['added carol']);
  assert.equal(
    server.driver.endpoints().map(({ name }) => name),
    ['alice', 'carol'],
  );
  assert.equal(
    lines.map(({ level, fields }) => [level, fields['endpoint']]),
    [['warn', 'thief']],
  );
});

provisioning.run();
