import type { SnapshotFrom } from 'xstate';
import type { Channel, ChannelState } from '../models/channel.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { Cause } from '../telephony/causes.ts';
import { life } from './channel-life.ts';
import { channel, eventOf, noTimeout, storedName, toneTarget, withEntry, withTone } from './channel-setup.ts';

import type { ChannelContext, Inheritance } from './channel-vocabulary.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

export type * from './channel-vocabulary.ts';

const { assign, emit } = channel;

const setVariable = assign(({ context, event }) => {
  const { name, value, report } = eventOf(event, 'variable.set');
  const stored = storedName(name);
  const variables = withEntry(context.variables, stored, value);
  return { variables, ...withInheritance(context, name, stored, value), ...withReport(context, stored, report) };
});

/** The underscores of a name set how far its variable is inherited. A plain name or a removal ends inheritance. */
function withInheritance(context: ChannelContext, name: string, stored: string, value: string | undefined) {
  const inherits = name !== stored && value !== undefined;
  if (!inherits && !Object.hasOwn(context.inheritance, stored)) return {};
  const { [stored]: _before, ...inheritance } = context.inheritance;
  if (!inherits) return { inheritance };
  const depth: Inheritance = name.startsWith('__') ? 'always' : 'once';
  return { inheritance: { ...inheritance, [stored]: depth } };
}

function withReport({ reported }: ChannelContext, stored: string, report: boolean | undefined) {
  if (report === undefined || report === reported.includes(stored)) return {};
  return { reported: report ? [...reported, stored] : reported.filter((other) => other !== stored) };
}

/** An argument as the dialplan would write it. */
const quoted = (argument: string): string => (argument.includes(',') ? `"${argument}"` : argument);

const setCaller = assign(({ context, event }) => ({
  caller: { ...context.caller, ...eventOf(event, 'caller.set').caller },
}));
const setConnected = assign(({ context, event }) => ({
  connected: { ...context.connected, ...eventOf(event, 'connected.set').party },
}));

const countTone = assign(({ context, event }) => withTone(context, eventOf(event, 'leg.toneDetected')));

const setTimeLimit = assign(({ event }) => ({ timeLimit: eventOf(event, 'timeLimit.set').limit }));

const variableChanged = emit(({ event }) => {
  const { name, value } = eventOf(event, 'variable.set');
  return { type: 'ChannelVarset', variable: name, value: value ?? '' };
});

/** The life of a channel, from creation to destruction with a cause. Ownership is a chart of its own (ownership.ts). */
export const channelMachine = channel.createMachine({
  id: 'channel',
  context: ({ input }) => ({
    cause: Cause.unknown,
    dialTimeoutMs: noTimeout,
    lastState: 'Down',
    ...input,
    linked: input.linked ?? { id: input.id, since: input.creationTime },
  }),
  on: {
    'variable.set': [{ guard: 'removesNothing', actions: setVariable }, { actions: [setVariable, variableChanged] }],
    'variable.preset': {
      actions: assign(({ context, event }) => ({
        variables: { ...context.variables, ...eventOf(event, 'variable.preset').variables },
        inheritance: { ...context.inheritance, ...eventOf(event, 'variable.preset').inheritance },
      })),
    },
    'caller.set': [
      { guard: 'keepsCaller', actions: setCaller },
      { actions: [setCaller, emit({ type: 'ChannelCallerId' })] },
    ],
    'connected.set': [
      { guard: 'keepsConnected', actions: setConnected },
      { guard: 'setsQuietly', actions: [setConnected, emit({ type: 'ChannelConnectedLine' })] },
      { actions: [setConnected, emit({ type: 'ChannelConnectedLine' }), 'presentParty'] },
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
    'cause.set': {
      guard: 'isNotEnding',
      actions: assign(({ event }) => ({ cause: eventOf(event, 'cause.set').cause })),
    },
    'tenantId.set': { actions: assign(({ event }) => ({ tenantId: eventOf(event, 'tenantId.set').tenantId })) },
    'musicClass.set': { actions: assign(({ event }) => ({ musicClass: eventOf(event, 'musicClass.set').musicClass })) },
    'peerAccount.set': {
      actions: assign(({ event }) => ({ peerAccount: eventOf(event, 'peerAccount.set').peerAccount })),
    },
    'hangupSource.set': {
      actions: assign(({ context, event }) => ({
        hangupSource: context.hangupSource ?? eventOf(event, 'hangupSource.set').source,
      })),
    },
    'timeLimit.set': [
      {
        guard: 'limitsTime',
        actions: [
          setTimeLimit,
          channel.cancel('timeLimit'),
          channel.raise({ type: 'timeLimit.over' }, { id: 'timeLimit', delay: 'timeLimit' }),
        ],
      },
      { actions: [setTimeLimit, channel.cancel('timeLimit')] },
    ],
    'timeLimit.over': {
      guard: 'isNotEnding',
      actions: [assign({ timeLimit: undefined }), 'endOvertime'],
    },
    'holdIntercept.set': {
      actions: assign(({ event }) => ({ interceptsHold: eventOf(event, 'holdIntercept.set').on })),
    },
    'transferHandling.set': {
      actions: assign(({ event }) => ({ transferHandling: eventOf(event, 'transferHandling.set').handling })),
    },
    'linked.set': { actions: assign(({ event }) => ({ linked: eventOf(event, 'linked.set').linked })) },
    'bridge.entered': {
      actions: assign(({ event }) => ({ bridgeId: eventOf(event, 'bridge.entered').bridgeId })),
    },
    'bridge.left': { actions: assign({ bridgeId: undefined }) },
    userEvent: {
      actions: emit(({ event }) => ({
        type: 'ChannelUserevent',
        name: eventOf(event, 'userEvent').name,
        fields: eventOf(event, 'userEvent').fields,
      })),
    },
    'dialplan.entered': {
      actions: [
        assign(({ event }) => {
          const { position, app, data } = eventOf(event, 'dialplan.entered');
          const { context, extension, priority } = position;
          return { dialplan: { context, exten: extension, priority, appName: app, appData: data } };
        }),
        emit({ type: 'ChannelDialplan' }),
      ],
    },
    'application.entered': {
      actions: [
        assign(({ context, event }) => {
          const { app, args } = eventOf(event, 'application.entered');
          const appData = [app, ...args.map(quoted)].join(',');
          return {
            // Dialplan arguments stay as they were written.
            ...(context.dialplan.appName === 'Stasis'
              ? {}
              : { dialplan: { ...context.dialplan, appName: 'Stasis', appData } }),
            variables: withEntry(context.variables, 'STASISSTATUS', ''),
          };
        }),
        emit({ type: 'ChannelVarset', variable: 'STASISSTATUS', value: '' }),
      ],
    },
    'leg.digit': {
      actions: emit(({ event }) => ({
        type: 'ChannelDtmfReceived',
        digit: eventOf(event, 'leg.digit').digit,
        durationMs: eventOf(event, 'leg.digit').durationMs,
      })),
    },
    'leg.talkingStarted': { actions: emit({ type: 'ChannelTalkingStarted' }) },
    'tones.set': { actions: assign(({ event }) => ({ tones: eventOf(event, 'tones.set').tones })) },
    'leg.toneDetected': [
      {
        guard: 'leadsElsewhere',
        actions: [
          {
            type: 'goOnAt',
            params: ({ context, event }) => ({ position: toneTarget(context, eventOf(event, 'leg.toneDetected'))! }),
          },
          countTone,
          emit({ type: 'ChannelToneDetected' }),
        ],
      },
      { actions: [countTone, emit({ type: 'ChannelToneDetected' })] },
    ],
    'leg.talkingFinished': {
      actions: emit(({ event }) => ({
        type: 'ChannelTalkingFinished',
        durationMs: eventOf(event, 'leg.talkingFinished').durationMs,
      })),
    },
    'effect.failed': { actions: channel.raise({ type: 'finish', cause: Cause.temporaryFailure, by: 'fault' }) },
  },
  ...life,
});
export type ChannelSnapshot = SnapshotFrom<typeof channelMachine>;

/** Ignored events, with reasons. */
export const channelIgnores: Ignores<typeof channelMachine> = [
  {
    events: ['hangup', 'leg.hungUp', 'finish', 'dialplan.ended'],
    in: ['hangingUp', 'lingering'],
    why: 'it is ending, and its cause stays',
  },
  { events: ['leg.lingers'], why: 'no hang-up is in progress, or it was reported before' },
  { events: ['leg.ended'], why: 'a leg reports its end after a hang-up only' },
  { events: ['answer', 'progress'], in: ['up'], why: 'audio flows both ways already' },
  { events: ['ring', 'ringStop', 'answer', 'progress'], in: ['busy'], why: 'the caller has received busy' },
  { events: ['dial.soon'], why: 'it is requested once, right after the channel was created' },
  { events: ['dial'], in: ['aboutToDial'], why: 'it is about to be dialed' },
  { events: ['busy'], why: 'only an unanswered inbound call can signal that' },
  {
    events: [
      ...['leg.proceeding', 'leg.forwarding', 'leg.progressed', 'leg.ringing', 'leg.answered', 'leg.forwarded'],
      'forwarded',
    ] as const,
    why: 'no call is being set up, or it was reported before (answers can cross)',
  },
  {
    events: ['leg.held', 'leg.unheld', 'leg.transferAsked'],
    why: 'the far side can hold or transfer an answered call only',
  },
];

/* ---- Model for clients ---------------------------------------------------------------------------------------- */

type Life = keyof (typeof life)['states'];

const publicStates: Readonly<Record<Life, ChannelState | undefined>> = {
  new: 'Down',
  down: life.states.down.meta.ari,
  aboutToDial: life.states.aboutToDial.meta.ari,
  dialing: life.states.dialing.meta.ari,
  ringing: life.states.ringing.meta.ari,
  ring: life.states.ring.meta.ari,
  busy: life.states.busy.meta.ari,
  up: life.states.up.meta.ari,
  hangingUp: undefined,
  lingering: undefined,
  destroyed: undefined,
};

/** The chart's state, as a name. */
export const lifeOf = (snapshot: ChannelSnapshot): Life => snapshot.value;

/** Whether its end has begun: from here on it only waits for its leg. */
export const isEnding = (snapshot: ChannelSnapshot): boolean => publicStates[lifeOf(snapshot)] === undefined;

/** The state clients see; while and after hanging up, the one it had before. */
export const channelState = (snapshot: ChannelSnapshot): ChannelState =>
  publicStates[lifeOf(snapshot)] ?? snapshot.context.lastState;

/**
 * The channel as clients see it. Pure: the same snapshot always gives the same JSON.
 * @param channelvars the variables to show, with their values, when there are any to show.
 */
export function channelModel(snapshot: ChannelSnapshot, channelvars?: Readonly<Record<string, string>>): Channel {
  const { id, name, protocolId, caller, connected, accountCode, tenantId } = snapshot.context;
  const { dialplan, creationTime, language } = snapshot.context;
  const model: Channel = {
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
  };
  // Members of their own, not spreads of nothing: three spreads cost more than the rest.
  const rdnis = caller.redirection?.from.number;
  if (rdnis) model.caller_rdnis = rdnis;
  if (channelvars) model.channelvars = channelvars;
  if (tenantId) model.tenantid = tenantId;
  return model;
}

/* ---- Refusals ------------------------------------------------------------------------------------------------- */

/** Operations that the channel chart may refuse. All others are allowed while the channel exists. */
export const channelOperations = [
  'continue',
  'redirect',
  'answer',
  'ring',
  'ringStop',
  'progress',
  'dtmf',
  'hold',
  'unhold',
  'mute',
  'moh',
  'silence',
  'play',
  'dial',
] as const;

export type ChannelOperation = (typeof channelOperations)[number];

/** Lives of an outbound call that is not answered, or of one that is over. */
const unanswered: ReadonlySet<Life> = new Set([
  'down',
  'aboutToDial',
  'dialing',
  'ringing',
  'hangingUp',
  'lingering',
  'destroyed',
]);

/** The errors that a channel's life can give. */
export type ChannelRefusal = 'channelInvalidState' | 'channelNotDown' | 'channelNotCreated';

/** Why an operation is refused now, or undefined when it may go on: the only place that knows 412. */
export function refuseChannelOperation(
  snapshot: ChannelSnapshot,
  operation: ChannelOperation,
): ChannelRefusal | undefined {
  if (operation !== 'dial') return unanswered.has(lifeOf(snapshot)) ? 'channelInvalidState' : undefined;
  const life = lifeOf(snapshot);
  if (life !== 'down' && life !== 'aboutToDial') return 'channelNotDown';
  return snapshot.context.origin === 'created' ? undefined : 'channelNotCreated';
}

/** Longest expected time in each state, and what ends it. */
export const channelExpectations: Expectations<Life> = {
  aboutToDial: { atMost: 2_000, waitsFor: 'the answer to the request that made it' },
  dialing: { atMost: 60_000, waitsFor: 'a response from the far side' },
  ringing: { atMost: 120_000, waitsFor: 'the far side to answer' },
  ring: { atMost: 120_000, waitsFor: 'an application or the dialplan to answer' },
  busy: { atMost: 60_000, waitsFor: 'the caller to hang up' },
  hangingUp: { atMost: 5_000, waitsFor: 'its leg to report its end' },
  lingering: { atMost: 5_000, waitsFor: 'its leg to be given up' },
};
