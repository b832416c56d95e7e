import type { Inspect } from './actors/spawn.ts';

/** Default URL of Stately's relay (`createInspectorServer` of `@statelyai/inspect/server`). */
export const standardInspector = 'ws://localhost:8080';

/** A stream to an inspector. */
type Inspector = { inspect: Inspect; stop(): void };

/** The part of the package that is used here. */
type Package = {
  createWebSocketInspector(options: { url: string }): { inspect: { next?: Inspect }; stop(): void };
};

/**
 * Streams all actors (charts, events and snapshots) to Stately's inspector. For development: the package is only
 * installed with the sources, and snapshots contain callers' names and numbers.
 * @param url of the relay. @throws Error that says what to install, or that the URL is invalid.
 */
export async function openInspector(url: string): Promise<Inspector> {
  if (!/^wss?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new Error(`--inspect-url must be a WebSocket URL, like ${standardInspector}`);
  // By a name that the compiler does not follow: the package is no part of what is installed for production.
  const name = '@statelyai/inspect';
  const loaded: Package | undefined = await import(name).catch(() => undefined);
  if (!loaded) throw new Error(`--inspect needs the package ${name}: npm install --save-dev ${name}`);
  const inspector = loaded.createWebSocketInspector({ url });
  return { inspect: (event) => inspector.inspect.next?.(event), stop: () => inspector.stop() };
}
