import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { Linphone } from '../support/linphone.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** What Debian's linphonec does at its console beside calls: attended transfers, and friends whose presence it is told. */
const linphones = suite('linphonec');
const linphonec = need('linphonec');

const password = 'wonderland';
const dialplan = {
  default: {
    hints: { '301': 'Custom:night' },
    '200': ['Dial(PJSIP/bob)'],
    '300': ['Dial(PJSIP/carol)'],
    dark: ['Set(DEVICE_STATE(Custom:night)=INUSE)', 'Hangup'],
    s: ['Hangup'],
  },
};

/** Where linphonec reaches the server, which it does not by way of its registrar. */
const at = (server: TestServer) => `localhost:${server.sip('tls').split(':').at(-1)};transport=tls`;

type World = { server: TestServer; bob: Linphone; alice: Phone; carol: Phone };

/** A server with Bob, who has linphonec, Alice who calls him, and Carol. */
const test = (title: string, body: (world: World) => Promise<void>) =>
  linphonec.test(linphones, title, async (program) => {
    const authority = new Authority();
    const files = new CertificateFiles();
    const authorities = files.authority(authority);
    const tls = { certificates: [files.pair('own', authority.sign('127.0.0.1', 'localhost'))] };
    const carolsPort = await freePort();
    const endpoints = {
      anonymous: { match: ['127.0.0.1'] },
      bob: { auth: { username: 'bob', password } },
      carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] } },
    };
    try {
      await onServer({ dialplan, endpoints, tls, sip: { subscriptions: { interval: 0 } } }, async (server) => {
        const app = await server.app('desk', { subscribeAll: true });
        const port = Number(server.sip('tls').split(':').at(-1));
        const bob = server.closing(new Linphone(program, { user: 'bob', password, port, authorities, srtp: 'off' }));
        await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'bob');
        const alice = server.closing(await Phone.open('4711', server.sip()));
        const carol = server.closing(await Phone.open('carol', server.sip(), carolsPort));
        await body({ server, bob, alice, carol });
      });
    } finally {
      files.close();
    }
  });

test('an attended transfer at its console connects both that it talks to', async ({ server, bob, alice, carol }) => {
  const app = await server.app('watcher', { subscribeAll: true });
  await alice.call('200');
  await bob.until(/streams established .* for call 1/);
  bob.enter('pause');
  await bob.until(/Call 1 with .* is now paused/i);
  bob.enter(`call sip:300@${at(server)}`);
  await carol.answered();
  await bob.until(/streams established .* for call 2/);
  bob.enter('transfer 1 --to-call 2');
  const { result, destination_type } = await app.waitFor('BridgeAttendedTransfer');
  assert.equal([result, destination_type], ['Success', 'bridge']);
  alice.audio.hum(400);
  carol.audio.hum(700);
  await Promise.all([alice.audio.hears([700], [400, 700]), carol.audio.hears([400], [400, 700])]);
  alice.hangup();
  await carol.over();
});

test('a friend is shown as its lamp is', async ({ server, bob }) => {
  const app = server.client();
  bob.enter(`friend add "Night" sip:301@${at(server)}`);
  await bob.until(/Friend .*301.* is/);
  await app.ok('POST', '/channels?endpoint=Local/dark@default&extension=s&context=default');
  await bob.until(/Friend .*301.* is .*Friend .*301.* is/s);
});

linphones.run();
