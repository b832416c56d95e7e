import type { Bus } from '../bus/bus.ts';
import type { BroadcastOutcome, BroadcastRequest, Ongoing } from '../dialplan/calls.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type BroadcastOfferEvent,
  type BroadcastOfferRun,
  broadcastOfferTable,
  refuseBroadcastOfferOperation,
} from '../machines/broadcast-offer.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import type { AriEventBody } from '../models/events.ts';
import type { ChannelEntry } from './channel-entry.ts';

type BroadcastsOptions = {
  bus: Bus;
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  ids: Pick<Ids, 'hex'>;
  applications: { names(): string[]; isActive(name: string): boolean };
  model(entry: ChannelEntry): Channel;
  /** Sees the charts of offers; left out: nobody. */
  tables?: TableWatch | undefined;
};

/** Offers calls to several applications; the first claim wins. */
export interface Broadcasts {
  /** Offers a channel. It settles with the application that claimed it, or the reason why none did. */
  offer(entry: ChannelEntry, request: BroadcastRequest): Ongoing<BroadcastOutcome>;
  /**
   * Takes a call that is offered for an application; whether that one was asked, or is there, does not matter.
   * @throws AriError claimChannelRequired, claimApplicationRequired, claimNotOffered, claimTooLate.
   */
  claim(request: { channelId?: string | undefined; application?: string | undefined }): void;
  /** Number of calls that are offered, or were claimed a moment ago. */
  readonly size: number;
}

type Claim = Extract<BroadcastOfferEvent, { type: 'claim' }>;

export function createBroadcasts({ bus, clock, ids, applications, model, tables }: BroadcastsOptions): Broadcasts {
  /** By channel id, until the time for claims is over: a late claim gets an error. */
  const offers = new SlotMap<string, BroadcastOfferRun>();

  const tell = (names: readonly string[], event: AriEventBody): void => {
    for (const to of names) bus.publish({ event, topics: [], to });
  };

  /** The applications to ask, in random order, so that none is always first. */
  const asked = (pattern: RegExp): string[] =>
    applications
      .names()
      .filter((name) => applications.isActive(name) && pattern.test(name))
      .map((name) => ({ name, chance: ids.hex(8) }))
      .sort((one, other) => (one.chance < other.chance ? -1 : 1))
      .map(({ name }) => name);

  const offer: Broadcasts['offer'] = (entry, { timeoutMs, pattern, tellsLosers }) => {
    const names = asked(pattern);
    if (names.length === 0) return { done: Promise.resolve('FAILED'), stop: () => {} };
    let settle: (outcome: BroadcastOutcome) => void = () => {};
    const done = new Promise<BroadcastOutcome>((resolve) => {
      settle = resolve;
    });
    const mine: BroadcastOfferRun = new TableRun(
      broadcastOfferTable,
      'offered',
      {
        tellLosers({ application }: Claim) {
          const losers = tellsLosers ? names.filter((name) => name !== application) : [];
          if (losers.length > 0) tell(losers, { type: 'CallClaimed', channel: model(entry), winner_app: application });
        },
        settleClaimed: ({ application }: Claim) => settle({ app: application }),
        settleUnclaimed: () => settle('TIMEOUT'),
        forgetOffer() {
          clock.clearTimeout(timer);
          if (offers.get(entry.id) === mine) offers.delete(entry.id);
        },
      },
      { watch: tables, id: entry.id },
    );
    const timer = clock.setTimeout(() => mine.send({ type: 'time.over' }), timeoutMs);
    offers.set(entry.id, mine);
    const channel = model(entry);
    tell(names, {
      type: 'CallBroadcast',
      channel,
      ...(channel.caller.number === '' ? {} : { caller: channel.caller.number }),
      called: channel.dialplan.exten,
    });
    return { done, stop: () => void mine.send({ type: 'stop' }) };
  };

  return {
    offer,
    claim({ channelId, application }) {
      if (!channelId) throw new AriError('claimChannelRequired');
      if (!application) throw new AriError('claimApplicationRequired');
      const found = offers.get(channelId);
      if (!found) throw new AriError('claimNotOffered');
      if (found.state === 'over') throw new AriError('claimNotOffered');
      const refusal = refuseBroadcastOfferOperation({ value: found.state }, 'claim');
      if (refusal) throw new AriError(refusal);
      found.send({ type: 'claim', application });
    },
    get size() {
      return offers.size;
    },
  };
}
