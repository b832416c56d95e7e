import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCertificates, readBrowserCertificate } from '../../src/stores/certificates.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { silentLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { need } from '../support/need.ts';

const openssl = need('openssl');
const others = {
  authorities: ['system'],
  clientAuthorities: [],
  clientCrl: [],
  minimumVersion: '1.2',
  checkEveryMs: 1000,
} as const;
const pem = { type: 'pkcs8', format: 'pem' } as const;

test('a key that is not the one of its certificate is refused at load and at reload, whatever its type', () => {
  const files = new CertificateFiles();
  const authority = new Authority();
  const deps = { clock: new ManualClock(), log: silentLog };
  const good = files.pair('good', authority.sign('localhost'));
  const served = createCertificates({ certificates: [good], ...others }, deps);
  const before = served.server?.cert;
  const keys = {
    rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ec: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    ed25519: generateKeyPairSync('ed25519'),
  };
  for (const [name, { privateKey }] of Object.entries(keys)) {
    const key = String(privateKey.export(pem));
    const pair = files.pair(name, { ...authority.sign('localhost'), key });
    const settings = { certificates: [pair], ...others };
    const refused = (error: Error): boolean => error.name === 'CertificateError' && error.message.includes(pair.key);
    assert.throws(() => createCertificates(settings, deps), refused, name);
    assert.throws(() => served.take(settings), refused, name);
    assert.is(served.server?.cert, before);
  }
  served.close();
  files.close();
});

test('browsers are shown a certificate with its own key', () => {
  const files = new CertificateFiles();
  const signed = new Authority().sign('calls.example.com');
  assert.equal(readBrowserCertificate(files.pair('good', signed)), signed);
  const other = new Authority().sign('calls.example.com');
  const strange = files.pair('strange', { ...signed, key: other.key });
  assert.throws(
    () => readBrowserCertificate(strange),
    /strange\.key is no key in PEM that fits .*strange\.pem: .*\(media\.webrtc\.key\)$/,
  );
  const refusals = [
    [{ certificate: 'missing.pem' }, /^missing\.pem cannot be read: .*\(media\.webrtc\.certificate\)$/],
    [{ key: 'missing.key' }, /^missing\.key cannot be read: .*\(media\.webrtc\.key\)$/],
    [{ certificate: strange.key }, /strange\.key is no certificate in PEM: .*\(media\.webrtc\.certificate\)$/],
    [{ key: files.authority(new Authority()) }, /authority\.pem is no key in PEM .*\(media\.webrtc\.key\)$/],
  ] as const;
  for (const [file, refused] of refusals) assert.throws(() => readBrowserCertificate({ ...strange, ...file }), refused);
  files.close();
});

openssl.test(test, 'browsers are shown no certificate of another curve than P-256', (program) => {
  const files = new CertificateFiles();
  const pair = { certificate: join(files.directory, 'p384.pem'), key: join(files.directory, 'p384.key') };
  const request = ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'];
  execFileSync(program, [...request, '-subj', '/CN=calls', '-keyout', pair.key, '-out', pair.certificate]);
  const refused = /p384\.pem has no key of the curve P-256 \(media\.webrtc\.certificate\)/;
  assert.throws(() => readBrowserCertificate(pair), refused);
  files.close();
});

test('the end of each certificate is known, for an alarm before it comes', () => {
  const files = new CertificateFiles();
  const pair = files.pair('own', new Authority().sign('localhost'));
  const served = createCertificates({ certificates: [pair], ...others }, { clock: new ManualClock(), log: silentLog });
  const { subject, validTo } = new X509Certificate(readFileSync(pair.certificate));
  assert.equal(served.ends(), [{ subject, until: Date.parse(validTo) }]);
  served.close();
  files.close();
});

test('an intermediate certificate that cannot be read is told as such, and the old pair stays', () => {
  const files = new CertificateFiles();
  const authority = new Authority();
  const deps = { clock: new ManualClock(), log: silentLog };
  const good = authority.sign('localhost');
  const chain = { ...good, certificate: `${good.certificate}\n${authority.own.certificate}` };
  const served = createCertificates({ certificates: [files.pair('own', chain)], ...others }, deps);
  const before = served.server?.cert;
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const pair = files.pair('broken', { ...good, certificate: `${good.certificate}\n${broken}` });
  assert.throws(
    () => served.take({ certificates: [pair], ...others }),
    (error: Error) => error.message.startsWith(`${pair.certificate} has a certificate that cannot be read: `),
  );
  assert.is(served.server?.cert, before);
  served.close();
  files.close();
});

test.run();
