import Type from 'typebox';
import { Bridge } from '../../models/bridge.ts';
import type { AriErrorCode } from '../../models/errors.ts';
import { LiveRecording } from '../../models/live-recording.ts';
import { Playback } from '../../models/playback.ts';
import { Variable, Variables } from '../../models/variable.ts';
import { bodyParam, operation, pathParam, queryParam, type Resource } from '../operation.ts';
import { playbackLocation, playErrors, playParams, recordErrors, recordingLocation, recordParams } from './playing.ts';
import { entryErrors, readAllParams, readParams, writeAllParams, writeParams } from './variables.ts';

const bridgeId = pathParam('Id of the bridge.', 'bridge');

const controlErrors = ['bridgeNotFound', 'bridgeNotInStasis'] as const satisfies AriErrorCode[];
const memberErrors = [
  ...controlErrors,
  'memberRequired',
  'memberNotFound',
  'memberNotInStasis',
] as const satisfies AriErrorCode[];
/** Of channels that are on other nodes of a cluster. */
const nodeErrors = ['nodeUnavailable', 'clusterUnavailable', 'clusterBusy'] as const satisfies AriErrorCode[];
const creationErrors = [
  ...entryErrors,
  'bridgeFeaturesInvalid',
  'bridgeIdExists',
  'tooManyBridges',
] as const satisfies AriErrorCode[];

const creation = {
  type: queryParam(
    'string',
    'Type and flags, comma-separated: mixing or holding; dtmf_events, proxy_media, video_sfu, video_single, sdp_label.',
  ),
  name: queryParam('string', 'Name to show.'),
  features: bodyParam('Defaults for members that enter: an object with the booleans mute and suppress_dtmf.', {
    own: true,
  }),
  variables: bodyParam('Variables to set on the bridge: a value, or an object with value and report_events.', {
    names: 'variables',
  }),
} as const;

const members = queryParam('list', 'Ids of the channels.', { required: true, names: 'channel' });

const lifeOperations = [
  operation({
    method: 'GET',
    path: '/bridges',
    nickname: 'list',
    summary: 'List all bridges of the system.',
    owner: 'bridges',
    returns: Type.Array(Bridge),
    handle: (bridges) => bridges.list(),
  }),
  operation({
    method: 'POST',
    path: '/bridges',
    nickname: 'create',
    summary: 'Make a bridge.',
    notes: 'The bridge exists until it is destroyed, also when it is empty.',
    owner: 'bridges',
    params: { ...creation, bridgeId: queryParam('string', 'Id for the bridge.', { creates: 'bridge' }) },
    returns: Bridge,
    errors: [...creationErrors, 'bridgeTypeInvalid'],
    handle: (bridges, params) => bridges.create(params),
  }),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}',
    nickname: 'createWithId',
    summary: 'Make a bridge with an id of your own.',
    owner: 'bridges',
    params: { ...creation, bridgeId: { ...pathParam('Id for the bridge.'), creates: 'bridge' } },
    returns: Bridge,
    errors: [...creationErrors, 'bridgeTypeInvalidWithId'],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.createWithId(id, params),
  }),
  operation({
    method: 'GET',
    path: '/bridges/{bridgeId}',
    nickname: 'get',
    summary: 'Look at one bridge.',
    owner: 'bridges',
    params: { bridgeId },
    returns: Bridge,
    errors: ['bridgeNotFound'],
    handle: (bridges, params) => bridges.get(params.bridgeId),
  }),
  operation({
    method: 'DELETE',
    path: '/bridges/{bridgeId}',
    nickname: 'destroy',
    summary: 'Destroy a bridge; the channels in it stay in their applications.',
    owner: 'bridges',
    params: { bridgeId },
    errors: controlErrors,
    handle: (bridges, params) => bridges.destroy(params.bridgeId),
  }),
];

const memberOperations = [
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/addChannel',
    nickname: 'addChannel',
    summary: 'Add channels to a bridge, out of their present one.',
    owner: 'bridges',
    params: {
      bridgeId,
      channel: members,
      role: queryParam('string', 'Their role in a holding bridge: announcer or holding_participant.', {
        aliases: ['roles'],
      }),
      absorbDTMF: queryParam('boolean', 'Their digits cause events but are not sent to the others.', {
        default: false,
      }),
      mute: queryParam('boolean', 'The others do not hear them.', { default: false }),
      inhibitConnectedLineUpdates: queryParam('boolean', 'The others get no connected-line update.', {
        default: false,
      }),
    },
    errors: [...memberErrors, 'memberRecording', 'bridgeFull', ...nodeErrors, 'bridgeOfOneNode', 'tooManyBridges'],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.addChannel(id, params),
  }),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/removeChannel',
    nickname: 'removeChannel',
    summary: 'Let channels out of a bridge; they stay in their applications.',
    owner: 'bridges',
    params: { bridgeId, channel: members },
    errors: [...memberErrors, 'memberNotInBridge', ...nodeErrors],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.removeChannel(id, params),
  }),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/videoSource/{channelId}',
    nickname: 'setVideoSource',
    summary: 'Show everyone the picture of one channel.',
    owner: 'bridges',
    params: { bridgeId, channelId: pathParam('Id of the channel.', 'channel') },
    errors: [...controlErrors, 'memberNotFound', 'memberNotInStasis', 'memberNotInBridge'],
    handle: (bridges, params) => bridges.setVideoSource(params.bridgeId, params.channelId),
  }),
  operation({
    method: 'DELETE',
    path: '/bridges/{bridgeId}/videoSource',
    nickname: 'clearVideoSource',
    summary: 'Show all members the video of the talker.',
    owner: 'bridges',
    params: { bridgeId },
    errors: controlErrors,
    handle: (bridges, params) => bridges.clearVideoSource(params.bridgeId),
  }),
];

const mediaOperations = [
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/moh',
    nickname: 'startMoh',
    summary: 'Play music to everyone in a bridge.',
    owner: 'bridges',
    params: { bridgeId, mohClass: queryParam('string', 'Class of music.') },
    errors: controlErrors,
    handle: (bridges, { bridgeId: id, ...params }) => bridges.startMoh(id, params),
  }),
  operation({
    method: 'DELETE',
    path: '/bridges/{bridgeId}/moh',
    nickname: 'stopMoh',
    summary: 'Stop the music of a bridge.',
    owner: 'bridges',
    params: { bridgeId },
    errors: [...controlErrors, 'bridgeNotPlayingMusic'],
    handle: (bridges, params) => bridges.stopMoh(params.bridgeId),
  }),
  ...(
    [
      ['/bridges/{bridgeId}/play', 'play', queryParam('string', 'Id for the playback.', { creates: 'playback' })],
      [
        '/bridges/{bridgeId}/play/{playbackId}',
        'playWithId',
        { ...pathParam('Id for the playback.'), creates: 'playback' },
      ],
    ] as const
  ).map(([path, nickname, playbackId]) =>
    operation({
      method: 'POST',
      path,
      nickname,
      summary: 'Play media to everyone in a bridge.',
      notes: 'Items are played one after another as one playback; playbacks of a bridge wait for each other.',
      owner: 'bridges',
      params: {
        bridgeId,
        playbackId,
        ...playParams,
        announcer_format: queryParam('string', 'Format to play in; the best that the members have when left out.'),
      },
      returns: Playback,
      status: 201,
      location: playbackLocation,
      errors: [...controlErrors, ...playErrors, 'announcerFormatUnknown'],
      handle: (bridges, { bridgeId: id, ...params }) => bridges.play(id, params),
    }),
  ),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/record',
    nickname: 'record',
    summary: 'Record the mixed audio of a bridge.',
    owner: 'bridges',
    params: {
      bridgeId,
      ...recordParams,
      recorder_format: queryParam('string', 'Format to record from; that of the file when left out.'),
    },
    returns: LiveRecording,
    status: 201,
    location: recordingLocation,
    errors: [...controlErrors, ...recordErrors, 'recorderFormatUnknown'],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.record(id, params),
  }),
];

const variableOperations = [
  operation({
    method: 'GET',
    path: '/bridges/{bridgeId}/variable',
    nickname: 'getBridgeVar',
    summary: 'Read a variable of a bridge.',
    owner: 'bridges',
    params: { bridgeId, ...readParams },
    returns: Variable,
    errors: ['variableNameRequired', ...controlErrors, 'variableNotFound'],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.getVariable(id, params),
  }),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/variable',
    nickname: 'setBridgeVar',
    summary: 'Set a variable of a bridge.',
    owner: 'bridges',
    params: { bridgeId, ...writeParams },
    errors: ['variableNameRequired', ...controlErrors, 'functionFailed'],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.setVariable(id, params),
  }),
  operation({
    method: 'GET',
    path: '/bridges/{bridgeId}/variables',
    nickname: 'getBridgeVars',
    summary: 'Read several variables of a bridge.',
    owner: 'bridges',
    params: { bridgeId, ...readAllParams },
    returns: Variables,
    errors: [
      'variableNameNeeded',
      'bridgeVariablesNotFound',
      'variableNamesRequired',
      'functionUnreadable',
      'variableNotFound',
    ],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.getVariables(id, params),
  }),
  operation({
    method: 'POST',
    path: '/bridges/{bridgeId}/variables',
    nickname: 'setBridgeVars',
    summary: 'Set several variables of a bridge.',
    owner: 'bridges',
    params: { bridgeId, ...writeAllParams },
    errors: ['variablesRequired', 'bridgeVariablesNotFound', ...entryErrors],
    handle: (bridges, { bridgeId: id, ...params }) => bridges.setVariables(id, params),
  }),
];

/** Bridges: channels that hear each other. */
export const bridges: Resource = {
  name: 'bridges',
  description: 'Bridges: channels that hear each other.',
  requiresModules: ['res_stasis_recording', 'res_stasis_playback'],
  operations: [...lifeOperations, ...memberOperations, ...mediaOperations, ...variableOperations],
};
