import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '../bus/bus.ts';
import { endpointTopics } from '../bus/topics.ts';
import type { PhonePlace } from '../dialplan/host.ts';
import { lazily } from '../lib/lazily.ts';
import type { Logger } from '../lib/log.ts';
import { valuesOf } from '../lib/slot-map.ts';
import {
  type ContactEvent,
  type ContactInput,
  type ContactSnapshot,
  contactMachine,
  contactModel,
  contactStatus,
  isAsking,
} from '../machines/contact.ts';
import type { ContactInfo, ContactStatus, ContactView } from '../models/contact.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import type { ContactDetails, ContactDriver, ContactHost } from '../telephony/contacts.ts';
import { listedDeadlines } from './deadlines.ts';
import type { ContactDump } from './dumps.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

type ContactActor = Actor<typeof contactMachine>;
/** The actor that waits for an answer. */
type Asking = { send(event: ContactEvent): void };

export interface Contacts extends ContactHost {
  /** Makes a technology's driver known; contacts of a technology without one are never answered. */
  attach(driver: ContactDriver): void;
  /** The contacts of one endpoint, in the order of their first registration. */
  of(technology: string, endpoint: string): ContactInfo[];
  /** All contacts, in the order of their first registration. */
  list(): Iterable<ContactView>;
  /** Endpoints that were lost: no contact of theirs is available, and the last one did not unregister. Oldest first. */
  lost(): LostEndpoint[];
  /** Contacts of endpoints by id, for the dialplan. */
  places(): PhonePlace[];
  /** Whether that contact exists with exactly these details. */
  knows(contact: ContactDetails): boolean;
  readonly size: number;
  /** Every contact, in the order of their first registration. */
  dump(id?: string): ContactDump[];
  /** Takes contacts up again; one that was being asked is asked again. */
  restore(dumps: readonly ContactDump[]): void;
  /** The system stops: every contact ends without an event, no timer is left. */
  close(): void;
}

/** `expired`: its registration ran out. `silent`: it does not answer. `since`: in ms since the Unix epoch. */
type LostEndpoint = { endpoint: string; since: number; how: 'expired' | 'silent' };

type ContactsOptions = { bus: Bus; runtime: Runtime; log: Logger; endpoints: Endpoints };

/** The state as the chart names it, the inner one behind a dot. */
function pathOf({ value }: ContactSnapshot): string {
  if (typeof value === 'string') return value;
  const [[outer, inner] = ['', '']] = Object.entries(value);
  return `${outer}.${inner}`;
}

/** Whether an endpoint is reachable through a contact with that status. */
const isAvailable = (status: ContactStatus): boolean => status === 'Reachable' || status === 'NonQualified';

function inList(snapshot: ContactSnapshot): ContactView {
  const { technology, endpoint } = snapshot.context.contact;
  return {
    endpoint: `${technology}/${endpoint}`,
    ...contactModel(snapshot),
    state: pathOf(snapshot),
    deadlines: listedDeadlines(snapshot),
  };
}

function placeOf(snapshot: ContactSnapshot): ReturnType<Contacts['places']>[number] {
  const { id, technology, endpoint, uri, aor } = snapshot.context.contact;
  const { roundtrip_usec: roundtrip } = contactModel(snapshot);
  return {
    ...{ id, uri, aor, endpoint: `${technology}/${endpoint}`, status: contactStatus(snapshot) },
    ...(roundtrip !== undefined && { roundtrip }),
  };
}

const endpointKey = ({ technology, endpoint }: Pick<ContactDetails, 'technology' | 'endpoint'>): string =>
  `${technology}/${endpoint}`.toLowerCase();

/**
 * Derives from all contacts whether their endpoint is online. If none is available and one still waits for its first
 * response, the endpoint keeps its state.
 */
class ReachableEndpoints {
  readonly #endpoints: Endpoints;
  readonly #now: () => number;
  /** Statuses of the contacts that are there, by endpoint and id. */
  readonly #statuses = new Map<string, Map<string, ContactStatus>>();
  /** By endpoint: one entry at most, until it is reached again or unregisters. */
  readonly #lost = new Map<string, LostEndpoint>();

  constructor(endpoints: Endpoints, now: () => number) {
    this.#endpoints = endpoints;
    this.#now = now;
  }

  note(contact: ContactDetails, status: ContactStatus): void {
    const key = endpointKey(contact);
    const known = this.#statuses.get(key) ?? new Map<string, ContactStatus>();
    if (status === 'Removed') known.delete(contact.id);
    else known.set(contact.id, status);
    if (known.size > 0) this.#statuses.set(key, known);
    else this.#statuses.delete(key);
    if (status === 'Unreachable') this.lose(contact, 'silent');
    // Unregistering is no loss; what expires is lost behind this.
    else if (status !== 'Unknown' && (status !== 'Removed' || known.size === 0)) this.#lost.delete(key);
  }

  /** A contact is not to be reached any more; the endpoint is lost if it has no other. */
  lose(contact: ContactDetails, how: LostEndpoint['how']): void {
    const key = endpointKey(contact);
    if ([...(this.#statuses.get(key)?.values() ?? [])].some(isAvailable)) return;
    const { technology, endpoint } = contact;
    const since = this.#lost.get(key)?.since ?? this.#now();
    this.#lost.set(key, { endpoint: `${technology}/${endpoint}`, since, how });
  }

  /** Those that are lost and still known; others are forgotten. */
  lost(): LostEndpoint[] {
    for (const [key, { endpoint }] of this.#lost) {
      const [technology = '', resource = ''] = endpoint.split('/', 2);
      if (!this.#endpoints.find(technology, resource)) this.#lost.delete(key);
    }
    return [...this.#lost.values()];
  }

  evaluate(contact: ContactDetails): void {
    const { technology, endpoint } = contact;
    const known = [...(this.#statuses.get(endpointKey(contact))?.values() ?? [])];
    if (known.some(isAvailable)) this.#endpoints.setState(technology, endpoint, 'online');
    else if (!known.includes('Unknown')) this.#endpoints.setState(technology, endpoint, 'offline');
  }
}

/** Asks whether a contact answers, and reports that to its chart. */
const createQualify =
  (log: Logger, drivers: ReadonlyMap<string, ContactDriver>) =>
  (contact: ContactDetails, attempt: number, actor: Asking): void => {
    const driver = drivers.get(contact.technology);
    if (!driver) {
      log.warn({ contact: contact.uri, technology: contact.technology }, 'no driver can qualify a contact');
      actor.send({ type: 'qualify.unanswered', attempt });
      return;
    }
    driver.qualify(contact).then(
      (roundtripUsec) => actor.send({ type: 'qualify.answered', attempt, roundtripUsec: Math.round(roundtripUsec) }),
      (error: unknown) => {
        log.debug({ contact: contact.uri, error }, 'a contact did not answer');
        actor.send({ type: 'qualify.unanswered', attempt });
      },
    );
  };

/** Owns every contact. Publishes its status (ContactStatusChange), and keeps the state of its endpoint. */
export function createContacts({ bus, runtime, log, endpoints }: ContactsOptions): Contacts {
  const actors = new Map<string, ContactActor>();
  const drivers = new Map<string, ContactDriver>();
  const reachable = new ReachableEndpoints(endpoints, () => runtime.clock.now());

  const qualify = createQualify(log, drivers);

  const machine = contactMachine.provide({
    actions: {
      qualifyContact: ({ context, self }, { attempt }) => qualify(context.contact, attempt, self),
      expireContact: ({ context }) => {
        reachable.lose(context.contact, 'expired');
        drivers.get(context.contact.technology)?.expired(context.contact);
      },
    },
  });

  const publish = (snapshot: ContactSnapshot): void => {
    const { contact } = snapshot.context;
    const status = contactStatus(snapshot);
    log.info({ endpoint: contact.endpoint, contact: contact.uri, status }, 'the status of a contact has changed');
    reachable.note(contact, status);
    const endpoint = endpoints.add(contact.technology, contact.endpoint);
    const { technology, resource } = endpoint;
    bus.publish({
      event: { type: 'ContactStatusChange', endpoint, contact_info: contactModel(snapshot) },
      topics: endpointTopics(technology, resource),
    });
    reachable.evaluate(contact);
  };

  const create = (contact: ContactDetails, beginning: Beginning<ContactInput> = { input: { contact } }): void => {
    spawn(machine, {
      id: contact.id,
      ...beginning,
      runtime,
      onCreated: (actor) => actors.set(contact.id, actor),
      onEmitted: (_fact, snapshot) => publish(snapshot),
      onEnded: (error) => {
        actors.delete(contact.id);
        if (!error) return;
        reachable.note(contact, 'Removed');
        reachable.evaluate(contact);
      },
    });
  };

  return {
    attach: (driver) => void drivers.set(driver.technology, driver),

    registered(contact) {
      const actor = actors.get(contact.id);
      if (actor) actor.send({ type: 'contact.registered', contact });
      else create(contact);
    },

    removed: (id) => actors.get(id)?.send({ type: 'contact.removed' }),

    of(technology, endpoint) {
      const key = endpointKey({ technology, endpoint });
      const snapshots = [...actors.values()].map((actor) => actor.getSnapshot());
      return snapshots.filter(({ context }) => endpointKey(context.contact) === key).map(contactModel);
    },

    list: () =>
      lazily([...actors.values()], (actor) =>
        actors.get(actor.id) === actor ? inList(actor.getSnapshot()) : undefined,
      ),

    lost: () => reachable.lost(),

    places: () => [...actors.values()].map((actor) => placeOf(actor.getSnapshot())),

    knows: (contact) => isDeepStrictEqual(actors.get(contact.id)?.getSnapshot().context.contact, contact),

    dump: (id) => valuesOf(actors, id).map((actor) => actor.dump() as ContactDump),

    restore(dumps) {
      for (const from of dumps) {
        const contact = from.context.contact as ContactDetails;
        create(contact, { from });
        const actor = actors.get(contact.id);
        if (!actor) continue;
        const snapshot = actor.getSnapshot();
        reachable.note(contact, contactStatus(snapshot));
        reachable.evaluate(contact);
        if (isAsking(snapshot)) qualify(contact, snapshot.context.attempt, actor);
      }
    },

    get size() {
      return actors.size;
    },

    close() {
      for (const actor of [...actors.values()]) actor.send({ type: 'system.closing' });
    },
  };
}
