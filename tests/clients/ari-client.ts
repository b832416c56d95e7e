import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { password, type TestServer, user } from '../support/server.ts';
import { patience } from '../support/waiting.ts';

/** What the programs here use of `ari-client` 2.2.0, which has no types of its own. */

export type OldChannel = EventEmitter & {
  id: string;
  name: string;
  state: string;
  connected: { name: string; number: string };
  originate(options: object): Promise<OldChannel>;
  answer(): Promise<void>;
  hangup(): Promise<void>;
  hold(): Promise<void>;
  unhold(): Promise<void>;
  sendDTMF(options: { dtmf: string }): Promise<void>;
  play(options: object, playback: OldPlayback): Promise<OldPlayback>;
  getChannelVar(options: { variable: string }): Promise<{ value: string }>;
  setChannelVar(options: { variable: string; value: string }): Promise<void>;
};
export type OldPlayback = EventEmitter & {
  id: string;
  control(options: { operation: string }): Promise<void>;
  stop(): Promise<void>;
};
export type OldBridge = EventEmitter & {
  id: string;
  bridge_type: string;
  channels: string[];
  create(options: object): Promise<OldBridge>;
  addChannel(options: object): Promise<void>;
  removeChannel(options: object): Promise<void>;
  startMoh(options?: object): Promise<void>;
  stopMoh(): Promise<void>;
  play(options: object, playback: OldPlayback): Promise<OldPlayback>;
  destroy(): Promise<void>;
};
export type OldClient = EventEmitter & {
  start(app: string): Promise<void>;
  stop(): void;
  Channel(id?: string): OldChannel;
  Playback(): OldPlayback;
  Bridge(): OldBridge;
  bridges: { list(): Promise<OldBridge[]>; get(options: { bridgeId: string }): Promise<OldBridge> };
  channels: { list(): Promise<OldChannel[]>; get(options: { channelId: string }): Promise<OldChannel> };
  deviceStates: {
    update(options: { deviceName: string; deviceState: string }): Promise<void>;
    get(options: { deviceName: string }): Promise<{ state: string }>;
    delete(options: { deviceName: string }): Promise<void>;
  };
  mailboxes: {
    update(options: { mailboxName: string; oldMessages: number; newMessages: number }): Promise<void>;
    get(options: { mailboxName: string }): Promise<{ old_messages: number; new_messages: number }>;
  };
  applications: { subscribe(options: { applicationName: string; eventSource: string }): Promise<object> };
  recordings: {
    listStored(): Promise<{ name: string }[]>;
    deleteStored(options: { recordingName: string }): Promise<void>;
  };
};

const library = createRequire(import.meta.url)('ari-client') as {
  connect(url: string, user: string, password: string): Promise<OldClient>;
};

/** Runs a program that registered as `app`; its connection is closed whatever becomes of it. */
export async function withOldClient(
  server: TestServer,
  app: string,
  program: (client: OldClient) => Promise<void>,
): Promise<void> {
  const client = await library.connect(new URL(server.url).origin, user, password);
  await client.start(app);
  try {
    await program(client);
  } finally {
    client.stop();
  }
}

/** The next event of a type of which `matches` is true. Rejects when it does not come. */
export function next<T = { channel: { id: string } }>(
  emitter: EventEmitter,
  type: string,
  matches: (event: T) => boolean = () => true,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      end();
      emitter.removeListener(type, listen);
    };
    const listen = (event: T): void => {
      if (!matches(event)) return;
      stop();
      resolve(event);
    };
    const end = patience(() => {
      stop();
      reject(new Error(`${type} did not come`));
    });
    emitter.on(type, listen);
  });
}
