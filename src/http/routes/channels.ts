import Type from 'typebox';
import { Channel } from '../../models/channel.ts';
import type { AriErrorCode } from '../../models/errors.ts';
import { transferStates } from '../../models/transfer.ts';
import { Variable, Variables } from '../../models/variable.ts';
import { bodyParam, newChannel, operation, pathParam, queryParam, type Resource } from '../operation.ts';
import { channelId, commandErrors, controlErrors } from './channel-common.ts';
import { externalOperations } from './channel-external.ts';
import { mediaOperations } from './channel-media.ts';
import { entryErrors, readAllParams, readParams, writeAllParams, writeParams } from './variables.ts';

const creationErrors = [
  ...entryErrors,
  'uniqueIdTooLong',
  'endpointRequired',
  'endpointInvalid',
  'originatorAndFormats',
  'formatNotFound',
  'channelIdExists',
  'allocationFailed',
  'allocationFailedUnnamed',
] as const satisfies AriErrorCode[];
const originateErrors = [
  ...creationErrors,
  'labelNotFound',
  'priorityIllegal',
  'applicationOrExtensionRequired',
  'originatorNotFound',
] as const satisfies AriErrorCode[];

const creation = {
  endpoint: queryParam('string', 'The target, as technology/resource.', { required: true, names: 'endpoint' }),
  appArgs: queryParam('string', 'Arguments for the application, comma-separated.'),
  otherChannelId: queryParam('string', 'Id for the second half of a Local channel.', newChannel),
  originator: queryParam('string', 'Id of the channel for which the new one is made. Excludes `formats`.', {
    names: 'channel',
  }),
  formats: queryParam('string', 'Formats the channel may use, comma-separated; excludes originator.'),
  variables: bodyParam('Variables to set on the channel: a value, or an object with value and report_events.', {
    names: 'variables',
  }),
} as const;

const newId = queryParam('string', 'Id for the new channel; up to 149 characters.', newChannel);

const origination = {
  ...creation,
  app: queryParam('string', 'Application that gets the channel once it answers.', { names: 'application' }),
  extension: queryParam('string', 'Extension that the channel goes to once it answers, when no application is given.'),
  context: queryParam('string', 'Context of the extension; default when left out.', { names: 'context' }),
  priority: queryParam('long', 'Priority within the extension; 1 when left out.'),
  label: queryParam('string', 'Label within the extension, instead of a priority.'),
  callerId: queryParam('string', 'Caller id to show, e.g. "Alice" <100>.'),
  timeout: queryParam('int', 'How long it may ring, in s; -1: no limit.', { default: 30 }),
} as const;

const creationOperations = [
  operation({
    method: 'GET',
    path: '/channels',
    nickname: 'list',
    summary: 'List all channels of the system.',
    owner: 'channels',
    returns: Type.Array(Channel),
    handle: (channels) => channels.list(),
  }),
  operation({
    method: 'POST',
    path: ['/channels', '/channels/originate'],
    nickname: 'originate',
    summary: 'Call an endpoint.',
    notes: "The answer comes before dialing is over. A named application gets the channel's events from here on.",
    owner: 'channels',
    params: { ...origination, channelId: newId },
    returns: Channel,
    errors: originateErrors,
    handle: (channels, params) => channels.originate(params),
  }),
  operation({
    method: 'POST',
    path: '/channels/create',
    nickname: 'create',
    summary: 'Make a channel that enters an application without being dialed.',
    owner: 'channels',
    params: {
      ...creation,
      app: queryParam('string', 'Application that the channel enters.', { required: true, names: 'application' }),
      channelId: newId,
    },
    returns: Channel,
    errors: [...creationErrors, 'applicationRequired'],
    handle: (channels, params) => channels.create(params),
  }),
  operation({
    method: 'GET',
    path: '/channels/{channelId}',
    nickname: 'get',
    summary: 'Look at one channel.',
    owner: 'channels',
    params: { channelId },
    returns: Channel,
    errors: ['channelNotFound'],
    handle: (channels, params) => channels.get(params.channelId),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}',
    nickname: 'originateWithId',
    summary: 'Call an endpoint, with an id of your own for the channel.',
    owner: 'channels',
    params: {
      ...origination,
      channelId: { ...pathParam('Id for the new channel; up to 149 characters.'), creates: 'channel' },
    },
    returns: Channel,
    errors: originateErrors,
    handle: (channels, params) => channels.originate(params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/dial',
    nickname: 'dial',
    summary: 'Dial a channel that was created.',
    owner: 'channels',
    params: {
      channelId,
      caller: queryParam('string', 'Id of the channel that calls.', { names: 'channel' }),
      timeout: queryParam('int', 'How long it may ring, in s; 0: no limit.', { default: 0, min: 0 }),
    },
    errors: [...controlErrors, 'channelNotDown', 'channelNotCreated'],
    handle: (channels, { channelId: id, ...params }) => channels.dial(id, params),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}',
    nickname: 'hangup',
    summary: 'Hang a channel up.',
    owner: 'channels',
    params: {
      channelId,
      reason_code: queryParam('string', 'Q.850 cause, e.g. 17; excludes reason.'),
      reason: queryParam('string', 'Why, in a word; excludes reason_code.', {
        allowed: [
          'normal',
          'busy',
          'congestion',
          'no_answer',
          'timeout',
          'rejected',
          'unallocated',
          'normal_unspecified',
          'number_incomplete',
          'codec_mismatch',
          'interworking',
          'failure',
          'answered_elsewhere',
        ],
      }),
    },
    errors: ['channelNotFound', 'reasonAndReasonCode', 'reasonCodeInvalid', 'reasonInvalid'],
    handle: (channels, { channelId: id, ...params }) => channels.hangup(id, params),
  }),
];

const direction = queryParam('string', 'in: what comes from the channel; out: what goes to it.', {
  default: 'both',
  allowed: ['both', 'in', 'out'],
});

const controlOperations = [
  operation({
    method: 'POST',
    path: '/channels/{channelId}/continue',
    nickname: 'continueInDialplan',
    summary: 'Send a channel out of the application into the dialplan.',
    owner: 'channels',
    params: {
      channelId,
      context: queryParam('string', 'Context to go to; where it was when left out.', { names: 'context' }),
      extension: queryParam('string', 'Extension to go to.'),
      priority: queryParam('int', 'Priority to go to.'),
      label: queryParam('string', 'Label to go to, instead of a priority.'),
    },
    errors: [...commandErrors, 'labelNotFound', 'priorityIllegal'],
    handle: (channels, { channelId: id, ...params }) => channels.continueInDialplan(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/move',
    nickname: 'move',
    summary: 'Hand a channel to another application.',
    notes: 'When that application is not connected the channel stays, and ApplicationMoveFailed tells so.',
    owner: 'channels',
    params: {
      channelId,
      app: queryParam('string', 'Application that gets the channel.', { required: true, names: 'application' }),
      appArgs: queryParam('string', 'Arguments for it, comma-separated.'),
    },
    errors: [...controlErrors, 'applicationRequired'],
    handle: (channels, { channelId: id, ...params }) => channels.move(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/redirect',
    nickname: 'redirect',
    summary: 'Tell the far side to call somewhere else.',
    owner: 'channels',
    params: {
      channelId,
      endpoint: queryParam('string', 'The new target, as technology/resource of the same technology.', {
        required: true,
        names: 'endpoint',
      }),
    },
    errors: [
      ...commandErrors,
      'redirectEndpointRequired',
      'redirectEndpointInvalid',
      'redirectResourceMissing',
      'redirectTechnologyMismatch',
      'redirectFailed',
    ],
    handle: (channels, { channelId: id, ...params }) => channels.redirect(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/transfer_progress',
    nickname: 'transfer_progress',
    summary: 'Tell a party how the transfer goes that it has asked for.',
    notes: 'For transfers that the application handles, after ChannelTransfer.',
    owner: 'transfers',
    params: {
      channelId,
      states: queryParam('string', 'How it goes.', { required: true, allowed: transferStates }),
    },
    errors: [...commandErrors, 'calleeNotFound', 'transferStatesRequired', 'transferStatesInvalid'],
    handle: (transfers, { channelId: id, ...params }) => transfers.transferProgress(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/answer',
    nickname: 'answer',
    summary: 'Answer a channel.',
    owner: 'channels',
    params: { channelId },
    errors: [...commandErrors, 'answerFailed'],
    handle: (channels, params) => channels.answer(params.channelId),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/ring',
    nickname: 'ring',
    summary: 'Tell the caller that it rings.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.ring(params.channelId),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}/ring',
    nickname: 'ringStop',
    summary: 'Stop the ringing tone.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.ringStop(params.channelId),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/progress',
    nickname: 'progress',
    summary: 'Open the audio path before the answer.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.progress(params.channelId),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/dtmf',
    nickname: 'sendDTMF',
    summary: 'Send digits.',
    owner: 'channels',
    params: {
      channelId,
      dtmf: queryParam('string', 'Digits 0-9 * # A-D; w waits 500 ms, W 1 s.', { hidden: true }),
      before: queryParam('int', 'Wait before the first, in ms.', { default: 0 }),
      between: queryParam('int', 'Wait between two, in ms.', { default: 100 }),
      duration: queryParam('int', 'Length of each, in ms.', { default: 100 }),
      after: queryParam('int', 'Wait after the last, in ms.', { default: 0 }),
    },
    errors: [...commandErrors, 'dtmfRequired'],
    handle: (channels, { channelId: id, ...params }) => channels.sendDtmf(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/mute',
    nickname: 'mute',
    summary: 'Mute a channel.',
    owner: 'channels',
    params: { channelId, direction },
    errors: [...commandErrors, 'directionInvalid'],
    handle: (channels, { channelId: id, ...params }) => channels.mute(id, params),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}/mute',
    nickname: 'unmute',
    summary: 'Unmute a channel.',
    owner: 'channels',
    params: { channelId, direction },
    errors: [...commandErrors, 'directionInvalid'],
    handle: (channels, { channelId: id, ...params }) => channels.unmute(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/hold',
    nickname: 'hold',
    summary: 'Put the far side on hold.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.hold(params.channelId),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}/hold',
    nickname: 'unhold',
    summary: 'Take the far side back from hold.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.unhold(params.channelId),
  }),
];

const readErrors = [
  'variableChannelNotFound',
  'functionUnreadable',
  'variableNotFound',
] as const satisfies AriErrorCode[];

const variableOperations = [
  operation({
    method: 'GET',
    path: '/channels/{channelId}/variable',
    nickname: 'getChannelVar',
    summary: 'Read a variable or function of a channel.',
    owner: 'channels',
    params: { channelId, ...readParams },
    returns: Variable,
    errors: ['variableNameRequired', ...readErrors],
    handle: (channels, { channelId: id, ...params }) => channels.getVariable(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/variable',
    nickname: 'setChannelVar',
    summary: 'Set a variable or function of a channel.',
    owner: 'channels',
    params: { channelId, ...writeParams },
    errors: ['variableNameRequired', ...controlErrors, 'functionFailed'],
    handle: (channels, { channelId: id, ...params }) => channels.setVariable(id, params),
  }),
  operation({
    method: 'GET',
    path: '/channels/{channelId}/variables',
    nickname: 'getChannelVars',
    summary: 'Read several variables or functions of a channel.',
    owner: 'channels',
    params: { channelId, ...readAllParams },
    returns: Variables,
    errors: ['variableNameNeeded', 'variableNamesRequired', ...readErrors],
    handle: (channels, { channelId: id, ...params }) => channels.getVariables(id, params),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/variables',
    nickname: 'setChannelVars',
    summary: 'Set several variables or functions of a channel.',
    owner: 'channels',
    params: { channelId, ...writeAllParams },
    errors: ['variablesRequired', 'variableChannelNotFound', ...controlErrors, ...entryErrors, 'functionFailed'],
    handle: (channels, { channelId: id, ...params }) => channels.setVariables(id, params),
  }),
];

/** Channels: the connections between this system and the parties of calls. */
export const channels: Resource = {
  name: 'channels',
  description: 'Channels: the connections between this system and the parties of calls.',
  requiresModules: ['res_stasis_answer', 'res_stasis_playback', 'res_stasis_recording', 'res_stasis_snoop'],
  operations: [
    ...externalOperations,
    ...creationOperations,
    ...controlOperations,
    ...mediaOperations,
    ...variableOperations,
  ],
};
