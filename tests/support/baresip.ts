import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { Command } from './program.ts';
import type { TestServer } from './server.ts';

const prompt = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));
/** How often a phone says it: five minutes, for a phone that has nothing more to say hangs up. */
const times = 48;

/** Writes a file of a prompt again and again, which lasts longer than a test, into a directory. @returns its path. */
function speechIn(directory: string): string {
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

type BaresipOptions = {
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
const baresipDirectory = (): string => mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));

/** Writes what baresip needs to be a phone without a person; it says a prompt unless `settings` say what. */
async function configureBaresip(
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
const baresipArguments = (directory: string, command?: string): string[] => [
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

/**
 * Starts a phone that registers as `name` with the password `wonderland`; `command` is what its user enters once it runs.
 * @param answers whether it takes calls by itself.
 * @param at where it registers, `address:port`: the server's own address for SIP when left out.
 */
export async function startBaresip(
  program: string,
  server: Pick<TestServer, 'sip' | 'closing'>,
  name: string,
  {
    command,
    more,
    at = server.sip(),
    answers = 'auto',
  }: {
    command?: string;
    more?: (directory: string) => readonly string[];
    at?: string;
    answers?: 'auto' | 'manual';
  } = {},
) {
  const directory = baresipDirectory();
  await configureBaresip(directory, {
    account: `<sip:${name}@${at};transport=udp>;auth_user=${name};auth_pass=wonderland;regint=600;answermode=${answers}`,
    settings: more?.(directory) ?? [],
  });
  const phone = spawn(program, baresipArguments(directory, command), { stdio: ['ignore', 'pipe', 'pipe'] });
  let written = '';
  for (const stream of [phone.stdout, phone.stderr]) stream.on('data', (chunk) => (written += String(chunk)));
  const ended = once(phone, 'close');
  server.closing({
    explain: () => written,
    async close() {
      phone.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  });
  return { phone, ended, directory };
}

/** Asks something of baresip by its control connection: one command as a netstring of JSON. @returns what it answers. */
export async function tell(port: number, command: string, params?: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const text = JSON.stringify({ command, ...(params !== undefined && { params }) });
  socket.write(`${text.length}:${text},`);
  let heard = '';
  while (!heard.includes('"response":true')) heard += String((await once(socket, 'data'))[0]);
  socket.destroy();
  return heard;
}
