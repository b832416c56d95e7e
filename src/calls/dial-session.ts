import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { ChannelAudio } from '../actors/channel-audio.ts';
import type { ChannelDialplans } from '../actors/channel-effects.ts';
import {
  answered,
  type ChannelEntry,
  type ChannelFacts,
  hearChanges,
  hearDigits,
  snapshotOf,
} from '../actors/channel-entry.ts';
import type { CallsOf, ChannelViews } from '../actors/channel-views.ts';
import type { DialDump } from '../actors/dumps.ts';
import type { Actor, Runtime } from '../actors/spawn.ts';
import type { DialRequest, Ongoing } from '../dialplan/calls.ts';
import type { Ids } from '../lib/ids.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { type ChannelSnapshot, isEnding, lifeOf, type Position } from '../machines/channel.ts';
import { noTimeout } from '../machines/channel-setup.ts';
import type { Callee, DialContext, DialEvent, dialMachine } from '../machines/dial.ts';
import type { DialResult } from '../models/dial.ts';
import { AriError } from '../models/errors.ts';
import { countLimit } from '../models/limits.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError } from '../telephony/driver.ts';
import type { DialSessions, RunningDials, Session } from './dial-sessions.ts';
import { beginWaiting, declineOf, endWaiting, openTarget, pressKeys, release, resourceOf } from './dial-targets.ts';
import { EarlyAudio, type EarlyAudioOptions } from './early-audio.ts';
import type { FeatureParty } from './feature-calls.ts';
import type { FeatureKeys, KeyListener } from './feature-keys.ts';
import { plainEntry } from './plain-bridges.ts';

export type DialsOptions = EarlyAudioOptions & {
  facts: ChannelFacts;
  views: Pick<ChannelViews, 'dialplanChannel'>;
  audio: Pick<ChannelAudio, 'tell'>;
  /** Brings parties through subroutines, with the calls that these can make. */
  dialplans: Pick<ChannelDialplans, 'visit'>;
  callsOf: CallsOf;
  runtime: Runtime;
  ids: Pick<Ids, 'uuid'>;
  bridges: Bridges;
  /** Sessions, to find replacements. */
  dialSessions: DialSessions;
  /** Feature keys of the parties; left out: none. */
  featureKeys?: Pick<FeatureKeys, 'hasCode' | 'attend'> | undefined;
  /** All that there are, and what they go on from; left out, none does. */
  running?: RunningDials | undefined;
  log: Logger;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Makes a bridge for the dialplan. @throws AriError tooManyBridges. */
  openBridge(): BridgeEntry;
};

/** The part of a Dial outside its chart: its listeners on channels and keys, and the promise of its end. */
export class DialSession implements Session, Ongoing<DialResult> {
  readonly done: Promise<DialResult>;
  actor!: Actor<typeof dialMachine>;
  readonly early: EarlyAudio;
  readonly #caller: ChannelEntry;
  readonly #leaves: DialRequest['leaves'];
  readonly #options: DialsOptions;
  #settle!: (result: DialResult) => void;
  /** Ends listening to each callee, by channel. */
  readonly #watched: { id: string; unwatch: () => void }[] = [];
  /** Ends listening to the caller's keys before the answer. */
  #unheedCaller: (() => void) | undefined;
  #keyListener: KeyListener | undefined;
  #unwatchBridge: (() => void) | undefined;

  constructor(caller: ChannelEntry, leaves: DialRequest['leaves'], options: DialsOptions) {
    this.#caller = caller;
    this.#leaves = leaves;
    this.#options = options;
    this.early = new EarlyAudio(caller, options);
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Undefined after a party was transferred away. */
  dump(): DialDump | undefined {
    const { value, status } = this.actor.getSnapshot();
    if (value === 'handedOver' || status !== 'active') return undefined;
    const keys = value === 'together' ? (this.#keyListener?.dump() ?? []) : [];
    return { actor: this.actor.dump() as DialDump['actor'], keys };
  }

  /** Listens to its channels again after a restore. */
  resume(keys: DialDump['keys']): void {
    const { value, context } = this.actor.getSnapshot();
    const { channels, bridges } = this.#options;
    if (value === 'together') {
      this.keepPeer(context);
      const isThere = bridges.find(context.bridge ?? '') && channels.find(context.peer?.channelId ?? '');
      if (isThere) this.watchParties(context, keys);
      else this.#send({ type: 'party.absent', absent: false });
      return;
    }
    const found = context.callees.flatMap(({ channelId }) => channels.find(channelId) ?? []);
    for (const entry of found) this.#watch(entry);
    this.heedCaller(context);
    this.beginWaiting(context);
    for (const entry of found) this.#look(snapshotOf(entry));
    for (const { channelId } of context.callees)
      if (!channels.find(channelId)) this.#send({ type: 'callee.failed', channelId, cause: Cause.normalClearing });
  }

  /** The Dial is over. `crashed`: releases the callees here, as the chart cannot. */
  release(crashed: boolean): void {
    if (crashed) this.#abandon();
    this.ignoreCaller();
    this.leaveParties();
    this.early.close();
    for (const { unwatch } of this.#watched.splice(0)) unwatch();
    this.#settle(this.actor.getSnapshot().context.end);
  }

  #abandon(): void {
    const { value, context } = this.actor.getSnapshot();
    this.releaseTargets(context.callees, Cause.normalClearing);
    if (value === 'handedOver') return;
    this.hangUp(context.peer?.channelId);
    this.destroyBridge(context);
  }

  /*
   * ---- Commands ---------------------------------------------------------------------------------------------------
   */

  readonly stop = (): void => {
    const snapshot = snapshotOf(this.#caller);
    // A call that was answered elsewhere ends so for all callees.
    const elsewhere = snapshot.context.cause === Cause.answeredElsewhere;
    this.#send({ type: 'stop', hungUp: isEnding(snapshot), elsewhere });
  };

  replaced(old: ChannelEntry, newcomer: ChannelEntry): void {
    if (old === this.#caller) this.departed(old);
    else this.#send({ type: 'callee.replaced', channelId: old.id, by: newcomer.id });
  }

  departed({ id }: ChannelEntry): void {
    this.#send({ type: 'party.departed', channelId: id });
  }

  absent(absent: boolean): void {
    this.#send({ type: 'party.absent', absent });
  }

  /*
   * ---- Effects before the answer ----------------------------------------------------------------------------------
   */

  beginWaiting({ waiting }: DialContext): void {
    beginWaiting(this.#caller, waiting, this.#options);
  }

  endWaiting({ waiting }: DialContext): void {
    endWaiting(this.#caller, waiting, this.#options);
  }

  /** Keys that lead elsewhere, and the code by which the caller may end its call. */
  heedCaller({ features }: DialContext): void {
    const { facts, featureKeys } = this.#options;
    const parties = [{ channel: this.#caller, features: ['disconnect'] }] as const;
    const end = (): void => this.#send({ type: 'stop', hungUp: false, elsewhere: false });
    const mayEnd = features?.calling.includes('disconnect');
    const listener = mayEnd ? featureKeys?.attend({ parties, names: ['', ''], end }) : undefined;
    const unhear = this.#leaves && hearDigits(facts, this.#caller.id, this.#pressed);
    this.#unheedCaller = () => {
      unhear?.();
      listener?.end();
    };
  }

  ignoreCaller(): void {
    this.#unheedCaller?.();
    this.#unheedCaller = undefined;
  }

  readonly #pressed = (digit: string): void => {
    if (this.#leaves?.(digit)) this.#send({ type: 'caller.left', digit });
  };

  openTargets({ targets }: DialContext): void {
    const { channels, log } = this.#options;
    const callees: Callee[] = [];
    const failures: number[] = [];
    for (const target of targets) {
      try {
        const entry = openTarget(this.#caller, target, channels);
        this.#watch(entry);
        callees.push({ channelId: entry.id, number: resourceOf(target) });
      } catch (error) {
        if (!(error instanceof DriverError || error instanceof AriError)) throw error;
        log.info({ channel: this.#caller.id, target, reason: error.message }, 'a party could not be called');
        failures.push(Cause.subscriberAbsent);
      }
    }
    this.#send({ type: 'targets.opened', callees, failures });
  }

  /** Runs a subroutine for every called channel. A channel that does not reach its end is not called. */
  async prepareTargets({ callees, preparation }: DialContext): Promise<void> {
    const { channels, dialplans, callsOf } = this.#options;
    const prepare = async ({ channelId }: Callee): Promise<void> => {
      const entry = channels.find(channelId);
      if (!entry || !preparation) return;
      const outcome = await dialplans.visit(entry, preparation, callsOf);
      if (outcome.type === 'ended' || isEnding(snapshotOf(entry))) return;
      const cause = outcome.type === 'hangup' ? outcome.cause : Cause.normalClearing;
      channels.tell(entry, { type: 'hangup', cause, by: 'dialplan' });
    };
    await Promise.all(callees.map(prepare));
    this.#send({ type: 'targets.prepared' });
  }

  dialTargets({ callees, toldElsewhere, timeoutMs = noTimeout }: DialContext): void {
    const { channels } = this.#options;
    // A callee that is to learn of an answer elsewhere must not time out by itself.
    const patience = toldElsewhere ? noTimeout : Math.min(timeoutMs, noTimeout);
    for (const { channelId } of callees) {
      const entry = channels.find(channelId);
      if (entry) channels.tell(entry, { type: 'dial', timeoutMs: patience });
    }
  }

  releaseTargets(callees: readonly Callee[], cause: number): void {
    for (const { channelId } of callees) {
      this.#unwatch(channelId);
      const entry = this.#options.channels.find(channelId);
      if (entry) release(this.#options.channels, entry, cause);
    }
  }

  followReplacement(channelId: string, by: string): void {
    const { channels } = this.#options;
    this.early.gone(channelId, this.actor.getSnapshot().context.callees);
    if (!this.#unwatch(channelId)) return;
    const newcomer = channels.find(by);
    if (!newcomer) return;
    this.#watch(newcomer);
    if (lifeOf(snapshotOf(newcomer)) === 'up') this.#look(snapshotOf(newcomer));
  }

  #watch(entry: ChannelEntry): void {
    this.#options.dialSessions.add(entry.id, this);
    this.#watched.push({ id: entry.id, unwatch: hearChanges(this.#options.facts, entry.id, this.#look) });
  }

  #unwatch(channelId: string): boolean {
    const at = this.#watched.findIndex(({ id }) => id === channelId);
    if (at === -1) return false;
    for (const { unwatch } of this.#watched.splice(at, 1)) unwatch();
    return true;
  }

  /** The snapshot of a callee has changed. */
  readonly #look = (snapshot: ChannelSnapshot): void => {
    const { id: channelId, name, cause } = snapshot.context;
    const life = lifeOf(snapshot);
    if (snapshot.context.hasEarlyMedia && !isEnding(snapshot)) this.#send({ type: 'callee.progressed', channelId });
    if (life === 'ringing') this.#send({ type: 'callee.ringing', channelId });
    else if (life === 'up' || isEnding(snapshot)) {
      // This is the last report of the callee.
      this.#unwatch(channelId);
      this.#send(
        life === 'up' ? { type: 'callee.answered', channelId, name } : { type: 'callee.failed', channelId, cause },
      );
    }
  };

  /* ---- Effects after an answer --------------------------------------------------------------------------------------- */

  keepPeer({ peer, endsIn, subroutine, announcement }: DialContext): void {
    this.early.keep(subroutine || announcement ? undefined : peer?.channelId);
    const entry = this.#options.channels.find(peer?.channelId ?? '');
    if (!entry) return;
    this.#options.dialSessions.add(entry.id, this);
    entry.endsIn = endsIn;
  }

  /** Runs the subroutine and the announcement for the answering party, before both are connected. */
  async screenPeer({ peer, subroutine, announcement }: DialContext): Promise<void> {
    const { channels, views, dialplans, callsOf } = this.#options;
    const entry = channels.find(peer?.channelId ?? '');
    if (!entry) return void this.#send({ type: 'peer.declined' });
    const host = views.dialplanChannel(entry);
    const outcome = subroutine && (await dialplans.visit(entry, subroutine, callsOf));
    const declined = outcome && declineOf(outcome, host.variable('GOSUB_RESULT') ?? '');
    if (!declined && announcement && !isEnding(snapshotOf(entry))) await host.play(announcement).done;
    if (declined || isEnding(snapshotOf(entry))) this.#send({ type: 'peer.declined', ...declined });
    else this.#send({ type: 'peer.accepted' });
  }

  answerCaller(): void {
    const { channels, facts } = this.#options;
    const up = answered(facts, this.#caller);
    if (lifeOf(snapshotOf(this.#caller)) !== 'up') channels.tell(this.#caller, { type: 'answer' });
    // Always waits: the callee's answer is being published, and what is sent to bridges meanwhile would come later.
    void up.then((isUp) => this.#send({ type: isUp ? 'caller.answered' : 'caller.lost' }));
  }

  joinParties(context: DialContext): void {
    const { channels, bridges, log, hit, runtime } = this.#options;
    let bridge: BridgeEntry | undefined;
    try {
      bridge = this.#options.openBridge();
      for (const { channel, features } of this.#parties(context))
        if (!isEnding(snapshotOf(channel)))
          bridges.enter(bridge, channel, { ...plainEntry, absorbsDigits: features.length > 0 });
    } catch (error) {
      if (!(error instanceof AriError)) throw error;
      countLimit(error, hit);
      log.warn({ channel: this.#caller.id, reason: error.message }, 'cannot bridge two parties');
      if (bridge) bridges.destroy(bridge);
      this.#send({ type: 'joining.failed' });
      return;
    }
    this.early.stop();
    pressKeys(this.#caller, context, channels);
    this.#send({ type: 'parties.joined', bridge: bridge.id, at: runtime.clock.now() });
  }

  /** @param from the keys that go on, where the Dial was restored */
  watchParties(context: DialContext, from?: DialDump['keys']): void {
    const { bridges, featureKeys } = this.#options;
    const bridge = bridges.find(context.bridge ?? '');
    const caller = this.#caller;
    const names = [snapshotOf(caller).context.caller.number || caller.name, context.peer?.number ?? ''] as const;
    const end = ({ id: channelId }: ChannelEntry): void =>
      this.#send({ type: 'party.ends', channelId, at: this.#now() });
    if (!bridge) return;
    this.#keyListener = featureKeys?.attend({ bridge, parties: this.#parties(context), names, end }, from);
    this.#unwatchBridge = hearBridge(bridges, bridge.id, ({ context: { members } }) => {
      if (members.length < 2) this.#tellParted();
    });
    this.reviewParties(context);
  }

  reviewParties({ bridge: id = '' }: DialContext): void {
    const bridge = this.#options.bridges.find(id);
    if ((bridge?.actor.getSnapshot().context.members.length ?? 0) < 2) this.#tellParted();
  }

  /** After the leaving party's own events: its end precedes the other's. */
  #tellParted(): void {
    const { channels } = this.#options;
    const peer = channels.find(this.actor.getSnapshot().context.peer?.channelId ?? '');
    const { endedBy, name: source } = peer ? snapshotOf(peer).context : {};
    if (source !== undefined && endedBy === 'farSide')
      channels.tell(this.#caller, { type: 'hangupSource.set', source });
    void Promise.resolve().then(() => {
      const hungUp = isEnding(snapshotOf(this.#caller));
      this.#send({ type: 'party.left', at: this.#now(), hungUp });
    });
  }

  leaveParties(): void {
    this.#unwatchBridge?.();
    this.#unwatchBridge = undefined;
    this.#keyListener?.end();
    this.#keyListener = undefined;
  }

  hangUp(channelId = ''): void {
    const { channels } = this.#options;
    const entry = channels.find(channelId);
    if (entry) channels.tell(entry, { type: 'hangup', cause: Cause.normalClearing, by: 'dialplan' });
  }

  sendPeerOn({ peer }: DialContext, position: Position): void {
    const { channels, bridges } = this.#options;
    const entry = channels.find(peer?.channelId ?? '');
    if (!entry || isEnding(snapshotOf(entry))) return;
    bridges.leave(entry.id);
    channels.tell(entry, { type: 'run', position });
  }

  destroyBridge({ bridge: id = '' }: DialContext): void {
    const bridge = this.#options.bridges.find(id);
    if (bridge) this.#options.bridges.destroy(bridge);
  }

  /** Both, with what they may ask for by keys; nothing where no keys stand for it. */
  #parties({ features, peer }: DialContext): FeatureParty[] {
    const { featureKeys, channels } = this.#options;
    const { called = [], calling = [] } = features ?? {};
    const party = (channel: ChannelEntry, wanted: FeatureParty['features']): FeatureParty => ({
      channel,
      features: featureKeys?.hasCode(wanted) ? wanted : [],
    });
    const entry = channels.find(peer?.channelId ?? '');
    return entry ? [party(this.#caller, calling), party(entry, called)] : [party(this.#caller, calling)];
  }

  #now(): number {
    return this.#options.runtime.clock.now();
  }

  #send(event: DialEvent): void {
    this.actor.send(event);
  }
}
