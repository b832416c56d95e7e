import type { RtpStatistics, SpreadNames } from '../../telephony/rtp-statistics.ts';
import type { RtcpControl, SentStream } from './control.ts';
import type { Reception } from './reception.ts';
import type { SpreadFigures } from './spread.ts';

type Sides = {
  sender: SentStream;
  control: RtcpControl;
  /** Of each source of the far side: their packets are added up, and the last source is named. */
  receptions: readonly Reception[];
  /** In Hz. */
  clockRate: number;
  /** Packets that came after their turn. */
  late: number;
};

/** RTP figures of both directions so far. */
export function statisticsOf({
  sender,
  control,
  receptions,
  clockRate,
  late,
}: Sides): Omit<RtpStatistics, 'forwarded'> {
  const { local, remote } = control.reported;
  const sum = (of: (reception: Reception) => number) => receptions.reduce((all, reception) => all + of(reception), 0);
  const heard = receptions.findLast(({ ssrc }) => ssrc !== undefined);
  return {
    txcount: sender.packets,
    rxcount: sum(({ packets }) => packets),
    txoctetcount: sender.octets,
    rxoctetcount: sum(({ octets }) => octets),
    txploss: control.remoteLost,
    rxploss: sum(({ lost }) => lost),
    local_ssrc: sender.ssrc,
    remote_ssrc: heard?.ssrc ?? 0,
    txjitter: control.remoteJitter,
    rxjitter: (heard?.jitter ?? 0) / clockRate,
    ...(late > 0 && { late }),
    ...(control.roundTrip && { rtt: control.roundTrip.last }),
    ...named('rtt', control.roundTrip),
    ...named('jitter', local.jitter, 'local_'),
    ...named('rxploss', local.lost, 'local_'),
    ...named('jitter', remote.jitter, 'remote_'),
    ...named('rxploss', remote.lost, 'remote_'),
  };
}

/** Figures by Asterisk's names; none before the first packet. */
function named<What extends 'rtt' | 'jitter' | 'rxploss', Side extends '' | 'local_' | 'remote_' = ''>(
  what: What,
  figures: SpreadFigures | undefined,
  side: Side = '' as Side,
): SpreadNames<Side, What> {
  if (!figures) return {};
  return {
    [`${side}max${what}`]: figures.maximum,
    [`${side}min${what}`]: figures.minimum,
    [`${side}normdev${what}`]: figures.mean,
    [`${side}stdev${what}`]: figures.deviation,
  } as SpreadNames<Side, What>;
}
