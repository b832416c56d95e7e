import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createCertificate } from '../lib/self-made-certificate.ts';

/** How long a certificate for a first try holds, in ms. */
const lifetimeMs = 365 * 86_400_000;

/** Clocks of phones are often a little behind, in ms. */
const earlierMs = 86_400_000;

/**
 * Makes a certificate that nobody has signed but itself, and writes it with its key, readable by this user alone, beside
 * each other. Files that are there already are never written over.
 * @param names host names and addresses that it is for.
 * @param serial 16 hexadecimal digits.
 * @returns the two files. @throws Error when they cannot be written, or are there.
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
