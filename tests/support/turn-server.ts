import { freePort } from './free-port.ts';
import { Command } from './program.ts';

/** coturn, with one user; see `need('turnserver')`. */
export class TurnServer {
  readonly port: number;
  readonly #program: Command;

  private constructor(program: Command, port: number) {
    this.#program = program;
    this.port = port;
  }

  /**
   * @param path the program. @param how its account: options of coturn. @param tls its certificate and key, in files: then it
   * takes TLS alone. @param address where it listens, and relays unless `how` says
   * otherwise.
   */
  static async start(
    path: string,
    how: readonly string[] = ['--user=desk:north wind'],
    tls?: { certificate: string; key: string },
    address = '127.0.0.1',
  ): Promise<TurnServer> {
    const port = await freePort();
    const secure = tls
      ? [`--tls-listening-port=${port}`, `--cert=${tls.certificate}`, `--pkey=${tls.key}`, '--no-udp', '--no-tcp']
      : [`--listening-port=${port}`, '--no-tls'];
    const relays = how.some((option) => option.startsWith('--relay-ip=')) ? [] : [`--relay-ip=${address}`];
    const program = new Command(path, [
      ...['-n', '--no-cli', '--no-dtls', '--log-file=stdout', '--simple-log', '--pidfile='],
      ...['--lt-cred-mech', '--realm=tests', '--allow-loopback-peers', '--verbose', '--relay-threads=1'],
      ...[`--listening-ip=${address}`, ...relays, ...secure, ...how],
    ]);
    try {
      await program.until(tls ? /IPv4. TLS listener opened on/ : /IPv4. (UDP|TCP) listener opened on/);
    } catch (error) {
      await program.close();
      throw error;
    }
    return new TurnServer(program, port);
  }

  /** Resolves once its log matches. */
  logs(matches: RegExp): Promise<void> {
    return this.#program.until(matches);
  }

  explain(): string {
    return this.#program.explain();
  }

  close(): Promise<void> {
    return this.#program.close();
  }
}
