import type { CallEnd } from '../actors/call-story.ts';
import type { CallQuality } from '../models/call-detail-record.ts';
import { causeText } from '../telephony/causes.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';

/** The useful figures of a stream: received (`rx`), and sent as the far side reports. */
export const qualityOf = (figures: RtpStatistics): CallQuality => ({
  rx: figures.rxcount,
  rx_lost: figures.rxploss,
  rx_late: figures.late ?? 0,
  rx_jitter_ms: milliseconds(figures.rxjitter),
  tx: figures.txcount,
  tx_lost: figures.txploss,
  tx_jitter_ms: milliseconds(figures.txjitter),
  ...(figures.rtt === undefined ? {} : { rtt_ms: milliseconds(figures.rtt) }),
});

/** Milliseconds to a tenth. */
const milliseconds = (s: number): number => Math.round(s * 10_000) / 10;

/** How a call ended, in words and numbers. */
export const endOf = ({ by, cause, techCause, failure, outcome }: CallEnd) => ({
  outcome: outcome.result,
  outcome_reason: outcome.reason,
  by,
  cause,
  cause_text: causeText(cause),
  ...(failure === undefined ? {} : { reason: failure }),
  ...(techCause === undefined ? {} : { sip_status: techCause }),
});
