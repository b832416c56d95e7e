import Type from 'typebox';
import type { AriErrorCode } from '../../models/errors.ts';
import { LiveRecording } from '../../models/live-recording.ts';
import { StoredRecording } from '../../models/stored-recording.ts';
import { fileOperation, operation, pathParam, queryParam, type Resource } from '../operation.ts';

const recordingName = pathParam('Name of the recording.');

const storedOperations = [
  operation({
    method: 'GET',
    path: '/recordings/stored',
    nickname: 'listStored',
    summary: 'List the recordings that are kept.',
    owner: 'storedRecordings',
    returns: Type.Array(StoredRecording),
    handle: (recordings) => recordings.list(),
  }),
  operation({
    method: 'GET',
    path: '/recordings/stored/{recordingName}',
    nickname: 'getStored',
    summary: 'Look at a recording that is kept.',
    owner: 'storedRecordings',
    params: { recordingName },
    returns: StoredRecording,
    errors: ['recordingNotFound'],
    handle: (recordings, params) => recordings.get(params.recordingName),
  }),
  operation({
    method: 'DELETE',
    path: '/recordings/stored/{recordingName}',
    nickname: 'deleteStored',
    summary: 'Delete a recording that is kept.',
    owner: 'storedRecordings',
    params: { recordingName },
    errors: ['recordingNotFound', 'recordingDeleteFailed'],
    handle: (recordings, params) => recordings.delete(params.recordingName),
  }),
  fileOperation({
    path: '/recordings/stored/{recordingName}/file',
    nickname: 'getStoredFile',
    summary: 'Fetch the file of a recording, or a range of its bytes.',
    owner: 'storedRecordings',
    params: { recordingName },
    errors: ['recordingNotFound', 'recordingUnreadable', 'rangeNotSatisfiable'],
    handle: (recordings, params) => recordings.file(params.recordingName),
  }),
  operation({
    method: 'POST',
    path: '/recordings/stored/{recordingName}/copy',
    nickname: 'copyStored',
    summary: 'Copy a recording that is kept.',
    owner: 'storedRecordings',
    params: {
      recordingName,
      destinationRecordingName: queryParam('string', 'Name of the copy.', { required: true }),
    },
    returns: StoredRecording,
    errors: [
      'recordingNotFound',
      'recordingDestinationRequired',
      'recordingDestinationForbidden',
      'recordingDestinationExists',
      'recordingCopyFailed',
    ],
    handle: (recordings, { recordingName: name, ...params }) => recordings.copy(name, params),
  }),
];

const liveName = pathParam('Name of the recording.', 'recording');

const controlErrors = ['recordingNotFound', 'recordingNotInSession'] as const satisfies AriErrorCode[];

/** One way to control a live recording. */
const control = (
  method: 'POST' | 'DELETE',
  path: '' | '/stop' | '/pause' | '/unpause' | '/mute' | '/unmute',
  command: 'stop' | 'cancel' | 'pause' | 'unpause' | 'mute' | 'unmute',
  { summary, nickname = command }: { summary: string; nickname?: string },
) =>
  operation({
    method,
    path: `/recordings/live/{recordingName}${path}`,
    nickname,
    summary,
    owner: 'recordings',
    params: { recordingName: liveName },
    errors: controlErrors,
    handle: (recordings, params) => recordings[command](params.recordingName),
  });

const liveOperations = [
  operation({
    method: 'GET',
    path: '/recordings/live/{recordingName}',
    nickname: 'getLive',
    summary: 'Look at a recording that is being made; it is gone once it is over.',
    owner: 'recordings',
    params: { recordingName: liveName },
    returns: LiveRecording,
    errors: ['recordingNotFound'],
    handle: (recordings, params) => recordings.get(params.recordingName),
  }),
  control('DELETE', '', 'cancel', { summary: 'Stop a recording and throw it away.' }),
  control('POST', '/stop', 'stop', { summary: 'Stop a recording and keep it.' }),
  control('POST', '/pause', 'pause', { summary: 'Pause the recording: leaves audio out until it is unpaused.' }),
  control('DELETE', '/pause', 'unpause', { summary: 'Resume a paused recording.' }),
  control('POST', '/unpause', 'unpause', {
    summary: 'Resume a paused recording.',
    nickname: 'unpauseByPost',
  }),
  control('POST', '/mute', 'mute', { summary: 'Record silence.' }),
  control('DELETE', '/mute', 'unmute', { summary: 'Unpause the recording.' }),
  control('POST', '/unmute', 'unmute', { summary: 'Unpause the recording.', nickname: 'unmuteByPost' }),
];

/** Recordings: live and stored ones. */
export const recordings: Resource = {
  name: 'recordings',
  description: 'Recordings of channels and bridges: live and stored ones.',
  requiresModules: ['res_stasis_recording'],
  operations: [...storedOperations, ...liveOperations],
};
