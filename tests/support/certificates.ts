import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CertifiedKey, createCertificate } from '../../src/lib/self-made-certificate.ts';
import type { TlsKeys } from '../../src/lib/tls.ts';
import { createCertificates } from '../../src/stores/certificates.ts';
import { silentLog } from './log.ts';
import { ManualClock } from './manual-clock.ts';

const day = 86_400_000;
let serials = 0;

/** An authority of a test, and what it signs. */
export class Authority {
  readonly name: string;
  readonly own: CertifiedKey;

  constructor(name = 'the test authority') {
    this.name = name;
    this.own = createCertificate({ names: [name], ...lifetime(), serial: serial(), authority: true });
  }

  /** A certificate for names and addresses. */
  sign(...names: string[]): CertifiedKey {
    return createCertificate({ names, ...lifetime(), serial: serial(), issuer: { ...this.own, name: this.name } });
  }
}

const lifetime = () => ({ from: Date.now() - day, until: Date.now() + 100 * day });
const serial = () => (++serials).toString(16).padStart(16, '0');

/** A directory of certificates and keys in files, as the configuration wants them. */
export class CertificateFiles {
  readonly directory = mkdtempSync(join(tmpdir(), 'hookswitch-tls-'));

  /** Writes (anew) a pair under a name. */
  pair(name: string, { certificate, key }: CertifiedKey): { certificate: string; key: string } {
    const paths = { certificate: join(this.directory, `${name}.pem`), key: join(this.directory, `${name}.key`) };
    writeFileSync(paths.certificate, certificate);
    writeFileSync(paths.key, key);
    return paths;
  }

  /** Writes the certificate of an authority. */
  authority({ own }: Authority, name = 'authority'): string {
    return this.pair(name, own).certificate;
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** What a party shows and believes, without files that stay. */
export function tlsKeys(options: {
  shows?: readonly CertifiedKey[];
  believes?: readonly Authority[];
  believesClients?: readonly Authority[];
}): TlsKeys {
  const files = new CertificateFiles();
  try {
    return createCertificates(
      {
        certificates: (options.shows ?? []).map((pair, index) => files.pair(`own${index}`, pair)),
        authorities: (options.believes ?? []).map((each, index) => files.authority(each, `ca${index}`)),
        clientAuthorities: (options.believesClients ?? []).map((each, index) =>
          files.authority(each, `clients${index}`),
        ),
        clientCrl: [],
        minimumVersion: '1.2',
        checkEveryMs: 60_000,
      },
      { clock: new ManualClock(), log: silentLog },
    );
  } finally {
    files.close();
  }
}
