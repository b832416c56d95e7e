import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import { lifeOf } from '../machines/channel.ts';
import { type EarlyAudioEffect, type EarlyAudioEvent, earlyAudioTable } from '../machines/early-audio.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { AudioMeeting, Mix } from '../telephony/media.ts';

export type EarlyAudioOptions = {
  channels: Channels;
  /** Left out: no early media. */
  media?: Pick<AudioMeeting, 'openMix'> | undefined;
  /** Sees the chart; left out: nobody. */
  tables?: TableWatch | undefined;
};

type Audible = Extract<EarlyAudioEvent<ChannelEntry>, { callee: ChannelEntry }>;

/** The called party is heard as any member of a bridge is. */
const member = { role: 'participant', muted: false, passDigits: true } as const;

/**
 * Early media of a Dial. Of the callees with early media (SIP 183 with SDP) the first is heard until it answers or
 * fails, then the next. It uses no bridge, so applications see none.
 */
export class EarlyAudio {
  readonly #caller: ChannelEntry;
  readonly #options: EarlyAudioOptions;
  readonly #run: TableRun<keyof typeof earlyAudioTable, EarlyAudioEvent<ChannelEntry>, EarlyAudioEffect>;
  /** Whose audio goes where. */
  #heard: { readonly channelId: string; readonly mix: Mix } | undefined;

  constructor(caller: ChannelEntry, options: EarlyAudioOptions) {
    const { channels, tables } = options;
    this.#caller = caller;
    this.#options = options;
    const effects = {
      hearCallee: ({ callee }: Audible) => this.#connect(callee),
      hearNobody: () => this.#disconnect(),
      tellRinging: () => channels.tell(caller, { type: 'ring' }),
      tellRingingBeforeAnswer: () => void (this.#isUp || channels.tell(caller, { type: 'ring' })),
    };
    this.#run = new TableRun(earlyAudioTable, 'quiet', effects, { watch: tables, id: caller.id, lazily: true });
  }

  /** Connects the caller with the early media of a callee, unless it already hears another. */
  hear(channelId: string): void {
    const { channels, media } = this.#options;
    const callee = channels.find(channelId);
    if (media && callee) this.#run.send({ type: 'callee.audible', callee });
  }

  #connect(callee: ChannelEntry): void {
    const { channels, media } = this.#options;
    // A mix that the media plane loses is silent until the answer.
    const mix = media?.openMix(`${this.#caller.id};early`, 'mixing', () => {});
    if (!mix) return;
    this.#heard = { channelId: callee.id, mix };
    for (const { leg } of [this.#caller, callee]) mix.join(leg.media, member);
    channels.tell(this.#caller, { type: this.#isUp ? 'ringStop' : 'progress' });
  }

  /** Signals ringing to the caller once. A caller that is Up would hear a tone instead of early media. */
  ring(): void {
    this.#run.send({ type: 'callee.rings' });
  }

  /** A callee has ended; the first of the remaining ones is heard instead. */
  gone(channelId: string, left: readonly { channelId: string }[]): void {
    if (this.#heard?.channelId !== channelId) return;
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
    if (this.#heard?.channelId !== channelId) this.stop();
  }

  /** Ends early media. Idempotent. */
  stop(): void {
    this.#run.send({ type: 'heard.over' });
  }

  /** The Dial is over. */
  close(): void {
    this.#run.send({ type: 'dial.over' });
  }

  #disconnect(): void {
    this.#heard?.mix.close();
    this.#heard = undefined;
  }

  get #isUp(): boolean {
    return lifeOf(snapshotOf(this.#caller)) === 'up';
  }
}
