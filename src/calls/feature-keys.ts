import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { type ChannelFacts, hearDigits } from '../actors/channel-facts.ts';
import type { Channels } from '../actors/channels.ts';
import type { FeatureKeysDump } from '../actors/dumps.ts';
import type { Recordings } from '../actors/recordings.ts';
import { type Actor, type Runtime, spawn } from '../actors/spawn.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { BridgeSnapshot } from '../machines/bridge.ts';
import { isEnding } from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import {
  type FeatureKeysContext,
  type FeatureKeysInput,
  type FeatureKeysSnapshot,
  featureKeysMachine,
  type PressedKey,
} from '../machines/feature-keys.ts';
import { AriError } from '../models/errors.ts';
import { countLimit } from '../models/limits.ts';
import { recordingFormats } from '../models/live-recording.ts';
import type { TransferRequest } from '../telephony/driver.ts';
import {
  type ConsultationCodes,
  consultationFeatures,
  type Feature,
  type FeatureCodes,
  features,
} from '../telephony/features.ts';
import type { Indication } from '../telephony/media.ts';
import type { KeyTransferor } from './transfer-calls.ts';

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
type FeatureCall = {
  /** Their bridge; left out while a party waits for an answer. */
  bridge?: BridgeEntry;
  parties: readonly FeatureParty[];
  /** The caller and the called party, for names of recordings. */
  names: readonly [caller: string, called: string];
  /** A party ends it. */
  end(by: ChannelEntry): void;
};

type FeatureKeysOptions = {
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

/** Owns the keys by which parties of calls ask for something. */
export interface FeatureKeys {
  /** Whether there is a code for one of these. */
  hasCode(wanted: readonly Feature[]): boolean;
  /**
   * Listens to the keys of parties. In a bridge these keys are kept from the others. A party that leaves is no longer
   * heard; its replacement's keys go to the others as usual.
   * @param from saved state of a restored call.
   */
  attend(call: FeatureCall, from?: readonly FeatureKeysDump[]): KeyListener;
  /** Codes and times of calls that begin from now on. */
  change(settings: FeatureSettings): void;
  /** Parties that are listened to. */
  readonly size: number;
}

/** Parties of a call, as long as they are listened to. */
export type KeyListener = {
  end(): void;
  dump(): FeatureKeysDump[];
};

/** A party that is listened to. */
type Listener = { actor: Actor<typeof featureKeysMachine>; channel: ChannelEntry; call: FeatureCall; stop(): void };

/** Variables that say what a recording is called, and its format, by how it was asked for. */
const recordingVariables = {
  automon: { name: 'TOUCH_MONITOR', format: 'TOUCH_MONITOR_FORMAT', told: 'TOUCH_MONITOR_OUTPUT' },
  automixmon: { name: 'TOUCH_MIXMONITOR', format: 'TOUCH_MIXMONITOR_FORMAT', told: 'TOUCH_MIXMONITOR_OUTPUT' },
} as const;

/** Whether a party talks to whom it may put the others through to. */
const isAway = ({ actor }: Listener): boolean => {
  const { value } = actor.getSnapshot();
  return value === 'consulting' || value === 'collectingThere';
};

/** The context of transfer targets: that of the channel's calls, unless set by TRANSFER_CONTEXT. */
const contextOf = (channel: ChannelEntry): string => {
  const { variables, dialplan: place } = snapshotOf(channel).context;
  return ownVariable(variables, 'TRANSFER_CONTEXT') || place.context;
};

const mayBePutTo = ({ leg }: ChannelEntry, number: string): boolean => leg.mayCall?.(number) ?? true;

/** The codes of features that have one. */
const codesOf = <F extends keyof FeatureSettings['codes']>(codes: FeatureSettings['codes'], wanted: readonly F[]) =>
  wanted.filter((feature) => codes[feature] !== '').map((feature) => ({ feature, code: codes[feature] }));

/** Makes the owner of all feature keys. */
export function createFeatureKeys(options: FeatureKeysOptions): FeatureKeys {
  const {
    runtime,
    clock,
    ids,
    log,
    channels,
    facts,
    bridges,
    transfers,
    recordings,
    dialplan,
    hit = uncounted,
  } = options;
  let { settings } = options;
  /** By the id of the channel. */
  const listeners = new SlotMap<string, Listener>();

  const codesFor = (wanted: readonly Feature[]): FeatureKeysInput['codes'] =>
    codesOf(settings.codes, features).filter(({ feature }) => wanted.includes(feature));

  /** Those whom a party talks to. */
  const othersOf = ({ channel }: Listener): ChannelEntry[] =>
    [...(bridges.bridgeOf(channel.id)?.stays.values() ?? [])]
      .map((stay) => stay.channel)
      .filter((each) => each !== channel);

  const indicate = (id: string, tone: Indication | undefined): void => {
    const channel = listeners.get(id)?.channel;
    if (channel && !isEnding(snapshotOf(channel))) channel.leg.media.indicate(tone);
  };

  const passKeys = (listener: Listener, keys: readonly PressedKey[]): void => {
    for (const other of othersOf(listener))
      for (const { digit, durationMs } of keys) {
        const sequence = { digits: digit, beforeMs: 0, betweenMs: 100, durationMs: durationMs || 100, afterMs: 0 };
        channels.tell(other, { type: 'dtmf', sequence });
      }
  };

  const weigh = ({ actor, channel }: Listener, number: string): void => {
    const context = contextOf(channel);
    const mayGrow = dialplan.mayGrow(context, number);
    const exists = dialplan.hasExtension(context, number);
    if (exists && !mayGrow) actor.send({ type: 'number.complete' });
    else if (!exists && !mayGrow) actor.send({ type: 'number.unknown' });
  };

  const putThrough = ({ actor, channel }: Listener, number: string, consults: boolean): void => {
    if (!mayBePutTo(channel, number)) {
      log.info({ channel: channel.id, extension: number }, 'a party may not put others through to there');
      return void actor.send({ type: 'transfer.told', status: 403 });
    }
    const request = { id: ids.uuid(), extension: number, context: contextOf(channel), target: number };
    transfers.ask(
      channel,
      { ...request, handling: 'core' },
      {
        notify: (status) => actor.send({ type: 'transfer.told', status }),
        ...(consults && { consults: { timeoutMs: settings.noAnswerTimeoutMs } }),
      },
    );
  };

  /** A recording that parties have begun in a bridge, until it ends: either may end it. */
  const begun = new Map<string, string>();

  const toggleRecording = ({ channel, call }: Listener, feature: 'automon' | 'automixmon'): void => {
    const { bridge, names } = call;
    if (!bridge) return;
    const running = begun.get(bridge.id);
    try {
      if (running !== undefined && recordings.names('bridge', bridge.id).includes(running)) {
        recordings.command(running, { type: 'stop' });
        begun.delete(bridge.id);
      } else begun.set(bridge.id, record(channel, bridge, names, feature));
    } catch (error) {
      if (!(error instanceof AriError)) throw error;
      countLimit(error, hit);
      log.warn({ channel: channel.id, reason: error.message }, 'a call could not be recorded');
    }
  };

  /** @returns the name of the recording. @throws AriError as `Recordings.recordOn`. */
  const record = (
    channel: ChannelEntry,
    bridge: BridgeEntry,
    names: FeatureCall['names'],
    feature: 'automon' | 'automixmon',
  ): string => {
    const { variables } = snapshotOf(channel).context;
    const of = recordingVariables[feature];
    const wanted = ownVariable(variables, of.format) ?? '';
    const format = (recordingFormats as readonly string[]).includes(wanted) ? wanted : 'wav';
    const suffix = ownVariable(variables, of.name) || names.join('-');
    const name = `auto-${Math.floor(clock.now() / 1000)}-${suffix.replaceAll(/[^\w+-]/g, '_').slice(0, longestSuffix)}`;
    recordings.recordOn(bridges.recordTarget(bridge), {
      ...{ name, format, ifExists: 'append', beep: settings.beep, channels: 1 },
      ...{ maxDurationMs: 0, maxSilenceMs: 0, terminateOn: 'none' },
    });
    for (const { channel: each } of bridge.stays.values())
      channels.tell(each, { type: 'variable.set', name: of.told, value: `${name}.${format}` });
    return name;
  };

  /** A party in a consultation call first returns to its call, so that the call ends for all. */
  const endCall = ({ call, channel }: Listener): void => {
    for (const other of listeners.values())
      if (other.call === call && isAway(other)) transfers.decide(other.channel, 'aborts');
    call.end(channel);
  };

  const perform = (id: string, effect: (listener: Listener) => void): void => {
    const listener = listeners.get(id);
    if (listener) effect(listener);
  };

  const machine = featureKeysMachine.provide({
    actions: {
      passKeys: ({ context }, { keys }) => perform(context.id, (listener) => passKeys(listener, keys)),
      endCall: ({ context }) => perform(context.id, endCall),
      toggleRecording: ({ context }, { feature }) =>
        perform(context.id, (listener) => toggleRecording(listener, feature)),
      inviteNumber: ({ context: { id } }) => {
        bridges.held(id, 'default');
        indicate(id, 'dial');
      },
      stopTone: ({ context: { id } }) => indicate(id, undefined),
      weighNumber: ({ context }, { number }) => perform(context.id, (listener) => weigh(listener, number)),
      askTransfer: ({ context }, { number, consults }) =>
        perform(context.id, (listener) => putThrough(listener, number, consults)),
      completeTransfer: ({ context }) => perform(context.id, ({ channel }) => transfers.decide(channel, 'completes')),
      abortTransfer: ({ context }) => perform(context.id, ({ channel }) => transfers.decide(channel, 'aborts')),
      playRinging: ({ context: { id } }) => indicate(id, 'ringing'),
      playRefusal: ({ context: { id } }) => indicate(id, 'congestion'),
      resumeCall: ({ context: { id } }) => bridges.held(id, undefined),
    },
  });

  const inputFor = (id: string, wanted: readonly Feature[]): FeatureKeysInput | undefined => {
    const codes = codesFor(wanted);
    if (codes.length === 0) return undefined;
    const { digitTimeoutMs, numberTimeoutMs, attempts } = settings;
    return {
      id,
      codes,
      consultationCodes: codesOf(settings.codes, consultationFeatures),
      digitTimeoutMs,
      numberTimeoutMs,
      attempts,
    };
  };

  const listen = (
    { channel, features: wanted }: FeatureParty,
    call: FeatureCall,
    from: FeatureKeysDump | undefined,
  ): Listener | undefined => {
    const { id } = channel;
    const input = inputFor(id, wanted);
    if ((!input && !from) || listeners.has(id)) return undefined;
    const listener: Listener = {
      actor: undefined as never,
      channel,
      call,
      stop: () => listener.actor.send({ type: 'party.left' }),
    };
    let unhear: (() => void) | undefined;
    spawn(machine, {
      id,
      ...(from ? { from } : { input: input as FeatureKeysInput as FeatureKeysContext }),
      runtime,
      onCreated(actor) {
        listener.actor = actor;
        listeners.set(id, listener);
        unhear = hearDigits(facts, id, (digit, durationMs) => actor.send({ type: 'key', digit, durationMs }));
      },
      onEnded() {
        unhear?.();
        listeners.delete(id);
        if (call.bridge) freeKeys(call.bridge);
      },
    });
    return listener;
  };

  /** Restores what a party hears, and the reports that it gets. */
  const goOn = ({ actor, channel }: Listener): void => {
    const bridge = bridges.bridgeOf(channel.id);
    if (bridge) bridges.tell(bridge, { type: 'member.change', channelId: channel.id, absorbsDigits: true });
    const { value } = actor.getSnapshot();
    const tone = tonesHeard[value];
    if (tone) indicate(channel.id, tone);
    if (!asking.has(value)) return;
    const told = (status: number): void => actor.send({ type: 'transfer.told', status });
    // The transfer ended with the previous process.
    if (!transfers.hear(channel, told)) told(480);
  };

  /** Parties without feature keys send their keys to the others again. */
  const freeKeys = (bridge: BridgeEntry): void => {
    if (!bridges.find(bridge.id)) return;
    for (const { channelId, absorbsDigits } of bridges.snapshot(bridge).context.members)
      if (absorbsDigits && !listeners.has(channelId))
        bridges.tell(bridge, { type: 'member.change', channelId, absorbsDigits: false });
  };

  return {
    hasCode: (wanted) => codesFor(wanted).length > 0,

    attend(call, from = []) {
      const { bridge } = call;
      const fromOf = (id: string): FeatureKeysDump | undefined => from.find(({ context }) => context.id === id);
      const attended = call.parties.flatMap((party) => listen(party, call, fromOf(party.channel.id)) ?? []);
      for (const listener of attended) if (fromOf(listener.channel.id)) goOn(listener);
      if (attended.length === 0) return nobody;
      const look = ({ context: { members } }: BridgeSnapshot): void => {
        for (const listener of attended)
          if (!isAway(listener) && members.every(({ channelId }) => channelId !== listener.channel.id)) listener.stop();
        if (bridge) freeKeys(bridge);
      };
      const unwatch = bridge && hearBridge(bridges, bridge.id, look);
      return {
        end() {
          unwatch?.();
          if (bridge) begun.delete(bridge.id);
          for (const { stop } of attended) stop();
        },
        dump: () =>
          attended
            .filter((listener) => listeners.get(listener.channel.id) === listener)
            .map(({ actor }) => actor.dump() as FeatureKeysDump),
      };
    },

    change(next) {
      settings = next;
    },

    get size() {
      return listeners.size;
    },
  };
}

const nobody: KeyListener = { end: () => {}, dump: () => [] };

/** Tones of each state; a ringing target reports again. */
const tonesHeard: Readonly<Partial<Record<FeatureKeysSnapshot['value'], Indication>>> = {
  invited: 'dial',
  refused: 'congestion',
};

/** States with a transfer whose progress the party hears. */
const asking: ReadonlySet<FeatureKeysSnapshot['value']> = new Set([
  'calling',
  'consulting',
  'collectingThere',
  'puttingThrough',
]);

/** Longest part of a recording's name that calls decide, in characters. */
const longestSuffix = 100;
