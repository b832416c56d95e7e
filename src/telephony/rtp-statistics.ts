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
