import type { CallLeg } from '../actors/call-leg.ts';
import type { CallEnd, CallListener } from '../actors/call-story.ts';
import type { Ids } from '../lib/ids.ts';
import type { CallDetailRecord, Disposition } from '../models/call-detail-record.ts';
import type { CallOutcome } from '../models/call-outcome.ts';
import type { RefusedCall } from '../models/refused-call.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { OpenEntries } from '../stores/open-entries.ts';
import { Cause, causeText } from '../telephony/causes.ts';
import { endOf, qualityOf } from './call-quality.ts';

type CallDetailOptions = {
  ids: Pick<Ids, 'uuid'>;
  /** Id of the server. */
  system: string;
  /** Channel variables to include. */
  variables: readonly string[];
  /** Trace context of a channel's call; undefined without one. */
  traceparentOf(channel: string): string | undefined;
  /** Records of answered legs as far as they are known, by channel; without it none is made for those of a process that died. */
  open?: Pick<OpenEntries<CallDetailRecord>, 'set' | 'get' | 'delete'> | undefined;
  /** Takes a record, as one line of JSON with its end. */
  take(line: string): void;
};

/** Makes a record of every leg that ends; legs that lead nowhere outside have none. */
export const createCallDetailRecords = (options: CallDetailOptions): CallListener => {
  const { ids, open, take } = options;
  const change = ({ channel }: CallLeg, changes: Partial<CallDetailRecord>): void => {
    const record = open?.get(channel);
    if (record) open?.set(channel, { ...record, ...changes });
  };
  return {
    hearsInternal: () => false,
    answered(leg, last) {
      if (!open) return;
      const { answeredAt: at = leg.startedAt } = leg;
      const outcome: CallOutcome = { result: 'failed', reason: 'the server ended while the call was up', by: 'fault' };
      const unknown = { techCause: undefined, quality: undefined };
      const soFar = { at, by: 'fault', cause: Cause.temporaryFailure, ...unknown, outcome, last };
      open.set(leg.channel, { ...recordOf(leg, soFar as CallEnd, options), id: ids.uuid() });
    },
    entered: (leg) => change(leg, { applications: leg.applications }),
    joined: (leg) => change(leg, { linkedid: leg.call }),
    ended(leg, end) {
      const id = open?.get(leg.channel)?.id ?? ids.uuid();
      take(lineOf({ ...recordOf(leg, end, options), id }));
      open?.delete(leg.channel);
    },
  };
};

export const lineOf = (record: CallDetailRecord): string => `${JSON.stringify(record)}\n`;

/**
 * The record of an answered leg whose process died. @param at the last time that process was known to run, in ms since
 * the epoch.
 */
export function lostRecord(soFar: CallDetailRecord, at: number): CallDetailRecord {
  const since = (moment: string): number => Math.max(0, at - Date.parse(moment));
  const [durationMs, billableMs] = [since(soFar.start), since(soFar.answer ?? soFar.start)];
  return {
    ...soFar,
    end: formatTimestamp(at),
    duration: Math.floor(durationMs / 1000),
    billsec: Math.floor(billableMs / 1000),
    ...{ duration_ms: Math.round(durationMs), billable_ms: Math.round(billableMs) },
    reason: 'the server ended while the call was up',
  };
}

/** The record of a call that was refused before it had a channel. @param leftOut calls before it that have none. */
export function refusedRecord(
  { technology, endpoint, from, to, context, source, protocol_id, status, cause, reason, last }: RefusedCall,
  { id, system, leftOut }: { id: string; system: string; leftOut: number },
): CallDetailRecord {
  const at = formatTimestamp(last);
  return {
    ...{ id, accountcode: '', src: from, dst: to, dcontext: context, clid: from },
    ...{ channel: '', dstchannel: '', lastapp: '', lastdata: '', start: at, end: at, duration: 0, billsec: 0 },
    ...{ disposition: 'FAILED', uniqueid: '', linkedid: '', system, direction: 'in', technology, endpoint, peers: [] },
    ...{ source, protocol_id, applications: [], duration_ms: 0, billable_ms: 0 },
    ...{ outcome: 'refused', outcome_reason: reason, by: 'server', reason, sip_status: status },
    ...{ cause, cause_text: causeText(cause) },
    ...(leftOut > 0 && { left_out: leftOut }),
    ...{ recordings: [], variables: {} },
  };
}

function recordOf(leg: CallLeg, end: CallEnd, { system, variables, traceparentOf }: CallDetailOptions) {
  const { at, cause, quality, last, failure } = end;
  const { from, startedAt, answeredAt } = leg;
  const durationMs = at - startedAt;
  const billableMs = answeredAt === undefined ? 0 : at - answeredAt;
  const { peers = [] } = leg;
  const traceparent = traceparentOf(leg.channel);
  const record: CallDetailRecord = {
    id: '',
    accountcode: last.accountCode,
    src: from.number,
    dst: leg.to,
    dcontext: leg.context,
    clid: from.name === '' ? from.number : `"${from.name.replaceAll('"', "'")}" <${from.number}>`,
    channel: leg.name,
    dstchannel: peers[0] ?? '',
    lastapp: last.dialplan.appName,
    lastdata: last.dialplan.appData,
    start: formatTimestamp(startedAt),
    ...(answeredAt === undefined ? {} : { answer: formatTimestamp(answeredAt) }),
    end: formatTimestamp(at),
    duration: Math.floor(durationMs / 1000),
    billsec: Math.floor(billableMs / 1000),
    disposition: dispositionOf(answeredAt !== undefined, cause, failure),
    uniqueid: leg.channel,
    linkedid: leg.call,
    system,
    direction: leg.direction,
    technology: leg.technology,
    ...(leg.endpoint === undefined ? {} : { endpoint: leg.endpoint }),
    peers,
    ...(leg.source === undefined ? {} : { source: leg.source }),
    ...(leg.codec === undefined ? {} : { codec: leg.codec }),
    ...(leg.video === undefined ? {} : { video: leg.video }),
    protocol_id: leg.protocolId,
    ...(last.tenantId ? { tenantid: last.tenantId } : {}),
    applications: leg.applications,
    duration_ms: Math.round(durationMs),
    billable_ms: Math.round(billableMs),
    ...endOf(end),
    ...(quality ? { quality: qualityOf(quality) } : {}),
    recordings: leg.recordings,
    variables: Object.fromEntries(
      Object.entries(last.variables).filter(([name]) => variables.includes(name) || name.startsWith('CDR(')),
    ),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  return record;
}

/** Causes of unanswered legs, and of legs that the caller gave up. */
const unanswered: ReadonlySet<number> = new Set([
  Cause.unknown,
  Cause.normalClearing,
  Cause.noUserResponse,
  Cause.noAnswer,
  Cause.answeredElsewhere,
]);
const congested: ReadonlySet<number> = new Set([Cause.congestion, Cause.switchCongestion]);

/** The disposition of a leg. */
function dispositionOf(answered: boolean, cause: number, failure: string | undefined): Disposition {
  if (answered) return 'ANSWERED';
  if (failure !== undefined) return 'FAILED';
  if (cause === Cause.userBusy) return 'BUSY';
  if (unanswered.has(cause)) return 'NO ANSWER';
  return congested.has(cause) ? 'CONGESTION' : 'FAILED';
}
