import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dgramSockets } from '../../../src/media/rtp/dgram-sockets.ts';

test('a socket of all addresses tells addresses of IPv4 as such, and sends to them', async () => {
  const [all, four] = [await dgramSockets.bind('::', 0), await dgramSockets.bind('127.0.0.1', 0)];
  const came = new Promise<string>((resolve) => all.listen((_packet, address) => resolve(address)));
  four.send(new Uint8Array(12), all.port, '127.0.0.1');
  assert.is(await came, '127.0.0.1');
  const answered = new Promise<number>((resolve) => four.listen((_packet, _address, port) => resolve(port)));
  all.send(new Uint8Array(12), four.port, '127.0.0.1');
  assert.is(await answered, all.port);
  all.close();
  four.close();
});

test.run();
