import { AriError } from '../models/errors.ts';
import {
  type ExistsAction,
  existsActions,
  recordingFormats,
  type Terminator,
  terminators,
} from '../models/live-recording.ts';
import type { RecordRequest } from '../telephony/media.ts';

/** Parameters of `record`, by their names in the interface. */
export type RecordingRequest = {
  name?: string | undefined;
  format?: string | undefined;
  /** Format of what is between the bridge and the file; of a bridge alone. */
  recorder_format?: string | undefined;
  /** Seconds; 0 = no limit. */
  maxDurationSeconds?: number | undefined;
  /** Seconds of silence that end it; 0 = none do. */
  maxSilenceSeconds?: number | undefined;
  ifExists?: string | undefined;
  beep?: boolean | undefined;
  terminateOn?: string | undefined;
  /** 2 = both sides, one a track. */
  channels?: number | undefined;
};

/** A request that has been read: what is recorded how. */
export type RecordingPlan = { name: string } & Omit<RecordRequest, 'path'>;

/** Longest time that can be asked for, in ms; more is as good as no limit. */
const longest = 2 ** 31 - 1;
const milliseconds = (seconds: number | undefined): number => Math.min((seconds ?? 0) * 1000, longest);

const isOf = <T extends string>(words: readonly T[], word: string): word is T =>
  (words as readonly string[]).includes(word);

/** @throws AriError maxDurationNegative, maxSilenceNegative. */
export function refuseNegativeLimits({ maxDurationSeconds = 0, maxSilenceSeconds = 0 }: RecordingRequest): void {
  if (maxDurationSeconds < 0) throw new AriError('maxDurationNegative');
  if (maxSilenceSeconds < 0) throw new AriError('maxSilenceNegative');
}

/** In any case of letters, as Asterisk takes it; none when left out. @throws AriError terminateOnInvalid. */
function readTerminator(terminateOn: string | undefined): Terminator {
  const word = (terminateOn || 'none').toLowerCase();
  if (!isOf(terminators, word)) throw new AriError('terminateOnInvalid');
  return word;
}

/** @throws AriError ifExistsInvalid. */
function readExistsAction(ifExists: string | undefined): ExistsAction {
  const word = (ifExists || 'fail').toLowerCase();
  if (!isOf(existsActions, word)) throw new AriError('ifExistsInvalid');
  return word;
}

/** Formats between a bridge and its recorder; all are understood, none makes a difference. */
const recorderFormats: ReadonlySet<string> = new Set([
  ...recordingFormats,
  'opus',
  ...['slin', 'slin12', 'slin16', 'slin24', 'slin32', 'slin44', 'slin48'],
]);

/** Whether audio formats of this name are known, for announcers and recorders. */
export const isFormat = (format: string): boolean => recorderFormats.has(format.toLowerCase());

/** @throws AriError recordingFormatUnknown, recorderFormatUnknown. */
function readFormat({ format, recorder_format: recorder }: RecordingRequest): string {
  const word = (format ?? '').toLowerCase();
  if (!isOf(recordingFormats, word)) throw new AriError('recordingFormatUnknown');
  if (recorder && !isFormat(recorder)) throw new AriError('recorderFormatUnknown');
  return word;
}

/**
 * Reads a request in the order in which Asterisk checks it: of a bridge the formats come first.
 * @throws AriError terminateOnInvalid, ifExistsInvalid, recordingFormatUnknown, recorderFormatUnknown,
 *   recordingNameInvalid when it has no name.
 */
export function readRecordingRequest(request: RecordingRequest, of: 'channel' | 'bridge'): RecordingPlan {
  const early = of === 'bridge' ? readFormat(request) : undefined;
  const terminateOn = readTerminator(request.terminateOn);
  const ifExists = readExistsAction(request.ifExists);
  const format = early ?? readFormat(request);
  if (!request.name) throw new AriError('recordingNameInvalid');
  return {
    name: request.name,
    format,
    ifExists,
    terminateOn,
    beep: request.beep ?? false,
    channels: request.channels === 2 && of === 'channel' ? 2 : 1,
    maxDurationMs: milliseconds(request.maxDurationSeconds),
    maxSilenceMs: milliseconds(request.maxSilenceSeconds),
  };
}
