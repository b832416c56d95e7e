import { readFileSync } from 'node:fs';
import { type ReplayReport, replay } from './replay.ts';
import type { TestServer } from './server.ts';

/** What `hookswitch replay` is asked for. */
type ReplayOrder = {
  /** Command line of the application; left out: one is waited for. */
  run?: string | undefined;
};

/**
 * Replays a bundle from a file.
 * @param note tells a person how to connect, where no command starts the application.
 * @throws Error when the file cannot be read, or the application does not connect.
 */
export function replayFile(file: string, { run }: ReplayOrder, note: (text: string) => void): Promise<ReplayReport> {
  const bundle = readFileSync(file, 'utf8');
  const start = (pbx: TestServer): Promise<void> => {
    // The shell gives its process to the program, so that it ends with the server.
    if (run !== undefined) return pbx.run('sh', ['-c', `exec ${run}`]);
    const settings = Object.entries(pbx.env).map(([name, value]) => `${name}=${value}`);
    note(`Start the application with ${settings.join(' ')}\n`);
    return pbx.connected();
  };
  return replay(bundle, { start });
}
