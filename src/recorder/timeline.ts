import { type Change, type CommittedStep, type Contents, describeStep } from '../actors/step.ts';
import { formatAddress } from '../lib/addresses.ts';
import type { StepEntry, TimelineEntry } from '../models/timeline.ts';
import type { Entry, SipEntry } from './entries.ts';
import { type Mask, masked, maskedQuery } from './masks.ts';

/** Writes out entries as clients see them. */
export interface TimelineWriter {
  /** The next entry of the list: changes since its object's previous step. */
  write(entry: Entry): TimelineEntry;
}

/** A writer of one list of entries, oldest first. The first step of each object tells the whole of its snapshot. */
export function createTimelineWriter(mask: Mask): TimelineWriter {
  const before = new Map<string, Contents>();
  const writeStep = (step: CommittedStep): StepEntry => {
    const key = `${step.chart}:${step.object}`;
    const known = before.get(key);
    before.set(key, step.after as Contents);
    const { seq, at, object, chart, event, from, to, facts, effects, causedBy, request, change } = describeStep(
      step,
      known,
    );
    return {
      kind: 'step',
      seq: step.order,
      at,
      step: seq,
      object,
      chart,
      event: event as Record<string, unknown> & { type: string },
      ...(from === undefined ? {} : { from }),
      to,
      facts: facts as never,
      effects: effects as never,
      ...(causedBy === undefined ? {} : { caused_by: causedBy }),
      ...(request === undefined ? {} : { request_id: request }),
      change: { ...(known ? {} : { whole: true }), ...asJson(change) } as StepEntry['change'],
    };
  };
  return {
    write(entry) {
      if (entry.kind === 'step') return masked(writeStep(entry), mask);
      const place = { seq: entry.order, at: entry.at };
      switch (entry.kind) {
        case 'request':
          return {
            kind: 'request',
            ...place,
            request_id: entry.id,
            method: entry.method,
            path: entry.path,
            query: maskedQuery(entry.query, mask),
            user: entry.user,
            over: entry.overWebSocket ? 'websocket' : 'http',
            status: entry.status,
            duration_ms: entry.durationMs,
          };
        case 'event': {
          const { application, number, type, missed } = entry;
          const event = masked(JSON.parse(entry.json), mask);
          return { kind: 'event', ...place, application, number, type, missed, event };
        }
        case 'sip':
          return { kind: 'sip', ...place, ...writeSip(entry, mask) };
        case 'media':
          return { kind: 'media', ...place, object: entry.object, report: masked(entry.report, mask) };
      }
    },
  };
}

/** An entry with what a mask hides replaced, which was not hidden when it was written. */
export function maskEntry(entry: TimelineEntry, mask: Mask): TimelineEntry {
  if (entry.kind === 'request') return { ...entry, query: maskedQuery(entry.query, mask) };
  if (entry.kind !== 'sip') return masked(entry, mask);
  const { body: _body, ...rest } = entry;
  return mask.digits && entry.first_line.startsWith('INFO') ? rest : entry;
}

/** A change as JSON can carry it: a member that is undefined is gone. */
function asJson({ set = {}, unset = [], ...change }: Change): Change {
  const gone = Object.keys(set).filter((name) => set[name] === undefined);
  const kept =
    gone.length === 0 ? set : Object.fromEntries(Object.entries(set).filter(([name]) => !gone.includes(name)));
  return {
    ...change,
    ...(Object.keys(kept).length === 0 ? {} : { set: kept }),
    ...(unset.length + gone.length === 0 ? {} : { unset: [...unset, ...gone] }),
  };
}

/** All of a list of entries, in order. */
export function writeTimeline(entries: readonly Entry[], mask: Mask): TimelineEntry[] {
  const writer = createTimelineWriter(mask);
  return entries.map((entry) => writer.write(entry));
}

const utf8 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('utf8');

function writeSip({ direction, protocol, local, remote, head, body, bodyLength }: SipEntry, mask: Mask) {
  const text = utf8(head).trimEnd();
  const end = text.indexOf('\r\n');
  // Digits come in bodies of INFO.
  const shown = body === undefined || (mask.digits && head.startsWith('INFO')) ? {} : { body: utf8(body) };
  return {
    direction,
    protocol,
    local: formatAddress(local),
    remote: formatAddress(remote),
    first_line: end < 0 ? text : text.slice(0, end),
    headers: end < 0 ? '' : text.slice(end + 2),
    ...shown,
    body_length: bodyLength,
  };
}
