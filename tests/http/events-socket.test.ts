import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AriError } from '../../src/models/errors.ts';
import { authorization, basic, options } from './fakes.ts';
import { type Client, type Connected, connect, refusalOf, startTestServer } from './sockets.ts';

const key = 'api_key=writer:secret';
type Server = Awaited<ReturnType<typeof startTestServer>>;

const socket = suite<{ server: Server }>('events WebSocket');

socket.before.each(async (context) => {
  context.server = await startTestServer({
    users: [...options.users, { name: 'desk', password: 'p', read_only: true, may_register: true }],
  });
});
socket.after.each(async ({ server }) => server.server.close(100));

socket('connects applications and carries messages both ways under the sub-protocol ari', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, `app=%20hello%20,other&subscribeAll=true&${key}`, ['chat', 'ari']);
  const connection = await told;
  assert.equal(connection.names, ['hello', 'other']);
  assert.is(connection.subscribeAll, true);
  assert.match(connection.describe, /^127\.0\.0\.1:\d+$/);
  connection.send('{"type":"One"}');
  connection.send('{"type":"Two"}');
  assert.equal(await client.next(), { type: 'One' });
  assert.equal(await client.next(), { type: 'Two' });
  assert.is(client.ws.protocol, 'ari');
  client.ws.send(JSON.stringify({ type: 'RESTRequest', request_id: 'r', method: 'GET', uri: 'asterisk/ping' }));
  assert.is((await client.next())['request_id'], 'r');
  client.ws.close();
  await connection.closed;
});

socket('needs no sub-protocol, and takes credentials in a header', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, 'app=hello', [], { authorization: basic('reader:look:only') });
  assert.equal([(await told).names, (await told).subscribeAll], [['hello'], false]);
  await client.opened;
  assert.is(client.ws.protocol, '');
  client.ws.terminate();
  await (await told).closed;
});

socket('an empty Sec-WebSocket-Protocol counts as none', async ({ server }) => {
  const told = server.connected();
  connect(server.base, `app=hello&${key}`, [], { 'Sec-WebSocket-Protocol': '' });
  assert.equal((await told).names, ['hello']);
});

const long = 'n'.repeat(74);
const refusals: [
  what: string,
  query: string,
  options: { headers?: object; protocols?: string[] },
  status: number,
  body: unknown,
][] = [
  ['no credentials', 'app=hello', {}, 401, { message: 'Authentication required' }],
  ['no app', key, {}, 400, { type: 'MissingParams', asterisk_id: '02:00:00:00:00:01', params: ['app'] }],
  [
    'an empty app',
    `app=%20&${key}`,
    {},
    400,
    { type: 'MissingParams', asterisk_id: '02:00:00:00:00:01', params: ['app'] },
  ],
  [
    'an empty name in the list',
    `app=a,,b&${key}`,
    {},
    400,
    { message: "An application's name must have 1 to 73 characters: ''" },
  ],
  [
    'a name of 74 characters',
    `app=${long}&${key}`,
    {},
    400,
    { message: `An application's name must have 1 to 73 characters: '${long}'` },
  ],
  [
    'another sub-protocol',
    `app=a&${key}`,
    { protocols: ['chat'] },
    400,
    { message: "The WebSocket handshake is not valid: the one sub-protocol is 'ari'" },
  ],
];
for (const [what, query, options, status, body] of refusals) {
  socket(`${what} is refused before the upgrade, with a body`, async ({ server }) => {
    const refusal = await refusalOf(server.base, query, options);
    assert.is(refusal.status, status);
    assert.equal(refusal.body, body);
    if (status === 401) assert.is(refusal.headers['www-authenticate'], 'Basic realm="Asterisk REST Interface"');
    assert.is(server.connections.length, 0);
  });
}

socket('a name of 73 characters is taken', async ({ server }) => {
  const told = server.connected();
  connect(server.base, `app=${'n'.repeat(73)}&${key}`);
  assert.is((await told).names[0]?.length, 73);
});

/** Sends a raw request and resolves with what comes back until the server ends the connection. */
async function raw(base: string, lines: string[]): Promise<string> {
  const [host, port] = base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.write(`${lines.join('\r\n')}\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of tcp) chunks.push(chunk);
  return String(Buffer.concat(chunks));
}
const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Host: x', `Authorization: ${authorization}`];

socket('a handshake without a key, of an old version or of another method is refused', async ({ server }) => {
  const target = '/ari/events?app=a HTTP/1.1';
  const noKey = await raw(server.base, [`GET ${target}`, ...upgrade, 'Sec-WebSocket-Version: 13']);
  assert.match(noKey, /^HTTP\/1\.1 400 [\s\S]*sec-websocket-version: 13, 8[\s\S]*Sec-WebSocket-Key is missing/);
  const nonce = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
  assert.match(await raw(server.base, [`GET ${target}`, ...upgrade, nonce]), /^HTTP\/1\.1 400 [\s\S]*must be 13/);
  const posted = await raw(server.base, [`POST ${target}`, ...upgrade, nonce, 'Sec-WebSocket-Version: 13']);
  assert.match(posted, /^HTTP\/1\.1 405 [\s\S]*allow: OPTIONS[\s\S]*Invalid method/);
});

socket('an upgrade elsewhere, or of nonsense, is refused and the server lives', async ({ server }) => {
  const version = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
  assert.match(await raw(server.base, ['GET /ari/nothing HTTP/1.1', ...upgrade, ...version]), /^HTTP\/1\.1 404 /);
  assert.match(await raw(server.base, ['GET /ari/channels HTTP/1.1', ...upgrade, ...version]), /^HTTP\/1\.1 200 /);
  assert.is(await raw(server.base, ['GET // HTTP/1.1', ...upgrade, ...version]), '');
  assert.is((await server.ask('GET /ari/asterisk/ping')).status, 200);
});

socket('a request that offers another protocol is served as if it did not', async ({ server }) => {
  const body = 'direction=in';
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAA'];
  const headers = ['Host: x', `Authorization: ${authorization}`, 'Content-Type: application/x-www-form-urlencoded'];
  const [host, port] = server.base.split(':');
  const tcp = connectTcp(Number(port), host);
  const request = (more: string[]) =>
    `POST /ari/channels/c1/mute HTTP/1.1\r\n${[...headers, ...more, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`;
  tcp.write(request(offer));
  assert.match(String((await once(tcp, 'data'))[0]), /^HTTP\/1\.1 204 /);
  tcp.write(request([]));
  assert.match(String((await once(tcp, 'data'))[0]), /^HTTP\/1\.1 204 /);
  tcp.destroy();
  const call = ['channels.mute', 'c1', { direction: 'in' }];
  assert.equal(server.fakes.calls, [call, call]);
});

socket('a plain GET without app is MissingParams, with app it asks for an upgrade', async ({ server }) => {
  const missing = await server.ask('GET /ari/events');
  assert.is(missing.status, 400);
  assert.is(((await missing.json()) as { type: string }).type, 'MissingParams');
  const plain = await server.ask('GET /ari/events?app=a');
  assert.equal([plain.status, plain.headers.get('upgrade')], [426, 'websocket']);
});

socket('a message above the limit ends the connection, binary ones are ignored', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, `app=hello&${key}`);
  const connection = await told;
  await client.opened;
  client.ws.send(Buffer.from('{"type":"RESTRequest"}'));
  client.ws.send('{}');
  assert.is((await client.next())['status_code'], 400);
  client.ws.send('x'.repeat(65_536));
  assert.is((await client.closed)[0], 1009);
  await connection.closed;
});

socket(
  'a page of a foreign origin is refused, a program that names the host as its origin is not',
  async ({ server }) => {
    const refused = await refusalOf(server.base, `app=hello&${key}`, {
      headers: { origin: 'https://evil.example.net' },
    });
    assert.equal(
      [refused.status, refused.body],
      [403, { message: 'Pages of this origin are not allowed (http.allowed_origins)' }],
    );
    const client = connect(server.base, `app=hello&${key}`, [], { origin: `http://${server.base}` });
    await client.opened;
    client.ws.terminate();
  },
);

socket('a read-only user only observes, unless the user may register', async ({ server }) => {
  const observed = server.connected();
  const reader = connect(server.base, 'app=wall&api_key=reader:look:only');
  assert.is((await observed).observes, true);
  await reader.opened;
  reader.ws.terminate();
  const registered = server.connected();
  const desk = connect(server.base, 'app=desk&api_key=desk:p');
  assert.is((await registered).observes, false);
  await desk.opened;
  desk.ws.terminate();
  server.fakes.instead = (method) => {
    assert.is(method, 'applications.requireRegistrable');
    throw new AriError('applicationTaken', { name: 'hello' });
  };
  const refused = await refusalOf(server.base, 'app=hello&api_key=reader:look:only');
  assert.equal(
    [refused.status, refused.body],
    [403, { message: "Application 'hello' is registered by another user. A read-only user cannot take it over" }],
  );
});

socket('many clients that do not read are cut off before together they take more than allowed', async ({ server }) => {
  const event = JSON.stringify({ type: 'X', filler: 'x'.repeat(60_000) });
  const held: { connection: Connected; client: Client }[] = [];
  let cut = 0;
  for (let at = 0; at < 12; at++) {
    const told = server.connected();
    const client = connect(server.base, `app=slow${at}&${key}`);
    const connection = await told;
    await client.opened;
    client.ws.pause();
    void connection.closed.then(() => cut++);
    held.push({ connection, client });
  }
  // As long as the network takes what is sent nothing waits; then each may have 4 events of its own.
  for (let sent = 0; cut === 0; sent++) {
    assert.ok(sent < 2000, 'nobody was cut off');
    for (const { connection } of held) connection.send(event);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.is(server.logged.find(({ msg }) => msg === 'disconnected a slow consumer')?.['excess'], 'total');
  for (const { client } of held) client.ws.terminate();
  await Promise.all(held.map(({ connection }) => connection.closed));
});

socket('a client that does not read is cut off with 1013, by name in the log', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, `app=slow&${key}`);
  const connection = await told;
  await client.opened;
  client.ws.pause();
  const event = JSON.stringify({ type: 'X', filler: 'x'.repeat(60_000) });
  let sent = 0;
  let over = false;
  void connection.closed.then(() => {
    over = true;
  });
  while (!over && sent < 2000) {
    for (let burst = 0; burst < 20; burst++, sent++) connection.send(event);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(over, 'the application was disconnected');
  const line = server.logged.find(({ msg }) => msg === 'disconnected a slow consumer');
  assert.equal(line?.['applications'], ['slow']);
  client.ws.resume();
  assert.is((await client.closed)[0], 1013);
});

socket('what is sent after the client is gone is dropped', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, `app=hello&${key}`);
  const connection = await told;
  await client.opened;
  client.ws.terminate();
  await connection.closed;
  assert.not.throws(() => connection.send('{}'));
});

socket('applications that cannot be registered close the connection', async () => {
  const refusing = await startTestServer({}, { refuse: new AriError('applicationNameInvalid', { name: 'x' }) });
  const client = connect(refusing.base, `app=hello&${key}`);
  assert.equal(await client.closed, [1008, "An application's name must have 1 to 73 characters: 'x'"]);
  await refusing.server.close(100);
});

socket('closing the server says 1001 to every socket and takes no more', async ({ server }) => {
  const told = server.connected();
  const client = connect(server.base, `app=hello&${key}`);
  const connection = await told;
  await client.opened;
  await Promise.all([server.server.close(1000), connection.closed]);
  assert.is((await client.closed)[0], 1001);
});

socket('closing cuts a client that does not answer the close', async ({ server }) => {
  const told = server.connected();
  const [host, port] = server.base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.on('error', () => undefined);
  tcp.write(
    `GET /ari/events?app=mute HTTP/1.1\r\n${upgrade.join('\r\n')}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  );
  await told;
  tcp.resume();
  await Promise.all([once(tcp, 'close'), server.server.close(20)]);
});

socket.run();
