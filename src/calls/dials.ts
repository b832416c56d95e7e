import type { ChannelEntry } from '../actors/channel-entry.ts';
import type { DialDump } from '../actors/dumps.ts';
import { type Beginning, spawn } from '../actors/spawn.ts';
import type { DialRequest, Ongoing } from '../dialplan/calls.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type DialContext, type DialInput, dialMachine } from '../machines/dial.ts';
import type { DialResult } from '../models/dial.ts';
import { Cause } from '../telephony/causes.ts';
import { DialSession, type DialsOptions } from './dial-session.ts';
import { release } from './dial-targets.ts';

/** Owns every Dial: calls others for a channel that runs the dialplan, and joins it with the first that answers. */
interface Dials {
  /** Starts a Dial, or continues the saved one of that channel. */
  dial(caller: ChannelEntry, request: DialRequest): Ongoing<DialResult>;
  readonly size: number;
}

/** Makes the owner of all Dials. */
export function createDials(options: DialsOptions): Dials {
  const { ids, running } = options;
  const sessions = new SlotMap<string, DialSession>();
  const of = ({ id }: DialContext): DialSession | undefined => sessions.get(id);

  const machine = onFirstUse(() =>
    dialMachine.provide({
      actions: {
        beginWaiting: ({ context }) => of(context)?.beginWaiting(context),
        endWaiting: ({ context }) => of(context)?.endWaiting(context),
        heedCaller: ({ context }) => of(context)?.heedCaller(context),
        ignoreCaller: ({ context }) => of(context)?.ignoreCaller(),
        openTargets: ({ context }) => of(context)?.openTargets(context),
        prepareTargets: ({ context }) => void of(context)?.prepareTargets(context),
        dialTargets: ({ context }) => of(context)?.dialTargets(context),
        releaseTargets: ({ context }, { cause }) => of(context)?.releaseTargets(context.callees, cause),
        alertCaller: ({ context }) => of(context)?.early.ring(),
        hearCallee: ({ context }, { channelId }) => of(context)?.early.hear(channelId),
        hearAnother: ({ context }, { channelId }) => of(context)?.early.gone(channelId, context.callees),
        followReplacement: ({ context }, { channelId, by }) => of(context)?.followReplacement(channelId, by),
        keepPeer: ({ context }) => of(context)?.keepPeer(context),
        screenPeer: ({ context }) => void of(context)?.screenPeer(context),
        answerCaller: ({ context }) => of(context)?.answerCaller(),
        joinParties: ({ context }) => of(context)?.joinParties(context),
        watchParties: ({ context }) => of(context)?.watchParties(context),
        reviewParties: ({ context }) => of(context)?.reviewParties(context),
        leaveParties: ({ context }) => of(context)?.leaveParties(),
        hangUpPeer: ({ context }) => of(context)?.hangUp(context.peer?.channelId),
        sendPeerOn: ({ context }, { position }) => of(context)?.sendPeerOn(context, position),
        hangUpParty: ({ context }, { channelId }) => of(context)?.hangUp(channelId),
        destroyBridge: ({ context }) => of(context)?.destroyBridge(context),
      },
    }),
  );

  const start = (
    id: string,
    caller: ChannelEntry,
    leaves: DialRequest['leaves'],
    beginning: Beginning<DialInput>,
  ): DialSession => {
    const session = new DialSession(caller, leaves, options);
    options.dialSessions.add(caller.id, session);
    sessions.set(id, session);
    const number = running?.add(session);
    spawn(machine(), {
      id,
      ...beginning,
      runtime: options.runtime,
      onCreated: (actor) => {
        session.actor = actor;
      },
      onEnded: (error) => {
        sessions.delete(id);
        if (number !== undefined) running?.remove(number);
        options.dialSessions.remove(session);
        session.release(error !== undefined);
      },
    });
    return session;
  };

  const begin = (caller: ChannelEntry, { leaves, ...request }: DialRequest): DialSession => {
    const id = ids.uuid();
    return start(id, caller, leaves, { input: { id, caller: caller.id, ...request } });
  };

  /** Goes on where another process left off; what comes before calls, or behind an answer, begins again. */
  const goOn = (caller: ChannelEntry, request: DialRequest, { actor, keys }: DialDump): DialSession => {
    const { value, context } = actor;
    if (value === 'calling' || value === 'together') {
      const session = start(context.id, caller, request.leaves, { from: actor });
      session.resume(keys);
      return session;
    }
    const { callees, peer } = context;
    for (const { channelId } of peer ? [...callees, peer] : callees) {
      const entry = options.channels.find(channelId);
      if (entry) release(options.channels, entry, Cause.normalClearing);
    }
    return begin(caller, request);
  };

  return {
    dial(caller, request) {
      const dump = running?.take(caller.id);
      return dump ? goOn(caller, request, dump) : begin(caller, request);
    },
    get size() {
      return sessions.size;
    },
  };
}
