import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from './program.ts';
import { freePort } from './sipp.ts';

const speech = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));

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

/** baresip, a phone that nobody wrote for these tests, without a person: what it says is a prompt. */
export async function startBaresipProgram(program: string, options: BaresipOptions): Promise<Command> {
  const { account, modules = [], settings = [], contacts = [], command } = options;
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));
  const lines = [
    'module_path /usr/lib/baresip/modules',
    `sip_listen 127.0.0.1:${await freePort()}`,
    'net_interface 127.0.0.1',
    `audio_source aufile,${speech}`,
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
  const phone = new Command(program, ['-f', directory, '-v', ...(command ? ['-e', command] : [])]);
  const close = phone.close.bind(phone);
  phone.close = async () => {
    await close();
    rmSync(directory, { recursive: true, force: true });
  };
  return phone;
}
