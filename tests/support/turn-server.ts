import { freePort } from './free-port.ts';
import { Command } from './program.ts';

/** coturn on 127.0.0.1, with one user; see `need('turnserver')`. */
export class TurnServer {
  readonly port: number;
  readonly #program: Command;

  private constructor(program: Command, port: number) {
    this.#program = program;
    this.port = port;
  }

  /** @param path the program. @param how its account: options of coturn. */
  static async start(path: string, how: readonly string[] = ['--user=desk:north wind']): Promise<TurnServer> {
    const port = await freePort();
    const program = new Command(path, [
      ...['-n', '--no-cli', '--no-tls', '--no-dtls', '--log-file=stdout', '--simple-log', '--pidfile='],
      ...['--lt-cred-mech', '--realm=tests', '--allow-loopback-peers', '--verbose', '--relay-threads=1'],
      ...['--listening-ip=127.0.0.1', '--relay-ip=127.0.0.1', `--listening-port=${port}`, ...how],
    ]);
    try {
      await program.until(/IPv4. UDP listener opened on/);
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
