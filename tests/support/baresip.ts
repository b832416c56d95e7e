import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { baresipArguments, baresipDirectory, configureBaresip } from './baresip-program.ts';
import type { TestServer } from './server.ts';

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
