import type { Call, WaitingFor } from '../models/call.ts';
import type { TimelineEntry } from '../models/timeline.ts';

/** What commands write for people: a line for each thing. */

/** Text from outside, so that it cannot steer a terminal. */
export const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?');

const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

/** A span in the largest unit that has at least two of it. */
export function span(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}

/** A call in a line. */
export function callLine({ id, state, duration_ms: duration, channels, applications, stuck }: Call): string {
  const parties = channels.map(({ name, life, caller, extension }) => `${name} ${life} ${caller.number}→${extension}`);
  const late = stuck.length === 0 ? '' : `  STUCK: ${stuck.map(({ waits_for: what }) => what).join(', ')}`;
  return plain(`${id}  ${state}  ${span(duration)}  [${parties.join(' | ')}]  ${applications.join(',')}${late}`);
}

/** What is stuck in a line. */
export const stuckLine = (
  { kind, object, chart, state, since, waits_for: what, call }: WaitingFor,
  now: number,
): string =>
  plain(
    `${span(now - since)}  ${chart ?? kind} ${object}${state ? ` in ${state}` : ''}  waits for ${what}${call ? `  (call ${call})` : ''}`,
  );

const stateText = (state: unknown): string => (typeof state === 'string' ? state : JSON.stringify(state));

/** An entry of a timeline in a line. */
export function entryLine(entry: TimelineEntry): string {
  return plain(`${clock(entry.at)}  ${entry.kind.padEnd(7)}  ${textOf(entry)}`);
}

function textOf(entry: TimelineEntry): string {
  switch (entry.kind) {
    case 'step': {
      const from = entry.from === undefined ? '' : `${stateText(entry.from)} → `;
      const facts = entry.facts.map((fact) => fact['type']).join(', ');
      const effects = entry.effects.map((effect) => effect['type']).join(', ');
      return `${entry.chart} ${entry.object}: ${entry.event['type']}: ${from}${stateText(entry.to)}${facts && ` / ${facts}`}${effects && ` ! ${effects}`}`;
    }
    case 'request':
      return `${entry.user}: ${entry.method} ${entry.path} ${entry.status} (${entry.duration_ms.toFixed(1)} ms)`;
    case 'event':
      return `${entry.missed ? 'MISSED by' : 'to'} ${entry.application} #${entry.number}: ${entry.type}`;
    case 'sip':
      return `${entry.direction === 'in' ? 'from' : 'to'} ${entry.remote}: ${entry.first_line}`;
    case 'media':
      return `${entry.object}: ${JSON.stringify(entry.report)}`;
  }
}
