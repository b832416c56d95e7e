import type { Applications } from './applications.ts';
import type { Bridges } from './bridges.ts';
import type { CallStory } from './call-story.ts';
import type { LegOf } from './channel-entry.ts';
import { playTargetOf } from './channel-views.ts';
import type { Channels, SavedChannels } from './channels.ts';
import type { Contacts } from './contacts.ts';
import {
  type ConsultationDump,
  type DialDump,
  type Dump,
  dumpVersion,
  type LegDump,
  readDump,
  type TransferDump,
} from './dumps.ts';
import type { ObjectOwnership } from './object-ownership.ts';
import type { OutboundConnections } from './outbound-connections.ts';
import type { Playbacks } from './playbacks.ts';
import type { Recordings, RecordTarget } from './recordings.ts';
import type { Registrations } from './registrations.ts';
import type { Watchers } from './watchers.ts';

/** Owners that save and restore their objects. */
type Saved<D> = { dump(): D[]; restore(dumps: readonly D[]): void };

/** The owners of all actors. */
type Owners = {
  channels: Channels & SavedChannels;
  /** Left out where media cannot meet. */
  bridges: Bridges | undefined;
  /** Left out without transfers. */
  transfers?: Saved<TransferDump> | undefined;
  /** Left out without transfers. */
  consultations?: Saved<ConsultationDump> | undefined;
  /** Left out without Dials. */
  dials?: Saved<DialDump> | undefined;
  playbacks: Playbacks;
  recordings: Recordings;
  applications: Applications;
  contacts: Contacts;
  outbound: OutboundConnections;
  registrations: Registrations;
  watchers: Watchers;
  /** Left out if ownership of objects is not used. */
  objectOwnership?: ObjectOwnership | undefined;
  /** Follows calls for logs and call records. */
  story?: CallStory | undefined;
};

/** Needs of a restore: each channel's leg, restored by its technology. */
export type RestoreOptions = {
  legOf: LegOf;
  /** Waits for applications that were connected, until `applications.settle`. Otherwise they become inactive. */
  awaitsApplications?: boolean;
};

/** All of call control as it is now, as plain JSON; between two steps, so not from within an effect. Changes nothing. */
export const takeSnapshot = ({
  channels,
  bridges,
  transfers,
  consultations,
  dials,
  playbacks,
  recordings,
  applications,
  contacts,
  outbound,
  registrations,
  watchers,
  objectOwnership,
  story,
}: Owners): Dump => ({
  version: dumpVersion,
  channels: channels.dump(),
  ...(story && { legs: story.dump() as LegDump[] }),
  bridges: bridges?.dump() ?? [],
  playbacks: playbacks.dump(),
  recordings: recordings.dump(),
  ...applications.dump(),
  contacts: contacts.dump(),
  registrations: registrations.dump(),
  watchers: watchers.dump(),
  transfers: transfers?.dump() ?? [],
  ...(consultations && { consultations: consultations.dump() }),
  dials: dials?.dump() ?? [],
  ...outbound.dump(),
  ...(objectOwnership && objectOwnership.size > 0 && { creators: objectOwnership.dump() }),
});

/**
 * Continues from a dump, in empty owners. Call it before outbound connections start, and after contacts and channels
 * know their drivers. Clients get no events. Work outside charts begins again: a dialplan step, a playback item (from
 * `heardMs`), a qualify request. Recordings continue their files. Applications without connection are inactive.
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
  if (!awaitsApplications) applications.settle();
}
