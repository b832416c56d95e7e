/** RTP figures of one session, named as the interface's RTPstat. Jitter and rtt in seconds. */
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
  rtt?: number;
  maxrtt?: number;
  minrtt?: number;
  normdevrtt?: number;
  stdevrtt?: number;
  /** Packets that came when their turn was over; left out where none did. */
  late?: number;
};

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
