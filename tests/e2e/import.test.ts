import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { anybody, createPhone } from '../drivers/sip/support.ts';
import { applicationsOnly, carrier, company, imported } from '../import/fixtures.ts';
import { Phone } from '../support/phone.ts';
import { registerPhone } from '../support/register.ts';
import { onServer, startTestServer, type TestServerOptions } from '../support/server.ts';

const calls = suite('calls through configurations that were brought along');

/** What came out, on ports that the system chose: phones, dialplan and users as they are written. */
function brought(files: Readonly<Record<string, string>>): TestServerOptions {
  const { sip, dialplan, http } = parse(imported(files).yaml) as {
    sip: { endpoints: Record<string, object> };
    dialplan: NonNullable<TestServerOptions['dialplan']>;
    http?: { users?: { name: string; password: string }[] };
  };
  return { endpoints: sip.endpoints, dialplan, ...(http?.users && { users: http.users }) };
}

calls('a company: a phone logs in with its password and is called by its number; nobody there means voicemail', () =>
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
  // The provider's port stands in the files, so that it is there first.
  const provider = await startTestServer({ endpoints: {}, dialplan: { default: { s: ['Wait(1)'] } } });
  const spare = Number(provider.sip().split(':').at(-1));
  await provider.close();
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
