import type { RtpStatistics } from '../../telephony/media.ts';
import type { RtcpControl, SentStream } from './control.ts';
import type { Reception } from './reception.ts';

type Sides = {
  sender: SentStream;
  control: RtcpControl;
  reception: Reception;
  /** In Hz. */
  clockRate: number;
  /** Packets that came after their turn. */
  late: number;
};

/** RTP figures of what both sides of a session have sent so far. */
export function statisticsOf({ sender, control, reception, clockRate, late }: Sides): RtpStatistics {
  const trip = control.roundTrip;
  return {
    txcount: sender.packets,
    rxcount: reception.packets,
    txoctetcount: sender.octets,
    rxoctetcount: reception.octets,
    txploss: control.remoteLost,
    rxploss: reception.lost,
    local_ssrc: sender.ssrc,
    remote_ssrc: reception.ssrc ?? 0,
    txjitter: control.remoteJitter,
    rxjitter: reception.jitter / clockRate,
    ...(late > 0 && { late }),
    ...(trip && {
      rtt: trip.last,
      maxrtt: trip.maximum,
      minrtt: trip.minimum,
      normdevrtt: trip.mean,
      stdevrtt: trip.deviation,
    }),
  };
}
