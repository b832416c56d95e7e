import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CertifiedKey } from '../../src/lib/self-made-certificate.ts';

/** When a certificate is good, as `openssl ca` writes it: yymmddhhmmssZ. */
export type Lifetime = { readonly from?: string; readonly until?: string };

const settings = (directory: string): string => `
[ca]
default_ca = own
[own]
dir = ${directory}
database = ${directory}/index.txt
serial = ${directory}/serial
crlnumber = ${directory}/crlnumber
new_certs_dir = ${directory}/issued
certificate = ${directory}/ca.pem
private_key = ${directory}/ca.key
default_md = sha256
policy = any
unique_subject = no
x509_extensions = client
crl_extensions = lists
[any]
commonName = supplied
[client]
basicConstraints = CA:FALSE
[lists]
authorityKeyIdentifier = keyid
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical, CA:TRUE
subjectKeyIdentifier = hash
`;

/** An authority that `openssl ca` keeps in a directory of its own: it signs, revokes, and publishes revocation lists. */
export class OpensslAuthority {
  readonly #directory = mkdtempSync(join(tmpdir(), 'hookswitch-ca-'));
  readonly #program: string;

  constructor(program: string, name = 'the authority of openssl') {
    this.#program = program;
    mkdirSync(this.#file('issued'));
    writeFileSync(this.#file('settings'), settings(this.#directory));
    writeFileSync(this.#file('index.txt'), '');
    writeFileSync(this.#file('serial'), '1000\n');
    writeFileSync(this.#file('crlnumber'), '01\n');
    this.#request('ca', name, '-x509', '-days', '30', '-config', this.#file('settings'));
  }

  /** PEM file of its own certificate. */
  get file(): string {
    return this.#file('ca.pem');
  }

  get certificate(): string {
    return readFileSync(this.file, 'utf8');
  }

  /** A certificate for a client. */
  sign(name: string, { from, until }: Lifetime = {}): CertifiedKey {
    this.#request(name, name);
    const dates = [...(from ? ['-startdate', from] : []), ...(until ? ['-enddate', until] : ['-days', '30'])];
    this.#ca('-notext', '-in', this.#file(`${name}.pem`), '-out', this.#file(`${name}.signed`), ...dates);
    return {
      certificate: readFileSync(this.#file(`${name}.signed`), 'utf8'),
      key: readFileSync(this.#file(`${name}.key`), 'utf8'),
    };
  }

  revoke(name: string): void {
    this.#ca('-revoke', this.#file(`${name}.signed`));
  }

  /** The list of what is revoked now, in PEM. @param until when the next one is due, as `openssl ca` writes it. */
  list(until?: string): string {
    const dates = until ? ['-crl_lastupdate', '200101000000Z', '-crl_nextupdate', until] : ['-crldays', '30'];
    this.#ca('-gencrl', '-out', this.#file('crl.pem'), ...dates);
    return readFileSync(this.#file('crl.pem'), 'utf8');
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }

  #ca(...more: string[]): void {
    this.#run('ca', '-batch', '-config', this.#file('settings'), ...more);
  }

  #request(file: string, name: string, ...more: string[]): void {
    const key = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      this.#file(`${file}.key`),
    ];
    this.#run('req', '-new', ...key, '-out', this.#file(`${file}.pem`), '-subj', `/CN=${name}`, ...more);
  }

  #run(...command: string[]): void {
    execFileSync(this.#program, command, { stdio: 'pipe' });
  }
}
