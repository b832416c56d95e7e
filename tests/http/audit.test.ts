import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAudit } from '../../src/http/audit.ts';
import { apis } from '../../src/http/routes/index.ts';
import type { HttpUser } from '../../src/http/user.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { basic, options } from './fakes.ts';
import { connect, startTestServer } from './sockets.ts';

/** The audit log: a line for each command, by REST or WebSocket, and for who is not let in. */

type Line = Record<string, unknown>;
type World = { lines: Line[]; server: Awaited<ReturnType<typeof startTestServer>>; clock: ManualClock };
const audit = suite<World>('audit log');
const users: HttpUser[] = [
  ...options.users,
  { name: 'away', password: 'secret', read_only: false, allowed_addresses: ['192.0.2.1'] },
];

audit.before.each(async (world) => {
  world.lines = [];
  world.clock = new ManualClock();
  const file = { on: true, write: (line: string) => void world.lines.push(JSON.parse(line)) };
  world.server = await startTestServer(
    { users },
    { clock: world.clock, owners: { bans: undefined }, more: { audit: file } },
  );
});
audit.after.each(async ({ server }) => {
  await server.server.close(100);
});

const ask = (world: World, request: string, credentials: string, init: RequestInit = {}) => {
  const [method = 'GET', path = ''] = request.split(' ');
  const headers = { authorization: basic(credentials), 'x-request-id': 'r1', ...(init.headers as object) };
  return fetch(`http://${world.server.base}${path}`, { method, ...init, headers });
};

audit('a command is a line: who, from where, what, the answer and the request; looking is none', async (world) => {
  await ask(world, 'GET /ari/channels', 'writer:secret');
  await ask(world, 'POST /ari/channels/c1/answer', 'writer:secret');
  await ask(world, 'DELETE /ari/channels/c1', 'reader:look:only');
  const time = String(world.lines[0]?.['time']);
  assert.match(time, /^\d{4}-\d{2}-\d{2}T/);
  const line = { time, event: 'command', user: 'writer', from: '127.0.0.1', via: 'rest', door: 'rest', request: 'r1' };
  assert.equal(
    world.lines.filter(({ event }) => event === 'command'),
    [
      { ...line, operation: 'channels:answer', method: 'POST', path: '/ari/channels/c1/answer', status: 204 },
      {
        ...{ ...line, user: 'reader' },
        ...{ operation: 'channels:hangup', method: 'DELETE', path: '/ari/channels/c1', status: 403 },
      },
    ],
  );
  assert.equal({ ...world.lines[0], time: '' }, { time: '', event: 'log-in', user: 'writer', from: '127.0.0.1' });
});

audit('no secret enters: passwords, digits, texts, and values of variables', async (world) => {
  const json = { 'content-type': 'application/json' };
  const secret = 'S3CR3T';
  await ask(world, `POST /ari/channels/c1/dtmf?dtmf=${secret}&api_key=writer:secret`, 'writer:secret');
  await ask(world, `POST /ari/channels/c1/variable?variable=PIN&value=${secret}`, 'writer:secret');
  await ask(world, `PUT /ari/endpoints/sendMessage?to=sip:a@b&from=sip:c@d&body=${secret}`, 'writer:secret');
  const variables = { PIN: secret };
  const body = JSON.stringify({ endpoint: 'PJSIP/alice', app: 'hello', variables });
  await ask(world, 'POST /ari/channels', 'writer:secret', { headers: json, body });
  const fields = [{ attribute: 'password', value: secret }];
  await ask(world, 'PUT /ari/asterisk/config/dynamic/res_pjsip/auth/a', 'writer:secret', {
    headers: json,
    body: JSON.stringify({ fields }),
  });
  assert.equal(
    world.lines.filter(({ event }) => event === 'command').map(({ operation, params }) => [operation, params]),
    [
      ['channels:sendDTMF', undefined],
      ['channels:setChannelVar', { variable: 'PIN' }],
      ['endpoints:sendMessage', { to: 'sip:a@b', from: 'sip:c@d' }],
      ['channels:originate', { endpoint: 'PJSIP/alice', app: 'hello', variables: ['PIN'] }],
      ['asterisk:updateObject', undefined],
    ],
  );
  assert.not(JSON.stringify(world.lines).includes(secret));
  assert.not(JSON.stringify(world.lines).includes('writer:secret'));
});

audit('a WebSocket is a line, and so is each command over it', async (world) => {
  const client = connect(world.server.base, 'app=hello', [], { authorization: basic('writer:secret') });
  await client.opened;
  const request = { type: 'RESTRequest', transaction_id: 't', request_id: 'r2', method: 'DELETE', uri: 'channels/c1' };
  client.ws.send(JSON.stringify(request));
  await client.next();
  assert.equal(
    world.lines
      .filter(({ event }) => event === 'command')
      .map(({ operation, via, application, from, request: id, status }) => [
        operation,
        via,
        application,
        from,
        id,
        status,
      ]),
    [
      ['events:eventWebsocket', 'rest', undefined, '127.0.0.1', world.lines[1]?.['request'], 101],
      ['channels:hangup', 'websocket', 'hello', '127.0.0.1', 'r2', 204],
    ],
  );
  client.ws.terminate();
});

audit('who is not let in is a line, a few in a minute, and then how many more', async (world) => {
  await (await ask(world, 'GET /ari/channels', 'away:secret')).text();
  await (await fetch(`http://${world.server.base}/ari/channels`)).text();
  for (let count = 0; count < 12; count++) await (await ask(world, 'GET /ari/channels', `writer:${count}`)).text();
  world.clock.advance(60_000);
  await (await ask(world, 'GET /ari/channels', 'writer:wrong')).text();
  assert.equal(
    world.lines.map(({ event, user, from, reason, more }) => [event, user, from, reason, more]),
    [
      ['log-in refused', 'away', '127.0.0.1', 'addressDenied', undefined],
      ...Array.from({ length: 9 }, () => [
        ...['log-in refused', 'writer', '127.0.0.1', 'authenticationRequired'],
        undefined,
      ]),
      ['log-in refused', 'writer', '127.0.0.1', 'authenticationRequired', 3],
    ],
  );
});

audit('every operation that changes something is written down, and none that does not', () => {
  const lines: Line[] = [];
  const writer = createAudit({ on: true, write: (line) => void lines.push(JSON.parse(line)) }, new ManualClock());
  const [user] = users as [HttpUser];
  const sources = { query: undefined, form: undefined, json: undefined };
  for (const { base, resources } of apis)
    for (const operation of resources.flatMap((resource) => resource.operations)) {
      const name = `${operation.resource}:${operation.nickname}`;
      const raw = { method: operation.method, url: `http://x${base}${operation.paths[0]}` };
      const written = writer.begin({ req: { raw }, env: {} } as never, user, operation, sources);
      assert.is(written !== undefined, operation.method !== 'GET' || operation.upgrade, name);
      written?.({ status: 200 } as Response);
      if (written) assert.is(lines.at(-1)?.['operation'], name);
    }
});

audit.run();
