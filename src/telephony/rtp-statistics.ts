/** How far the values lie apart that were seen of one thing: largest, smallest, mean and standard deviation. */
export type SpreadNames<Side extends string, What extends string> = {
  [Name in `${Side}${'max' | 'min' | 'normdev' | 'stdev'}${What}`]?: number;
};

/**
 * RTP figures of one session, named as the interface's RTPstat. Jitter and rtt in seconds. `local_`: from our RTCP
 * reports about received packets. `remote_`: from the far side's reports about sent packets. Loss is in packets between
 * reports. Values without a report yet are left out.
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
   * Time without any packet although SDP allows audio in both directions, in ms. Left out after the first packet, and
   * while the far side may not send.
   */
  unheard_ms?: number;
  /** Destination of audio, `address:port`: the located address, else the one in SDP. */
  remote?: string;
} & SpreadNames<'', 'rtt'> &
  SpreadNames<'local_' | 'remote_', 'jitter' | 'rxploss'>;

/** Measurements of every RTP stream. */
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
