import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SipMessage, SipResponse } from '../../src/sip/message/message.ts';
import { parseMessage } from '../../src/sip/message/parse.ts';
import { StreamFramer } from '../../src/sip/message/stream-framer.ts';
import { CertificateFiles } from '../support/certificates.ts';
import {
  Caller,
  dialTls,
  dialWebSocket,
  gone,
  heapMegabytes,
  type Mutations,
  mutated,
  mutations,
  offerAt,
  ownCertificates,
  type RequestParts,
  sipRequest,
} from '../support/hostile.ts';
import { onServer, type TestServer } from '../support/server.ts';

/*
 * Requests of every method with octets changed, over TLS and over WebSockets: before a call, while one is being set up, and
 * within one that stands. A call of somebody else hears nothing of it.
 */

const files = new CertificateFiles();
test.after(() => files.close());
const tls = ownCertificates(files);

type Via = 'TLS' | 'WSS';

/** Somebody who is connected to a door, sends what he likes and reads what comes. */
type Visitor = {
  send(octets: string | Uint8Array): void;
  /** The next response to a method for which this holds. */
  hears(method: string, holds: (response: SipResponse) => boolean): Promise<SipResponse>;
  /** Ends the connection, and waits until the server has read all and closed it too. */
  goes(): Promise<void>;
};

const isFinal = ({ status }: SipResponse) => status >= 200;

async function visitorAt(server: TestServer, via: Via): Promise<Visitor> {
  const heard: SipMessage[] = [];
  let more = () => {};
  const hear = (bytes: Buffer) => {
    const parsed = parseMessage(bytes);
    if (parsed.ok) heard.push(parsed.message);
    more();
  };
  const hears: Visitor['hears'] = async (method, holds) => {
    for (;;) {
      for (const message of heard.splice(0))
        if (message.kind === 'response' && message.cseq.method === method && holds(message)) return message;
      await new Promise<void>((resolve) => {
        more = resolve;
      });
    }
  };
  if (via === 'WSS') {
    const socket = await dialWebSocket(server);
    socket.on('message', (data: Buffer) => hear(data));
    const goes = () => {
      const closed = gone(socket);
      socket.close();
      return closed;
    };
    return { hears, goes, send: (octets) => socket.send(Buffer.from(octets)) };
  }
  const socket = await dialTls(server);
  const framer = new StreamFramer();
  socket.on('data', (chunk: Buffer) => {
    for (const frame of framer.push(chunk)) if (frame.type === 'message') hear(frame.bytes);
  });
  const goes = () => {
    const closed = gone(socket);
    socket.end();
    return closed;
  };
  return { hears, goes, send: (octets) => void socket.write(octets) };
}

/** What an attack is made with: a visitor, and requests of a call that is nobody else's. */
type Scene = {
  visitor: Visitor;
  request(method: string, parts?: Partial<RequestParts>): string;
  /** A request with octets changed. */
  bad(method: string, parts?: Partial<RequestParts>): Buffer;
  offer: string;
  uri(extension: string): string;
};

/** Sets a call up to an extension that answers. @returns its To. */
async function standing({ visitor, request, offer }: Scene): Promise<string> {
  visitor.send(request('INVITE', { body: offer }));
  const answer = await visitor.hears('INVITE', isFinal);
  assert.is(answer.status, 200);
  const to = answer.header('to')!;
  visitor.send(request('ACK', { to }));
  return to;
}

/** Sets a call up to an extension that rings. @returns its To. */
async function ringing({ visitor, request, offer, uri }: Scene): Promise<{ to: string; rseq: string }> {
  visitor.send(request('INVITE', { to: uri('601'), body: offer, more: ['Supported: 100rel', 'Require: 100rel'] }));
  const progress = await visitor.hears('INVITE', ({ status }) => status > 100);
  assert.is(progress.status, 180);
  return { to: progress.header('to')!, rseq: progress.header('rseq')! };
}

/** Within a call that stands. */
const within =
  (method: string, more: readonly string[] = [], hasOffer = false) =>
  async (scene: Scene): Promise<void> => {
    const to = await standing(scene);
    const body = hasOffer ? scene.offer : '';
    scene.visitor.send(scene.bad(method, { to, cseq: 2, branch: 'within', more, body }));
    if (method === 'INVITE') scene.visitor.send(scene.request('ACK', { to, cseq: 2, branch: 'within-ack' }));
  };

const dialog = 'Event: dialog\r\nAccept: application/dialog-info+xml\r\nExpires: 60';

type Attack = {
  method: string;
  /** What the request is answered with when nothing of it is changed: it is understood, or its changes would try nothing. */
  answer: number;
  make(scene: Scene): Promise<void> | void;
};

const attacks: Attack[] = [
  { method: 'INVITE', answer: 200, make: ({ visitor, bad, offer }) => visitor.send(bad('INVITE', { body: offer })) },
  {
    method: 'REGISTER',
    answer: 200,
    make: ({ visitor, bad, uri }) =>
      visitor.send(bad('REGISTER', { to: uri('anonymous'), more: ['Expires: 600', 'Supported: path, outbound'] })),
  },
  {
    method: 'SUBSCRIBE',
    answer: 200,
    make: ({ visitor, bad, uri }) => visitor.send(bad('SUBSCRIBE', { to: uri('300'), more: [dialog] })),
  },
  {
    // Outside a call nobody is transferred who is not named.
    method: 'REFER',
    answer: 403,
    make: ({ visitor, bad, uri }) =>
      visitor.send(bad('REFER', { more: [`Refer-To: ${uri('602')}`, `Referred-By: ${uri('603')}`] })),
  },
  {
    method: 'REFER',
    answer: 481,
    make: ({ visitor, bad, uri }) =>
      visitor.send(
        bad('REFER', { more: [`Refer-To: ${uri('602')}`, 'Target-Dialog: gone;local-tag=us;remote-tag=them'] }),
      ),
  },
  {
    method: 'CANCEL',
    answer: 200,
    make: async (scene) => {
      await ringing(scene);
      scene.visitor.send(scene.bad('CANCEL', { to: scene.uri('601') }));
    },
  },
  {
    method: 'PRACK',
    answer: 200,
    make: async (scene) => {
      const { to, rseq } = await ringing(scene);
      scene.visitor.send(scene.bad('PRACK', { to, cseq: 2, branch: 'prack', more: [`RAck: ${rseq} 1 INVITE`] }));
    },
  },
  { method: 'INVITE', answer: 200, make: within('INVITE', [], true) },
  {
    method: 'UPDATE',
    answer: 200,
    make: within('UPDATE', ['Supported: timer', 'Session-Expires: 1800;refresher=uac'], true),
  },
  {
    method: 'REFER',
    answer: 202,
    make: within('REFER', ['Refer-To: <sip:602@127.0.0.1>', 'Referred-By: <sip:603@127.0.0.1>']),
  },
  { method: 'INFO', answer: 200, make: within('INFO', ['Info-Package: dtmf']) },
  { method: 'BYE', answer: 200, make: within('BYE', ['Reason: Q.850;cause=16;text="over"']) },
];

/** Ends what calls are left but that of the bystander, and what lingers of them. */
async function clear(server: TestServer, bystander: string): Promise<void> {
  const client = server.client();
  const others = async () =>
    (await client.ok<{ id: string }[]>('GET', '/channels')).filter(({ id }) => id !== bystander);
  for (let left = await others(); left.length > 0; left = await others())
    for (const { id } of left) await client.request('DELETE', `/channels/${id}`);
  server.clock.skip(40_000);
}

test('mutated requests of every method: the process lives, the calls of others live, and nothing is kept', async () => {
  const endpoints = {
    anonymous: { match: ['127.0.0.1'], media_encryption: 'required', aor: { max_contacts: 3 }, timers: 'no' },
  };
  const dialplan = {
    default: {
      hints: { '300': 'Custom:night' },
      '600': ['Answer', 'Echo'],
      '601': ['Ringing', 'Wait(3600)'],
      '602': ['Busy'],
    },
  };
  await onServer({ endpoints, dialplan, tls }, async (server) => {
    const caller = await Caller.call(server);
    await caller.hearsItself();
    const [bystander] = await server.client().ok<{ id: string }[]>('GET', '/channels');
    const audio = createSocket('udp4').bind(0, '127.0.0.1');
    await once(audio, 'listening');
    server.closing({ close: () => audio.close() });
    const offer = offerAt(audio.address().port);
    let number = 0;

    const attackBy = async (via: Via, { method, answer, make }: Attack, changes?: Mutations) => {
      const callId = `other-${number++}`;
      const uri = (extension: string) => `<sip:${extension}@${server.sip(via === 'TLS' ? 'tls' : 'wss')}>`;
      const request = (name: string, parts: Partial<RequestParts> = {}) =>
        sipRequest(name, { to: uri('600'), via, callId, ...parts, branch: `${callId}${parts.branch ?? ''}` });
      const visitor = await visitorAt(server, via);
      const bad: Scene['bad'] = (name, parts) => mutated(Buffer.from(request(name, parts)), changes ?? []);
      await make({ visitor, request, bad, offer, uri });
      if (!changes) assert.is((await visitor.hears(method, isFinal)).status, answer, `${method} over ${via}`);
      await visitor.goes();
    };

    const attackOften = async (numRuns: number) => {
      for (const attack of attacks)
        for (const via of ['TLS', 'WSS'] as const) {
          await attackBy(via, attack);
          const property = fc.asyncProperty(mutations, (changes) => attackBy(via, attack, changes));
          await fc.assert(property, { numRuns, endOnFailure: true });
          await clear(server, bystander!.id);
          caller.keepsAlive();
          await caller.hearsItself();
        }
    };
    await attackOften(3);
    const heapBefore = heapMegabytes();
    await attackOften(10);
    const { channels, media, sip } = await server.running.usage();
    assert.equal([channels, media.sessions, sip.dialogs, sip.legs], [1, 1, 1, 1]);
    assert.ok(heapMegabytes() < heapBefore + 8, `the heap grew from ${heapBefore} to ${heapMegabytes()} MB`);
    await caller.hangup(server);
  });
});

test.run();
