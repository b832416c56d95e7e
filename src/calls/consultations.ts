import type { BridgeEntry, Bridges } from '../actors/bridges.ts';
import type { Channels } from '../actors/channels.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { TransferContext } from '../machines/transfer.ts';
import { AriError } from '../models/errors.ts';
import type { Companies } from './companies.ts';
import { livingIn } from './living.ts';
import type { Places } from './places.ts';
import { openPlainBridge, plainEntry } from './plain-bridges.ts';
import type { Joining } from './transfer-events.ts';

export type ConsultationsOptions = {
  channels: Channels;
  bridges: Bridges;
  companies: Companies;
  places: Places;
  clock: Clock;
  log: Logger;
};

/** A party, whom it talks to before others are put through to it, and the bridges for both: see `TransferInput.consults`. */
export type Consultation = Pick<TransferContext, 'transferer' | 'targetId' | 'consults'>;

/** Lets parties that put others through talk to the target first, while these wait with music. */
export interface Consultations {
  /** Both talk. @returns false where that cannot be; then all is as it was. */
  begin(talk: Consultation): boolean;
  /** Who is where while both talk. */
  scenes(talk: Consultation): Pick<Joining, 'first' | 'second'> | undefined;
  /** Whether both are still where they talk. */
  goesOn(talk: Consultation): boolean;
  /** The party is back with those who wait, if it is still there; nothing happens where nobody talks. */
  end(talk: Consultation): void;
  /**
   * The target goes to those who wait; the party is with nobody then.
   * @returns the bridge that they are in, and the one that is no more; undefined where one of them is gone.
   */
  complete(talk: Consultation): { into: BridgeEntry; from: BridgeEntry } | undefined;
}

/** Makes what lets parties talk to whom they put others through to. */
export function createConsultations(options: ConsultationsOptions): Consultations {
  const { channels, bridges, companies, places, clock, log } = options;

  const living = livingIn(channels);

  const roomsOf = ({ consults }: Consultation): { room?: BridgeEntry; waiting?: BridgeEntry } => {
    const [room, waiting] = [bridges.find(consults?.bridgeId ?? ''), bridges.find(consults?.waitingIn ?? '')];
    return { ...(room && { room }), ...(waiting && { waiting }) };
  };

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

  /** A party whose keys are listened to. */
  const keyEntry = { ...plainEntry, absorbsDigits: true } as const;

  return {
    begin(talk) {
      const { transferer, targetId, consults } = talk;
      const [party, target] = [living(transferer), living(targetId)];
      const { waiting } = roomsOf(talk);
      if (!party || !target || !consults || !waiting || bridges.bridgeOf(transferer) !== waiting) return false;
      const room = attempt(transferer, () =>
        openPlainBridge(bridges, { id: consults.bridgeId, creationTime: clock.now() }),
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
    },

    scenes(talk) {
      const [party, target] = [channels.find(talk.transferer), channels.find(talk.targetId)];
      const { room, waiting } = roomsOf(talk);
      if (!party || !target || !room || !waiting) return undefined;
      const channel = channels.model(party);
      const [peer, ...others] = [...waiting.stays.values()].map((stay) => channels.model(stay.channel));
      return {
        first: { channel, bridge: bridges.model(waiting), ...(peer && others.length === 0 && { peer }) },
        second: { channel, bridge: bridges.model(room), peer: channels.model(target) },
      };
    },

    goesOn(talk) {
      const { transferer, targetId, consults } = talk;
      if (living(transferer) && bridges.bridgeOf(transferer)?.id !== consults?.bridgeId) return false;
      // Where the bridge is being destroyed the party will leave it, too.
      const { room } = roomsOf(talk);
      return !room || !living(targetId) || bridges.bridgeOf(targetId) === room;
    },

    end(talk) {
      const { transferer, consults } = talk;
      if (!consults) return;
      const { room, waiting } = roomsOf(talk);
      const party = living(transferer);
      const where = bridges.bridgeOf(transferer);
      if (party && waiting && (!where || where === room))
        attempt(transferer, () => bridges.enter(waiting, party, keyEntry));
      companies.absent(transferer, false);
      if (room) bridges.destroy(room);
    },

    complete(talk) {
      const { transferer, targetId } = talk;
      const target = living(targetId);
      const { room, waiting } = roomsOf(talk);
      if (!target || !room || !waiting || waiting.stays.size === 0) return undefined;
      return attempt(transferer, () => {
        places.takeSeat(target, transferer, waiting);
        return { into: waiting, from: room };
      });
    },
  };
}
