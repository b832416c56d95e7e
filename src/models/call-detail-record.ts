import Type, { type Static } from 'typebox';
import { outcomeResults } from './call-outcome.ts';
import { double, int, model, stringMap, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';
import { checkOf } from './validator.ts';

const optional = Type.Optional;

/** Results of a leg, in Asterisk's words. */
const dispositions = ['ANSWERED', 'NO ANSWER', 'BUSY', 'CONGESTION', 'FAILED'] as const;
export type Disposition = (typeof dispositions)[number];

/** Figures of the audio of a leg, in both directions. */
export const CallQuality = model('CallQuality', 'Figures of the audio of a leg.', {
  rx: int('Packets that came.'),
  rx_lost: int('Packets sent to us that did not come.'),
  rx_late: int('Packets that came too late to be heard.'),
  rx_jitter_ms: double('Jitter of received packets, in ms.'),
  tx: int('Packets that we sent.'),
  tx_lost: int('Packets of ours that did not arrive, as the far side reports.'),
  tx_jitter_ms: double('Jitter of what we sent, as the far side reports, in ms.'),
  rtt_ms: optional(double('Time to the far side and back, in ms; absent when it was never measured.')),
});
export type CallQuality = Static<typeof CallQuality>;

/**
 * The record of one leg of a call, made when it has ended. The first half are the words of Asterisk's own call detail
 * records, the second half is ours.
 */
export const CallDetailRecord = model('CallDetailRecord', 'One leg of a call that has ended.', {
  id: text('Unique among all records: it identifies a repeated one.'),
  accountcode: text('Account that the leg was charged to; empty when none.'),
  src: text('Number of the caller; empty if unknown.'),
  dst: text('The called extension; for an outbound leg the dialed target.'),
  dcontext: text('Dialplan context that the leg began in.'),
  clid: text('Name and number of the caller, `"Alice" <100>`.'),
  channel: text('Name of the channel.'),
  dstchannel: text('Name of the first channel that it last met in a bridge; empty when it met none.'),
  lastapp: text('The last dialplan application on it; empty when none ran.'),
  lastdata: text('The arguments of that.'),
  start: Timestamp,
  answer: optional(Timestamp),
  end: Timestamp,
  duration: int('From its start to its end, in whole s.'),
  billsec: int('From the answer to its end, in whole s; 0 when it was not answered.'),
  disposition: Type.Enum([...dispositions], { description: 'Its result.' }),
  uniqueid: text('Id of the channel.'),
  linkedid: text('Id of the call: the channel that it began with, the same for all legs that met.'),

  system: text('Id of the server (`asterisk_id` of events).'),
  direction: Type.Enum(['in', 'out'], { description: 'Whether it came in or went out.' }),
  technology: text('Technology of the channel, e.g. PJSIP.'),
  endpoint: optional(text('Name of the endpoint, where it belongs to one.')),
  peers: texts('Names of the channels that it last met in a bridge.'),
  source: optional(text('Its source, `address:port`; only for inbound legs.')),
  codec: optional(text('The audio format that was agreed on; absent when it was not answered.')),
  video: optional(text('The format of video that was agreed on; absent without video.')),
  protocol_id: text("The technology's own id of the leg: SIP's Call-ID."),
  tenantid: optional(text('Tenant that it belonged to.')),
  applications: texts('The applications that it entered, in order.'),
  duration_ms: int('From its start to its end, in ms.'),
  billable_ms: int('From the answer to its end, in ms; 0 when it was not answered.'),
  outcome: Type.Enum([...outcomeResults], { description: 'The outcome, as in the list of calls.' }),
  outcome_reason: text('Why, in words.'),
  by: text('Who ended it: farSide, application, dialplan, server, timeout or fault.'),
  cause: int('Why it ended (Q.850).'),
  cause_text: text('The same in words.'),
  reason: optional(
    text(
      'Why it failed, where the cause does not say so: its application was not connected, or the server ended meanwhile.',
    ),
  ),
  sip_status: optional(int('The SIP status that it ended with, where there was one.')),
  left_out: optional(int('Refused calls before this one that have no record (`cdr.refused_calls`).')),
  quality: optional(CallQuality),
  recordings: texts('Names of the recordings of it, and of the bridges that it was in.'),
  variables: stringMap(
    'The variables of `cdr.variables` that were set, and what `CDR(name)` was set to, under that name.',
  ),
  traceparent: optional(text("The call's trace context (W3C Trace Context), if calls are traced.")),
});
export type CallDetailRecord = Static<typeof CallDetailRecord>;

/** @returns what says whether a value is a {@link CallDetailRecord}. */
export const checkCallDetailRecord = (): ((value: unknown) => boolean) => checkOf(CallDetailRecord).fits;
