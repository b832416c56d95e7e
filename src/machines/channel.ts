import type { SnapshotFrom } from 'xstate';
import type { Channel, ChannelState } from '../models/channel.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { Cause } from '../telephony/causes.ts';
import { control } from './channel-control.ts';
import { life } from './channel-life.ts';
import { channel, eventOf, noTimeout, storedName } from './channel-setup.ts';

export { noTimeout, ownVariable, storedName } from './channel-setup.ts';
export type * from './channel-vocabulary.ts';

const { assign, emit } = channel;

const setVariable = assign(({ context, event }) => {
  const { name, value, report } = eventOf(event, 'variable.set');
  const stored = storedName(name);
  const variables = { ...context.variables };
  const inheritance = { ...context.inheritance };
  if (value === undefined) delete variables[stored];
  else variables[stored] = value;
  if (value === undefined || name === stored) delete inheritance[stored];
  else inheritance[stored] = name.startsWith('__') ? 'always' : 'once';
  if (report === undefined) return { variables, inheritance };
  const others = context.reported.filter((other) => other !== stored);
  return { variables, inheritance, reported: report ? [...others, stored] : others };
});

const setCaller = assign(({ context, event }) => ({
  caller: { ...context.caller, ...eventOf(event, 'caller.set').caller },
}));
const setConnected = assign(({ context, event }) => ({
  connected: { ...context.connected, ...eventOf(event, 'connected.set').party },
}));

const variableChanged = emit(({ event }) => {
  const { name, value } = eventOf(event, 'variable.set');
  return { type: 'ChannelVarset', variable: name, value: value ?? '' };
});

/**
 * A channel: the life of its leg, and who controls it. The two are independent (an application may own a channel that
 * is Down, Ring or Up), so they are two regions; `control` stands first so that what it says on the same event is said
 * first (StasisEnd before ChannelDestroyed).
 */
export const channelMachine = channel.createMachine({
  id: 'channel',
  context: ({ input }) => ({
    ...input,
    cause: Cause.unknown,
    app: '',
    args: [],
    dialTimeoutMs: noTimeout,
    lastState: 'Down',
  }),
  type: 'parallel',
  on: {
    'variable.set': [{ guard: 'removesNothing' }, { actions: [setVariable, variableChanged] }],
    'variable.preset': {
      actions: assign(({ context, event }) => ({
        variables: { ...context.variables, ...eventOf(event, 'variable.preset').variables },
      })),
    },
    'caller.set': [
      { guard: 'keepsCaller', actions: setCaller },
      { actions: [setCaller, emit({ type: 'ChannelCallerId' })] },
    ],
    'connected.set': [
      { guard: 'keepsConnected', actions: setConnected },
      { actions: [setConnected, emit({ type: 'ChannelConnectedLine' })] },
    ],
    'leg.connectedLine': {
      actions: [
        assign(({ event }) => ({ connected: eventOf(event, 'leg.connectedLine').party })),
        emit({ type: 'ChannelConnectedLine' }),
      ],
    },
    'language.set': { actions: assign(({ event }) => ({ language: eventOf(event, 'language.set').language })) },
    'accountCode.set': {
      actions: assign(({ event }) => ({ accountCode: eventOf(event, 'accountCode.set').accountCode })),
    },
    userEvent: {
      actions: emit(({ event }) => ({
        type: 'ChannelUserevent',
        name: eventOf(event, 'userEvent').name,
        fields: eventOf(event, 'userEvent').fields,
      })),
    },
    dtmf: { actions: { type: 'sendDigits', params: ({ event }) => ({ sequence: eventOf(event, 'dtmf').sequence }) } },
    'leg.digit': {
      actions: emit(({ event }) => ({
        type: 'ChannelDtmfReceived',
        digit: eventOf(event, 'leg.digit').digit,
        durationMs: eventOf(event, 'leg.digit').durationMs,
      })),
    },
    'effect.failed': { actions: channel.raise({ type: 'finish', cause: Cause.temporaryFailure }) },
  },
  states: { control, life },
});
export type ChannelSnapshot = SnapshotFrom<typeof channelMachine>;

/* ---- What clients see ----------------------------------------------------------------------------------------- */

type Life = keyof (typeof life)['states'];

const publicStates: Readonly<Record<Life, ChannelState | undefined>> = {
  new: 'Down',
  reserved: life.states.reserved.meta.ari,
  down: life.states.down.meta.ari,
  dialing: life.states.dialing.meta.ari,
  ringing: life.states.ringing.meta.ari,
  ring: life.states.ring.meta.ari,
  busy: life.states.busy.meta.ari,
  up: life.states.up.meta.ari,
  hangingUp: undefined,
  destroyed: undefined,
};

/** Where in its life the channel is, as the chart names it. */
export const lifeOf = (snapshot: ChannelSnapshot): Life => (snapshot.value as { life: Life }).life;

/** The state clients see; while and after hanging up, the one it had before. */
export const channelState = (snapshot: ChannelSnapshot): ChannelState =>
  publicStates[lifeOf(snapshot)] ?? snapshot.context.lastState;

/**
 * The channel as clients see it. Pure: the same snapshot always gives the same JSON.
 * @param channelvars the variables to show, with their values, when there are any to show.
 */
export function channelModel(snapshot: ChannelSnapshot, channelvars?: Readonly<Record<string, string>>): Channel {
  const { id, name, protocolId, caller, connected, accountCode, dialplan, creationTime, language } = snapshot.context;
  return {
    id,
    name,
    state: channelState(snapshot),
    protocol_id: protocolId,
    caller: { name: caller.name, number: caller.number },
    connected: { name: connected.name, number: connected.number },
    accountcode: accountCode,
    dialplan: {
      context: dialplan.context,
      exten: dialplan.exten,
      priority: dialplan.priority,
      app_name: dialplan.appName,
      app_data: dialplan.appData,
    },
    creationtime: formatTimestamp(creationTime),
    language,
    ...(caller.rdnis ? { caller_rdnis: caller.rdnis } : {}),
    ...(channelvars ? { channelvars } : {}),
  };
}

/* ---- What is refused ------------------------------------------------------------------------------------------ */

/** Operations of clients: which need the application in control, and which an outbound call that is not answered refuses. */
export const channelOperations = {
  continue: { controlled: true, answered: true },
  redirect: { controlled: true, answered: true },
  answer: { controlled: true, answered: true },
  ring: { controlled: true, answered: true },
  ringStop: { controlled: true, answered: true },
  progress: { controlled: true, answered: true },
  dtmf: { controlled: true, answered: true },
  hold: { controlled: true, answered: true },
  unhold: { controlled: true, answered: true },
  mute: { controlled: true, answered: true },
  moh: { controlled: true, answered: true },
  silence: { controlled: true, answered: true },
  play: { controlled: true, answered: true },
  move: { controlled: true, answered: false },
  setVariable: { controlled: true, answered: false },
  dial: { controlled: true, answered: false },
  hangup: { controlled: false, answered: false },
} as const satisfies Record<string, { controlled: boolean; answered: boolean }>;

export type ChannelOperation = keyof typeof channelOperations;

/** Lives in which an operation that needs an answered (or incoming) call is refused. */
const unanswered: ReadonlySet<Life> = new Set(['reserved', 'down', 'dialing', 'ringing', 'hangingUp', 'destroyed']);

/** Whether an application controls the channel now. */
export const isControlled = (snapshot: ChannelSnapshot): boolean => {
  const { control } = snapshot.value as { control: string };
  return control === 'application' || control === 'moving';
};

/** The errors that a channel's state can give. */
export type ChannelRefusal = 'channelNotInStasis' | 'channelInvalidState' | 'channelNotDown' | 'channelNotCreated';

/**
 * Why an operation is refused now, or undefined when it may go on: the only place that knows 409 and 412.
 * The order (control before state) is the field's.
 */
export function refuseChannelOperation(
  snapshot: ChannelSnapshot,
  operation: ChannelOperation,
): ChannelRefusal | undefined {
  const needs = channelOperations[operation];
  if (needs.controlled && !isControlled(snapshot)) return 'channelNotInStasis';
  if (needs.answered && unanswered.has(lifeOf(snapshot))) return 'channelInvalidState';
  if (operation === 'dial' && lifeOf(snapshot) !== 'down') return 'channelNotDown';
  if (operation === 'dial' && snapshot.context.origin !== 'created') return 'channelNotCreated';
  return undefined;
}
