import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { idleConnections, takeConnection } from '../../src/http/left-connections.ts';

const left = suite('connections that are left to another process');

left('are those whose request has not begun, and they are read no longer', async () => {
  const sockets: Socket[] = [];
  const asked: string[] = [];
  let answer = (_text: string): void => undefined;
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url !== '/slow') {
      response.end(url);
      return;
    }
    answer = (text) => void response.end(text);
    server.emit('slow');
  });
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = async (sent: string): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const client = connect(port, '127.0.0.1');
    await accepted;
    if (sent !== '') client.write(sent);
    return client;
  };
  const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const slow = once(server, 'slow');
  const clients = [await open(head('/done')), await open(''), await open('GET /half'), await open(head('/slow'))];
  const [done] = clients;
  try {
    await Promise.all([once(done!, 'data'), slow]);
    while (sockets[2]!.bytesRead === 0) await new Promise((resolve) => setImmediate(resolve));
    const descriptors = idleConnections(server, sockets);
    assert.is(descriptors.length, 2);
    assert.equal(
      sockets.map((socket) => socket.isPaused()),
      [true, true, false, false],
    );
    assert.equal(
      sockets.map(({ destroyed }) => destroyed),
      [false, false, false, false],
    );
    // The others are served on.
    const answered = Promise.all(clients.slice(2).map((client) => once(client, 'data')));
    done!.write(head('/later'));
    clients[2]!.write(' HTTP/1.1\r\nHost: x\r\n\r\n');
    answer('/slow');
    assert.equal(
      (await answered).map(([octets]) => String(octets).split('\r\n\r\n')[1]),
      ['/half', '/slow'],
    );
    assert.equal(asked, ['/done', '/slow', '/half']);
  } finally {
    for (const client of clients) client.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

left('are passed over where they cannot be used', () => {
  const server = createServer();
  let taken = 0;
  server.on('connection', () => taken++);
  takeConnection(server, 1_000_000);
  assert.is(taken, 0);
});

left.run();
