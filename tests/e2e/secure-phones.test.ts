import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { srtpSuites } from '../../src/lib/srtp.ts';
import { untilAudioFlows } from '../support/audio-flow.ts';
import { startBaresipProgram } from '../support/baresip.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { Kamailio } from '../support/kamailio.ts';
import { Linphone, type LinphoneOptions } from '../support/linphone.ts';
import { need } from '../support/need.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

type World = { files: CertificateFiles; tls: object; ca: string; otherCa: string };
const phones = suite<World>('phones over TLS with SRTP');

phones.before((world) => {
  const authority = new Authority();
  world.files = new CertificateFiles();
  world.ca = world.files.authority(authority);
  world.otherCa = world.files.authority(new Authority('somebody else'), 'other');
  const pair = world.files.pair('own', authority.sign('127.0.0.1', 'localhost'));
  world.tls = { certificates: [pair], authorities: [world.ca] };
});
phones.after(({ files }) => files?.close());

const password = 'wonderland';
const alice = (media_encryption: string) => ({
  alice: {
    auth: { username: 'alice', password },
    aor: { qualify_frequency: 60, qualify_timeout: 60 },
    media_encryption,
  },
});

/** baresip, registered over TLS, that answers by itself and speaks a prompt. */
const baresip = async (program: string, server: TestServer, ca: string, encryption: string) => {
  const media = encryption === '' ? '' : `;mediaenc=${encryption}`;
  const account = `<sip:alice@${server.sip('tls')};transport=tls>;auth_user=alice;auth_pass=${password}`;
  return server.closing(
    await startBaresipProgram(program, {
      account: `${account};regint=600;answermode=auto${media}`,
      settings: [`sip_cafile ${ca}`],
      modules: ['srtp.so'],
    }),
  );
};

const linphone = async (program: string, server: TestServer, authorities: string, srtp: LinphoneOptions['srtp']) => {
  const port = Number(server.sip('tls').split(':').at(-1));
  return server.closing(new Linphone(program, { user: 'alice', password, port, authorities, srtp }));
};

/** An application, there before Alice's phone is, and the phone, which has registered and answers. */
async function reached<Phone>(server: TestServer, start: () => Promise<Phone>) {
  const app = await server.app('desk', { subscribeAll: true });
  const phone = await start();
  await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Reachable');
  return { app, phone };
}

/** Calls Alice, whose phone is started, and plays a prompt until enough came and went. */
async function talk<Phone>(server: TestServer, start: () => Promise<Phone>, answered = (_phone: Phone) => {}) {
  const { app, phone } = await reached(server, start);
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  answered(phone);
  await app.ok('POST', `/channels/${id}/play?media=sound:hello-world`);
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
  await untilAudioFlows(app, id);
  await app.ok('DELETE', `/channels/${id}`);
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
  return phone;
}

/** Resolves once a line of the log matches, with those that do. */
async function logged(server: TestServer, matches: RegExp): Promise<{ msg?: string; reason?: string }[]> {
  const found = () => server.lines().filter((line) => matches.test(JSON.stringify(line)));
  await untilAsked(
    () => found().length > 0,
    () => `nothing that matches ${matches} was logged`,
  );
  return found();
}

/** Calls a phone that does not take the call: the cause. */
async function refused(server: TestServer, start: () => Promise<unknown>): Promise<number> {
  const { app } = await reached(server, start);
  const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
  return (await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id)).cause;
}

for (const [ours, theirs] of [
  ['required', 'srtp-mand'],
  ['best_effort', 'srtp'],
  ['best_effort', ''],
  ['required', 'srtp'],
] as const)
  need('baresip').test(
    phones,
    `baresip talks over TLS: we ${ours}, it ${theirs || 'has no encryption'}`,
    async (program, { tls, ca }) => {
      await onServer({ endpoints: alice(ours), tls }, async (server) => {
        await talk(server, () => baresip(program, server, ca, theirs));
      });
    },
  );

need('baresip').test(phones, 'a phone without encryption is not called where it is required', (program, { tls, ca }) =>
  onServer({ endpoints: alice('required'), tls }, async (server) => {
    assert.is.not(await refused(server, () => baresip(program, server, ca, '')), 16);
  }),
);

const suites = Object.keys(srtpSuites);

// Who takes whatever is offered takes the first: a proxy in between leaves one.
const proxy = need('kamailio');
if (need('baresip').path || process.env['CI'])
  for (const only of suites)
    proxy.test(phones, `baresip talks with audio secret by ${only} alone`, async (kamailio) => {
      await onServer({ endpoints: alice('required') }, async (server) => {
        const drops = suites.filter((each) => each !== only);
        const between = await Kamailio.start(kamailio, { role: 'proxy', behind: server.sip(), drops });
        server.closing(between);
        const account = `<sip:alice@${between.address};transport=udp>;auth_user=alice;auth_pass=${password}`;
        const phone = await talk(server, async () =>
          server.closing(
            await startBaresipProgram(need('baresip').path ?? 'baresip', {
              account: `${account};regint=600;answermode=auto;mediaenc=srtp-mand`,
              modules: ['srtp.so'],
            }),
          ),
        );
        await phone.until(new RegExp(`SRTP is Enabled \\(cryptosuite=${only}\\)`));
      });
    });

for (const [ours, theirs] of [
  ['required', 'mandatory'],
  ['best_effort', 'optional'],
  ['optional', 'off'],
] as const)
  need('linphonec').test(
    phones,
    `linphonec talks over TLS: we ${ours}, its encryption is ${theirs}`,
    async (program, { tls, ca }) => {
      await onServer({ endpoints: alice(ours), tls }, async (server) => {
        await talk(
          server,
          () => linphone(program, server, ca, theirs),
          (phone) => phone.speak(),
        );
      });
    },
  );

need('linphonec').test(
  phones,
  'linphonec is not called where one side insists and the other has none',
  (program, { tls, ca }) =>
    onServer({ endpoints: alice('off'), tls }, async (server) => {
      assert.is.not(await refused(server, () => linphone(program, server, ca, 'mandatory')), 16);
    }),
);

need('linphonec').test(
  phones,
  'a phone that does not believe our certificate does not register, and the log says why',
  async (program, { tls, otherCa }) => {
    await onServer({ endpoints: alice('required'), tls }, async (server) => {
      await linphone(program, server, otherCa, 'mandatory');
      const [line] = await logged(server, /refused by the TLS check/);
      assert.is(line?.reason, 'it does not believe our certificate (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA)');
    });
  },
);

need('kamailio').test(
  phones,
  'a provider whose certificate is not believed is told nothing, and the log says why',
  async (program, { files, tls }) => {
    const stranger = new Authority('a stranger');
    const shown = files.pair('stranger', stranger.sign('127.0.0.1'));
    const provider = await Kamailio.start(program, { role: 'provider', tls: shown });
    try {
      const server = `sip:127.0.0.1:${provider.tlsPort};transport=tls`;
      const trunk = { outbound_auth: { username: '49301', password }, registrations: [{ server }] };
      await onServer({ endpoints: { trunk }, tls }, async (ours) => {
        const [line] = await logged(ours, /has no valid TLS certificate/);
        assert.is(line?.reason, 'unable to verify the first certificate');
      });
    } finally {
      await provider.close();
    }
  },
);

phones.run();
