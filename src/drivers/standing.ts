import type { MediaSession, SessionCommand } from '../telephony/media.ts';

/** A command that a restored leg sends to its session again: settings that hold until they change, and digits. */
export type PendingCommand = Extract<
  SessionCommand,
  { type: 'sendDigits' | 'indicate' | 'music' | 'silence' | 'echo' | 'mute' | 'detectTalking' | 'detectTone' }
>;

/** Applies a pending command to a session. */
export function apply(session: MediaSession, command: PendingCommand): void {
  switch (command.type) {
    case 'sendDigits':
      session.sendDigits(command.sequence);
      break;
    case 'indicate':
      session.indicate(command.indication);
      break;
    case 'music':
      session.music(command.musicClass);
      break;
    case 'silence':
      session.silence(command.on);
      break;
    case 'echo':
      session.echo(command.on);
      break;
    case 'mute':
      session.mute({ in: command.in, out: command.out });
      break;
    case 'detectTalking':
      session.detectTalking(command.detection);
      break;
    case 'detectTone':
      session.detectTone(command.detection);
  }
}

const pending: ReadonlySet<string> = new Set<PendingCommand['type']>([
  'sendDigits',
  'indicate',
  'music',
  'silence',
  'echo',
  'mute',
  'detectTalking',
  'detectTone',
]);

/** The commands of a dump that can be applied again. */
export const pendingCommandsOf = (standing: readonly SessionCommand[]): PendingCommand[] =>
  standing.filter((command): command is PendingCommand => pending.has(command.type));
