import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../support/manual-clock.ts';
import { authorization, options, samples } from './fakes.ts';
import { startTestServer } from './sockets.ts';

/** Lists that are longer than what is made at once, over real sockets. */

const lists = suite('long lists');
const unchecked = { ...options, validate: false };
const headers = { authorization };

/** Channels that are made when they are asked for. */
function channels(count: number, size: number) {
  const made = { count: 0 };
  function* items() {
    while (made.count < count) yield { ...samples.channel, id: `c${made.count++}`, name: 'x'.repeat(size) };
  }
  return { made, items };
}

lists('a list of any length is one JSON array, in its order', async () => {
  const { base, server, fakes } = await startTestServer(unchecked);
  for (const count of [0, 1, 63, 64, 65, 1_000]) {
    const { items } = channels(count, 1_000);
    fakes.instead = items;
    const response = await fetch(`http://${base}/ari/channels`, { headers });
    const list = (await response.json()) as { id: string }[];
    assert.is(response.headers.get('content-type'), 'application/json');
    assert.equal(
      list.map(({ id }) => id),
      Array.from({ length: count }, (_, n) => `c${n}`),
    );
  }
  await server.close();
});

lists('items of any length and any characters stand in a list as they are', async () => {
  const { base, server, fakes } = await startTestServer(unchecked);
  const channel = { ...samples.channel, name: 'ü' };
  const items = [channel, { ...channel, name: 'ü'.repeat(500_000) }, { ...channel, name: '\u{1f4de}"' }, channel];
  for (const listed of [items, items, [{ ...channel, state: 'Busy' }], items.slice(1, 2)]) {
    fakes.instead = () => listed;
    const text = await (await fetch(`http://${base}/ari/channels`, { headers })).text();
    assert.ok(text === JSON.stringify(listed));
  }
  await server.close();
});

lists('other requests are answered while a list is made', async () => {
  const { base, server, fakes } = await startTestServer(unchecked);
  const { made, items } = channels(5_000, 10_000);
  let madeAtPing = 0;
  fakes.instead = (method) => {
    if (method === 'channels.list') return items();
    madeAtPing = made.count;
    return samples.ping;
  };
  const list = fetch(`http://${base}/ari/channels`, { headers });
  const body = (await list).text();
  await (await fetch(`http://${base}/ari/asterisk/ping`, { headers })).json();
  assert.ok(madeAtPing > 0 && madeAtPing < 5_000, String(madeAtPing));
  assert.is(JSON.parse(await body).length, 5_000);
  await server.close();
});

lists('nothing more is made for a client that does not read, and it is cut off', async () => {
  const clock = new ManualClock();
  const { base, server, fakes, logged } = await startTestServer(unchecked, { clock });
  const { made, items } = channels(1_000, 1_000_000);
  fakes.instead = items;
  const [host, port] = base.split(':');
  const tcp = connectTcp({ port: Number(port), host: host as string });
  tcp.on('error', () => undefined);
  tcp.pause();
  tcp.write(`GET /ari/channels HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  while (logged.length === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
  }
  assert.is(logged[0]?.['msg'], 'a connection was closed: its client does not read the answers');
  assert.ok(made.count < 100, String(made.count));
  const closed = once(tcp, 'close');
  tcp.resume();
  await closed;
  await server.close();
});

lists('a list that fails in the middle closes its connection and nothing else', async () => {
  const { base, server, fakes, logged } = await startTestServer(unchecked);
  fakes.instead = function* (method) {
    if (method !== 'channels.list') return;
    yield* channels(1_000, 1_000).items();
    throw new Error('a model cannot be made');
  };
  const response = await fetch(`http://${base}/ari/channels`, { headers });
  assert.is(await response.text().catch(() => 'cut'), 'cut');
  assert.is(logged[0]?.['msg'], 'a list response failed while it was sent');
  fakes.instead = () => samples.ping;
  assert.is((await fetch(`http://${base}/ari/asterisk/ping`, { headers })).status, 200);
  await server.close();
});

lists.run();
