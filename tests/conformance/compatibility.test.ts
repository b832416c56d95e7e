import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callUp, check, usesTarget } from '../support/conformance-cases.ts';
import type { App, Client } from '../support/conformance-client.ts';

/** The rows of docs/differences.md marked **switch**: with `general.compatibility: asterisk` the answers are Asterisk's. */
const test = suite('answers of Asterisk, where they are asked for');
let client: Client;
let app: App;

usesTarget(
  test,
  async (own) => {
    client = own;
    app = await client.connect(client.unique('compatible'));
  },
  'asterisk',
);

test('a channel that cannot be made is 500 with the error alone', async () => {
  for (const path of ['/channels?', '/channels/originate?', '/channels/x?', '/channels/create?'])
    for (const endpoint of ['X/y', 'PJSIP/nobody']) {
      const line = `POST ${path}app=${app.name}&endpoint=${endpoint}`;
      check(await client.ask(line), { status: 500, error: 'Allocation failed' }, line);
    }
});

test('a hang-up by software shows 32, one by the far side its cause, and the end the real one', async () => {
  const id = client.unique('soft');
  await callUp(client, app, id);
  await client.must(`DELETE /channels/${id}?reason=busy`);
  const asked = await app.about(id, 'ChannelHangupRequest');
  assert.equal([asked['cause'], asked['soft']], [32, true]);
  const destroyed = await app.about(id, 'ChannelDestroyed');
  assert.equal([destroyed['cause'], destroyed['cause_txt']], [17, 'User busy']);
  const other = client.unique('hard');
  await client.must(`POST /channels/${other}?endpoint=Local/hangup@conformance&app=${app.name}`);
  const told = await app.about(other, 'ChannelHangupRequest');
  assert.equal([told['cause'], 'soft' in told], [21, false]);
});

test('a recording name in use is a conflict, and who is recorded enters no bridge', async () => {
  const id = client.unique('recorded');
  await callUp(client, app, id);
  const [name, bridge] = [client.unique('recording'), client.unique('bridge')];
  const record = `POST /channels/${id}/record?format=wav&name=`;
  await client.must(record + name);
  await client.must(`POST /bridges/${bridge}`);
  const exists = `Recording '${name}' already exists and can not be overwritten`;
  check(await client.ask(record + name), { status: 409, message: exists }, record);
  const enter = `POST /bridges/${bridge}/addChannel?channel=${id}`;
  check(await client.ask(enter), { status: 409, message: `Channel ${id} currently recording` }, enter);
  await client.must(`POST /recordings/live/${name}/stop`);
  await app.wait('RecordingFinished', ({ recording }) => (recording as { name: string } | undefined)?.name === name);
  await client.must(enter);
  const other = client.unique('refused');
  await client.must(record + other);
  const failed = await app.wait(
    'RecordingFailed',
    ({ recording }) => (recording as { name: string } | undefined)?.name === other,
  );
  assert.is((failed['recording'] as { cause: string }).cause, 'Cannot record channel while in bridge');
  await client.must(`DELETE /bridges/${bridge}`);
  await client.must(`DELETE /recordings/stored/${name}`);
});

test.run();
