import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import { lifeOf } from '../machines/channel.ts';
import type { AudioMeeting, Mix } from '../telephony/media.ts';

export type EarlyAudioOptions = {
  channels: Channels;
  /** Left out: no early media. */
  media?: Pick<AudioMeeting, 'openMix'> | undefined;
};

/** The called party is heard as any member of a bridge is. */
const member = { role: 'participant', muted: false, passDigits: true } as const;

/**
 * Early media of a Dial. Of the callees with early media (SIP 183 with SDP) the first is heard until it answers or
 * fails, then the next. It uses no bridge, so applications see none.
 */
export class EarlyAudio {
  readonly #caller: ChannelEntry;
  readonly #options: EarlyAudioOptions;
  #mix: Mix | undefined;
  /** Id of the channel that is heard. */
  #source: string | undefined;
  #rang = false;

  constructor(caller: ChannelEntry, options: EarlyAudioOptions) {
    this.#caller = caller;
    this.#options = options;
  }

  /** Connects the caller with the early media of a callee, unless it already hears another. */
  hear(channelId: string): void {
    const { channels, media } = this.#options;
    const entry = channels.find(channelId);
    if (this.#mix || !media || !entry) return;
    // A mix that the media plane loses is silent until the answer.
    this.#mix = media.openMix(`${this.#caller.id};early`, 'mixing', () => {});
    this.#source = channelId;
    for (const { leg } of [this.#caller, entry]) this.#mix.join(leg.media, member);
    channels.tell(this.#caller, { type: this.#isUp ? 'ringStop' : 'progress' });
  }

  /** Signals ringing to the caller once. A caller that is Up would hear a tone instead of early media. */
  ring(): void {
    if (this.#rang) return;
    this.#rang = true;
    if (!this.#mix || !this.#isUp) this.#options.channels.tell(this.#caller, { type: 'ring' });
  }

  /** A callee has ended; the first of the remaining ones is heard instead. */
  gone(channelId: string, left: readonly { channelId: string }[]): void {
    if (this.#source !== channelId) return;
    this.stop();
    const { channels } = this.#options;
    const isHeard = (id: string): boolean => {
      const entry = channels.find(id);
      return entry !== undefined && snapshotOf(entry).context.hasEarlyMedia === true;
    };
    const next = left.find((each) => each.channelId !== channelId && isHeard(each.channelId));
    if (next) this.hear(next.channelId);
  }

  /** Keeps only this callee's early media; none if left out. */
  keep(channelId?: string): void {
    if (this.#source !== channelId) this.stop();
  }

  /** Ends early media. Idempotent. */
  stop(): void {
    this.#mix?.close();
    this.#mix = undefined;
    this.#source = undefined;
  }

  get #isUp(): boolean {
    return lifeOf(snapshotOf(this.#caller)) === 'up';
  }
}
