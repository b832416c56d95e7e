import type { PlayReport } from '../telephony/media.ts';
import type { EngineReport, MediaCommand } from './protocol.ts';

const reason = 'the session was closed';
/** The report of an item that is not played any more. */
export const notPlayed = { report: { type: 'media.failed', reason } } as const satisfies { report: PlayReport };

type ForSession = Extract<MediaCommand, { session: number }>;

/** An item or a recording for a session that is gone still gets its one report. */
export function applyToNone(command: ForSession, report: (report: EngineReport) => void): void {
  const { session } = command;
  if (command.type === 'record')
    report({ type: 'recorded', session, recording: command.recording, report: { type: 'record.failed', reason } });
  if (command.type === 'play') report({ ...notPlayed, type: 'played', session, play: command.play });
}
