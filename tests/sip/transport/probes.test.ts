import { createSocket } from 'node:dgram';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openUdpProbe } from '../../../src/sip/transport/probes.ts';

for (const [host, type] of [
  ['127.0.0.1', 'udp4'],
  ['::1', 'udp6'],
] as const)
  test(`a probe at ${host} hears that a port is closed, and reaches one that is open`, async () => {
    const socket = createSocket(type);
    await new Promise<void>((resolve) => socket.bind(0, host, resolve));
    const { port } = socket.address();
    const arrived = new Promise<string>((resolve) => socket.once('message', (bytes) => resolve(bytes.toString())));
    const close = openUdpProbe(host, port, () => assert.unreachable('the port is open'));
    assert.is(await arrived, '\r\n\r\n');
    close();
    close();
    await new Promise<void>((resolve) => socket.close(resolve));
    await new Promise<void>((resolve) => openUdpProbe(host, port, resolve));
  });

test('a probe that is closed at once says nothing', async () => {
  const closeFirst = openUdpProbe('127.0.0.1', 9, () => assert.unreachable('it is closed'));
  closeFirst();
  await new Promise<void>((resolve) => openUdpProbe('127.0.0.1', 9, resolve));
});

test.run();
