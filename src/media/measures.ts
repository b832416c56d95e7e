import type { MediaMeasures, RtpFlow } from '../telephony/media.ts';
import type { End } from './end.ts';
import type { EngineReport } from './protocol.ts';
import type { RtpEnd } from './rtp/rtp-end.ts';

export type MeasuresOptions = {
  /** How often each session is measured, in ms; 0 = never. */
  everyMs: number;
  report: (report: EngineReport) => void;
};

/** How often it is looked whose turn it is, and how long a level is listened for, in ms. */
const lookMs = 100;
/** The first measure comes this soon, so that short calls have one as well, in ms. */
const firstMs = 1_000;
/** After so many measures of one session it is measured half as often: long calls must not fill what is kept of them. */
const mostAtOneRate = 120;
/** What is said of silence, in dB. */
const floorDb = -90;

type Plan = { end: RtpEnd; flow: RtpFlow; dueAt: number; everyMs: number; made: number; listening: boolean };

/**
 * Measures sessions with RTP now and then, and tells. Between two measures nothing is done for them: how loud a far side
 * is, is heard for a tenth of a second, or taken from whoever decodes it anyway.
 */
export class Measures {
  readonly #options: MeasuresOptions;
  readonly #plans = new Map<RtpEnd, Plan>();
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(options: MeasuresOptions) {
    this.#options = options;
  }

  /** Measures an end from now on, whose audio flows like this. */
  flowing(end: RtpEnd, flow: RtpFlow, now: number): void {
    const { everyMs } = this.#options;
    if (everyMs === 0) return;
    const plan = this.#plans.get(end);
    if (plan) plan.flow = flow;
    else this.#plans.set(end, { end, flow, dueAt: now + firstMs, everyMs, made: 0, listening: false });
  }

  forget(end: End): void {
    this.#plans.delete(end as RtpEnd);
  }

  /** To be called once a tick. @param now monotonic ms. */
  tick(now: number): void {
    if (now < this.#lookAt || this.#plans.size === 0) return;
    this.#lookAt = now + lookMs;
    for (const plan of this.#plans.values()) {
      if (now < plan.dueAt) continue;
      if (plan.listening) this.#tell(plan, now);
      else plan.end.watchLevel(true);
      plan.listening = !plan.listening;
    }
  }

  #tell(plan: Plan, now: number): void {
    const { end, flow } = plan;
    const level = end.levelNow;
    end.watchLevel(false);
    if (++plan.made % mostAtOneRate === 0) plan.everyMs *= 2;
    plan.dueAt = now + plan.everyMs - lookMs;
    this.#options.report({ type: 'measured', session: end.session, measures: measuresOf(end, flow, level) });
  }
}

const tenths = (value: number): number => Math.round(value * 10) / 10;
const decibels = (level: number): number =>
  level === 0 ? floorDb : Math.max(floorDb, tenths(20 * Math.log10(level / 32_768)));

function measuresOf(end: RtpEnd, { codec, send, receive }: RtpFlow, level: number): MediaMeasures {
  const { rxcount, txcount, rxploss, txploss, rxjitter, txjitter, rtt, late = 0 } = end.statistics();
  return {
    codec,
    flow: send ? (receive ? 'sendrecv' : 'sendonly') : receive ? 'recvonly' : 'inactive',
    packets_heard: rxcount,
    packets_sent: txcount,
    loss_heard: rxploss,
    loss_sent: txploss,
    jitter_heard_ms: tenths(rxjitter * 1000),
    jitter_sent_ms: tenths(txjitter * 1000),
    ...(rtt !== undefined && { rtt_ms: tenths(rtt * 1000) }),
    late,
    digits: end.digitsHeard,
    ...(rxcount > 0 && { level_db: decibels(level) }),
  };
}
