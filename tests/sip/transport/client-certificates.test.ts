import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CertifiedKey } from '../../../src/lib/self-made-certificate.ts';
import type { ClientCertificates } from '../../../src/sip/transport/transport.ts';
import { createCertificates } from '../../../src/stores/certificates.ts';
import { Authority, CertificateFiles } from '../../support/certificates.ts';
import { createRecordingLog } from '../../support/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { need } from '../../support/need.ts';
import { OpensslAuthority } from '../../support/openssl-authority.ts';
import { addressOf, openParty, options, type Party } from './bench.ts';

const openssl = need('openssl');
const request = options('TLS 127.0.0.1:5061;branch=z9hG4bKx');

/** Phones ask for one of these names, or for none. */
const names = ['sip.example.com', 'other.example.com'] as const;
const own = new Authority();
const versions = ['TLSv1.2', 'TLSv1.3'] as const;

/** A server that asks phones for certificates of `authority`; its files and its clock are the test's. */
async function openServer(authority: OpensslAuthority, clientCertificates: ClientCertificates, lists: string[] = []) {
  const files = new CertificateFiles();
  const clock = new ManualClock();
  const { log, lines } = createRecordingLog();
  const listFile = join(files.directory, 'crl.pem');
  const publish = (...texts: string[]): void => writeFileSync(listFile, texts.join('\n'));
  publish(...lists);
  const settings = {
    certificates: names.map((name) => files.pair(name, own.sign(name))),
    authorities: ['system'],
    clientAuthorities: [authority.file],
    clientCrl: lists.length > 0 ? [listFile] : [],
    minimumVersion: '1.2',
    checkEveryMs: 1_000,
  } as const;
  const tls = createCertificates(settings, { clock, log });
  const party = await openParty({ tls, log, clock }, [
    { protocol: 'tls', host: '127.0.0.1', port: 0, clientCertificates },
  ]);
  /** Reasons of the refusals since this was asked last. */
  const refusals = (): unknown[] =>
    lines.splice(0).flatMap(({ fields, level }) => (level === 'warn' ? [fields['reason']] : []));
  const close = async (): Promise<void> => {
    tls.close();
    await party.transports.close();
    files.close();
  };
  return { party, clock, files, publish, refusals, lines, close };
}

function connect(party: Party, more: ConnectionOptions): TLSSocket {
  const { port } = addressOf(party, 'tls');
  const ca = [own.own.certificate];
  const socket = connectTls({ host: '127.0.0.1', port, ca, checkServerIdentity: () => undefined, ...more });
  socket.on('error', () => {});
  return socket.resume();
}

const shown = (pair: CertifiedKey | undefined) => (pair ? { cert: pair.certificate, key: pair.key } : {});

/** Whether a request over a new connection arrives. */
async function arrives(party: Party, more: ConnectionOptions): Promise<boolean> {
  const socket = connect(party, more);
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(false)));
  socket.once('secureConnect', () => socket.write(request));
  const heard = party.messages.next().then(() => true);
  const isHeard = await Promise.race([heard, closed]);
  // Whoever waits for the next message must not lose it to this wait.
  if (!isHeard) party.messages.put({ message: undefined as never, source: undefined as never });
  socket.destroy();
  await Promise.all([closed, heard]);
  return isHeard;
}

const sni = [undefined, ...names].map((servername) => (servername ? { servername } : {}));
const revoked = 'its certificate has been revoked (CERT_REVOKED)';

openssl.test(
  test,
  'certificates of phones are checked against client_authorities, whichever name phones ask for',
  async (program) => {
    const [authority, stranger] = [new OpensslAuthority(program), new OpensslAuthority(program, 'a stranger')];
    const cases: [pair: CertifiedKey | undefined, reason: string | undefined][] = [
      [authority.sign('phone'), undefined],
      [
        stranger.sign('phone'),
        'no authority of tls.client_authorities has signed its certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
      ],
      [
        authority.sign('old', { from: '200101000000Z', until: '210101000000Z' }),
        'its certificate has expired (CERT_HAS_EXPIRED)',
      ],
      [
        authority.sign('early', { from: '480101000000Z', until: '490101000000Z' }),
        'its certificate is not valid yet (CERT_NOT_YET_VALID)',
      ],
      [undefined, 'it shows no certificate, which is required'],
    ];
    for (const clientCertificates of ['required', 'optional'] as const) {
      const { party, clock, refusals, close } = await openServer(authority, clientCertificates);
      for (const [pair, reason] of cases)
        for (const version of versions)
          for (const name of sni) {
            const refusal = pair || clientCertificates === 'required' ? reason : undefined;
            const about = `${clientCertificates} ${version} ${JSON.stringify(name)} ${reason}`;
            const isLetIn = await arrives(party, { ...name, ...shown(pair), minVersion: version, maxVersion: version });
            assert.is(isLetIn, refusal === undefined, about);
            const [said, ...more] = refusals();
            if (refusal === undefined) assert.is(said, undefined, about);
            else assert.ok(String(said).startsWith(refusal), `${about}: ${said}`);
            assert.equal(more, [], about);
            clock.advance(60_000);
          }
      await close();
    }
    authority.close();
    stranger.close();
  },
);

openssl.test(
  test,
  'a revoked certificate is refused from the next look at the lists on, resumed sessions too',
  async (program) => {
    const authority = new OpensslAuthority(program);
    const pairs = [authority.sign('good'), authority.sign('lost')] as const;
    const { party, clock, publish, refusals, close } = await openServer(authority, 'required', [authority.list()]);
    const sessions = new Map<string, Buffer>();
    const letIn = async (): Promise<boolean[]> => {
      const seen: boolean[] = [];
      for (const [index, pair] of pairs.entries())
        for (const version of versions)
          for (const name of sni) {
            const key = JSON.stringify([index, version, name]);
            const session = sessions.get(key);
            const more = {
              ...name,
              ...shown(pair),
              minVersion: version,
              maxVersion: version,
              ...(session && { session }),
            };
            if (!session) {
              const socket = connect(party, more);
              sessions.set(key, (await once(socket, 'session'))[0]);
              socket.destroy();
            }
            seen.push(await arrives(party, more));
            clock.advance(60_000);
          }
      return seen;
    };
    const six = (value: boolean): boolean[] => new Array(6).fill(value);
    assert.equal(await letIn(), [...six(true), ...six(true)]);
    assert.equal(refusals(), []);
    authority.revoke('lost');
    publish(authority.list());
    clock.advance(1_000);
    assert.equal(await letIn(), [...six(true), ...six(false)]);
    assert.equal(refusals(), new Array(6).fill(revoked));
    await close();
    authority.close();
  },
);

openssl.test(
  test,
  'without a list that holds now, nobody is let in; a file may hold lists of several authorities',
  async (program) => {
    const [authority, other] = [new OpensslAuthority(program), new OpensslAuthority(program, 'another')];
    const mine = shown(authority.sign('phone'));
    const { party, clock, publish, refusals, lines, close } = await openServer(authority, 'required', [other.list()]);
    const turn = async (...lists: string[]): Promise<unknown> => {
      publish(...lists);
      clock.advance(60_000);
      const isLetIn = await arrives(party, mine);
      return [isLetIn, ...refusals()];
    };
    assert.equal(await turn(other.list()), [
      false,
      'tls.client_crl has no list of the authority of its certificate (UNABLE_TO_GET_CRL)',
    ]);
    assert.equal(await turn(other.list(), authority.list()), [true]);
    assert.equal(await turn(authority.list('210101000000Z')), [
      false,
      'the list of tls.client_crl for its certificate has expired (CRL_HAS_EXPIRED)',
    ]);
    assert.equal(await turn(authority.list()), [true]);
    // Nonsense changes nothing, and is told.
    publish('-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n');
    clock.advance(60_000);
    assert.match(
      String(lines.find(({ level }) => level === 'error')?.fields['reason']),
      /crl\.pem is no revocation list in PEM/,
    );
    assert.is(await arrives(party, mine), true);
    await close();
    authority.close();
    other.close();
  },
);

openssl.test(test, 'a storm of refused certificates is one line in the log', async (program) => {
  const [authority, stranger] = [new OpensslAuthority(program), new OpensslAuthority(program, 'a stranger')];
  const { party, refusals, close } = await openServer(authority, 'required');
  const foreign = shown(stranger.sign('phone'));
  for (let index = 0; index < 20; index++) assert.is(await arrives(party, foreign), false);
  assert.is(refusals().length, 1);
  await close();
  authority.close();
  stranger.close();
});

test('a certificate that is read anew is shown to who asks for its name, too', async () => {
  const files = new CertificateFiles();
  const clock = new ManualClock();
  const settings = {
    certificates: [files.pair('own', own.sign('sip.example.com', 'first.example.com'))],
    authorities: [],
    clientAuthorities: [],
    clientCrl: [],
    minimumVersion: '1.2',
    checkEveryMs: 1_000,
  } as const;
  const tls = createCertificates(settings, { clock, log: createRecordingLog().log });
  const party = await openParty({ tls }, [{ protocol: 'tls', host: '127.0.0.1', port: 0 }]);
  files.pair('own', own.sign('sip.example.com', 'second.example.com'));
  clock.advance(1_000);
  for (const name of [{}, { servername: 'sip.example.com' }]) {
    const socket = connect(party, name);
    await once(socket, 'secureConnect');
    assert.match(socket.getPeerCertificate().subjectaltname!, /second\.example\.com/);
    socket.destroy();
  }
  tls.close();
  await party.transports.close();
  files.close();
});

test.run();
