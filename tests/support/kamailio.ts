import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { Command } from './program.ts';

/** The realm and the one password of everybody at a provider. */
export const realm = 'provider.test';
export const password = 'wonderland';

export type KamailioOptions = {
  /**
   * `provider`: registers whoever knows the password, and connects them; calls to 300 go to `fixed`.
   * `proxy`: stands in front of a server at `behind`, and in the way of all that phones behind it send and get (Path).
   */
  role: 'provider' | 'proxy';
  /** SIP URI where calls to 300 go, as to a gateway. */
  fixed?: string;
  /** `address:port` of the server that it stands in front of. */
  behind?: string;
  /** Ways to keep audio secret that no session description gets through with, as with an old phone. */
  drops?: readonly string[];
  /** What it shows over TLS; without it there is no TLS. */
  tls?: { certificate: string; key: string };
};

/** Debian's Kamailio, with a configuration of ours, on ports of 127.0.0.1 that the system chose. */
export class Kamailio {
  /** Of UDP and TCP; that of TLS is `tlsPort`. */
  readonly port: number;
  readonly tlsPort: number;
  readonly #command: Command;
  readonly #directory: string;

  private constructor(command: Command, directory: string, port: number, tlsPort: number) {
    this.#command = command;
    this.#directory = directory;
    this.port = port;
    this.tlsPort = tlsPort;
  }

  /** Resolves when it can be spoken to. */
  static async start(program: string, options: KamailioOptions): Promise<Kamailio> {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-kamailio-'));
    const [port, tlsPort] = [await freePort(), await freePort()];
    const file = join(directory, 'kamailio.cfg');
    writeFileSync(file, configuration(options, port, tlsPort));
    const args = ['-DD', '-E', '-f', file, '-Y', directory, '-w', directory, '-m', '32', '-M', '4'];
    const command = new Command(program, args, {}, true);
    const kamailio = new Kamailio(command, directory, port, tlsPort);
    try {
      await command.until(/it is there/);
    } catch (error) {
      await kamailio.close();
      throw error;
    }
    return kamailio;
  }

  /** `address:port`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resolves once what it logged matches. */
  until(matches: RegExp): Promise<void> {
    return this.#command.until(matches);
  }

  explain(): string {
    return `Kamailio:\n${this.#command.written}`;
  }

  /** Ends at once, as a machine does that loses its power. */
  async close(): Promise<void> {
    await this.#command.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/**
 * Kamailio with a configuration that is shipped, which it checks first.
 * @param defines values of the file's definitions.
 */
export function startShippedKamailio(
  [program = '', ...before]: readonly string[],
  file: string,
  defines: Readonly<Record<string, string | number>>,
): Command {
  const defined = Object.entries(defines).flatMap(([name, value]) => ['-A', `${name}=${value}`]);
  execFileSync(program, [...before, '-c', '-f', file, ...defined], { stdio: 'pipe' });
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-kamailio-'));
  const memory = ['-m', '32', '-M', '4', '-Y', directory, '-P', join(directory, 'pid')];
  const kamailio = new Command(program, [...before, '-DD', '-E', ...memory, '-f', file, ...defined], {}, true);
  const close = kamailio.close.bind(kamailio);
  kamailio.close = async () => {
    await close();
    rmSync(directory, { recursive: true, force: true });
  };
  return kamailio;
}

const modules = [
  'tm',
  'sl',
  'rr',
  'pv',
  'maxfwd',
  'siputils',
  'usrloc',
  'registrar',
  'auth',
  'path',
  'xlog',
  'textops',
];

function configuration(
  { role, fixed, behind, drops = [], tls }: KamailioOptions,
  port: number,
  tlsPort: number,
): string {
  return `#!KAMAILIO
debug=2
log_stderror=yes
fork=yes
children=1
tcp_children=1
auto_aliases=no
dns=no
rev_dns=no
${tls ? 'enable_tls=yes' : ''}
listen=udp:127.0.0.1:${port}
listen=tcp:127.0.0.1:${port}
${tls ? `listen=tls:127.0.0.1:${tlsPort}` : ''}
${[...modules, ...(tls ? ['tls'] : [])].map((name) => `loadmodule "${name}.so"`).join('\n')}
modparam("registrar", "use_path", 1)
modparam("registrar", "path_mode", 0)
modparam("tm", "fr_timer", 3000)
${tls ? `modparam("tls", "tls_method", "TLSv1.2+")\nmodparam("tls", "certificate", "${tls.certificate}")\nmodparam("tls", "private_key", "${tls.key}")` : ''}

request_route {
  xlog("L_WARN", "got $rm for $ru from $proto:$si:$sp\\n");
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (is_method("ACK") && t_check_trans()) { t_relay(); exit; }
    if (!is_method("ACK")) sl_send_reply("404", "Not Here");
    exit;
  }
  t_check_trans();
  ${drops.map((suite) => `replace_body_all("a=crypto:[0-9]+ ${suite} [^\\r\\n]*\\r\\n", "");`).join('\n  ')}
  route(${role === 'provider' ? 'PROVIDER' : 'PROXY'});
}

route[PROVIDER] {
  if (is_method("REGISTER")) {
    if (!pv_www_authenticate("${realm}", "${password}", "0")) { www_challenge("${realm}", "0"); exit; }
    if ($au != $tU) { sl_send_reply("403", "Not Yours"); exit; }
    save("location");
    exit;
  }
  if (is_method("OPTIONS")) { sl_send_reply("200", "Here"); exit; }
  if (!pv_proxy_authenticate("${realm}", "${password}", "0")) { proxy_challenge("${realm}", "0"); exit; }
  consume_credentials();
  record_route();
  ${fixed ? `if ($rU == "300") { $ru = "${fixed}"; t_relay(); exit; }` : ''}
  if (!lookup("location")) { sl_send_reply("404", "Nobody Of That Name"); exit; }
  t_relay();
}

route[PROXY] {
  # From the server, for a phone: it names the way in Route, which was the Path of the registration.
  loose_route();
  if (uri != myself) { record_route(); t_relay(); exit; }
  if (is_method("REGISTER")) { if (!add_path()) { sl_reply_error(); exit; } }
  else record_route();
  $du = "sip:${behind ?? ''}";
  t_relay();
}

onreply_route {
  xlog("L_WARN", "got $rs $rr for $rm from $proto:$si:$sp\\n");
}

event_route[core:worker-one-init] {
  xlog("L_WARN", "it is there\\n");
}
`;
}
