import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { NewToken } from '../../src/models/token.ts';
import { AriClient } from '../support/ari-client.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';

/** Users with scopes on a running server: what they see of calls, bridges and events, and what they may do. */

const scopes = suite('users with scopes on a server');

const dialplan = { default: { wait: ['Answer', 'Wait(3600)'] }, secret: { wait: ['Answer', 'Wait(3600)'] } };
const users = [
  { name: user, password },
  {
    ...{ name: 'desk', password: 'its own' },
    scope: { applications: ['desk'], contexts: ['default'], endpoints: ['Local/*@*'] },
  },
];

const asDesk = (server: TestServer): AriClient => server.closing(new AriClient(server.url, 'desk:its own'));
const refusal = async (ask: Promise<{ status: number }>): Promise<number> => (await ask).status;
const create = (client: AriClient, app: string): Promise<Channel> =>
  client.ok<Channel>('POST', `/channels/create?endpoint=Local/wait@default&app=${app}`);

scopes('a bundle holds the configuration that is in force, for who may read configuration', async () => {
  const clerk = { name: 'clerk', password: 'its own', scope: { applications: ['desk'], operations: ['calls:read'] } };
  await onServer({ dialplan, users: [...users, clerk] }, async (server) => {
    const desk = await asDesk(server).connect('desk');
    const { id } = await create(desk, 'desk');
    await desk.waitFor('StasisStart');
    const { config } = server;
    server.running.reload({ ...config, recorder: { ...config.recorder, entries_per_call: 1_234 } });
    const bundle = async (credentials: string) => {
      const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
      const answer = await fetch(server.url.replace(/ari$/, `hookswitch/calls/${id}/bundle`), { headers });
      return (await answer.json()) as { call: { id: string }; config?: { recorder: { entries_per_call: number } } };
    };
    const told = async (credentials: string) => {
      const { call, config: settings } = await bundle(credentials);
      return [call.id, settings?.recorder.entries_per_call];
    };
    assert.equal(
      [await told(`${user}:${password}`), await told('desk:its own'), await told('clerk:its own')],
      [
        [id, 1_234],
        [id, 1_234],
        [id, undefined],
      ],
    );
    await desk.ok('DELETE', `/channels/${id}`);
    await desk.waitFor('ChannelDestroyed');
  });
});

scopes('things belong to their application: in lists, by id, in events, and what makes new ones', async () => {
  await onServer({ dialplan, users }, async (server) => {
    const other = await server.app('other');
    const desk = await asDesk(server).connect('desk', { subscribeAll: true });
    const theirs = await create(other, 'other');
    const ours = await create(desk, 'desk');
    await desk.waitFor('StasisStart', ({ channel }) => channel.id === ours.id);
    await other.waitFor('StasisStart', ({ channel }) => channel.id === theirs.id);
    const bridge = await desk.ok<Bridge>('POST', '/bridges');
    const foreign = await other.ok<Bridge>('POST', '/bridges');
    await desk.waitFor('BridgeCreated');

    // The other half of a Local channel belongs to who made both.
    const pair = (name: string): string => name.slice(0, -2);
    const [channels, bridges] = [
      await desk.ok<Channel[]>('GET', '/channels'),
      await desk.ok<Bridge[]>('GET', '/bridges'),
    ];
    assert.equal(
      [channels.map(({ name }) => pair(name)), bridges.map(({ id }) => id)],
      [[pair(ours.name), pair(ours.name)], [bridge.id]],
    );
    const statuses = async (method: string, paths: string[]) =>
      Promise.all(paths.map((path) => refusal(desk.request(method, path))));
    assert.equal(
      [
        await statuses('GET', [`/channels/${theirs.id}`, `/bridges/${foreign.id}`, '/applications/other']),
        await statuses('DELETE', [`/channels/${theirs.id}`, `/bridges/${foreign.id}`]),
        await statuses('POST', [
          `/bridges/${bridge.id}/addChannel?channel=${theirs.id}`,
          `/channels/${ours.id}/move?app=other`,
          `/channels/${ours.id}/continue?context=secret&extension=wait&priority=1`,
          '/channels?endpoint=PJSIP/alice&app=desk',
          '/channels?endpoint=Local/wait@secret&app=desk',
          `/applications/desk/subscription?eventSource=channel:${theirs.id}`,
        ]),
      ],
      [
        [404, 404, 404],
        [403, 403],
        [403, 403, 403, 403, 403, 403],
      ],
    );
    await other.ok('DELETE', `/channels/${theirs.id}`);
    await other.ok('DELETE', `/bridges/${foreign.id}`);
    await desk.ok('DELETE', `/bridges/${bridge.id}`);
    await desk.ok('DELETE', `/channels/${ours.id}`);
    await desk.waitFor('BridgeDestroyed');
    await desk.waitFor('ChannelDestroyed', ({ channel }) => channel.id === ours.id);
    const told = JSON.stringify(desk.events);
    assert.equal([told.includes(theirs.id), told.includes(foreign.id)], [false, false]);
    await server.settle();
  });
});

scopes('a WebSocket for another application is refused; one of a token is closed when that is revoked', async () => {
  await onServer({ dialplan, users }, async (server) => {
    const open = (credentials: string, app: string): WebSocket => {
      const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
      return server.closing(new ClosingSocket(`${server.url.replace('http', 'ws')}/events?app=${app}`, { headers }));
    };
    const refused = open('desk:its own', 'other');
    const [, response] = await once(refused, 'unexpected-response');
    assert.is(response.statusCode, 403);
    const tokens = `${server.url.replace(/\/ari$/, '')}/hookswitch/tokens`;
    const headers = { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
    const made = (await (
      await fetch(`${tokens}?name=phone&user=desk&operations=events`, { method: 'POST', headers })
    ).json()) as NewToken;
    const socket = open(`desk:${made.token}`, 'desk');
    await once(socket, 'open');
    const closed = once(socket, 'close');
    assert.is((await fetch(`${tokens}/phone`, { method: 'DELETE', headers })).status, 204);
    const [code, reason] = await closed;
    assert.equal([code, String(reason)], [1008, 'the credentials are no longer valid']);
  });
});

/** Ends with the server. */
class ClosingSocket extends WebSocket {
  constructor(url: string, options: object) {
    super(url, options);
    this.on('error', () => undefined);
  }

  override close(...args: Parameters<WebSocket['close']>): void {
    if (this.readyState !== WebSocket.CONNECTING) super.close(...args);
    else this.terminate();
  }
}

scopes.run();
