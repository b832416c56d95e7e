import type { TimelineEntry } from '../models/timeline.ts';

/** A larger diagram is unreadable. */
const mostLines = 2_000;

/** Escapes Mermaid's special characters. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll('#', '#35;')
    .replaceAll(';', '#59;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;')
    .replaceAll(':', '#58;')
    .slice(0, 400);

/** A timeline as a Mermaid sequence diagram: far sides, channels, applications and users. */
export function writeMermaid(timeline: readonly TimelineEntry[]): string {
  const names = new Map<string, string>();
  const participants: string[] = [];
  const lines: string[] = [];
  const party = (kind: string, label: string): string => {
    const key = `${kind}:${label}`;
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = `p${names.size}`;
    names.set(key, name);
    participants.push(`  participant ${name} as ${plain(kind === '' ? label : `${kind} ${label}`)}`);
    return name;
  };
  const server = party('', 'Hookswitch');
  const channelOf = new Set(timeline.flatMap((entry) => (isChannelStep(entry) ? [entry.object] : [])));
  const ofObject = (id: string, chart: string): string => party(channelOf.has(id) ? 'channel' : chart, id);
  for (const entry of timeline.slice(0, mostLines)) lines.push(...write(entry, { party, server, ofObject }));
  if (timeline.length > mostLines)
    lines.push(`  Note over ${server}: ${timeline.length - mostLines} more are left out`);
  return ['sequenceDiagram', ...participants, ...lines, ''].join('\n');
}

const isChannelStep = (entry: TimelineEntry): entry is Extract<TimelineEntry, { kind: 'step' }> =>
  entry.kind === 'step' && entry.chart === 'channel';

type Parties = {
  party(kind: string, label: string): string;
  server: string;
  ofObject(id: string, chart: string): string;
};

function write(entry: TimelineEntry, { party, server, ofObject }: Parties): string[] {
  switch (entry.kind) {
    case 'sip': {
      const far = party('SIP', entry.remote);
      const [from, to] = entry.direction === 'in' ? [far, server] : [server, far];
      return [`  ${from}->>${to}: ${plain(entry.first_line)}`];
    }
    case 'request': {
      const who = party('user', entry.user);
      const asked = `  ${who}->>${server}: ${plain(`${entry.method} ${entry.path}`)}`;
      return entry.status === 0 ? [asked] : [asked, `  ${server}-->>${who}: ${entry.status}`];
    }
    case 'event':
      return [
        `  ${server}--${entry.missed ? 'x' : ')'}${party('application', entry.application)}: ${plain(entry.type)}`,
      ];
    case 'step': {
      if (entry.from === entry.to) return [];
      const change = `${entry.chart} ${entry.from === undefined ? '' : `${shown(entry.from)} → `}${shown(entry.to)}`;
      return [`  Note over ${ofObject(entry.object, entry.chart)}: ${plain(change)}`];
    }
    case 'media':
      return [];
  }
}

const shown = (state: unknown): string => (typeof state === 'string' ? state : JSON.stringify(state));
