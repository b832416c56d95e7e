import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext, type SecureVersion } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { CertifiedKey } from '../lib/self-made-certificate.ts';
import type { ClientTls, ServerTls, TlsKeys } from '../lib/tls.ts';

/** Which files there are, and what is believed. */
export type CertificateSettings = {
  /** PEM files. Clients whose server name matches no other pair get the first one. */
  readonly certificates: readonly { readonly certificate: string; readonly key: string }[];
  /** PEM files of authorities; `system` stands for Node's own. */
  readonly authorities: readonly string[];
  /** PEM files of the authorities of our clients. */
  readonly clientAuthorities: readonly string[];
  /** PEM files of revocation lists of those authorities; empty: revocation is not checked. */
  readonly clientCrl: readonly string[];
  readonly minimumVersion: '1.2' | '1.3';
  /** How often to look whether a file is another one, in ms. */
  readonly checkEveryMs: number;
};

/** A certificate, key or authority cannot be used; the message says which file and why, in one line. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly file: string;

  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(`${file} ${reason}`, options);
    this.file = file;
  }
}

/** The certificates of the configuration, as they stand in their files now. */
interface Certificates extends TlsKeys {
  /** Reads all files again. On an error nothing changes. @throws CertificateError */
  take(settings: CertificateSettings): void;
  /** Reads all files again. Unusable files change nothing and are logged. */
  readAgain(): void;
  /** The certificates and when each ends, in ms since the Unix epoch. */
  ends(): { subject: string; until: number }[];
  /** Looks at the files no longer. */
  close(): void;
}

/** All that one reading gave. */
type Read = { shown: readonly Shown[]; minVersion: SecureVersion; client: ClientTls; clients: Believed };

/** Whose certificates of clients are believed, and which of these are revoked. All PEM. */
type Believed = { readonly ca: string[]; readonly crl?: string[] };

/** A certificate; `open` does not request a client certificate, `asking` does. */
type Shown = { cert: string; key: string; leaf: X509Certificate; open: SecureContext; asking: SecureContext };

/** A certificate that expires within this time is reported when it is read, in ms. */
const soonOver = 14 * 86_400_000;

/** Reads them, and looks from time to time whether a file has changed. @throws CertificateError */
export function createCertificates(
  start: CertificateSettings,
  { clock, log }: { clock: Clock; log: Logger },
): Certificates {
  const listeners: (() => void)[] = [];
  let settings = start;
  let current = readAll(settings, clock.now(), log);
  let stamp = stampOf(settings);
  let timer: unknown;

  // Node never replaces a server's callback, so it uses the latest data. OpenSSL checks a client against the
  // authorities of the context for the requested name, not of the server.
  const serverTls = (kind: 'open' | 'asking'): ServerTls | undefined => {
    const { shown, minVersion, clients } = current;
    const [first] = shown;
    return (
      first && {
        cert: first.cert,
        key: first.key,
        minVersion,
        ...(kind === 'asking' && clients),
        SNICallback: (name, choose) => choose(null, current.shown.find(({ leaf }) => leaf.checkHost(name))?.[kind]),
      }
    );
  };

  const put = (next: Read): void => {
    current = next;
    stamp = stampOf(settings);
    for (const listener of listeners) listener();
  };

  const readAgain = (): void => {
    try {
      put(readAll(settings, clock.now(), log));
      log.info({ files: filesOf(settings) }, 'reloaded the certificates');
    } catch (error) {
      // Told once for each change of the files, not at every look.
      stamp = stampOf(settings);
      log.error({ reason: (error as Error).message }, 'the new certificates cannot be used: the old ones stay in use');
    }
  };

  const watch = (): void => {
    if (filesOf(settings).length === 0) return;
    timer = clock.setTimeout(() => {
      if (stampOf(settings) !== stamp) readAgain();
      watch();
    }, settings.checkEveryMs);
  };
  watch();

  return {
    get server() {
      return serverTls('open');
    },
    get askingServer() {
      return serverTls('asking');
    },
    get client() {
      return current.client;
    },
    onChanged: (listener) => void listeners.push(listener),
    take(next) {
      const read = readAll(next, clock.now(), log);
      clock.clearTimeout(timer);
      settings = next;
      put(read);
      watch();
    },
    readAgain: () => filesOf(settings).length > 0 && readAgain(),
    ends: () => current.shown.map(({ leaf }) => ({ subject: leaf.subject, until: Date.parse(leaf.validTo) })),
    close: () => clock.clearTimeout(timer),
  };
}

const filesOf = ({ certificates, authorities, clientAuthorities, clientCrl }: CertificateSettings): string[] => [
  ...certificates.flatMap(({ certificate, key }) => [certificate, key]),
  ...[...authorities, ...clientAuthorities, ...clientCrl].filter((file) => file !== 'system'),
];

/** Which files stand there: another text means that one of them is another now. */
function stampOf(settings: CertificateSettings): string {
  return filesOf(settings)
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
    })
    .join('\n');
}

function readAll(settings: CertificateSettings, now: number, log: Logger): Read {
  const minVersion: SecureVersion = `TLSv${settings.minimumVersion}`;
  const crl = settings.clientCrl.flatMap(readRevocations);
  const clients = { ca: settings.clientAuthorities.map(readAuthorities), ...(crl.length > 0 && { crl }) };
  const shown = settings.certificates.map((pair) => readPair(pair, minVersion, clients));
  for (const { leaf } of shown) tellEnd(leaf, now, log);
  const [first] = shown;
  const isUsual = settings.authorities.length === 1 && settings.authorities[0] === 'system';
  const ca = settings.authorities.flatMap((file) => (file === 'system' ? rootCertificates : [readAuthorities(file)]));
  const own = first && { cert: first.cert, key: first.key };
  return { shown, minVersion, client: { ...(!isUsual && { ca }), minVersion, ...own }, clients };
}

function readPair(
  { certificate, key }: { certificate: string; key: string },
  minVersion: SecureVersion,
  clients: Believed,
): Shown {
  const cert = readText(certificate);
  const secret = readText(key);
  const leaf = trying(certificate, 'is no certificate in PEM', () => new X509Certificate(cert));
  trying(certificate, 'has a certificate that cannot be read', () => createSecureContext({ cert, minVersion }));
  const open = trying(key, `is no key in PEM that fits ${certificate}`, () =>
    createSecureContext({ cert, key: secret, minVersion }),
  );
  // OpenSSL takes a key of another type than the certificate's, and then fails every handshake.
  const isPair = trying(key, 'is no private key in PEM', () => leaf.checkPrivateKey(createPrivateKey(secret)));
  if (!isPair) throw new CertificateError(key, `is not the private key of ${certificate}`);
  return { cert, key: secret, leaf, open, asking: createSecureContext({ cert, key: secret, minVersion, ...clients }) };
}

/**
 * The certificate that browsers see. DTLS here signs with ECDSA on P-256 alone, which each browser takes (RFC 8827 6.5).
 * @throws CertificateError that names the setting of the file.
 */
export function readBrowserCertificate(files: { certificate: string; key: string }): CertifiedKey {
  try {
    const { cert, key, leaf } = readPair(files, 'TLSv1.2', { ca: [] });
    if (leaf.publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      throw new CertificateError(files.certificate, 'has no key of the curve P-256');
    return { certificate: cert, key };
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    const setting = error.file === files.certificate ? 'media.webrtc.certificate' : 'media.webrtc.key';
    const reason = `${error.message.slice(error.file.length + 1)} (${setting})`;
    throw new CertificateError(error.file, reason, { cause: error.cause });
  }
}

function readAuthorities(file: string): string {
  const text = readText(file);
  trying(file, 'is no certificate in PEM', () => new X509Certificate(text));
  return text;
}

/** The lists of a file, separated: Node reads one per text. */
function readRevocations(file: string): string[] {
  const lists = readText(file).match(/-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----/g) ?? [''];
  for (const crl of lists) trying(file, 'is no revocation list in PEM', () => createSecureContext({ crl }));
  return lists;
}

const readText = (file: string): string => trying(file, 'cannot be read', () => readFileSync(file, 'utf8'));

function trying<T>(file: string, wrong: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new CertificateError(file, `${wrong}: ${(error as Error).message}`, { cause: error });
  }
}

/** One that is over is shown all the same: peers say what they think of it. */
function tellEnd({ validTo, subject }: X509Certificate, now: number, log: Logger): void {
  const left = Date.parse(validTo) - now;
  if (left < 0) log.error({ subject, until: validTo }, 'a certificate has expired');
  else if (left < soonOver) log.warn({ subject, until: validTo }, 'a certificate expires soon');
}
