import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildRequest } from '../../src/sip/message/build.ts';
import type { SipMessage } from '../../src/sip/message/message.ts';
import { parseMessage } from '../../src/sip/message/parse.ts';
import { StreamFramer } from '../../src/sip/message/stream-framer.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';
import { untilFound } from '../support/waiting.ts';

/** Calls whose SIP and audio go over IPv6. */
const test = suite('calls over IPv6');

/** What a phone says and hears over one transport. */
type Line = { port: number; send(octets: Buffer): void; hear(fn: (octets: Buffer) => void): void; close(): void };

async function overUdp(port: number): Promise<Line> {
  const socket = createSocket('udp6');
  socket.bind(0, '::1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    send: (octets) => socket.send(octets, port, '::1'),
    hear: (fn) => void socket.on('message', fn),
    close: () => socket.close(),
  };
}

async function overTcp(port: number): Promise<Line> {
  const socket = connect(port, '::1');
  await once(socket, 'connect');
  const framer = new StreamFramer();
  return {
    port: socket.localPort!,
    send: (octets) => void socket.write(octets),
    hear: (fn) =>
      void socket.on('data', (chunk) => {
        for (const frame of framer.push(chunk)) if (frame.type === 'message') fn(frame.bytes);
      }),
    close: () => socket.destroy(),
  };
}

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

/** A packet of µ-law, 20 ms of one value. */
function packet(sequence: number, value: number): Buffer {
  const octets = Buffer.alloc(12 + 160, value);
  octets.writeUInt16BE(0x8000);
  octets.writeUInt16BE(sequence, 2);
  octets.writeUInt32BE(sequence * 160, 4);
  octets.writeUInt32BE(0x1234, 8);
  return octets;
}

const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

/** IPv6 alone, and beside IPv4. */
const alone = { sipBind: '::1' };
const beside = {
  sip: {
    transports: [
      { protocol: 'udp', bind: '127.0.0.1', port: 0 },
      { protocol: 'tcp', bind: '::1', port: 0 },
    ],
  },
};
const kinds = ['native', 'dgram'];

for (const [protocol, open, where, more] of [
  ['udp', overUdp, 'alone', alone],
  ['tcp', overTcp, 'alone', alone],
  ...kinds.map(
    (sockets) => ['tcp', overTcp, `beside IPv4, sockets: ${sockets}`, { ...beside, media: { sockets } }] as const,
  ),
] as const)
  (hasIpv6 ? test : test.skip)(`a call over ${protocol} is answered, hears its echo and is ended (${where})`, () =>
    onServer(
      {
        ...more,
        dialplan: { default: { echo: ['Answer', 'Echo'] } },
        endpoints: { anonymous: { match: ['::1'] } },
      },
      async (server) => {
        const there = portOf(server.sip(protocol));
        const line = server.closing(await open(there));
        const audio = createSocket('udp6');
        server.closing(audio);
        audio.bind(0, '::1');
        await once(audio, 'listening');
        const heard: SipMessage[] = [];
        const waiting = new Set<() => void>();
        line.hear((octets) => {
          const parsed = parseMessage(octets);
          if (parsed.ok) heard.push(parsed.message);
          for (const look of [...waiting]) look();
        });
        const next = (status: number, method: string): Promise<SipMessage> => {
          const fits = (message: SipMessage) =>
            message.kind === 'response' && message.status === status && message.cseq.method === method;
          return untilFound(
            waiting,
            () => heard.find(fits),
            () => `no ${status} to ${method}`,
          );
        };
        const uri = `sip:echo@[::1]:${there}`;
        const say = (method: string, number: number, { tag, sdp }: { tag?: string | undefined; sdp?: string } = {}) =>
          line.send(
            buildRequest({
              method,
              uri,
              from: '<sip:six@[::1]>;tag=six',
              to: `<${uri}>${tag === undefined ? '' : `;tag=${tag}`}`,
              callId: `six-${protocol}`,
              cseq: number,
              contact: `<sip:six@[::1]:${line.port};transport=${protocol}>`,
              ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
              headers: sdp === undefined ? [['Content-Length', '0']] : [['Content-Length', String(sdp.length)]],
            })
              .prepend('Via', `SIP/2.0/${protocol.toUpperCase()} [::1]:${line.port};branch=z9hG4bK${method}${number}`)
              .toBuffer(),
          );
        const { port } = audio.address();
        const sdp = `v=0\r\no=- 1 1 IN IP6 ::1\r\ns=-\r\nc=IN IP6 ::1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\n`;
        say('INVITE', 1, { sdp });
        const ok = await next(200, 'INVITE');
        const tag = ok.toTag;
        assert.match(ok.bodyText, /^c=IN IP6 ::1\r$/m);
        assert.match(ok.header('Contact') ?? '', `[::1]:${there}`);
        say('ACK', 1, { tag });
        const mediaPort = Number(/^m=audio (\d+) /m.exec(ok.bodyText)?.[1]);
        const echoed = new Promise<Buffer>((resolve) => {
          audio.on('message', (octets) => {
            if (octets.length === 172 && octets.subarray(12).every((value) => value === 0x55)) resolve(octets);
          });
        });
        // At the pace of audio, until it comes back: the first packets may come before the port listens to us.
        let sequence = 0;
        const pace = setInterval(() => audio.send(packet(sequence++, 0x55), mediaPort, '::1'), 20);
        try {
          await echoed;
        } finally {
          clearInterval(pace);
        }
        say('BYE', 2, { tag });
        await next(200, 'BYE');
      },
    ),
  );

for (const sockets of kinds)
  (hasIpv6 ? test : test.skip)(`a phone of IPv4 is heard where IPv6 is spoken as well (sockets: ${sockets})`, () =>
    onServer({ ...beside, media: { sockets }, dialplan: { default: { echo: ['Answer', 'Echo'] } } }, async (server) => {
      const phone = server.closing(await Phone.open('four', server.sip('udp')));
      await phone.call('echo');
      phone.audio.hum(697);
      await phone.audio.hears([697], [697, 941]);
      phone.hangup();
    }),
  );

for (const [host, kind] of ['127.0.0.1', '::1'].flatMap((each) => kinds.map((sockets) => [each, sockets] as const)))
  (hasIpv6 || host !== '::1' ? test : test.skip)(
    `an external server at ${host} is sent RTP from all addresses (sockets: ${kind})`,
    () =>
      onServer({ media: { rtp_address: '::', sockets: kind } }, async (server) => {
        const app = await server.app('desk');
        const socket = createSocket(host === '::1' ? 'udp6' : 'udp4');
        server.closing(socket);
        socket.bind(0, host);
        await once(socket, 'listening');
        const heard = once(socket, 'message');
        const authority = `${host === '::1' ? '[::1]' : host}:${socket.address().port}`;
        await app.ok(
          'POST',
          `/channels/externalMedia?app=desk&format=ulaw&external_host=${encodeURIComponent(authority)}&channelId=x`,
        );
        const start = await app.waitFor('StasisStart');
        await app.ok('POST', '/channels/x/play?media=tone:425');
        const [octets, { address, port }] = (await heard) as [Buffer, RemoteInfo];
        const { UNICASTRTP_LOCAL_ADDRESS: at, UNICASTRTP_LOCAL_PORT: from } = start.channel.channelvars ?? {};
        assert.equal([at, from], [host, String(port)]);
        assert.is(address, host);
        assert.is(octets[0], 0x80);
        await app.ok('DELETE', '/channels/x');
        await app.waitFor('ChannelDestroyed');
      }),
  );

test.run();
