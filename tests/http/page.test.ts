import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageDirectory } from '../../src/settings.ts';
import { readPageFiles } from '../../src/stores/page-files.ts';
import { createFakes, createTestApp } from './fakes.ts';

const page = suite('the page');

const files = readPageFiles(pageDirectory);
const built = createTestApp(createFakes().owners, {}, undefined, { version: '1.2.3', files });
const bare = createTestApp(createFakes().owners);
const html = { accept: 'text/html,application/xhtml+xml;q=0.9' };
const nobody = {};

page('browsers get it at /, programs are told where they are', async () => {
  const shown = await built.ask('GET /', { headers: html });
  assert.equal([shown.status, shown.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  const told = await built.ask('GET /', { headers: nobody });
  assert.equal(await told.json(), {
    name: 'Hookswitch',
    version: '1.2.3',
    ari: { base: '/ari', description: '/ari/openapi.json' },
    hookswitch: { base: '/hookswitch', description: '/hookswitch/openapi.json' },
  });
  assert.is((await built.ask('POST /', { headers: html })).status, 405);
  assert.is((await bare.ask('GET /', { headers: html })).headers.get('content-type'), 'application/json');
});

page('its files come without credentials, and again only when they have changed', async () => {
  const script = await built.ask('GET /page/app.js', { headers: nobody });
  assert.equal([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
  const headers = { 'if-none-match': script.headers.get('etag') ?? '' };
  assert.is((await built.ask('GET /page/app.js', { headers })).status, 304);
  for (const name of ['charts.json', 'nothing.js', '..%2Fcli.js'])
    assert.is((await built.ask(`GET /page/${name}`, { headers: nobody })).status, 404, name);
});

page('nothing in it may be loaded from elsewhere, nothing inline runs, nobody frames it', async () => {
  const shown = await built.ask('GET /', { headers: html });
  const names = ['content-security-policy', 'x-content-type-options', 'referrer-policy'];
  assert.equal(
    names.map((name) => shown.headers.get(name)),
    [
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'nosniff',
      'no-referrer',
    ],
  );
  const text = await shown.text();
  assert.not.ok(/<script(?! type="module" src="\/page\/)|<style|style=| on\w+=|https?:/.test(text), text);
});

page('a browser that asks for a base path is told what is there', async () => {
  const told = await built.ask('GET /ari', { headers: html });
  assert.is(told.status, 200);
  assert.match(await told.text(), /href="\/ari\/openapi\.json"/);
  assert.is((await built.ask('GET /ari', { headers: nobody })).status, 401);
  assert.is((await built.ask('GET /ari')).status, 405);
});

page.run();
