import { applicationExpectations } from '../machines/application.ts';
import { bridgeExpectations } from '../machines/bridge.ts';
import { channelExpectations } from '../machines/channel.ts';
import { consultationExpectations } from '../machines/consultation.ts';
import { dialExpectations } from '../machines/dial.ts';
import type { Expectations } from '../machines/expectations.ts';
import { externalConnectionExpectations } from '../machines/external-connection.ts';
import { featureKeysExpectations } from '../machines/feature-keys.ts';
import { recordingExpectations } from '../machines/live-recording.ts';
import { outboundConnectionExpectations } from '../machines/outbound-connection.ts';
import { hasApplication, ownershipExpectations } from '../machines/ownership.ts';
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
  dial: dialExpectations,
  consultation: consultationExpectations,
};

/** A client that does not read: its name, and the octets that wait for it. */
type Lagging = { readonly client: string; readonly octets: number };

/**
 * A queue that may grow: its owner, its length, its warning level, and what empties it. (Actors have none: an event is
 * processed when `send` returns.)
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

/** An answered channel whose far side is to send audio, and of which no packet has come: see `watch/one-way-audio.ts`. */
type Unheard = {
  readonly channel: string;
  readonly since: number;
  readonly expectedMs: number;
  readonly remote: string | undefined;
};

/** Expectations beside the states of charts. */
type CallExpectations = {
  unheard?(): readonly Unheard[];
  /** Expected ringing time in an application that dials nobody, in ms; 0: the general one. */
  ringingMs?(): number;
};

/** The away policy of an application, and its time in ms. */
type AwayPolicy = { readonly afterMs: number; readonly action: 'keep' | 'hangup' | 'continue' | 'move' };

/** Texts for channels whose away policy moves them. */
const becomes: Readonly<Record<AwayPolicy['action'], string>> = {
  keep: '',
  hangup: 'it is hung up',
  continue: 'it continues in the dialplan',
  move: 'it goes to another application',
};

/** Octets that may wait for a client before it is said to be slow. */
const laggingOctets = 65_536;

/** States of a channel that is called, and has not answered. */
const isCalled: ReadonlySet<string> = new Set(['aboutToDial', 'dialing', 'ringing']);

const isOwnedBy = ({ role, value, object }: ObjectHistory, channel: string): boolean =>
  role === 'ownership' && hasApplication({ value }) && object === channel;

/** The ownership of a channel that rings in an application; undefined for others, and if the application dials for it. */
function ringsFor({ role, value, object, call }: ObjectHistory): ObjectHistory | undefined {
  if (role !== 'channel' || value !== 'ring' || !call) return undefined;
  const histories = call.histories;
  const calls = histories.some((each) => each.role === 'channel' && isCalled.has(String(each.value)));
  return calls ? undefined : histories.find((each) => isOwnedBy(each, object));
}

/** Finds what stays longer than it is expected to. */
export interface Stuck {
  /** Everything, what has been so longest first. */
  all(): WaitingFor[];
  /** Of one call. */
  of(call: CallRecord): WaitingFor[];
}

/**
 * Creates the search for stuck objects, from running charts and the expectations of their states.
 * @param lagging clients with at least this many unread octets
 * @param mailboxes queues of work
 * @param awayPolicyOf the away policy of an application. Channels that will be moved are listed from the start, with
 * that action. Others are listed after the policy's time.
 */
type StuckOptions = {
  recorder: Recorder;
  /** Sockets of clients that do not read so many octets. */
  lagging(octets: number): readonly Lagging[];
  mailboxes?: (() => readonly Mailbox[]) | undefined;
  awayPolicyOf?: ((application: string) => AwayPolicy | undefined) | undefined;
  expected?: CallExpectations | undefined;
};

/** Says for how long an object has been in its state, where that is too long. */
function createJudge({
  recorder,
  awayPolicyOf = () => undefined,
  expected: { ringingMs = () => 0 } = {},
}: StuckOptions) {
  const judge = ({ chart, object, value, since, call }: ObjectHistory, now: number): WaitingFor | undefined => {
    const expected = expectations[chart]?.[String(value)];
    if (!expected) return undefined;
    const policy = chart === 'application' ? awayPolicyOf(object) : undefined;
    const whileKept = policy?.action === 'keep' ? policy.afterMs : 0;
    const atMost = policy ? whileKept : expected.atMost;
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

  /** A channel whose application is away for too long. */
  const judgeAway = (history: ObjectHistory, now: number): WaitingFor | undefined => {
    const { role, value, object, chart, applications, call } = history;
    if (role !== 'ownership' || value !== 'application') return undefined;
    const application = recorder.store.object('application', applications.at(-1) ?? '');
    const away = application && judge(application, now);
    if (!away) return undefined;
    const policy = awayPolicyOf(application.object);
    const end = policy && becomes[policy.action];
    const orElse = end ? `; after ${policy.afterMs / 1000} s ${end}` : '';
    return {
      ...{ kind: 'object', object, chart, state: value },
      since: Math.max(history.since, away.since),
      expected_ms: away.expected_ms,
      waits_for: `the WebSocket of ${application.object} to connect again${orElse}`,
      ...(call ? { call: call.id } : {}),
    };
  };

  /** A channel that rings too long in its application: that does nothing with it. */
  const judgeRinging = (history: ObjectHistory, owner: ObjectHistory, now: number): WaitingFor | undefined => {
    const since = Math.max(history.since, owner.since);
    if (now - since < ringingMs()) return undefined;
    const { object, chart, call } = history;
    return {
      ...{ kind: 'object', object, chart, state: 'ring', since, expected_ms: ringingMs() },
      waits_for: `the application ${owner.applications.at(-1) ?? ''} to answer`,
      ...(call ? { call: call.id } : {}),
    };
  };

  /** Adds what is stuck of an object. Nothing is allocated for the others, of which there are tens of thousands. */
  return (history: ObjectHistory, now: number, found: WaitingFor[]): void => {
    const owner = ringingMs() === 0 ? undefined : ringsFor(history);
    const own = owner ? judgeRinging(history, owner, now) : judge(history, now);
    if (own) found.push(own);
    const away = judgeAway(history, now);
    if (away) found.push(away);
  };
}

export function createStuck(options: StuckOptions): Stuck {
  const { recorder, lagging, mailboxes = () => [], expected: { unheard = () => [] } = {} } = options;
  const { clock } = recorder;
  const judgeAll = createJudge(options);
  /** Since when the mailboxes and sockets that stood there last have done so. */
  let stood = new Map<string, number>();

  const showUnheard = ({ channel, since, expectedMs, remote }: Unheard): WaitingFor => {
    const call = recorder.store.ofChannel(channel);
    const from = remote === undefined ? '' : ` from ${remote}`;
    return {
      ...{ kind: 'object', object: channel, chart: 'channel', state: 'up', since, expected_ms: expectedMs },
      waits_for: `the far side's audio: no packet has come${from}`,
      ...(call ? { call: call.id } : {}),
    };
  };

  return {
    all() {
      const now = clock.now();
      const { store } = recorder;
      const objects: WaitingFor[] = [];
      for (const history of store.living) judgeAll(history, now, objects);
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
      return [...objects, ...unheard().map(showUnheard), ...sockets, ...waiting].sort((a, b) => a.since - b.since);
    },
    of(call) {
      const now = clock.now();
      const { histories } = call;
      const ids = new Set(histories.flatMap(({ role, object }) => (role === 'channel' ? [object] : [])));
      const found: WaitingFor[] = [];
      for (const history of histories) if (history.ended === undefined) judgeAll(history, now, found);
      return [
        ...found,
        ...unheard()
          .filter(({ channel }) => ids.has(channel))
          .map(showUnheard),
      ];
    },
  };
}
