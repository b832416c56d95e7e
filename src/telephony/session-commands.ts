import type { DigitSequence, Indication, MediaSession, SessionCommand, TalkDetection, ToneDetection } from './media.ts';

/** A command without a report of its own: a setting that holds until it changes, or digits. */
export type PlainCommand = Extract<
  SessionCommand,
  {
    type:
      | 'sendDigits'
      | 'hearDigit'
      | 'indicate'
      | 'music'
      | 'silence'
      | 'echo'
      | 'mute'
      | 'detectTalking'
      | 'detectTone';
  }
>;

type PlainMethods = Pick<MediaSession, PlainCommand['type']>;

/** The methods of a media session that are plain commands, as data for {@link command}. */
export abstract class SessionCommands implements PlainMethods {
  /** Carries out a command, or keeps it until it can. */
  protected abstract command(command: PlainCommand): void;

  sendDigits(sequence: DigitSequence): void {
    this.command({ type: 'sendDigits', sequence });
  }

  hearDigit(digit: string, durationMs: number): void {
    this.command({ type: 'hearDigit', digit, durationMs });
  }

  indicate(indication: Indication | undefined): void {
    this.command({ type: 'indicate', indication });
  }

  music(musicClass: string | undefined): void {
    this.command({ type: 'music', musicClass });
  }

  silence(on: boolean): void {
    this.command({ type: 'silence', on });
  }

  echo(on: boolean): void {
    this.command({ type: 'echo', on });
  }

  mute(directions: { in: boolean; out: boolean }): void {
    this.command({ type: 'mute', in: directions.in, out: directions.out });
  }

  detectTalking(detection: TalkDetection | undefined): void {
    this.command({ type: 'detectTalking', detection });
  }

  detectTone(detection: ToneDetection | undefined): void {
    this.command({ type: 'detectTone', detection });
  }
}

const carryOut: {
  readonly [T in PlainCommand['type']]: (on: PlainMethods, command: Extract<PlainCommand, { type: T }>) => void;
} = {
  sendDigits: (session, { sequence }) => session.sendDigits(sequence),
  hearDigit: (session, { digit, durationMs }) => session.hearDigit(digit, durationMs),
  indicate: (session, { indication }) => session.indicate(indication),
  music: (session, { musicClass }) => session.music(musicClass),
  silence: (session, { on }) => session.silence(on),
  echo: (session, { on }) => session.echo(on),
  mute: (session, directions) => session.mute({ in: directions.in, out: directions.out }),
  detectTalking: (session, { detection }) => session.detectTalking(detection),
  detectTone: (session, { detection }) => session.detectTone(detection),
};

/** Calls the method of a session that a command stands for. */
export const apply = <T extends PlainCommand['type']>(
  session: PlainMethods,
  command: Extract<PlainCommand, { type: T }>,
): void => carryOut[command.type as T](session, command);

/** The plain commands among those of a dump. A restored leg asks its session for them again. */
export const plainCommandsOf = (standing: readonly SessionCommand[]): PlainCommand[] =>
  standing.filter((command): command is PlainCommand => Object.hasOwn(carryOut, command.type));
