import { loadConfig } from './config/load.ts';
import { validate } from './dialplan/parse.ts';
import { systemClock } from './lib/clock.ts';
import { createLogging } from './logging.ts';
import { startServer as start } from './main.ts';

/** Options of {@link startServer}. */
export interface ServerOptions {
  /** Path of the YAML file; left out: the built-in settings. */
  config?: string;
  /** Environment variables that override the file, such as `HOOKSWITCH_HTTP_PORT`. Default: none. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Gets each log line, as JSON. Default: lines are dropped. */
  log?: (line: string) => void;
}

/** A server in this process. */
export interface Server {
  /** URL of the interface, ending in `/ari`. */
  readonly url: string;
  /** `address:port` of all SIP listeners, by protocol. */
  readonly sip: Readonly<Record<string, readonly string[]>>;
  /** The password made up for this run, if the configuration has none. */
  readonly password: string | undefined;
  /** How many channels there are. */
  channels(): number;
  /** Takes no new calls and waits until the present ones have ended, at most `general.drain_timeout`. */
  drain(): Promise<void>;
  /** Ends everything, calls too. */
  close(): Promise<void>;
}

/**
 * Starts a server in this process. It handles no signals.
 * @throws ConfigError with every problem of the configuration; Error with `code` if an address cannot be used.
 */
export async function startServer({ config: file, env = {}, log = () => {} }: ServerOptions = {}): Promise<Server> {
  const config = loadConfig({ ...(file !== undefined && { file }), env, checkDialplan: validate });
  const logging = createLogging(config, { write: log }, systemClock);
  const running = await start(config, { logging });
  return {
    url: running.addresses.http,
    sip: running.addresses.sip,
    password: running.password,
    channels: running.channels,
    drain: running.drain,
    close: running.close,
  };
}
