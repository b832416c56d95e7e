import { applicationExpectations } from '../machines/application.ts';
import { bridgeExpectations } from '../machines/bridge.ts';
import { channelExpectations } from '../machines/channel.ts';
import type { Expectations } from '../machines/expectations.ts';
import { externalConnectionExpectations } from '../machines/external-connection.ts';
import { recordingExpectations } from '../machines/live-recording.ts';
import { outboundConnectionExpectations } from '../machines/outbound-connection.ts';
import { ownershipExpectations } from '../machines/ownership.ts';
import { playbackExpectations } from '../machines/playback.ts';
import { transferExpectations } from '../machines/transfer.ts';
import type { WaitingFor } from '../models/call.ts';
import type { CallRecord, ObjectHistory } from './call-record.ts';
import type { Recorder } from './recorder.ts';

/** By chart. */
const expectations: Readonly<Record<string, Expectations<string>>> = {
  channel: channelExpectations,
  ownership: ownershipExpectations,
  playback: playbackExpectations,
  liveRecording: recordingExpectations,
  bridge: bridgeExpectations,
  application: applicationExpectations,
  outboundConnection: outboundConnectionExpectations,
  externalConnection: externalConnectionExpectations,
  transfer: transferExpectations,
};

/** A client that does not read: who it is, and the octets that wait for it. */
export type Lagging = { readonly client: string; readonly octets: number };

/** Events that wait for an application that we connect to. */
export type Mailbox = { readonly connection: string; readonly events: number };

/** Events that may wait for an application before that is told. */
const waitingEvents = 100;

/** Octets that may wait for a client before it is said to be slow. */
const laggingOctets = 65_536;

/** Finds what stays longer than it is expected to. */
export interface Stuck {
  /** Everything, what has been so longest first. */
  all(): WaitingFor[];
  /** Of one call. */
  of(call: CallRecord): WaitingFor[];
}

/**
 * Makes what finds it, out of the charts that run and what is expected of their states.
 * @param lagging the clients for whom at least so many octets wait
 * @param mailboxes where events wait for an application that we connect to
 */
export function createStuck(
  recorder: Recorder,
  lagging: (octets: number) => readonly Lagging[],
  mailboxes: () => readonly Mailbox[] = () => [],
): Stuck {
  const { store, clock } = recorder;

  const judge = ({ chart, object, value, since, call }: ObjectHistory, now: number): WaitingFor | undefined => {
    const expected = expectations[chart]?.[String(value)];
    if (!expected || now - since < expected.atMost) return undefined;
    return {
      kind: chart === 'application' ? 'application' : 'object',
      object,
      chart,
      state: String(value),
      since,
      expected_ms: expected.atMost,
      waits_for: expected.waitsFor,
      ...(call ? { call: call.id } : {}),
    };
  };

  return {
    all() {
      const now = clock.now();
      const objects = [...store.living].flatMap((history) => judge(history, now) ?? []);
      const sockets = lagging(laggingOctets).map(
        ({ client, octets }): WaitingFor => ({
          kind: 'socket',
          object: client,
          since: now,
          expected_ms: 0,
          waits_for: `the client to read ${octets} octets`,
        }),
      );
      const waiting = mailboxes().flatMap(({ connection, events }): WaitingFor[] =>
        events < waitingEvents
          ? []
          : [
              {
                kind: 'mailbox',
                object: connection,
                since: now,
                expected_ms: 0,
                waits_for: `the application to be there for ${events} events`,
              },
            ],
      );
      return [...objects, ...sockets, ...waiting].sort((a, b) => a.since - b.since);
    },
    of(call) {
      const now = clock.now();
      return call.histories.flatMap((history) => (history.ended !== undefined ? [] : (judge(history, now) ?? [])));
    },
  };
}
