import type { DialplanCalls } from '../dialplan/calls.ts';
import { isFunction, readFunction } from '../dialplan/functions.ts';
import type {
  DialplanChannel,
  DialplanJournal,
  DialplanSystem,
  EnteredStep,
  Identity,
  Subroutine,
} from '../dialplan/host.ts';
import type { Position } from '../dialplan/position.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import {
  type ChannelContext,
  type ChannelEvent,
  type ChannelSnapshot,
  channelModel,
  lifeOf,
} from '../machines/channel.ts';
import { ownVariable, storedName } from '../machines/channel-setup.ts';
import type { Channel } from '../models/channel.ts';
import type { Leg, SipAbilities, TransferHandling } from '../telephony/driver.ts';
import type { Indication, TalkDetection, ToneDetection } from '../telephony/media.ts';
import {
  answered,
  type ChannelEntry,
  type ChannelFacts,
  type ChannelPlaybacks,
  deliver,
  hearDigits,
  snapshotOf,
} from './channel-entry.ts';
import type { PlayTarget } from './playbacks.ts';

/** The calls that the dialplan of a channel can make. */
export type CallsOf = (entry: ChannelEntry) => DialplanCalls;

/** A channel as clients, the dialplan and playbacks see it. */
export interface ChannelViews {
  /** The channel as clients see it now, shown variables included. */
  model(entry: ChannelEntry): Channel;
  /** The channel as the dialplan reads and writes it. Functions need no `callsOf`. */
  dialplanChannel(entry: ChannelEntry, callsOf?: CallsOf): DialplanChannel;
  /** Other variables and functions are shown in every event from now on (`general.channelvars`). */
  show(channelvars: readonly string[]): void;
}

type ChannelViewsOptions = {
  facts: ChannelFacts;
  playbacks: Pick<ChannelPlaybacks, 'playQuietly'>;
  /** The system as the dialplan's functions see it. */
  system: DialplanSystem;
  /** Variables and functions shown in every event of a channel (`general.channelvars`). */
  channelvars: readonly string[];
  /** Most variables of one channel. Unlimited when left out. */
  variablesLimit?: number;
  /** Counts dialplan variables that are refused because of the limit. */
  hit?: LimitHit;
  /** Wall-clock time, in ms since the epoch. */
  now(): number;
  /** Hears that something changes that the leg of a channel saves, by no step of a chart. */
  changed(channelId: string): void;
};

/** The channel as the target of playbacks. */
export const playTargetOf = (entry: ChannelEntry): PlayTarget => ({
  kind: 'channel',
  id: entry.id,
  language: snapshotOf(entry).context.language,
  topics: entry.topics,
  media: entry.leg.media,
});

const nothing = (): void => {};
const over = <T>(value: T) => ({ done: Promise.resolve(value), stop: nothing });
/** Without bridges Dial reaches no channel. */
const noCalls: DialplanCalls = {
  dial: () => over({ status: 'CHANUNAVAIL' }),
  join: () => undefined,
  spy: () => undefined,
  enterConference: () => over(undefined),
  music: () => nothing,
  broadcast: () => over('FAILED'),
  record: () => over('ERROR'),
};

/** Makes the view of all channels. */
export function createChannelViews(options: ChannelViewsOptions): ChannelViews {
  let { channelvars } = options;
  /** Values of functions can change without a step of the channel. */
  let functions = channelvars.filter(isFunction);

  const shownVariables = (entry: ChannelEntry, current: ChannelSnapshot): Record<string, string> | undefined => {
    const { variables, reported } = current.context;
    if (channelvars.length === 0 && reported.length === 0) return undefined;
    const shown = (name: string) => (isFunction(name) ? read(entry, name) : (ownVariable(variables, name) ?? ''));
    return Object.fromEntries([...channelvars, ...reported].map((name) => [name, shown(name)]));
  };

  const read = (entry: ChannelEntry, name: string): string => {
    // The function may ask for the channel, whose shown variables are just being made: give it the bare one.
    const bare: ChannelAccess = { ...access, model: (other) => channelModel(snapshotOf(other)) };
    const host = new ChannelDialplan(bare, entry, () => noCalls);
    const result = readFunction(host, name, { value: (of) => host.variable(of) ?? '', now: () => options.now() });
    return result.ok ? result.value : '';
  };

  const isCurrent = (entry: ChannelEntry, { channelvars: shown }: Channel): boolean =>
    functions.every((name) => shown?.[name] === read(entry, name));

  const model = (entry: ChannelEntry): Channel => {
    const current = snapshotOf(entry);
    const { seen } = entry;
    if (seen?.snapshot === current && seen.shown === channelvars && isCurrent(entry, seen.model)) return seen.model;
    const made = channelModel(current, shownVariables(entry, current));
    entry.seen = { snapshot: current, shown: channelvars, model: made };
    return made;
  };

  const access: ChannelAccess = {
    ...options,
    variablesLimit: options.variablesLimit ?? Number.POSITIVE_INFINITY,
    model,
  };
  return {
    model,
    dialplanChannel: (entry, callsOf = () => noCalls) => new ChannelDialplan(access, entry, callsOf),
    show(names) {
      channelvars = names;
      functions = names.filter(isFunction);
    },
  };
}

type ChannelAccess = Pick<ChannelViewsOptions, 'facts' | 'playbacks' | 'system' | 'hit' | 'changed' | 'now'> & {
  variablesLimit: number;
  model(entry: ChannelEntry): Channel;
};

/** A channel as the dialplan sees it: reads come from the snapshot, changes go to the actor. */
class ChannelDialplan implements DialplanChannel {
  readonly #access: ChannelAccess;
  readonly #entry: ChannelEntry;
  readonly #callsOf: CallsOf;

  constructor(access: ChannelAccess, entry: ChannelEntry, callsOf: CallsOf) {
    this.#access = access;
    this.#entry = entry;
    this.#callsOf = callsOf;
  }

  get id(): string {
    return this.#entry.id;
  }

  get linkedId(): string {
    return this.#context.linked.id;
  }

  get technology(): string {
    return this.#context.technology;
  }

  get endpoint(): readonly [technology: string, resource: string] | undefined {
    return this.#context.endpoint;
  }

  get system(): DialplanSystem {
    return this.#access.system;
  }

  get source(): string | undefined {
    return this.#entry.leg.source;
  }

  get formats(): readonly string[] {
    return this.#entry.leg.formats;
  }

  get videoFormats(): readonly string[] {
    return this.#entry.leg.video?.formats ?? [];
  }

  channel(): Channel {
    return this.#access.model(this.#entry);
  }

  hangupCause(): number {
    return this.#context.cause;
  }

  setHangupCause(cause: number): void {
    this.#tell({ type: 'cause.set', cause });
  }

  variable(name: string): string | undefined {
    return ownVariable(this.#context.variables, name);
  }

  setVariable(name: string, value: string | undefined): boolean {
    const { variables } = this.#context;
    const isNew = value !== undefined && ownVariable(variables, storedName(name)) === undefined;
    if (isNew && Object.keys(variables).length >= this.#access.variablesLimit) {
      this.#access.hit?.('limits.channel_variables');
      return false;
    }
    this.#tell({ type: 'variable.set', name, value });
    return true;
  }

  note(name: string, value: string): void {
    this.#tell({ type: 'variable.set', name, value });
  }

  get journal(): DialplanJournal {
    return this.#entry.journal;
  }

  get subroutines(): Subroutine[] {
    return this.#entry.subroutines;
  }

  caller(): Identity {
    return this.#context.caller;
  }

  setCaller(change: Partial<Identity>): void {
    this.#tell({ type: 'caller.set', caller: change });
  }

  connectedLine(): Identity {
    return this.#context.connected;
  }

  setConnectedLine(change: Partial<Identity>, quietly: boolean): void {
    this.#tell({ type: 'connected.set', party: change, ...(quietly && { quietly }) });
  }

  setLanguage(language: string): void {
    this.#tell({ type: 'language.set', language });
  }

  setAccountCode(accountCode: string): void {
    this.#tell({ type: 'accountCode.set', accountCode });
  }

  setTenantId(tenantId: string): void {
    this.#tell({ type: 'tenantId.set', tenantId });
  }

  variableNames(): readonly string[] {
    return Object.keys(this.#context.variables);
  }

  get musicClass(): string {
    return this.#context.musicClass ?? '';
  }

  setMusicClass(musicClass: string): void {
    this.#tell({ type: 'musicClass.set', musicClass });
  }

  get hangupSource(): string {
    const { hangupSource, endedBy, name } = this.#context;
    return hangupSource ?? (endedBy === 'farSide' ? name : '');
  }

  get peerAccount(): string {
    return this.#context.peerAccount ?? '';
  }

  setPeerAccount(peerAccount: string): void {
    this.#tell({ type: 'peerAccount.set', peerAccount });
  }

  timeLeft(): number | undefined {
    const { timeLimit } = this.#context;
    return timeLimit && Math.max(0, timeLimit.at - this.#access.now());
  }

  limitTime(ms: number | undefined): void {
    this.#tell({ type: 'timeLimit.set', limit: ms === undefined ? undefined : { ms, at: this.#access.now() + ms } });
  }

  entering({ position, application, data }: EnteredStep): void {
    const { context, exten, priority, appName } = this.#context.dialplan;
    const isSame =
      context === position.context &&
      exten === position.extension &&
      priority === position.priority &&
      appName === application;
    // Clients have heard of a step that goes on.
    if (!this.#entry.journal.begin(isSame)) this.#tell({ type: 'dialplan.entered', position, app: application, data });
  }

  isUp(): boolean {
    return lifeOf(this.#snapshot) === 'up';
  }

  answer(): void {
    this.#tell({ type: 'answer' });
  }

  answered(): Promise<void> {
    if (this.isUp()) return Promise.resolve();
    return new Promise((resolve) => {
      void answered(this.#access.facts, this.#entry).then((isUp) => isUp && resolve());
    });
  }

  ring(): void {
    this.#tell({ type: 'ring' });
  }

  progress(): void {
    this.#tell({ type: 'progress' });
  }

  indicate(tone: Indication): () => void {
    if (tone === 'busy') this.#tell({ type: 'busy' });
    else this.#command().media.indicate(tone);
    return () => this.#command().media.indicate(undefined);
  }

  play(uris: readonly string[]): { done: Promise<'done' | 'failed'>; stop(): void } {
    if (!this.isUp()) this.progress();
    const { journal } = this.#entry;
    const playing = this.#access.playbacks.playQuietly(playTargetOf(this.#entry), uris, {
      from: journal.takePlayback(uris),
      changed: () => journal.changed(),
    });
    journal.plays(playing.dump);
    return playing;
  }

  echo(): () => void {
    this.#command().media.echo(true);
    return () => this.#command().media.echo(false);
  }

  onDigit(listener: (digit: string) => void): () => void {
    return hearDigits(this.#access.facts, this.#entry.id, listener);
  }

  detectTalking(detection: TalkDetection | undefined): void {
    this.#command().media.detectTalking(detection);
  }

  detectTone(
    detection: ToneDetection | undefined,
    then: { times: number; to: { in?: Position; out?: Position } } = { times: 1, to: {} },
  ): void {
    this.#tell({ type: 'tones.set', tones: detection && { ...then, heard: { in: 0, out: 0 } } });
    this.#command().media.detectTone(detection);
  }

  tonesHeard(): { in: number; out: number } | undefined {
    return this.#context.tones?.heard;
  }

  interceptHold(on: boolean): void {
    this.#tell({ type: 'holdIntercept.set', on });
  }

  handleTransfers(handling: TransferHandling): void {
    this.#tell({ type: 'transferHandling.set', handling });
  }

  callControl(): DialplanCalls {
    return this.#callsOf(this.#entry);
  }

  userEvent(name: string, fields: Readonly<Record<string, string>>): void {
    this.#tell({ type: 'userEvent', name, fields });
  }

  header(name: string, index?: number): string | undefined {
    return this.#entry.leg.header(name, index);
  }

  addHeader(name: string, value: string): boolean {
    return this.#command().addHeader(name, value);
  }

  sip(): SipAbilities | undefined {
    return this.#entry.leg.sip;
  }

  updateHeader(name: string, value: string): boolean {
    return this.#command().updateHeader(name, value);
  }

  removeHeader(name: string): void {
    this.#command().removeHeader(name);
  }

  /** The leg, for a command that changes what it saves. */
  #command(): Leg {
    this.#access.changed(this.#entry.id);
    return this.#entry.leg;
  }

  get #snapshot(): ChannelSnapshot {
    return snapshotOf(this.#entry);
  }

  get #context(): ChannelContext {
    return this.#snapshot.context;
  }

  #tell(event: ChannelEvent): void {
    deliver(this.#entry, event);
  }
}
