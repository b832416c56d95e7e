import { guarded } from '../lib/guard.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type ChannelContext,
  type ChannelFact,
  type ChannelSnapshot,
  type EndedBy,
  lifeOf,
} from '../machines/channel.ts';
import { failedFor, type OwnershipFact } from '../machines/ownership.ts';
import { Cause } from '../telephony/causes.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import { type CallLeg, mostApplications, mostRecordings } from './call-leg.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { Runtime } from './spawn.ts';

/** The end of a leg. */
export type CallEnd = {
  readonly at: number;
  readonly by: EndedBy;
  /** Q.850. */
  readonly cause: number;
  /** The technology's own: a SIP status. */
  readonly techCause: number | undefined;
  /** Its RTP, where it had any. */
  readonly quality: RtpStatistics | undefined;
  /** The reason of a failure that the cause does not show: the requested application was not connected. */
  readonly failure?: string | undefined;
  /** The channel's last context. */
  readonly last: ChannelContext;
};

/** Hears what becomes of calls. Nothing it throws harms a call. */
export interface CallListener {
  /** Whether it listens to internal legs too (halves of Local channels, snoops). Asked when a leg begins. */
  hearsInternal(): boolean;
  began?(leg: CallLeg): void;
  /** `channel`: as it is at the answer. */
  answered?(leg: CallLeg, channel: ChannelContext): void;
  /** It was answered in a process before this one, and goes on here. */
  resumed?(leg: CallLeg): void;
  /** It met an older call and belongs to that from now on; `was` is the call that it belonged to. */
  joined?(leg: CallLeg, was: string): void;
  entered?(leg: CallLeg, application: string): void;
  ended?(leg: CallLeg, end: CallEnd): void;
  /** A channel wanted to enter an application that is not connected. */
  refused?(channel: { channel: string; call: string }, application: string): void;
}

/** Watches channels on behalf of {@link CallListener}s. The owner of channels reports to it. */
export interface CallStory {
  listen(listener: CallListener): void;
  /** A fact of a channel's life, told after the commit. */
  life(entry: ChannelEntry, fact: ChannelFact, current: ChannelSnapshot): void;
  ownership(entry: ChannelEntry, fact: OwnershipFact): void;
  /** It belongs to another call now. */
  linked(entry: ChannelEntry): void;
  refused(entry: ChannelEntry, application: string): void;
  /** It is in a bridge from now on, of which these recordings run. */
  bridged(entry: ChannelEntry, recordings: readonly string[]): void;
  /** A recording of a channel or bridge has begun. */
  recorded(kind: 'channel' | 'bridge', id: string, name: string): void;
  /** The legs there are, as plain JSON. */
  dump(): CallLeg[];
  /** Legs that another process saved, before their channels are {@link restored}. */
  restore(legs: readonly CallLeg[]): void;
  /** A channel was restored that another process saved. */
  restored(entry: ChannelEntry): void;
  /** The channel has ended; its leg is not released yet. */
  gone(entry: ChannelEntry, last: ChannelSnapshot, crashed: boolean): void;
  /** Resolves when listeners have processed all ends so far. */
  settled(): Promise<void>;
}

/** Technologies without a far side outside the server. */
const internal = new Set(['Local', 'Snoop']);

const legOf = ({ context }: ChannelSnapshot, source: string | undefined): CallLeg => {
  const { caller, connected, dialplan, linked, endpoint, dialString } = context;
  const direction = context.origin === 'incoming' ? 'in' : 'out';
  const from = direction === 'in' || connected.number === '' ? caller : connected;
  return {
    channel: context.id,
    call: linked.id,
    name: context.name,
    technology: context.technology,
    endpoint: endpoint?.[1],
    direction,
    from: { number: from.number, name: from.name },
    to: direction === 'in' ? dialplan.exten : dialString,
    protocolId: context.protocolId,
    accountCode: context.accountCode,
    context: dialplan.context,
    source,
    startedAt: context.creationTime,
    answeredAt: undefined,
    applications: [],
    recordings: [],
  };
};

/** Creates the watcher of all channels, without listeners. */
export function createCallStory({ clock, log }: Pick<Runtime, 'clock' | 'log'>): CallStory {
  const listeners: CallListener[] = [];
  const legs = new SlotMap<string, CallLeg>();
  const entries = new SlotMap<string, ChannelEntry>();
  /** Of channels that are not there yet. */
  const savedLegs = new Map<string, CallLeg>();
  const ending = new Set<Promise<void>>();

  const tell = (what: (listener: CallListener) => void): void => {
    for (const listener of listeners) guarded(log, 'telling of a call', () => what(listener))();
  };
  const isWanted = ({ context }: ChannelSnapshot): boolean =>
    listeners.length > 0 &&
    (!internal.has(context.technology) || listeners.some((listener) => listener.hearsInternal()));
  const begin = (entry: ChannelEntry, current: ChannelSnapshot): CallLeg | undefined => {
    const before = savedLegs.get(entry.id);
    savedLegs.delete(entry.id);
    if (!isWanted(current)) return undefined;
    const leg = before ?? legOf(current, entry.leg.source);
    legs.set(leg.channel, leg);
    entries.set(leg.channel, entry);
    return leg;
  };
  const add = (leg: CallLeg, name: string): void => {
    if (!leg.recordings.includes(name) && leg.recordings.length < mostRecordings) leg.recordings.push(name);
  };
  /** Notifies the listeners that follow this kind of leg. */
  const tellOf = (leg: CallLeg, what: (listener: CallListener) => void): void =>
    tell((listener) => {
      if (!internal.has(leg.technology) || listener.hearsInternal()) what(listener);
    });

  return {
    listen: (listener) => void listeners.push(listener),

    life(entry, fact, current) {
      if (fact.type === 'ChannelCreated') {
        const leg = begin(entry, current);
        if (!leg) return;
        tellOf(leg, (listener) => listener.began?.(leg));
        if (lifeOf(current) !== 'up') return;
      } else if (fact.type !== 'ChannelStateChange' || lifeOf(current) !== 'up') return;
      const leg = legs.get(entry.id);
      if (!leg || leg.answeredAt !== undefined) return;
      leg.answeredAt = clock.now();
      leg.codec = entry.leg.formats[0];
      leg.video = entry.leg.video?.streams[0]?.codec;
      tellOf(leg, (listener) => listener.answered?.(leg, current.context));
    },

    ownership(entry, fact) {
      const leg = fact.type === 'StasisStart' ? legs.get(entry.id) : undefined;
      if (!leg || fact.type !== 'StasisStart') return;
      if (!leg.applications.includes(fact.app) && leg.applications.length < mostApplications)
        leg.applications.push(fact.app);
      tellOf(leg, (listener) => listener.entered?.(leg, fact.app));
    },

    linked(entry) {
      const leg = legs.get(entry.id);
      if (!leg) return;
      const was = leg.call;
      leg.call = entry.actor.getSnapshot().context.linked.id;
      if (leg.call !== was) tellOf(leg, (listener) => listener.joined?.(leg, was));
    },

    refused(entry, application) {
      const { linked } = entry.actor.getSnapshot().context;
      tell((listener) => listener.refused?.({ channel: entry.id, call: linked.id }, application));
    },

    bridged(entry, recordings) {
      const leg = legs.get(entry.id);
      if (leg) for (const name of recordings) add(leg, name);
    },

    recorded(kind, id, name) {
      const own = kind === 'channel' ? legs.get(id) : undefined;
      if (own) add(own, name);
      if (kind === 'bridge')
        for (const [channel, leg] of legs)
          if (entries.get(channel)?.actor.getSnapshot().context.bridgeId === id) add(leg, name);
    },

    dump: () => [...legs.values()],
    restore(dumped) {
      for (const leg of dumped) savedLegs.set(leg.channel, { ...leg });
    },
    restored(entry) {
      const current = entry.actor.getSnapshot();
      const isKnown = savedLegs.has(entry.id);
      const leg = begin(entry, current);
      // When it was answered is not known; now at the latest.
      if (leg && !isKnown && lifeOf(current) === 'up') leg.answeredAt = clock.now();
      if (leg?.answeredAt !== undefined) tellOf(leg, (listener) => listener.resumed?.(leg));
    },

    gone({ id, leg: { media }, ownership }, { context }, crashed) {
      const leg = legs.get(id);
      if (!leg) return;
      legs.delete(id);
      entries.delete(id);
      const at = clock.now();
      const { refusedBy } = ownership.getSnapshot().context;
      const how = {
        at,
        by: crashed ? 'fault' : (context.endedBy ?? 'server'),
        cause: crashed ? Cause.temporaryFailure : context.cause,
        techCause: context.techCause,
        last: context,
        failure: refusedBy === undefined ? undefined : failedFor(refusedBy),
      } as const;
      const finish = (quality: RtpStatistics | undefined): void =>
        tellOf(leg, (listener) => listener.ended?.(leg, { ...how, quality }));
      if (internal.has(leg.technology)) return finish(undefined);
      // Requested before the leg closes its session: the session answers earlier requests.
      const told = media.statistics().then(finish, () => finish(undefined));
      ending.add(told);
      void told.then(() => ending.delete(told));
    },

    async settled() {
      await Promise.all(ending);
    },
  };
}
