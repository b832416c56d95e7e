import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AriClient } from '../support/ari-client.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** Two servers: one is the provider of the other’s line. */

const lines = suite('a line at a provider');

type EndpointModel = {
  state: string;
  registrations?: { server: string; client: string; status: string; reason?: string }[];
};

const endpointOf = (client: AriClient, name = 'trunk') => client.ok<EndpointModel>('GET', `/endpoints/PJSIP/${name}`);

async function registered(app: AriClient, status: string): Promise<void> {
  const has = ({ registrations = [] }: EndpointModel) => registrations.some((each) => each.status === status);
  if (has(await endpointOf(app))) return;
  await app.waitFor('EndpointStateChange', ({ endpoint }) => has(endpoint as unknown as EndpointModel));
}

async function both(test: (provider: TestServer, app: AriClient) => Promise<void>) {
  const auth = { username: '49301', password: 'secret' };
  const provider = await startTestServer({ endpoints: { 49301: { auth } } });
  const server = `sip:${provider.sip()}`;
  const trunk = { outbound_auth: auth, registrations: [{ server }], context: 'from-provider' };
  const ours = await startTestServer({
    endpoints: { trunk },
    dialplan: { default: { s: ['Hangup'] }, 'from-provider': { 49301: ['Stasis(desk)'] } },
  });
  const app = await ours.app('desk', { subscribeAll: true });
  try {
    await test(provider, app);
    assert.equal(ours.errors(), []);
    assert.is(ours.running.channels(), 0);
    await provider.settle();
  } catch (error) {
    process.stderr.write(`${provider.explain()}\n${ours.explain()}\n`);
    throw error;
  } finally {
    await ours.close();
    await provider.close();
  }
}

lines('it registers, is called, calls, and is shown with its endpoint; what stops is taken back', async () => {
  await both(async (provider, app) => {
    await registered(app, 'Registered');
    const server = `sip:${provider.sip()}`;
    const client = 'sip:49301@127.0.0.1';
    assert.equal((await endpointOf(app)).registrations, [{ server, client, status: 'Registered' }]);

    const at = await provider.app('exchange');
    await at.ok('POST', '/channels?endpoint=PJSIP/49301&app=exchange&callerId=Dora%20%3C555%3E');
    const { channel } = await app.waitFor('StasisStart');
    assert.match(channel.name, /^PJSIP\/trunk-/);
    assert.equal(channel.caller, { name: 'Dora', number: '555' });
    assert.is(channel.dialplan.exten, '49301');
    await app.ok('DELETE', `/channels/${channel.id}`);
    await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);

    // Calls go out where it is registered, in the line's name, and prove its password there.
    const out = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/100@trunk&app=desk');
    await app.waitFor('ChannelDestroyed', (event) => event.channel.id === out.id);
    assert.equal((await endpointOf(at, '49301')).state, 'online');
    assert.is((await provider.running.usage()).sip.bindings, 1);
  });
});

lines('a server that stops is not called any more', async () => {
  const auth = { username: '49301', password: 'secret' };
  const provider = await startTestServer({ endpoints: { 49301: { auth } } });
  const trunk = { outbound_auth: auth, registrations: [{ server: `sip:${provider.sip()}` }] };
  const ours = await startTestServer({ endpoints: { trunk } });
  const app = await ours.app('desk', { subscribeAll: true });
  await registered(app, 'Registered');
  assert.is((await provider.running.usage()).sip.bindings, 1);
  await ours.close();
  assert.is((await provider.running.usage()).sip.bindings, 0);
  await provider.close();
});

lines.run();
