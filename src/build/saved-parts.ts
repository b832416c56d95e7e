import { callParts, type Owners, type SavedPart, savedList, savedWhole } from '../actors/snapshot.ts';
import type { SipDriver } from '../drivers/sip/driver.ts';
import { idOf } from '../stores/kept-answers.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import type { Network } from './network.ts';
import { type ServerData, serverDataVersion } from './server-data.ts';
import type { State } from './state.ts';

export type Floors = { base: Base; network: Network; state: State; calls: CallControl };

/** Owners of everything that is saved. */
type Savers = Owners & Pick<Floors, 'base' | 'network' | 'state'> & { sip: SipDriver };

export const ownersOf = ({ base, state, calls }: Floors) => ({
  story: base.story,
  channels: calls.channels,
  bridges: calls.meeting.bridges,
  transfers: calls.meeting.transfers,
  consultations: calls.meeting.consultations,
  dials: calls.meeting.dials,
  awayPolicies: calls.away,
  playbacks: calls.playbacks,
  recordings: calls.recordings,
  applications: state.applications,
  contacts: state.contacts,
  outbound: calls.outbound,
  registrations: state.registrations,
  watchers: state.watchers,
  objectOwnership: state.objectOwnership,
  eventGroups: state.eventGroups,
});

export const saversOf = (floors: Floors, sip: SipDriver): Savers => ({ ...ownersOf(floors), ...floors, sip });

type Part = SavedPart<Savers>;

const outlives = { outlives: true } as const;

const transactions = (kind: 'client' | 'server') => ({
  keys: ({ network }: Savers) => network.transactions.keys(kind),
  dump({ network: { transactions } }: Savers, key?: string): unknown[] {
    if (key === undefined) return [...transactions.dump()[`${kind}s`]];
    const one = transactions.dumpOne(kind, key);
    return one ? [one] : [];
  },
});
const [clients, servers] = [transactions('client'), transactions('server')];

const deviceStates = (name: 'kept' | 'published', more: { outlives?: true } = {}): Part =>
  savedList(
    ['device'],
    ({ state }) => state.deviceStates.dump()[name].map((each) => ('name' in each ? each.name : each[0])),
    ({ state }, device): unknown[] => state.deviceStates.dump(device)[name],
    more,
  );

const ofSip = (name: Parameters<SipDriver['dumpPart']>[0], changedBy: readonly string[]): Part =>
  savedWhole(changedBy, ({ sip }) => sip.dumpPart(name));

type Sip = ServerData['sip'];
type ServerPath =
  | Exclude<keyof ServerData, 'calls' | 'sip' | 'deviceStates'>
  | `sip.transactions.${keyof Sip['transactions']}`
  | `sip.driver.${Exclude<keyof Sip['driver'], 'version'>}`
  | `deviceStates.${keyof ServerData['deviceStates']}`;

const serverParts: Readonly<Record<ServerPath, Part>> = {
  version: savedWhole([], () => serverDataVersion, outlives),
  channelIds: savedWhole(['channel'], ({ base }) => base.ids.channels, outlives),
  'sip.transactions.clients': savedList(['client'], clients.keys, clients.dump, outlives),
  'sip.transactions.servers': savedList(['server'], servers.keys, servers.dump),
  'sip.driver.bindings': savedList(
    ['binding'],
    ({ state }) => state.contacts.dump().map(({ context }) => context.contact.id),
    ({ sip }, id) => [...sip.dumpPart('bindings', id)],
    outlives,
  ),
  'sip.driver.subscriptions': ofSip('subscriptions', ['watcher', 'subscriptions']),
  'sip.driver.lines': ofSip('lines', ['registration', 'lines']),
  'sip.driver.outsideRefers': ofSip('outsideRefers', ['outsideRefers']),
  'sip.driver.departing': { ...ofSip('departing', ['channel', 'departing']), ...outlives },
  endpoints: savedList(
    ['endpoint'],
    ({ state }) => state.endpoints.dump().map(({ technology, resource }) => `${technology}/${resource}`),
    ({ state }, name) => state.endpoints.dump(name?.toLowerCase()),
    outlives,
  ),
  globals: savedList(
    ['globalVariable'],
    ({ state }) => state.globals.dump().map(([name]) => name),
    ({ state }, name) => state.globals.dump(name),
    outlives,
  ),
  'deviceStates.kept': deviceStates('kept', outlives),
  'deviceStates.uses': savedList(
    ['deviceUse'],
    ({ state }) => state.deviceStates.dumpUses().map(([channelId]) => channelId),
    ({ state }, channelId) => state.deviceStates.dumpUses(channelId),
  ),
  'deviceStates.published': deviceStates('published'),
  mailboxes: savedList(
    ['mailbox'],
    ({ state }) => state.mailboxes.list().map(({ name }) => name),
    ({ state: { mailboxes } }, name) =>
      name === undefined ? mailboxes.list() : [mailboxes.find(name)].filter((each) => each !== undefined),
    outlives,
  ),
  bans: savedList(
    ['ban'],
    ({ state }) => state.bans.dump().map(({ source }) => source),
    ({ state }, source) => state.bans.dump(source),
    outlives,
  ),
  answers: savedList(
    ['answer'],
    ({ state }) => state.keptAnswers.dump().map(idOf),
    ({ state }, id) => state.keptAnswers.dump(id),
  ),
  browserCertificate: savedWhole([], ({ network }) => network.browserCertificate, outlives),
};

/** What a server saves, by paths in `ServerData`. A snapshot and the entries of a state store follow from it. */
export const savedParts: Readonly<Record<string, Part>> = {
  ...serverParts,
  ...Object.fromEntries(Object.entries(callParts).map(([name, part]) => [`calls.${name}`, part as SavedPart<Savers>])),
};
