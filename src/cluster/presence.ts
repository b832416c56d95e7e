import type { Connected, ConnectRequest } from '../actors/application-connections.ts';
import type { Applications } from '../actors/applications.ts';
import type { Topic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { readFrame, writeFrame } from './frame.ts';

/** An application that is connected to a node. */
type PresentApplication = {
  name: string;
  /** Orders the connections of one application: the latest has it. */
  stamp: number;
  subscribeAll: boolean;
  observes: boolean;
};

/** A change of the applications that are connected to a node. */
export type PresenceChange = {
  node: string;
  epoch: string;
  revision: number;
  added: PresentApplication[];
  removed: string[];
};

/** All of them. */
export type PresenceList = { epoch: string; revision: number; applications: PresentApplication[] };

type RemoteApplication = PresentApplication & { connected: Connected };
type RemoteNode = {
  epoch: string;
  revision: number;
  applications: Map<string, RemoteApplication>;
  asking: Promise<void> | undefined;
};

/** Connects applications with the whole cluster: at every other node they are connected, by a link to this one. */
export interface Presence {
  /** As {@link Applications.connect}; other nodes hear of it. Connections that this system makes are the node's own. */
  connect: Applications['connect'];
  list(): PresenceList;
  /** Takes a change of another node. */
  change(change: PresenceChange): void;
  /** A node has applications as of this revision: asks for what was missed. */
  heard(node: string, epoch: string, revision: number): void;
  /** The applications of a node are away. */
  drop(node: string): void;
  /** Takes an event that another node has made for an application of this one. */
  take(frame: Uint8Array): void;
  /** Asks all nodes for their applications, which may be connected since a moment. */
  refresh(): Promise<void>;
  readonly revision: number;
  figures(): { eventsOut: number; eventsIn: number; eventsLost: number };
}

type PresenceOptions = {
  node: string;
  epoch: string;
  now(): number;
  log: Logger;
  applications: Pick<Applications, 'connect' | 'relay'>;
  /** Tells the other nodes. */
  tell(change: PresenceChange): void;
  /** Asks a node for all of its applications. */
  ask(node: string): Promise<PresenceList | undefined>;
  /** Sends an event to a node. @returns false if it was dropped. */
  send(node: string, frame: Uint8Array): boolean;
};

type Local = PresentApplication & { request: ConnectRequest };

const shown = ({ name, stamp, subscribeAll, observes }: PresentApplication): PresentApplication => ({
  ...{ name, stamp, subscribeAll, observes },
});

/** Creates the applications of a node. */
export const createPresence = (options: PresenceOptions): Presence => new ClusterPresence(options);

class ClusterPresence implements Presence {
  readonly #options: PresenceOptions;
  readonly #local = new Map<string, Local>();
  readonly #remote = new Map<string, RemoteNode>();
  /** Numbers of events by the node that made them and the application. */
  readonly #received = new Map<string, number>();
  readonly #counts = { eventsOut: 0, eventsIn: 0, eventsLost: 0 };
  #revision = 0;
  #latest = 0;

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  get revision(): number {
    return this.#revision;
  }

  readonly connect: Presence['connect'] = (request) => {
    const connected = this.#options.applications.connect(request);
    // Each node opens outbound connections of its own.
    if (request.announce) return connected;
    const { subscribeAll = false, observes = false } = request;
    const mine = [...new Set(request.names)].map(
      (name): Local => ({ name, subscribeAll, observes, stamp: this.#stamp(), request }),
    );
    for (const each of mine) {
      this.#local.set(each.name, each);
      const holder = this.#holderOf(each.name);
      if (holder !== undefined) this.#removeRemote(holder, each.name);
    }
    this.#changed(mine, []);
    return {
      ...connected,
      close: () => {
        const gone = mine.filter((each) => this.#local.get(each.name) === each).map(({ name }) => name);
        for (const name of gone) this.#local.delete(name);
        connected.close();
        if (gone.length > 0) this.#changed([], gone);
      },
    };
  };

  list(): PresenceList {
    return {
      epoch: this.#options.epoch,
      revision: this.#revision,
      applications: [...this.#local.values()].map(shown),
    };
  }

  change({ node: holder, epoch, revision, added, removed }: PresenceChange): void {
    const known = this.#remote.get(holder);
    if (!known || known.asking || known.epoch !== epoch || known.revision + 1 !== revision)
      return void this.#fetch(holder);
    known.revision = revision;
    for (const name of removed) this.#removeRemote(holder, name);
    for (const each of added) this.#addRemote(holder, each);
  }

  heard(holder: string, epoch: string, revision: number): void {
    const known = this.#remote.get(holder);
    if (known?.epoch !== epoch || known.revision !== revision) void this.#fetch(holder);
  }

  drop(holder: string): void {
    for (const name of [...(this.#remote.get(holder)?.applications.keys() ?? [])]) this.#removeRemote(holder, name);
    this.#remote.delete(holder);
  }

  take(data: Uint8Array): void {
    const frame = readFrame(data);
    const { from, application, made, topics, via } = frame?.head ?? {};
    if (!frame || typeof application !== 'string' || typeof made !== 'number') return;
    if (!this.#local.has(application)) {
      // It has moved on: once more, to where it is now.
      const holder = via === true ? undefined : this.#holderOf(application);
      if (holder === undefined || !this.#options.send(holder, writeFrame({ ...frame.head, via: true }, frame.body)))
        this.#counts.eventsLost++;
      return;
    }
    const place = `${String(from)} ${application}`;
    // The first event of a connection starts the count again.
    const before = made === 1 ? 0 : (this.#received.get(place) ?? made - 1);
    this.#received.set(place, made);
    const lost = Math.max(0, made - before - 1);
    this.#counts.eventsIn++;
    this.#counts.eventsLost += lost;
    this.#options.applications.relay(application, Buffer.from(frame.body).toString('utf8'), {
      lost,
      topics: Array.isArray(topics) ? (topics as Topic[]) : undefined,
    });
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#remote.keys()].map((holder) => this.#fetchAnew(holder)));
  }

  figures(): { eventsOut: number; eventsIn: number; eventsLost: number } {
    return { ...this.#counts };
  }

  #stamp(): number {
    this.#latest = Math.max(this.#options.now(), this.#latest + 1);
    return this.#latest;
  }

  #changed(added: PresentApplication[], removed: string[]): void {
    const { node, epoch, tell } = this.#options;
    this.#revision++;
    tell({ node, epoch, revision: this.#revision, added: added.map(shown), removed });
  }

  /** The node that has an application, as far as this one knows. */
  #holderOf(name: string): string | undefined {
    for (const [holder, { applications }] of this.#remote) if (applications.has(name)) return holder;
    return undefined;
  }

  /** The connection of an application that is connected to another node. */
  #linkTo(holder: string, { name, subscribeAll, observes }: PresentApplication): Connected {
    const { node, applications, send } = this.#options;
    let made = 0;
    return applications.connect({
      ...{ names: [name], subscribeAll, observes, own: true, describe: `node ${holder}` },
      send: (json, topics) => {
        const frame = writeFrame({ from: node, application: name, made: ++made, topics }, Buffer.from(json));
        if (send(holder, frame)) this.#counts.eventsOut++;
        else this.#counts.eventsLost++;
      },
    });
  }

  #removeRemote(holder: string, name: string): void {
    const those = this.#remote.get(holder)?.applications;
    const present = those?.get(name);
    if (!present) return;
    those?.delete(name);
    this.#received.delete(`${holder} ${name}`);
    present.connected.close();
  }

  #addRemote(holder: string, present: PresentApplication): void {
    const { node, log } = this.#options;
    const those = this.#remote.get(holder)?.applications;
    if (!those) return;
    const { name, stamp } = present;
    this.#latest = Math.max(this.#latest, stamp);
    const own = this.#local.get(name);
    // The other node sees it the same way, and gives it up.
    if (own && (own.stamp > stamp || (own.stamp === stamp && node > holder))) return;
    const before = those.get(name);
    if (before && before.subscribeAll === present.subscribeAll && before.observes === present.observes) {
      before.stamp = stamp;
      return;
    }
    try {
      const connected = this.#linkTo(holder, present);
      before?.connected.close();
      those.set(name, { ...present, connected });
    } catch (error) {
      log.warn({ node: holder, application: name, error }, 'an application of another node was not registered');
      return;
    }
    for (const [other, { applications }] of this.#remote)
      if (other !== holder && (applications.get(name)?.stamp ?? Number.POSITIVE_INFINITY) < stamp)
        this.#removeRemote(other, name);
    if (this.#local.delete(name)) this.#changed([], [name]);
  }

  #replaceAll(holder: string, list: PresenceList): void {
    const known = this.#remote.get(holder);
    if (!known) return;
    const present = new Set(list.applications.map(({ name }) => name));
    for (const name of [...known.applications.keys()]) if (!present.has(name)) this.#removeRemote(holder, name);
    for (const each of list.applications) this.#addRemote(holder, each);
    known.epoch = list.epoch;
    known.revision = list.revision;
  }

  async #ask(holder: string, known: RemoteNode): Promise<void> {
    try {
      const list = await this.#options.ask(holder);
      if (list) this.#replaceAll(holder, list);
    } catch (error) {
      this.#options.log.error({ node: holder, error }, 'cannot read the applications of a node');
    } finally {
      known.asking = undefined;
    }
  }

  #fetch(holder: string): Promise<void> {
    const known = this.#remote.get(holder) ?? {
      ...{ epoch: '', revision: -1, applications: new Map<string, RemoteApplication>(), asking: undefined },
    };
    this.#remote.set(holder, known);
    known.asking ??= this.#ask(holder, known);
    return known.asking;
  }

  /** What is asked already may be answered without the latest change. */
  async #fetchAnew(holder: string): Promise<void> {
    await this.#remote.get(holder)?.asking;
    await this.#fetch(holder);
  }
}
