import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { extended, flag, number, object, optional, text } from '../models/plain-schema.ts';
import type { TransferResult, TransferState } from '../models/transfer.ts';
import { Cause } from '../telephony/causes.ts';
import { TransferHandling, TransferRequest } from '../telephony/driver.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** Input of a transfer: the party's request, and the decisions about it. */
const TransferInput = object({
  id: text,
  /** Id of the channel whose far side asks. */
  transferer: text,
  request: TransferRequest,
  handling: TransferHandling,
  /** Context that the extension is looked up in. */
  context: text,
  /** Id of the channel that will call the target. */
  targetId: text,
  /** Timeout of the whole transfer, in ms. */
  timeoutMs: number,
  /** Id of the channel that would call the party back, and where, as `tech/resource`; left out where it is not to be. */
  callBack: optional(object({ channelId: text, target: text })),
  /** Time in which a phone may hang up because of the failure report, in ms; left out: not expected. */
  hangupTimeMs: optional(number),
  /**
   * The transferor consults the target first: ids of the consultation's bridge, and of the transferee's bridge. Left
   * out for blind transfers, and if the transferor made a call of its own.
   */
  consults: optional(object({ bridgeId: text, waitingIn: text })),
  /** Requested by keys: the transferor's technology gets no reports. */
  byKeys: optional(flag),
});
export type TransferInput = Static<typeof TransferInput>;

export const TransferContext = extended(TransferInput, {
  /** Whose call it belongs to, as those of playbacks and recordings. */
  targetUri: text,
  /** Extension that is called. */
  extension: text,
});
export type TransferContext = Static<typeof TransferContext>;

/** Asked by the application that carries it out. */
export type TransferCommand =
  | { type: 'client.progress' }
  | { type: 'client.answered' }
  | { type: 'client.unavailable' }
  | { type: 'client.declined' };

export type TransferEvent =
  | TransferCommand
  /** The channel to the target alerts, is answered, or has failed; reported as a SIP status. */
  | { type: 'target.ringing' }
  | { type: 'target.answered' }
  | { type: 'target.failed'; status: number; result: TransferResult }
  /** The two far parties are joined; or cannot be, told as a SIP status. */
  | { type: 'parties.joined' }
  | { type: 'parties.refused'; status: number; result: TransferResult }
  /** The other call is not answered yet: its target is called again for the transferee. */
  | { type: 'parties.early'; context: string; extension: string }
  /** The transferor has hung up (`hungUp`), or another command ended or moved its channel. */
  | { type: 'transferer.left'; hungUp?: boolean }
  /** It asks for another transfer. */
  | { type: 'transferer.asksAgain' }
  /** The transferor ends its consultation: it completes or aborts the transfer. */
  | { type: 'transferer.completes' }
  | { type: 'transferer.aborts' }
  /** The transferor has answered the call back, or cannot be reached. */
  | { type: 'transferer.returned' }
  | { type: 'transferer.lost' }
  /** No transferee is left. */
  | { type: 'transferees.left' };

export type TransferFact =
  | { type: 'ChannelTransfer'; state?: TransferState }
  | { type: 'BridgeBlindTransfer'; result: TransferResult }
  | { type: 'BridgeAttendedTransfer'; result: TransferResult };

/** Whether the other call of the transferor is none of this node. */
export const namesCallElsewhere = ({ request }: Pick<TransferContext, 'request'>): boolean =>
  request.replaces !== undefined && request.replaces.channelId === undefined;

const transfer = setup({
  types: {
    input: {} as TransferInput,
    context: {} as TransferContext,
    events: {} as TransferEvent,
    emitted: {} as TransferFact,
  },
  actions: {
    /** Tells who asked how it goes, as a SIP status. */
    tellTransferer: effect<{ status: number }>('tellTransferer'),
    /** Calls the target; answers with `target.…`. */
    dialTarget: effect('dialTarget'),
    /** Joins the far parties of both calls; answers with `parties.…`. */
    joinParties: effect('joinParties'),
    /** Connects transferor and target in a bridge of their own; answers with `target.failed` if that fails. */
    beginTalk: effect('beginTalk'),
    /** Returns the transferor from the consultation to the waiting party. */
    endTalk: effect('endTalk'),
    /** The channel to the target replaces the transferor's channel. */
    swapParticipant: effect('swapParticipant'),
    /** Transferees hear ringing of the target; or no longer. */
    alertTransferees: effect('alertTransferees'),
    calmTransferees: effect('calmTransferees'),
    /** Ends the transferor's call. */
    endTransferer: effect('endTransferer'),
    /** Hangs up the target. */
    abandonTarget: effect('abandonTarget'),
    /** Calls the transferor back, in place of the target; answers with `transferer.…`. */
    callBack: effect('callBack'),
    /** That call ends. */
    abandonCallBack: effect('abandonCallBack'),
  },
  guards: {
    isForClient: ({ context }) => context.handling === 'client',
    canCallBack: ({ context }) => context.callBack !== undefined,
    mayHangUp: ({ context }) => context.callBack !== undefined && context.hangupTimeMs !== undefined,
    hasHungUp: ({ event }) => event.type === 'transferer.left' && event.hungUp === true,
    isAttended: ({ context }) => context.request.replaces !== undefined,
    /** The other call of the transferor is not at this node. */
    isElsewhere: ({ context }) => namesCallElsewhere(context),
    consults: ({ context }) => context.consults !== undefined,
  },
  delays: {
    /** How long the application, or the target, has. */
    patience: ({ context }) => context.timeoutMs,
    /** How long a phone may take to hang up because its transfer has failed. */
    hangupTime: ({ context }) => context.hangupTimeMs!,
  },
});

const { assign, emit } = transfer;

const told = (status: number) => ({ type: 'tellTransferer', params: { status } }) as const;
const tellFailure = {
  type: 'tellTransferer',
  params: ({ event }: { event: Extract<TransferEvent, { status: number }> }) => ({ status: event.status }),
} as const;

/** The SIP status of a failed target for its Q.850 cause (RFC 3398 8.2.6.1). */
export function failureStatus(cause: number): number {
  if (cause === Cause.userBusy) return 486;
  if (cause === Cause.callRejected) return 603;
  if (cause === Cause.unallocated || cause === Cause.noRouteDestination) return 404;
  return cause === Cause.congestion ? 503 : 480;
}

const resultOf = (event: TransferEvent): TransferResult => ('result' in event ? event.result : 'Fail');
const shown = (state: TransferState) => emit({ type: 'ChannelTransfer', state });
/** The result, in the event of its kind. */
const outcome = (context: TransferContext, result: TransferResult) =>
  context.consults
    ? ({ type: 'BridgeAttendedTransfer', result } as const)
    : ({ type: 'BridgeBlindTransfer', result } as const);
const succeeded = emit(({ context }) => outcome(context, 'Success'));
const failed = emit(({ context, event }) => outcome(context, resultOf(event)));

/** The application's reports, in each state that takes them. */
const saidByClient = {
  'client.progress': { target: 'progressing', actions: [shown('channel_progress'), told(100)] },
  'client.answered': { target: 'completed', actions: [shown('channel_answered'), told(200)] },
  'client.unavailable': { target: 'failed', actions: [shown('channel_unavailable'), told(503)] },
  'client.declined': { target: 'failed', actions: [shown('channel_declined'), told(603)] },
} as const;

/** Events of the target while the transferor is still there. */
const attended = {
  'target.answered': [
    { guard: 'consults', target: 'consulting', actions: told(183) },
    { target: 'completed', actions: [succeeded, told(200), 'swapParticipant', 'endTransferer'] },
  ],
  'target.failed': [
    { guard: 'mayHangUp', target: 'settling', actions: [failed, tellFailure] },
    { target: 'recovered', actions: [failed, tellFailure] },
  ],
  'transferer.left': { target: 'handedOver', actions: ['swapParticipant', 'alertTransferees'] },
  'transferer.completes': { target: 'handedOver', actions: ['swapParticipant', 'alertTransferees', 'endTransferer'] },
  'transferer.aborts': { target: 'recovered', actions: [failed, told(487), 'abandonTarget'] },
  'transferees.left': { target: 'failed', actions: [failed, told(487), 'abandonTarget'] },
} as const;
const givenUp = [
  { guard: 'mayHangUp', target: 'settling', actions: [failed, told(408), 'abandonTarget'] },
  { target: 'recovered', actions: [failed, told(408), 'abandonTarget'] },
] as const;
const refusedJoin = emit(({ event }: { event: TransferEvent }) => ({
  type: 'BridgeAttendedTransfer',
  result: resultOf(event),
}));

/**
 * A transfer that a party requests, carried out by an application or here. The transferee stays where it is until the
 * target answers or the transferor hangs up. So a failed transfer leaves both as they were.
 */
export const transferMachine = transfer.createMachine({
  id: 'transfer',
  context: ({ input }) => ({
    ...input,
    targetUri: `channel:${input.transferer}`,
    extension: input.request.extension,
  }),
  initial: 'asked',
  states: {
    /** Decides who carries it out, and how. */
    asked: {
      always: [
        { guard: 'isForClient', target: 'offered', actions: emit({ type: 'ChannelTransfer' }) },
        { guard: 'isAttended', target: 'joining' },
        { target: 'dialing' },
      ],
    },
    /** Published to an application, which has not responded yet. */
    offered: {
      on: { ...saidByClient, 'transferer.left': 'failed' },
      after: { patience: { target: 'failed', actions: told(408) } },
    },
    /** The application carries it out. */
    progressing: {
      on: { ...saidByClient, 'transferer.left': 'failed' },
      after: { patience: { target: 'failed', actions: told(408) } },
    },
    /** Both calls of the transferor are joined. */
    joining: {
      entry: 'joinParties',
      on: {
        'parties.joined': {
          target: 'completed',
          actions: [emit({ type: 'BridgeAttendedTransfer', result: 'Success' }), told(200), 'endTransferer'],
        },
        'parties.refused': [
          { guard: 'consults', target: 'recovered', actions: [failed, tellFailure, 'endTalk', 'abandonTarget'] },
          { guard: 'mayHangUp', target: 'settling', actions: [refusedJoin, tellFailure] },
          { target: 'recovered', actions: [refusedJoin, tellFailure] },
        ],
        'parties.early': {
          target: 'dialing',
          actions: assign(({ event }) =>
            event.type === 'parties.early' ? { context: event.context, extension: event.extension } : {},
          ),
        },
        'transferer.left': [
          // The other node may take a moment; the transferee is not to lose the target for that.
          { guard: 'isElsewhere', actions: [] },
          { target: 'failed' },
        ],
        'transferees.left': { target: 'failed', actions: told(487) },
      },
    },
    /** The target is being called. */
    dialing: {
      entry: 'dialTarget',
      on: {
        ...attended,
        'target.ringing': { target: 'ringing', actions: told(180) },
      },
      after: { patience: givenUp },
    },
    /** The target alerts. */
    ringing: {
      on: { ...attended },
      after: { patience: givenUp },
    },
    /** The transferor talks to the target; the others wait. */
    consulting: {
      entry: 'beginTalk',
      on: {
        'transferer.left': 'joining',
        'transferer.completes': 'joining',
        'transferer.aborts': { target: 'recovered', actions: [failed, told(487), 'endTalk', 'abandonTarget'] },
        // The target still exists if the consultation's bridge could not be made.
        'target.failed': { target: 'recovered', actions: [failed, tellFailure, 'endTalk', 'abandonTarget'] },
        'transferees.left': { target: 'failed', actions: [failed, told(487), 'endTalk', 'abandonTarget'] },
      },
    },
    /** The transferor has hung up; the channel to the target has already replaced it. */
    handedOver: {
      on: {
        'target.answered': { target: 'completed', actions: [succeeded, 'calmTransferees'] },
        'target.failed': [
          { guard: 'canCallBack', target: 'callingBack', actions: [failed, 'callBack'] },
          { target: 'failed', actions: [failed, 'calmTransferees'] },
        ],
        'transferees.left': { target: 'failed', actions: [failed, 'abandonTarget'] },
      },
      after: {
        patience: [
          { guard: 'canCallBack', target: 'callingBack', actions: [failed, 'callBack', 'abandonTarget'] },
          { target: 'failed', actions: [failed, 'calmTransferees', 'abandonTarget'] },
        ],
      },
    },
    /** The transferor knows of the failure and still has the others. A phone that then hangs up is called back. */
    settling: {
      on: {
        'transferer.left': [
          { guard: 'hasHungUp', target: 'callingBack', actions: ['callBack', 'alertTransferees'] },
          { target: 'recovered' },
        ],
        'transferer.asksAgain': 'recovered',
        'transferees.left': 'recovered',
      },
      after: { hangupTime: 'recovered' },
    },
    /** The target did not answer: the transferor is called back; the transferee hears it ring. */
    callingBack: {
      on: {
        'transferer.returned': { target: 'recovered', actions: 'calmTransferees' },
        'transferer.lost': { target: 'failed', actions: 'calmTransferees' },
        'transferees.left': { target: 'failed', actions: 'abandonCallBack' },
      },
      after: { patience: { target: 'failed', actions: ['calmTransferees', 'abandonCallBack'] } },
    },
    completed: { type: 'final' },
    /** No party is left to return to, or the application handles it. */
    failed: { type: 'final' },
    /** It came to nothing, and both parties are with each other as before, or again. */
    recovered: { type: 'final' },
  },
});

const ofClient = ['client.progress', 'client.answered', 'client.unavailable', 'client.declined'] as const;

/** Ignored events, with reasons. */
export const transferIgnores: Ignores<typeof transferMachine> = [
  {
    events: ['target.ringing', 'target.answered', 'target.failed'],
    in: ['offered', 'progressing', 'joining', 'settling', 'callingBack'],
    why: 'no target is being called',
  },
  { events: ['target.ringing', 'target.answered'], in: ['consulting'], why: 'it has answered' },
  {
    events: ['transferer.completes', 'transferer.aborts'],
    in: ['offered', 'progressing', 'joining', 'handedOver', 'settling', 'callingBack'],
    why: 'there is no consultation and no pending target',
  },
  { events: ['target.ringing'], in: ['ringing'], why: 'the transferor knows it' },
  { events: ['target.ringing'], in: ['handedOver'], why: 'the transferor has hung up' },
  {
    events: ['parties.joined', 'parties.refused', 'parties.early'],
    in: ['offered', 'progressing', 'dialing', 'ringing', 'consulting', 'handedOver', 'settling', 'callingBack'],
    why: 'two calls are not being joined',
  },
  { events: ['transferer.left'], in: ['handedOver', 'callingBack'], why: 'it has left before' },
  {
    events: ['transferer.returned', 'transferer.lost'],
    in: ['offered', 'progressing', 'joining', 'dialing', 'ringing', 'consulting', 'handedOver', 'settling'],
    why: 'the transferor is not called back',
  },
  {
    events: ['transferer.asksAgain'],
    in: ['offered', 'progressing', 'joining', 'dialing', 'ringing', 'consulting', 'handedOver', 'callingBack'],
    why: 'both continue side by side',
  },
  { events: ['transferees.left'], in: ['offered', 'progressing'], why: 'the application completes the transfer' },
];

type TransferSnapshot = SnapshotFrom<typeof transferMachine>;

/** Commands of clients for a transfer. */
export const transferCommands = ofClient;

/** Why a client may not say how a transfer goes now; undefined when it may: it was not offered to it. */
export function refuseTransferCommand(
  { value }: Pick<TransferSnapshot, 'value'>,
  _command: TransferCommand['type'],
): 'channelInvalidState' | undefined {
  return value === 'offered' || value === 'progressing' ? undefined : 'channelInvalidState';
}

/** Longest expected time in each state, and what ends it. */
export const transferExpectations: Expectations<TransferSnapshot['value']> = {
  offered: { atMost: 60_000, waitsFor: 'the application to report the progress of the transfer' },
  progressing: { atMost: 120_000, waitsFor: 'the application to report the result of the transfer' },
  joining: { atMost: 15_000, waitsFor: 'the parties to be joined, by another node if the other call is there' },
  dialing: { atMost: 60_000, waitsFor: 'a response from the target' },
  ringing: { atMost: 120_000, waitsFor: 'the target to answer' },
  handedOver: { atMost: 120_000, waitsFor: 'the target to answer' },
  settling: { atMost: 30_000, waitsFor: 'the phone to hang up after its failed transfer' },
  callingBack: { atMost: 120_000, waitsFor: 'the transferor to answer' },
};
