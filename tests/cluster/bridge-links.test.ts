import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBridgeOperations } from '../../src/actors/bridge-operations.ts';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import type { Dump } from '../../src/actors/dumps.ts';
import { type RestoreOptions, restoreSnapshot } from '../../src/actors/snapshot.ts';
import { createBridgeLinks } from '../../src/cluster/bridge-links.ts';
import type { LinkRequest } from '../../src/models/bridge-link.ts';
import { AriError } from '../../src/models/errors.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { createRandom } from '../../src/virtual/random.ts';
import { createCallControl, FakeLeg, FakeMedia, settled } from '../support/call-control.ts';
import { refusalOf } from '../support/refusal.ts';
import { takeSnapshot } from '../support/snapshots.ts';

/** Bridges with members at other nodes: call control of several nodes, and messages between them that may be lost. */
const links = suite('links of bridges');

const awayAfterMs = 9_000;
const contexts = {
  default: { s: ['Wait(60)'], app: ['Stasis(app)', 'Wait(60)'], 300: ['Dial(Fake/carol)'] },
};

/** What happens to a message: its request or its answer is lost, or it comes twice. */
type Fate = 'request' | 'answer' | 'twice' | undefined;

/** What all nodes share. */
type Net = {
  fate(request: LinkRequest): Fate;
  readonly nodes: Map<string, Node>;
  /** Those that answer nothing. */
  readonly dead: Set<string>;
  /** Whether audio comes in. */
  audio: boolean;
  readonly asked: string[];
};
type Node = ReturnType<typeof createNode>;

type NodeSettings = { most?: number; members?: number; from?: Dump; rejoinMs?: number };

function createNode(net: Net, name: string, limits: NodeSettings = {}) {
  const control = createCallControl({ contexts, limits: { bridges: 100, members: limits.members ?? 100 } });
  const legOf: RestoreOptions['legOf'] = ({ id }, report) => new FakeLeg(id, report);
  if (limits.from) restoreSnapshot(control.owners, limits.from, { legOf });
  const { events } = control.connect('app');
  const { clock, bridges, channels, channelFacts, playbacks, recordings, views, log } = control;
  const audios = new Map<string, () => void>();
  const legs = new Map<string, FakeLeg>();
  const counts = { links: 0, hits: 0 };
  let ports = 0;
  let calls = 0;

  const ask = async (node: string, request: LinkRequest) => {
    const lost = (): never => {
      throw new AriError('nodeUnavailable', { node, why: 'it does not answer in time' });
    };
    net.asked.push(request.do);
    const target = net.nodes.get(node);
    if (!target || net.dead.has(node) || net.dead.has(name)) return lost();
    const fate = net.fate(request);
    if (fate === 'request') return lost();
    const sent = JSON.stringify(request);
    if (fate === 'twice') await target.links.answer(JSON.parse(sent));
    const answer = JSON.stringify(await target.links.answer(JSON.parse(sent)));
    return fate === 'answer' ? lost() : JSON.parse(answer);
  };
  const own = createBridgeLinks({
    ...{
      name,
      clock,
      log,
      tables: undefined,
      ask,
      bridges,
      views,
      channels,
      channelFacts,
      awayAfterMs,
      format: 'slin16',
      secure: false,
    },
    ...{
      rejoinMs: limits.rejoinMs ?? 60_000,
      most: limits.most ?? 10,
      hit: () => counts.hits++,
      newId: () => `${name}-${++counts.links}`,
    },
    async openAudio(id, _options, lost) {
      let packets = 0;
      audios.set(id, lost);
      return {
        place: { address: '127.0.0.1', port: 4_000 + ++ports },
        session: new FakeMedia(`link-${id}`, () => {}),
        start() {},
        received: async () => (net.audio ? ++packets : packets),
        close: () => void audios.delete(id),
      };
    },
    async nodeOf(id) {
      const node = id.split('~')[0]!;
      if (net.nodes.has(node)) return node === name ? undefined : node;
      return [...net.nodes.values()].find(({ control: { channels } }) => channels.findByIdOrName(id))?.name;
    },
    isAt: async (id, node) => net.nodes.get(node)?.control.channels.findByIdOrName(id) !== undefined,
  });
  const operations = createBridgeOperations({
    ...{ bridges, channels, playbacks, recordings, clock, beyond: own, variablesLimit: 10 },
    ids: { mark: '', channel: () => '', uuid: () => '', hex: () => '', secret: () => '' },
    policy: { recordsInBridges: true },
  });
  const detached: (string | undefined)[] = [];
  own.attach({
    ...operations,
    detach(id, part, app) {
      detached.push(id, part.id, app);
      return channels.find(id)!;
    },
  });
  if (limits.from) own.resume();
  return {
    ...{ name, control, events, operations, links: own, audios, counts, clock, legs, detached },
    /** A channel in the application. */
    async caller(caller?: { name: string; number: string }): Promise<string> {
      const id = `${name}~${++calls}`;
      legs.set(id, control.incoming(id, 'app', 'default', caller && { caller }));
      await settled();
      control.operations.answer(id);
      return id;
    },
    members: (bridge: string): string[] => operations.get(bridge).channels,
    /** The members at this node of a bridge of another one. */
    part: (bridge: string): string[] => [...(bridges.findPart(bridge)?.stays.keys() ?? [])],
    said: (bridge: string): string[] => events.flatMap((event) => brief(event, bridge)),
  };
}

/** An event of a bridge: its type, the channel, and the members. */
function brief(event: AriEvent, bridge: string): string[] {
  if (!('bridge' in event) || event.bridge?.id !== bridge) return [];
  const channel = 'channel' in event ? event.channel?.id : '';
  return [`${event.type} ${channel} [${event.bridge.channels.join()}]`];
}

function createNodes(...names: string[]) {
  const net: Net = { fate: () => undefined, nodes: new Map(), dead: new Set(), audio: false, asked: [] };
  for (const name of names) net.nodes.set(name, createNode(net, name));
  const of = (name: string): Node => net.nodes.get(name)!;
  const add = (bridge: string, ...channel: string[]) =>
    Promise.resolve(of(bridge.split('~')[0]!).operations.addChannel(bridge, { channel }));
  const remove = (bridge: string, ...channel: string[]) =>
    Promise.resolve(of(bridge.split('~')[0]!).operations.removeChannel(bridge, { channel }));
  /** Time goes on at all nodes. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      for (const { clock } of net.nodes.values()) clock.advance(1_000);
      for (let turn = 0; turn < 5; turn++) await settled();
    }
  };
  return { net, of, add, remove, pass };
}

/** A bridge of node a, with one member at each of the nodes. */
async function meeting(limits: NodeSettings = {}) {
  const world = createNodes('a', 'b', 'c');
  const { of, add, net } = world;
  net.nodes.set('a', createNode(net, 'a', limits));
  const callers = [await of('a').caller(), await of('b').caller(), await of('c').caller()] as const;
  of('a').operations.create({ bridgeId: 'a~r' });
  await add('a~r', ...callers);
  return { ...world, callers };
}

links(
  'members of other nodes are members, over one link for each node, and events come from the node of the bridge',
  async () => {
    const { of, add, remove, callers, net } = await meeting();
    const more = await of('b').caller();
    await add('a~r', more);
    const [a, b, c] = [of('a'), of('b'), of('c')];
    assert.equal(a.members('a~r'), [...callers, more]);
    assert.equal([b.part('a~r'), c.part('a~r')], [[callers[1], more], [callers[2]]]);
    assert.equal(
      [a, b, c].map((node) => node.links.size),
      [2, 1, 1],
    );
    assert.equal([...a.control.meeting.mix('a~r').sessions.keys()], ['link-a-1', 'link-a-2', callers[0]]);
    assert.equal([...b.control.meeting.mix('a~r').sessions.keys()], ['link-a-1', callers[1], more]);
    assert.equal([b.operations.list(), b.said('a~r')], [[], []]);
    assert.equal(a.control.applications.get('app').bridge_ids, ['a~r']);

    await remove('a~r', callers[1]);
    assert.equal(b.part('a~r'), [more]);
    assert.is(b.control.bridges.bridgeOf(callers[1]), undefined);
    b.control.operations.hangup(more, {});
    await settled();
    assert.equal(a.members('a~r'), [callers[0], callers[2]]);
    a.operations.destroy('a~r');
    await settled();
    const [one, two, three] = callers;
    assert.equal(
      a.said('a~r'),
      [
        'BridgeCreated  []',
        `ChannelEnteredBridge ${one} [${one}]`,
        `ChannelEnteredBridge ${two} [${one},${two}]`,
        `ChannelEnteredBridge ${three} [${one},${two},${three}]`,
        `ChannelEnteredBridge ${more} [${one},${two},${three},${more}]`,
        `ChannelLeftBridge ${two} [${one},${three},${more}]`,
        `ChannelLeftBridge ${more} [${one},${three}]`,
        `ChannelLeftBridge ${one} [${three}]`,
        `ChannelLeftBridge ${three} []`,
        'BridgeDestroyed  []',
      ].slice(1),
    );
    assert.equal(
      [a, b, c].map((node) => [node.links.size, node.audios.size]),
      [
        [0, 0],
        [0, 0],
        [0, 0],
      ],
    );
    assert.equal(c.said('a~r'), []);
    assert.is(net.asked.filter((each) => each === 'open').length, 2);
  },
);

links('all channels are checked before one enters', async () => {
  const { of, add } = await meeting();
  const [here, there] = [await of('a').caller(), await of('b').caller()];
  const before = of('a').members('a~r');
  for (const wanted of ['c~none', 'a~none', 'nowhere~1'])
    assert.equal(await refusalOf(() => add('a~r', here, there, wanted)), { status: 400, message: 'Channel not found' });
  of('c').control.incoming('c~ringing');
  await settled();
  assert.is((await refusalOf(() => add('a~r', here, there, 'c~ringing'))).status, 422);
  assert.equal(of('a').members('a~r'), before);
  assert.equal(of('b').part('a~r').length, 1);
});

links('a party of another call is taken out of it, and enters in place of a member', async () => {
  const { of, callers, net } = await meeting();
  const bridge = of('a').control.bridges.find('a~r')!;
  of('c').control.incoming('c~talks');
  await settled();
  await of('a').operations.bring(bridge, 'c~talks', 'app');
  assert.equal(of('a').members('a~r'), [...callers, 'c~talks']);
  assert.equal(of('c').detached, ['c~talks', 'a~r', 'app']);
  const here = await of('a').caller();
  await of('a').operations.bring(bridge, here, undefined);
  assert.equal(of('a').members('a~r'), [...callers, 'c~talks', here]);
  net.dead.add('b');
  const there = await of('b').caller();
  assert.is((await refusalOf(() => of('a').operations.bring(bridge, there, undefined))).status, 503);
});

links('a report that is lost is found when the members are compared', async () => {
  const { of, net, pass, callers } = await meeting();
  net.fate = ({ do: what }) => (what === 'left' ? 'request' : undefined);
  of('b').control.operations.hangup(callers[1], {});
  await settled();
  assert.equal(of('a').members('a~r'), [...callers]);
  await pass(4_000);
  assert.equal(of('a').members('a~r'), [callers[0], callers[2]]);
  assert.is(
    of('a')
      .said('a~r')
      .filter((event) => event.startsWith('ChannelLeftBridge')).length,
    1,
  );
});

links('a member whose entering was not answered is found, or leaves when it was forgotten', async () => {
  const { of, net, pass, add, callers } = await meeting();
  const [lost, next] = [await of('b').caller(), await of('b').caller()];
  net.fate = ({ do: what }) => (what === 'enter' ? 'answer' : undefined);
  assert.is((await refusalOf(() => add('a~r', lost))).status, 503);
  net.fate = () => undefined;
  await pass(4_000);
  assert.equal(of('a').members('a~r'), [...callers, lost]);

  const forgotten = await of('b').caller();
  net.fate = ({ do: what }) => (what === 'enter' ? 'answer' : undefined);
  assert.is((await refusalOf(() => add('a~r', forgotten))).status, 503);
  net.fate = () => undefined;
  await add('a~r', next);
  await pass(10_000);
  assert.equal(of('a').members('a~r'), [...callers, lost, next]);
  assert.equal(of('b').part('a~r'), [callers[1], lost, next]);
});

links('a node is lost when neither answers nor audio come; its members leave once', async () => {
  const { of, net, pass, callers } = await meeting();
  net.dead.add('b');
  net.audio = true;
  await pass(30_000);
  assert.equal(of('a').members('a~r'), [...callers]);
  net.audio = false;
  await pass(15_000);
  const [one, two, three] = callers;
  assert.equal(of('a').members('a~r'), [one, three]);
  assert.equal(of('a').said('a~r').slice(3), [`ChannelLeftBridge ${two} [${one},${three}]`]);
  // It is there, and has lost the node of the bridge: its members leave, and it tells so.
  assert.equal(of('b').said('a~r'), [`ChannelLeftBridge ${two} []`]);
  assert.equal(of('b').part('a~r'), []);
  assert.ok(of('b').control.channels.find(two));
  assert.equal([of('a').links.size, of('b').links.size, of('c').links.size], [1, 0, 1]);
});

links('a node that has started again does not know the link: its members leave at once', async () => {
  const { of, net, pass, callers } = await meeting();
  net.nodes.set('b', createNode(net, 'b'));
  await pass(4_000);
  assert.equal(of('a').members('a~r'), [callers[0], callers[2]]);
  const again = await of('b').caller();
  await of('a').operations.addChannel('a~r', { channel: [again] });
  assert.equal(of('b').part('a~r'), [again]);
});

links('a server that goes on with saved calls has the members of its own node, and asks for the others', async () => {
  const { of, net, pass, callers } = await meeting();
  const [one, two, three] = callers;
  for (const name of ['a', 'b']) {
    net.nodes.set(name, createNode(net, name, { from: takeSnapshot(of(name).control.owners) }));
  }
  await settled();
  assert.equal(of('a').members('a~r'), [one]);
  assert.equal([of('b').part('a~r'), of('b').control.bridges.bridgeOf(two)], [[], undefined]);
  assert.is(snapshotOf(of('b').control.channels.find(two)!).context.bridgeId, undefined);
  await pass(4_000);
  assert.equal(of('a').members('a~r'), [one, two, three]);
  assert.equal([of('b').part('a~r'), of('c').part('a~r')], [[two], [three]]);
  // The node of the bridge tells applications.
  assert.equal(of('a').said('a~r'), [
    `ChannelEnteredBridge ${two} [${one},${two}]`,
    `ChannelEnteredBridge ${three} [${one},${two},${three}]`,
  ]);
  assert.equal([of('b').said('a~r'), of('c').said('a~r')], [[], []]);
});

links('in a holding bridge of several nodes all hear one announcer, and music waits at each node', async () => {
  const { of, net } = createNodes('a', 'b', 'c');
  of('a').operations.create({ bridgeId: 'a~h', type: 'holding' });
  const callers = [await of('a').caller(), await of('b').caller(), await of('c').caller()] as const;
  const [, two] = callers;
  const add = async (role: string, ...channel: string[]) => of('a').operations.addChannel('a~h', { channel, role });
  await add('holding_participant', ...callers);
  assert.equal(of('a').members('a~h'), [...callers]);
  /** Links from which the members of a node hear, as its mix has them. */
  const sources = (node: string) =>
    [...of(node).control.meeting.mix('a~h').sessions]
      .filter(([id, { role }]) => id.startsWith('link-') && role === 'announcer')
      .map(([id]) => id);
  // What the bridge plays comes to all.
  assert.equal([sources('a'), sources('b'), sources('c')], [[], ['link-a-1'], ['link-a-2']]);
  for (const node of ['a', 'b', 'c']) assert.equal(of(node).control.meeting.mix('a~h').kind, 'holding');

  const announcer = await of('b').caller();
  await add('announcer', announcer);
  assert.equal([sources('a'), sources('b'), sources('c')], [['link-a-1'], [], ['link-a-2']]);
  // There is one at a time.
  const second = await of('c').caller();
  await add('announcer', second);
  await settled();
  assert.equal(of('a').members('a~h'), [...callers, announcer]);
  assert.equal(of('c').part('a~h'), [callers[2]]);

  of('b').control.operations.hangup(announcer, {});
  await settled();
  assert.equal([sources('a'), sources('b'), sources('c')], [[], ['link-a-1'], ['link-a-2']]);
  const here = await of('a').caller();
  await add('announcer', here);
  assert.equal([sources('a'), sources('b'), sources('c')], [[], ['link-a-1'], ['link-a-2']]);

  // A node of an older version would mix them all.
  const answer = net.nodes.get('c')!.links.answer;
  net.nodes.get('c')!.links.answer = async (request) => {
    const { type: _type, ...old } = await answer(request);
    return old;
  };
  of('a').operations.create({ bridgeId: 'a~i', type: 'holding' });
  assert.match(
    (await refusalOf(async () => of('a').operations.addChannel('a~i', { channel: [second] }))).message,
    /version/,
  );
  assert.is(of('b').control.bridges.bridgeOf(two)?.id, 'a~h');
});

links('members of several nodes meet: one call, connected lines and peers, at each node its own call', async () => {
  const { of, add, net, pass } = createNodes('a', 'b', 'c');
  const [a, b] = [of('a'), of('b')];
  const two = await b.caller({ name: 'Bob', number: '200' });
  a.clock.advance(1_000);
  const one = await a.caller({ name: 'Ann', number: '100' });
  const at = (node: string, id: string) => snapshotOf(of(node).control.channels.get(id)).context;
  a.operations.create({ bridgeId: 'a~r' });
  await add('a~r', one, two);
  await settled();
  const called = (node: string, id: string) => {
    const { linked, connected, variables } = at(node, id);
    const { BRIDGEPEER: peer } = variables;
    return { call: linked.id, own: linked.own ?? linked.id, connected: `${connected.name} ${connected.number}`, peer };
  };
  const name = (node: string, id: string) => of(node).control.channels.get(id).name;
  assert.equal(called('a', one), { call: two, own: one, connected: 'Bob 200', peer: name('b', two) });
  assert.equal(called('b', two), { call: two, own: two, connected: 'Ann 100', peer: name('a', one) });

  // Messages are lost for a while. Two of one node have one call there.
  net.fate = ({ do: what }) => (what === 'meet' ? 'request' : undefined);
  const [three, four] = [await of('c').caller(), await of('c').caller()];
  await add('a~r', three, four);
  await settled();
  assert.is(called('c', three).call, three);
  net.fate = () => undefined;
  await pass(4_000);
  const peers = [name('a', one), name('b', two), name('c', four)].join();
  assert.equal(called('c', three), { call: two, own: three, connected: ' ', peer: peers });
  assert.equal([called('c', four).call, called('c', four).own], [two, three]);
  assert.is(called('b', two).peer, [name('a', one), name('c', three), name('c', four)].join());
});

links('who is held by the only other hears music, also at another node, until a third comes', async () => {
  const { of, add, net, pass } = createNodes('a', 'b', 'c');
  const [one, two] = [await of('a').caller(), await of('b').caller()];
  of('a').operations.create({ bridgeId: 'a~r' });
  await add('a~r', one, two);
  const leg = (id: string) => of(id[0]!).legs.get(id)!;
  const hold = async (id: string): Promise<void> => {
    leg(id).report({ type: 'leg.held', musicClass: 'jazz' });
    for (let turn = 0; turn < 5; turn++) await settled();
  };
  const unhold = async (id: string): Promise<void> => {
    leg(id).report({ type: 'leg.unheld' });
    for (let turn = 0; turn < 5; turn++) await settled();
  };
  const heard = (id: string): string[] => {
    const { calls } = leg(id).media;
    return calls.splice(0).filter((call) => /music/.test(call));
  };
  await hold(one);
  assert.equal([heard(one), heard(two)], [[], ['music jazz']], 'of the bridge of its node');
  await unhold(one);
  assert.equal([heard(one), heard(two)], [[], ['music off']]);
  await hold(two);
  assert.equal([heard(one), heard(two)], [['music jazz'], []], 'of a bridge of another node');

  // Messages are lost for a while.
  net.fate = ({ do: what }) => (what === 'held' || what === 'meet' ? 'request' : undefined);
  await unhold(two);
  await hold(one);
  assert.equal([heard(one), heard(two)], [[], []]);
  net.fate = () => undefined;
  await pass(4_000);
  assert.equal([heard(one), heard(two)], [['music off'], ['music jazz']]);

  const three = await of('c').caller();
  await add('a~r', three);
  for (let turn = 0; turn < 5; turn++) await settled();
  assert.equal([heard(one), heard(two)], [[], ['music off']], 'three talk');
  await hold(three);
  assert.equal([heard(one), heard(two), heard(three)], [[], [], []]);

  // Both are at other nodes than the bridge.
  await Promise.resolve(of('a').operations.removeChannel('a~r', { channel: [one] }));
  await hold(three);
  assert.equal([heard(two), heard(three)], [['music jazz'], []]);
});

/** Two channels in a bridge of node a, which asks for transfers; one is at node b. */
async function pair(home: 'a' | 'b') {
  const world = createNodes('a', 'b');
  const { of, add } = world;
  const [one, two] = [await of('a').caller({ name: 'Ann', number: '100' }), await of('b').caller()];
  of(home).operations.create({ bridgeId: `${home}~r` });
  await add(`${home}~r`, one, two);
  await settled();
  const { control } = of('a');
  /** The leg of the channel whose name begins so. */
  const leg = (name: string) =>
    control.legs.get(control.channels.all().find((each) => each.name.startsWith(name))!.id)!;
  const ask = (id: string, more: object = {}): void =>
    of('a')
      .legs.get(id)!
      .report({
        ...{ type: 'leg.transferAsked' },
        transfer: { id: '2', extension: '300', context: 'default', target: 'sip:300@a', handling: 'core', ...more },
      });
  const told = (id: string) =>
    of('a')
      .legs.get(id)!
      .calls.filter((call) => call.startsWith('transfer'));
  return { ...world, one, two, bridge: `${home}~r`, leg, ask, told };
}

for (const home of ['a', 'b'] as const)
  links(`a party at another node is transferred: a bridge of node ${home}`, async () => {
    const { of, one, two, bridge, leg, ask, told } = await pair(home);
    ask(one);
    await settled();
    const carol = leg('Fake/carol');
    assert.is(carol.dialed?.caller.number, '100', 'the party at the other node calls');
    carol.report({ type: 'leg.answered' });
    await settled();
    assert.equal(told(one), ['transfer 2: 200']);
    const target = of('a')
      .control.channels.all()
      .find(({ name }) => /^Local\/300.*;1$/.test(name))!;
    assert.equal(of(home).members(bridge).toSorted(), [target.id, two].toSorted());
    assert.is(snapshotOf(of('b').control.channels.get(two)).context.variables['BRIDGEPEER'], target.name);
    const started = of('a').events.filter(({ type }) => type === 'StasisStart');
    assert.is((started.at(-1) as { channel: { id: string } }).channel.id, target.id, 'the application has it now');
    of('b').control.operations.hangup(two, {});
    await settled();
    assert.equal(of(home).members(bridge), [target.id]);
  });

links('a party at another node and one at this node are joined: an attended transfer', async () => {
  const { of, one, two, bridge, ask, told, add } = await pair('b');
  const [second, three] = [await of('a').caller(), await of('a').caller()];
  of('a').operations.create({ bridgeId: 'a~second' });
  await add('a~second', second, three);
  ask(one, { replaces: { protocolId: 'x', localTag: 'y', remoteTag: 'z', channelId: second } });
  await settled();
  assert.equal(told(one), ['transfer 2: 200']);
  assert.equal(of('b').members(bridge).toSorted(), [three, two].toSorted());
  assert.equal(of('a').operations.get('a~second').channels, []);
});

links('a channel of another node is named by its name, and one that there is not is not found', async () => {
  const { of, add, remove, callers } = await meeting();
  const there = await of('b').caller();
  const { name } = of('b').control.channels.find(there)!;
  await add('a~r', name);
  assert.equal(of('a').members('a~r'), [...callers, there]);
  await remove('a~r', name);
  assert.equal(of('a').members('a~r'), callers);
  assert.is((await refusalOf(() => remove('a~r', there))).status, 422, 'it is not in the bridge');
  for (const nobody of ['b~nobody', 'PJSIP/nobody-1'])
    assert.is((await refusalOf(() => remove('a~r', nobody))).status, 400, nobody);
});

links('members of a node that begins again come again, with what was set for them', async () => {
  const { of, net, pass, callers, remove } = await meeting();
  const [one, two, three] = callers;
  await remove('a~r', two);
  await of('a').operations.addChannel('a~r', { channel: [two], mute: true, absorbDTMF: true });
  net.nodes.set('b', createNode(net, 'b', { from: takeSnapshot(of('b').control.owners) }));
  await pass(4_000);
  assert.equal(of('a').members('a~r'), [one, three, two]);
  const bridge = of('b').control.bridges.findPart('a~r')!;
  const [member] = of('b').control.bridges.snapshot(bridge).context.members;
  assert.equal([member?.channelId, member?.muted, member?.absorbsDigits], [two, true, true]);
});

links('lost members that are in another bridge, have ended or were let out do not come again', async () => {
  const { of, net, pass, callers } = await meeting();
  const [one, two, three] = callers;
  const others = [await of('b').caller(), await of('b').caller()];
  await of('a').operations.addChannel('a~r', { channel: others });
  const from = takeSnapshot(of('b').control.owners);
  net.dead.add('b');
  net.audio = false;
  await pass(12_000);
  assert.equal(of('a').members('a~r'), [one, three]);
  net.nodes.set('b', createNode(net, 'b', { from }));
  of('b').operations.create({ bridgeId: 'b~r' });
  await of('b').operations.addChannel('b~r', { channel: [two] });
  of('b').control.operations.hangup(others[0]!, {});
  net.dead.delete('b');
  net.audio = true;
  await pass(4_000);
  assert.equal(of('a').members('a~r').toSorted(), [one, three, others[1]].toSorted());
  assert.equal(of('b').members('b~r'), [two]);
});

const nothing = (): void => {};
links('lost members are asked for until the time is over, the bridge ends, or the server stops', async () => {
  const asks = async (rejoinMs: number, then: (a: Node) => void): Promise<number> => {
    const { of, net, pass } = await meeting({ rejoinMs });
    net.dead.add('b');
    net.dead.add('c');
    net.audio = false;
    await pass(12_000);
    then(of('a'));
    const before = net.asked.length;
    await pass(60_000);
    const { asked } = net;
    net.dead.clear();
    net.audio = true;
    await pass(12_000);
    assert.equal(of('a').control.bridges.find('a~r') ? of('a').members('a~r').length : 0, then === nothing ? 1 : 0);
    return asked.slice(before).filter((what) => what === 'open').length;
  };
  const some = await asks(20_000, nothing);
  assert.ok(some > 4 && some < 16, String(some));
  assert.is(await asks(0, nothing), 0);
  assert.is(await asks(20_000, (a) => a.operations.destroy('a~r')), 0);
});

links('the media plane loses the audio of a link: the members there leave, and come again', async () => {
  const { of, callers, pass } = await meeting();
  of('a').audios.get('a-1')!();
  await settled();
  assert.equal(of('a').members('a~r'), [callers[0], callers[2]]);
  of('c').audios.get('a-2')!();
  await settled();
  assert.equal([of('a').members('a~r'), of('c').part('a~r'), of('c').said('a~r')], [[callers[0]], [], []]);
  assert.equal([of('a').links.size, of('b').links.size, of('c').links.size], [0, 0, 0]);
  await pass(100);
  assert.equal(of('a').members('a~r').toSorted(), callers.toSorted());
});

links('a link without members ends after a while, and a new one is opened when it is needed', async () => {
  const { of, pass, add, remove, callers } = await meeting();
  await remove('a~r', callers[1], callers[2]);
  await pass(5_000);
  assert.is(of('a').links.size, 2);
  await pass(10_000);
  assert.equal([of('a').links.size, of('b').links.size, of('b').audios.size], [0, 0, 0]);
  await add('a~r', callers[1]);
  assert.equal(of('b').part('a~r'), [callers[1]]);
});

links('a link that is asked for twice is opened once, also where both requests come at the same time', async () => {
  const { of } = await meeting();
  const b = of('b');
  const open = {
    ...({ do: 'open', link: 'x', node: 'c', bridge: 'c~r', format: 'ulaw' } as const),
    audio: { address: '127.0.0.1', port: 5_000 },
  };
  const answers = await Promise.all([b.links.answer(open), b.links.answer(open)]);
  answers.push(await b.links.answer(open));
  assert.equal(
    answers.map(({ done }) => done),
    ['yes', 'yes', 'yes'],
  );
  assert.equal(new Set(answers.map(({ audio }) => audio?.port)).size, 1);
  assert.equal([b.links.size, b.audios.size], [2, 2]);
});

links('a new link of a bridge takes the place of one whose end was not heard', async () => {
  const { of, net, add, remove, pass, callers } = await meeting();
  await remove('a~r', callers[1]);
  net.fate = ({ do: what }) => (what === 'close' ? 'request' : undefined);
  await pass(13_000);
  assert.equal([of('a').links.size, of('b').links.size], [1, 1]);
  await add('a~r', callers[1]);
  assert.equal([of('a').links.size, of('b').links.size, of('b').audios.size], [2, 1, 1]);
  assert.equal(of('a').members('a~r'), [callers[0], callers[2], callers[1]]);
});

links('links and members are bounded, and what was refused leaves nothing behind', async () => {
  const { net, of, add } = createNodes('a', 'b', 'c', 'd');
  net.nodes.set('a', createNode(net, 'a', { most: 1, members: 2 }));
  net.nodes.set('c', createNode(net, 'c', { most: 0 }));
  of('a').operations.create({ bridgeId: 'a~r' });
  const callers = [await of('b').caller(), await of('b').caller(), await of('b').caller(), await of('c').caller()];
  assert.match((await refusalOf(() => add('a~r', callers[3]!))).message, /cluster\.bridge_links/);
  assert.equal([of('a').links.size, of('a').audios.size, of('c').audios.size], [0, 0, 0]);
  assert.match((await refusalOf(() => add('a~r', ...callers.slice(0, 3)))).message, /its limit of 2 channels/);
  await add('a~r', callers[0]!);
  assert.match((await refusalOf(async () => add('a~r', await of('d').caller()))).message, /1 is reached.*bridge_links/);
  assert.equal([of('a').counts.hits, of('c').counts.hits], [1, 1]);
});

links('messages of strangers and of other versions change nothing', async () => {
  const { of } = await meeting();
  const strange: unknown[] = [
    undefined,
    null,
    7,
    'sync',
    {},
    { do: 'sync' },
    { do: 'open', link: 'x' },
    { do: 'fly', link: 'x' },
  ];
  strange.push({ do: 'enter', link: 'a-1', channels: 'b~1' }, { do: 'left', link: 'a-1', stay: -1 });
  for (const each of strange) assert.equal(await of('b').links.answer(each), { done: 'no' });
  for (const what of ['close', 'ended'] as const)
    assert.equal(await of('b').links.answer({ do: what, link: 'none' }), { done: 'unknown' });
  assert.equal(of('b').part('a~r').length, 1);
});

/** What clients do, at random. */
async function play(seed: number): Promise<void> {
  const random = createRandom(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const world = createNodes('a', 'b', 'c');
  const { of, net, add, remove, pass } = world;
  const bridges = ['a~r', 'b~s', 'c~t'];
  const callers: string[] = [];
  for (const bridge of bridges) of(bridge[0]!).operations.create({ bridgeId: bridge });
  for (const name of ['a', 'b', 'c', 'a', 'b', 'c']) callers.push(await of(name).caller());
  net.fate = () => {
    const chance = random();
    if (chance < 0.1) return 'request';
    if (chance < 0.2) return 'answer';
    return chance < 0.25 ? 'twice' : undefined;
  };
  net.audio = true;
  const pending: Promise<unknown>[] = [];
  const refused = (error: unknown): void => {
    if (!(error instanceof AriError)) throw error;
  };
  for (let step = 0; step < 40; step++) {
    const what = random();
    const channel = pick(callers);
    const run = async (): Promise<void> => {
      if (what < 0.5) await add(pick(bridges), ...new Set([channel, pick(callers)]));
      else if (what < 0.7) await remove(pick(bridges), channel);
      else if (what < 0.75) of(channel[0]!).control.operations.hangup(channel, {});
      else if (what < 0.95) await pass(1_000);
      else for (const { audios } of net.nodes.values()) [...audios.values()][0]?.();
    };
    const done = run().catch(refused);
    pending.push(done);
    if (random() < 0.7) await done;
  }
  await Promise.all(pending);
  net.fate = () => undefined;
  net.audio = false;
  await pass(40_000);

  const where = new Map<string, string>();
  for (const bridge of bridges) {
    const members = of(bridge[0]!).members(bridge);
    for (const member of members) {
      assert.is(where.get(member), undefined, `seed ${seed}: ${member} is in two bridges`);
      where.set(member, bridge);
    }
    for (const { name, part } of net.nodes.values())
      if (name !== bridge[0])
        assert.equal(
          part(bridge).toSorted(),
          members.filter((id) => id[0] === name).toSorted(),
          `seed ${seed}: ${bridge} at ${name}`,
        );
    assertStory(of(bridge[0]!).said(bridge), members, `seed ${seed}: ${bridge}`);
  }
  for (const channel of callers)
    assert.is(of(channel[0]!).control.bridges.bridgeOf(channel)?.id, where.get(channel), `seed ${seed}: ${channel}`);
}

/** Each channel enters and leaves in turn, and each event has the members of its moment. */
function assertStory(story: readonly string[], members: readonly string[], about: string): void {
  let present: string[] = [];
  for (const event of story) {
    const [type, channel = '', list = ''] = event.split(' ');
    if (type === 'BridgeCreated') continue;
    const isThere = present.includes(channel);
    assert.is(isThere, type === 'ChannelLeftBridge', `${about}: ${event}`);
    present = isThere ? present.filter((each) => each !== channel) : [...present, channel];
    assert.is(list, `[${present.join()}]`, `${about}: ${event}`);
  }
  assert.equal(present, members, about);
}

links('whatever is lost or comes twice, all nodes agree in the end, and each stay has its two events', async () => {
  for (let seed = 1; seed <= 60; seed++) await play(seed);
});

links.run();
