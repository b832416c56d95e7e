import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anybody, createPhone } from '../drivers/sip/support.ts';
import type { AriClient } from '../support/ari-client.ts';
import { registerPhone } from '../support/register.ts';
import { onServer, type TestServer } from '../support/server.ts';

type Tuple = { attribute: string; value: string };

const fields = (values: Record<string, string>) => ({
  fields: Object.entries(values).map(([attribute, value]) => ({ attribute, value })),
});
const at = (kind: string, id: string) => `/asterisk/config/dynamic/res_pjsip/${kind}/${id}`;
const portOf = (server: TestServer) => ({ port: Number(server.sip().split(':').at(-1)) });

const endpoints = { desk: { auth: { username: 'desk', password: 'hidden' } } };

const dynamic = suite('phones made over the interface');

/** Registers carol's phone with the server, and has the server call it. */
async function useCarol(server: TestServer, client: AriClient): Promise<void> {
  const phone = await createPhone({ config: { endpoints: [anybody] } });
  try {
    assert.is(await registerPhone(phone, portOf(server), { user: 'carol', password: 'wrong' }), 401);
    assert.is(await registerPhone(phone, portOf(server), { user: 'carol', password: 'secret' }), 200);
    const endpoint = await client.ok<{ state: string }>('GET', '/endpoints/PJSIP/carol');
    assert.is(endpoint.state, 'online');
    const app = await server.app('desk');
    await app.ok('POST', '/channels/c1?endpoint=PJSIP/carol&app=desk');
    const inbound = await phone.rung();
    inbound.leg.answer();
    await app.waitFor('StasisStart');
    await app.ok('DELETE', '/channels/c1');
    await inbound.heard('leg.hungUp');
    await phone.finish();
  } finally {
    await phone.close();
  }
}

dynamic('a phone can register and be called at once, and after a restart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const options = { endpoints, general: { data_directory: directory } };
  await onServer(options, async (server) => {
    const client = server.client();
    await client.ok('PUT', at('auth', 'carol'), fields({ username: 'carol', password: 'secret' }));
    await client.ok('PUT', at('aor', 'carol'), fields({ max_contacts: '1' }));
    const made = await client.ok<Tuple[]>(
      'PUT',
      at('endpoint', 'carol'),
      fields({ aors: 'carol', auth: 'carol', disallow: 'all', allow: 'ulaw', direct_media: 'no' }),
    );
    assert.equal(
      made.filter(({ attribute }) => ['allow', 'disallow', 'direct_media'].includes(attribute)),
      [
        { attribute: 'allow', value: 'ulaw' },
        { attribute: 'direct_media', value: 'no' },
      ],
    );
    await useCarol(server, client);
  });
  await onServer(options, async (server) => {
    const client = server.client();
    const auth = await client.ok<Tuple[]>('GET', at('auth', 'carol'));
    assert.ok(auth.some(({ attribute, value }) => attribute === 'username' && value === 'carol'));
    assert.not(JSON.stringify(auth).includes('secret'));
    await useCarol(server, client);
    await client.ok('DELETE', at('endpoint', 'carol'));
    assert.is((await client.request('GET', '/endpoints/PJSIP/carol')).status, 404);
    assert.is((await client.request('GET', at('endpoint', 'carol'))).status, 404);
    assert.is((await client.request('POST', '/channels?endpoint=PJSIP/carol&app=x')).status, 400);
  });
  rmSync(directory, { recursive: true, force: true });
});

dynamic('phones of the configuration file can be looked at, and not changed', () =>
  onServer({ endpoints }, async (server) => {
    const client = server.client();
    const told = await client.ok<Tuple[]>('GET', at('auth', 'desk'));
    assert.ok(told.some(({ attribute, value }) => attribute === 'username' && value === 'desk'));
    assert.not(JSON.stringify(told).includes('hidden'));
    const refused = await client.request('PUT', at('endpoint', 'DESK'), fields({ context: 'other' }));
    assert.equal(
      [refused.status, refused.body],
      [403, { message: "Cannot update sorcery objects of type 'endpoint'" }],
    );
    assert.is((await client.request('DELETE', at('aor', 'desk'))).status, 403);
    const thief = await client.request('PUT', at('auth', 'thief'), fields({ username: 'desk', password: 'x' }));
    assert.is(thief.status, 200);
    const used = await client.request('PUT', at('endpoint', 'thief'), fields({ auth: 'thief' }));
    assert.equal(
      [used.status, used.body],
      [400, { message: "Creation of object 'thief' failed field value validation" }],
    );
  }),
);

dynamic.run();
