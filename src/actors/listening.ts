import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Channels } from './channels.ts';

/** Settings of listening in; names and units as in the configuration's `listening`. */
export type ListeningSettings = {
  /** Users who may only look may listen, too. */
  read_only: boolean;
  /** Who may listen at once, all calls together. */
  most: number;
};

/** A user who listens, or wants to. */
export type Listener = { readonly name: string; readonly read_only: boolean };

/** What a listener is given. */
export type Heard = {
  /** 100 ms of linear samples of 16 bits at 8 kHz, little end first. Who does not say `taken` misses what comes next. */
  audio(samples: Uint8Array<ArrayBuffer>, taken: () => void): void;
  /** The channel is no more. The last call. */
  ended(): void;
};

/** Lets users of the interface hear what both sides of a channel say. No party notices, and no application is told. */
export interface Listening {
  /** @throws AriError listeningDenied, channelNotFound, tooManyListeners: what {@link begin} would. */
  require(channelId: string, listener: Listener): void;
  /**
   * Begins to listen; that is logged, and so is its end.
   * @returns a function that ends it.
   * @throws AriError listeningDenied, channelNotFound, tooManyListeners, nothingToHear.
   */
  begin(channelId: string, listener: Listener, heard: Heard): () => void;
  /** Those who listen now. */
  readonly listeners: number;
}

export type ListeningOptions = {
  channels: Pick<Channels, 'get'>;
  media: Pick<MediaPlane, 'overhear'>;
  settings: ListeningSettings;
  clock: Clock;
  log: Logger;
};

/** Makes what lets users listen. */
export function createListening({ channels, media, settings, clock, log }: ListeningOptions): Listening {
  let listeners = 0;

  const require: Listening['require'] = (channelId, { name, read_only: readOnly }) => {
    if (readOnly && !settings.read_only) {
      log.warn({ channel: channelId, user: name }, 'a user who may only look wanted to listen to a channel');
      throw new AriError('listeningDenied');
    }
    channels.get(channelId);
    if (listeners >= settings.most) throw new AriError('tooManyListeners', { most: String(settings.most) });
  };

  return {
    require,
    begin(channelId, listener, heard) {
      require(channelId, listener);
      const began = clock.monotonic();
      let over = false;
      const end = (): boolean => {
        if (over) return false;
        over = true;
        listeners--;
        const seconds = Math.round((clock.monotonic() - began) / 100) / 10;
        log.info({ channel: channelId, user: listener.name, seconds }, 'a user listens to a channel no more');
        return true;
      };
      const stop = media.overhear?.(channelId, {
        heard: heard.audio,
        ended() {
          if (end()) heard.ended();
        },
      });
      if (!stop) throw new AriError('nothingToHear');
      listeners++;
      log.info({ channel: channelId, user: listener.name }, 'a user listens to a channel');
      return () => {
        if (end()) stop();
      };
    },
    get listeners() {
      return listeners;
    },
  };
}
