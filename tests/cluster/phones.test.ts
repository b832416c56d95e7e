import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readFrame } from '../../src/cluster/frame.ts';
import { upWait } from '../../src/cluster/link.ts';
import { answerPhones, createPhones, type PhonesHere } from '../../src/cluster/phones.ts';
import type { CallSeen } from '../../src/models/call-elsewhere.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const subjectOf = (name: string, epoch: string): string => `${name}.${epoch}`;

/** Node a, which knows others by their processes. */
function nodeA(known: Record<string, { epoch?: string; state?: 'away' | 'member' }>, most = 10) {
  const hub = new ClusterHub();
  const present: Record<string, string> = {};
  const counts = { hits: 0, asked: 0 };
  const list = Object.entries(known).map(([name, { epoch, state = 'member' as const }]) => ({
    ...{ name, epoch, state, beat: undefined, heardAt: undefined },
  }));
  const phones = createPhones({
    ...{ name: 'a', link: hub.link(), subject: 'phones', subjectOf, timeoutMs: 100, most, hit: () => counts.hits++ },
    members: { list: () => list, find: (name) => list.find((each) => each.name === name) },
    async epochOf(node) {
      counts.asked++;
      return present[node];
    },
  });
  return { hub, phones, present, counts };
}

/** A process of another node. */
function serve(hub: ClusterHub, name: string, epoch: string, here: Partial<PhonesHere> = {}): void {
  const all: PhonesHere = {
    ...{ isOnline: () => false, places: () => [], send: async () => undefined, take() {}, moved() {} },
    ...{ call: () => undefined, endCall() {} },
    ...here,
  };
  hub.link().serve(subjectOf(name, epoch), async (data) => (await answerPhones(readFrame(data)!, all, silentLog))!);
}

const phones = suite('phones of other nodes');

phones('all nodes but those away are asked where a phone is, and those that are silent are named', async () => {
  const node = nodeA({ b: { epoch: '1' }, c: { epoch: '1' }, d: { epoch: '1' }, e: { epoch: '1', state: 'away' } });
  const { hub } = node;
  const asked: object[] = [];
  serve(hub, 'b', '1', {
    places(about) {
      asked.push(about);
      return [{ uri: 'b' }];
    },
  });
  serve(hub, 'c', '1', { isOnline: (endpoint) => endpoint === 'PJSIP/alice' });
  hub.silent.add(subjectOf('d', '1'));
  const found: object[][] = [];
  assert.equal(await node.phones.places({ endpoint: 'alice', number: '7' }, (places) => void found.push(places)), [
    'd',
  ]);
  assert.equal([found, asked], [[[{ uri: 'b' }]], [{ node: 'a', endpoint: 'alice', number: '7' }]]);
  assert.is(await node.phones.nodeOf('PJSIP/alice'), 'c');
  assert.is(await node.phones.nodeOf('PJSIP/bob'), undefined);
});

phones('a message reaches the process that a node has now, also one that was not heard yet', async () => {
  const { hub, phones: all, present, counts } = nodeA({ b: { epoch: '1' }, c: {} });
  const sent: unknown[] = [];
  const send: PhonesHere['send'] = async (peer, bytes) => {
    sent.push([peer, String(Buffer.from(bytes))]);
    return undefined;
  };
  const carry = (node: string) => all.carry('send', { node, peer: { port: 5060 } }, Buffer.from('BYE'));
  assert.is(await carry('b'), 'it is not connected to NATS');
  present['b'] = '2';
  serve(hub, 'b', '2', { send });
  assert.is(await carry('b'), undefined);
  present['c'] = '1';
  serve(hub, 'c', '1', { send });
  assert.is(await carry('c'), undefined);
  assert.equal(sent, [
    [{ port: 5060 }, 'BYE'],
    [{ port: 5060 }, 'BYE'],
  ]);
  const { asked } = counts;
  hub.silent.add(subjectOf('b', '1'));
  assert.is(await carry('b'), 'it does not answer in time');
  assert.is(counts.asked, asked, 'a node that is silent is not asked again');
});

phones('what the other node could not do is told, and its faults stay there', async () => {
  const { hub, phones: all } = nodeA({ b: { epoch: '1' } });
  serve(hub, 'b', '1', {
    send: async () => 'connect',
    take() {
      throw new Error('a fault');
    },
  });
  const to = { node: 'b', peer: {} };
  assert.is(await all.carry('send', to, Buffer.from('x')), 'connect');
  assert.is(await all.carry('take', to, Buffer.from('x')), 'it failed there');
});

phones('no more messages are on their way than may be', async () => {
  const { hub, phones: all, counts } = nodeA({ b: { epoch: '1' } }, 1);
  let done = (): void => {};
  serve(hub, 'b', '1', { send: () => new Promise((resolve) => (done = () => resolve(undefined))) });
  const to = { node: 'b', peer: {} };
  const first = all.carry('send', to, Buffer.from('x'));
  assert.match((await all.carry('send', to, Buffer.from('x'))) ?? '', /more than 1 messages .*cluster\.requests/);
  assert.is(counts.hits, 1);
  done();
  assert.is(await first, undefined);
});

phones('a link is waited for until it is up, and not longer than it may be', async () => {
  const clock = new ManualClock();
  const link = new ClusterHub().link();
  const wait = upWait(link, clock);
  await wait(1_000);
  link.become('lost');
  const [one, other] = [wait(1_000), wait(5_000)];
  clock.advance(1_000);
  await one;
  link.become('up');
  await other;
});

phones('the call that a transfer names is found at the node that has it, and ended there', async () => {
  const node = nodeA({ b: { epoch: '1' }, c: { epoch: '1' }, d: { epoch: '1' } });
  const { hub } = node;
  const named = { endpoint: 'dave', protocolId: 'call-1', localTag: '1', remoteTag: '2' };
  const seen = { channel: { id: 'c~1' }, others: [] } as unknown as CallSeen;
  const ended: string[] = [];
  const asked: object[] = [];
  serve(hub, 'b', '1');
  serve(hub, 'c', '1', {
    call(about) {
      asked.push(about);
      return about.protocolId === 'call-1' ? seen : undefined;
    },
    endCall: (channel) => void ended.push(channel),
  });
  hub.silent.add(subjectOf('d', '1'));
  const call = await node.phones.call(named);
  assert.equal([call, asked], [{ ...seen, node: 'c' }, [named]]);
  await node.phones.endCall(call!);
  assert.equal(ended, ['c~1']);
  assert.is(await node.phones.call({ ...named, protocolId: 'call-2' }), undefined);
  await node.phones.endCall({ ...call!, node: 'd' });
  await node.phones.endCall({ ...call!, node: 'unknown' });
});

phones.run();
