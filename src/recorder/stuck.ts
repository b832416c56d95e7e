import { applicationExpectations } from '../machines/application.ts';
import { bridgeExpectations } from '../machines/bridge.ts';
import { channelExpectations } from '../machines/channel.ts';
import type { Expectations } from '../machines/expectations.ts';
import { externalConnectionExpectations } from '../machines/external-connection.ts';
import { featureKeysExpectations } from '../machines/feature-keys.ts';
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
  featureKeys: featureKeysExpectations,
};

/** A client that does not read: who it is, and the octets that wait for it. */
export type Lagging = { readonly client: string; readonly octets: number };

/**
 * Where work waits for somebody: whose it is, how much waits, how much may before that is told, and what would end it. (The
 * inboxes of actors are none: an event that is sent has been dealt with when `send` returns.)
 */
export type Mailbox = {
  readonly owner: string;
  readonly waiting: number;
  readonly atMost: number;
  readonly waitsFor: string;
  /** Since when, in ms since the Unix epoch; left out, since it was looked at first. */
  readonly since?: number | undefined;
  /** The channel whose call it is of. */
  readonly channel?: string | undefined;
};

/** What becomes of the channels of an application whose connection stays away, and after how many ms. */
type Absence = { readonly afterMs: number; readonly action: 'keep' | 'hangup' | 'continue' };

/** What is said of a channel that does not stay where it is when its application stays away. */
const becomes: Readonly<Record<Absence['action'], string>> = {
  keep: '',
  hangup: 'it is hung up',
  continue: 'it goes on in the dialplan',
};

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
 * @param mailboxes where work waits
 * @param absenceOf what is configured for an application that is away. Channels that are not kept wait from the first moment,
 *   and it is said what becomes of them; others once they have been kept as long as the application may be away.
 */
export function createStuck(
  recorder: Recorder,
  lagging: (octets: number) => readonly Lagging[],
  mailboxes: () => readonly Mailbox[] = () => [],
  absenceOf: (application: string) => Absence | undefined = () => undefined,
): Stuck {
  const { clock } = recorder;
  /** Since when the mailboxes and sockets that stood there last have done so. */
  let stood = new Map<string, number>();

  const judge = ({ chart, object, value, since, call }: ObjectHistory, now: number): WaitingFor | undefined => {
    const expected = expectations[chart]?.[String(value)];
    if (!expected) return undefined;
    const absence = chart === 'application' ? absenceOf(object) : undefined;
    const whileKept = absence?.action === 'keep' ? absence.afterMs : 0;
    const atMost = absence ? whileKept : expected.atMost;
    if (now - since < atMost) return undefined;
    return {
      kind: chart === 'application' ? 'application' : 'object',
      object,
      chart,
      state: String(value),
      since,
      expected_ms: atMost,
      waits_for: expected.waitsFor,
      ...(call ? { call: call.id } : {}),
    };
  };

  /** A channel of an application that is away longer than it is expected to: nobody does anything with it. */
  const judgeAbsence = (history: ObjectHistory, now: number): WaitingFor | undefined => {
    const { role, value, object, chart, applications, call } = history;
    if (role !== 'ownership' || value !== 'application') return undefined;
    const application = recorder.store.object('application', applications.at(-1) ?? '');
    const away = application && judge(application, now);
    if (!away) return undefined;
    const absence = absenceOf(application.object);
    const end = absence && becomes[absence.action];
    const orElse = end ? `; after ${absence.afterMs / 1000} s ${end}` : '';
    return {
      ...{ kind: 'object', object, chart, state: value },
      since: Math.max(history.since, away.since),
      expected_ms: away.expected_ms,
      waits_for: `the WebSocket of ${application.object} to connect again${orElse}`,
      ...(call ? { call: call.id } : {}),
    };
  };
  const judgeAll = (history: ObjectHistory, now: number): WaitingFor[] =>
    [judge(history, now), judgeAbsence(history, now)].filter((each) => each !== undefined);

  return {
    all() {
      const now = clock.now();
      const { store } = recorder;
      const objects = [...store.living].flatMap((history) => judgeAll(history, now));
      const before = stood;
      stood = new Map();
      const stands = (kind: 'socket' | 'mailbox', object: string, waitsFor: string, from?: number): WaitingFor => {
        const since = from ?? before.get(`${kind} ${object}`) ?? now;
        stood.set(`${kind} ${object}`, since);
        return { kind, object, since, expected_ms: 0, waits_for: waitsFor };
      };
      const sockets = lagging(laggingOctets).map(({ client, octets }) =>
        stands('socket', client, `the client to read ${octets} octets`),
      );
      const waiting = mailboxes().flatMap(({ owner, waiting: count, atMost, waitsFor, since, channel }) => {
        if (count < atMost) return [];
        const call = channel === undefined ? undefined : store.ofChannel(channel);
        return [{ ...stands('mailbox', owner, waitsFor, since), ...(call && { call: call.id }) }];
      });
      return [...objects, ...sockets, ...waiting].sort((a, b) => a.since - b.since);
    },
    of(call) {
      const now = clock.now();
      return call.histories.flatMap((history) => (history.ended !== undefined ? [] : judgeAll(history, now)));
    },
  };
}
