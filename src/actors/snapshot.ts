import type { Applications } from './applications.ts';
import type { Bridges } from './bridges.ts';
import type { CallStory } from './call-story.ts';
import type { LegOf } from './channel-entry.ts';
import { playTargetOf } from './channel-views.ts';
import type { ChannelPart, Channels, SavedChannels } from './channels.ts';
import type { Contacts } from './contacts.ts';
import {
  type AwayPolicyDump,
  type ConsultationDump,
  type DialDump,
  type Dump,
  readDump,
  type TransferDump,
} from './dumps.ts';
import type { EventGroups } from './event-groups.ts';
import type { ObjectOwnership } from './object-ownership.ts';
import type { OutboundConnections } from './outbound-connections.ts';
import type { Playbacks } from './playbacks.ts';
import type { Recordings, RecordTarget } from './recordings.ts';
import type { Registrations } from './registrations.ts';
import type { Watchers } from './watchers.ts';

/** Owners that save and restore their objects. */
type Saved<D> = { dump(): D[]; restore(dumps: readonly D[]): void };

/** The owners of all actors. */
export type Owners = {
  channels: Channels & SavedChannels;
  /** Left out where media cannot meet. */
  bridges: Bridges | undefined;
  /** Left out without transfers. */
  transfers?: Saved<TransferDump> | undefined;
  /** Left out without transfers. */
  consultations?: Saved<ConsultationDump> | undefined;
  /** Left out without Dials. */
  dials?: Saved<DialDump> | undefined;
  /** Left out where applications are not awaited. */
  awayPolicies?: Saved<AwayPolicyDump> | undefined;
  playbacks: Playbacks;
  recordings: Recordings;
  applications: Applications;
  contacts: Contacts;
  outbound: OutboundConnections;
  registrations: Registrations;
  watchers: Watchers;
  /** Left out if ownership of objects is not used. */
  objectOwnership?: ObjectOwnership | undefined;
  /** Left out if applications are not shared. */
  eventGroups?: Pick<EventGroups, 'ids' | 'dump' | 'restore'> | undefined;
  /** Follows calls for logs and call records. */
  story?: CallStory | undefined;
};

/** Needs of a restore: each channel's leg, restored by its technology. */
export type RestoreOptions = {
  legOf: LegOf;
  /** Waits for applications that were connected, until `applications.settle`. Otherwise they become inactive. */
  awaitsApplications?: boolean;
};

/** A part of what is saved. A snapshot has all parts; a state store writes each again when it has changed. */
export type SavedPart<From, Value = unknown> = More & {
  /** As it is now. Undefined: it is left out. */
  whole(from: From): Value | undefined;
  /** Kinds of changes after which it is written again (`lib/changes.ts`). */
  readonly changedBy: readonly string[];
  /** A list whose elements are written one by one, each after changes of its id. */
  readonly each?: {
    ids(from: From): readonly string[];
    /** The element as it is now; none when it has ended. */
    one(from: From, id: string): readonly unknown[];
    /** Its members are written apart, each after changes of its own kinds. */
    readonly members?: {
      readonly changedBy: Readonly<Record<string, readonly string[]>>;
      /** A new value each time, down to the parts that are written apart. */
      one(from: From, id: string, member: string): readonly unknown[];
      /**
       * Parts of members, by their paths, that seldom change with the rest: entries of their own. One that is the same
       * object as before must not have changed.
       */
      readonly apart: Readonly<Record<string, readonly string[]>>;
    };
  };
};

type More = {
  /** It also changes without a mark: it is written again in every interval, at once or spread over it. */
  readonly changesUnmarked?: 'together' | 'spread';
  /** It stays when a server ends in order: everything else ends with its calls and connections. */
  readonly outlives?: true;
};

export const savedWhole = <From, Value>(
  changedBy: readonly string[],
  whole: (from: From) => Value | undefined,
  more: More = {},
): SavedPart<From, Value> => ({ changedBy, whole, ...more });

/** @param dump the list, or the element with an id */
export const savedList = <From, Element>(
  changedBy: readonly string[],
  ids: (from: From) => readonly string[],
  dump: (from: From, id?: string) => Element[],
  more: More = {},
): SavedPart<From, Element[]> => ({ changedBy, whole: (from) => dump(from), each: { ids, one: dump }, ...more });

/** Effects of all charts of a channel change its leg. */
const channelMembers: Record<ChannelPart, readonly string[]> = {
  ...{ life: ['channel'], companionId: ['channel'], subroutines: ['channel'] },
  step: ['step'],
  ...{ ownership: ['ownership'], audio: ['channelAudio'], leg: ['channel', 'ownership', 'channelAudio', 'leg'] },
};

/** What is fixed when a call begins or is answered, and its streams, which change all the time. */
const apartOfLegs: readonly string[] = [
  ...['call.request', 'call.usage.requests.dialog', 'earlyAnswer'],
  ...['request', 'headers', 'branches.0.placed', 'branches.0.call.dialogs.0.usage.requests.dialog'],
  ...['core.negotiation.session', 'core.negotiation.agreed', 'core.media', 'media'],
];

const channelIds = ({ channels }: Owners): string[] => channels.all().map(({ id }) => id);
const together = { changesUnmarked: 'together' } as const;
const outlives = { outlives: true } as const;

type CallParts = { [K in Exclude<keyof Dump, 'version'>]-?: SavedPart<Owners, Dump[K]> };

/** The parts of call control, by their names in a {@link Dump}. */
export const callParts: CallParts = {
  channels: {
    ...{ whole: ({ channels }) => channels.dump(), changedBy: [], changesUnmarked: 'spread' },
    each: {
      ids: channelIds,
      one: ({ channels }, id) => channels.dump(id),
      members: {
        changedBy: channelMembers,
        one: ({ channels }, id, member) => channels.dumpPart(id, member as ChannelPart),
        apart: { leg: apartOfLegs },
      },
    },
  },
  legs: {
    ...savedList(['channel', 'ownership'], channelIds, ({ story }, id) => story?.dump(id) ?? []),
    changesUnmarked: 'spread',
  },
  bridges: savedList(
    ['bridge', 'bridgeVideo'],
    ({ bridges }) => bridges?.list().map(({ id }) => id) ?? [],
    ({ bridges }, id) => bridges?.dump(id) ?? [],
  ),
  playbacks: savedList(
    ['playback'],
    ({ playbacks }) => playbacks.dump().map(({ actor }) => actor.context.id),
    ({ playbacks }, id) => playbacks.dump(id),
    together,
  ),
  recordings: savedList(
    ['liveRecording'],
    ({ recordings }) => recordings.dump().map(({ plan }) => plan.name),
    ({ recordings }, name) => recordings.dump(name),
    together,
  ),
  applications: {
    ...{ whole: ({ applications }) => applications.dump().applications, changedBy: ['application'], ...outlives },
    each: {
      ids: ({ applications }) => applications.names(),
      // A state store writes each subscription by itself.
      one: ({ applications }, name) =>
        applications.dump(name).applications.map((each) => ({ ...each, subscriptions: [] })),
    },
  },
  connections: savedWhole(['application'], ({ applications }) => applications.dump('').connections, outlives),
  contacts: savedList(
    ['contact'],
    ({ contacts }) => contacts.dump().map(({ context }) => context.contact.id),
    ({ contacts }, id) => contacts.dump(id),
    outlives,
  ),
  registrations: savedWhole(['registration'], ({ registrations }) => registrations.dump()),
  watchers: savedWhole(['watcher'], ({ watchers }) => watchers.dump()),
  transfers: savedWhole(['transfer'], ({ transfers }) => transfers?.dump()),
  consultations: savedWhole(['consultation'], ({ consultations }) => consultations?.dump()),
  dials: savedWhole(['dial', 'featureKeys'], ({ dials }) => dials?.dump()),
  outboundConnections: savedWhole(['outboundConnection'], ({ outbound }) => outbound.dump().outboundConnections),
  awayPolicies: savedWhole(['awayPolicy'], ({ awayPolicies }) => awayPolicies?.dump()),
  orphans: savedWhole(['outboundConnection'], ({ outbound }) => outbound.dump().orphans),
  groupCalls: savedList(
    ['groupCall'],
    ({ eventGroups }) => eventGroups?.ids() ?? [],
    ({ eventGroups }, id) => eventGroups?.dump(id) ?? [],
  ),
  creators: savedWhole(['channel', 'bridge'], ({ objectOwnership: all }) => (all?.size ? all.dump() : undefined)),
};

/**
 * Continues from a dump, in empty owners. Call it before outbound connections start, and after contacts and channels
 * know their drivers. Clients get no events. Work outside charts begins again: a dialplan step (with what its
 * journal has), a playback item (from `heardMs`), a qualify request. Recordings continue their files. Applications without connection are inactive.
 * @throws Error as `readDump`; then nothing is restored.
 */
export function restoreSnapshot(owners: Owners, dumped: unknown, { legOf, awaitsApplications }: RestoreOptions): void {
  const { channels, bridges, playbacks, recordings, applications, contacts, outbound, registrations, watchers } =
    owners;
  const dump = readDump(dumped);
  owners.story?.restore(dump.legs ?? []);
  channels.restore(dump.channels, legOf);
  bridges?.restore(dump.bridges);
  owners.consultations?.restore(dump.consultations ?? []);
  owners.transfers?.restore(dump.transfers ?? []);
  owners.dials?.restore(dump.dials ?? []);
  // Derived states have already been published: they come before their listeners.
  contacts.restore(dump.contacts);
  registrations.restore(dump.registrations ?? []);
  watchers.restore(dump.watchers ?? []);
  applications.restore(dump);
  owners.eventGroups?.restore(dump.groupCalls ?? []);
  outbound.restore(dump);
  owners.objectOwnership?.restore(dump.creators ?? []);
  const recordTarget = (kind: RecordTarget['kind'], id: string): RecordTarget | undefined => {
    const bridge = kind === 'bridge' ? bridges?.find(id) : undefined;
    if (bridge) return bridges?.recordTarget(bridge);
    const channel = kind === 'channel' ? channels.find(id) : undefined;
    if (!channel) return undefined;
    return { kind, id, topics: channel.topics, media: channel.leg.media, queue: playbacks.queueOf({ kind, id }) };
  };
  // Running recordings come before waiting ones.
  const live = dump.recordings ?? [];
  const under = ({ begun }: (typeof live)[number]): boolean => begun !== undefined;
  recordings.restore(live.filter(under), recordTarget);
  playbacks.restore(dump.playbacks, (kind, id) => {
    const channel = kind === 'channel' ? channels.find(id) : undefined;
    const bridge = kind === 'bridge' ? bridges?.find(id) : undefined;
    return (channel && playTargetOf(channel)) ?? (bridge && bridges?.playTarget(bridge));
  });
  recordings.restore(
    live.filter((each) => !under(each)),
    recordTarget,
  );
  bridges?.resume();
  channels.resume();
  owners.awayPolicies?.restore(dump.awayPolicies ?? []);
  if (!awaitsApplications) applications.settle();
}
