import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { onServer } from '../support/server.ts';

/** What the process waits for, counted by kind; sockets that fetch keeps for its next request are the client's. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout' || kind === 'Immediate').length;
}

/** What one call leaves behind is seen after any number of them. HOOKSWITCH_TEST_CALLS=10000 makes so many. */
const many = suite('many calls');
const total = Number(process.env['HOOKSWITCH_TEST_CALLS'] ?? 1_000);
const inFlight = 32;

many(`${total} calls through Local channels leave no actor, no port and no timer behind`, async () => {
  const dialplan = { default: { echo: ['Answer', 'Echo'] } };
  await onServer({ dialplan, general: { validate: false } }, async (server) => {
    const app = await server.app('desk');
    const call = async (index: number) => {
      const id = `call-${index}`;
      const other = `${id};2`;
      await app.ok('POST', `/channels/${id}?endpoint=Local/echo@default&app=desk`);
      await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
      await app.ok('POST', `/channels/${id}/variable?variable=NUMBER&value=${index}`);
      await app.ok('DELETE', `/channels/${id}`);
      const destroyed = [id, other].map((half) =>
        app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === half),
      );
      for (const { cause } of await Promise.all(destroyed)) assert.is(cause, 16);
      app.forget(id, other);
    };
    const state = async () => {
      await server.quiet();
      return { usage: await server.running.usage(), clock: server.clock.pending, timers: timers() };
    };

    // The first calls warm up what is made once and kept: connections, caches, the media thread's first session.
    await Promise.all(Array.from({ length: inFlight }, (_, index) => call(index)));
    const before = await state();

    let next = inFlight;
    const caller = async () => {
      while (next < inFlight + total) await call(next++);
    };
    await Promise.all(Array.from({ length: inFlight }, caller));
    const after = await state();
    assert.equal(after, before);
  });
});

many.run();
