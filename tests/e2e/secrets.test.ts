import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket, WebSocketServer } from 'ws';
import type { CallPage } from '../../src/models/call.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { untilFound } from '../support/waiting.ts';

/**
 * Secrets in every place that holds one, at a server that logs all there is to log: none of them is in anything that it
 * writes, shows or sends to a collector. The same of what a call hides.
 */

const secrets = suite('what is secret');

/** Told apart from anything else, and whole: base64 of 30 octets, as an SRTP key is. */
const plant = (name: string): string => `PLANTED${name.padEnd(33, 'x')}`;
const planted = {
  sip: plant('Sip'),
  provider: plant('Provider'),
  program: plant('Program'),
  url: plant('Url'),
  hep: plant('Hep'),
  wrong: plant('Wrong'),
  response: plant('Response'),
  nonce: plant('Nonce'),
  srtp: plant('Srtp'),
  ice: plant('Ice'),
  basic: plant('Basic'),
  apiKey: plant('ApiKey'),
  card: plant('Card'),
  audio: plant('Audio'),
  billing: plant('Billing'),
  turn: plant('Turn'),
};
const pressed = '7391826045';

/** Somebody who says what a test wants over UDP, and keeps what is answered. */
async function peer() {
  const socket = createSocket('udp4');
  const heard: string[] = [];
  const news = new Set<() => void>();
  socket.on('message', (data) => {
    heard.push(String(data));
    for (const look of news) look();
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const until = (pattern: RegExp) =>
    untilFound(
      news,
      () => heard.find((each) => pattern.test(each)),
      () => `${pattern} did not come: ${heard.join('\n')}`,
    );
  return { socket, heard, until, port: (socket.address() as AddressInfo).port };
}
type Peer = Awaited<ReturnType<typeof peer>>;

const message = (first: string, headers: string[], type = '', body = ''): string =>
  [first, ...headers, ...(type ? [`Content-Type: ${type}`] : []), `Content-Length: ${body.length}`, '', body].join(
    '\r\n',
  );

/** What stands in front of every message of a phone. */
const headersOf = ({ port }: Peer, cseq: number, method: string, to = '<sip:100@127.0.0.1>') => [
  `Via: SIP/2.0/UDP 127.0.0.1:${port};rport;branch=z9hG4bK${method}${cseq}`,
  'From: <sip:4711@127.0.0.1>;tag=phone',
  `To: ${to}`,
  'Call-ID: the-call',
  `CSeq: ${cseq} ${method}`,
  'Max-Forwards: 70',
  `Contact: <sip:4711@127.0.0.1:${port}>`,
];
const proof = `Digest username="alice", realm="hookswitch", nonce="${planted.nonce}", uri="sip:127.0.0.1", response="${planted.response}"`;

/** A program that takes the WebSocket of a server, and keeps what it was shown. */
async function program() {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  const shown: string[] = [];
  const connected = new Promise<void>((resolve) => {
    sockets.on('connection', (_socket, request) => {
      shown.push(request.headers.authorization ?? '');
      resolve();
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const close = () => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
    http.close();
  };
  return { port: (http.address() as AddressInfo).port, shown, connected, close };
}

const directory = mkdtempSync(join(tmpdir(), 'hookswitch-hidden-'));
const baseOf = (server: TestServer): string => server.url.replace(/\/ari$/, '/hookswitch');
const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;

/** Everything that the server shows of itself and of its calls, by where it stands. */
async function everythingShown(server: TestServer, live: readonly string[], collector: Peer) {
  const authorization = basic(user, password);
  const get = async (path: string): Promise<[string, string]> => {
    const answer = await fetch(server.url.replace(/\/ari$/, path), { headers: { authorization } });
    return [path, Buffer.from(await answer.arrayBuffer()).toString('latin1')];
  };
  const { calls } = JSON.parse((await get('/hookswitch/calls'))[1]) as CallPage;
  const paths = calls.flatMap(({ id }) =>
    ['', '.mmd', '.pcap', '/bundle'].map((part) => `/hookswitch/calls/${id}${part}`),
  );
  const own = ['server', 'usage', 'contacts', 'watchers', 'stuck', 'bans', 'logging', 'calls', 'tokens', 'access'].map(
    (name) => `/hookswitch/${name}`,
  );
  const pages = ['/', '/metrics', '/health', '/ari/asterisk/info', '/ari/endpoints', '/ari/applications'];
  return new Map([
    ...(await Promise.all([...paths, ...own, ...pages].map(get))),
    [
      'log',
      server
        .lines()
        .map((line) => JSON.stringify(line))
        .join('\n'),
    ] as const,
    ['live', live.join('\n')] as const,
    ['collector', collector.heard.join('\n')] as const,
    ['audit', readFileSync(server.config.audit.file, 'utf8')] as const,
    ['records', readFileSync(server.config.cdr.file, 'utf8')] as const,
  ]);
}

secrets(
  'nothing secret is in a bundle, a page, a log, a metric or a packet, and nothing that a call hides',
  async () => {
    const files = new CertificateFiles();
    const pair = files.pair('server', new Authority().sign('127.0.0.1'));
    const browsers = files.pair('browsers', new Authority().sign('calls.example.com'));
    const [registrar, phone, collector, robot, audio] = await Promise.all([
      peer(),
      peer(),
      peer(),
      program(),
      RtpPeer.open(),
    ]);
    const provider = { username: 'line', password: planted.provider };
    const users = [
      { name: user, password },
      { name: 'page', password: planted.basic },
      { name: 'query', password: planted.apiKey },
    ];
    await onServer(
      {
        logLevel: 'trace',
        users,
        dialplan: { default: { '_X.': ['Stasis(desk)'] } },
        endpoints: {
          phone: { match: ['127.0.0.1'], media_encryption: 'optional' },
          alice: { auth: { username: 'alice', password: planted.sip } },
          trunk: { outbound_auth: provider, registrations: [{ server: `sip:127.0.0.1:${registrar.port}` }] },
        },
        applications: {
          robot: {
            url: `ws://127.0.0.1:${robot.port}/events?token=${planted.url}`,
            apps: ['robot'],
            local_user: user,
            username: 'robot',
            password: planted.program,
          },
        },
        media: { webrtc: { ...browsers, turn: { urls: ['turn:127.0.0.1'], secret: planted.turn } } },
        recorder: { sip_bodies: true, hep: { address: '127.0.0.1', port: collector.port, key: 'shown to it' } },
        tls: { certificates: [pair] },
        external_media: {
          websockets: {
            ai: { url: `ws://127.0.0.1:${robot.port}/media`, headers: [`Authorization: Bearer ${planted.audio}`] },
          },
        },
        audit: { file: join(directory, 'audit.jsonl') },
        // What waits for the webhook, as nobody listens there, waits on the disk.
        cdr: {
          file: join(directory, 'calls.jsonl'),
          webhook: { url: 'http://127.0.0.1:9/calls', headers: [`Authorization: Bearer ${planted.billing}`] },
        },
      },
      async (server) => {
        for (const thing of [registrar.socket, phone.socket, collector.socket, robot, audio, files])
          server.closing(thing);
        const [address = '', port = ''] = server.sip().split(':');
        const say = (text: string) => phone.socket.send(text, Number(port), address);
        const live: string[] = [];
        let seen = (): void => {};
        const ended = new Promise<void>((resolve) => {
          seen = resolve;
        });
        const watch = async (query: string) => {
          const socket = new WebSocket(`${baseOf(server).replace('http', 'ws')}/live${query}`, {
            headers: { authorization: basic(user, password) },
          });
          socket.on('message', (data) => {
            live.push(String(data));
            // The call as it is watched, at its end.
            if (/"type":"call".*"type":"ChannelDestroyed"/.test(String(data))) seen();
          });
          server.closing({ close: () => socket.terminate() });
          await once(socket, 'open');
        };

        // A provider that asks for the password, and a program that we show ours.
        registrar.socket.on('message', (data, { port: asking }) => {
          const lines = String(data)
            .split('\r\n')
            .filter((line) => /^(via|from|to|call-id|cseq):/i.test(line));
          const challenge = [...lines, `WWW-Authenticate: Digest realm="provider", nonce="${planted.nonce}"`];
          const proved = /^Authorization:/im.test(String(data));
          const reply = proved ? message('SIP/2.0 200 OK', lines) : message('SIP/2.0 401 Unauthorized', challenge);
          registrar.socket.send(reply, asking, '127.0.0.1');
        });
        const answered = await registrar.until(/^Authorization:/im);
        const digest = /response="([0-9a-f]{32})"/.exec(answered)?.[1] ?? '';
        assert.match(digest, /^[0-9a-f]{32}$/);
        await robot.connected;
        assert.equal(robot.shown, [basic('robot', planted.program)]);

        // Log-ins by every way there is.
        const app = await server.app('desk');
        const from = async (headers: Record<string, string>, path: string, method = 'GET') => {
          const answer = await fetch(`${server.url.replace(/\/ari$/, '')}${path}`, { method, headers });
          return [answer.status, await answer.text()] as const;
        };
        const [, session] = await from({ authorization: basic('page', planted.basic) }, '/hookswitch/sessions', 'POST');
        const { token } = JSON.parse(session) as { token: string };
        const bearer = { authorization: `Bearer ${token}` };
        const [, made] = await from(bearer, '/hookswitch/sessions/tickets', 'POST');
        const { ticket } = JSON.parse(made) as { ticket: string };
        assert.is((await from({}, `/ari/channels?api_key=query:${planted.apiKey}`))[0], 200);
        assert.is((await from({}, `/ari/channels?api_key=query:${planted.wrong}`))[0], 401);
        assert.is((await from(bearer, `/ari/channels/none?token=${planted.wrong}`, 'DELETE'))[0], 404);
        await watch('');
        // A token that stands for a user.
        const [, kept] = await from({ authorization: basic(user, password) }, '/hookswitch/tokens?name=ci', 'POST');
        const { token: keptToken } = JSON.parse(kept) as { token: string };
        assert.is((await from({ authorization: `Bearer ${keptToken}` }, '/ari/channels'))[0], 200);

        // A phone that proves its password, wrongly, and one that calls.
        const wrong = headersOf(phone, 1, 'REGISTER', '<sip:alice@127.0.0.1>').map((line) =>
          line.replace('From: <sip:4711@', 'From: <sip:alice@'),
        );
        say(message('REGISTER sip:127.0.0.1 SIP/2.0', [...wrong, `Authorization: ${proof}`]));
        await phone.until(/^SIP\/2\.0 40[13]/);

        // A call with credentials, keys, digits and a number that nobody shall see.
        const sdp = [
          ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
          ...[`m=audio ${audio.port} RTP/SAVP 0 101`, 'a=rtpmap:101 telephone-event/8000'],
          ...[`a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${planted.srtp}`, `a=ice-pwd:${planted.ice}`, ''],
        ].join('\r\n');
        say(
          message(
            'INVITE sip:100@127.0.0.1 SIP/2.0',
            [...headersOf(phone, 1, 'INVITE'), `Proxy-Authorization: ${proof}`],
            'application/sdp',
            sdp,
          ),
        );
        const { channel } = await app.waitFor('StasisStart');
        const { id } = channel;
        await watch(`?call=${id}`);
        await watch('?app=desk');
        const hide = `/hookswitch/calls/${id}/mask?digits=true&variables=CARD`;
        const [hidden, mask] = await from({ authorization: basic(user, password) }, hide, 'PUT');
        assert.equal([hidden, JSON.parse(mask)], [200, { digits: true, variables: ['CARD'] }]);
        await app.ok('POST', `/channels/${id}/answer`);
        const ok = await phone.until(/^SIP\/2\.0 200 OK[\s\S]*CSeq: 1 INVITE/);
        const to = /^To: (.*)$/im.exec(ok)?.[1]?.trim() ?? '';
        const target = /^Contact: <([^>]*)>/im.exec(ok)?.[1] ?? '';
        const ourKey = /inline:([^\s|]+)/.exec(ok)?.[1] ?? 'no key';
        assert.match(ourKey, /^[\w+/=]{40}$/);
        say(message(`ACK ${target} SIP/2.0`, headersOf(phone, 1, 'ACK', to)));
        for (const [at, digit] of [...pressed].entries()) {
          say(
            message(
              `INFO ${target} SIP/2.0`,
              headersOf(phone, at + 2, 'INFO', to),
              'application/dtmf-relay',
              `Signal=${digit}\r\nDuration=160\r\n`,
            ),
          );
          await app.waitFor('ChannelDtmfReceived', (event) => event.digit === digit);
        }
        await app.ok('POST', `/channels/${id}/variable?variable=CARD&value=${planted.card}`);
        await app.ok('POST', `/channels/${id}/dtmf?dtmf=${pressed}`);
        await app.ok('DELETE', `/channels/${id}`);
        const bye = await phone.until(/^BYE/);
        const echoed = bye.split('\r\n').filter((line) => /^(via|from|to|call-id|cseq):/i.test(line));
        say(message('SIP/2.0 200 OK', echoed));
        await app.waitFor('StasisEnd');
        await collector.until(/BYE sip:/);
        await ended;

        const shown = await everythingShown(server, live, collector);
        const secret = {
          ...planted,
          password,
          token,
          keptToken,
          ticket,
          digest,
          ourKey,
          pressed,
          tls: pemBody(pair.key),
          browsers: pemBody(browsers.key),
        };
        assert.not.ok(JSON.stringify(server.running.dump()).includes(secret.browsers), 'the key is in its file alone');
        const found = [...shown].flatMap(([where, text]) =>
          // The name of a setting may be that password of the test; its value may not.
          Object.entries(secret).flatMap(([name, value]) =>
            text.replaceAll('"secret":', '').includes(value) ? [`${name} in ${where}`] : [],
          ),
        );
        assert.equal(found, []);
        const digits = [...shown].flatMap(([where, text]) =>
          /"digits?":\s*"[0-9]|Signal=[0-9]|"dtmf":"[0-9]/.test(text) ? [where] : [],
        );
        assert.equal(digits, []);
        // What was looked through is there.
        for (const [where, pattern] of [
          [`/hookswitch/calls/${id}/bundle`, /"digit":"\*\*\*"/],
          [`/hookswitch/calls/${id}.pcap`, /INVITE sip:100/],
          ['collector', /INVITE sip:100/],
          ['log', /a SIP message comes in/],
          ['live', /"digit":"\*\*\*"/],
          ['/metrics', /hookswitch/],
          ['audit', /"user":"query"/],
          ['records', /"channel"/],
          ['/hookswitch/tokens', /"name":"ci"/],
        ] as const)
          assert.match(shown.get(where) ?? '', pattern, where);
      },
    );
  },
);

secrets.after(() => rmSync(directory, { recursive: true, force: true }));

/** The body of a key in a PEM file, one line of it. */
function pemBody(file: string): string {
  return readFileSync(file, 'utf8').split('\n')[1] ?? '';
}

secrets.run();
