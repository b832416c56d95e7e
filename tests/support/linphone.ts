import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from './program.ts';

const speech = fileURLToPath(new URL('../../sounds/en/demo-congrats.wav', import.meta.url));

export type LinphoneOptions = {
  user: string;
  password: string;
  /** Port of SIP over TLS at `localhost`: names of certificates that are addresses it does not compare. */
  port: number;
  /** File of the authorities that it believes. */
  authorities: string;
  /** Whether its audio is to be secret, and whether it must be. */
  srtp: 'off' | 'optional' | 'mandatory';
};

/** Debian's linphonec, registered over TLS, without a person: it answers by itself, and says a prompt when told to. */
export class Linphone extends Command {
  readonly #directory: string;

  constructor(program: string, options: LinphoneOptions) {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-linphone-'));
    mkdirSync(join(directory, '.local/share/linphone'), { recursive: true });
    mkdirSync(join(directory, '.config/linphone'), { recursive: true });
    const file = join(directory, 'linphonerc');
    writeFileSync(file, configuration(options));
    super(program, ['-c', file, '-a', '-S', '-d', '1', '-l', join(directory, 'log')], { HOME: directory });
    this.#directory = directory;
    // There is no sound card: files take its place.
    this.enter('soundcard use files');
  }

  /** Says a prompt in the call that it is in. */
  speak(): void {
    this.enter(`play ${speech}`);
  }

  override async close(): Promise<void> {
    await super.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

const configuration = ({ user, password, port, authorities, srtp }: LinphoneOptions): string => `[sip]
sip_port=-1
sip_tcp_port=-1
sip_tls_port=-1
default_proxy=0
use_ipv6=0
media_encryption=${srtp === 'off' ? 'none' : 'srtp'}
media_encryption_mandatory=${srtp === 'mandatory' ? 1 : 0}
verify_server_certs=1
verify_server_cn=1
root_ca=${authorities}
[sound]
echocancellation=0
[proxy_0]
reg_proxy=<sip:localhost:${port};transport=tls>
reg_identity=sip:${user}@127.0.0.1
reg_sendregister=1
reg_expires=600
publish=0
[auth_info_0]
username=${user}
passwd=${password}
realm=hookswitch
`;
