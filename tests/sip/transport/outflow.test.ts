import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openOutflow } from '../../../src/sip/transport/outflow.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const flowing = suite('packets that flow to one place over TCP');

/** A place that takes them. */
async function listener(port = 0) {
  const sockets: Socket[] = [];
  const heard: string[] = [];
  const news = new Set<() => void>();
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      heard.push(String(data));
      for (const look of news) look();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const until = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => heard.join('').includes(text) && resolve();
      news.add(look);
      look();
    });
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, heard, until, sockets, close };
}

type News = { type: string; reason?: string };

function flow(port: number, queue = 100) {
  const clock = new ManualClock();
  const news: News[] = [];
  const waiting = new Set<() => void>();
  const outflow = openOutflow({
    ...{ address: '127.0.0.1', port, queue, clock },
    told(each) {
      news.push(each);
      for (const look of waiting) look();
    },
  });
  const told = (type: string, count = 1) =>
    new Promise<void>((resolve) => {
      const look = () => news.filter((each) => each.type === type).length >= count && resolve();
      waiting.add(look);
      look();
    });
  return { clock, news, told, outflow };
}

flowing('what is sent before there is a connection comes in order, and so does what is sent then', async () => {
  const place = await listener();
  const { outflow, told } = flow(place.port);
  assert.equal(
    ['a', 'b'].map((text) => outflow.send(Buffer.from(text))),
    [true, true],
  );
  await told('connected');
  outflow.send(Buffer.from('c'));
  await place.until('abc');
  assert.is(outflow.left, 0);
  outflow.close();
  await place.close();
});

flowing(
  'a connection that is lost is made again, later each time; what does not fit is left out and counted',
  async () => {
    const place = await listener();
    const { port } = place;
    const { outflow, told, clock, news } = flow(port, 10);
    await told('connected');
    await place.close();
    await told('lost');
    assert.equal(
      ['12345', '67890', 'too much'].map((text) => outflow.send(Buffer.from(text))),
      [true, true, false],
    );
    assert.is(outflow.left, 1);
    // Nobody is there: after one second, after two more, and after four.
    for (const [count, ms] of [
      [2, 1_000],
      [3, 2_000],
    ] as const) {
      clock.advance(ms - 1);
      assert.is(news.filter(({ type }) => type === 'lost').length, count - 1);
      clock.advance(1);
      await told('lost', count);
    }
    const again = await listener(port);
    clock.advance(4_000);
    await told('connected', 2);
    await again.until('1234567890');
    outflow.send(Buffer.from('more'));
    await again.until('more');
    assert.is(outflow.left, 1);
    outflow.close();
    assert.is(outflow.send(Buffer.from('x')), false);
    await again.close();
  },
);

flowing('that the other side does not read is told once, and that it has read what waited', async () => {
  const place = await listener();
  const { outflow, told, news } = flow(place.port, 200_000);
  await told('connected');
  while (place.sockets.length === 0) await new Promise(setImmediate);
  place.sockets[0]?.pause();
  const packet = Buffer.alloc(50_000, 'x');
  // What the system takes for it is no fault of the other side's yet.
  while (outflow.send(packet)) await new Promise(setImmediate);
  assert.is(outflow.send(packet), false);
  assert.is(outflow.left, 2);
  assert.equal(news, [{ type: 'connected' }, { type: 'full' }]);
  place.sockets[0]?.resume();
  await told('drained');
  assert.is(outflow.send(Buffer.from('and on')), true);
  await place.until('and on');
  assert.equal(news, [{ type: 'connected' }, { type: 'full' }, { type: 'drained' }]);
  outflow.close();
  await place.close();
});

flowing('who closes it before there is a connection leaves nothing behind', async () => {
  const place = await listener();
  await place.close();
  const { outflow, told, clock } = flow(place.port);
  outflow.send(Buffer.from('a'));
  await told('lost');
  outflow.close();
  assert.is(outflow.left, 1);
  assert.is(clock.pending, 0);
});

flowing.run();
