import type { Mailbox } from '../recorder/stuck.ts';
import type { CallControl } from './call-control.ts';
import type { RecordFigures } from './call-detail-records.ts';
import type { Homer } from './homer.ts';
import type { State } from './state.ts';

/**
 * Lengths from which queues are reported: events of an application, works of a channel or bridge, octets for the
 * webhook.
 */
const most = { events: 100, works: 10, octets: 65_536 };

/** The event that ends a collector's outage. */
function waitsForOf(collector: ReturnType<Homer['standing']>): string {
  if (!collector) return 'nothing';
  const { address, port, transport, state, reason, refused, left_out: left } = collector;
  if (refused !== undefined) return `a socket to the HEP collector that is configured (${refused})`;
  const wanted = state === 'behind' ? 'to read' : `to be there: ${reason}`;
  const lost = left === 1 ? '1 message was left out' : `${left} messages were left out`;
  return `the HEP collector ${address} port ${port} (${transport}) ${wanted}; ${lost}`;
}

/**
 * Queues that may grow: events for absent applications, waiting playbacks, records for the webhook, messages for the
 * collector.
 */
export const buildMailboxes =
  (
    { applications }: Pick<State, 'applications'>,
    { outbound, playbacks }: Pick<CallControl, 'outbound' | 'playbacks'>,
    records: () => RecordFigures | undefined,
    homer: Pick<Homer, 'standing'>,
  ) =>
  (): Mailbox[] => {
    const away = [
      ...outbound.waiting().map(({ connection, events }) => ({ owner: connection, events })),
      ...applications.waiting().map(({ application, events }) => ({ owner: application, events })),
    ];
    const collector = homer.standing();
    const octets = records()?.waitingOctets ?? 0;
    return [
      ...away.map(({ owner, events }) => ({
        owner,
        waiting: events,
        atMost: most.events,
        waitsFor: `the application to connect: ${events} events are queued`,
      })),
      ...playbacks.waiting().map(({ kind, id, works }) => ({
        owner: `${kind}:${id}`,
        waiting: works,
        atMost: most.works,
        waitsFor: `its playback or recording to end, with ${works} more queued`,
        channel: kind === 'channel' ? id : undefined,
      })),
      {
        owner: 'cdr.webhook',
        waiting: octets,
        atMost: most.octets,
        waitsFor: `the webhook to accept ${octets} octets of call detail records`,
      },
      {
        owner: 'recorder.hep',
        waiting: collector?.reason === undefined && collector?.refused === undefined ? 0 : 1,
        atMost: 1,
        waitsFor: waitsForOf(collector),
        since: collector?.refused === undefined && collector ? Date.parse(collector.since) : undefined,
      },
    ];
  };
