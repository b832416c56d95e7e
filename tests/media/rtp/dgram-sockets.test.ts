import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeDgramSockets, dgramSockets } from '../../../src/media/rtp/dgram-sockets.ts';

test('before a thread ends all of its sockets are closed at once', async () => {
  const one = await dgramSockets.bind('127.0.0.1', 0);
  const other = await dgramSockets.bind('127.0.0.1', 0);
  closeDgramSockets();
  one.send(new Uint8Array(12), other.port, '127.0.0.1');
  one.close();
  for (const { port } of [one, other]) {
    const again = await dgramSockets.bind('127.0.0.1', port);
    assert.is(again.port, port, 'its port is free');
    again.close();
  }
});

test.run();
