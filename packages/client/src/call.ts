import type { AnyEvent, EventStream, Listener } from './event-stream.ts';
import type { AriOperations, Channel, Events, PlaybackFinished } from './generated.ts';

type Without<P> = Omit<P, 'channelId'>;
/** The operations of a channel, without its id. */
type ChannelOperations = {
  [K in keyof AriOperations['channels'] as Parameters<AriOperations['channels'][K]>[0] extends { channelId: string }
    ? K
    : never]: AriOperations['channels'][K] extends (params: infer P, options?: infer O) => infer R
    ? Record<string, never> extends Without<P>
      ? (params?: Without<P>, options?: O) => R
      : (params: Without<P>, options?: O) => R
    : never;
};

/** A channel: its operations, and its events. */
export interface CallHandle extends ChannelOperations {
  readonly id: string;
  /** The channel as the last event showed it. */
  readonly channel: Channel;
  /** Arguments of the application (`appArgs`). */
  readonly args: readonly string[];
  /** Resolves when the channel has left the application or ended. */
  readonly ended: Promise<void>;
  /** Listens to events of this channel. @returns the function that stops it. */
  on<T extends keyof Events>(type: T, listener: Listener<Events[T]>): () => void;
  /** The next event of a type. @throws Error when the channel has gone before. */
  next<T extends keyof Events>(type: T, accepts?: (event: Events[T]) => boolean): Promise<Events[T]>;
  /** The channel's events from now on; ends after StasisEnd or ChannelDestroyed. */
  events(): AsyncIterableIterator<AnyEvent>;
  /** Plays media and waits until it ends. @returns how: `done`, `failed`, `canceled`. */
  playToEnd(media: string | readonly string[]): Promise<string>;
}

/** What an event says about channels, directly or as the target of a playback or recording. */
type Concerns = { channel?: Channel; peer?: Channel } & {
  [K in 'playback' | 'recording']?: { target_uri: string };
};

function concerns(event: AnyEvent, id: string): boolean {
  const { channel, peer, playback, recording } = event as Concerns;
  const target = (playback ?? recording)?.target_uri;
  return channel?.id === id || peer?.id === id || target === `channel:${id}`;
}

const isEnd = (event: AnyEvent, id: string): boolean =>
  (event.type === 'StasisEnd' || event.type === 'ChannelDestroyed') && event.channel.id === id;

/** Makes the handle of a channel. */
export function createCall(
  stream: EventStream,
  channels: AriOperations['channels'],
  first: { channel: Channel; args?: readonly string[] },
): CallHandle {
  const { id } = first.channel;
  let { channel } = first;
  const isLast = (event: AnyEvent) => isEnd(event, id);
  const gone = new AbortController();
  const ended = new Promise<void>((resolve) => {
    const stop = stream.on('*', (event) => {
      const shown = (event as Concerns).channel;
      if (shown?.id === id) channel = shown;
      if (!isLast(event)) return;
      stop();
      resolve();
      // Listeners to this event hear it first.
      queueMicrotask(() => gone.abort(new Error(`channel ${id} has gone`)));
    });
  });
  const next = <T extends keyof Events>(type: T, accepts: (event: Events[T]) => boolean = () => true) =>
    stream.next<AnyEvent>(type, (event) => concerns(event, id) && accepts(event as Events[T]), {
      isLast,
      what: `'${type}' of channel ${id}`,
      signal: gone.signal,
    }) as Promise<Events[T]>;
  const own = {
    id,
    args: first.args ?? [],
    ended,
    on: (type: string, listener: Listener<AnyEvent>) =>
      stream.on(type, (event) => (concerns(event, id) ? listener(event) : undefined)),
    next,
    async *events() {
      for await (const event of stream.collect(isLast, gone.signal)) if (concerns(event, id)) yield event;
    },
    async playToEnd(media: string | readonly string[]) {
      const playbackId = crypto.randomUUID();
      const finished = next('PlaybackFinished', ({ playback }: PlaybackFinished) => playback.id === playbackId);
      // It is the request that tells of a failure.
      finished.catch(() => {});
      await channels.play({ channelId: id, playbackId, media });
      return (await finished).playback.state;
    },
  };
  return new Proxy(own, {
    get(target, name: string) {
      if (name === 'channel') return channel;
      if (Object.hasOwn(target, name)) return target[name as keyof typeof target];
      const operation = channels[name as keyof typeof channels] as
        | ((params: object, options?: object) => unknown)
        | undefined;
      return operation && ((params?: object, options?: object) => operation({ ...params, channelId: id }, options));
    },
  }) as unknown as CallHandle;
}
