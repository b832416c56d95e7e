import { systemClock } from './lib/clock.ts';
import { loadConfiguration, readConfiguration } from './read-configuration.ts';
import { serve } from './serve.ts';
import { joinSupervisor } from './supervision/supervised.ts';

/**
 * The command `serve` with all its code. The build makes one file of it, and keeps what V8 compiles of it
 * (`compiled-code.ts`). So nothing here may meet objects of the rest of the command line by their class.
 */

/** Options of the command. */
export type ServeOptions = {
  config?: string;
  inspect?: boolean;
  'inspect-url'?: string;
  'take-over'?: boolean;
};

/** The requested inspector, or undefined. @throws Error when its relay cannot be opened. */
async function inspectorFor({ inspect, 'inspect-url': url }: ServeOptions) {
  if (!inspect && url === undefined) return undefined;
  const { openInspector, standardInspector } = await import('./inspect.ts');
  return openInspector(url ?? standardInspector);
}

/**
 * Runs a server until a signal, and then ends the process. It returns only if the server could not start; the reason has been
 * printed.
 * @param failed ends the process after an internal error, which has been logged
 */
export async function runServer(options: ServeOptions, failed: () => never): Promise<void> {
  const config = readConfiguration(options.config);
  if (!config) return;
  const inspector = await inspectorFor(options).catch((error: Error) => error);
  if (inspector instanceof Error) {
    process.stderr.write(`hookswitch: ${inspector.message}\n`);
    return;
  }
  const supervised = await joinSupervisor(systemClock);
  const started = await serve(config, () => loadConfiguration(options.config, config), failed, {
    ...{ inspect: inspector?.inspect, supervised, takesOver: options['take-over'] },
  });
  inspector?.stop();
  // A handle left open by a fault must not keep a stopped server alive.
  if (started) process.exit(0);
}
