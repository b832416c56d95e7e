import { readFileSync } from 'node:fs';
import { type ReplayReport, replay } from './replay.ts';
import type { TestServer } from './server.ts';

/** What `hookswitch replay` is asked for. */
type ReplayOrder = {
  /** Command line of the application; left out: one is waited for. */
  run?: string | undefined;
  /** URL of a WebSocket server of the application, which is connected to. */
  app?: string | undefined;
};

/**
 * Replays a bundle from a file.
 * @param note tells a person how to connect, where no command starts the application.
 * @throws Error when the file cannot be read, the URL names no WebSocket, or the application is not connected.
 */
export function replayFile(
  file: string,
  { run, app }: ReplayOrder,
  note: (text: string) => void,
): Promise<ReplayReport> {
  const bundle = readFileSync(file, 'utf8');
  if (app !== undefined && run === undefined) return replay(bundle, { connectTo: webSocketUrl(app) });
  const start = (pbx: TestServer): Promise<void> => {
    // The shell gives its process to the program, so that it ends with the server.
    if (run !== undefined) return pbx.run('sh', ['-c', `exec ${run}`]);
    const settings = Object.entries(pbx.env).map(([name, value]) => `${name}=${value}`);
    note(`Start the application with ${settings.join(' ')}\n`);
    return pbx.connected();
  };
  return replay(bundle, { start, ...(app !== undefined && { connectTo: webSocketUrl(app) }) });
}

/** `http` and `https` stand for `ws` and `wss`. @throws Error for other URLs. */
function webSocketUrl(app: string): string {
  const url = URL.canParse(app) ? new URL(app) : undefined;
  const protocol = url && /^(?:http|ws)(s?):$/.exec(url.protocol);
  if (!url || !protocol) throw new Error(`--app expects a URL such as ws://127.0.0.1:9000/, not '${app}'`);
  return `ws${protocol[1]}${app.slice(url.protocol.length - 1)}`;
}
