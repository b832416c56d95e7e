import type { MediaSession, SessionCommand } from '../telephony/media.ts';

/** What can be asked of any session again, by whoever takes up its leg: what holds until it is changed, and digits. */
export type Wish = Extract<
  SessionCommand,
  { type: 'sendDigits' | 'indicate' | 'music' | 'echo' | 'mute' | 'detectTalking' | 'detectTone' }
>;

/** Asks a session for what a command says. */
export function grant(session: MediaSession, wish: Wish): void {
  switch (wish.type) {
    case 'sendDigits':
      session.sendDigits(wish.sequence);
      break;
    case 'indicate':
      session.indicate(wish.indication);
      break;
    case 'music':
      session.music(wish.musicClass);
      break;
    case 'echo':
      session.echo(wish.on);
      break;
    case 'mute':
      session.mute({ in: wish.in, out: wish.out });
      break;
    case 'detectTalking':
      session.detectTalking(wish.detection);
      break;
    case 'detectTone':
      session.detectTone(wish.detection);
  }
}

const wishes: ReadonlySet<string> = new Set<Wish['type']>([
  'sendDigits',
  'indicate',
  'music',
  'echo',
  'mute',
  'detectTalking',
  'detectTone',
]);

/** Those of the commands of a dump that a session can be asked again. */
export const wishesOf = (standing: readonly SessionCommand[]): Wish[] =>
  standing.filter((command): command is Wish => wishes.has(command.type));
