import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import type { ConsultationDump } from '../actors/dumps.ts';
import { type Actor, type Beginning, type Runtime, spawn } from '../actors/spawn.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type ConsultationContext,
  type ConsultationEvent,
  type ConsultationInput,
  consultationMachine,
} from '../machines/consultation.ts';
import type { DialSessions } from './dial-sessions.ts';
import { openPlainBridge, plainEntry, unlessLimited } from './plain-bridges.ts';
import { livingIn, type Swaps } from './swaps.ts';
import type { Joining } from './transfer-events.ts';

type ConsultationsOptions = {
  runtime: Runtime;
  channels: Channels;
  views: Pick<ChannelViews, 'model'>;
  bridges: Bridges;
  dialSessions: DialSessions;
  swaps: Swaps;
  log: Logger;
};

/** The surroundings of both parties during the consultation call. */
type ConsultationParties = Pick<Joining, 'first' | 'second'>;

/** Reports of a consultation call to its transfer. */
type ConsultationReport =
  /** It could not be begun; all is as it was. */
  | { type: 'refused' }
  /** Another command separated the two: `end` it. */
  | { type: 'parted' }
  /**
   * The target is with the waiting party, in `into`. The transferor has no partner. `from` is the bridge of the
   * consultation.
   */
  | { type: 'completed'; parties: ConsultationParties; into: BridgeEntry; from: BridgeEntry }
  /** The target could not join the waiting party: `end` it. */
  | { type: 'incomplete' };

/** Owns consultation calls: parties that transfer talk to the target first, while the others wait with music. */
export interface Consultations {
  /** Sets the listener for all reports, by transfer id. Call it once, before the first consultation. */
  onReport(listener: (id: string, report: ConsultationReport) => void): void;
  begin(talk: ConsultationInput): void;
  /** The surroundings of both parties; undefined without a consultation call. */
  parties(id: string): ConsultationParties | undefined;
  /** Moves the target to the waiting party. */
  complete(id: string): void;
  /** Returns the transferor to the waiting party. Does nothing without a consultation call. */
  end(id: string): void;
  dump(): ConsultationDump[];
  /** Takes them up again, after the channels and bridges that they are about. */
  restore(dumps: readonly ConsultationDump[]): void;
  readonly size: number;
}

/** The part of a consultation call outside its chart. */
type Talk = {
  actor: Actor<typeof consultationMachine>;
  unwatch: (() => void) | undefined;
  completed: Extract<ConsultationReport, { type: 'completed' }> | undefined;
};

/** A party whose keys are listened to. */
const keyEntry = { ...plainEntry, absorbsDigits: true } as const;

/** Makes the owner of all consultation calls. */
export const createConsultations = (options: ConsultationsOptions): Consultations => new ConsultationOwner(options);

class ConsultationOwner implements Consultations {
  readonly #options: ConsultationsOptions;
  /** By the id of the transfer. */
  readonly #talks = new SlotMap<string, Talk>();
  readonly #living: ReturnType<typeof livingIn>;
  readonly #machine: () => typeof consultationMachine;
  #report = (_id: string, _report: ConsultationReport): void => {};

  constructor(options: ConsultationsOptions) {
    this.#options = options;
    this.#living = livingIn(options.channels);
    this.#machine = onFirstUse(() =>
      consultationMachine.provide({
        actions: {
          openTalk: ({ context }) =>
            this.#send(context.id, { type: this.#open(context) ? 'talk.opened' : 'talk.refused' }),
          watchTalk: ({ context }) => this.#watch(context),
          completeTalk: ({ context }) =>
            this.#send(context.id, { type: this.#complete(context) ? 'talk.completed' : 'completion.refused' }),
          returnParty: ({ context }) => this.#returnParty(context),
          tellRefused: ({ context: { id } }) => this.#report(id, { type: 'refused' }),
          tellParted: ({ context: { id } }) => this.#report(id, { type: 'parted' }),
          tellCompleted: ({ context: { id } }) => {
            const completed = this.#talks.get(id)?.completed;
            if (completed) this.#report(id, completed);
          },
          tellIncomplete: ({ context: { id } }) => this.#report(id, { type: 'incomplete' }),
        },
      }),
    );
  }

  onReport(listener: (id: string, report: ConsultationReport) => void): void {
    this.#report = listener;
  }

  begin(input: ConsultationInput): void {
    this.#start(input.id, { input });
  }

  parties(id: string): ConsultationParties | undefined {
    const context = this.#talks.get(id)?.actor.getSnapshot().context;
    return context && this.#partiesOf(context);
  }

  complete(id: string): void {
    this.#send(id, { type: 'complete' });
  }

  end(id: string): void {
    this.#send(id, { type: 'end' });
  }

  dump(): ConsultationDump[] {
    return [...this.#talks.values()].map(({ actor }) => actor.dump() as ConsultationDump);
  }

  restore(dumps: readonly ConsultationDump[]): void {
    for (const from of dumps) {
      this.#start(from.context.id, { from });
      this.#watch(from.context);
    }
  }

  get size(): number {
    return this.#talks.size;
  }

  #start(id: string, beginning: Beginning<ConsultationInput>): void {
    const talk: Talk = { actor: undefined as never, unwatch: undefined, completed: undefined };
    spawn(this.#machine(), {
      id,
      ...beginning,
      runtime: this.#options.runtime,
      onCreated: (actor) => {
        talk.actor = actor;
        this.#talks.set(id, talk);
      },
      onEnded: (error) => {
        talk.unwatch?.();
        this.#talks.delete(id);
        if (error === undefined) return;
        this.#returnParty(talk.actor.getSnapshot().context);
        this.#report(id, { type: 'parted' });
      },
    });
  }

  #send(id: string, event: ConsultationEvent): void {
    this.#talks.get(id)?.actor.send(event);
  }

  /* ---- Effects ----------------------------------------------------------------------------------------------------- */

  /** @returns false where they cannot talk; then all is as it was. */
  #open({ transferer, targetId, bridgeId, waitingIn }: ConsultationContext): boolean {
    const { bridges, dialSessions, runtime } = this.#options;
    const [party, target, waiting] = [this.#living(transferer), this.#living(targetId), bridges.find(waitingIn)];
    if (!party || !target || !waiting || bridges.bridgeOf(transferer) !== waiting) return false;
    const room = this.#attempt(transferer, () =>
      openPlainBridge(bridges, { id: bridgeId, creationTime: runtime.clock.now() }),
    );
    if (!room) return false;
    dialSessions.absent(transferer, true);
    const isTalking = this.#attempt(transferer, () => {
      bridges.enter(room, target, plainEntry);
      bridges.enter(room, party, keyEntry);
      return true;
    });
    if (!isTalking) {
      dialSessions.absent(transferer, false);
      bridges.destroy(room);
      return false;
    }
    bridges.entertain(waiting, 'default');
    return true;
  }

  #watch(context: ConsultationContext): void {
    const talk = this.#talks.get(context.id);
    const room = this.#options.bridges.find(context.bridgeId);
    if (!talk || !room) return;
    talk.unwatch = hearBridge(this.#options.bridges, room.id, () => this.#look(context));
  }

  #look({ id, transferer, targetId, bridgeId }: ConsultationContext): void {
    const { bridges } = this.#options;
    if (this.#living(transferer) && bridges.bridgeOf(transferer)?.id !== bridgeId)
      this.#send(id, { type: 'party.elsewhere' });
    // The party also leaves a bridge that is being destroyed.
    const room = bridges.find(bridgeId);
    if (room && this.#living(targetId) && bridges.bridgeOf(targetId) !== room)
      this.#send(id, { type: 'target.elsewhere' });
  }

  #partiesOf(context: ConsultationContext): ConsultationParties | undefined {
    const { channels, views, bridges } = this.#options;
    const [party, target] = [channels.find(context.transferer), channels.find(context.targetId)];
    const [room, waiting] = [bridges.find(context.bridgeId), bridges.find(context.waitingIn)];
    if (!party || !target || !room || !waiting) return undefined;
    const channel = views.model(party);
    const [peer, ...others] = [...waiting.stays.values()].map((stay) => views.model(stay.channel));
    return {
      first: { channel, bridge: bridges.model(waiting), ...(peer && others.length === 0 && { peer }) },
      second: { channel, bridge: bridges.model(room), peer: views.model(target) },
    };
  }

  /** @returns false if the target cannot join the waiting party. */
  #complete(context: ConsultationContext): boolean {
    const { id, transferer, targetId, bridgeId, waitingIn } = context;
    const { bridges, swaps } = this.#options;
    const talk = this.#talks.get(id);
    const parties = this.#partiesOf(context);
    const target = this.#living(targetId);
    const [from, into] = [bridges.find(bridgeId), bridges.find(waitingIn)];
    if (!talk || !parties || !target || !from || !into || into.stays.size === 0) return false;
    talk.completed = this.#attempt(transferer, () => {
      swaps.replaceAbsent(target, transferer, into);
      return { type: 'completed' as const, parties, into, from };
    });
    return talk.completed !== undefined;
  }

  #returnParty({ transferer, bridgeId, waitingIn }: ConsultationContext): void {
    const { bridges, dialSessions } = this.#options;
    const [room, waiting, party] = [bridges.find(bridgeId), bridges.find(waitingIn), this.#living(transferer)];
    const where = bridges.bridgeOf(transferer);
    if (party && waiting && (!where || where === room))
      this.#attempt(transferer, () => bridges.enter(waiting, party, keyEntry));
    dialSessions.absent(transferer, false);
    if (room) bridges.destroy(room);
  }

  #attempt<T>(channel: string, what: () => T): T | undefined {
    const { log } = this.#options;
    return unlessLimited(what, ({ message: reason }) =>
      log.warn({ channel, reason }, 'a transfer could not join the transferor and the target'),
    );
  }
}
