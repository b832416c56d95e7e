import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { type NodeCarrier, type NodeFlows, ownerMark, withNodeFlows } from '../../../src/sip/transport/node-flows.ts';
import type { SendFailure, Target, Transports } from '../../../src/sip/transport/transport.ts';
import { silentLog } from '../../support/log.ts';
import { addressOf, Inbox, openParty, options, type Party } from './bench.ts';

/** Nodes that could note no further INVITE. */
const hits: string[] = [];

type Node = { party: Party; transports: Transports; flows: NodeFlows; heard: Inbox<{ id: string; source: Target }> };

/** A node that reaches the others by `nodes`, and says why not where it is not among them. */
async function openNode(name: string, nodes: Map<string, Node>, flowTo: NodeCarrier['flowTo'] = () => undefined) {
  const party = await openParty();
  const { transports, flows } = withNodeFlows(party.transports, {
    ...{ clock: systemClock, log: silentLog, mostInvites: () => 2, hit: () => hits.push(name) },
  });
  const heard: Node['heard'] = new Inbox();
  transports.onMessage(({ callId: id }, source) => heard.put({ id, source }));
  flows.attach({
    node: name,
    isNode: (other) => other !== 'nobody',
    async carry(what, { node, peer }, bytes) {
      const there = nodes.get(node)?.flows;
      if (!there) return 'it is away';
      // As it comes out of JSON.
      const plain = JSON.parse(JSON.stringify(peer)) as Target;
      if (what === 'send') return there.send(plain, bytes);
      there.take(plain, bytes);
      return undefined;
    },
    flowTo,
  });
  const node: Node = { party, transports, flows, heard };
  nodes.set(name, node);
  return node;
}

const flows = suite('node flows');
const opened: { close(): unknown }[] = [];
flows.after.each(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function twoNodes(flowTo?: NodeCarrier['flowTo']): Promise<{ a: Node; b: Node; nodes: Map<string, Node> }> {
  const nodes = new Map<string, Node>();
  const [a, b] = [await openNode('a', nodes), await openNode('b', nodes, flowTo)];
  opened.push(a.party.transports, b.party.transports);
  return { a, b, nodes };
}

/** A phone with a connection to a node, and the texts that it is sent. */
async function phoneOf(node: Node): Promise<{ socket: Socket; texts: Inbox<string> }> {
  const { address, port } = addressOf(node.party, 'tcp');
  const socket = connect(port, address);
  opened.push({ close: () => socket.destroy() });
  const texts = new Inbox<string>();
  socket.setEncoding('utf8').on('data', (text: string) => texts.put(text));
  await once(socket, 'connect');
  return { socket, texts };
}

const inCall = (uri: string, method = 'BYE'): string =>
  String(options('TCP 127.0.0.1:9;branch=z9hG4bKx'))
    .replace('OPTIONS sip:us@127.0.0.1', `${method} ${uri}`)
    .replace('1 OPTIONS', `1 ${method}`)
    .replace('To: <sip:us@127.0.0.1>', 'To: <sip:us@127.0.0.1>;tag=2');

const failed = (node: Node, target: Target): Promise<SendFailure> =>
  new Promise((resolve) => node.transports.send(options(), target, resolve));

flows('a call is at one node and its phone at another: messages go both ways, by marks of the first', async () => {
  const { a, b } = await twoNodes();
  const phone = await phoneOf(b);
  phone.socket.write(options());
  const { source } = await b.heard.next();
  const target = b.flows.through(source, 'a', 'alice');
  assert.is(ownerMark(target), 'a~');
  assert.equal([target.connection, target.via?.node, target.via?.connection], [undefined, 'b', source.connection]);
  assert.equal(a.transports.localAddress(target), b.transports.localAddress(source));
  assert.ok(a.transports.isConnected(target));
  a.transports.send(options(), target);
  assert.match(await phone.texts.next(), /^OPTIONS/);

  phone.socket.write(inCall('sip:a~@127.0.0.1'));
  const taken = await a.heard.next();
  assert.equal([taken.id, taken.source.via?.node, taken.source.via?.owner], ['abc', 'b', 'a']);
  a.transports.send(options(), taken.source);
  assert.match(await phone.texts.next(), /^OPTIONS/);
  phone.socket.write(
    ['SIP/2.0 200 OK', 'Via: SIP/2.0/TCP h;branch=z9hG4bKa~1', 'From: <sip:x@h>;tag=1', 'To: <sip:y@h>;tag=2'].join(
      '\r\n',
    ) + '\r\nCall-ID: answer\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n',
  );
  assert.is((await a.heard.next()).id, 'answer');
  assert.is(b.heard.size, 0);
});

/** A request outside of dialogs that names one. */
const naming = (method: string, tag: string): string =>
  String(options('TCP 127.0.0.1:9;branch=z9hG4bKx'))
    .replaceAll('OPTIONS', method)
    .replace('CSeq:', `Replaces: 1;to-tag=${tag};from-tag=2\r\nCSeq:`);

flows('a CANCEL goes to the node that its INVITE was passed on to, as long as there is room', async () => {
  const { a, b } = await twoNodes();
  const phone = await phoneOf(b);
  const cancel = (branch: string): string =>
    String(options(`TCP 127.0.0.1:9;branch=z9hG4bK${branch}`)).replaceAll('OPTIONS', 'CANCEL');
  const invite = (branch: string): string => naming('INVITE', 'a~1').replace('z9hG4bKx', `z9hG4bK${branch}`);
  for (const branch of ['x', 'y']) {
    phone.socket.write(invite(branch));
    await a.heard.next();
    phone.socket.write(cancel(branch));
    assert.is((await a.heard.next()).source.via?.node, 'b');
  }
  // The INVITE may come again.
  phone.socket.write(invite('y'));
  await a.heard.next();
  assert.equal(hits, []);
  phone.socket.write(invite('z'));
  await a.heard.next();
  assert.equal(hits.splice(0), ['b']);
  for (const branch of ['z', 'unknown']) {
    phone.socket.write(cancel(branch));
    assert.is((await b.heard.next()).source.via, undefined);
  }
  assert.is(a.heard.size, 0);
});

flows('an INVITE that replaces a call of another node goes there, and so does the ACK of its refusal', async () => {
  const { a, b } = await twoNodes();
  const phone = await phoneOf(b);
  phone.socket.write(naming('INVITE', 'a~1'));
  const { source } = await a.heard.next();
  assert.is(source.via?.node, 'b');
  phone.socket.write(inCall('sip:us@127.0.0.1', 'ACK').replace('tag=2', 'tag=a~2'));
  await a.heard.next();
  for (const text of [
    naming('OPTIONS', 'a~1'),
    naming('INVITE', 'b~1'),
    naming('INVITE', 'nobody~1'),
    naming('INVITE', 'a'),
  ]) {
    phone.socket.write(text);
    await b.heard.next();
  }
  assert.equal([a.heard.size, b.heard.size], [0, 0]);
});

flows('what has no mark of another node, or is outside of a dialog, stays', async () => {
  const { a, b } = await twoNodes();
  const phone = await phoneOf(b);
  const outside = String(options()).replace('sip:us@', 'sip:a~@');
  for (const text of [
    outside,
    inCall('sip:a@127.0.0.1'),
    inCall('sip:b~@127.0.0.1'),
    inCall('sip:nobody~@h'),
    inCall('sip:~@h'),
  ]) {
    phone.socket.write(text);
    assert.is((await b.heard.next()).id, 'abc');
  }
  assert.is(a.heard.size, 0);
});

flows('a node that is not reached ends a send, and is named to the phone', async () => {
  const { a, b, nodes } = await twoNodes();
  const phone = await phoneOf(b);
  phone.socket.write(options());
  const target = b.flows.through((await b.heard.next()).source, 'a', 'alice');
  nodes.clear();
  const failure = await failed(a, target);
  assert.equal([failure.reason, (failure.cause as Error).message], ['connect', 'node b: it is away']);
  phone.socket.write(inCall('sip:a~@127.0.0.1'));
  const answer = await phone.texts.next();
  assert.match(answer, /^SIP\/2\.0 503 /);
  assert.match(answer, /Warning: 399 hookswitch "the node 'a' cannot be reached: it is away"/);
  // An ACK has no answer.
  phone.socket.write(inCall('sip:a~@127.0.0.1', 'ACK') + String(options()));
  await b.heard.next();
  assert.is(phone.texts.size, 0);
});

flows('a phone that has connected again gets the requests of its calls there', async () => {
  let again: Target | undefined;
  const asked: unknown[] = [];
  const { a, b } = await twoNodes((endpoint, uri) => {
    asked.push([endpoint, uri.scheme === 'sip' && uri.user]);
    return again;
  });
  const phone = await phoneOf(b);
  phone.socket.write(options());
  const target = b.flows.through((await b.heard.next()).source, 'a', 'alice');
  phone.socket.destroy();
  await b.party.closed.next();
  const back = await phoneOf(b);
  back.socket.write(options());
  again = (await b.heard.next()).source;
  a.transports.send(options(), target);
  assert.match(await back.texts.next(), /^OPTIONS/);
  assert.equal(asked, [['alice', 'us']]);
});

flows.run();
