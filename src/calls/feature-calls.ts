import type { BridgeEntry } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { ChannelEntry, ChannelFacts } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import type { Recordings } from '../actors/recordings.ts';
import type { Runtime } from '../actors/spawn.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { TransferRequest } from '../telephony/driver.ts';
import type { ConsultationCodes, Feature, FeatureCodes } from '../telephony/features.ts';
import type { KeyTransferor } from './transfer-calls.ts';
/** Feature keys: settings, parties and calls. */

/** How parties of calls ask for something by keys. */
export type FeatureSettings = {
  codes: FeatureCodes & ConsultationCodes;
  /** Longest time between two keys of a code, in ms. */
  digitTimeoutMs: number;
  /** Longest time until the first key of a number, and between two of them, in ms. */
  numberTimeoutMs: number;
  /** How often a number may be dialed before the party is back in its call. */
  attempts: number;
  /** Time that the target of an attended transfer rings, in ms. */
  noAnswerTimeoutMs: number;
  /** Whether everybody in a call hears a beep when it begins to be recorded. */
  beep: boolean;
};

/** A party of a call that the dialplan joins, and what it may ask for. */
export type FeatureParty = { channel: ChannelEntry; features: readonly Feature[] };

/** A call whose parties may ask for something. */
export type FeatureCall = {
  /** Their bridge; left out while a party waits for an answer. */
  bridge?: BridgeEntry;
  parties: readonly FeatureParty[];
  /** The caller and the called party, for names of recordings. */
  names: readonly [caller: string, called: string];
  /** A party ends it. */
  end(by: ChannelEntry): void;
};

export type FeatureKeysOptions = {
  runtime: Runtime;
  clock: Clock;
  ids: Ids;
  log: Logger;
  channels: Pick<Channels, 'find' | 'tell'>;
  /** Hears the keys of parties. */
  facts: ChannelFacts;
  bridges: Pick<Bridges, 'facts' | 'snapshot' | 'tell' | 'held' | 'recordTarget' | 'find' | 'bridgeOf'>;
  /** Carries out transfers, and tells how they go. */
  transfers: {
    ask(channel: ChannelEntry, request: TransferRequest, transferor: KeyTransferor): void;
    hear(channel: ChannelEntry, told: (status: number) => void): boolean;
    decide(channel: ChannelEntry, what: 'completes' | 'aborts'): void;
  };
  recordings: Pick<Recordings, 'recordOn' | 'command' | 'names'>;
  dialplan: Pick<Dialplan, 'hasExtension' | 'mayGrow'>;
  settings: FeatureSettings;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
};

/** A party of a call that has feature keys. */
export type CallParty = { channel: ChannelEntry; call: FeatureCall };
