import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startBaresipProgram } from '../support/baresip.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';
import { watcherOf } from '../support/watcher.ts';

const lamps = suite('lamps on a whole server');

const dialplan = {
  default: {
    hints: { '300': 'PJSIP/desk&Stasis:night', '301': 'Custom:night', '302': 'MWI:box@office' },
    '300': ['Dial(PJSIP/desk,30)'],
    dark: ['Set(DEVICE_STATE(Custom:night)=INUSE)', 'Hangup'],
    bright: ['Set(DEVICE_STATE(Custom:night)=NOT_INUSE)', 'Hangup'],
    s: ['Hangup'],
  },
};

const soon = { subscriptions: { interval: 0 } };

lamps('endpoints, applications, the dialplan and mailboxes light them; reload and stop put them out', () =>
  onServer({ dialplan, sip: soon, endpoints: { desk: {}, lobby: { match: ['127.0.0.1'] } } }, async (server) => {
    const app = await server.app('desk');
    const { subscribe, told } = await watcherOf(server);
    for (const [extension, event] of [
      ['300', 'dialog'],
      ['301', 'presence'],
      ['302', 'dialog'],
    ] as const)
      assert.is((await subscribe(extension, event)).status, 200);
    assert.is(await told('300', 1), 'terminated active;expires=n');
    assert.is(await told('301', 1), 'Ready active;expires=n');
    assert.is(await told('302', 1), 'terminated active;expires=n');

    await app.ok('PUT', '/deviceStates/Stasis:night?deviceState=RINGING');
    assert.is(await told('300', 2), 'early active;expires=n');
    await app.ok('PUT', '/deviceStates/Stasis:night?deviceState=NOT_INUSE');
    assert.is(await told('300', 3), 'terminated active;expires=n');
    await app.ok('POST', '/channels?endpoint=Local/dark@default&extension=s&context=default');
    assert.is(await told('301', 2), 'On the phone active;expires=n');
    assert.equal(await app.ok('GET', '/deviceStates'), [{ name: 'Stasis:night', state: 'NOT_INUSE' }]);
    await app.ok('PUT', '/mailboxes/box@office?newMessages=1');
    assert.is(await told('302', 2), 'confirmed active;expires=n');

    const next = structuredClone(server.config);
    next.dialplan['default']!['hints'] = { '300': 'Stasis:night', '302': 'Stasis:night' };
    assert.equal(server.running.reload(next), { applied: ['dialplan.default.hints'], needRestart: [] });
    assert.is(await told('301', 3), 'Unavailable terminated;reason=noresource');
    assert.is(await told('302', 3), 'terminated active;expires=n');
    assert.is((await subscribe('301', 'dialog')).status, 404);
    await server.settle();
    await server.running.close();
    assert.is(await told('300', 4), 'terminated terminated;reason=probation;retry-after=n');
  }),
);

lamps('a call to a phone lights its lamp, from ringing to the end', async () => {
  const port = await freePort();
  const endpoints = { desk: { aor: { contacts: [`sip:300@127.0.0.1:${port}`] } }, lobby: { match: ['127.0.0.1'] } };
  await onServer({ dialplan, sip: soon, endpoints }, async (server) => {
    const app = await server.app('desk');
    const phone = server.closing(await Phone.open('300', server.sip(), port));
    phone.answers = false;
    const { subscribe, told } = await watcherOf(server);
    await subscribe('300', 'dialog');
    assert.is(await told('300', 1), 'terminated active;expires=n');
    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/desk&app=desk');
    assert.is(await told('300', 2), 'trying active;expires=n');
    assert.is(await told('300', 3), 'early active;expires=n');
    await app.ok('DELETE', `/channels/${id}`);
    assert.is(await told('300', 4), 'terminated active;expires=n');
  });
});

need('baresip').test(lamps, 'baresip reads the presence that it is told', async (program) => {
  const endpoints = { alice: { auth: { username: 'alice', password: 'wonderland' } } };
  await onServer({ dialplan, sip: soon, endpoints }, async (server) => {
    const app = await server.app('desk');
    const phone = server.closing(
      await startBaresipProgram(program, {
        account: `<sip:alice@${server.sip()};transport=udp>;auth_user=alice;auth_pass=wonderland;regint=600`,
        modules: ['app contact.so', 'app presence.so'],
        contacts: [`"Night" <sip:301@${server.sip()}>;presence=p2p`],
      }),
    );
    const dark = () => app.ok('POST', '/channels?endpoint=Local/dark@default&extension=s&context=default');
    const bright = () => app.ok('POST', '/channels?endpoint=Local/bright@default&extension=s&context=default');
    // It subscribes a moment after it runs, and tells only of changes.
    await untilAsked(
      async () => (await server.running.usage()).sip.subscriptions > 0,
      () => 'it does not subscribe',
    );
    await dark();
    await phone.until(/changed status/);
    await bright();
    await phone.until(/changed status.*changed status/s);
    const words = [...phone.written.matchAll(/changed status from \W*\[\d+m(\w+).*?to \W*\[\d+m(\w+)/g)];
    assert.equal(
      words.map(([, from, to]) => [from, to]),
      [
        ['Online', 'Busy'],
        ['Busy', 'Online'],
      ],
    );
  });
});

lamps.run();
