import type { BridgeEntry, Bridges } from '../actors/bridges.ts';
import type { ChannelEntry } from '../actors/channel-entry.ts';
import { readDigits } from '../actors/channel-requests.ts';
import type { Channels } from '../actors/channels.ts';
import type { CallingDialDump, DialDump, JoinedDialDump } from '../actors/dumps.ts';
import type { DialOutcome, DialRequest, DialResult, Ongoing, Visit } from '../dialplan/calls.ts';
import type { Clock } from '../lib/clock.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { isEnding, lifeOf, noTimeout } from '../machines/channel.ts';
import { AriError } from '../models/errors.ts';
import { countLimit } from '../models/limits.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError } from '../telephony/driver.ts';
import type { Companies, Company } from './companies.ts';
import { outcomeOf, telling, verdictOf } from './dial-outcomes.ts';
import { keepWaiting, openTarget, resourceOf } from './dial-targets.ts';
import type { FeatureKeys, FeatureParty } from './feature-keys.ts';
import { plainEntry } from './plain-bridges.ts';
import type { RunningDials } from './running-dials.ts';

/** Calls others for a channel that runs the dialplan, and joins it with the first that answers. */

export type DialerOptions = {
  channels: Channels;
  bridges: Bridges;
  /** Where it is asked who takes whose place. */
  companies: Companies;
  /** Listens to what parties ask for by keys; left out, they ask for nothing. */
  featureKeys?: Pick<FeatureKeys, 'hasCode' | 'attend'> | undefined;
  /** All that there are, and what they go on from; left out, none does. */
  running?: RunningDials | undefined;
  clock: Clock;
  log: Logger;
  /** Hears of bounds that were met. */
  hit: LimitHit;
  /** Makes a bridge for the dialplan. @throws AriError tooManyBridges. */
  openBridge(): BridgeEntry;
};

/** Someone being called. */
type Callee = { entry: ChannelEntry; number: string; unwatch: () => void };

/** Two who are with each other: who answered, where, and since when in ms; the keys that go on, if they did so before. */
type Togetherness = {
  entry: ChannelEntry;
  bridge: BridgeEntry;
  peer: { name: string; number: string };
  since: number;
  from?: JoinedDialDump['keys'];
};

export function dialFor(caller: ChannelEntry, request: DialRequest, options: DialerOptions): Ongoing<DialResult> {
  const attempt = new DialAttempt(caller, request, options);
  const dump = options.running?.take(caller.id);
  if (dump) attempt.goOn(dump);
  else attempt.begin();
  return { done: attempt.done, stop: () => attempt.stop() };
}

class DialAttempt implements Company {
  readonly done: Promise<DialResult>;
  readonly #caller: ChannelEntry;
  readonly #request: DialRequest;
  readonly #options: DialerOptions;
  #settle!: (result: DialResult) => void;
  #callees: Callee[] = [];
  #failures: DialOutcome[] = [];
  /** Since when they are called, in ms since the epoch. */
  #since: number | undefined;
  #over = false;
  /** Both were joined. */
  #joined = false;
  /** Who has answered, or whoever is in its place. */
  #peer: ChannelEntry | undefined;
  /** One of both was put through to somebody else: neither is ours any more. */
  #abandoned = false;
  /** One of both talks to somebody else meanwhile, and is expected back. */
  #absent = false;
  #stopWaiting = (): void => {};
  /** Settles when nobody listens to the caller's keys any more for what it may do while it waits. */
  #keysFree: Promise<void> | undefined;
  /** Looks whether both are still with each other. */
  #reviewParties = (): void => {};
  /** What is to be undone once nobody is called any more. */
  #onOver: (() => void)[] = [];

  constructor(caller: ChannelEntry, request: DialRequest, options: DialerOptions) {
    this.#caller = caller;
    this.#request = request;
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  replaced(old: ChannelEntry, newcomer: ChannelEntry): void {
    const { channels } = this.#options;
    if (old === this.#caller) return void this.departed(old);
    if (old === this.#peer) this.#peer = newcomer;
    const callee = this.#callees.find(({ entry }) => entry === old);
    if (!callee) return;
    callee.unwatch();
    callee.entry = newcomer;
    callee.unwatch = newcomer.actor.watch(() => this.#look(newcomer));
    if (lifeOf(channels.snapshot(newcomer)) === 'up') this.#look(newcomer);
  }

  departed(entry: ChannelEntry): void {
    if (entry === this.#caller ? this.#over : entry === this.#peer) this.#abandoned = true;
  }

  absent(isAbsent: boolean): void {
    this.#absent = isAbsent;
    this.#reviewParties();
  }

  #found(): void {
    this.#options.companies.add(this.#caller.id, this);
    const forget = this.#options.running?.add(this.#caller.id, () => this.#dumpCalling());
    void this.done.then(() => {
      this.#options.companies.remove(this);
      forget?.();
    });
  }

  /** Goes on where another process left off. */
  goOn(dump: DialDump): void {
    if ('calling' in dump) this.#callOn(dump);
    else this.#stayOn(dump);
  }

  /** Who was called before this process is called on. */
  #callOn({ calling, failures, since }: CallingDialDump): void {
    const { channels } = this.#options;
    for (const { id, number } of calling) {
      const entry = channels.find(id);
      if (entry) this.#watch(entry, number);
      else this.#failures.push('NOANSWER');
    }
    if (since === undefined) {
      // What comes before calls, or behind an answer, begins again, and they do with it.
      this.#release(Cause.normalClearing);
      this.#failures = [];
      return void this.begin();
    }
    this.#failures.push(...failures);
    this.#found();
    this.#heedKeys();
    this.#stopWaiting = keepWaiting(this.#caller, this.#request.waiting, channels);
    this.#called(since);
    for (const { entry } of [...this.#callees]) this.#look(entry);
    this.#review();
  }

  /** Both are with each other since before this process. */
  #stayOn(dump: JoinedDialDump): void {
    const { channels, bridges, clock } = this.#options;
    this.#found();
    this.#over = true;
    const [entry, bridge] = [channels.find(dump.peer), bridges.find(dump.bridge)];
    const peer = { name: dump.name, number: dump.number };
    if (!entry || !bridge)
      return void this.#settle({ status: 'ANSWER', peer, answeredMs: clock.now() - dump.joinedAt });
    this.#options.companies.add(entry.id, this);
    this.#peer = entry;
    this.#absent = dump.absent ?? false;
    entry.endsIn = this.#request.endsIn;
    void this.#stayTogether({ entry, bridge, peer, since: dump.joinedAt, from: dump.keys }).then((result) =>
      this.#settle(result),
    );
  }

  begin(): void {
    const { waiting, targets, preparation } = this.#request;
    this.#found();
    this.#heedKeys();
    this.#stopWaiting = keepWaiting(this.#caller, waiting, this.#options.channels);
    for (const target of targets) this.#open(target);
    if (preparation) void this.#prepareAll(preparation).then(() => this.#send());
    else this.#send();
  }

  /** Brings all who are to be called through a subroutine; who does not come to its end is not called. */
  async #prepareAll(preparation: Visit): Promise<void> {
    const { channels } = this.#options;
    const prepare = async ({ entry }: Callee): Promise<void> => {
      const outcome = await channels.visit(entry, preparation);
      if (outcome.type === 'ended' || isEnding(channels.snapshot(entry))) return;
      const cause = outcome.type === 'hangup' ? outcome.cause : Cause.normalClearing;
      channels.tell(entry, { type: 'hangup', cause, by: 'dialplan' });
    };
    await Promise.all(this.#callees.map(prepare));
  }

  /** Calls them. */
  #send(): void {
    if (this.#over) return;
    const { channels, clock } = this.#options;
    this.#called(clock.now());
    for (const { entry } of [...this.#callees])
      channels.tell(entry, { type: 'dial', timeoutMs: this.#request.toldElsewhere ? noTimeout : this.#limitMs });
    this.#review();
  }

  get #limitMs(): number {
    return Math.min(this.#request.timeoutMs ?? noTimeout, noTimeout);
  }

  #called(since: number): void {
    this.#since = since;
    // Who is to hear that somebody else has the call cannot give up by itself.
    if (this.#request.toldElsewhere) this.#giveUpAfter(since + this.#limitMs - this.#options.clock.now());
  }

  #giveUpAfter(ms: number): void {
    const { clock } = this.#options;
    const timer = clock.setTimeout(() => this.#giveUp({ status: 'NOANSWER' }), ms);
    this.#onOver.push(() => clock.clearTimeout(timer));
  }

  /** Nobody is called any more. */
  #giveUp(result: DialResult): void {
    if (this.#over) return;
    this.#end(result);
    // A call that somebody else has by now is so for all who were called for it.
    const isElsewhere = this.#options.channels.snapshot(this.#caller).context.cause === Cause.answeredElsewhere;
    this.#release(isElsewhere || this.#request.toldElsewhere ? Cause.answeredElsewhere : Cause.normalClearing);
  }

  /** The caller goes, or goes elsewhere. */
  stop(): void {
    this.#giveUp({ status: 'CANCEL' });
  }

  /** Keys of the caller that lead elsewhere, until somebody answers. */
  #heedKeys(): void {
    const { leaves, features } = this.#request;
    const { onDigit } = this.#caller;
    if (features?.calling.includes('disconnect')) this.#heedDisconnect();
    if (!leaves) return;
    const pressed = (digit: string): void => {
      if (leaves(digit)) this.#giveUp({ status: 'CANCEL', left: digit });
    };
    onDigit.add(pressed);
    this.#onOver.push(() => onDigit.delete(pressed));
  }

  /** The code by which the caller may end its call ends the calling, until somebody answers. */
  #heedDisconnect(): void {
    const parties = [{ channel: this.#caller, features: ['disconnect'] }] as const;
    const end = (): void => this.#giveUp({ status: 'CANCEL' });
    const attention = this.#options.featureKeys?.attend({ parties, names: ['', ''], end });
    if (!attention) return;
    this.#onOver.push(() => {
      attention.end();
      // Its keys are free when the step under way is over.
      this.#keysFree = Promise.resolve();
    });
  }

  #open(target: string): void {
    const { channels, log } = this.#options;
    try {
      this.#watch(openTarget(this.#caller, target, channels), resourceOf(target));
    } catch (error) {
      if (!(error instanceof DriverError || error instanceof AriError)) throw error;
      log.info({ channel: this.#caller.id, target, reason: error.message }, 'a party could not be called');
      this.#failures.push('CHANUNAVAIL');
    }
  }

  #watch(entry: ChannelEntry, number: string): void {
    const unwatch = entry.actor.watch(() => this.#look(entry));
    this.#options.companies.add(entry.id, this);
    this.#callees.push({ entry, number, unwatch });
  }

  /** One of those who are called is another than before. */
  #look(entry: ChannelEntry): void {
    const { channels } = this.#options;
    const callee = this.#callees.find((each) => each.entry === entry);
    if (!callee || this.#over) return;
    const snapshot = channels.snapshot(entry);
    if (lifeOf(snapshot) === 'up') this.#answered(callee);
    else if (isEnding(snapshot)) {
      callee.unwatch();
      this.#callees = this.#callees.filter((each) => each !== callee);
      this.#failures.push(outcomeOf(snapshot.context.cause));
      this.#review();
    } else if (lifeOf(snapshot) === 'ringing' && this.#request.waiting === 'alert')
      channels.tell(this.#caller, { type: 'ring' });
  }

  /** Nobody is left to answer. */
  #review(): void {
    if (this.#since === undefined || this.#over || this.#callees.length > 0) return;
    this.#end({ status: telling.find((outcome) => this.#failures.includes(outcome)) ?? 'CHANUNAVAIL' });
  }

  #answered(callee: Callee): void {
    this.#callees = this.#callees.filter((each) => each !== callee);
    callee.unwatch();
    this.#finishCalling();
    const { subroutine, announcement, endsIn } = this.#request;
    callee.entry.endsIn = endsIn;
    const waits = subroutine !== undefined || announcement !== undefined;
    // Until both are joined the caller hears what it heard.
    if (!waits) this.#stopWaiting();
    this.#release(Cause.answeredElsewhere);
    this.#peer = callee.entry;
    this.stop = () => this.#letGo();
    void (waits ? this.#prepare(callee) : this.#join(callee)).then((result) => this.#settle(result));
  }

  /** Who answered is hung up, unless it is somebody else's by now; or goes on by itself when the caller has hung up. */
  #letGo(): void {
    const { channels, bridges } = this.#options;
    const peer = this.#peer;
    if (!peer || this.#abandoned) return;
    const { afterwards } = this.#request;
    const goesOn = afterwards && this.#joined && isEnding(channels.snapshot(this.#caller));
    if (!goesOn || isEnding(channels.snapshot(peer))) {
      channels.tell(peer, { type: 'hangup', cause: Cause.normalClearing, by: 'dialplan' });
      return;
    }
    this.#peer = undefined;
    bridges.leave(peer.id);
    channels.tell(peer, { type: 'run', position: afterwards });
  }

  /** What is done with who answered before both are joined, if it lets itself be joined then. */
  async #prepare(callee: Callee): Promise<DialResult> {
    const { channels } = this.#options;
    const { entry } = callee;
    const { subroutine, announcement } = this.#request;
    const host = channels.dialplanChannel(entry);
    const outcome = subroutine && (await channels.visit(entry, subroutine));
    const verdict = outcome && verdictOf(outcome, host.variable('GOSUB_RESULT') ?? '');
    if (!verdict && announcement && !isEnding(channels.snapshot(entry))) await host.play(announcement).done;
    this.#stopWaiting();
    if (isEnding(channels.snapshot(this.#caller))) return { status: 'CANCEL' };
    if (!verdict && !isEnding(channels.snapshot(entry))) return this.#join(callee);
    this.#letGo();
    return { status: 'ANSWER', peer: { name: entry.name, number: callee.number }, answeredMs: 0, ...verdict };
  }

  /** Answers the caller, and joins both until one of them goes. */
  async #join({ entry, number }: Callee): Promise<DialResult> {
    const { channels, bridges, clock, log } = this.#options;
    const caller = this.#caller;
    const peer = { name: entry.name, number };
    const hangUp = (): void => this.#letGo();
    const up = channels.answered(caller);
    if (lifeOf(channels.snapshot(caller)) !== 'up') channels.tell(caller, { type: 'answer' });
    // Always waits: the callee's answer is being published, and what is sent to bridges meanwhile would come later.
    if (!(await up)) {
      hangUp();
      return { status: 'CANCEL' };
    }
    if (this.#keysFree) await this.#keysFree;
    try {
      const bridge = this.#options.openBridge();
      for (const { channel, features } of this.#partiesWith(entry))
        if (!isEnding(channels.snapshot(channel)))
          bridges.enter(bridge, channel, { ...plainEntry, absorbsDigits: features.length > 0 });
      this.#pressKeys(entry);
      return await this.#stayTogether({ entry, bridge, peer, since: clock.now() });
    } catch (error) {
      if (!(error instanceof AriError)) throw error;
      countLimit(error, this.#options.hit);
      log.warn({ channel: caller.id, reason: error.message }, 'two parties could not be joined');
    }
    hangUp();
    return { status: 'ANSWER', peer, answeredMs: 0 };
  }

  /** Both are in a bridge, until one of them goes. */
  async #stayTogether({ entry, bridge, peer, since, from }: Togetherness): Promise<DialResult> {
    const { channels, bridges, clock, running } = this.#options;
    const caller = this.#caller;
    this.#joined = true;
    const part = (): void => {
      this.#letGo();
      if (!this.#abandoned) bridges.destroy(bridge);
    };
    this.stop = part;
    const unbind = this.#bound(since, part);
    const names = [channels.snapshot(caller).context.caller.number || caller.name, peer.number] as const;
    const end = (by: ChannelEntry): void => {
      if (!this.#abandoned) part();
      else channels.tell(by, { type: 'hangup', cause: Cause.normalClearing, by: 'dialplan' });
    };
    const call = { bridge, parties: this.#partiesWith(entry), names, end };
    const attention = this.#options.featureKeys?.attend(call, from);
    const forget = running?.add(caller.id, () => this.#dump(bridge, peer, since, attention?.dump() ?? []));
    await this.#parted(bridge);
    forget?.();
    attention?.end();
    unbind();
    if (!this.#abandoned) bridges.destroy(bridge);
    this.#letGo();
    return { status: 'ANSWER', peer, answeredMs: clock.now() - since };
  }

  /** Undefined when nobody is called any more, or one of both was put through to somebody else. */
  #dumpCalling(): CallingDialDump | undefined {
    const caller = this.#caller.id;
    if (this.#over)
      return this.#peer && !this.#abandoned
        ? { caller, calling: [{ id: this.#peer.id, number: '' }], failures: [] }
        : undefined;
    const calling = this.#callees.map(({ entry: { id }, number }) => ({ id, number }));
    return { caller, calling, failures: [...this.#failures], ...(this.#since !== undefined && { since: this.#since }) };
  }

  /** Undefined when one of both was put through to somebody else, or the other one has gone. */
  #dump({ id: bridge }: BridgeEntry, peer: Togetherness['peer'], joinedAt: number, keys: JoinedDialDump['keys']) {
    if (this.#abandoned || !this.#peer) return undefined;
    const both = { caller: this.#caller.id, peer: this.#peer.id };
    return { ...both, ...peer, bridge, joinedAt, ...(this.#absent && { absent: true as const }), keys };
  }

  /** Resolves when one of both is gone, and not expected back. */
  #parted({ actor }: BridgeEntry): Promise<void> {
    const isOver = (): boolean => !this.#absent && actor.getSnapshot().context.members.length < 2;
    return new Promise((resolve) => {
      const unwatch = actor.watch(() => this.#reviewParties());
      this.#reviewParties = () => {
        if (!isOver()) return;
        this.#reviewParties = () => {};
        unwatch();
        resolve();
      };
      this.#reviewParties();
    });
  }

  /** Both, with what they may ask for by keys; nothing where no keys stand for it. */
  #partiesWith(entry: ChannelEntry): [FeatureParty, FeatureParty] {
    const { featureKeys } = this.#options;
    const { called = [], calling = [] } = this.#request.features ?? {};
    const party = (channel: ChannelEntry, wanted: FeatureParty['features']): FeatureParty => ({
      channel,
      features: featureKeys?.hasCode(wanted) ? wanted : [],
    });
    return [party(this.#caller, calling), party(entry, called)];
  }

  /** What ends the call besides one of both going: its limit. */
  #bound(since: number, part: () => void): () => void {
    const { clock } = this.#options;
    const { limitMs } = this.#request;
    if (limitMs === undefined) return () => {};
    const timer = clock.setTimeout(part, Math.max(0, since + limitMs - clock.now()));
    return () => clock.clearTimeout(timer);
  }

  /** The keys that are pressed at its start. */
  #pressKeys(entry: ChannelEntry): void {
    const { channels } = this.#options;
    const { digits } = this.#request;
    for (const [side, keys] of [
      [entry, digits?.called],
      [this.#caller, digits?.calling],
    ] as const)
      if (keys) channels.tell(side, { type: 'dtmf', sequence: readDigits({ dtmf: keys }) });
  }

  /** Nobody is called from now on. */
  #finishCalling(): void {
    this.#over = true;
    for (const undo of this.#onOver.splice(0)) undo();
  }

  #end(result: DialResult): void {
    this.#finishCalling();
    this.#stopWaiting();
    this.#settle(result);
  }

  /** Hangs up all that are still called. */
  #release(cause: number): void {
    const { channels } = this.#options;
    for (const { entry, unwatch } of this.#callees.splice(0)) {
      unwatch();
      channels.tell(entry, { type: 'hangup', cause, cancels: true, by: 'dialplan' });
    }
  }
}
