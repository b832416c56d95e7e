import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestServer } from './server.ts';
import { freePort } from './sipp.ts';

/** A prompt that lasts longer than a test. */
export const speech = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));

/** What baresip needs to be a phone without a person: it answers by itself and speaks a prompt, or whatever is said. */
const config = (port: number, more: readonly string[] = [`audio_source aufile,${speech}`]): string => `
module_path /usr/lib/baresip/modules
sip_listen 127.0.0.1:${port}
net_interface 127.0.0.1
${more.join('\n')}
module g711.so
module aufile.so
module_tmp account.so
module_app menu.so
`;

/**
 * Starts a phone that registers as `name` with the password `wonderland`; `command` is what its user enters once it runs.
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
  }: { command?: string; more?: (directory: string) => readonly string[]; at?: string } = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-baresip-'));
  writeFileSync(join(directory, 'config'), config(await freePort(), more?.(directory)));
  writeFileSync(join(directory, 'contacts'), '');
  writeFileSync(
    join(directory, 'accounts'),
    `<sip:${name}@${at};transport=udp>;auth_user=${name};auth_pass=wonderland;regint=600;answermode=auto\n`,
  );
  const phone = spawn(program, ['-f', directory, '-v', ...(command ? ['-e', command] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
