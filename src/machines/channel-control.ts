import { Cause } from '../telephony/causes.ts';
import { channel, eventOf } from './channel-setup.ts';
import type { ChannelContext, ChannelEvent, Position } from './channel-vocabulary.ts';

const { assign, emit } = channel;

const stasisStatus = (value: '' | 'SUCCESS' | 'FAILED') => [
  assign(({ context }) => ({ variables: { ...context.variables, STASISSTATUS: value } })),
  emit({ type: 'ChannelVarset', variable: 'STASISSTATUS', value }),
];

const stasisStarted = emit(({ context }) => ({ type: 'StasisStart', app: context.app, args: context.args }));
const stasisEnded = emit(({ context }) => ({ type: 'StasisEnd', app: context.app }));
const leaveApplication = [stasisEnded, ...stasisStatus('SUCCESS')];

const askForApplication = [
  assign(({ context, event }) => {
    if (event.type === 'enter')
      return { app: event.app, args: event.args, ...(event.resume ? { resume: event.resume } : {}) };
    const wanted = context.onAnswer;
    return wanted?.type === 'application' ? { app: wanted.app, args: wanted.args } : {};
  }),
  { type: 'enterApplication', params: ({ context }: { context: ChannelContext }) => ({ app: context.app }) },
] as const;

/** The place a command, the dialing client or an application that was left asks the dialplan to run from. */
const wantedPosition = (context: ChannelContext, event: ChannelEvent): Position => {
  if ('position' in event) return event.position;
  if (event.type === 'leg.answered' && context.onAnswer?.type === 'dialplan') return context.onAnswer.position;
  if (event.type === 'application.refused' && context.resume) return context.resume;
  const { context: name, exten, priority } = context.dialplan;
  return { context: name, extension: exten, priority };
};
const runDialplan = {
  type: 'runDialplan',
  params: ({ context, event }: { context: ChannelContext; event: ChannelEvent }) => ({
    position: wantedPosition(context, event),
  }),
} as const;

/** Who controls the channel: nobody, the dialplan, an application, or on the way between two. */
export const control = channel.createStateConfig({
  initial: 'nobody',
  states: {
    nobody: {
      on: {
        run: 'dialplan',
        enter: {
          target: 'entering',
          actions: [
            assign(({ context, event }) => {
              const { app, args } = eventOf(event, 'enter');
              return { dialplan: { ...context.dialplan, appName: 'Stasis', appData: [app, ...args].join(',') } };
            }),
            emit({ type: 'ChannelDialplan' }),
          ],
        },
        'leg.offered': 'dialplan',
        'leg.answered': [
          { guard: 'entersApplication', target: 'entering' },
          { guard: 'entersDialplan', target: 'dialplan' },
        ],
        'leg.ended': 'ended',
      },
    },
    dialplan: {
      entry: [runDialplan],
      on: {
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
        enter: 'entering',
        'dialplan.ended': 'nobody',
        'leg.ended': 'ended',
      },
    },
    entering: {
      entry: [...askForApplication],
      on: {
        'application.accepted': { target: 'application', actions: [...stasisStatus(''), stasisStarted] },
        'application.refused': [
          { guard: 'canResume', target: 'dialplan', actions: stasisStatus('FAILED') },
          {
            target: 'nobody',
            actions: [...stasisStatus('FAILED'), channel.raise({ type: 'finish', cause: Cause.normalClearing })],
          },
        ],
        'leg.ended': 'ended',
      },
    },
    application: {
      on: {
        continue: { target: 'dialplan', actions: leaveApplication },
        move: {
          target: 'moving',
          actions: assign(({ event }) => {
            const { app, args } = eventOf(event, 'move');
            return { destination: { app, args } };
          }),
        },
        'leg.ended': { target: 'ended', actions: leaveApplication },
      },
    },
    moving: {
      entry: { type: 'enterApplication', params: ({ context }) => ({ app: context.destination?.app ?? '' }) },
      on: {
        'application.accepted': {
          target: 'application',
          actions: [
            stasisEnded,
            assign(({ context }) => ({ app: context.destination?.app ?? '', args: context.destination?.args ?? [] })),
            stasisStarted,
          ],
        },
        'application.refused': {
          target: 'application',
          actions: emit(({ context }) => ({
            type: 'ApplicationMoveFailed',
            app: context.app,
            destination: context.destination?.app ?? '',
            args: context.destination?.args ?? [],
          })),
        },
        'leg.ended': { target: 'ended', actions: leaveApplication },
      },
    },
    ended: { type: 'final' },
  },
});
