import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { Command } from './program.ts';

const prompt = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));
/** How often a phone says it: five minutes, for a phone that has nothing more to say hangs up. */
const times = 48;

/** Writes a file of a prompt again and again, which lasts longer than a test, into a directory. @returns its path. */
export function speechIn(directory: string): string {
  const once = readFileSync(prompt);
  const data = once.indexOf('data', 12, 'latin1');
  const octets = once.subarray(data + 8, data + 8 + once.readUInt32LE(data + 4));
  const head = Buffer.from(once.subarray(0, data + 8));
  head.writeUInt32LE(data + times * octets.length, 4);
  head.writeUInt32LE(times * octets.length, data + 4);
  const file = join(directory, 'speech.wav');
  writeFileSync(file, Buffer.concat([head, ...Array<Buffer>(times).fill(octets)]));
  return file;
}

export type BaresipOptions = {
  /** Address of record with parameters of the account, e.g. `<sip:alice@127.0.0.1:5060>;regint=600`. */
  account: string;
  /** Modules besides those of an account, G.711 and files of audio. */
  modules?: readonly string[];
  /** Lines of its configuration. */
  settings?: readonly string[];
  /** Whom it knows, a line each. */
  contacts?: readonly string[];
  /** What its user enters once it runs. */
  command?: string;
};

/** A new directory for baresip, in which its configuration can be written. */
export const baresipDirectory = (): string => mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));

/** Writes what baresip needs to be a phone without a person; it says a prompt unless `settings` say what. */
export async function configureBaresip(
  directory: string,
  { account, modules = [], settings = [], contacts = [] }: Omit<BaresipOptions, 'command'>,
): Promise<void> {
  const lines = [
    'module_path /usr/lib/baresip/modules',
    `sip_listen 127.0.0.1:${await freePort()}`,
    'net_interface 127.0.0.1',
    ...(settings.some((line) => line.startsWith('audio_source')) ? [] : [`audio_source aufile,${speechIn(directory)}`]),
    ...settings,
    ...['g711.so', 'aufile.so', ...modules.filter((module) => !module.startsWith('app '))].map(
      (each) => `module ${each}`,
    ),
    'module_tmp account.so',
    'module_app menu.so',
    ...modules.filter((module) => module.startsWith('app ')).map((each) => `module_${each}`),
    '',
  ];
  writeFileSync(join(directory, 'config'), lines.join('\n'));
  writeFileSync(join(directory, 'contacts'), `${contacts.join('\n')}\n`);
  writeFileSync(join(directory, 'accounts'), `${account}\n`);
}

/** What baresip is started with. */
export const baresipArguments = (directory: string, command?: string): string[] => [
  ...['-f', directory, '-v'],
  ...(command ? ['-e', command] : []),
];

/** baresip, a phone that nobody wrote for these tests, without a person: what it says is a prompt. */
export async function startBaresipProgram(program: string, { command, ...options }: BaresipOptions): Promise<Command> {
  const directory = baresipDirectory();
  await configureBaresip(directory, options);
  const phone = new Command(program, baresipArguments(directory, command));
  const close = phone.close.bind(phone);
  phone.close = async () => {
    await close();
    rmSync(directory, { recursive: true, force: true });
  };
  return phone;
}
