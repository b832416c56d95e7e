import { createBridgeOperations } from '../actors/bridge-operations.ts';
import { createBridges } from '../actors/bridges.ts';
import type { Broadcasts } from '../actors/broadcasts.ts';
import type { Channels } from '../actors/channels.ts';
import type { Playbacks } from '../actors/playbacks.ts';
import { createRecordingOperations } from '../actors/recording-operations.ts';
import type { Recordings } from '../actors/recordings.ts';
import { createSnoops } from '../actors/snoops.ts';
import { createConsultations } from '../calls/consultations.ts';
import { DialSessions } from '../calls/dial-sessions.ts';
import { createDialplanCalls } from '../calls/dialplan-calls.ts';
import { createFeatureKeys } from '../calls/feature-keys.ts';
import { createForwarding } from '../calls/forwarding.ts';
import { createReplacing } from '../calls/replacing.ts';
import { RunningDials } from '../calls/running-dials.ts';
import { createSwaps } from '../calls/swaps.ts';
import { createTransfers } from '../calls/transfers.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { createSnoopDriver } from '../drivers/snoop/snoop.ts';
import { featureSettings } from '../settings.ts';
import type { StoredRecordings } from '../stores/stored-recordings.ts';
import type { AudioMeeting } from '../telephony/media.ts';
import type { Base } from './base.ts';
import type { State } from './state.ts';

type Calls = {
  channels: Channels;
  playbacks: Playbacks;
  recordings: Recordings;
  stored: StoredRecordings;
  broadcasts: Broadcasts;
  dialplan: Dialplan;
};

/** Creates call control between channels: bridges, their recordings, and snoops. */
export function buildMeeting(
  {
    config,
    clock,
    ids,
    log,
    runtime,
    limitCounts: { hit },
  }: Pick<Base, 'config' | 'clock' | 'ids' | 'log' | 'runtime' | 'limitCounts'>,
  { bus, applications, objectOwnership, eventSources }: State,
  media: AudioMeeting,
  { channels, playbacks, recordings, stored, broadcasts, dialplan }: Calls,
) {
  const { compatibility } = config.general;
  const bridges = createBridges({
    bus,
    runtime,
    log,
    media,
    channels,
    playbacks,
    recordings,
    applications,
    defaultLanguage: config.sounds.default_language,
    limits: { bridges: config.bridges.most, members: config.bridges.channels },
  });
  const dialSessions = new DialSessions();
  const swaps = createSwaps({ channels, bridges, dialSessions, log });
  const consultations = createConsultations({ runtime, channels, bridges, dialSessions, swaps, log });
  const transfers = createTransfers({
    ...{ bus, runtime, ids, log, channels, bridges, swaps, dialplan },
    consultations,
    timeoutMs: config.sip.transfers.timeout * 1000,
    callsBack: config.sip.transfers.call_back,
    byeTimeoutMs: config.sip.transfers.bye_timeout * 1000,
    asteriskEvents: compatibility === 'asterisk',
  });
  channels.onTransferAsked((channel, request) => transfers.ask(channel, request));
  channels.onForwarded(createForwarding({ channels, dialSessions, applications, objectOwnership, log }));
  channels.onReplacing(createReplacing({ channels, bridges, swaps, log }));
  // Before its bridge: the channel that is to be in its place comes there first.
  channels.onEnding(transfers.departing);
  channels.onDeparture(transfers.departing);
  channels.onDeparture(bridges.leave);
  channels.onHold(bridges.held);
  channels.onVideo(bridges.videoChanged);
  eventSources.add({
    bridge(id) {
      const bridge = bridges.find(id);
      const shown = bridge && bridges.model(bridge);
      return shown?.bridge_class === 'stasis' ? shown : undefined;
    },
  });
  objectOwnership.add({ bridge: bridges.find });
  const bridgeOperations = createBridgeOperations({
    bridges,
    channels,
    playbacks,
    recordings,
    ids,
    clock,
    compatibility,
    variablesLimit: config.limits.channel_variables,
  });
  const recordingOperations = createRecordingOperations({ channels, bridges, playbacks, recordings, compatibility });
  const snoopDriver = createSnoopDriver({ media, ids });
  const snoops = createSnoops({ channels, driver: snoopDriver });
  const featureKeys = createFeatureKeys({
    ...{ runtime, clock, ids, log, channels, bridges, transfers, recordings, dialplan, hit },
    settings: featureSettings(config),
  });
  const dials = new RunningDials();
  channels.onGone((id) => dials.forget(id));
  channels.bringTogether(
    createDialplanCalls({
      runtime,
      ...{ channels, bridges, dialSessions, stored, broadcasts, featureKeys, ids, clock, log, hit, media },
      running: dials,
    }),
  );
  return {
    bridges,
    transfers,
    consultations,
    dials,
    dialSessions,
    featureKeys,
    bridgeOperations,
    recordingOperations,
    snoops,
    snoopDriver,
  };
}
