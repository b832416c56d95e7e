import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../support/manual-clock.ts';
import { createFakes, createTestApp } from './fakes.ts';

const kept = suite('the kept log-in of a page');

const page = { 'x-hookswitch-page': '1', host: 'pbx:8088' };

async function world() {
  const clock = new ManualClock();
  const app = createTestApp({ ...createFakes().owners, sessions: undefined, bans: undefined }, {}, clock);
  const { token } = (await (await app.ask('POST /hookswitch/sessions')).json()) as { token: string };
  const ask = (method: string, headers: Record<string, string>) => app.ask(`${method} /page-session`, { headers });
  return { clock, app, token, ask };
}

kept('a cookie that scripts cannot read and other sites cannot send hands the token back to the page', async () => {
  const { token, ask } = await world();
  const set = await ask('POST', { ...page, authorization: `Bearer ${token}` });
  assert.is(set.status, 204);
  assert.is(set.headers.get('set-cookie'), `hookswitch_8088=${token}; Path=/page-session; HttpOnly; SameSite=Strict`);
  const found = await ask('GET', { ...page, cookie: `other=1; hookswitch_8088=${token}` });
  assert.is(found.headers.get('cache-control'), 'no-store');
  assert.is(((await found.json()) as { token: string }).token, token);
});

kept('the cookie authenticates no operation', async () => {
  const { app, token } = await world();
  const headers = { cookie: `hookswitch_8088=${token}`, authorization: '', ...page };
  for (const path of ['/ari/channels', '/hookswitch/access', '/page-session/x'])
    assert.ok([401, 404].includes((await app.ask(`GET ${path}`, { headers })).status), path);
});

kept('a foreign page and a form get nothing', async () => {
  const { token, ask } = await world();
  const cookie = `hookswitch_8088=${token}`;
  assert.is((await ask('GET', { cookie, host: 'pbx:8088' })).status, 403);
  assert.is((await ask('GET', { ...page, cookie, origin: 'http://evil.example' })).status, 403);
  assert.is((await ask('DELETE', { ...page, cookie, origin: 'http://evil.example' })).status, 403);
  assert.is((await ask('PUT', page)).status, 405);
});

kept('an expired, a closed and an unknown token are forgotten', async () => {
  const { clock, app, token, ask } = await world();
  assert.is((await ask('GET', page)).status, 204);
  assert.is((await ask('POST', { ...page, authorization: 'Bearer guessed' })).status, 401);
  assert.is((await ask('POST', page)).status, 401);
  const unknown = await ask('GET', { ...page, cookie: 'hookswitch_8088=guessed' });
  assert.match(unknown.headers.get('set-cookie') ?? '', /^hookswitch_8088=; .*Max-Age=0$/);
  assert.is(unknown.status, 204);
  assert.match((await ask('DELETE', page)).headers.get('set-cookie') ?? '', /Max-Age=0$/);
  const cookie = `hookswitch_8088=${token}`;
  clock.advance(3_600_000);
  assert.is((await ask('GET', { ...page, cookie })).status, 204);
  assert.is((await app.ask('GET /ari/channels', { headers: { authorization: `Bearer ${token}` } })).status, 401);
});

kept.run();
