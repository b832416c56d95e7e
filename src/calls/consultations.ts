import type { BridgeEntry, Bridges } from '../actors/bridges.ts';
import type { Channels } from '../actors/channels.ts';
import type { ConsultationDump } from '../actors/dumps.ts';
import { type Actor, type Beginning, type Runtime, spawn } from '../actors/spawn.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type ConsultationContext,
  type ConsultationEvent,
  type ConsultationInput,
  consultationMachine,
} from '../machines/consultation.ts';
import { AriError } from '../models/errors.ts';
import type { Companies } from './companies.ts';
import { livingIn } from './living.ts';
import type { Places } from './places.ts';
import { openPlainBridge, plainEntry } from './plain-bridges.ts';
import type { Joining } from './transfer-events.ts';

export type ConsultationsOptions = {
  runtime: Runtime;
  channels: Channels;
  bridges: Bridges;
  companies: Companies;
  places: Places;
  log: Logger;
};

/** Who was where while both talked. */
export type ConsultationScenes = Pick<Joining, 'first' | 'second'>;

/** What the transfer is told of its consultation call. */
export type ConsultationReport =
  /** It could not be begun; all is as it was. */
  | { type: 'refused' }
  /** Somebody else has parted the two who talk: `end` it. */
  | { type: 'parted' }
  /** The target is with those who wait, in `into`; the party is with nobody. The bridge of the talk is `from`. */
  | { type: 'completed'; scenes: ConsultationScenes; into: BridgeEntry; from: BridgeEntry }
  /** The target could not go to those who wait: `end` it. */
  | { type: 'incomplete' };

/** Owns consultation calls: parties that transfer talk to the target first, while the others wait with music. */
export interface Consultations {
  /** Hears of all that become of them, by the id of the transfer. Called once, before any begins. */
  onReport(listener: (id: string, report: ConsultationReport) => void): void;
  begin(talk: ConsultationInput): void;
  /** Who is where while both talk; undefined where nobody does. */
  scenes(id: string): ConsultationScenes | undefined;
  /** The target is to go to those who wait. */
  complete(id: string): void;
  /** The party is to be back with those who wait; nothing happens where nobody talks. */
  end(id: string): void;
  dump(): ConsultationDump[];
  /** Takes them up again, after the channels and bridges that they are about. */
  restore(dumps: readonly ConsultationDump[]): void;
  readonly size: number;
}

/** What a consultation call holds beside its chart. */
type Talk = {
  actor: Actor<typeof consultationMachine>;
  unwatch: (() => void) | undefined;
  completed: Extract<ConsultationReport, { type: 'completed' }> | undefined;
};

/** A party whose keys are listened to. */
const keyEntry = { ...plainEntry, absorbsDigits: true } as const;

/** Makes the owner of all consultation calls. */
export function createConsultations(options: ConsultationsOptions): Consultations {
  const { runtime, channels, bridges, companies, places, log } = options;
  /** By the id of the transfer. */
  const talks = new SlotMap<string, Talk>();
  const living = livingIn(channels);
  let report = (_id: string, _report: ConsultationReport): void => {};

  const send = (id: string, event: ConsultationEvent): void => talks.get(id)?.actor.send(event);

  /** What a bound forbids is logged. */
  const attempt = <T>(channel: string, what: () => T): T | undefined => {
    try {
      return what();
    } catch (error) {
      if (!(error instanceof AriError)) throw error;
      log.warn({ channel, reason: error.message }, 'a party could not be joined with whom it puts others through to');
      return undefined;
    }
  };

  /** @returns false where they cannot talk; then all is as it was. */
  const open = ({ transferer, targetId, bridgeId, waitingIn }: ConsultationContext): boolean => {
    const [party, target, waiting] = [living(transferer), living(targetId), bridges.find(waitingIn)];
    if (!party || !target || !waiting || bridges.bridgeOf(transferer) !== waiting) return false;
    const room = attempt(transferer, () =>
      openPlainBridge(bridges, { id: bridgeId, creationTime: runtime.clock.now() }),
    );
    if (!room) return false;
    companies.absent(transferer, true);
    const isTalking = attempt(transferer, () => {
      bridges.enter(room, target, plainEntry);
      bridges.enter(room, party, keyEntry);
      return true;
    });
    if (!isTalking) {
      companies.absent(transferer, false);
      bridges.destroy(room);
      return false;
    }
    bridges.entertain(waiting, 'default');
    return true;
  };

  const look = ({ id, transferer, targetId, bridgeId }: ConsultationContext): void => {
    if (living(transferer) && bridges.bridgeOf(transferer)?.id !== bridgeId) send(id, { type: 'party.elsewhere' });
    // Where the bridge is being destroyed the party will leave it, too.
    const room = bridges.find(bridgeId);
    if (room && living(targetId) && bridges.bridgeOf(targetId) !== room) send(id, { type: 'target.elsewhere' });
  };

  const watch = (context: ConsultationContext): void => {
    const talk = talks.get(context.id);
    const room = bridges.find(context.bridgeId);
    if (talk && room) talk.unwatch = room.actor.watch(() => look(context));
  };

  const scenesOf = (context: ConsultationContext): ConsultationScenes | undefined => {
    const [party, target] = [channels.find(context.transferer), channels.find(context.targetId)];
    const [room, waiting] = [bridges.find(context.bridgeId), bridges.find(context.waitingIn)];
    if (!party || !target || !room || !waiting) return undefined;
    const channel = channels.model(party);
    const [peer, ...others] = [...waiting.stays.values()].map((stay) => channels.model(stay.channel));
    return {
      first: { channel, bridge: bridges.model(waiting), ...(peer && others.length === 0 && { peer }) },
      second: { channel, bridge: bridges.model(room), peer: channels.model(target) },
    };
  };

  const complete = (context: ConsultationContext): boolean => {
    const { id, transferer, targetId, bridgeId, waitingIn } = context;
    const talk = talks.get(id);
    const scenes = scenesOf(context);
    const target = living(targetId);
    const [from, into] = [bridges.find(bridgeId), bridges.find(waitingIn)];
    if (!talk || !scenes || !target || !from || !into || into.stays.size === 0) return false;
    talk.completed = attempt(transferer, () => {
      places.takeSeat(target, transferer, into);
      return { type: 'completed' as const, scenes, into, from };
    });
    return talk.completed !== undefined;
  };

  const returnParty = ({ transferer, bridgeId, waitingIn }: ConsultationContext): void => {
    const [room, waiting, party] = [bridges.find(bridgeId), bridges.find(waitingIn), living(transferer)];
    const where = bridges.bridgeOf(transferer);
    if (party && waiting && (!where || where === room))
      attempt(transferer, () => bridges.enter(waiting, party, keyEntry));
    companies.absent(transferer, false);
    if (room) bridges.destroy(room);
  };

  const machine = consultationMachine.provide({
    actions: {
      openTalk: ({ context }) => send(context.id, { type: open(context) ? 'talk.opened' : 'talk.refused' }),
      watchTalk: ({ context }) => watch(context),
      completeTalk: ({ context }) =>
        send(context.id, { type: complete(context) ? 'talk.completed' : 'completion.refused' }),
      returnParty: ({ context }) => returnParty(context),
      tellRefused: ({ context: { id } }) => report(id, { type: 'refused' }),
      tellParted: ({ context: { id } }) => report(id, { type: 'parted' }),
      tellCompleted: ({ context: { id } }) => {
        const completed = talks.get(id)?.completed;
        if (completed) report(id, completed);
      },
      tellIncomplete: ({ context: { id } }) => report(id, { type: 'incomplete' }),
    },
  });

  const start = (id: string, beginning: Beginning<ConsultationInput>): void => {
    const talk: Talk = { actor: undefined as never, unwatch: undefined, completed: undefined };
    spawn(machine, {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        talk.actor = actor;
        talks.set(id, talk);
      },
      onEnded: (error) => {
        talk.unwatch?.();
        talks.delete(id);
        if (error === undefined) return;
        returnParty(talk.actor.getSnapshot().context);
        report(id, { type: 'parted' });
      },
    });
  };

  return {
    onReport(listener) {
      report = listener;
    },
    begin: (input) => start(input.id, { input }),
    scenes(id) {
      const context = talks.get(id)?.actor.getSnapshot().context;
      return context && scenesOf(context);
    },
    complete: (id) => send(id, { type: 'complete' }),
    end: (id) => send(id, { type: 'end' }),
    dump: () => [...talks.values()].map(({ actor }) => actor.dump() as ConsultationDump),
    restore(dumps) {
      for (const from of dumps) {
        start(from.context.id, { from });
        watch(from.context);
      }
    },
    get size() {
      return talks.size;
    },
  };
}
