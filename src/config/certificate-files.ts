import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createCertificate } from '../lib/self-made-certificate.ts';

/** How long a certificate for a first try holds, in ms. */
const lifetimeMs = 365 * 86_400_000;

/** Clocks of phones are often a little behind, in ms. */
const earlierMs = 86_400_000;

/**
 * Makes a self-signed certificate and writes it with its key, readable by this user only. Existing files are never
 * overwritten.
 * @param names host names and addresses of the certificate.
 * @param serial 16 hexadecimal digits.
 * @returns the two files. @throws Error if they cannot be written, or exist.
 */
export function writeSelfMadeCertificate({
  directory,
  names,
  now,
  serial,
}: {
  directory: string;
  names: readonly string[];
  now: number;
  serial: string;
}): { certificate: string; key: string } {
  const made = createCertificate({ names, from: now - earlierMs, until: now + lifetimeMs, serial });
  const files = { certificate: resolve(directory, 'hookswitch.pem'), key: resolve(directory, 'hookswitch.key') };
  writeFileSync(files.key, made.key, { mode: 0o600, flag: 'wx' });
  writeFileSync(files.certificate, made.certificate, { mode: 0o644, flag: 'wx' });
  return files;
}
