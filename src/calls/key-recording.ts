import type { BridgeEntry } from '../actors/bridge-entry.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { uncounted } from '../lib/limit-counts.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { AriError } from '../models/errors.ts';
import { countLimit } from '../models/limits.ts';
import { recordingFormats } from '../models/live-recording.ts';
import type { CallParty, FeatureCall, FeatureKeysOptions } from './feature-calls.ts';

type KeyRecordingOptions = Pick<FeatureKeysOptions, 'clock' | 'log' | 'channels' | 'bridges' | 'recordings' | 'hit'> & {
  /** Whether everybody in a call hears a beep when it begins to be recorded. */
  beep(): boolean;
};

/** Variables that say what a recording is called, and its format, by how it was asked for. */
const recordingVariables = {
  automon: { name: 'TOUCH_MONITOR', format: 'TOUCH_MONITOR_FORMAT', told: 'TOUCH_MONITOR_OUTPUT' },
  automixmon: { name: 'TOUCH_MIXMONITOR', format: 'TOUCH_MIXMONITOR_FORMAT', told: 'TOUCH_MIXMONITOR_OUTPUT' },
} as const;

/** Starts and stops recordings of calls by keys. */
export function createKeyRecording({
  clock,
  log,
  channels,
  bridges,
  recordings,
  hit = uncounted,
  beep,
}: KeyRecordingOptions) {
  /** A recording that parties have begun in a bridge, until it ends: either may end it. */
  const begun = new Map<string, string>();

  const toggle = ({ channel, call }: CallParty, feature: keyof typeof recordingVariables): void => {
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
      log.warn({ channel: channel.id, reason: error.message }, 'cannot record a call');
    }
  };

  /** @returns the name of the recording. @throws AriError as `Recordings.recordOn`. */
  const record = (
    channel: ChannelEntry,
    bridge: BridgeEntry,
    names: FeatureCall['names'],
    feature: keyof typeof recordingVariables,
  ): string => {
    const { variables } = snapshotOf(channel).context;
    const of = recordingVariables[feature];
    const wanted = ownVariable(variables, of.format) ?? '';
    const format = (recordingFormats as readonly string[]).includes(wanted) ? wanted : 'wav';
    const suffix = ownVariable(variables, of.name) || names.join('-');
    const name = `auto-${Math.floor(clock.now() / 1000)}-${suffix.replaceAll(/[^\w+-]/g, '_').slice(0, longestSuffix)}`;
    recordings.recordOn(bridges.recordTarget(bridge), {
      ...{ name, format, ifExists: 'append', beep: beep(), channels: 1 },
      ...{ maxDurationMs: 0, maxSilenceMs: 0, terminateOn: 'none' },
    });
    for (const { channel: each } of bridge.stays.values())
      channels.tell(each, { type: 'variable.set', name: of.told, value: `${name}.${format}` });
    return name;
  };

  return { toggle, forget: (bridge: BridgeEntry): void => void begun.delete(bridge.id) };
}

/** Longest part of a recording's name that calls decide, in characters. */
const longestSuffix = 100;
