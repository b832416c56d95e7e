import type { CallLeg } from '../actors/call-leg.ts';
import type { CallListener } from '../actors/call-story.ts';
import type { Clock } from '../lib/clock.ts';
import { createLineBudget } from '../lib/line-budget.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';

/** An answered leg whose far side is to send audio, and of which no packet has come. */
type UnheardLeg = {
  readonly channel: string;
  /** In ms since the Unix epoch. */
  readonly since: number;
  /** How long that is expected at most, in ms. */
  readonly expectedMs: number;
  /** Address of its RTP, if known. */
  readonly remote: string | undefined;
};

/** Detects one-way audio: answered legs whose SDP allows audio in both directions and whose far side is never heard. */
export interface OneWayAudio {
  readonly calls: CallListener;
  /** Present legs. */
  legs(): UnheardLeg[];
  /** How many there were since the start. */
  readonly total: number;
  close(): void;
}

type OneWayAudioOptions = {
  clock: Clock;
  log: Logger;
  /** Longest silence after the answer, in ms; 0: no limit. Read at each answer. */
  afterMs(): number;
  /** RTP figures of a channel; undefined where it is gone, or has no RTP. */
  figuresOf(channel: string): Promise<RtpStatistics | undefined>;
};

/** A media server may only listen; the others have no far side outside. */
const mayBeSilent: ReadonlySet<string> = new Set(['UnicastRTP', 'Local', 'Snoop']);

/** Lines in so many ms: far sides can cause them at will. */
const mostLines = 20;
const linesMs = 10_000;

type Watched = { leg: CallLeg; timer: unknown; unheard: UnheardLeg | undefined; told: boolean };

/** Makes what looks for it. A leg is looked at until its far side is heard for the first time. */
export function createOneWayAudio({ clock, log, afterMs, figuresOf }: OneWayAudioOptions): OneWayAudio {
  const watched = new SlotMap<string, Watched>();
  const budget = createLineBudget(clock, mostLines, linesMs);
  let total = 0;

  const tell = (each: Watched, unheard: UnheardLeg): void => {
    each.unheard = unheard;
    if (each.told) return;
    each.told = true;
    total++;
    const { channel, endpoint } = each.leg;
    const { remote, since } = unheard;
    const fields = { channel, endpoint, remote, silent_s: Math.round((clock.now() - since) / 1000) };
    budget.write((untold) =>
      log.warn({ ...fields, ...(untold > 0 && { untold }) }, 'no audio from the far side of an answered call'),
    );
  };

  const forget = (each: Watched): void => {
    clock.clearTimeout(each.timer);
    watched.delete(each.leg.channel);
  };

  const judge = (each: Watched, figures: RtpStatistics | undefined, limitMs: number): void => {
    const { leg } = each;
    if (!figures || figures.rxcount > 0) {
      if (each.unheard) log.info({ channel: leg.channel, remote: figures?.remote }, 'the far side began to send audio');
      forget(each);
      return;
    }
    const now = clock.now();
    // Before the answer silence is allowed.
    const silentMs = Math.min(figures.unheard_ms ?? 0, now - (leg.answeredAt ?? now));
    if (silentMs < limitMs) each.unheard = undefined;
    else tell(each, { channel: leg.channel, since: now - silentMs, expectedMs: limitMs, remote: figures.remote });
    lookIn(each, figures.unheard_ms === undefined || silentMs >= limitMs ? limitMs : limitMs - silentMs);
  };

  const look = async (each: Watched): Promise<void> => {
    const { channel } = each.leg;
    const limitMs = afterMs();
    const figures = limitMs > 0 ? await figuresOf(channel).catch(() => undefined) : undefined;
    // It may have ended meanwhile.
    if (watched.get(channel) === each) judge(each, figures, limitMs);
  };

  const lookIn = (each: Watched, ms: number): void => {
    each.timer = clock.setTimeout(() => void look(each), ms);
  };

  const begin = (leg: CallLeg): void => {
    const limitMs = afterMs();
    if (limitMs <= 0 || mayBeSilent.has(leg.technology)) return;
    const each: Watched = { leg, timer: undefined, unheard: undefined, told: false };
    watched.set(leg.channel, each);
    lookIn(each, limitMs);
  };

  const end = ({ channel }: CallLeg): void => {
    const each = watched.get(channel);
    if (each) forget(each);
  };

  return {
    calls: { hearsInternal: () => false, answered: begin, resumed: begin, ended: end },
    legs: () => [...watched].flatMap(([, { unheard }]) => (unheard ? [unheard] : [])),
    get total() {
      return total;
    },
    close() {
      for (const [, each] of watched) clock.clearTimeout(each.timer);
      watched.clear();
    },
  };
}
