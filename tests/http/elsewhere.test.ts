import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Cluster } from '../../src/cluster/cluster.ts';
import type { RemoteRequest } from '../../src/cluster/forwards.ts';
import type { CallPage } from '../../src/models/call.ts';
import { AriError } from '../../src/models/errors.ts';
import { authorization, callPage, options, samples } from './fakes.ts';
import { startTestServer } from './sockets.ts';

/** What the node `a` does with a request while the node `b` answers as it is told. */

type World = Awaited<ReturnType<typeof begin>>;
const elsewhere = suite<World>('requests on their way to other nodes');

async function begin() {
  const asked: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const other: { answer: () => Response } = { answer: () => Response.json([]) };
  const cluster = {
    name: 'a',
    ask: async (node: string, { method, url }: RemoteRequest) => {
      asked.push(`${node} ${method} ${url}`);
      return other.answer();
    },
    markedNode: (id: string) => (id.startsWith('b~') ? 'b' : undefined),
    claims: { nodeOf: async () => undefined },
    isAway: () => false,
    others: () => ({ asked: ['b'], away: [] }),
    mostOctets: 1_000_000,
    hit() {},
    refreshApplications: async () => {},
  } as unknown as Cluster;
  const audit = { on: true, write: (line: string) => void lines.push(JSON.parse(line)) };
  const server = await startTestServer(
    {},
    {
      owners: { bans: undefined },
      more: {
        audit,
        cluster: {
          cluster,
          isHere: (_kind, id) => !id.startsWith('b~'),
          isOnline: () => undefined,
          isActive: () => true,
        },
      },
    },
  );
  const ask = (method: string, path: string) =>
    fetch(`http://${server.base}${path}`, { method, headers: { authorization } });
  return { server, asked, lines, other, ask };
}

elsewhere.before.each(async (world) => void Object.assign(world, await begin()));
elsewhere.after.each(({ server }) => server.server.close(100));

const refused = (): Response =>
  new Response('{"message":"no"}', {
    status: 404,
    statusText: 'Bridge Not Found',
    headers: { 'content-type': 'application/json' },
  });

elsewhere('the reason phrase is that of the answer, not of a node that refused', async ({ ask, other, server }) => {
  other.answer = refused;
  const listed = await ask('GET', '/ari/bridges');
  assert.equal([listed.status, listed.statusText, await listed.json()], [200, 'OK', [samples.bridge]]);
  const own = await ask('GET', '/ari/bridges/b~1');
  assert.equal([own.status, own.statusText], [404, 'Bridge Not Found']);
  other.answer = () => Response.json([samples.bridge]);
  server.fakes.instead = () => {
    throw new AriError('bridgeVariablesNotFound');
  };
  const theirs = await ask('GET', '/ari/bridges');
  assert.equal([theirs.status, theirs.statusText, await theirs.json()], [200, 'OK', [samples.bridge]]);
});

elsewhere('sources are divided by the nodes that have them, and others concern all', async ({ ask, other, asked }) => {
  other.answer = () => Response.json({ name: 'hello', channel_ids: ['b~2'] });
  const answer = await ask(
    'POST',
    '/ari/applications/hello/subscription?eventSource=channel:c1,channel:b~2,endpoint:PJSIP',
  );
  assert.is(answer.status, 200);
  const query = new URLSearchParams({ eventSource: '"channel:b~2","endpoint:PJSIP"' });
  assert.equal(asked, [`b POST /ari/applications/hello/subscription?${query}`]);
  assert.equal(((await answer.json()) as { channel_ids: string[] }).channel_ids, ['b~2']);
});

elsewhere('a forwarded command is in the audit log of the node where it came in', async ({ ask, lines, server }) => {
  await ask('POST', '/ari/channels/b~1/answer');
  const commands = () => lines.filter(({ event }) => event === 'command').map(({ path }) => path);
  assert.equal(commands(), ['/ari/channels/b~1/answer']);
  const [localUser] = options.users;
  const forwarded = await server.app.request(
    '/ari/channels/c1/answer',
    { method: 'POST' },
    { forwarded: true, localUser },
  );
  assert.is(forwarded.status, 204);
  assert.equal(commands(), ['/ari/channels/b~1/answer']);
});

const callAt = (id: string, began: number) => ({ ...callPage.calls[0], id, began });

elsewhere('a page of calls has the newest of all nodes', async ({ ask, other, asked, server }) => {
  const own = ['a~4', 'a~2'].map((id, place) => callAt(id, 40 - 20 * place));
  server.fakes.instead = () => ({ calls: own, total: 2, evicted: 1 });
  other.answer = () => Response.json({ calls: [callAt('b~3', 30), callAt('b~1', 10)], total: 7, evicted: 2 });
  const answer = await ask('GET', '/hookswitch/calls?state=live&offset=1&limit=2');
  const { calls, ...rest } = (await answer.json()) as CallPage;
  assert.equal(
    calls.map(({ id }) => id),
    ['b~3', 'a~2'],
  );
  assert.equal(rest, { total: 9, next: 3, evicted: 3 });
  assert.equal(asked, ['b GET /hookswitch/calls?state=live&offset=0&limit=3']);
  assert.is(answer.headers.get('hookswitch-missing-nodes'), null);
  assert.match(String(answer.headers.get('content-type')), /json/);
});

elsewhere('more calls than one answer holds are asked for in several', async ({ ask, other, asked }) => {
  const pages = [0, 1_000].map((first) => ({
    calls: Array.from({ length: first === 0 ? 1_000 : 500 }, (_, place) =>
      callAt(`b~${first + place}`, -first - place),
    ),
    ...{ total: 1_500, evicted: 0 },
    ...(first === 0 && { next: 1_000 }),
  }));
  other.answer = () => Response.json(pages[asked.length - 1]);
  const answer = await ask('GET', '/hookswitch/calls?offset=1200&limit=100');
  const { calls, total, next } = (await answer.json()) as CallPage;
  assert.equal([calls.length, calls[0]?.id, total, next], [100, 'b~1199', 1_501, 1_300]);
  assert.equal(
    asked.map((each) => each.split('?')[1]),
    ['offset=0&limit=1000', 'offset=1000&limit=300'],
  );
});

elsewhere('a page of calls names the nodes that do not answer; bad conditions are refused', async (world) => {
  world.other.answer = () => {
    throw new AriError('nodeUnavailable', { node: 'b', why: 'it is away' });
  };
  const answer = await world.ask('GET', '/hookswitch/calls');
  assert.equal([answer.status, answer.headers.get('hookswitch-missing-nodes')], [200, 'b']);
  assert.equal(await answer.json(), JSON.parse(JSON.stringify(callPage)));
  assert.is((await world.ask('GET', '/hookswitch/calls?limit=none')).status, 400);
  assert.is((await world.ask('GET', '/hookswitch/calls?offset=-1')).status, 400);
});

elsewhere('a call is on the node of its mark, and one without a mark on any', async ({ ask, other, asked, server }) => {
  other.answer = () => Response.json({ from: 'b' });
  assert.equal(await (await ask('GET', '/hookswitch/calls/b~1')).json(), { from: 'b' });
  server.fakes.instead = () => {
    throw new AriError('callNotFound');
  };
  assert.equal(await (await ask('GET', '/hookswitch/calls/chosen')).json(), { from: 'b' });
  assert.equal(asked, ['b GET /hookswitch/calls/b~1', 'b GET /hookswitch/calls/chosen']);
});

elsewhere.run();
