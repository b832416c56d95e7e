import type { DialplanCalls } from '../dialplan/calls.ts';
import type { DialplanChannel, DialplanSystem, EnteredStep, Identity, Subroutine } from '../dialplan/host.ts';
import type { Position } from '../dialplan/position.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import { type ChannelContext, type ChannelEvent, type ChannelSnapshot, lifeOf } from '../machines/channel.ts';
import { ownVariable, storedName } from '../machines/channel-setup.ts';
import type { Channel } from '../models/channel.ts';
import type { SipAbilities, TransferHandling } from '../telephony/driver.ts';
import type { Indication, TalkDetection, ToneDetection } from '../telephony/media.ts';
import type { ChannelEntry, ChannelPlaybacks } from './channel-entry.ts';
import type { PlayTarget } from './playbacks.ts';

/** The part of the channels' owner that the dialplan's view uses. */
export type ChannelAccess = {
  model(entry: ChannelEntry): Channel;
  snapshot(entry: ChannelEntry): ChannelSnapshot;
  tell(entry: ChannelEntry, event: ChannelEvent): void;
  playTarget(entry: ChannelEntry): PlayTarget;
  playbacks: ChannelPlaybacks;
  /** The system as the dialplan's functions see it. */
  system: DialplanSystem;
  /** Variables that a channel may have. */
  variablesLimit: number;
  /** Counts variables beyond the limit. */
  hit?: LimitHit;
  /** The calls that a channel can be part of. */
  callsOf(entry: ChannelEntry): DialplanCalls;
};

/** A channel as the dialplan sees it: reads come from the snapshot, changes go to the actor. */
export const createChannelDialplan = (access: ChannelAccess, entry: ChannelEntry): DialplanChannel =>
  new ChannelDialplan(access, entry);

class ChannelDialplan implements DialplanChannel {
  readonly #access: ChannelAccess;
  readonly #entry: ChannelEntry;

  constructor(access: ChannelAccess, entry: ChannelEntry) {
    this.#access = access;
    this.#entry = entry;
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

  get typedAhead(): string[] {
    return this.#entry.typedAhead;
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

  entering({ position, application, data }: EnteredStep): void {
    this.#tell({ type: 'dialplan.entered', position, app: application, data });
  }

  isUp(): boolean {
    return lifeOf(this.#snapshot) === 'up';
  }

  answer(): void {
    this.#tell({ type: 'answer' });
  }

  answered(): Promise<void> {
    if (this.isUp()) return Promise.resolve();
    return new Promise((resolve) => this.#entry.onUp.push((up) => up && resolve()));
  }

  ring(): void {
    this.#tell({ type: 'ring' });
  }

  progress(): void {
    this.#tell({ type: 'progress' });
  }

  indicate(tone: Indication): () => void {
    const { media } = this.#entry.leg;
    if (tone === 'busy') this.#tell({ type: 'busy' });
    else media.indicate(tone);
    return () => media.indicate(undefined);
  }

  play(uris: readonly string[]): { done: Promise<'done' | 'failed'>; stop(): void } {
    if (!this.isUp()) this.progress();
    return this.#access.playbacks.playQuietly(this.#access.playTarget(this.#entry), uris);
  }

  echo(): () => void {
    const { media } = this.#entry.leg;
    media.echo(true);
    return () => media.echo(false);
  }

  onDigit(listener: (digit: string) => void): () => void {
    const { onDigit } = this.#entry;
    onDigit.add(listener);
    return () => void onDigit.delete(listener);
  }

  detectTalking(detection: TalkDetection | undefined): void {
    this.#entry.leg.media.detectTalking(detection);
  }

  detectTone(
    detection: ToneDetection | undefined,
    then: { times: number; to: { in?: Position; out?: Position } } = { times: 1, to: {} },
  ): void {
    this.#tell({ type: 'tones.set', tones: detection && { ...then, heard: { in: 0, out: 0 } } });
    this.#entry.leg.media.detectTone(detection);
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

  company(): DialplanCalls {
    return this.#access.callsOf(this.#entry);
  }

  userEvent(name: string, fields: Readonly<Record<string, string>>): void {
    this.#tell({ type: 'userEvent', name, fields });
  }

  header(name: string, index?: number): string | undefined {
    return this.#entry.leg.header(name, index);
  }

  addHeader(name: string, value: string): boolean {
    return this.#entry.leg.addHeader(name, value);
  }

  sip(): SipAbilities | undefined {
    return this.#entry.leg.sip;
  }

  updateHeader(name: string, value: string): boolean {
    return this.#entry.leg.updateHeader(name, value);
  }

  removeHeader(name: string): void {
    this.#entry.leg.removeHeader(name);
  }

  get #snapshot(): ChannelSnapshot {
    return this.#access.snapshot(this.#entry);
  }

  get #context(): ChannelContext {
    return this.#snapshot.context;
  }

  #tell(event: ChannelEvent): void {
    this.#access.tell(this.#entry, event);
  }
}
