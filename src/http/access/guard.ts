import type { TSchema } from 'typebox';
import { lazily } from '../../lib/lazily.ts';
import type { Alarm } from '../../models/alarm.ts';
import type { AllowedOperation, AllowedOperations } from '../../models/allowed-operations.ts';
import type { WaitingFor } from '../../models/call.ts';
import type { Endpoint } from '../../models/endpoint.ts';
import { AriError, type AriErrorCode } from '../../models/errors.ts';
import { operationBehind } from '../../models/operation-names.ts';
import type { Deps } from '../deps.ts';
import type { Named, Operation, ThingNamed } from '../operation.ts';
import type { Requester } from '../sessions.ts';
import type { HttpUser } from '../user.ts';
import { accessOf, notCovered } from './access.ts';
import type { OperationName, Scope } from './scope.ts';
import { type Visibility, visibilityOf } from './visibility.ts';

/**
 * Checks an operation of a user with a scope, by its declaration. The scope must cover the objects that its parameters
 * name, and lists in answers are filtered. An object outside the scope does not exist for reads (the operation's own
 * 404). Changes are refused (403).
 */
export type Guard = {
  /**
   * Carries an operation out, as far as the requester's scope covers it.
   * @throws AriError scopeDenied, or the operation's own word for what is not there; besides what `run` throws.
   */
  perform(requester: Requester, params: Record<string, unknown>, run: () => unknown): unknown;
};

type Question = {
  user: Requester['user'];
  scope: Scope;
  visibility: Visibility;
  params: Record<string, unknown>;
  /** Whether another node of the cluster has such a channel, in the scope; left out: there is none. */
  seesElsewhere?: ((channel: string) => Promise<boolean>) | undefined;
  /** What other nodes are asked. They reject with the refusal. */
  readonly asked: Promise<void>[];
};
type Check = (value: string, question: Question) => void;

/** Asterisk's errors for missing objects. */
const missing: Readonly<Record<ThingNamed | 'application', readonly AriErrorCode[]>> = {
  channel: ['channelNotFound', 'variableChannelNotFound'],
  bridge: ['bridgeNotFound', 'bridgeVariablesNotFound'],
  playback: ['playbackNotFound'],
  recording: ['recordingNotFound'],
  call: ['callNotFound'],
  application: ['applicationNotFound'],
};

/** Operations whose scope counts as that of another one. */
const others = {
  playStored: { resource: 'recordings', nickname: 'getStoredFile', changesNothing: true },
  readGlobal: { resource: 'asterisk', nickname: 'getGlobalVar', changesNothing: true },
  setGlobal: { resource: 'asterisk', nickname: 'setGlobalVar', changesNothing: false },
  readEndpoint: { resource: 'endpoints', nickname: 'get', changesNothing: true },
  readDevice: { resource: 'deviceStates', nickname: 'get', changesNothing: true },
  setDevice: { resource: 'deviceStates', nickname: 'update', changesNothing: false },
} as const satisfies Record<string, OperationName>;

function requireOther({ user }: Question, operation: OperationName): void {
  if (!accessOf(user).mayDo(operation))
    throw notCovered(user, `the operation ${operation.resource}:${operation.nickname}`);
}

/** Functions that reach no further than their channel, and their own text. */
const ofChannel: ReadonlySet<string> = new Set([
  ...['CALLERID', 'CHANNEL', 'CONNECTEDLINE', 'HOLD_INTERCEPT', 'REDIRECTING', 'TALK_DETECT', 'TIMEOUT'],
  ...['PJSIP_DTMF_MODE', 'PJSIP_HEADER', 'PJSIP_HEADERS', 'PJSIP_MEDIA_OFFER', 'PJSIP_PARSE_URI'],
  ...['PJSIP_RESPONSE_HEADER', 'PJSIP_RESPONSE_HEADERS', 'PJSIP_SEND_SESSION_REFRESH'],
  ...['PJSIP_TRANSFER_HANDLING', 'TRANSFER_HANDLING'],
  ...['CUT', 'EXISTS', 'FIELDQTY', 'FILTER', 'IF', 'ISNULL', 'LEN', 'MATH', 'QUOTE', 'REGEX', 'REPLACE', 'STRFTIME'],
  ...['TOLOWER', 'TOUPPER', 'URIDECODE', 'URIENCODE'],
]);
const globals: ReadonlySet<string> = new Set(['GLOBAL', 'GLOBAL_DELETE', 'GLOBAL_EXISTS']);
const phones: ReadonlySet<string> = new Set(['PJSIP_AOR', 'PJSIP_CONTACT', 'PJSIP_DIAL_CONTACTS', 'PJSIP_ENDPOINT']);

/** A variable, or a function by its name as the dialplan reads it. Functions outside this list are refused. */
function requireVariable(name: string, question: Question, reads: boolean, value: unknown): void {
  const open = name.indexOf('(');
  if (name.endsWith(')') && open > 0) {
    const called = name.slice(0, open).trim().toUpperCase();
    const text = name.slice(open + 1, -1);
    // A variable of the subroutine, by its own name.
    if (called === 'LOCAL') requireVariable(firstOf(text), question, reads, value);
    else requireFunction(called, text, question, reads);
  } else if (!reads && /^_{0,2}TRANSFER_CONTEXT$/.test(name)) requireContext(textOf(value), question);
}

const firstOf = (text: string): string => text.split(',')[0]?.trim() ?? '';

function requireFunction(called: string, text: string, question: Question, reads: boolean): void {
  const first = firstOf(text);
  if (ofChannel.has(called)) return;
  if (called === 'DIALPLAN_EXISTS') requireContext(first, question);
  else if (globals.has(called)) requireOther(question, reads ? others.readGlobal : others.setGlobal);
  else if (called === 'DEVICE_STATE') requireOther(question, reads ? others.readDevice : others.setDevice);
  else if (phones.has(called) && question.scope.endpoint(`PJSIP/${first}`)) requireOther(question, others.readEndpoint);
  // In parentheses stands an option that names a place of the dialplan.
  else if (called !== 'TONE_DETECT' || text.includes('(')) throw notCovered(question.user, `the function ${called}`);
}

function requireContext(context: string, { user, scope }: Question): void {
  if (context !== '' && !scope.context(context)) throw notCovered(user, `the context '${context}'`);
}

/** The text of a variable's value, which may be an object with it. */
function textOf(given: unknown): string {
  const text = typeof given === 'object' && given !== null ? (given as { value?: unknown }).value : given;
  return typeof text === 'string' ? text : '';
}

/** The dial string of a server that audio is exchanged with, as a channel to it is named. */
function serverOf(server: string, { encapsulation = 'rtp', transport }: Record<string, unknown>): string {
  if (encapsulation === 'audiosocket') return `AudioSocket/${server}`;
  return `${transport === 'websocket' ? 'WebSocket' : 'UnicastRTP'}/${server}`;
}

/** How what a parameter names is checked, for one operation. */
function checksOf(operation: Operation, name: string): Record<Named, Check> {
  const { changesNothing: reads, errors } = operation;
  const deny = (kind: ThingNamed | 'application', { user }: Question, id: string): never => {
    const code = reads ? missing[kind].find((each) => errors.includes(each)) : undefined;
    throw code ? new AriError(code as 'channelNotFound') : notCovered(user, `the ${kind} '${id}'`);
  };
  const thing =
    (kind: ThingNamed): Check =>
    (id, question) => {
      const sees = question.visibility.sees(kind, id);
      const { seesElsewhere } = question;
      // The request itself is at the node of what its path names.
      if (sees === undefined && !reads && name === 'channel' && seesElsewhere)
        question.asked.push(seesElsewhere(id).then((seen) => void (seen || deny(kind, question, id))));
      // A thing that is not there by this spelling could be there for the owner that carries the change out.
      else if (sees === false || (sees === undefined && !reads)) deny(kind, question, id);
    };
  return {
    channel: thing('channel'),
    bridge: thing('bridge'),
    playback: thing('playback'),
    recording: thing('recording'),
    call: thing('call'),
    application: (value, question) => {
      if (!question.scope.application(value)) deny('application', question, value);
    },
    context: (value, { user, scope }) => {
      if (!scope.context(value)) throw notCovered(user, `the context '${value}'`);
    },
    endpoint: (value, { user, scope, params }) => {
      const called = name === 'resource' ? `${String(params.tech)}/${value}` : value;
      if (!scope.endpoint(called)) throw notCovered(user, `the endpoint '${called}'`);
    },
    server: (value, { user, scope, params }) => {
      const called = serverOf(value, params);
      if (!scope.endpoint(called)) throw notCovered(user, `the endpoint '${called}'`);
    },
    media: (value, question) => {
      if (value.startsWith('recording:')) requireOther(question, others.playStored);
    },
    variable: (value, question) => {
      requireVariable(value, question, reads, question.params.value);
      if (reads && !accessOf(question.user).mayDo(others.readGlobal)) question.params.ownOnly = true;
    },
    variables(key, question) {
      const { variables } = question.params;
      requireVariable(key, question, false, (variables as Record<string, unknown> | undefined)?.[key]);
    },
    eventSource(value, question) {
      const colon = value.indexOf(':');
      const id = value.slice(colon + 1);
      const kind = value.slice(0, colon);
      if (id === '' || (kind !== 'channel' && kind !== 'bridge')) return;
      const sees = question.visibility.sees(kind, id);
      if (sees === false || (sees === undefined && !reads)) throw notCovered(question.user, `the ${kind} '${id}'`);
    },
  };
}

/** The texts of a parameter; of an object the names of its members. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string');
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

/** Places in the dialplan, where no context is named: in that of the channel, or of new channels. */
const places = ['extension', 'priority', 'label'] as const;

const given = (params: Record<string, unknown>, name: string): boolean =>
  params[name] !== undefined && params[name] !== '';

const isLimited = ({ channels = 0 }: Requester['user']): boolean => channels > 0;

/** @throws AriError tooManyOfUser if a user has made as many channels as it may. */
function requireRoom({ objectOwnership }: Deps, { name, channels = 0 }: Requester['user']): void {
  if (channels > 0 && (objectOwnership?.channelsOf(name) ?? 0) >= channels)
    throw new AriError('tooManyOfUser', { user: name, most: String(channels) });
}

/** Asks other nodes for a channel in the scope of a user, whose password stays here. */
function elsewhereOf(
  { cluster }: Deps,
  { password: _, password_hash: __, ...user }: HttpUser,
): Question['seesElsewhere'] {
  return (
    cluster &&
    (async (channel) => (await cluster.nodeOfChannel(channel, cluster.markedNode(channel), user)) !== undefined)
  );
}

/** Makes the guards of operations. */
export function createGuards(owners: Deps): (operation: Operation) => Guard {
  /** The context that a request leads to. */
  const contextOf = (params: Record<string, unknown>, leavesApplication: boolean): string | undefined => {
    if (!leavesApplication && given(params, 'app')) return undefined;
    if (given(params, 'context')) return String(params.context);
    const isPlace = places.some((name) => given(params, name));
    if (!leavesApplication) return isPlace ? 'default' : undefined;
    const id = String(params.channelId);
    // It goes on where it came from. A channel that an application made came from nowhere and begins in its context.
    if (!isPlace && owners.objectOwnership?.ranDialplan(id)) return undefined;
    try {
      return owners.channels?.get(id).dialplan.context;
    } catch {
      return undefined;
    }
  };

  /** New objects belong to the requesting user's application. */
  const asMaker = ({ user, application }: Requester, run: () => unknown): unknown =>
    owners.objectOwnership ? owners.objectOwnership.by({ user: user.name, application }, run) : run();

  return (operation) => {
    const { params: declared, returns } = operation;
    const named = Object.entries(declared).flatMap(([name, { names }]) =>
      names === undefined || names === 'context' ? [] : [{ name, check: checksOf(operation, name)[names] }],
    );
    const context = declared.context?.names === 'context' ? checksOf(operation, 'context').context : undefined;
    // A channel that is there already goes on from where it is.
    const leavesApplication = declared.endpoint === undefined && declared.channelId?.newIn === undefined;
    const model = modelOf(returns);
    const narrow = narrowers[model];
    // It belongs to its creator, even if that user has no limits.
    const makesBridge = model === 'Bridge' && !operation.changesNothing;
    const makesChannel = model === 'Channel' && !operation.changesNothing;

    const admit = (question: Question): void => {
      const { params } = question;
      for (const { name, check } of named) for (const text of textsOf(params[name])) check(text, question);
      const place = context && contextOf(params, leavesApplication);
      if (place !== undefined) context?.(place, question);
      // Pages of a list are counted by what is seen. A stored call is read before it is known whose it is.
      if (model === 'CallPage' || declared.callId) params.seen = question.visibility.seesAll;
    };

    /** What users without a scope make is theirs where that counts. */
    const unscoped = (requester: Requester, run: () => unknown): unknown =>
      makesBridge || (makesChannel && isLimited(requester.user)) ? asMaker(requester, run) : run();

    return {
      perform(requester, params, run) {
        const { user } = requester;
        if (makesChannel) requireRoom(owners, user);
        if (user.scope === undefined && user.token === undefined) return unscoped(requester, run);
        const { scope } = accessOf(user);
        const visibility = visibilityOf(user, owners);
        if (!scope || !visibility) return unscoped(requester, run);
        const question: Question = {
          user,
          scope,
          visibility,
          params,
          seesElsewhere: elsewhereOf(owners, user),
          asked: [],
        };
        admit(question);
        const perform = (): unknown => asMaker(requester, run);
        const answer = question.asked.length === 0 ? perform() : Promise.all(question.asked).then(perform);
        if (!narrow) return answer;
        return answer instanceof Promise
          ? answer.then((all) => narrow(all, visibility, user))
          : narrow(answer, visibility, user);
      },
    };
  };
}

/** The name of the model of an answer; of a list that of its items with `[]`. */
function modelOf(schema: TSchema | undefined): string {
  const { $id, items } = (schema ?? {}) as { $id?: string; items?: { $id?: string } };
  return items?.$id === undefined ? ($id ?? '') : `${items.$id}[]`;
}

type Narrow = (answer: unknown, visibility: Visibility, user: Requester['user']) => unknown;

const listOf =
  <T>(sees: (item: T, visibility: Visibility) => boolean): Narrow =>
  (answer, visibility) =>
    lazily(answer as Iterable<T>, (item) => (sees(item, visibility) ? item : undefined));

const withoutChannels = (endpoint: Endpoint, visibility: Visibility): Endpoint => ({
  ...endpoint,
  channel_ids: endpoint.channel_ids.filter((id) => visibility.sees('channel', id) === true),
});

/** The allowed operations of an object; those outside the scope are refused with that reason. */
function withinScope(possible: AllowedOperations, user: Requester['user']): AllowedOperations {
  const { mayDo } = accessOf(user);
  const operations = possible.operations.map((each): AllowedOperation => {
    const name = operationBehind(possible.kind, each.operation);
    const [resource = '', nickname = ''] = name.split(':');
    if (mayDo({ resource, nickname, changesNothing: false })) return each;
    const { code: error, status, message } = notCovered(user, `the operation ${name}`);
    return { operation: each.operation, allowed: false, error, status, message };
  });
  return { ...possible, operations };
}

/** Filters of answers by scope, by model name. */
const narrowers: Readonly<Record<string, Narrow | undefined>> = {
  'Channel[]': listOf<{ id: string }>(({ id }, visibility) => visibility.sees('channel', id) === true),
  'Bridge[]': listOf<{ id: string }>(({ id }, visibility) => visibility.sees('bridge', id) === true),
  'EventGroup[]': listOf<{ application: string }>(({ application }, visibility) => visibility.seesAll([application])),
  'Application[]': listOf<{ name: string }>(({ name }, visibility) => visibility.seesAll([name])),
  'WaitingFor[]': listOf<WaitingFor>((waiting, visibility) => seesWaiting(waiting, visibility)),
  'Alarm[]': async (answer, visibility) => ((await answer) as Alarm[]).filter((alarm) => seesAlarm(alarm, visibility)),
  'Endpoint[]': (answer, visibility) =>
    lazily(answer as Iterable<Endpoint>, (endpoint) => withoutChannels(endpoint, visibility)),
  AllowedOperations: (answer, _visibility, user) => withinScope(answer as AllowedOperations, user),
  Endpoint: (answer, visibility) => withoutChannels(answer as Endpoint, visibility),
};

/** Whether the user sees this alarm: all of its calls, or its application. */
const seesAlarm = ({ kind, object, calls }: Alarm, visibility: Visibility): boolean =>
  calls.every((call) => visibility.sees('call', call) === true) &&
  (kind === 'application' ? visibility.seesAll([object ?? '']) : calls.length > 0 && kind === 'one_way_audio');

/** Whether the user sees this stuck object. */
function seesWaiting({ kind, call, object }: WaitingFor, visibility: Visibility): boolean {
  if (call !== undefined) return visibility.sees('call', call) === true;
  return kind === 'application' && visibility.seesAll([object]);
}
