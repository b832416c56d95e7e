import { restoreSnapshot } from '../actors/snapshot.ts';
import { LostLeg } from '../drivers/lost-leg.ts';
import type { SipDriver, SipDriverData } from '../drivers/sip/driver.ts';
import type { TransactionsData } from '../sip/transaction/transaction.ts';
import { type Driver, DriverError, type Leg, type LegData, type Report } from '../telephony/driver.ts';
import type { SnoopDriver } from '../telephony/snoop.ts';
import { isBound } from './moved.ts';
import { type Floors, ownersOf, savedParts, saversOf } from './saved-parts.ts';
import { recallEvents } from './saved-state.ts';
import { emptyServerData, put, type ServerData } from './server-data.ts';

/** The drivers whose legs go on. */
type Drivers = { sip: SipDriver; others: readonly Driver[] };

/** A whole server as it is now, as plain JSON; between two steps of its actors. Changes nothing. */
export function snapshotServer(floors: Floors, sip: SipDriver): ServerData {
  const data = emptyServerData();
  const savers = saversOf(floors, sip);
  for (const [path, { whole }] of Object.entries(savedParts)) put(data, path, whole(savers));
  // A snapshot must not change later.
  return JSON.parse(JSON.stringify(data)) as ServerData;
}

/** Saved data could not be restored: the message names the channel or other data that cannot continue. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

/**
 * Continues from saved data: the floors know their drivers and are empty, SIP listens without processing.
 * @throws Error naming the channel or other data that cannot continue; then everything built has to be closed.
 */
function restoreServer(floors: Floors, { sip, others }: Drivers, data: ServerData): void {
  const { base, network, state, calls } = floors;
  const { log, clock } = base;
  base.ids.goOn(data.channelIds);
  state.globals.restore(data.globals);
  state.mailboxes.restore(data.mailboxes);
  state.bans.restore(data.bans ?? []);
  state.keptAnswers.restore(data.answers ?? []);
  state.endpoints.restore(data.endpoints);
  state.deviceStates.restore(data.deviceStates);
  network.transactions.restore(data.sip.transactions as TransactionsData);
  const driver = data.sip.driver as unknown as SipDriverData;
  // Subscribers are actors; others are not kept.
  const watching = new Set((data.calls.watchers ?? []).map(({ context }) => context.watcher.id));
  sip.restore({ ...driver, subscriptions: driver.subscriptions.filter(({ key }) => watching.has(key)) });

  const snoops = calls.snoopDriver;
  const drivers = [sip, ...others];
  const lost: LostLeg[] = [];
  const legOf = (channel: { id: string; technology: string }, report: Report, leg: LegData): Leg => {
    try {
      if (base.io.standIn && isBound(leg))
        throw new DriverError('technology', 'the audio of a browser stays at its address');
      return resume({ drivers, snoops, audioOf: (id) => calls.channels.find(id)?.leg.media }, channel, report, leg);
    } catch (error) {
      if (!(error instanceof DriverError) || error.part === 'data')
        throw new Error(`the channel ${channel.id} cannot be restored: ${(error as Error).message}`, { cause: error });
      log.warn({ channel: channel.id, reason: error.message }, 'a channel cannot continue and is hung up');
      const substitute = new LostLeg(network.media, channel.id, report);
      lost.push(substitute);
      return substitute;
    }
  };
  // Contacts of removed phones are dropped.
  const contacts = data.calls.contacts.filter(
    ({ context: { contact } }) => contact.technology !== sip.technology || sip.hasContact(contact.id),
  );
  const wanted = new Set(sip.wantedRegistrations().map(({ id }) => id));
  // A stand-in has another address than what was registered.
  const registered = base.io.standIn ? [] : (data.calls.registrations ?? []);
  const registrations = registered.filter(({ context }) => wanted.has(context.registration.id));
  const watchers = (data.calls.watchers ?? []).filter(({ context }) => sip.hasSubscription(context.watcher.id));
  restoreSnapshot(
    ownersOf(floors),
    { ...data.calls, contacts, registrations, watchers },
    { legOf, awaitsApplications: true },
  );
  calls.meeting.bridgeLinks?.resume();
  const settle = (): void => {
    state.eventGroups.settle();
    state.applications.settle();
  };
  const patience = clock.setTimeout(settle, base.config.general.return_timeout * 1000);
  base.scope.defer(() => clock.clearTimeout(patience));
  for (const leg of lost) clock.soon(() => leg.lose());
  log.info(
    { channels: calls.channels.size, contacts: state.contacts.size },
    'restored the snapshot of another process',
  );
}

/** As `restoreServer`. @throws RestoreError */
export function restore(floors: Floors, drivers: Drivers, data: ServerData): void {
  const { stateStore, recorder } = floors.base;
  if (stateStore && recorder.on) recallEvents(stateStore, recorder);
  try {
    restoreServer(floors, drivers, data);
  } catch (error) {
    throw new RestoreError((error as Error).message, { cause: error });
  }
}

type Resumers = {
  drivers: readonly Driver[];
  snoops: SnoopDriver | undefined;
  audioOf(id: string): Leg['media'] | undefined;
};

function resume(
  { drivers, snoops, audioOf }: Resumers,
  { id, technology }: { id: string; technology: string },
  report: Report,
  data: LegData,
): Leg {
  if (technology === snoops?.technology) return snoops.resume(data, id, audioOf, report);
  const driver = drivers.find((each) => each.technology === technology);
  if (!driver) throw new DriverError('technology', `calls of the technology ${technology} are not restored`);
  return driver.resume(data, id, report);
}
