import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';

const phones = suite('cluster phones');
const nats = need('nats-server');

const bob = { bob: { context: 'default', auth: { username: 'bob', password: 'builder' } } };
const passwords: Readonly<Record<string, string>> = { alice: 'wonder', bob: 'builder' };

/** The nodes, which each test leaves as they were. */
let shared: TestCluster | undefined;
phones.after(() => shared?.close());

/** Runs a test on two nodes, with phones that it opens. */
const onShared = (title: string, run: (cluster: TestCluster, open: Open) => Promise<void>): void =>
  nats.test(phones, title, async (command) => {
    const cluster = (shared ??= await TestCluster.start(command, ['a', 'b'], {}, bob));
    const opened: Phone[] = [];
    try {
      await run(cluster, async (name, node) => {
        const phone = await Phone.open(name, cluster.node(node).sip);
        opened.push(phone);
        phone.password = passwords[name];
        assert.is(await phone.register(), 200);
        return phone;
      });
      await cluster.empty();
    } catch (error) {
      cluster.tell();
      for (const phone of opened) process.stderr.write(`${phone.explain()}\n`);
      shared = undefined;
      await cluster.close();
      throw error;
    } finally {
      for (const phone of opened) await phone.close();
    }
  });

type Open = (name: string, node: string) => Promise<Phone>;

onShared('a Dial reaches a phone of another node, and both sides can change and end the call', async (cluster, open) => {
  const alice = await open('alice', 'b');
  const bob = await open('bob', 'a');
  await bob.call('1002');
  await alice.answered();
  const channels = await cluster.node('b').client().ok<Channel[]>('GET', '/channels');
  assert.ok(channels.every(({ id }) => id.startsWith('a~')), 'the call is at the node that dials');
  // A re-INVITE from the phone, and one to it.
  assert.is(await alice.offerAnew(), 200);
  const called = channels.find(({ name }) => name.startsWith('PJSIP/alice'))!;
  const app = await cluster.node('b').app('watcher');
  await cluster.node('b').client().ok('POST', `/applications/watcher/subscription?eventSource=channel:${called.id}`);
  alice.direction = 'sendonly';
  assert.is(await alice.offerAnew(), 200);
  await app.waitFor('ChannelHold', ({ channel }) => channel.id === called.id);
  alice.hangup();
  await bob.over();

  await bob.call('1002');
  await alice.answered();
  bob.hangup();
  await alice.over();
});

phones.run();
