import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { onServer, password, type TestServer, user } from '../support/server.ts';

const monitoring = suite('what those who watch over the server may ask');

const ask = async ({ url }: TestServer, path: string, init: RequestInit = {}) => {
  const response = await fetch(new URL(path, url), init);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
const plain = 'text/plain; charset=utf-8';
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

monitoring('this machine reads metrics without credentials, but with none that are wrong', () =>
  onServer({}, async (server) => {
    const read = await ask(server, '/metrics');
    assert.equal([read.status, read.type], [200, 'text/plain; version=0.0.4; charset=utf-8']);
    assert.match(read.text, /^hookswitch_memory_bytes\{kind="resident"\} \d+$/m);
    assert.match(read.text, /^hookswitch_event_loop_delay_seconds\{kind="p99",thread="main"\} /m);
    const wrong = { headers: { authorization: `Basic ${Buffer.from(`${user}:guess`).toString('base64')}` } };
    assert.is((await ask(server, '/metrics', wrong)).status, 401);
    const { status } = await ask(server, '/metrics', { method: 'POST' });
    assert.is(status, 401);
    assert.is((await ask(server, '/metrics', { method: 'POST', headers: { authorization } })).status, 405);
  }),
);

monitoring('where no network is allowed only users read metrics', () =>
  onServer({ metrics: { allowed: [] } }, async (server) => {
    assert.is((await ask(server, '/metrics')).status, 401);
    assert.is((await ask(server, '/metrics', { headers: { authorization } })).status, 200);
  }),
);

monitoring('everybody may ask whether the server lives and is ready, and is told nothing else', () =>
  onServer({}, async (server) => {
    assert.equal(await ask(server, '/health/live'), { status: 200, type: plain, text: 'live\n' });
    assert.equal(await ask(server, '/health/ready'), { status: 200, type: plain, text: 'ready\n' });
    assert.is((await ask(server, '/health/ready', { method: 'DELETE' })).status, 405);
    await server.running.drain();
    assert.equal(await ask(server, '/health/ready'), { status: 503, type: plain, text: 'not ready\n' });
    assert.equal(await ask(server, '/health/live'), { status: 200, type: plain, text: 'live\n' });
  }),
);

monitoring.run();
