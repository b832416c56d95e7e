import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, Client } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';
import { openTarget } from '../support/conformance-target.ts';
import { boundPair } from '../support/socket-pair.ts';

const test = suite('external media, asked from outside');
let client: Client;
let app: App;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('media'));
});

const line = (query: string): string => `POST /channels/externalMedia?${query}`;
const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';

test('a channel over RTP is Down in the answer, with its variables, and enters its application when Up', async () => {
  const { rtp: far } = await boundPair();
  const id = client.unique('rtp');
  const made = await client.must<{ name: string; state: string; channelvars: Record<string, string> }>(
    line(`app=${app.name}&external_host=127.0.0.1:${far.address().port}&format=slin16&channelId=${id}&data=a,b`),
    { json: { variables: { COLOUR: 'green' } } },
  );
  assert.equal(misfits('Channel', made), []);
  assert.ok(made.name.startsWith(`UnicastRTP/127.0.0.1:${far.address().port}-0x`), made.name);
  assert.is(made.channelvars['COLOUR'], 'green');
  assert.is(made.channelvars['UNICASTRTP_LOCAL_ADDRESS'], '127.0.0.1');
  assert.match(made.channelvars['UNICASTRTP_LOCAL_PORT'] ?? '', /^\d+$/);
  const start = await app.about(id, 'StasisStart');
  assert.equal(start['args'], ['a', 'b']);
  await client.must(`DELETE /channels/${id}`);
  await app.about(id, 'ChannelDestroyed');
  far.close();
});

test('a channel that a server opens its WebSocket to waits for it, and tells where to', async () => {
  const id = client.unique('server');
  const made = await client.must<{ name: string; state: string; channelvars: Record<string, string> }>(
    line(`app=${app.name}&transport=websocket&encapsulation=none&connection_type=server&format=slin16&channelId=${id}`),
  );
  assert.equal(misfits('Channel', made), []);
  assert.ok(made.name.startsWith('WebSocket/INCOMING/0x'), made.name);
  assert.is(made.state, 'Down');
  assert.match(made.channelvars['MEDIA_WEBSOCKET_CONNECTION_ID'] ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.is(made.channelvars['MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE'], '640');
  await client.must(`DELETE /channels/${id}`);
});

test('parameters are taken from a JSON body as well', async () => {
  const id = client.unique('body');
  await client.must('POST /channels/externalMedia', {
    json: { app: app.name, external_host: '127.0.0.1:9', format: 'ulaw', channelId: id, direction: 'both' },
  });
  await app.about(id, 'StasisStart');
  await client.must(`DELETE /channels/${id}`);
});

test('external media is refused for the first fault of several', async () => {
  const bad = { status: 400 };
  await runAll(client, {}, [
    {
      ask: line('encapsulation=x'),
      with: { json: { variables: { a: 1 } } },
      ...bad,
      message: "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'",
    },
    { ask: line('transport=websocket'), ...bad, message: 'app cannot be empty' },
    { ask: line('app=x&transport=websocket'), ...bad, message: "encapsulation must be 'none' for websocket transport" },
    { ask: line('app=x&transport=tcp'), ...bad, message: "transport must be 'udp' for rtp encapsulation" },
    {
      ask: line('app=x&encapsulation=audiosocket'),
      ...bad,
      message: "transport must be 'tcp' for audiosocket encapsulation",
    },
    {
      ask: line('app=x&connection_type=server'),
      ...bad,
      message: "'server' connection_type can only be used with the websocket transport",
    },
    { ask: line('app=x'), ...bad, message: 'external_host is required for all but websocket server connections' },
    {
      ask: line('app=x&transport=websocket&encapsulation=none&external_host=nobody'),
      ...bad,
      message: 'external_host must be a valid websocket_client connection id.',
    },
    {
      ask: line('app=x&external_host=nobody'),
      ...bad,
      message: 'external_host must be <host>:<port> for all transports other than websocket',
    },
    { ask: line('app=x&external_host=127.0.0.1:9&direction=x'), ...bad, message: 'format cannot be empty' },
    {
      ask: line('app=x&external_host=127.0.0.1:9&format=ulaw&direction=x'),
      ...bad,
      message: 'Invalid direction specified',
    },
    {
      ask: line('app=x&external_host=127.0.0.1:9&format=slin&encapsulation=audiosocket&transport=tcp'),
      ...bad,
      message: 'data can not be empty',
    },
    {
      ask: line('app=x&external_host=127.0.0.1:9&format=slin&encapsulation=none&transport=tcp'),
      status: 501,
      message: 'The encapsulation and/or transport is not supported',
    },
  ]);
});

const failed = 'An internal error prevented this request from being handled';

test('external media that cannot be had is refused with the part at fault', async () => {
  const id = client.unique('used');
  await client.must(line(`app=${app.name}&external_host=127.0.0.1:9&format=ulaw&channelId=${id}`));
  const why = 'A channel that cannot be made';
  const difference = { status: 500, message: failed, why };
  const tcp = 'encapsulation=audiosocket&transport=tcp';
  await runAll(client, {}, [
    {
      ask: line('app=x&external_host=127.0.0.1:9&format=nothing'),
      status: 400,
      message: "Allocation failed: there is no format 'nothing'",
      error: 'Allocation failed',
      difference,
    },
    {
      ask: line('app=x&external_host=127.0.0.1:99999&format=ulaw'),
      status: 400,
      message: "Allocation failed: '127.0.0.1:99999' is not <host>:<port>",
      error: 'Allocation failed',
      difference,
    },
    {
      ask: line(`app=x&external_host=127.0.0.1:9&format=slin&data=me&${tcp}`),
      status: 400,
      message: "Allocation failed: 'me' is not a UUID",
      error: 'Allocation failed',
      difference,
    },
    {
      ask: line(`app=x&external_host=127.0.0.1:9&format=opus&data=${uuid}&${tcp}`),
      status: 400,
      message: "Allocation failed: 'opus' cannot be sent over AudioSocket",
      error: 'Allocation failed',
      difference,
    },
    {
      ask: line(`app=x&external_host=127.0.0.1:9&format=ulaw&channelId=${id}`),
      status: 409,
      message: 'Channel with given unique ID already exists',
      difference: { status: 500, message: failed, why: '`channelId` of external media that is in use' },
    },
    {
      ask: line(`app=x&external_host=127.0.0.1:9&format=ulaw&channelId=${'x'.repeat(150)}`),
      status: 400,
      message: 'Uniqueid length exceeds maximum of 149',
      difference: { status: 500, message: failed, why },
    },
  ]);
  await client.must(`DELETE /channels/${id}`);
});

test('with the answers of Asterisk, what cannot be had is an internal error', async () => {
  const field = new Client(await openTarget('asterisk'));
  try {
    await runAll(field, {}, [
      { ask: line('app=x&external_host=127.0.0.1:9&format=nothing'), status: 500, message: failed },
    ]);
  } finally {
    await field.close();
    await field.target.close();
  }
});

test.run();
