import { longestApplicationName } from './application.ts';

/**
 * Every refusal for clients: status and message, and Asterisk's own reason phrase and second body key if any. Nothing
 * else chooses a status. Messages are protocol constants that clients compare; `{name}` is a parameter of the error.
 */
type ErrorEntry = { status: number; message: string; reason?: string; error?: string; onlyError?: true };

const notFoundChannel = {
  status: 404,
  message: 'Provided channel was not found',
  reason: 'Channel Not Found',
} as const;

export const ariErrors = {
  // Any request.
  requestBodyTooLarge: { status: 413, message: 'Request body too large' },
  headersTooLarge: { status: 431, message: 'Request headers too large' },
  requestTooSlow: { status: 408, message: 'The request did not arrive in time' },
  requestUnreadable: { status: 400, message: 'The request is not valid HTTP' },
  requestBodyInvalid: { status: 400, message: 'Error parsing request body' },
  authenticationRequired: { status: 401, message: 'Authentication required' },
  mediaLogInRequired: {
    status: 401,
    message:
      'Authentication required: send the name and password of a user (http.users). With external_media.log_in: false the id is enough',
  },
  writeAccessDenied: { status: 403, message: 'Write access denied' },
  scopeDenied: { status: 403, message: "The scope of user '{user}' does not cover {what}" },
  addressDenied: {
    status: 403,
    message: "User '{user}' is not allowed to log in from this address (allowed_addresses, denied_addresses)",
  },
  trailingSlash: { status: 404, message: 'ARI URLs do not end with a slash. Try {path}' },
  resourceNotFound: { status: 404, message: 'Resource not found' },
  emptyPathSegment: { status: 400, message: 'The path has an empty segment' },
  methodInvalid: { status: 405, message: 'Invalid method' },
  methodUnsupported: { status: 405, message: 'Unsupported method' },
  parameterInvalid: { status: 400, message: "Parameter '{name}' must be {expected}" },
  tooManyValues: { status: 400, message: 'Too many values for {name}' },
  responseValidationFailed: { status: 500, message: 'Response validation failed' },
  undeclaredError: {
    status: 500,
    message: "Operation {operation} failed with the undeclared error '{code}'",
  },
  /** Nothing was changed: the disk did not take it (RFC 4918 11.5). */
  storageFailed: { status: 507, message: 'The change was undone: it could not be written to disk' },
  internalServerError: { status: 500, message: 'Internal Server Error' },
  serviceTimeout: { status: 503, message: '{service} did not answer in time' },
  /** Objects of a cluster: docs/guides/cluster.md. */
  nodeUnavailable: { status: 503, message: "The node '{node}' of the cluster cannot be asked: {why}" },
  nodeNotFound: { status: 404, message: "There is no node '{node}' in the cluster" },
  nodeAnswers: { status: 409, message: "The node '{node}' is not lost: it answers. End it instead" },
  clusterUnavailable: { status: 503, message: 'The cluster cannot be asked: {why}' },
  clusterBusy: { status: 503, message: 'The limit of {most} is reached (cluster.{limit}). Try again later' },
  spansNodes: {
    status: 409,
    message: "The objects are on different nodes: {one} on '{node}', {other} on '{otherNode}'. Create them on one node",
  },
  bridgeOfOneNode: {
    status: 409,
    message:
      "The channel {channel} is on the node '{node}'. Channels of other nodes cannot enter bridges with video_sfu or video_single",
  },
  idOnOtherNode: { status: 409, message: "The id '{id}' is in use on the node '{node}' of the cluster" },
  tooManyIds: { status: 409, message: 'The limit of {most} ids that clients have chosen is reached (cluster.ids)' },
  applicationTaken: {
    status: 403,
    message: "Application '{name}' is registered by another user. A read-only user cannot take it over",
  },
  limitReached: { status: 409, message: 'The limit of {most} is reached (limits.{limit})' },
  foreignOrigin: { status: 403, message: 'Pages of this origin are not allowed (http.allowed_origins)' },
  tooManyLogIns: {
    status: 503,
    message: 'Too many passwords wait to be checked (http.limits.password_queue). Try again later',
  },
  tokenNameInvalid: { status: 400, message: "A token's name has 1 to 64 letters, digits, '.', '-', '_' or '@'" },
  tokenNameTaken: {
    status: 409,
    message: "The name '{name}' belongs to a token or to another user. Choose another name or revoke the token",
  },
  tokenUserUnknown: { status: 400, message: "There is no user '{name}'" },
  tokenScopeInvalid: { status: 400, message: 'The scope is not valid: {problem}' },
  tokenLifetimeInvalid: { status: 400, message: 'A token is valid for 1 to {longest} seconds' },
  tooManyTokens: { status: 409, message: 'The limit of {most} tokens is reached (http.tokens.most). Revoke one first' },
  tokenNotFound: { status: 404, message: 'Token not found' },
  groupMemberNotFound: { status: 404, message: 'Group or member not found' },
  moveImpossible: { status: 409, message: 'The calls cannot be moved to another node: {reason}' },
  upgradeImpossible: { status: 409, message: 'The server cannot be upgraded: {reason}' },
  chartNotFound: { status: 404, message: 'Chart not found' },
  banNotFound: { status: 404, message: 'This address is not banned and has no failed log-ins' },
  logLevelUnknown: { status: 400, message: "Unknown log level '{level}'. Levels are {levels}" },
  logPartUnknown: { status: 400, message: "Unknown part '{part}'. Parts are {parts}" },
  logPartsInvalid: { status: 400, message: "'parts' must be an object that maps each part to a level" },
  recorderOff: { status: 409, message: 'The flight recorder is off (recorder.off), and no records are left' },
  callNotFound: { status: 404, message: 'The flight recorder has no record of this call' },
  rtpNotKept: { status: 409, message: 'RTP headers are not recorded. Turn on recorder.rtp_headers' },
  tooManySearches: {
    status: 503,
    message: 'The limit of {searches} searches of stored calls at the same time is reached (recorder.disk.searches)',
  },
  supervisionModeInvalid: { status: 400, message: "'mode' must be one of: listen, whisper, barge" },
  listeningOff: { status: 404, message: 'Listening is turned off (listening.on)' },
  listeningDenied: { status: 403, message: 'A read-only user may not listen (listening.read_only)' },
  tooManyListeners: { status: 409, message: 'The limit of {most} listeners is reached (listening.most)' },
  nothingToHear: { status: 409, message: 'This channel has no audio to listen to' },
  webrtcOfferInvalid: { status: 422, message: 'The SDP cannot be answered: {problem}' },
  webrtcDestinationRequired: { status: 400, message: "Name an application ('app') or an extension ('extension')" },
  webrtcSessionNotFound: { status: 404, message: 'WebRTC session not found' },
  webrtcCallNotFound: {
    status: 404,
    message: 'No such call waits for this browser: another page took it, or it ended',
  },
  webrtcIcePast: {
    status: 412,
    message: 'ICE was restarted since: these credentials, or this If-Match, are outdated',
  },
  webrtcIfMatchRequired: {
    status: 428,
    message: "Send If-Match with the session's ETag, or with * to restart ICE, along with a fragment of SDP",
  },
  tooManyPipelined: { status: 429, message: 'Too many requests wait on this connection (http.limits.pipelined)' },
  serviceUnavailable: { status: 503, message: 'The system is shutting down' },
  serverDrained: { status: 503, message: 'The server is drained: it takes no new calls (hookswitch drain)' },
  tooManyChannels: {
    status: 503,
    message: 'The limit of live channels is reached: no new calls are taken (limits.channels)',
  },
  tooManyOfUser: {
    status: 409,
    message: "The limit of {most} live channels of user '{user}' is reached (channels of http.users)",
  },
  serverIsolated: {
    status: 503,
    message: 'The node cannot reach its cluster: it takes no new calls until NATS is back (cluster.isolated_after)',
  },
  idempotencyKeyInvalid: {
    status: 400,
    message: 'The header Idempotency-Key must be 1 to 255 visible ASCII characters without quotes inside',
  },
  idempotencyKeyReused: {
    status: 422,
    message: 'This Idempotency-Key came with another request before. Use a new key for a new request',
  },
  idempotencyKeyBusy: {
    status: 409,
    message: 'The first request with this Idempotency-Key is still under way. Try again later',
  },
  ifStateUnsupported: { status: 400, message: 'The header If-State is not supported here: {what}' },
  ifStateInvalid: { status: 400, message: "The header If-State names the unknown state '{state}'. Allowed: {allowed}" },
  stateDiffers: { status: 412, message: 'The {kind} is in state {state}, not in {wanted} (If-State)' },

  // Channels.
  channelNotFound: { status: 404, message: 'Channel not found' },
  channelNotInStasis: { status: 409, message: 'Channel not in Stasis application' },
  channelInvalidState: { status: 412, message: 'Channel in invalid state' },
  channelIdExists: { status: 409, message: 'Channel with given unique ID already exists' },
  uniqueIdTooLong: { status: 400, message: 'Uniqueid length exceeds maximum of 149' },
  endpointRequired: { status: 400, message: 'Endpoint must be specified' },
  endpointInvalid: { status: 400, message: 'Invalid endpoint specified' },
  originatorAndFormats: { status: 400, message: "Originator and formats can't both be specified" },
  applicationOrExtensionRequired: { status: 400, message: 'Application or extension must be specified' },
  applicationRequired: { status: 400, message: 'Application name is required' },
  originatorNotFound: { status: 400, message: 'Provided originator channel was not found' },
  formatNotFound: { status: 400, message: 'Provided format ({format}) was not found' },
  labelNotFound: { status: 404, message: 'Requested label can not be found' },
  priorityIllegal: { status: 400, message: 'Requested priority is illegal' },
  /** Names the part at fault; Asterisk's word stands beside it for clients that read `error`. */
  allocationFailed: { status: 400, message: 'Allocation failed: {reason}', error: 'Allocation failed' },
  /** The same as Asterisk has it, for `general.compatibility: asterisk`. */
  allocationFailedUnnamed: { status: 500, message: 'Allocation failed', error: 'Allocation failed', onlyError: true },
  reasonAndReasonCode: { status: 400, message: "The reason and reason_code can't both be specified" },
  reasonCodeInvalid: {
    status: 400,
    message: 'Invalid reason for hangup reason code provided',
    reason: 'Invalid Reason Code',
  },
  reasonInvalid: { status: 400, message: 'Invalid reason for hangup reason provided', reason: 'Invalid Reason' },
  redirectEndpointRequired: {
    status: 400,
    message: "Required parameter 'endpoint' not provided.",
    reason: 'Not Found',
  },
  redirectEndpointInvalid: { status: 422, message: "Endpoint parameter '{endpoint}' does not contain tech/resource" },
  redirectResourceMissing: { status: 422, message: "No resource provided in endpoint parameter '{endpoint}'" },
  redirectTechnologyMismatch: {
    status: 422,
    message: "Endpoint technology '{technology}' does not match channel technology '{channelTechnology}'",
  },
  redirectFailed: { status: 500, message: 'Failed to redirect channel' },
  calleeNotFound: { status: 404, message: 'Callee not found' },
  transferStatesRequired: { status: 400, message: 'states must not be empty' },
  transferStatesInvalid: { status: 400, message: 'Invalid states value' },
  answerFailed: { status: 500, message: 'Failed to answer channel' },
  dtmfRequired: { status: 400, message: 'DTMF is required' },
  directionInvalid: { status: 400, message: 'Invalid direction specified' },
  channelNotDown: { status: 409, message: "Channel is not in the 'Down' state" },
  channelNotCreated: { status: 409, message: 'Dialing a channel not created by ARI' },
  rtpNotFound: { status: 404, message: 'RTP info not found' },
  channelTypeUnsupported: { status: 403, message: 'Unsupported channel type' },

  // External media.
  externalAppRequired: { status: 400, message: 'app cannot be empty' },
  externalEncapsulationForWebsocket: {
    status: 400,
    message: "encapsulation must be 'none' for websocket transport",
  },
  externalTransportForRtp: { status: 400, message: "transport must be 'udp' for rtp encapsulation" },
  externalTransportForAudiosocket: { status: 400, message: "transport must be 'tcp' for audiosocket encapsulation" },
  externalServerWithoutWebsocket: {
    status: 400,
    message: "'server' connection_type can only be used with the websocket transport",
  },
  externalHostRequired: {
    status: 400,
    message: 'external_host is required for all but websocket server connections',
  },
  externalClientUnknown: { status: 400, message: 'external_host must be a valid websocket_client connection id.' },
  externalHostInvalid: {
    status: 400,
    message: 'external_host must be <host>:<port> for all transports other than websocket',
  },
  externalFormatRequired: { status: 400, message: 'format cannot be empty' },
  externalDataRequired: { status: 400, message: 'data can not be empty' },
  mediaConnectionNotFound: { status: 404, message: 'No channel expects this media connection' },
  mediaConnectionTaken: { status: 409, message: 'The media connection already has a WebSocket' },
  externalUnsupported: { status: 501, message: 'The encapsulation and/or transport is not supported' },
  /** Asterisk's answer to any failed creation, with `general.compatibility: asterisk`. */
  externalFailed: { status: 500, message: 'An internal error prevented this request from being handled' },

  // Variables.
  variableNameRequired: { status: 400, message: 'Variable name is required' },
  variableNameNeeded: { status: 400, message: 'At least one variable name is required' },
  variableNamesRequired: { status: 400, message: 'Variable names are required' },
  variableChannelNotFound: notFoundChannel,
  variableNotFound: { status: 404, message: 'Provided variable was not found', reason: 'Variable Not Found' },
  functionUnreadable: { status: 500, message: 'Unable to read provided function', reason: 'Error With Function' },
  functionFailed: { status: 400, message: 'Failed to execute function: {problem}' },
  variablesRequired: { status: 400, message: "The 'variables' field is required" },
  variablesNotObject: { status: 400, message: "The 'variables' field must be a JSON object" },
  variableValueMissing: { status: 400, message: "Each object value in 'variables' must include string field 'value'" },
  variableReportEventsInvalid: {
    status: 400,
    message: "Field 'report_events' in 'variables' entries must be boolean",
  },
  variableValueInvalid: {
    status: 400,
    message: "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'",
  },
  variablesNotStrings: { status: 400, message: "Only string values in the 'variables' object allowed" },

  // Playbacks.
  playbackNotFound: { status: 404, message: 'Playback not found' },
  playbackIdExists: { status: 409, message: 'Playback with given ID already exists' },
  skipNegative: { status: 400, message: 'skipms cannot be negative' },
  offsetNegative: { status: 400, message: 'offsetms cannot be negative' },
  mediaRequired: { status: 400, message: "Parameter 'media' must name at least one media URI, none of them empty" },
  playbackOperationMissing: { status: 400, message: 'Missing operation' },
  playbackOperationInvalid: { status: 400, message: 'Invalid operation {operation}' },
  playbackNotPlaying: { status: 409, message: 'Can only {operation} while media is playing' },

  // Bridges.
  bridgeNotFound: { status: 404, message: 'Bridge not found' },
  bridgeVariablesNotFound: { status: 404, message: 'Provided bridge was not found', reason: 'Bridge Not Found' },
  bridgeNotInStasis: { status: 409, message: 'Bridge not in Stasis application' },
  bridgeIdExists: { status: 409, message: "Bridge with id '{bridge}' already exists" },
  bridgeTypeInvalid: {
    status: 500,
    message: "Unable to create bridge. Possible duplicate bridge id '{bridge}'",
    reason: 'Internal Error',
  },
  bridgeTypeInvalidWithId: { status: 500, message: 'Unable to create bridge', reason: 'Internal Error' },
  bridgeFeaturesInvalid: {
    status: 400,
    message: "The 'features' field must be a JSON object with booleans 'mute' and 'suppress_dtmf'",
  },
  bridgeNotPlayingMusic: { status: 409, message: "Bridge isn't playing music" },
  bridgeFull: {
    status: 409,
    message: 'Bridge {bridge} has reached its limit of {members} channels (bridges.channels)',
  },
  tooManyBridges: { status: 409, message: 'The limit of {bridges} bridges is reached (bridges.most)' },
  memberRequired: { status: 400, message: 'Missing parameter channel' },
  memberNotFound: { status: 400, message: 'Channel not found' },
  memberNotInStasis: { status: 422, message: 'Channel not in Stasis application' },
  memberNotInBridge: { status: 422, message: 'Channel not in this bridge' },
  memberRecording: { status: 409, message: 'Channel {channel} currently recording' },
  announcerFormatUnknown: { status: 422, message: 'specified announcer_format is unknown on this system' },

  // Recordings.
  recordingNotFound: { status: 404, message: 'Recording not found' },
  recordingNotInSession: { status: 409, message: 'Recording not in session' },
  recordingNameInvalid: { status: 400, message: 'Invalid recording name' },
  recordingFormatUnknown: { status: 422, message: 'specified format is unknown on this system' },
  recorderFormatUnknown: { status: 422, message: 'specified recorder_format is unknown on this system' },
  recordingExists: { status: 422, message: "Recording '{name}' already exists and can not be overwritten" },
  /** The same as Asterisk has it, for `general.compatibility: asterisk`. */
  recordingExistsConflict: { status: 409, message: "Recording '{name}' already exists and can not be overwritten" },
  tooManyRecordings: { status: 409, message: 'The limit of {recordings} live recordings is reached (recordings.live)' },
  maxDurationNegative: { status: 400, message: 'max_duration_seconds cannot be negative' },
  maxSilenceNegative: { status: 400, message: 'max_silence_seconds cannot be negative' },
  terminateOnInvalid: { status: 400, message: 'terminateOn invalid' },
  ifExistsInvalid: { status: 400, message: 'ifExists invalid' },
  recordingDestinationRequired: { status: 400, message: 'Invalid destination recording name' },
  recordingDestinationForbidden: { status: 403, message: 'Destination file path is forbidden' },
  recordingDestinationExists: {
    status: 409,
    message: 'A recording with the same name already exists on the system',
  },
  recordingCopyFailed: { status: 500, message: 'Copy failed' },
  recordingDeleteFailed: { status: 500, message: 'Delete failed' },
  rangeNotSatisfiable: { status: 416, message: 'The range is not within the file of {size} bytes' },
  recordingUnreadable: { status: 403, message: 'Recording could not be opened' },

  // Snooping.
  spyDirectionInvalid: { status: 400, message: 'Invalid direction specified for spy' },
  whisperDirectionInvalid: { status: 400, message: 'Invalid direction specified for whisper' },
  snoopDirectionRequired: { status: 400, message: 'Direction must be specified for at least spy or whisper' },
  snoopChannelNotFound: { status: 404, message: 'Provided channel was not found' },

  // Endpoints.
  invalidTechnology: { status: 404, message: 'No Endpoints found - invalid tech {technology}' },
  endpointNotFound: { status: 404, message: 'Endpoint not found' },
  toRequired: { status: 400, message: 'To must be specified' },
  fromRequired: { status: 400, message: 'From must be specified' },
  referToRequired: { status: 400, message: 'Refer_to must be specified' },

  // Applications and events.
  applicationNotFound: { status: 404, message: 'Application not found' },
  eventSourceRequired: { status: 400, message: 'Missing parameter eventSource' },
  eventSourceSchemeInvalid: { status: 400, message: 'Invalid event source URI scheme' },
  eventSourceNotFound: { status: 422, message: 'Event source does not exist' },
  eventSourceNotSubscribed: { status: 422, message: 'Event source was not subscribed to' },
  eventFilterInvalid: { status: 400, message: 'Invalid format definition' },
  userEventApplicationRequired: { status: 400, message: 'Missing parameter application' },
  userEventSourceNotFound: { status: 422, message: 'Event source was not found' },
  applicationNameInvalid: {
    status: 400,
    message: `An application's name must have 1 to ${longestApplicationName} characters: '{name}'`,
  },
  claimChannelRequired: { status: 400, message: 'channelId parameter is required' },
  claimApplicationRequired: { status: 400, message: 'application parameter is required' },
  claimNotOffered: { status: 404, message: 'Channel not found or not in broadcast state' },
  claimTooLate: { status: 409, message: 'Channel has already been claimed by another application' },
  upgradeRequired: { status: 426, message: 'Upgrade Required' },
  upgradeInvalid: { status: 400, message: 'The WebSocket handshake is not valid: {reason}' },
  upgradeOverWebSocket: {
    status: 400,
    message: "Can't upgrade to websocket from a websocket",
    reason: 'Bad request',
  },

  // System.
  logLevelsRequired: { status: 400, message: 'Configuration levels are required' },
  logChannelExists: { status: 409, message: 'Log channel already exists' },
  logChannelFailed: { status: 500, message: 'Allocation failed' },
  logChannelNotFound: { status: 404, message: 'Log channel does not exist' },
  logLevelsInvalid: { status: 400, message: "Configuration level '{level}' is not known: levels are {levels}" },
  logChannelNameInvalid: { status: 400, message: "Log channel name '{name}' is outside the log directory" },
  moduleNotFound: { status: 404, message: 'Module could not be found in running modules' },
  moduleAlreadyLoaded: { status: 409, message: 'Module is already loaded' },
  moduleLoadFailed: { status: 409, message: 'Module could not be loaded properly' },
  moduleNotRunning: { status: 404, message: 'Module not found in running modules' },
  moduleUnloadFailed: { status: 409, message: 'Module could not be unloaded' },
  moduleReloadUnsupported: { status: 409, message: 'Module does not support reloading' },
  configClassNotFound: { status: 404, message: "configClass '{configClass}' not found" },
  configTypeNotFound: { status: 404, message: "objectType '{objectType}' not found" },
  configObjectNotFound: { status: 404, message: "Object with id '{id}' not found" },
  configFieldsRequired: { status: 400, message: "Fields must be provided to update object '{id}'" },
  configCreateInvalid: { status: 400, message: "Creation of object '{id}' failed field value validation: {problem}" },
  configUpdateInvalid: { status: 400, message: "Update of object '{id}' failed field value validation: {problem}" },
  configUpdateForbidden: { status: 403, message: "Cannot update sorcery objects of type '{objectType}'" },
  configDeleteForbidden: { status: 403, message: "Could not delete object with id '{id}'" },

  // Device states, mailboxes, sounds. The two mailbox texts differ in Asterisk; clients compare them.
  deviceUncontrolled: { status: 409, message: 'Uncontrolled device specified' },
  deviceNameMissing: { status: 404, message: 'Device name is missing' },
  deviceStateUnknown: { status: 500, message: 'Unknown device' },
  mailboxNotFound: { status: 404, message: 'Mailbox is does not exist' },
  mailboxToDeleteNotFound: { status: 404, message: 'Mailbox does not exist' },
  mailboxUpdateFailed: { status: 500, message: 'Error updating mailbox' },
  soundsNotFound: { status: 404, message: 'No sounds found that matched the query' },
  soundNotFound: { status: 404, message: 'Sound not found' },
  soundsUnavailable: { status: 500, message: 'Sounds index not available' },
} as const satisfies Record<string, ErrorEntry>;

/** The name of a refusal. */
export type AriErrorCode = keyof typeof ariErrors;

type Named<Message extends string> = Message extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Named<Rest>
  : never;

/** The parameters that the message of a refusal names. */
export type AriErrorParameters<C extends AriErrorCode> = Record<Named<(typeof ariErrors)[C]['message']>, string>;

/** Details of a refusal. */
type AriErrorOptions = ErrorOptions & {
  /** Makes what may be done instead, for the body's member `allowed`. Asked when the answer is written, at most once. */
  allowed?: () => object;
};

type Rest<C extends AriErrorCode> = [Named<(typeof ariErrors)[C]['message']>] extends [never]
  ? [parameters?: Readonly<Record<string, never>>, options?: AriErrorOptions]
  : [parameters: AriErrorParameters<C>, options?: AriErrorOptions];

const fill = (template: string, parameters: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => parameters[name] ?? whole);

/** Status and message of a refusal, for lists of refused operations; unknown parameters stay. */
export const refusalWords = (code: AriErrorCode, parameters: Readonly<Record<string, string>>) => {
  const { status, message }: ErrorEntry = ariErrors[code];
  return { status, message: fill(message, parameters) };
};

/** Not every browser has it. */
const traced = Error as ErrorConstructor & { stackTraceLimit?: number | undefined };

/**
 * A refusal: thrown by owners, turned into an answer by `http/app.ts` alone. Parameters of its message are required,
 * which the compiler checks.
 */
export class AriError<C extends AriErrorCode = AriErrorCode> extends Error {
  override readonly name = 'AriError';
  readonly code: C;
  /** HTTP status. */
  readonly status: number;
  readonly parameters: Readonly<Record<string, string>>;
  readonly #allowed: (() => object) | undefined;

  constructor(code: C, ...[parameters, options]: Rest<C>) {
    const entry: ErrorEntry = ariErrors[code];
    // Refusals are expected in any request: a stack trace would cost more than the rest of the answer.
    const { stackTraceLimit } = traced;
    if (entry.status < 500) traced.stackTraceLimit = 0;
    super(fill(entry.message, parameters ?? {}), options);
    traced.stackTraceLimit = stackTraceLimit;
    this.#allowed = options?.allowed;
    this.code = code;
    this.status = entry.status;
    this.parameters = parameters ?? {};
  }

  /** The words for the status line where Asterisk has words of its own. */
  get reason(): string | undefined {
    const entry: ErrorEntry = ariErrors[this.code];
    return entry.reason;
  }

  /** The JSON body of the answer. */
  toBody(): { message?: string; error?: string; allowed?: object } {
    const entry: ErrorEntry = ariErrors[this.code];
    if (entry.onlyError) return { error: this.message };
    return {
      message: this.message,
      ...(entry.error === undefined ? {} : { error: entry.error }),
      ...(this.#allowed && { allowed: this.#allowed() }),
    };
  }
}
