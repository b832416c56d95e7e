import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anybody, createPhone } from '../drivers/sip/support.ts';
import type { AriClient } from '../support/ari-client.ts';
import { Phone } from '../support/phone.ts';
import { registerPhone } from '../support/register.ts';
import { onServer, startTestServer, type TestServer } from '../support/server.ts';

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

dynamic('a change that the disk does not take is refused and never was', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const server = await startTestServer({ endpoints, general: { data_directory: directory } });
  try {
    const client = server.client();
    await client.ok('PUT', '/mailboxes/1?newMessages=1&oldMessages=0');
    for (const file of ['dynamic-config', 'mailboxes', 'device-states']) mkdirSync(join(directory, `${file}.json.new`));
    const refused = { status: 507, body: { message: 'The change was undone: it could not be written to disk' } };
    const ask = async (method: string, path: string, body?: object) => {
      const { status, body: answer } = await client.request(method, path, body);
      return { status, body: answer };
    };
    assert.equal(await ask('PUT', at('endpoint', 'carol'), fields({ allow: 'ulaw' })), refused);
    assert.equal(await ask('PUT', '/mailboxes/1?newMessages=2&oldMessages=0'), refused);
    assert.equal(await ask('DELETE', '/mailboxes/1'), refused);
    assert.equal(await ask('PUT', '/deviceStates/Stasis:q?deviceState=BUSY'), refused);
    assert.is((await ask('GET', at('endpoint', 'carol'))).status, 404);
    assert.is((await ask('GET', '/endpoints/PJSIP/carol')).status, 404);
    assert.equal((await ask('GET', '/mailboxes')).body, [{ name: '1', old_messages: 0, new_messages: 1 }]);
    assert.equal((await ask('GET', '/deviceStates')).body, []);
    for (const file of ['dynamic-config', 'mailboxes', 'device-states'])
      rmSync(join(directory, `${file}.json.new`), { recursive: true });
    assert.is((await ask('PUT', at('endpoint', 'carol'), fields({ allow: 'ulaw' }))).status, 200);
  } finally {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  }
});

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
      [
        400,
        {
          message:
            "Creation of object 'thief' failed field value validation: the user name desk is already used by desk",
        },
      ],
    );
  }),
);

/** What a provisioning program sends for a phone, in its order; attributes repeat. */
const asProvisioned: [string, string][] = [
  ['disallow', 'all'],
  ['allow', 'ulaw,alaw,g729,g722'],
  ['allow', 'h264'],
  ['auth', 'erin'],
  ['aors', 'erin'],
  ['context', 'default'],
  ['t38_udptl', 'no'],
  ['bundle', 'no'],
  ['timers_sess_expires', '1800'],
  ['rtcp_mux', 'no'],
  ['trust_connected_line', 'yes'],
  ['set_var', 'OFFICE=Berlin'],
  ['set_var', 'TEAM=sales, east'],
  ['media_encryption', 'no'],
  ['stir_shaken', 'no'],
  ['acl', ''],
];
const listed = (values: readonly [string, string][]) => ({
  fields: values.map(([attribute, value]) => ({ attribute, value })),
});

dynamic(
  'attributes of provisioning programs are accepted: tuning ones are stored and shown, variables reach calls',
  () =>
    onServer(
      { endpoints, dialplan: { default: { s: ['Wait(1)'], 1: ['Stasis(desk,${OFFICE},"${TEAM}")'] } } },
      async (server) => {
        const client = server.client();
        await client.ok('PUT', at('auth', 'erin'), fields({ username: 'erin', password: 'secret' }));
        const place = { max_contacts: '1', support_path: 'yes', qualify_2xx_only: 'no' };
        await client.ok('PUT', at('aor', 'erin'), fields(place));
        const made = await client.ok<Tuple[]>('PUT', at('endpoint', 'erin'), listed(asProvisioned));
        const shown = Object.fromEntries(made.map(({ attribute, value }) => [attribute, value]));
        assert.equal(
          ['allow', 't38_udptl', 'bundle', 'timers_sess_expires', 'set_var'].map((name) => shown[name]),
          ['ulaw,alaw,g722,h264', 'no', 'no', '1800', 'OFFICE=Berlin;TEAM=sales, east'],
        );
        await client.ok('PUT', at('endpoint', 'erin'), fields({ auth: '' }));
        await client.ok('PUT', at('identify', 'erin'), fields({ endpoint: 'erin', match: '127.0.0.1' }));
        const app = await server.app('desk');
        const phone = server.closing(await Phone.open('erin', server.sip()));
        const calling = phone.call('1');
        const started = await app.waitFor('StasisStart');
        assert.equal(started.args, ['Berlin', 'sales, east']);
        await app.ok('POST', `/channels/${started.channel.id}/answer`);
        await calling;
        phone.hangup();
      },
    ),
);

for (const [attribute, value, problem] of [
  [
    'media_encryption',
    'sdes',
    'media_encryption is not there: without it the endpoint would be less safe than it is meant to be. Only "no" is taken',
  ],
  [
    'acl',
    'office',
    'acl is not there: without it the endpoint would be less safe than it is meant to be. Only nothing is taken',
  ],
  [
    'permit',
    '10.0.0.0/8',
    'permit is not there: without it the endpoint would be less safe than it is meant to be. Only nothing is taken',
  ],
  ['colour', 'red', 'there is no attribute colour'],
  ['disallow', 'all', 'no codec is left'],
] as const)
  dynamic(`${attribute}=${value} is refused by name`, () =>
    onServer({ endpoints }, async (server) => {
      const { status, body } = await server
        .client()
        .request('PUT', at('endpoint', 'erin'), fields({ [attribute]: value }));
      assert.equal(
        [status, body],
        [400, { message: `Creation of object 'erin' failed field value validation: ${problem}` }],
      );
    }),
  );

dynamic('a line registers as long as a registration says so, with the credentials of its endpoint', async () => {
  const provider = await startTestServer({ endpoints: { 49301: { auth: { username: '49301', password: 'secret' } } } });
  try {
    await onServer({ endpoints }, async (server) => {
      const app = await server.app('watch', { subscribeAll: true });
      type Model = { registrations?: { status: string }[] };
      const statusOf = async () =>
        (await app.ok<Model>('GET', '/endpoints/PJSIP/trunk')).registrations?.map(({ status }) => status);
      await app.ok('PUT', at('auth', 'trunk'), fields({ username: '49301', password: 'secret' }));
      await app.ok('PUT', at('endpoint', 'trunk'), fields({ outbound_auth: 'trunk', allow: 'ulaw' }));
      const line = { server_uri: `sip:${provider.sip()}`, client_uri: 'sip:49301@127.0.0.1', outbound_auth: 'trunk' };
      const sent = { ...line, line: 'yes', endpoint: 'trunk', max_retries: '10', support_path: 'yes' };
      const made = await app.ok<Tuple[]>('PUT', at('registration', 'trunk'), fields(sent));
      assert.equal(
        made
          .filter(({ attribute }) => Object.hasOwn(sent, attribute))
          .map(({ attribute, value }) => [attribute, value]),
        made
          .filter(({ attribute }) => Object.hasOwn(sent, attribute))
          .map(({ attribute }) => [attribute, sent[attribute as keyof typeof sent]]),
      );
      const isThere = ({ registrations = [] }: Model): boolean =>
        registrations.some(({ status }) => status === 'Registered');
      if (!isThere(await app.ok('GET', '/endpoints/PJSIP/trunk')))
        await app.waitFor('EndpointStateChange', ({ endpoint }) => isThere(endpoint as unknown as Model));
      assert.equal([(await provider.running.usage()).sip.bindings, await statusOf()], [1, ['Registered']]);

      const refusals = await Promise.all(
        [
          { ...line, outbound_auth: 'other', endpoint: 'trunk' },
          { ...line, endpoint: 'desk' },
          { ...line, security_negotiation: 'mediasec' },
          { server_uri: '' },
        ].map((values) => app.request('PUT', at('registration', 'more'), fields(values))),
      );
      assert.equal(
        refusals.map(({ body }) => (body as { message: string }).message.replace(/^.*validation: /, '')),
        [
          'outbound_auth is not that of the endpoint trunk, whose password is shown to the registrar',
          'the endpoint desk stands in the configuration file',
          'security_negotiation is not there: without it the endpoint would be less safe than it is meant to be. Only "no" is taken',
          'server_uri is missing',
        ],
      );
      await app.ok('DELETE', at('registration', 'trunk'));
      assert.equal(await statusOf(), undefined);
    });
    assert.is((await provider.running.usage()).sip.bindings, 0);
  } finally {
    await provider.close();
  }
});

dynamic('an endpoint is known by its address as long as an identify says so, and only without a password', () =>
  onServer({ endpoints, dialplan: { default: { s: ['Wait(1)'], 1: ['Answer', 'Wait(3600)'] } } }, async (server) => {
    const client = server.client();
    const phone = server.closing(await Phone.open('100', server.sip()));
    const isLetIn = async (): Promise<boolean> => {
      const letIn = await phone.call('1').then(
        () => true,
        () => false,
      );
      if (letIn) phone.hangup();
      return letIn;
    };
    const asked: boolean[] = [];
    await client.ok('PUT', at('endpoint', 'line'), fields({ allow: 'ulaw' }));
    asked.push(await isLetIn());
    const named = await client.request(
      'PUT',
      at('identify', 'line'),
      fields({ endpoint: 'line', match: 'sip.example.org' }),
    );
    assert.match((named.body as { message: string }).message, /: match takes IP addresses and networks only/);
    await client.ok('PUT', at('identify', 'line'), fields({ endpoint: 'line', match: '127.0.0.0/8' }));
    asked.push(await isLetIn());
    await client.ok('PUT', at('auth', 'line'), fields({ username: 'line', password: 'secret' }));
    await client.ok('PUT', at('endpoint', 'line'), fields({ auth: 'line' }));
    asked.push(await isLetIn());
    await client.ok('PUT', at('endpoint', 'line'), fields({ auth: '' }));
    asked.push(await isLetIn());
    await client.ok('DELETE', at('identify', 'line'));
    asked.push(await isLetIn());
    assert.equal(asked, [false, true, false, true, false]);
    const fixed = await client.request('PUT', at('identify', 'x'), fields({ endpoint: 'desk', match: '10.0.0.1' }));
    assert.match((fixed.body as { message: string }).message, /the endpoint desk stands in the configuration file$/);
  }),
);

dynamic.run();
