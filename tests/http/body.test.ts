import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFakes, createTestApp, json } from './fakes.ts';

const fakes = createFakes();
const app = createTestApp(fakes.owners);

const nested = (levels: number) => `{"allowed":[{"type":"Dial","more":${'['.repeat(levels)}${']'.repeat(levels)}}]}`;
const put = (body: string) => app.ask('PUT /ari/applications/hello/eventFilter', { headers: json, body });

test('a JSON body that is nested too deep to be serialized is refused before it is stored', async () => {
  fakes.calls.length = 0;
  for (const levels of [70, 10_000]) {
    const response = await put(nested(levels));
    assert.is(response.status, 400);
    assert.equal(await response.json(), { message: 'Error parsing request body' });
  }
  assert.equal(fakes.calls, []);
  assert.is((await put(nested(30))).status, 200);
});

test.run();
