import { callOutcome, type LegFacts, legOutcome } from '../actors/call-outcome.ts';
import { type ChannelSnapshot, channelState } from '../machines/channel.ts';
import { failedFor } from '../machines/ownership.ts';
import type { Call, CallChannel, CallDetail, CallMask, CallPage, WaitingFor } from '../models/call.ts';
import type { CallOutcome } from '../models/call-outcome.ts';
import { AriError } from '../models/errors.ts';
import { type Bundle, createBundle, type ServerDescription } from './bundle.ts';
import type { CallRecord, ChannelTrace } from './call-record.ts';
import { joined, type Mask } from './masks.ts';
import { writeMermaid } from './mermaid.ts';
import { writePcap } from './pcap.ts';
import type { Recorder } from './recorder.ts';
import type { Stuck } from './stuck.ts';
import { writeTimeline } from './timeline.ts';

/** Which calls are asked for; all conditions hold. */
export type CallFilter = {
  /** Part of a number of a party, or of the extension. */
  number?: string | undefined;
  /** An application that is or was in control. */
  app?: string | undefined;
  /** `technology/resource`, or the resource alone. */
  endpoint?: string | undefined;
  state?: string | undefined;
  /** Began at least so many seconds ago. */
  older_than?: number | undefined;
  /** Something of it stays longer than it is expected to. */
  stuck?: boolean | undefined;
  offset?: number | undefined;
  limit?: number | undefined;
  /** Another condition. */
  fits?: ((call: Call) => boolean) | undefined;
  /** Whether the user may see objects of these applications; left out, all are visible. */
  seen?: ((applications: Iterable<string>) => boolean) | undefined;
};

/** What to hide of a call. */
type MaskRequest = { digits?: boolean | undefined; variables?: readonly string[] | undefined };

/** The calls that are kept, as clients see them. While nothing is recorded, all that asks for one throws recorderOff. */
export interface Calls {
  /** Newest first. @throws AriError parameterInvalid, recorderOff. */
  list(filter: CallFilter): CallPage;
  /** By its id, a former one, or the id of one of its channels. @throws AriError callNotFound. */
  get(id: string): CallDetail;
  /** Everything that stays longer than it is expected to, in a call or not. @throws AriError recorderOff. */
  stuck(): WaitingFor[];
  /** The source of a Mermaid sequence diagram. @throws AriError callNotFound. */
  mermaid(id: string): string;
  /**
   * The SIP messages as a capture file; with `headers` those of RTP as well. @throws AriError callNotFound, rtpNotKept,
   * parameterInvalid.
   */
  pcap(id: string, rtp?: string): Buffer;
  /**
   * Hides digits and values of variables of a call, also earlier ones. It cannot be undone. @throws AriError
   * callNotFound.
   */
  mask(id: string, hide: MaskRequest): CallMask;
  /**
   * Everything, in one document; without the configuration if the user may not read it.
   * @throws AriError callNotFound.
   */
  bundle(id: string, withConfig?: boolean): Bundle;
  /** @throws AriError callNotFound. */
  record(id: string): CallRecord;
  model(record: CallRecord): Call;
  outcome(record: CallRecord): CallOutcome;
  /** A call with its timeline. */
  detail(record: CallRecord): CallDetail;
}

/** What a filter looks at. */
export type Filtered = Pick<Call, 'began' | 'state' | 'applications'> & {
  /** Numbers and extensions of its parties. */
  numbers: readonly string[];
  /** Endpoints of its channels, as `technology/resource`. */
  endpoints: readonly string[];
};

/** Calls in one answer at most, and unless the client says how many. */
const mostInAnswer = 1_000;
const usualInAnswer = 100;

/** The part of a list that is asked for. */
export const pageOf = ({ offset = 0, limit = usualInAnswer }: CallFilter) => ({
  offset,
  count: Math.min(Math.max(limit, 1), mostInAnswer),
});

/** Makes the view of the calls that a recorder keeps. */
export function createCalls(recorder: Recorder, stuck: Stuck, server: ServerDescription): Calls {
  const { clock } = recorder;

  const requireRecording = (): void => {
    if (!recorder.on) throw new AriError('recorderOff');
  };
  const record = (id: string): CallRecord => {
    requireRecording();
    const { store } = recorder;
    const found = store.find(id) ?? store.ofChannel(id);
    if (!found) throw new AriError('callNotFound');
    return found;
  };
  const outcome = ({ channels }: CallRecord): CallOutcome => callOutcome(channels.map(factsOf));
  const model = (call: CallRecord): Call => {
    const traces = call.channels;
    const channels = traces.map(writeChannel);
    const { ended } = call;
    return {
      id: call.id,
      state: ended === undefined ? 'live' : 'ended',
      began: call.began,
      ...(ended === undefined ? {} : { ended }),
      duration_ms: (ended ?? clock.now()) - call.began,
      outcome: outcome(call),
      channels,
      applications: call.applications,
      bridges: call.histories.filter(({ chart }) => chart === 'bridge').map(({ object }) => object),
      stuck: ended === undefined ? stuck.of(call) : [],
      entries: call.size,
      gone: call.dropped,
      seq: call.changed,
      ...(call.mask.digits || call.mask.variables.size > 0 ? { masked: writeMask(call.mask) } : {}),
    };
  };

  const detail = (call: CallRecord): CallDetail => ({
    ...model(call),
    timeline: writeTimeline(call.all(), call.mask),
  });
  const get = (id: string): CallDetail => detail(record(id));

  return {
    record,
    model,
    outcome,
    detail,
    list(filter) {
      requireRecording();
      const { offset, count } = pageOf(filter);
      const found = recorder.store
        .calls()
        .filter((call) => matches(filteredOf(call), filter, clock.now()))
        .reverse();
      const notStuck =
        filter.stuck === undefined ? found : found.filter((call) => stuck.of(call).length > 0 === filter.stuck);
      const wanted = filter.fits ? notStuck.filter((call) => filter.fits?.(model(call))) : notStuck;
      const next = offset + count;
      return {
        calls: wanted.slice(offset, next).map(model),
        total: wanted.length,
        ...(next < wanted.length ? { next } : {}),
        evicted: recorder.evicted,
      };
    },
    get,
    stuck() {
      requireRecording();
      return stuck.all();
    },
    mermaid: (id) => writeMermaid(get(id).timeline),
    pcap(id, asked = 'none') {
      if (asked !== 'none' && asked !== 'headers')
        throw new AriError('parameterInvalid', { name: 'rtp', expected: "'none' or 'headers'" });
      const rtp = asked === 'headers';
      const call = record(id);
      if (rtp && !recorder.rtp.on) throw new AriError('rtpNotKept');
      const packets = rtp ? recorder.rtp.of(call.channels.map((channel) => channel.id)) : [];
      return writePcap(call.all(), call.mask, packets);
    },
    mask(id, hide) {
      const call = record(id);
      call.mask = joined(call.mask, maskOf(hide));
      return writeMask(call.mask);
    },
    bundle: (id, withConfig = true) =>
      createBundle(get(id), withConfig ? server : { versions: server.versions }, clock.now()),
  };
}

/** Whether a call fits a filter, but for `stuck` and `fits`. @param now ms since the epoch */
export function matches(
  { began, state: own, applications, numbers, endpoints }: Filtered,
  { number, app, endpoint, state, older_than: olderThan, seen }: CallFilter,
  now: number,
): boolean {
  if (seen && !seen(applications)) return false;
  if (state !== undefined && state !== own) return false;
  if (olderThan !== undefined && now - began < olderThan * 1000) return false;
  if (app !== undefined && !applications.includes(app)) return false;
  if (endpoint !== undefined && !endpoints.some((each) => isAt(each, endpoint))) return false;
  return number === undefined || numbers.some((each) => each.includes(number));
}

function filteredOf({ began, ended, applications, channels }: CallRecord): Filtered {
  const contexts = channels.map(({ context }) => context);
  return {
    ...{ began, applications, state: ended === undefined ? 'live' : 'ended' },
    numbers: contexts.flatMap(({ caller, connected, dialplan, dialString }) => [
      ...[caller.number, connected.number, dialplan.exten, dialString],
    ]),
    endpoints: contexts.flatMap(({ endpoint }) => (endpoint ? [endpoint.join('/')] : [])),
  };
}

/** The mask that is asked for. */
export const maskOf = ({ digits = false, variables = [] }: MaskRequest): Mask => ({
  digits,
  variables: new Set(variables.map((name) => name.trim()).filter((name) => name !== '')),
});

export const writeMask = ({ digits, variables }: Mask): CallMask => ({ digits, variables: [...variables] });

/** Whether an endpoint is the one that is asked for: as a whole, or by its resource. */
const isAt = (endpoint: string, wanted: string): boolean =>
  endpoint.toLowerCase() === wanted.toLowerCase() || endpoint.slice(endpoint.indexOf('/') + 1) === wanted;

/** What the outcome of a channel follows from. */
function factsOf({ context, value, ended, refusedBy }: ChannelTrace): LegFacts {
  return {
    direction: context.origin === 'incoming' ? 'in' : 'out',
    answered: value === 'up' || context.lastState === 'Up',
    ended: ended !== undefined,
    cause: context.cause,
    sipStatus: context.techCause,
    by: context.endedBy,
    failure: refusedBy === undefined ? undefined : failedFor(refusedBy),
  };
}

function writeChannel(trace: ChannelTrace): CallChannel {
  const { application, value, ended, refusedBy } = trace;
  const { id, name, endpoint, caller, connected, dialplan, creationTime, cause, techCause } = trace.context;
  const { dialString, origin } = trace.context;
  return {
    id,
    name,
    state: channelState(trace as unknown as ChannelSnapshot),
    life: String(value),
    ...(endpoint ? { endpoint: endpoint.join('/') } : {}),
    ...(dialString === '' ? {} : { dialed: dialString }),
    caller: { name: caller.name, number: caller.number },
    connected: { name: connected.name, number: connected.number },
    ...(application === '' ? {} : { application }),
    extension: `${dialplan.exten}@${dialplan.context}`,
    began: creationTime,
    ...(ended === undefined ? {} : { ended }),
    direction: origin === 'incoming' ? 'in' : 'out',
    cause,
    ...(techCause === undefined ? {} : { sip_status: techCause }),
    outcome: legOutcome(factsOf(trace)),
    ...(refusedBy === undefined ? {} : { failure: failedFor(refusedBy) }),
  };
}
