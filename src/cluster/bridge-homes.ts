import { type BridgeEntry, type Entry, type Guest, isAnnouncer, type Stray } from '../actors/bridge-entry.ts';
import type { Met } from '../actors/bridge-meeting.ts';
import type { BridgesBeyond } from '../actors/bridge-operations.ts';
import type { Bridges } from '../actors/bridges.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type BridgeMember, memberOf } from '../machines/bridge.ts';
import type {
  LinkAnswer,
  LinkFormat,
  LinkGuest,
  LinkRequest,
  LinkRequestOf,
  Meeting,
  MetMember,
} from '../models/bridge-link.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import { type BridgeLink, type BridgeLinkOptions, beginLink, digestOf, type Sign } from './bridge-link.ts';
import { BridgeRejoins } from './bridge-rejoins.ts';

/** The bridges of this node with members at others. */

export type BridgeHomesOptions = BridgeLinkOptions & {
  bridges: Pick<
    Bridges,
    'connect' | 'find' | 'facts' | 'snapshot' | 'takeStrays' | 'welcome' | 'dismiss' | 'guestHolds'
  >;
  /** Lost members are asked for again for this long, in ms; 0: never. */
  rejoinMs: number;
  newId(): string;
  format: LinkFormat;
  /** Whether the audio is encrypted. */
  secure: boolean;
};

type Told = LinkRequestOf<'meet'>['told'][number];

/** A member at another node, as it was told last. */
class MetGuest implements Met {
  readonly isHere = false;
  readonly id: string;
  readonly name: string;
  readonly protocolId: string;
  readonly caller: Met['caller'];
  linked: Met['linked'];
  accountCode: string;
  readonly #variables = new Map<string, string | null>();
  readonly #told: (event: Meeting) => void;

  constructor({ id, name, protocol_id }: Channel, met: MetMember, told: (event: Meeting) => void) {
    this.id = id;
    this.name = name;
    this.protocolId = protocol_id;
    this.caller = met.caller;
    this.linked = met.linked;
    this.accountCode = met.accountCode;
    this.#told = told;
  }

  variable(name: string): string | undefined {
    return this.#variables.get(name) ?? undefined;
  }

  tell(event: Parameters<Met['tell']>[0]): void {
    // Only members of this node are told the account of their peer.
    if (event.type === 'peerAccount.set') return;
    if (event.type === 'linked.set') this.linked = event.linked;
    if (event.type === 'accountCode.set') this.accountCode = event.accountCode;
    if (event.type === 'variable.set') this.#variables.set(event.name, event.value);
    this.#told(event);
  }
}

/** A link that this node has opened, or is opening. */
type Home = {
  readonly id: string;
  readonly node: string;
  readonly bridge: BridgeEntry;
  opening: Promise<BridgeLink>;
  link: BridgeLink | undefined;
  /** The last stay that was heard of. */
  last: number;
  /** Stays that have ended lately: a message about their beginning may be on its way still. */
  gone: Set<number>;
  /** The same of the time before the last look at the other node. */
  goneBefore: Set<number>;
  /** Stays that the other node has and this one has not. */
  forgotten: Set<number>;
  /** What members there have to learn yet of the others, the latest of each kind. */
  readonly untold: Map<string, Told>;
  /** The other node is being told. */
  isTelling: boolean;
  /** When a member last was to enter, in ms of the monotonic clock. */
  usedAt: number;
};

/** Channels that are asked for in one request: their models must fit into a message. */
const batch = 100;

/** What members learn in one request. */
const mostTold = 500;

/** Refusals of the other node that are the client's answer. */
const refusals = new Set([
  'memberNotFound',
  'memberNotInStasis',
  'memberRecording',
  'bridgeFull',
  'tooManyBridges',
  'clusterBusy',
]);

/** What another node has refused. */
function refusalOf(node: string, { done, error }: LinkAnswer): AriError {
  if (error && refusals.has(error.code))
    return new AriError(error.code as 'memberRecording', error.parameters as { channel: string });
  return new AriError('nodeUnavailable', {
    node,
    why: done === 'unknown' ? 'the bridge has no members there any more' : 'it refuses',
  });
}

const stayName = (link: string, stay: number): string => `${link}/${stay}`;
const numberOf = (stay: string): number => Number(stay.slice(stay.lastIndexOf('/') + 1));

const inBatches = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / batch) }, (_, at) => all.slice(at * batch, (at + 1) * batch));

/** The key of a link: a bridge has one with each node. */
const keyOf = (bridge: BridgeEntry, node: string): string => `${node} ${bridge.id}`;

const guestsOf = ({ id, bridge }: Pick<Home, 'id' | 'bridge'>) =>
  [...bridge.guests.values()].filter(({ stay }) => stay.startsWith(`${id}/`));

/** What is kept of a member, to ask for it again. */
const strayOf = (bridge: BridgeEntry, node: string, { node: _node, ...member }: BridgeMember): Stray => ({
  ...{ bridge, node, member },
});

/** Joins the channels of other nodes in bridges of this one: one link for each bridge and node. */
export class BridgeHomes implements Pick<BridgesBeyond, 'prepare' | 'enter' | 'bring' | 'leave'> {
  readonly #options: BridgeHomesOptions;
  readonly #homes = new SlotMap<string, Home>();
  readonly #byId = new SlotMap<string, Home>();
  readonly #rejoins: BridgeRejoins;

  constructor(options: BridgeHomesOptions) {
    this.#options = options;
    const { clock, log, bridges, awayAfterMs, rejoinMs } = options;
    this.#rejoins = new BridgeRejoins({
      ...{ clock, log, everyMs: awayAfterMs / 3, mostMs: rejoinMs },
      isThere: (bridge) => bridges.find(bridge.id) === bridge,
      enter: async (bridge, node, channels, entry) => {
        const home = this.#homeAt(bridge, node);
        home.usedAt = clock.monotonic();
        await home.opening;
        await this.#enter(home, channels, { entry, again: true });
      },
    });
  }

  /** Asks for the members at other nodes that restored bridges had. */
  resume(): void {
    this.#rejoins.add(this.#options.bridges.takeStrays());
  }

  get size(): number {
    return this.#byId.size;
  }

  async prepare(bridge: BridgeEntry, node: string, channels: readonly string[]): Promise<void> {
    const { clock, ask } = this.#options;
    const home = this.#homeAt(bridge, node);
    home.usedAt = clock.monotonic();
    await home.opening;
    const answer = await ask(node, { do: 'check', link: home.id, channels: [...channels] });
    if (answer.done === 'unknown') home.link?.tell({ type: 'lost' });
    if (answer.done !== 'yes') throw refusalOf(node, answer);
  }

  async enter(bridge: BridgeEntry, node: string, channels: readonly string[], entry: Entry): Promise<void> {
    const home = this.#homes.get(keyOf(bridge, node));
    if (!home?.link?.isOpen) throw refusalOf(node, { done: 'unknown' });
    await this.#enter(home, channels, { entry });
  }

  async bring(
    bridge: BridgeEntry,
    node: string,
    channelId: string,
    how: { entry: Entry; app?: string },
  ): Promise<void> {
    const home = this.#homeAt(bridge, node);
    home.usedAt = this.#options.clock.monotonic();
    await home.opening;
    const { entry, ...instead } = how;
    await this.#enter(home, [channelId], { entry, instead });
  }

  async #enter(home: Home, channels: readonly string[], how: Omit<LinkRequestOf<'enter'>, 'do' | 'link' | 'channels'>) {
    for (const some of inBatches(channels)) {
      const answer = await this.#options.ask(home.node, { do: 'enter', link: home.id, channels: some, ...how });
      if (answer.done !== 'yes') throw refusalOf(home.node, answer);
      for (const guest of answer.guests ?? []) this.#accept(home, guest);
    }
  }

  async leave(bridge: BridgeEntry, channels: readonly string[]): Promise<void> {
    const { ask, bridges } = this.#options;
    for (const home of [...this.#homes.values()]) {
      if (home.bridge !== bridge) continue;
      const leaving = guestsOf(home).filter(({ channelId }) => channels.includes(channelId));
      if (leaving.length === 0) continue;
      const stays = leaving.map(({ stay }) => numberOf(stay));
      const answer = await ask(home.node, { do: 'leave', link: home.id, stays });
      if (answer.done === 'no') throw refusalOf(home.node, answer);
      // It may have told so already, and one of them may have come again since.
      for (const { channelId, stay } of leaving) {
        home.gone.add(numberOf(stay));
        if (bridge.guests.get(channelId)?.stay === stay) bridges.dismiss(bridge, channelId);
      }
    }
  }

  /** What the other node tells of a link of this one. */
  take(request: LinkRequest): LinkAnswer {
    const home = this.#byId.get(request.link);
    if (!home) return { done: 'unknown' };
    if (request.do === 'entered') this.#accept(home, request.guest);
    if (request.do === 'ended') home.link?.tell({ type: 'ended' });
    if (request.do === 'held') {
      const holder = guestsOf(home).find(({ stay }) => stay === stayName(home.id, request.stay));
      if (holder) this.#options.bridges.guestHolds(home.bridge, holder.channelId, request.musicClass ?? undefined);
    }
    if (request.do === 'left') {
      const { channel, stay, ended } = request;
      home.gone.add(stay);
      const guest = home.bridge.guests.get(channel.id);
      if (guest?.stay === stayName(home.id, stay)) {
        guest.channel = channel;
        guest.hasEnded = ended;
        this.#options.bridges.dismiss(home.bridge, channel.id);
      }
    }
    return { done: 'yes' };
  }

  close(): void {
    this.#rejoins.close();
    for (const { link } of [...this.#byId.values()]) link?.tell({ type: 'close' });
  }

  /** The link of a bridge with a node, which is opened if there is none. @throws AriError clusterBusy */
  #homeAt(bridge: BridgeEntry, node: string): Home {
    const { most, hit, newId } = this.#options;
    const known = this.#homes.get(keyOf(bridge, node));
    if (known) return known;
    if (this.#byId.size >= most) {
      hit();
      throw new AriError('clusterBusy', { most: String(most), limit: 'bridge_links' });
    }
    const home: Home = {
      ...{ id: newId(), node, bridge, opening: undefined as never, link: undefined, last: 0, usedAt: 0 },
      ...{ gone: new Set(), goneBefore: new Set(), forgotten: new Set(), untold: new Map(), isTelling: false },
    };
    this.#homes.set(keyOf(bridge, node), home);
    this.#byId.set(home.id, home);
    home.opening = this.#open(home);
    return home;
  }

  async #open(home: Home): Promise<BridgeLink> {
    const { ask, openAudio, bridges, name, secure, format } = this.#options;
    const { id, node, bridge } = home;
    const { type } = bridges.snapshot(bridge).context;
    const kind = type === 'holding' ? { type } : {};
    const audio = await openAudio(id, { secure }, () => home.link?.tell({ type: 'failed' })).catch((error: Error) => {
      this.#forget(home);
      throw new AriError('nodeUnavailable', { node: name, why: error.message }, { cause: error });
    });
    const link = this.#begin(home, audio);
    home.link = link;
    try {
      const answer = await ask(node, {
        ...{ do: 'open', link: id, node: name, bridge: bridge.id, format, audio: audio.place, ...kind },
      });
      if (answer.done !== 'yes' || !answer.audio) throw refusalOf(node, answer);
      if (answer.type !== kind.type) throw new AriError('nodeUnavailable', { node, why: 'it has another version' });
      audio.start(answer.audio, format);
      if (bridges.find(bridge.id) !== bridge) throw new AriError('bridgeNotFound');
    } catch (error) {
      link.tell({ type: 'refused' });
      throw error;
    }
    link.tell({ type: 'opened' });
    return link;
  }

  #begin(home: Home, audio: BridgeLink['audio']): BridgeLink {
    const { bridges } = this.#options;
    const { id, node, bridge } = home;
    const unhear = bridges.facts.of(bridge.id, ({ type }) => {
      if (type === 'BridgeDestroyed') home.link?.tell({ type: 'close' });
    });
    const loseAll = (): void => {
      const members = guestsOf(home).map(({ channelId }) => memberOf(bridges.snapshot(bridge), channelId));
      for (const { channelId } of guestsOf(home)) bridges.dismiss(bridge, channelId);
      this.#rejoins.add(members.flatMap((member) => (member ? [strayOf(bridge, node, member)] : [])));
    };
    return beginLink(this.#options, {
      ...{ id, node, bridge, audio, look: () => this.#look(home) },
      effects: { releaseMembers: loseAll, loseMembers: loseAll },
      closed: () => {
        unhear();
        this.#forget(home);
      },
    });
  }

  #forget({ id, bridge, node }: Home): void {
    this.#homes.delete(keyOf(bridge, node));
    this.#byId.delete(id);
  }

  /** A channel of the other node has entered. The message may come twice, or late. */
  #accept(home: Home, { stay, channel, app, entry, met: known }: LinkGuest): void {
    const { id, node, bridge, link, gone, goneBefore } = home;
    if (!link?.isOpen || gone.has(stay) || goneBefore.has(stay)) return;
    const before = bridge.guests.get(channel.id)?.stay;
    if (before?.startsWith(`${id}/`) && numberOf(before) >= stay) return;
    home.last = Math.max(home.last, stay);
    const met = known && new MetGuest(channel, known, (event) => this.#tell(home, { stay, event }));
    let music: string | undefined;
    const entertain = (musicClass: string | undefined): void => {
      if (musicClass === music) return;
      music = musicClass;
      this.#tell(home, { stay, event: { type: 'music.set', musicClass: musicClass ?? null } });
    };
    const guest: Guest = {
      ...{ channelId: channel.id, node, stay: stayName(id, stay), channel, app, met, entertain, hasEnded: false },
    };
    const { bridges } = this.#options;
    const { type, members } = bridges.snapshot(bridge).context;
    const others = members.filter(({ channelId }) => channelId !== channel.id);
    bridges.welcome(bridge, guest, entry);
    // There is one announcer at a time.
    if (type === 'holding' && isAnnouncer(entry) && others.some(isAnnouncer))
      this.leave(bridge, [channel.id]).catch(() => {});
  }

  /** Has a member learn of the others, with what else it learns now. */
  #tell(home: Home, told: Told): void {
    const { stay, event } = told;
    home.untold.set(`${stay} ${event.type} ${event.type === 'variable.set' ? event.name : ''}`, told);
    if (home.isTelling) return;
    home.isTelling = true;
    void Promise.resolve().then(() => this.#tellAll(home));
  }

  /** It never rejects. What does not arrive is told with the next look. */
  async #tellAll(home: Home): Promise<void> {
    const { node, id, untold } = home;
    home.isTelling = true;
    while (untold.size > 0 && home.link?.isOpen) {
      const some = [...untold].slice(0, mostTold);
      const told = some.map(([, each]) => each);
      const answer = await this.#options.ask(node, { do: 'meet', link: id, told }).catch(() => undefined);
      if (!answer) break;
      for (const [key, each] of some) if (untold.get(key) === each) untold.delete(key);
    }
    home.isTelling = false;
  }

  /** Compares the members with those that the other node has. */
  async #look(home: Home): Promise<Sign> {
    const { clock, ask, bridges, awayAfterMs } = this.#options;
    const guests = guestsOf(home).map(({ stay }) => numberOf(stay));
    const isIdle = guests.length === 0 && clock.monotonic() - home.usedAt > awayAfterMs;
    if (isIdle || bridges.find(home.bridge.id) !== home.bridge) return 'unused';
    const asked = { do: 'sync', link: home.id, digest: digestOf(guests), last: home.last } as const;
    const answer = await ask(home.node, asked).catch(() => undefined);
    if (answer?.done === 'unknown') return 'unknown';
    if (answer?.done !== 'yes') return 'nothing';
    if (answer.stays) this.#reconcile(home, answer);
    home.goneBefore = home.gone;
    home.gone = new Set();
    if (!home.isTelling) await this.#tellAll(home);
    return 'heard';
  }

  /** Makes the members those that the other node has: messages may have been lost. */
  #reconcile(home: Home, { stays = [], last = 0, guests = [] }: LinkAnswer): void {
    const { ask, bridges } = this.#options;
    const there = new Set(stays);
    const here = new Set<number>();
    const before = home.last;
    for (const { channelId, stay } of guestsOf(home)) {
      const number = numberOf(stay);
      here.add(number);
      if (number > last || there.has(number)) continue;
      home.gone.add(number);
      bridges.dismiss(home.bridge, channelId);
    }
    for (const guest of guests) this.#accept(home, guest);
    const forgotten = stays.filter((stay) => stay <= before && !here.has(stay));
    // The client that added them was told that the node did not answer. Of others the answer may be on its way still.
    const leaving = forgotten.filter((stay) => home.forgotten.has(stay));
    home.forgotten = new Set(forgotten);
    if (leaving.length > 0) ask(home.node, { do: 'leave', link: home.id, stays: leaving }).catch(() => {});
  }
}
