import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Cluster } from '../../src/cluster/cluster.ts';
import type { RemoteRequest } from '../../src/cluster/forwards.ts';
import { AriError } from '../../src/models/errors.ts';
import { authorization, options, samples } from './fakes.ts';
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

elsewhere.run();
