import type { AudioMeasures, MediaMeasures, RtpFlow } from '../telephony/media.ts';
import type { RtpStatistics, StreamMeasures } from '../telephony/rtp-statistics.ts';
import type { VideoFlow, VideoMeasures, VideoStatistics } from '../telephony/video.ts';
import type { End } from './end.ts';
import { StreamEnd } from './external/stream-end.ts';
import type { EngineReport, Showing } from './protocol.ts';
import { RtpEnd } from './rtp/rtp-end.ts';

type MeasuresOptions = {
  /** How often each session is measured, in ms; 0 = never. */
  everyMs: number;
  report: (report: EngineReport) => void;
  /** Streams of a session's video in which something has passed since this was asked last. */
  passingVideo?: (session: number) => readonly PassingVideo[];
};

/** A stream of video, and how it flows. */
export type PassingVideo = { flow: VideoFlow; statistics: Showing<VideoStatistics> };

/** How often it is looked whose turn it is, and how long a level is listened for, in ms. */
const lookMs = 100;
/** The first measure comes this soon, so that short calls have one as well, in ms. */
const firstMs = 1_000;
/** Measurements after which a session is measured half as often, to bound their number in long calls. */
const mostAtOneRate = 120;
/** Level of silence, in dB. */
const floorDb = -90;

type Plan = {
  end: End;
  flow: RtpFlow | undefined;
  /** Since when audio goes both ways, in monotonic ms. */
  bothWaysSince: number | undefined;
  dueAt: number;
  everyMs: number;
  made: number;
  listening: boolean;
};

const goesBothWays = (flow: RtpFlow | undefined): boolean => flow?.send === true && flow.receive;

/**
 * Measures sessions at intervals and reports the results. Levels of RTP sessions are taken for a tenth of a second, or from
 * a decoder that runs anyway. Other sessions report what passes, if anything does.
 */
export class Measures {
  readonly #report: (report: EngineReport) => void;
  readonly #passingVideo: (session: number) => readonly PassingVideo[];
  readonly #plans = new Map<End, Plan>();
  #everyMs: number;
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor({ everyMs, report, passingVideo = () => [] }: MeasuresOptions) {
    this.#everyMs = everyMs;
    this.#report = report;
    this.#passingVideo = passingVideo;
  }

  /** Measures an end with RTP from now on, whose audio flows like this. */
  flowing(end: RtpEnd, flow: RtpFlow, now: number): void {
    const plan = this.#plans.get(end);
    if (!plan) {
      this.#add(end, flow, now);
      return;
    }
    plan.flow = flow;
    plan.bothWaysSince = goesBothWays(flow) ? (plan.bothWaysSince ?? now) : undefined;
  }

  /** RTP figures of an end, with how long it has not been heard. */
  statistics(end: RtpEnd, now: number): RtpStatistics {
    const statistics = end.statistics();
    const since = this.#plans.get(end)?.bothWaysSince;
    if (statistics.rxcount > 0 || since === undefined) return statistics;
    return { ...statistics, unheard_ms: Math.round(now - since) };
  }

  /** Measures an end without RTP from now on. */
  opened(end: End, now: number): void {
    this.#add(end, undefined, now);
  }

  forget(end: End): void {
    this.#plans.delete(end);
  }

  /** Measures so often from now on, in ms; 0 = never. */
  change(everyMs: number, now: number): void {
    this.#everyMs = everyMs;
    for (const plan of this.#plans.values()) {
      if (plan.listening) listen(plan, false);
      Object.assign(plan, { everyMs, made: 0, dueAt: now + Math.min(firstMs, everyMs) });
    }
  }

  /** To be called once a tick. @param now monotonic ms. */
  tick(now: number): void {
    if (this.#everyMs === 0 || now < this.#lookAt || this.#plans.size === 0) return;
    this.#lookAt = now + lookMs;
    for (const plan of this.#plans.values()) {
      if (now < plan.dueAt) continue;
      if (plan.listening) this.#tell(plan, now);
      else listen(plan, true);
    }
  }

  #add(end: End, flow: RtpFlow | undefined, now: number): void {
    const everyMs = this.#everyMs;
    const bothWaysSince = goesBothWays(flow) ? now : undefined;
    this.#plans.set(end, { end, flow, bothWaysSince, dueAt: now + firstMs, everyMs, made: 0, listening: false });
  }

  #tell(plan: Plan, now: number): void {
    const { end, flow } = plan;
    const measures = end instanceof RtpEnd && flow ? measuresOf(end, flow) : passingOf(end);
    listen(plan, false);
    plan.dueAt = now + plan.everyMs - lookMs;
    if (!measures) return;
    if (++plan.made % mostAtOneRate === 0) plan.everyMs *= 2;
    const { session } = end;
    this.#report({ type: 'measured', session, measures });
    if (end instanceof RtpEnd)
      for (const each of this.#passingVideo(session))
        this.#report({ type: 'videoMeasured', session, measures: videoMeasuresOf(each) });
  }
}

function listen(plan: Plan, on: boolean): void {
  plan.listening = on;
  if (plan.flow) plan.end.watchLevel(on);
  plan.end.watchPassing(on);
}

const tenths = (value: number): number => Math.round(value * 10) / 10;
const decibels = (level: number): number =>
  level === 0 ? floorDb : Math.max(floorDb, tenths(20 * Math.log10(level / 32_768)));

/** Measurements of every RTP stream. */
function streamMeasures(
  { rxcount, txcount, rxploss, txploss, rxjitter, txjitter, rtt }: Omit<RtpStatistics, 'forwarded'>,
  { send, receive }: { send: boolean; receive: boolean },
): StreamMeasures {
  return {
    flow: send ? (receive ? 'sendrecv' : 'sendonly') : receive ? 'recvonly' : 'inactive',
    packets_heard: rxcount,
    packets_sent: txcount,
    loss_heard: rxploss,
    loss_sent: txploss,
    jitter_heard_ms: tenths(rxjitter * 1000),
    jitter_sent_ms: tenths(txjitter * 1000),
    ...(rtt !== undefined && { rtt_ms: tenths(rtt * 1000) }),
  };
}

function measuresOf(end: RtpEnd, flow: RtpFlow): MediaMeasures {
  const statistics = end.statistics();
  const { rxcount, late = 0 } = statistics;
  const { codec, send } = flow;
  const { said } = end.passing;
  return {
    codec,
    ...streamMeasures(statistics, flow),
    late,
    digits: end.digitsHeard,
    ...(rxcount > 0 && { level_db: decibels(end.levelNow) }),
    ...(send && said !== undefined && { level_sent_db: decibels(said) }),
  };
}

function videoMeasuresOf({ flow, statistics }: PassingVideo): Showing<VideoMeasures> {
  const {
    stream,
    codec,
    shown,
    awaited,
    unseen,
    key_frames,
    key_frames_asked,
    sent_again,
    asked_again,
    switches,
    left_out,
  } = statistics;
  return {
    ...{ video: stream, codec },
    ...streamMeasures(statistics, flow),
    ...{ key_frames, key_frames_asked, sent_again, asked_again, switches, left_out },
    ...(shown !== undefined && { shown }),
    ...(awaited !== undefined && { awaited }),
    ...(unseen !== undefined && { unseen }),
  };
}

/** Levels of an end without RTP; undefined without audio. */
function passingOf(end: End): AudioMeasures | undefined {
  const { heard, said } = end.passing;
  if (heard === undefined && said === undefined) return undefined;
  return {
    ...(end instanceof StreamEnd && {
      codec: end.codec,
      waiting_ms: Math.round(end.queuedMs),
      dropped_ms: Math.round(end.droppedMs),
    }),
    digits: end.digitsHeard,
    ...(heard !== undefined && { level_db: decibels(heard) }),
    ...(said !== undefined && { level_sent_db: decibels(said) }),
  };
}
