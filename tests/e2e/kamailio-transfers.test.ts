import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Kamailio, password } from '../support/kamailio.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';

/** Attended transfers of phones that share no code with the server, with Debian's Kamailio in front of it (Record-Route). */
const transfers = suite('transfers by way of Kamailio');
const kamailio = need('kamailio');

const users = ['alice', 'bob', 'carol', 'dave'] as const;
const dialplan = { default: { '1000': ['Dial(PJSIP/bob)'], '2000': ['Dial(PJSIP/carol)'] } };

type World = { proxy: Kamailio; alice: Phone; bob: Phone; carol: Phone; open(number: string): Promise<Phone> };

/** A server behind a proxy, by way of which Alice, Bob and Carol are registered with their passwords. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  kamailio.test(transfers, title, async (program) => {
    const endpoints = Object.fromEntries(
      users.map((user) => [user, { auth: { username: user, password }, allow_replaces: true }]),
    );
    await onServer({ dialplan, endpoints }, async (server) => {
      const proxy = server.closing(await Kamailio.start(program, { role: 'proxy', behind: server.sip() }));
      const phones: Phone[] = [];
      const open = async (number: string) => {
        const phone = server.closing(await Phone.open(number, proxy.address));
        phone.password = password;
        phones.push(phone);
        return phone;
      };
      const [alice, bob, carol] = [await open('alice'), await open('bob'), await open('carol')];
      for (const phone of [alice, bob, carol]) assert.is(await phone.register(), 200);
      await body({ proxy, alice, bob, carol, open });
      phones.find(({ inCall }) => inCall)?.hangup();
      await Promise.all(phones.filter(({ inCall }) => inCall).map((each) => each.over()));
    });
  });

const pitches = [400, 700] as const;

/** Both hear what the other says. */
async function hearEachOther(one: Phone, other: Phone): Promise<void> {
  one.audio.hum(400);
  other.audio.hum(700);
  await Promise.all([one.audio.hears([700], pitches), other.audio.hears([400], pitches)]);
}

const news = (phone: Phone): string[] => phone.notified.map(({ fragment }) => fragment.replace('SIP/2.0 ', ''));

test('attended: REFER with Replaces along the route set connects both far parties', async (world) => {
  const { proxy, alice, bob, carol, open } = world;
  await alice.call('1000');
  const consulting = await open('bob');
  await consulting.call('2000');
  assert.is(await bob.refer(`<sip:2000@127.0.0.1?Replaces=${consulting.replaces()}>`), 202);
  await Promise.all([bob.over(), consulting.over()]);
  await bob.until(() => news(bob).at(-1) === '200 OK', 'the last word');
  assert.is(news(bob).at(0), '100 Trying');
  await proxy.until(/got REFER for/);
  await proxy.until(/got NOTIFY for/);
  await hearEachOther(alice, carol);
});

test('attended: who called may be the one who transfers, and the call stays when its second one is over', async (world) => {
  const { alice, bob, carol, open } = world;
  await alice.call('1000');
  const consulting = await open('alice');
  await consulting.call('2000');
  const named = consulting.replaces();
  consulting.hangup();
  await carol.over();
  assert.is(await alice.refer(`<sip:2000@127.0.0.1?Replaces=${named}>`), 202);
  await alice.until(() => news(alice).some((each) => each.startsWith('481')), 'that the second call is over');
  await hearEachOther(alice, bob);

  const again = await open('alice');
  await again.call('2000');
  assert.is(await alice.refer(`<sip:2000@127.0.0.1?Replaces=${again.replaces()}>`), 202);
  await Promise.all([alice.over(), again.over()]);
  await hearEachOther(bob, carol);
});

test('INVITE with Replaces: a phone behind the proxy takes the place of another one there', async (world) => {
  const { proxy, alice, bob, open } = world;
  await alice.call('1000');
  const dave = await open('dave');
  await dave.call('x', [`Replaces: ${decodeURIComponent(alice.replaces())}`]);
  await alice.over();
  await proxy.until(/got BYE for sip:alice/);
  await hearEachOther(dave, bob);
});

test('REFER outside the call that it names (Target-Dialog) comes by way of the proxy of the call', async (world) => {
  const { alice, bob, carol } = world;
  await alice.call('1000');
  const lines = ['Refer-To: <sip:2000@127.0.0.1>', `Target-Dialog: ${bob.targetDialog()}`];
  assert.is((await bob.outside('REFER', 'bob', lines)).status, 202);
  await bob.over();
  await bob.until(() => news(bob).at(-1) === '200 OK', 'the last word');
  await hearEachOther(alice, carol);
});

transfers.run();
