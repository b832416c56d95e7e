import { createHash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { ContactView } from '../../src/models/contact.ts';
import type { RegistrationView } from '../../src/models/registration.ts';
import { type NodeProcess, TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** A provider, at which one node of a cluster is registered. Another server is the provider. */
const registrations = suite('registrations of a cluster');
const nats = need('nats-server');

const account = { username: '49301', password: 'secret' };

/** The ports of the contacts that the provider has. */
async function contactsOf(provider: TestServer): Promise<string[]> {
  const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
  const answer = await fetch(new URL('/hookswitch/contacts', provider.url), { headers: { authorization } });
  const contacts = (await answer.json()) as ContactView[];
  return contacts.map(({ uri }) => /@([\d.]+:\d+)/.exec(uri)?.[1] ?? uri);
}

type World = { cluster: TestCluster; provider: TestServer };

/** The node that is to hold the registration: the first by a hash of its name and the registration. */
function holderAmong({ cluster, provider }: World, without: readonly NodeProcess[] = []): NodeProcess {
  const id = `carrier;sip:${provider.sip()};sip:49301@127.0.0.1`;
  const hash = ({ name }: NodeProcess) => createHash('sha256').update(`${name} ${id}`).digest('base64url');
  const nodes = Object.values(cluster.nodes).filter((node) => !without.includes(node));
  return nodes.sort((one, other) => (hash(one) < hash(other) ? -1 : 1))[0]!;
}

/** Waits until that node is registered, and no other one. */
async function registered(world: World, without: readonly NodeProcess[] = []): Promise<NodeProcess> {
  const holder = holderAmong(world, without);
  let contacts: string[] = [];
  await untilAsked(
    async () => {
      contacts = await contactsOf(world.provider);
      return contacts.length === 1 && contacts[0] === holder.sip;
    },
    () => `${holder.name} is not registered alone: ${contacts}`,
  );
  return holder;
}

/** What a node tells of the registration, wherever it is held. */
async function shownAt(node: NodeProcess): Promise<RegistrationView[]> {
  return (await (await node.ask('GET', '/hookswitch/registrations')).json()) as RegistrationView[];
}

/** The provider calls what is registered. @returns the node that takes the call. */
async function callsIn({ cluster, provider }: World, at: NodeProcess): Promise<string> {
  const carrier = await provider.app('carrier');
  const id = `call-${at.name}`;
  const up = carrier.waitFor('ChannelStateChange', ({ channel }) => channel.id === id && channel.state === 'Up');
  await carrier.ok('POST', `/channels?endpoint=PJSIP/49301&app=carrier&channelId=${id}`);
  await up;
  const [channel] = await cluster.node(at.name).client().ok<Channel[]>('GET', '/channels');
  const over = carrier.waitFor('ChannelDestroyed', (event) => event.channel.id === id);
  await carrier.ok('DELETE', `/channels/${id}`);
  await over;
  await carrier.close();
  return channel?.id.split('~')[0] ?? 'none';
}

async function start(command: string): Promise<World> {
  const provider = await startTestServer({
    endpoints: { 49301: { auth: account, aor: { max_contacts: 5 } } },
    dialplan: { default: { 600: ['Answer()', 'Wait(3600)'] } },
  });
  const carrier = {
    context: 'default',
    outbound_auth: account,
    registrations: [{ server: `sip:${provider.sip()}`, contact_user: '1000' }],
  };
  const cluster = await TestCluster.start(command, ['a', 'b', 'c'], { register_after: 2 }, { endpoints: { carrier } });
  return { cluster, provider };
}

const onWorld = (title: string, run: (world: World) => Promise<void>): void =>
  nats.test(registrations, title, async (command) => {
    const world = await start(command);
    try {
      await run(world);
    } catch (error) {
      world.cluster.tell();
      throw error;
    } finally {
      await world.cluster.close();
      await world.provider.close();
    }
  });

onWorld('one node is registered, and another one when it drains, and when it is killed', async (world) => {
  const { cluster, provider } = world;
  const first = await registered(world);
  assert.is(await callsIn(world, first), first.name);
  for (const node of Object.values(cluster.nodes)) {
    await untilAsked(
      async () => (await shownAt(node)).length === 1,
      () => `more than one is held: ${node.child.written}`,
    );
    const [shown] = await shownAt(node);
    assert.equal(
      [shown?.endpoint, shown?.status, shown?.state, shown?.node],
      ['PJSIP/carrier', 'Registered', 'registered', first.name],
    );
    const metrics = await (await node.ask('GET', '/metrics')).text();
    assert.match(metrics, new RegExp(`^hookswitch_cluster_registrations ${Number(node === first)}$`, 'm'));
  }

  await first.ask('POST', '/hookswitch/server/drain');
  const second = await registered(world, [first]);
  assert.is(await callsIn(world, second), second.name);

  await second.child.end('SIGKILL');
  const third = holderAmong(world, [first, second]);
  await untilAsked(
    async () => (await contactsOf(provider)).join() === third.sip,
    () => `${third.name} alone is not registered: ${third.child.written}`,
  );

  // Calls leave from any node.
  await first.ask('DELETE', '/hookswitch/server/drain');
  const app = await first.app('shop');
  const up = app.waitFor('ChannelStateChange', ({ channel }) => channel.state === 'Up');
  await app.ok('POST', '/channels?endpoint=PJSIP/600@carrier&app=shop');
  assert.match((await up).channel.id, new RegExp(`^${first.name}~`));
  await first.empty();
});

onWorld('without NATS each node keeps what it holds, and one that starts registers itself', async (world) => {
  const { cluster, provider } = world;
  const first = await registered(world);
  await cluster.nats.child.end('SIGKILL');
  for (const node of Object.values(cluster.nodes)) await cluster.sees(node, { [node.name]: 'away' });
  assert.equal(await contactsOf(provider), [first.sip]);
  const other = Object.values(cluster.nodes).find((node) => node !== first)!;
  await other.child.end('SIGKILL');
  await other.begin();
  await untilAsked(
    async () => (await contactsOf(provider)).includes(other.sip),
    () => `it is not registered: ${other.child.written}`,
  );
  await cluster.nats.begin();
  const last = await registered(world);
  assert.is(await callsIn(world, last), last.name);
});

onWorld('a node that ends gives its registration to another one', async (world) => {
  const first = await registered(world);
  await first.child.end('SIGTERM');
  const next = await registered(world, [first]);
  assert.is(await callsIn(world, next), next.name);
});

registrations.run();
