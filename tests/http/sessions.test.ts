import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSessions } from '../../src/http/sessions.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { basic, createFakes, createTestApp, options } from './fakes.ts';
import { connect, refusalOf, startTestServer } from './sockets.ts';

const sessions = suite('log-ins of pages');

type Session = { token: string; user: string; read_only: boolean; expires: string };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const reader = { authorization: basic('reader:look:only') };

function world(changes = {}) {
  const clock = new ManualClock();
  const fakes = createFakes();
  const app = createTestApp({ ...fakes.owners, sessions: undefined, bans: undefined }, changes, clock);
  const logIn = async (headers?: Record<string, string>): Promise<Session> => {
    const answer = await app.ask('POST /hookswitch/sessions', headers && { headers });
    assert.is(answer.status, 200);
    return (await answer.json()) as Session;
  };
  const status = async (ask: string, headers: Record<string, string>) => (await app.ask(ask, { headers })).status;
  return { clock, app, logIn, status };
}

sessions('a token stands for its user until it expires', async () => {
  const { clock, logIn, status } = world();
  const session = await logIn();
  assert.equal([session.token, session.user, session.read_only], ['secret-1', 'writer', false]);
  assert.is(await status('DELETE /ari/channels/c1', bearer(session.token)), 204);
  clock.advance(3_599_999);
  assert.is(await status('GET /ari/channels', bearer(session.token)), 200);
  clock.advance(1);
  assert.is(await status('GET /ari/channels', bearer(session.token)), 401);
});

sessions('a token is over when its page logs out, and one that is not known never was one', async () => {
  const { logIn, status } = world();
  const { token } = await logIn();
  assert.is(await status('DELETE /hookswitch/sessions', bearer(token)), 204);
  assert.is(await status('GET /ari/channels', bearer(token)), 401);
  assert.is(await status('GET /ari/channels', bearer('guessed')), 401);
  assert.is(await status('GET /ari/channels', { authorization: 'Bearer ' }), 401);
});

sessions('who may only look can log in and out, and still changes nothing', async () => {
  const { logIn, status } = world();
  const session = await logIn(reader);
  assert.is(session.read_only, true);
  assert.is(await status('GET /ari/channels', bearer(session.token)), 200);
  assert.is(await status('DELETE /ari/channels/c1', bearer(session.token)), 403);
  assert.is(await status('PUT /hookswitch/sessions', bearer(session.token)), 403);
  assert.is(await status('POST /hookswitch/sessions/tickets', bearer(session.token)), 200);
  assert.is(await status('DELETE /hookswitch/sessions', bearer(session.token)), 204);
});

sessions('there are so many at most: the oldest goes', async () => {
  const { logIn, status } = world();
  const [first, second] = [await logIn(), await logIn(), await logIn(), await logIn()];
  assert.is(await status('GET /ari/channels', bearer(first.token)), 401);
  assert.is(await status('GET /ari/channels', bearer(second?.token ?? '')), 200);
});

sessions('tokens of a user end when the user changes; those of others stay', async () => {
  const { app, logIn, status } = world();
  const [writer, looker] = [await logIn(), await logIn(reader)];
  const [, other] = options.users;
  app.reconfigure({
    ...options,
    users: [{ name: 'writer', password: 'new', read_only: false }, ...(other ? [other] : [])],
  });
  assert.is(await status('GET /ari/channels', bearer(writer.token)), 401);
  assert.is(await status('GET /ari/channels', bearer(looker.token)), 200);
});

sessions('a ticket is good once, for a while', () => {
  const clock = new ManualClock();
  let made = 0;
  const secret = () => `k${++made}`;
  const own = createSessions({ lifetime: 60, most: 2, ticket_lifetime: 30 }, { clock, secret, known: () => undefined });
  const [user] = options.users;
  assert.ok(user);
  const asker = { user, token: undefined };
  const { ticket } = own.ticket(asker);
  assert.is(own.redeem(ticket), user);
  assert.is(own.redeem(ticket), undefined);
  const late = own.ticket(asker);
  clock.advance(30_000);
  assert.is(own.redeem(late.ticket), undefined);
  assert.is(own.size, 0);
});

sessions('a ticket opens one WebSocket, whose requests are those of its user, and nothing else', async () => {
  const server = await startTestServer({}, { owners: { sessions: undefined } });
  try {
    const ask = async (path: string, method = 'GET', headers = reader) => {
      const answer = await fetch(`http://${server.base}${path}`, { method, headers });
      return { status: answer.status, body: await answer.json() };
    };
    const { body } = await ask('/hookswitch/sessions/tickets', 'POST');
    const { ticket } = body as { ticket: string };
    assert.is((await ask(`/ari/channels?ticket=${ticket}`, 'GET', {} as never)).status, 401);
    const told = server.connected();
    const client = connect(server.base, `app=wall&ticket=${ticket}`);
    await client.opened;
    assert.is((await told).observes, true);
    const rest = { type: 'RESTRequest', request_id: '1', method: 'DELETE', uri: 'channels/c1' };
    client.ws.send(JSON.stringify(rest));
    assert.is((await client.next()).status_code, 403);
    client.ws.send(JSON.stringify({ ...rest, method: 'GET' }));
    assert.is((await client.next()).status_code, 200);
    assert.is((await refusalOf(server.base, `app=wall&ticket=${ticket}`)).status, 401);
    client.ws.close();
  } finally {
    await server.server.close(100);
  }
});

sessions.run();
