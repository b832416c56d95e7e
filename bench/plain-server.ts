/**
 * The yardstick: plain node:http that answers a ping with the body that the interface gives, without looking at
 * anything. Tells its port to the process that forked it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../src/lib/clock.ts';
import { formatTimestamp } from '../src/models/timestamp.ts';

const server = createServer((_request, response) => {
  const timestamp = formatTimestamp(systemClock.now());
  const body = JSON.stringify({ asterisk_id: '02:00:00:00:00:01', ping: 'pong', timestamp });
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
