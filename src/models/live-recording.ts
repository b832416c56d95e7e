import Type, { type Static } from 'typebox';
import { int, model, text } from './schema.ts';

/** States a live recording may show. */
export const recordingStates = ['queued', 'recording', 'paused', 'done', 'failed', 'canceled'] as const;
export type RecordingState = (typeof recordingStates)[number];

/** A recording under way. */
export const LiveRecording = model('LiveRecording', 'A recording that is being made of a channel or bridge.', {
  name: text('Name that it will be stored by.'),
  format: text('Format of its file, e.g. wav.'),
  target_uri: text('The recorded object: channel:<id> or bridge:<id>.'),
  state: Type.Enum([...recordingStates], { description: "The recording's state." }),
  duration: Type.Optional(int('Length of the recording, in s; known at its end.')),
  talking_duration: Type.Optional(
    int('How much of it is talking, in s; known at its end where silence was looked for.'),
  ),
  silence_duration: Type.Optional(
    int('How much of it is silence, in s; known at its end where silence was looked for.'),
  ),
  cause: Type.Optional(text('Why it failed.')),
});
export type LiveRecording = Static<typeof LiveRecording>;

/** What to do if a stored recording of that name exists. */
export const existsActions = ['fail', 'overwrite', 'append'] as const;
export type ExistsAction = (typeof existsActions)[number];

/** Digits that may end a recording. */
export const terminators = ['none', 'any', '*', '#'] as const;
export type Terminator = (typeof terminators)[number];

/** Formats that recordings may have: the suffix of the file. */
export const recordingFormats = ['wav', 'wav16', 'ulaw', 'alaw', 'sln', 'sln16', 'g722', 'ogg'] as const;
