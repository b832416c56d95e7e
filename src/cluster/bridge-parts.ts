import type { BridgeEntry } from '../actors/bridge-entry.ts';
import { MetChannel } from '../actors/bridge-meeting.ts';
import type { BridgeOperations } from '../actors/bridge-operations.ts';
import type { Bridges } from '../actors/bridges.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type BridgeInput, memberOf } from '../machines/bridge.ts';
import { isEnding } from '../machines/channel.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
import type { LinkAnswer, LinkGuest, LinkRequest, LinkRequestOf, Meeting } from '../models/bridge-link.ts';
import { AriError } from '../models/errors.ts';
import { type BridgeLink, type BridgeLinkOptions, beginLink, digestOf } from './bridge-link.ts';

/** The channels of this node in bridges of others. */

export type BridgePartsOptions = BridgeLinkOptions & {
  bridges: Pick<
    Bridges,
    | 'bridgeOf'
    | 'connect'
    | 'open'
    | 'findPart'
    | 'endPart'
    | 'facts'
    | 'enter'
    | 'leave'
    | 'snapshot'
    | 'requireRoom'
    | 'playTo'
  >;
  views: Pick<ChannelViews, 'model'>;
  channels: Pick<Channels, 'tell'>;
};

/** How channels of this node enter bridges of others. */
export type Entering = Pick<BridgeOperations, 'candidates'> & {
  /** Takes an answered channel out of its call, also a Dial. @param app the application that it enters, unless it is in one */
  detach(channelId: string, part: BridgeEntry, app: string | undefined): ChannelEntry;
};

/** The members at this node of one bridge of another one. */
type Part = {
  readonly bridge: BridgeEntry;
  readonly link: BridgeLink;
  /** The number of each stay, by channel. */
  readonly stays: Map<string, number>;
  /** The last of them. */
  last: number;
  /** When the node of the bridge asked last, in ms of the monotonic clock. */
  askedAt: number;
  /** Members that hold the others, or no longer, as far as the node of the bridge has not heard it: by stay. */
  readonly holds: Map<number, string | null>;
  /** The node of the bridge has asked for what happens now: its answer tells it. */
  asked: boolean;
};

/** Members that one answer shows: their models must fit into a message. More are shown by the next one. */
const mostShown = 100;

/** A part is of the type of its bridge, without any settings of its own: those of its bridge come with each member. */
const partOf = ({ bridge: id, node: home, type }: LinkRequestOf<'open'>, creationTime: number): BridgeInput => ({
  ...{ id, home, creationTime, name: '', type: type ?? 'mixing', flags: [], class: 'stasis' },
  ...{ features: { mute: false, suppressDtmf: false }, variables: {}, reported: [] },
});

const openedAs = ({ type }: LinkRequestOf<'open'>, { audio }: BridgeLink): LinkAnswer => ({
  ...{ done: 'yes', audio: audio.place },
  ...(type && { type }),
});

/** Joins the channels of this node in bridges of others. */
export class BridgeParts {
  readonly #options: BridgePartsOptions;
  readonly #parts = new SlotMap<string, Part>();
  /** What opens now, by link. */
  readonly #opening = new Map<string, Promise<LinkAnswer>>();
  #entering: Entering | undefined;

  constructor(options: BridgePartsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#parts.size;
  }

  attach(entering: Entering): void {
    this.#entering = entering;
  }

  /** Answers the node of a bridge. @throws (rejects) AriError, or Error when there is no port for the audio */
  async take(request: LinkRequest): Promise<LinkAnswer> {
    if (request.do === 'open') return this.#openOnce(request);
    const part = this.#parts.get(request.link);
    if (!part) return { done: 'unknown' };
    part.askedAt = this.#options.clock.monotonic();
    switch (request.do) {
      case 'check':
        this.#candidates(request.channels);
        return { done: 'yes' };
      case 'enter':
        return this.#enter(part, request);
      case 'leave':
        return this.#leave(part, request);
      case 'meet':
        return this.#meet(part, request);
      case 'sync':
        return this.#sync(part, request);
      case 'close':
        part.link.tell({ type: 'ended' });
        return { done: 'yes' };
      default:
        return { done: 'unknown' };
    }
  }

  /** A channel of this node holds the others of its bridge, or no longer. */
  held(channelId: string, musicClass: string | undefined): void {
    for (const part of this.#parts.values()) {
      const stay = part.stays.get(channelId);
      if (stay === undefined) continue;
      part.holds.set(stay, musicClass ?? null);
      this.#tellHolds(part);
    }
  }

  close(): void {
    for (const { link } of [...this.#parts.values()]) link.tell({ type: 'close' });
  }

  /** The request may come twice, and the answer to each of both may be the one that counts. */
  #openOnce(request: LinkRequestOf<'open'>): Promise<LinkAnswer> {
    const { link: id } = request;
    const known = this.#parts.get(id);
    if (known) return Promise.resolve(openedAs(request, known.link));
    const opening = this.#opening.get(id) ?? this.#open(request).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  async #open(request: LinkRequestOf<'open'>): Promise<LinkAnswer> {
    const { openAudio, most, hit } = this.#options;
    if (this.#parts.size >= most) {
      hit();
      throw new AriError('clusterBusy', { most: String(most), limit: 'bridge_links' });
    }
    let part: Part | undefined;
    const asked = { near: request.audio.address, secure: request.audio.key !== undefined };
    const audio = await openAudio(request.link, asked, () => part?.link.tell({ type: 'failed' }));
    try {
      // A bridge has one link with this node: an earlier one is over.
      for (const { bridge, link } of [...this.#parts.values()])
        if (bridge.id === request.bridge) link.tell({ type: 'ended' });
      audio.start(request.audio, request.format);
      part = this.#begin(request, audio);
    } catch (error) {
      audio.close();
      throw error;
    }
    part.link.tell({ type: 'opened' });
    return openedAs(request, part.link);
  }

  /** Begins a part, when its audio is open. */
  #begin(request: LinkRequestOf<'open'>, audio: BridgeLink['audio']): Part {
    const { link: id, node } = request;
    const { clock, bridges, awayAfterMs } = this.#options;
    const bridge = bridges.open(partOf(request, clock.now()));
    const unhear = bridges.facts.of(bridge.id, (fact) => {
      if (fact.type === 'ChannelEnteredBridge') this.#entered(part, fact.channelId);
      if (fact.type === 'ChannelLeftBridge') this.#left(part, fact.channelId);
      if (fact.type === 'BridgeDestroyed') part.link.tell({ type: 'close' });
    });
    const link = beginLink(this.#options, {
      ...{ id, node, bridge, audio },
      async look() {
        if (bridges.findPart(bridge.id) !== bridge) return 'unused';
        return clock.monotonic() - part.askedAt < awayAfterMs / 2 ? 'heard' : 'nothing';
      },
      effects: {
        releaseMembers: () => bridges.endPart(bridge, false),
        loseMembers: () => bridges.endPart(bridge, true),
      },
      closed: () => {
        unhear();
        this.#parts.delete(id);
      },
    });
    const part: Part = {
      bridge,
      link,
      stays: new Map(),
      holds: new Map(),
      last: 0,
      askedAt: clock.monotonic(),
      asked: false,
    };
    this.#parts.set(id, part);
    return part;
  }

  /** The channels that may enter. @throws AriError */
  #candidates(ids: readonly string[]): ChannelEntry[] {
    return this.#entering?.candidates(ids) ?? [];
  }

  #wanted({ bridge }: Part, { channels, again, instead }: LinkRequestOf<'enter'>): ChannelEntry[] {
    if (again) return this.#free(channels);
    if (!instead) return this.#candidates(channels);
    this.#options.bridges.requireRoom(bridge, channels.length);
    return channels.flatMap((id) => this.#entering?.detach(id, bridge, instead.app) ?? []);
  }

  #enter(part: Part, request: LinkRequestOf<'enter'>): LinkAnswer {
    const { bridges } = this.#options;
    const { entry } = request;
    const entering = this.#wanted(part, request);
    bridges.requireRoom(part.bridge, entering.length);
    part.asked = true;
    try {
      for (const channel of entering) bridges.enter(part.bridge, channel, entry);
    } finally {
      part.asked = false;
    }
    return { done: 'yes', guests: entering.flatMap(({ id }) => this.#guestOf(part, id) ?? []) };
  }

  /** Those that may enter and are in no bridge. */
  #free(channels: readonly string[]): ChannelEntry[] {
    const { bridges } = this.#options;
    return channels.flatMap((id) => {
      if (bridges.bridgeOf(id)) return [];
      try {
        return this.#candidates([id]);
      } catch (error) {
        // It has ended meanwhile, or left its application.
        if (error instanceof AriError) return [];
        throw error;
      }
    });
  }

  #leave(part: Part, { stays }: LinkRequestOf<'leave'>): LinkAnswer {
    const leaving = new Set(stays);
    for (const [channelId, stay] of [...part.stays]) if (leaving.has(stay)) this.#options.bridges.leave(channelId);
    return { done: 'yes' };
  }

  /** Members learn of the others. Their calls at this node stay what they are. */
  #meet(part: Part, { told }: LinkRequestOf<'meet'>): LinkAnswer {
    const byStay = new Map([...part.stays].map(([channelId, stay]) => [stay, part.bridge.stays.get(channelId)]));
    for (const { stay, event } of told) {
      const channel = byStay.get(stay)?.channel;
      if (!channel) continue;
      if (event.type === 'music.set') {
        this.#options.bridges.playTo(part.bridge, channel.id, event.musicClass ?? undefined);
        continue;
      }
      const member = new MetChannel(this.#options.channels, channel);
      if (event.type === 'linked.set') member.tell({ type: 'linked.set', linked: this.#linkedOf(part, member, event) });
      else member.tell(event);
    }
    return { done: 'yes' };
  }

  #linkedOf(part: Part, { linked }: MetChannel, { linked: { id, since } }: Extract<Meeting, { type: 'linked.set' }>) {
    const calls = [...part.bridge.stays.values()].map(({ channel }) => snapshotOf(channel).context.linked);
    return calls.find((call) => call.id === id) ?? { id, since, own: callOf(linked) };
  }

  #sync(part: Part, { digest, last }: LinkRequestOf<'sync'>): LinkAnswer {
    this.#tellHolds(part);
    const stays = [...part.stays.values()];
    if (digestOf(stays) === digest) return { done: 'yes' };
    const unknown = [...part.stays].filter(([, stay]) => stay > last).slice(0, mostShown);
    const guests = unknown.flatMap(([channelId]) => this.#guestOf(part, channelId) ?? []);
    return { done: 'yes', stays, last: part.last, guests };
  }

  #guestOf({ bridge, stays }: Part, channelId: string): LinkGuest | undefined {
    const stay = stays.get(channelId);
    const present = bridge.stays.get(channelId);
    const member = memberOf(this.#options.bridges.snapshot(bridge), channelId);
    if (stay === undefined || !present || !member) return undefined;
    const { role, muted, absorbsDigits, inhibitsConnectedLine } = member;
    const channel = this.#options.views.model(present.channel);
    const { linked, accountCode, caller } = snapshotOf(present.channel).context;
    const { name, number, presentation } = caller;
    const named = { name, number, ...(presentation !== undefined && { presentation }) };
    return {
      ...{ stay, channel, entry: { role, muted, absorbsDigits, inhibitsConnectedLine } },
      met: { linked: { id: linked.id, since: linked.since }, accountCode, caller: named },
      ...(present.app !== undefined && { app: present.app }),
    };
  }

  #entered(part: Part, channelId: string): void {
    part.stays.set(channelId, ++part.last);
    const guest = part.asked ? undefined : this.#guestOf(part, channelId);
    if (guest) this.#report(part, { do: 'entered', link: part.link.id, guest });
  }

  #left(part: Part, channelId: string): void {
    const stay = part.stays.get(channelId);
    const present = part.bridge.stays.get(channelId);
    part.stays.delete(channelId);
    if (stay === undefined || !present) return;
    part.holds.delete(stay);
    const channel = this.#options.views.model(present.channel);
    const ended = isEnding(snapshotOf(present.channel));
    this.#report(part, { do: 'left', link: part.link.id, stay, channel, ended });
  }

  /** Tells the node of the bridge who holds the others. What does not arrive is told when it looks at the members. */
  #tellHolds({ link, holds }: Part): void {
    if (!link.isOpen) return;
    for (const [stay, musicClass] of holds)
      this.#options.ask(link.node, { do: 'held', link: link.id, stay, musicClass }).then(
        () => holds.get(stay) === musicClass && holds.delete(stay),
        () => {},
      );
  }

  /** Tells the node of the bridge. What does not arrive is found when it looks at the members. */
  #report({ link }: Part, told: LinkRequest): void {
    if (link.isOpen) this.#options.ask(link.node, told).catch(() => {});
  }
}
