import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import { type ChannelEntry, hearDigits, snapshotOf } from '../actors/channel-entry.ts';
import type { FeatureKeysDump } from '../actors/dumps.ts';
import { type Actor, spawn } from '../actors/spawn.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
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
import { consultationFeatures, type Feature, features } from '../telephony/features.ts';
import type { Indication } from '../telephony/media.ts';
import type { FeatureCall, FeatureKeysOptions, FeatureParty, FeatureSettings } from './feature-calls.ts';
import { createKeyRecording } from './key-recording.ts';

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

/** Whether a party talks to a target that it may transfer the others to. */
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

/** The codes of the features that a party may use. */
const codesFor = (codes: FeatureSettings['codes'], wanted: readonly Feature[]): FeatureKeysInput['codes'] =>
  codesOf(codes, features).filter(({ feature }) => wanted.includes(feature));

type Shared = {
  options: FeatureKeysOptions;
  /** By the id of the channel. */
  listeners: SlotMap<string, Listener>;
  recording: ReturnType<typeof createKeyRecording>;
  settings(): FeatureSettings;
  /** A party hears a tone, or no longer. */
  indicate(id: string, tone: Indication | undefined): void;
};

/** Binds the effects of the chart of feature keys. */
function bindEffects({ options, listeners, recording, settings, indicate }: Shared) {
  const { ids, log, channels, bridges, transfers, dialplan } = options;

  /** The peers of a party. */
  const othersOf = ({ channel }: Listener): ChannelEntry[] =>
    [...(bridges.bridgeOf(channel.id)?.stays.values() ?? [])]
      .map((stay) => stay.channel)
      .filter((each) => each !== channel);

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
      log.info({ channel: channel.id, extension: number }, 'transfer refused: the transferor may not call this target');
      return void actor.send({ type: 'transfer.told', status: 403 });
    }
    const request = { id: ids.uuid(), extension: number, context: contextOf(channel), target: number };
    transfers.ask(
      channel,
      { ...request, handling: 'core' },
      {
        notify: (status) => actor.send({ type: 'transfer.told', status }),
        ...(consults && { consults: { timeoutMs: settings().noAnswerTimeoutMs } }),
      },
    );
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

  return featureKeysMachine.provide({
    actions: {
      passKeys: ({ context }, { keys }) => perform(context.id, (listener) => passKeys(listener, keys)),
      endCall: ({ context }) => perform(context.id, endCall),
      toggleRecording: ({ context }, { feature }) =>
        perform(context.id, (listener) => recording.toggle(listener, feature)),
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
}

/** The input of a party's chart; undefined without a code for the features that it may use. */
function inputFor(
  { codes: all, digitTimeoutMs, numberTimeoutMs, attempts }: FeatureSettings,
  id: string,
  wanted: readonly Feature[],
): FeatureKeysInput | undefined {
  const codes = codesFor(all, wanted);
  if (codes.length === 0) return undefined;
  const consultationCodes = codesOf(all, consultationFeatures);
  return { id, codes, consultationCodes, digitTimeoutMs, numberTimeoutMs, attempts };
}

/** Starts the charts of parties, and releases what they held. */
function createListen({ options, listeners, settings, ...shared }: Shared, freeKeys: (bridge: BridgeEntry) => void) {
  const { runtime, facts } = options;
  const machine = onFirstUse(() => bindEffects({ options, listeners, settings, ...shared }));

  return (
    { channel, features: wanted }: FeatureParty,
    call: FeatureCall,
    from: FeatureKeysDump | undefined,
  ): Listener | undefined => {
    const { id } = channel;
    const input = inputFor(settings(), id, wanted);
    if ((!input && !from) || listeners.has(id)) return undefined;
    const listener: Listener = {
      actor: undefined as never,
      channel,
      call,
      stop: () => listener.actor.send({ type: 'party.left' }),
    };
    let unhear: (() => void) | undefined;
    spawn(machine(), {
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
}

/** Makes the owner of all feature keys. */
export function createFeatureKeys(options: FeatureKeysOptions): FeatureKeys {
  const { bridges, transfers } = options;
  let { settings } = options;
  const listeners = new SlotMap<string, Listener>();
  const recording = createKeyRecording({ ...options, beep: () => settings.beep });

  const indicate = (id: string, tone: Indication | undefined): void => {
    const channel = listeners.get(id)?.channel;
    if (channel && !isEnding(snapshotOf(channel))) channel.leg.media.indicate(tone);
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

  const listen = createListen({ options, listeners, recording, settings: () => settings, indicate }, freeKeys);

  return {
    hasCode: (wanted) => codesFor(settings.codes, wanted).length > 0,

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
          if (bridge) recording.forget(bridge);
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
