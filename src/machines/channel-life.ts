import type { ChannelState } from '../models/channel.ts';
import { Cause } from '../telephony/causes.ts';
import {
  channel,
  dialEnded,
  dialed,
  eventOf,
  keepEnd,
  keepOwnEnd,
  requestedHere,
  requestedThere,
  stateChanged,
} from './channel-setup.ts';
import type { ChannelEvent, ChannelFact } from './channel-vocabulary.ts';

const { assign, emit } = channel;

/** Ways out of a living state: asked for here, told by the far side, or nothing left to do. */
const ending = (lastState: ChannelState) =>
  ({
    hangup: { target: '#hangingUp', actions: [keepEnd(lastState), requestedHere] },
    'leg.hungUp': { target: '#hangingUp', actions: [keepEnd(lastState), requestedThere] },
    'dialplan.ended': { target: '#hangingUp', actions: [keepEnd(lastState), requestedHere] },
    finish: { target: '#hangingUp', actions: [keepEnd(lastState)] },
  }) as const;

const toldForward = (forward: string, forwarded?: string): ChannelFact => ({
  type: 'Dial',
  dialstatus: 'CANCEL',
  dialstring: '',
  forward,
  ...(forwarded !== undefined && { forwarded }),
});

/** An unanswered outbound call. Only originated calls publish the end of dialing. */
const endingUnanswered = (lastState: ChannelState) =>
  ({
    ...ending(lastState),
    hangup: [
      { guard: 'isOriginated', target: '#hangingUp', actions: [keepEnd(lastState), requestedHere, dialEnded] },
      { target: '#hangingUp', actions: [keepEnd(lastState), requestedHere] },
    ],
    'leg.hungUp': [
      { guard: 'isOriginated', target: '#hangingUp', actions: [keepEnd(lastState), requestedThere, dialEnded] },
      { target: '#hangingUp', actions: [keepEnd(lastState), requestedThere] },
    ],
    'leg.forwarded': [
      {
        guard: 'isFollowed',
        actions: {
          type: 'followForward',
          params: ({ event }: { event: ChannelEvent }) => {
            const { target, redirection } = eventOf(event, 'leg.forwarded');
            return { forward: { target, redirection: redirection! } };
          },
        },
      },
      {
        target: '#hangingUp',
        actions: [
          keepOwnEnd(lastState, Cause.numberChanged, 'farSide'),
          emit(({ event }) => toldForward(eventOf(event, 'leg.forwarded').target)),
        ],
      },
    ],
    // Its successor's call is published before its own end.
    forwarded: {
      actions: emit(({ event }) => {
        const { target, successor } = eventOf(event, 'forwarded');
        return toldForward(target, successor);
      }),
    },
  }) as const;

const gaveUp = (lastState: ChannelState) =>
  [
    {
      guard: 'isOriginated',
      target: '#hangingUp',
      actions: [keepOwnEnd(lastState, Cause.noAnswer, 'timeout')],
    },
    { target: '#hangingUp', actions: [keepOwnEnd(lastState, Cause.noAnswer, 'timeout'), requestedHere] },
  ] as const;

/** Digits need a call, also before the answer if early media may flow. */
const sendsDigits = {
  dtmf: {
    actions: {
      type: 'sendDigits',
      params: ({ event }: { event: ChannelEvent }) => ({ sequence: eventOf(event, 'dtmf').sequence }),
    },
  },
} as const;

const held = emit(({ event }) => ({
  type: 'ChannelHold',
  musicClass: eventOf(event, 'leg.held').musicClass ?? 'N/A',
}));
const unheld = emit({ type: 'ChannelUnhold' });

/** The life of the channel's leg, from new to destroyed. */
export const life = channel.createStateConfig({
  initial: 'new',
  states: {
    /** Decides in which state the channel is first seen. */
    new: {
      always: [{ guard: 'isIncoming', target: 'ring' }, { guard: 'isAttached', target: 'up' }, { target: 'down' }],
      exit: emit({ type: 'ChannelCreated' }),
    },
    /** Outbound, made but not dialed. */
    down: {
      meta: { ari: 'Down' },
      on: {
        ...ending('Down'),
        dial: {
          target: 'dialing',
          actions: [
            assign(({ event }) => ({ dialTimeoutMs: eventOf(event, 'dial').timeoutMs })),
            dialed(''),
            'dialLeg',
          ],
        },
        'dial.soon': {
          target: 'aboutToDial',
          actions: assign(({ event }) => ({ dialTimeoutMs: eventOf(event, 'dial.soon').timeoutMs })),
        },
      },
    },
    /** Outbound, made by a request that is answered first. */
    aboutToDial: {
      meta: { ari: 'Down' },
      on: { ...ending('Down') },
      after: { soon: { target: 'dialing', actions: [dialed(''), 'dialLeg'] } },
    },
    /** Outbound, placed; publicly still Down, as with every SIP channel of Asterisk. */
    dialing: {
      meta: { ari: 'Down' },
      after: { dialTimeout: [...gaveUp('Down')] },
      on: {
        ...endingUnanswered('Down'),
        ...sendsDigits,
        'leg.proceeding': { actions: dialed('PROCEEDING') },
        'leg.forwarding': { actions: 'tellCallerForwarding' },
        'leg.progressed': { actions: [assign({ hasEarlyMedia: true }), dialed('PROGRESS')] },
        // Dial has told PROGRESS of that, and tells no RINGING.
        'leg.ringing': [
          { guard: 'ringsInMedia', target: 'ringing', actions: stateChanged },
          { target: 'ringing', actions: [stateChanged, dialed('RINGING')] },
        ],
        'leg.answered': { target: 'up', actions: [stateChanged, dialed('ANSWER')] },
      },
    },
    /** Outbound, the far side alerts. */
    ringing: {
      meta: { ari: 'Ringing' },
      after: { dialTimeout: [...gaveUp('Ringing')] },
      on: {
        ...endingUnanswered('Ringing'),
        ...sendsDigits,
        'leg.forwarding': { actions: 'tellCallerForwarding' },
        'leg.progressed': { actions: [assign({ hasEarlyMedia: true }), dialed('PROGRESS')] },
        'leg.answered': { target: 'up', actions: [stateChanged, dialed('ANSWER')] },
      },
    },
    /** Inbound, not answered by us; the second half of a Local channel is so from the start. */
    ring: {
      meta: { ari: 'Ring' },
      on: {
        ...ending('Ring'),
        ...sendsDigits,
        answer: { actions: 'answerLeg' },
        ring: { actions: 'ringLeg' },
        ringStop: { actions: 'stopRingingLeg' },
        progress: { actions: 'progressLeg' },
        busy: { target: 'busy', actions: [assign({ cause: Cause.userBusy }), stateChanged] },
        'leg.answered': { target: 'up', actions: stateChanged },
      },
    },
    /** Inbound, told that the called party is busy, and about to be hung up. */
    busy: {
      meta: { ari: 'Busy' },
      on: { ...ending('Busy'), ...sendsDigits },
    },
    up: {
      meta: { ari: 'Up' },
      on: {
        ...ending('Up'),
        ...sendsDigits,
        ring: { actions: 'ringLeg' },
        ringStop: { actions: 'stopRingingLeg' },
        busy: { actions: 'playBusyTone' },
        'leg.held': [
          { guard: 'interceptsHold', actions: held },
          {
            actions: [
              held,
              {
                type: 'holdPeer',
                params: ({ event }) => ({ musicClass: eventOf(event, 'leg.held').musicClass ?? 'default' }),
              },
            ],
          },
        ],
        'leg.unheld': [
          { guard: 'interceptsHold', actions: unheld },
          { actions: [unheld, { type: 'holdPeer', params: { musicClass: undefined } }] },
        ],
        'leg.transferAsked': {
          actions: {
            type: 'askTransfer',
            params: ({ event }) => ({ transfer: eventOf(event, 'leg.transferAsked').transfer }),
          },
        },
      },
    },
    /** The leg has been told to hang up and owes one `leg.ended`. Most technologies send it synchronously. */
    hangingUp: {
      id: 'hangingUp',
      entry: ['stopDialplan', { type: 'hangupLeg', params: ({ context }) => ({ cause: context.cause }) }],
      // A broken leg may never report its end, so the timeout covers it.
      on: { 'leg.ended': 'destroyed', 'leg.lingers': 'lingering', 'effect.failed': 'lingering' },
    },
    /** The leg did not end. The timeout prevents stale channels of silent technologies. Ownership gets that end too. */
    lingering: {
      after: { hangupTimeout: { actions: 'giveUpLeg' } },
      on: { 'leg.ended': 'destroyed' },
    },
    destroyed: {
      type: 'final',
      entry: emit(({ context }) => ({
        type: 'ChannelDestroyed',
        cause: context.cause,
        ...(context.techCause === undefined ? {} : { techCause: context.techCause }),
      })),
    },
  },
});
