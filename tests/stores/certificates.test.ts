import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCertificates } from '../../src/stores/certificates.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { silentLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

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
