import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Channels } from './channels.ts';

/** Settings of listening in; names and units as in the configuration's `listening`. */
type ListeningSettings = {
  /** Whether listening is allowed at all. */
  on: boolean;
  /** Users who may only look may listen, too. */
  read_only: boolean;
  /** Most listeners of all calls together. */
  most: number;
};

/** A user who listens. */
type Listener = { readonly name: string; readonly read_only: boolean };

/** Callbacks of a listener. */
type Heard = {
  /**
   * 100 ms of linear samples of 16 bits at 8 kHz, little endian. Without the call of `taken` the next piece is skipped.
   */
  audio(samples: Uint8Array<ArrayBuffer>, taken: () => void): void;
  /** The end, with its reason in words: the channel ended, or listening is no longer allowed. The last call. */
  ended(reason: string): void;
};

/** Lets users of the interface hear both sides of a channel. Parties and applications do not notice. */
export interface Listening {
  /** @throws AriError listeningOff, listeningDenied, channelNotFound, tooManyListeners: what {@link begin} would. */
  require(channelId: string, listener: Listener): void;
  /**
   * Begins to listen; that is logged, and so is its end.
   * @returns a function that ends it.
   * @throws AriError listeningOff, listeningDenied, channelNotFound, tooManyListeners, nothingToHear.
   */
  begin(channelId: string, listener: Listener, heard: Heard): () => void;
  /**
   * A channel of the user's own listens, in one of the modes of supervision; that is logged, and so is its end.
   * @param sendAway ends it: listening is no longer allowed.
   * @returns a function that says that it is over.
   * @throws AriError as {@link require}.
   */
  supervise(channelId: string, listener: Listener, mode: string, sendAway: () => void): () => void;
  /** Applies other settings. It ends listening that is no longer allowed, but not because of a lower `most`. */
  reconfigure(next: ListeningSettings): void;
  /** Number of listeners. */
  readonly listeners: number;
}

type ListeningOptions = {
  channels: Pick<Channels, 'get'>;
  media: Pick<MediaPlane, 'overhear'>;
  settings: ListeningSettings;
  clock: Clock;
  log: Logger;
};

/** Makes what lets users listen. */
export function createListening({ channels, media, settings: initial, clock, log }: ListeningOptions): Listening {
  let settings = initial;
  /** Listeners, with the function that ends each. */
  const listeners = new Map<() => void, Listener>();
  const mayListen = ({ read_only: readOnly }: Listener): boolean => settings.on && (!readOnly || settings.read_only);

  const require: Listening['require'] = (channelId, listener) => {
    if (!settings.on) throw new AriError('listeningOff');
    if (!mayListen(listener)) {
      log.warn({ channel: channelId, user: listener.name }, 'a read-only user may not listen to a channel');
      throw new AriError('listeningDenied');
    }
    channels.get(channelId);
    if (listeners.size >= settings.most) throw new AriError('tooManyListeners', { most: String(settings.most) });
  };

  /** Counts a listener, until the returned function is called, which says whether that was the first time. */
  const admit = (channelId: string, listener: Listener, sendAway: () => void): (() => boolean) => {
    require(channelId, listener);
    const began = clock.monotonic();
    listeners.set(sendAway, listener);
    return () => {
      if (!listeners.delete(sendAway)) return false;
      const seconds = Math.round((clock.monotonic() - began) / 100) / 10;
      log.info({ channel: channelId, user: listener.name, seconds }, 'a user stops listening to a channel');
      return true;
    };
  };

  return {
    require,
    supervise(channelId, listener, mode, end) {
      const over = admit(channelId, listener, end);
      log.info({ channel: channelId, user: listener.name, mode }, 'a user listens to a channel');
      return over;
    },
    begin(channelId, listener, heard) {
      const sendAway = (): void => {
        if (!end()) return;
        stop?.();
        heard.ended('listening is no longer allowed');
      };
      const end = admit(channelId, listener, sendAway);
      const stop = media.overhear?.(channelId, {
        heard: heard.audio,
        ended() {
          if (end()) heard.ended('the channel has ended');
        },
      });
      if (!stop) {
        listeners.delete(sendAway);
        throw new AriError('nothingToHear');
      }
      log.info({ channel: channelId, user: listener.name }, 'a user listens to a channel');
      return () => {
        if (end()) stop();
      };
    },
    reconfigure(next) {
      settings = next;
      for (const [sendAway, listener] of [...listeners]) if (!mayListen(listener)) sendAway();
    },
    get listeners() {
      return listeners.size;
    },
  };
}
