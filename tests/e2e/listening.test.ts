import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { CallDetail } from '../../src/models/call.ts';
import { Phone } from '../support/phone.ts';
import { amplitude } from '../support/rtp-audio.ts';
import { onServer, password, type TestServer, type TestServerOptions, user } from '../support/server.ts';
import { untilHolds } from '../support/waiting.ts';

const listening = suite('listening to a live call');

const looker = { name: 'looker', password: 'only looks', read_only: true };
const options: TestServerOptions = {
  dialplan: { default: { '_X.': ['Stasis(desk)'] } },
  users: [{ name: user, password }, looker],
  listening: { on: true, most: 1 },
  logLevel: 'info',
};

const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const mine = basic(user, password);
const baseOf = (server: TestServer): string => server.url.replace(/\/ari$/, '/hookswitch');

async function ticket(server: TestServer, authorization = mine): Promise<string> {
  const answer = await fetch(`${baseOf(server)}/sessions/tickets`, { method: 'POST', headers: { authorization } });
  return ((await answer.json()) as { ticket: string }).ticket;
}

/** Opens the WebSocket; what it says, and how it is refused or closed. */
async function listen(server: TestServer, channel: string, query: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${baseOf(server).replace('http', 'ws')}/channels/${channel}/listen${query}`, {
    headers,
  });
  server.closing({ close: () => socket.readyState === socket.OPEN && socket.terminate() });
  const samples: number[] = [];
  const texts: unknown[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) texts.push(JSON.parse(String(data)));
    else for (let at = 0; at < data.length; at += 2) samples.push(data.readInt16LE(at));
    for (const look of waiting) look();
  });
  const closed = once(socket, 'close').then(([code, reason]) => [code, String(reason)]);
  const refused = new Promise<number>((resolve) => {
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
  });
  socket.on('error', () => {});
  const outcome = await Promise.race([once(socket, 'open').then(() => 'open' as const), refused]);
  /** Resolves once the last 300 ms hold these of the tones and no others. */
  const hears = (tones: readonly number[], among: readonly number[]) =>
    untilHolds(
      waiting,
      () => {
        const last = samples.slice(-2_400);
        const sound = among.filter((hertz) => amplitude(last, hertz) > 2_000);
        return last.length === 2_400 && sound.join() === tones.join();
      },
      () => `${tones.join()} Hz was not heard`,
    );
  return { outcome, socket, texts, closed, hears };
}

const tones = [440, 700, 1000];

listening('both sides are heard, together and as they change, until the call ends; who did so is known', () =>
  onServer(options, async (server) => {
    const app = await server.app('desk');
    const phones = await Promise.all(
      ['4711', '4712'].map(async (number) => server.closing(await Phone.open(number, server.sip()))),
    );
    const ids: string[] = [];
    for (const [at, phone] of phones.entries()) {
      const called = phone.call('100');
      const { channel } = await app.waitFor('StasisStart', (event) => !ids.includes(event.channel.id));
      ids.push(channel.id);
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await called;
      phone.audio.hum(tones[at] ?? 0);
    }
    const [first = ''] = ids;
    await app.ok('POST', '/bridges/b1?type=mixing');
    await app.ok('POST', `/bridges/b1/addChannel?channel=${ids.join()}`);
    await Promise.all([phones[0]?.audio.hears([700], tones), phones[1]?.audio.hears([440], tones)]);

    const heard = await listen(server, first, `?ticket=${await ticket(server)}`);
    assert.is(heard.outcome, 'open');
    await heard.hears([440, 700], tones);
    // Nobody else may at the same time, and what was said before is not heard.
    assert.is((await listen(server, first, `?ticket=${await ticket(server)}`)).outcome, 409);
    phones[1]?.audio.hum(1000);
    await heard.hears([440, 1000], tones);
    assert.equal(heard.texts, [{ type: 'listening', channel: first, sample_rate: 8000, bits: 16 }]);
    // Those who talk hear each other as before, and nothing else.
    await Promise.all([phones[0]?.audio.hears([1000], tones), phones[1]?.audio.hears([440], tones)]);

    phones[0]?.hangup();
    assert.equal(await heard.closed, [1000, 'the channel has ended']);
    const again = await listen(server, ids[1] ?? '', `?ticket=${await ticket(server)}`);
    await again.hears([1000], tones);
    again.socket.close();
    await again.closed;
    phones[1]?.hangup();
    await app.waitFor('StasisEnd', ({ channel }) => channel.id === ids[1]);
    await server.client().ok('DELETE', '/bridges/b1');

    const call = (await (
      await fetch(`${baseOf(server)}/calls/${first}`, { headers: { authorization: mine } })
    ).json()) as CallDetail;
    assert.equal(
      call.timeline.flatMap((entry) =>
        entry.kind === 'request' && entry.path.endsWith('/listen') ? [[entry.user, entry.path, entry.status]] : [],
      ),
      [
        [first, 101],
        [first, 409],
        [ids[1], 101],
      ].map(([id, status]) => [user, `/hookswitch/channels/${id}/listen`, status]),
    );
    assert.equal(
      server.lines().flatMap(({ msg, ...line }) => {
        const { user: who, channel } = line as { user?: string; channel?: string };
        return msg.includes('listen') ? [[msg, who, channel]] : [];
      }),
      [first, ids[1]].flatMap((id) => [
        ['a user listens to a channel', user, id],
        ['a user stops listening to a channel', user, id],
      ]),
    );
  }),
);

listening('only a ticket of somebody who may act opens it, once, and only for a channel that is there', () =>
  onServer({ ...options, logLevel: 'error' }, async (server) => {
    const app = await server.app('desk');
    await app.ok('POST', '/channels/call-1?endpoint=Local/100@default&app=desk&otherChannelId=other');
    const once = await ticket(server);
    const opened = await listen(server, 'call-1', `?ticket=${once}`);
    assert.is(opened.outcome, 'open');
    assert.equal(
      await Promise.all([
        listen(server, 'call-1', `?ticket=${once}`).then(({ outcome }) => outcome),
        listen(server, 'call-1', '', { authorization: mine }).then(({ outcome }) => outcome),
        listen(server, 'call-1', `?api_key=${user}:${password}`).then(({ outcome }) => outcome),
        ticket(server, basic(looker.name, looker.password))
          .then((theirs) => listen(server, 'call-1', `?ticket=${theirs}`))
          .then(({ outcome }) => outcome),
        ticket(server)
          .then((other) => listen(server, 'no-such', `?ticket=${other}`))
          .then(({ outcome }) => outcome),
      ]),
      [401, 401, 401, 403, 404],
    );
    opened.socket.close();
    await opened.closed;
    await app.ok('DELETE', '/channels/call-1');
    for (const id of ['call-1', 'other']) await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
  }),
);

listening(
  'users who may only look may listen where that is configured; where it is not turned on, nobody',
  async () => {
    const outcomeFor = (settings: object) => {
      let outcome: unknown;
      return onServer({ ...options, listening: settings, logLevel: 'error' }, async (server) => {
        const app = await server.app('desk');
        await app.ok('POST', '/channels/call-1?endpoint=Local/100@default&app=desk&otherChannelId=other');
        const heard = await listen(
          server,
          'call-1',
          `?ticket=${await ticket(server, basic(looker.name, looker.password))}`,
        );
        ({ outcome } = heard);
        await app.ok('DELETE', '/channels/call-1');
        for (const id of ['call-1', 'other']) await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
      }).then(() => outcome);
    };
    assert.is(await outcomeFor({ on: true, read_only: true }), 'open');
    assert.is(await outcomeFor({}), 404);
  },
);

listening.run();
