import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { DeviceState } from '../../src/models/device-state.ts';
import type { AriClient } from '../support/ari-client.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { untilAsked } from '../support/waiting.ts';

const phones = suite('cluster phones');
const nats = need('nats-server');

const account = (username: string, password: string, more: object = {}): object => ({
  ...{ context: 'default', auth: { username, password } },
  ...more,
});
const passwords: Readonly<Record<string, string>> = { alice: 'wonder', bob: 'builder', carol: 'carol', dave: 'dave' };
const endpoints = {
  bob: account('bob', 'builder'),
  carol: account('carol', 'carol', { allow_replaces: true }),
  dave: account('dave', 'dave', { allow: { calls: 1 } }),
};

/** The nodes, which each test leaves as they were. */
let shared: TestCluster | undefined;
phones.after(() => shared?.close());

/** @param registers whether it can be called */
type Open = (name: string, node: string, over?: 'UDP' | 'TCP' | 'WS', registers?: boolean) => Promise<Phone>;

/** Runs a test on two nodes, with phones that it opens. */
const onShared = (title: string, run: (cluster: TestCluster, open: Open) => Promise<void>): void =>
  nats.test(phones, title, async (command) => {
    const cluster = (shared ??= await TestCluster.start(command, ['a', 'b'], { request_timeout: 4 }, { endpoints }));
    const opened: Phone[] = [];
    try {
      await run(cluster, async (name, node, over = 'UDP', registers = true) => {
        const { sip, ws } = cluster.node(node);
        const phone =
          over === 'UDP' ? await Phone.open(name, sip) : await Phone.openOver(over, name, over === 'WS' ? ws : sip);
        opened.push(phone);
        phone.password = passwords[name];
        if (registers) assert.is(await phone.register(), 200);
        return phone;
      });
      await cluster.empty();
      for (const phone of opened) assert.is(await phone.register(0), 200);
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

/** What was said in a call that is refused. */
const refusalOf = (call: Promise<void>): Promise<string> =>
  call.then(
    () => 'answered',
    ({ message }: Error) => message,
  );

const channelsOf = (cluster: TestCluster): Promise<Channel[]> =>
  cluster.node('b').client().ok<Channel[]>('GET', '/channels');

for (const over of ['UDP', 'TCP', 'WS'] as const)
  onShared(
    `a Dial reaches a phone of another node over ${over}, and both sides change and end the call`,
    async (cluster, open) => {
      const alice = await open('alice', 'b', over);
      const bob = await open('bob', 'a');
      await bob.call('1002');
      await alice.answered();
      const channels = await channelsOf(cluster);
      assert.ok(
        channels.every(({ id }) => id.startsWith('a~')),
        'the call is at the node that dials',
      );
      const called = channels.find(({ name }) => name.startsWith('PJSIP/alice'))!;
      bob.audio.hum(400);
      alice.audio.hum(700);
      await alice.audio.hears([400], [400, 700]);
      await bob.audio.hears([700], [400, 700]);

      const app = await cluster.node('b').app('watcher');
      await app.ok('POST', `/applications/watcher/subscription?eventSource=channel:${called.id}`);
      const held = app.waitFor('ChannelHold', ({ channel }) => channel.id === called.id);
      alice.direction = 'sendonly';
      assert.is(await alice.offerAnew(), 200);
      await held;
      alice.direction = 'sendrecv';
      assert.is(await alice.offerAnew(), 200);
      alice.hangup();
      await bob.over();

      const shop = await cluster.node('b').app('shop');
      const up = shop.waitFor('StasisStart', ({ channel }) => channel.id === 'a~mine');
      await shop.ok('POST', '/channels?endpoint=PJSIP/alice&app=shop&channelId=a~mine');
      await up;
      assert.is((await shop.request('POST', '/channels/a~mine/hold')).status, 204);
      await alice.until(() => alice.reinvites.length === 1, 'a re-INVITE');
      assert.is((await shop.request('DELETE', '/channels/a~mine')).status, 204);
      await alice.over();
    },
  );

onShared(
  'a call to an endpoint rings its phones at all nodes; those that do not answer are told',
  async (_cluster, open) => {
    const there = await open('alice', 'b');
    const here = await open('alice', 'a');
    const bob = await open('bob', 'a');
    for (const phone of [here, there]) phone.answers = false;
    const called = bob.call('1002');
    await here.until(() => here.rings, 'the call');
    await there.until(() => there.rings, 'the call');
    there.take();
    await called;
    await here.until(() => !here.rings, 'the end of the ringing');
    bob.hangup();
    await there.over();

    const refused = refusalOf(bob.call('1002'));
    await here.until(() => here.rings, 'the call');
    here.decline('486 Busy Here');
    await there.until(() => there.rings, 'the call');
    bob.hangup();
    await there.until(() => !there.rings, 'the end of the ringing');
    assert.match(await refused, /was not answered/);
  },
);

onShared(
  'a phone that has registered at another node is no longer called from the one before',
  async (cluster, open) => {
    const alice = await open('alice', 'a');
    const placesAt = async () =>
      (await (await cluster.node('a').ask('GET', '/hookswitch/contacts')).json()) as object[];
    assert.is((await placesAt()).length, 1);
    alice.serveBy(cluster.node('b').sip);
    assert.is(await alice.register(), 200);
    await untilAsked(
      async () => (await placesAt()).length === 1,
      () => 'the phone is at both nodes',
    );
    const bob = await open('bob', 'a');
    await bob.call('1002');
    await alice.answered();
    bob.hangup();
    await alice.over();
    assert.is(alice.invites.length, 1);
  },
);

onShared(
  'a phone of another node is the target of a transfer, of a group and of a channel that a client places',
  async (cluster, open) => {
    const alice = await open('alice', 'b');
    const bob = await open('bob', 'a');
    const carol = await open('carol', 'a');
    await carol.call('1004');
    await bob.answered();
    assert.is(await bob.refer(`<sip:1002@${cluster.node('a').sip}>`), 202);
    await alice.answered();
    carol.audio.hum(400);
    await alice.audio.hears([400], [400, 700]);
    carol.hangup();
    await alice.over();
    await bob.over();

    // The phone of the other node asks for one itself.
    await carol.call('1002');
    await alice.answered();
    assert.is(await alice.refer(`<sip:1004@${cluster.node('b').sip}>`), 202);
    await bob.answered();
    carol.hangup();
    await bob.over();
    await alice.over();

    bob.answers = false;
    await carol.call('1003');
    await alice.answered();
    await bob.until(() => !bob.rings, 'the end of the ringing');
    carol.hangup();
    await alice.over();

    const app = await cluster.node('b').app('shop');
    const channel = await app.ok<Channel>('POST', '/channels?endpoint=PJSIP/alice&app=shop&channelId=a~mine');
    assert.is(channel.id, 'a~mine');
    await alice.answered();
    assert.is((await app.request('DELETE', '/channels/a~mine')).status, 204);
    await alice.over();
  },
);

/** A header that names the call of a phone, for another one to take over (RFC 3891). */
const replacing = (phone: Phone): string[] => [`Replaces: ${decodeURIComponent(phone.replaces())}`];

for (const over of ['UDP', 'TCP', 'WS'] as const)
  onShared(
    `a phone takes over calls of another node over ${over}: one of a Dial, and one that rings`,
    async (cluster, open) => {
      const alice = await open('alice', 'a');
      const bob = await open('bob', 'a');
      const carol = await open('carol', 'b', over);
      await bob.call('1002');
      await alice.answered();
      await carol.call('x', replacing(alice));
      await alice.over();
      bob.audio.hum(400);
      carol.audio.hum(700);
      await bob.audio.hears([700], [400, 700]);
      await carol.audio.hears([400], [400, 700]);
      assert.ok((await channelsOf(cluster)).every(({ id }) => id.startsWith('a~')));
      assert.is(await carol.offerAnew(), 200);
      bob.hangup();
      await carol.over();

      alice.answers = false;
      const called = bob.call('1002');
      await alice.until(() => alice.rings, 'the call');
      await carol.call('x', replacing(alice));
      await called;
      await alice.until(() => !alice.rings, 'the end of the ringing');
      await carol.audio.hears([400], [400, 700]);
      carol.hangup();
      await bob.over();
    },
  );

/** The parties of two calls of a phone hear each other, and its calls are over. Then one of them hangs up. */
async function joined(one: Phone, other: Phone, ...gone: Phone[]): Promise<void> {
  one.audio.hum(400);
  other.audio.hum(700);
  await Promise.all([one.audio.hears([700], [400, 700]), other.audio.hears([400], [400, 700])]);
  for (const phone of gone) await phone.over();
}

const joining = (asking: Phone): string => `<sip:x@127.0.0.1?Replaces=${asking.replaces()}>`;

onShared('a phone that has called others at two nodes joins them', async (_cluster, open) => {
  const alice = await open('alice', 'a');
  const bob = await open('bob', 'b');
  const carol = await open('carol', 'a');
  const asking = await open('carol', 'b', 'UDP', false);
  await carol.call('1002');
  await asking.call('1004');
  assert.is(await carol.refer(joining(asking)), 202);
  await joined(alice, bob, carol, asking);
  assert.equal(carol.notified.at(-1)?.fragment, 'SIP/2.0 200 OK');
  alice.hangup();
  await bob.over();
});

for (const first of ['target', 'transferee'] as const)
  onShared(
    `a called phone joins its caller with a party at another node; the ${first} ends it`,
    async (_cluster, open) => {
      const alice = await open('alice', 'a');
      const asking = await open('alice', 'b', 'UDP', false);
      const bob = await open('bob', 'b');
      const carol = await open('carol', 'a');
      await carol.call('1002');
      await asking.call('1004');
      // It hangs up when the transfer is accepted, as some phones do.
      assert.is(await alice.refer(joining(asking)), 202);
      alice.hangup();
      await joined(carol, bob, alice, asking);
      const [ends, other] = first === 'target' ? [bob, carol] : [carol, bob];
      ends.hangup();
      await other.over();
    },
  );

onShared('a phone that has called one, and was called at another node, joins them', async (_cluster, open) => {
  const alice = await open('alice', 'a', 'UDP', false);
  const asking = await open('alice', 'b');
  const bob = await open('bob', 'a');
  const carol = await open('carol', 'b');
  await alice.call('1004');
  await carol.call('1002');
  assert.is(await alice.refer(joining(asking)), 202);
  await joined(bob, carol, alice, asking);
  carol.hangup();
  await bob.over();
});

onShared(
  'the party of a Dial enters a bridge of an application at another node, and the application',
  async (cluster, open) => {
    const alice = await open('alice', 'a');
    const asking = await open('alice', 'b', 'UDP', false);
    const bob = await open('bob', 'b');
    const carol = await open('carol', 'a');
    const app = await cluster.node('b').app('shop');
    // A command about the application has node a ask where it is connected.
    await cluster.node('a').client().ok('PUT', '/applications/shop/eventFilter', {});
    const call = async (phone: Phone): Promise<string> => {
      const started = app.waitFor('StasisStart', ({ channel }) => channel.name.startsWith(`PJSIP/${phone.number}`));
      const called = phone.call('1001');
      const { id } = (await started).channel;
      await app.ok('POST', `/channels/${id}/answer`);
      await called;
      return id;
    };
    const ids = [await call(carol), await call(alice)];
    await app.ok('POST', '/bridges?bridgeId=a~first');
    await app.ok('POST', `/bridges/a~first/addChannel?channel=${ids.join()}`);
    await asking.call('1004');
    const entered = app.waitFor('StasisStart', ({ channel }) => channel.name.startsWith('PJSIP/bob'));
    assert.is(await alice.refer(joining(asking)), 202);
    const { channel } = await entered;
    await joined(carol, bob, alice, asking);
    await app.ok('DELETE', '/bridges/a~first');
    for (const id of [ids[0], channel.id]) await app.ok('DELETE', `/channels/${id}`);
    await Promise.all([bob.over(), carol.over()]);
  },
);

onShared(
  'a REFER outside a call of another node transfers it, and is told at the node where it came',
  async (cluster, open) => {
    const alice = await open('alice', 'b');
    const bob = await open('bob', 'a');
    const carol = await open('carol', 'a');
    await carol.call('1002');
    await alice.answered();
    const refer = [`Refer-To: <sip:1004@${cluster.node('b').sip}>`, `Target-Dialog: ${alice.targetDialog()}`];
    assert.is((await alice.outside('REFER', 'alice', refer)).status, 202);
    await bob.answered();
    await alice.until(() => alice.notified.at(-1)?.fragment === 'SIP/2.0 200 OK', 'the NOTIFY of the end');
    await alice.over();
    const unknown = ['a~1', 'b~1'].map((tag) => `Target-Dialog: 1;local-tag=${tag};remote-tag=2`);
    for (const line of unknown) assert.is((await alice.outside('REFER', 'alice', [refer[0]!, line])).status, 481);
    carol.hangup();
    await bob.over();
  },
);

onShared('a call of another node is taken over only where it might be at its own node', async (cluster, open) => {
  const alice = await open('alice', 'a');
  const bob = await open('bob', 'a');
  const carol = await open('carol', 'b');
  const dave = await open('dave', 'b');
  await bob.call('1002');
  await alice.answered();
  assert.match(await refusalOf(dave.call('x', replacing(alice))), /403 Forbidden/);
  for (const tag of ['a~1', 'b~1', 'c~1', '1'])
    assert.match(await refusalOf(carol.call('x', [`Replaces: 1;to-tag=${tag};from-tag=2`])), /481 /);
  const mallory = await Phone.open('mallory', cluster.node('b').sip);
  try {
    assert.match(await refusalOf(mallory.call('x', replacing(alice))), /401 Unauthorized/);
  } finally {
    await mallory.close();
  }
  cluster.node('a').child.signal('SIGSTOP');
  try {
    assert.match(await refusalOf(carol.call('x', replacing(alice))), /503 Service Unavailable/);
  } finally {
    cluster.node('a').child.signal('SIGCONT');
  }
  await cluster.whole();
  bob.hangup();
  await alice.over();
});

onShared('strangers reach no other node by its mark, and no call by guessing', async (cluster, open) => {
  const mallory = await Phone.open('mallory', cluster.node('b').sip);
  try {
    // Outside calls the mark means nothing.
    const options = await mallory.outside('OPTIONS', 'a~', []);
    assert.is(options.status, 200);
    assert.match(await refusalOf(mallory.call('a~')), /401 Unauthorized 1 INVITE/);
    // In calls it leads to the node, which knows of none.
    assert.is(await options.inside('BYE', []), 481);
    assert.is((await mallory.outside('OPTIONS', 'nobody~', [])).status, 200);
  } finally {
    await mallory.close();
  }
  const alice = await open('alice', 'b');
  const bob = await open('bob', 'a');
  await bob.call('1002');
  await alice.answered();
  bob.hangup();
  await alice.over();
});

onShared('a node that hangs is not waited for longer than it may take, and is named', async (cluster, open) => {
  const alice = await open('alice', 'b');
  const bob = await open('bob', 'a');
  await bob.call('1002');
  await alice.answered();
  cluster.node('a').child.signal('SIGSTOP');
  try {
    assert.is(await alice.request('INFO', []), 503);
  } finally {
    cluster.node('a').child.signal('SIGCONT');
  }
  await cluster.whole();
  bob.hangup();
  await alice.over();
  cluster.node('b').child.signal('SIGSTOP');
  try {
    assert.match(await refusalOf(bob.call('1002')), /503 Service Unavailable/);
    assert.match(cluster.node('a').child.written, /nodes did not say whether they reach an endpoint/);
  } finally {
    cluster.node('b').child.signal('SIGCONT');
  }
  await cluster.whole();
});

onShared('a phone that watches an extension sees the calls of its phone at another node', async (_cluster, open) => {
  const alice = await open('alice', 'a');
  const bob = await open('bob', 'b');
  const carol = await open('carol', 'a');
  assert.is((await bob.outside('SUBSCRIBE', '1002', ['Event: dialog', 'Expires: 300'])).status, 200);
  const shows = (state: string): Promise<void> =>
    bob.until(() => bob.documents.at(-1)?.includes(`<state>${state}</state>`) === true, `a NOTIFY: ${state}`);
  await shows('terminated');
  alice.answers = false;
  const called = carol.call('1002');
  await alice.until(() => alice.rings, 'the call');
  await shows('early');
  alice.take();
  await called;
  await shows('confirmed');
  carol.hangup();
  await alice.over();
  await shows('terminated');
});

onShared('a global variable is the same on all nodes', async (cluster) => {
  const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
  const valueAt = async (node: AriClient) =>
    (await node.ok<{ value: string }>('GET', '/asterisk/variable?variable=DAY')).value;
  const until = (node: AriClient, wanted: string) =>
    untilAsked(
      async () => (await valueAt(node)) === wanted,
      () => `the variable is not '${wanted}'`,
    );
  await a.request('POST', '/asterisk/variable?variable=DAY&value=open');
  await until(b, 'open');
  await b.request('POST', '/asterisk/variable?variable=DAY&value=closed');
  await until(a, 'closed');
  const channel = await a.ok<{ id: string }>(
    'POST',
    '/channels?endpoint=Local/1000@default&extension=1000&context=default',
  );
  assert.equal(await b.ok('GET', `/channels/${channel.id}/variable?variable=DAY`), { value: 'closed' });
});

onShared('messages in a mailbox light the lamp of a phone at another node', async (cluster, open) => {
  const bob = await open('bob', 'b');
  const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
  assert.is((await bob.outside('SUBSCRIBE', 'bob', ['Event: message-summary', 'Expires: 300'])).status, 200);
  const waits = (figures: string): Promise<void> =>
    bob.until(() => bob.documents.at(-1)?.includes(`Voice-Message: ${figures} `) === true, `a NOTIFY: ${figures}`);
  await waits('0/0');
  await a.ok('PUT', '/mailboxes/bob?oldMessages=1&newMessages=2');
  await waits('2/1');
  assert.equal(await b.ok('GET', '/mailboxes/bob'), { name: 'bob', old_messages: 1, new_messages: 2 });
  assert.is((await b.request('DELETE', '/mailboxes/bob')).status, 204);
  await waits('0/0');
  await untilAsked(
    async () => (await a.request('GET', '/mailboxes/bob')).status === 404,
    () => 'the mailbox is still at the other node',
  );
});

onShared('the state of a device is that of all nodes, and each change is one event', async (cluster, open) => {
  const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
  const app = await cluster.node('b').app('lamps');
  const sources = ['PJSIP/alice', 'Stasis:night'].map((name) => `deviceState:${encodeURIComponent(name)}`);
  await app.ok('POST', `/applications/lamps/subscription?eventSource=${sources.join()}`);
  const known = app.waitFor('DeviceStateChanged', ({ device_state: { state } }) => state === 'NOT_INUSE');
  const alice = await open('alice', 'a');
  const bob = await open('bob', 'b');
  await known;
  const isAt = (client: typeof a, name: string, state: string): Promise<void> =>
    untilAsked(
      async () => (await client.ok<DeviceState>('GET', `/deviceStates/${encodeURIComponent(name)}`)).state === state,
      () => `${name} is not ${state}`,
    );
  for (const client of [a, b]) await isAt(client, 'PJSIP/alice', 'NOT_INUSE');
  const up = app.waitFor('DeviceStateChanged', ({ device_state: { state } }) => state === 'INUSE');
  await bob.call('1002');
  await alice.answered();
  await up;
  for (const client of [a, b]) await isAt(client, 'PJSIP/alice', 'INUSE');
  bob.hangup();
  await alice.over();
  for (const client of [a, b]) await isAt(client, 'PJSIP/alice', 'NOT_INUSE');

  await a.ok('PUT', '/deviceStates/Stasis:night?deviceState=BUSY');
  for (const client of [a, b]) await isAt(client, 'Stasis:night', 'BUSY');
  await b.ok('DELETE', '/deviceStates/Stasis:night');
  for (const client of [a, b]) await isAt(client, 'Stasis:night', 'UNKNOWN');
  const stateOf = (name: string): string[] =>
    app.events.flatMap((event) =>
      event.type === 'DeviceStateChanged' && event.device_state.name === name ? [event.device_state.state] : [],
    );
  const told = async (name: string, states: string[]): Promise<void> => {
    await untilAsked(
      async () => stateOf(name).length >= states.length,
      () => `too few events about ${name}: ${stateOf(name)}`,
    );
    assert.equal(stateOf(name), states);
  };
  await told('Stasis:night', ['BUSY', 'UNKNOWN']);
  await told('PJSIP/alice', ['NOT_INUSE', 'INUSE', 'NOT_INUSE']);
});

onShared('an endpoint has no more calls at all nodes than it may have', async (cluster, open) => {
  const here = await open('dave', 'a');
  const there = await open('dave', 'b');
  await here.call('1000');
  await untilAsked(
    async () =>
      (await cluster.node('b').client().ok<DeviceState>('GET', '/deviceStates/PJSIP%2Fdave')).state === 'INUSE',
    () => 'the other node does not know the call',
  );
  assert.match(await refusalOf(there.call('1000')), /486 Busy Here/);
  here.hangup();
  await untilAsked(
    async () => (await refusalOf(there.call('1000'))) === 'answered',
    () => 'the endpoint has no call, and may not have one',
  );
  there.hangup();
});

phones.run();
