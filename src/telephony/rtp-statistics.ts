/** How far the values lie apart that were seen of one thing: largest, smallest, mean and standard deviation. */
export type SpreadNames<Side extends string, What extends string> = {
  [Name in `${Side}${'max' | 'min' | 'normdev' | 'stdev'}${What}`]?: number;
};

/**
 * RTP figures of one session, named as the interface's RTPstat. Jitter and rtt in seconds. `local_` is what our RTCP reports
 * say of what we receive, `remote_` what those of the far side say of what we send; loss there is in packets from one report
 * to the next. What no report has told yet is left out.
 */
export type RtpStatistics = {
  txcount: number;
  rxcount: number;
  txoctetcount: number;
  rxoctetcount: number;
  txploss: number;
  rxploss: number;
  local_ssrc: number;
  remote_ssrc: number;
  txjitter: number;
  rxjitter: number;
  /** Packets of the far side that went to another one as they came. */
  forwarded: number;
  rtt?: number;
  /** Packets that came when their turn was over; left out where none did. */
  late?: number;
  /**
   * How long audio goes both ways by offer and answer though nothing has come from the far side yet, in ms. Left out once
   * something has come, and while the far side is not to send (held, or one way only).
   */
  unheard_ms?: number;
  /** Where audio is sent to, `address:port`: where the far side was found, or else where its SDP says. */
  remote?: string;
} & SpreadNames<'', 'rtt'> &
  SpreadNames<'local_' | 'remote_', 'jitter' | 'rxploss'>;

/** What is measured of every stream of RTP. */
export type StreamMeasures = {
  /** Which way it goes, as SDP says it, seen from us: `sendrecv`, `sendonly`, `recvonly`, `inactive`. */
  flow: string;
  packets_heard: number;
  packets_sent: number;
  /** Packets lost of those sent to us, and of those we sent, as the far side reports it. */
  loss_heard: number;
  loss_sent: number;
  /** Jitter in ms. */
  jitter_heard_ms: number;
  jitter_sent_ms: number;
  /** The last round trip, in ms; left out until the far side reported. */
  rtt_ms?: number;
};
