import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { anybody, createPhone } from '../drivers/sip/support.ts';
import { applicationsOnly, carrier, company, imported, line } from '../import/fixtures.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { registerPhone } from '../support/register.ts';
import { onServer, startTestServer, type TestServerOptions } from '../support/server.ts';

const calls = suite('calls through configurations that were brought along');

/** What came out, on ports that the system chose: phones, dialplan and users as they are written. */
function brought(files: Readonly<Record<string, string>>): TestServerOptions {
  const { sip, dialplan, http } = parse(imported(files).yaml) as {
    sip: { endpoints: Record<string, object>; stun_server?: string };
    dialplan: NonNullable<TestServerOptions['dialplan']>;
    http?: { users?: { name: string; password: string }[] };
  };
  return { endpoints: sip.endpoints, dialplan, ...(http?.users && { users: http.users }) };
}

calls('an imported company: a phone logs in, is called by its number, and falls back to voicemail', () =>
  onServer({ ...brought(company), users: [{ name: 'tester', password: 'secret' }] }, async (server) => {
    const port = Number(server.sip().split(':').at(-1));
    const desk = await createPhone({ config: { endpoints: [anybody] } });
    const lobby = server.closing(await Phone.open('200', server.sip()));
    try {
      assert.is(await registerPhone(desk, { port }, { user: '101', password: 'wrong' }), 401);
      assert.is(await registerPhone(desk, { port }, { user: '101', password: 'pw101' }), 200);
      // 0 is a global variable, 101 a pattern with a subroutine in it.
      for (const [index, number] of ['0', '101'].entries()) {
        const called = lobby.call(number);
        const rung = await desk.rung(index);
        rung.leg.answer();
        await called;
        lobby.hangup();
        await rung.heard('leg.hungUp');
      }
      const voicemail = await server.app('voicemail');
      const left = lobby.call('102');
      const started = await voicemail.waitFor('StasisStart');
      assert.equal(started.args, ['102@default', 'u']);
      await voicemail.ok('POST', `/channels/${started.channel.id}/answer`);
      await left;
      lobby.hangup();
      await voicemail.waitFor('StasisEnd');
      const refused = await lobby.call('701').then(
        () => 'answered',
        () => 'refused',
      );
      assert.is(refused, 'refused');
      await desk.finish();
    } finally {
      await desk.close();
    }
  }),
);

calls('a menu: keys are heard while it speaks', () =>
  onServer({ ...brought(company), users: [{ name: 'tester', password: 'secret' }] }, async (server) => {
    const lobby = server.closing(await Phone.open('200', server.sip()));
    const app = await server.app('watch', { subscribeAll: true });
    await lobby.call('600');
    await lobby.audio.press('9', 100);
    await app.waitFor('ChannelDialplan', (event) => event.channel.dialplan.exten === 'i');
    lobby.hangup();
  }),
);

calls('a line at a provider: its calls go to an application with the caller cleaned, ours go to it', async () => {
  // The provider's port stands in the files.
  const spare = await freePort();
  await onServer(brought(carrier(spare)), async (server) => {
    const line = server.closing(await Phone.open('+49 (30) 77', server.sip(), spare));
    const app = await server.app('reception');
    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/4930555@carrier&app=reception');
    await line.answered();
    await app.waitFor('StasisStart', (event) => event.channel.id === id);
    await app.ok('DELETE', `/channels/${id}`);
    await line.over();
  });
});

calls('a line that registers: who takes its calls is asked first, and ours end at their limit', async () => {
  const provider = await startTestServer({
    endpoints: { 49301: { auth: { username: '49301', password: 'secret' } } },
    dialplan: { default: { s: ['Hangup'], 555: ['Answer', 'Wait(7200)'] } },
  });
  const at = { provider: Number(provider.sip().split(':').at(-1)), phone: await freePort() };
  const brings = brought(line(at));
  try {
    await onServer(brings, async (server) => {
      const app = await server.app('mailbox', { subscribeAll: true });
      const registered = ({ registrations = [] }: { registrations?: { status: string }[] }): boolean =>
        registrations.some(({ status }) => status === 'Registered');
      if (!registered(await app.ok('GET', '/endpoints/PJSIP/provider')))
        await app.waitFor('EndpointStateChange', ({ endpoint }) => registered(endpoint as object));
      const home = server.closing(await Phone.open('home', server.sip(), at.phone));
      const exchange = await provider.app('exchange');
      const known = new Set<string>();
      /** Of a channel that was not heard of in this way before. */
      const isNew = ({ id }: { id: string }): boolean => !known.has(id) && known.add(id) !== undefined;
      for (const key of ['1', '2']) {
        const { id } = await exchange.ok<{ id: string }>(
          'POST',
          '/channels?endpoint=PJSIP/49301&app=exchange&callerId=Dora%20%3C555%3E',
        );
        await app.waitFor('ChannelDialplan', ({ channel }) => channel.dialplan.app_name === 'Read' && isNew(channel));
        await home.audio.press(key, 100);
        if (key === '1') {
          await exchange.waitFor('StasisStart', ({ channel }) => channel.id === id);
          const bridge = await app.waitFor('ChannelEnteredBridge', (event) => event.bridge.channels.length === 2);
          assert.is(bridge.bridge.bridge_class, 'basic');
          home.hangup();
        }
        // Behind the call (g), and without one.
        const { args, channel } = await app.waitFor('StasisStart', (event) => isNew(event.channel));
        assert.equal(args, ['ANSWER']);
        await app.ok('DELETE', `/channels/${channel.id}`);
        await exchange.waitFor('ChannelDestroyed', (event) => event.channel.id === id);
        await home.over();
      }

      const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=Local/0555@internal&app=mailbox');
      await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
      server.clock.skip(3_600_000);
      await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
    });
  } finally {
    await provider.close();
  }
});

calls('a server of applications: users log in, every call is theirs', () =>
  onServer({ ...brought(applicationsOnly), users: [{ name: 'tester', password: 'secret' }] }, async (server) => {
    const app = await server.app('desk');
    const phone = server.closing(await Phone.open('77', server.sip()));
    const calling = phone.call('4711');
    const started = await app.waitFor('StasisStart');
    assert.equal(started.args, ['4711']);
    await app.ok('POST', `/channels/${started.channel.id}/answer`);
    await calling;
    phone.hangup();
    await app.waitFor('StasisEnd');
  }),
);

calls.run();
