import { createBridgeOperations } from '../actors/bridge-operations.ts';
import { createBridges } from '../actors/bridges.ts';
import { createRecordingOperations } from '../actors/recording-operations.ts';
import { createConsultations } from '../calls/consultations.ts';
import { DialSessions, RunningDials } from '../calls/dial-sessions.ts';
import { createDialplanCalls } from '../calls/dialplan-calls.ts';
import { createFeatureKeys } from '../calls/feature-keys.ts';
import { createForwarding } from '../calls/forwarding.ts';
import { createReplacing } from '../calls/replacing.ts';
import { createSwaps } from '../calls/swaps.ts';
import { createTransfers } from '../calls/transfers.ts';
import { policiesOf } from '../compatibility.ts';
import { featureSettings } from '../settings.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Base } from './base.ts';
import { buildBridgeLinks } from './bridge-links.ts';
import type { ChannelFloor } from './channels.ts';
import type { State } from './state.ts';

/** Creates call control between channels: bridges with their operations, transfers, Dial. */
export function buildMeeting(
  base: Base,
  { bus, applications, objectOwnership, cluster }: State,
  media: MediaPlane,
  {
    channels,
    facts,
    views,
    audio,
    playbacks,
    recordings,
    stored,
    dialplan,
    dialplans,
    broadcasts,
    snoops,
  }: ChannelFloor,
) {
  const { config, clock, ids, log, runtime, tables } = base;
  const { hit } = base.limitCounts;
  const policy = policiesOf(config.general).calls;
  const shared = { runtime, tables, clock, ids, log, hit, channels, facts, views, audio };
  const bridges = createBridges({
    ...{ bus, runtime, tables, log, media, channels, channelFacts: facts },
    ...{ views, audio, playbacks, recordings, applications },
    defaultLanguage: config.sounds.default_language,
    limits: { bridges: config.bridges.most, members: config.bridges.channels },
  });
  const dialSessions = new DialSessions();
  const swaps = createSwaps({ channels, bridges, dialSessions, log });
  const consultations = createConsultations({ ...shared, bridges, dialSessions, swaps });
  const transfers = createTransfers({
    ...{ ...shared, bus, bridges, swaps, dialplan, consultations },
    timeoutMs: config.sip.transfers.timeout * 1000,
    callsBack: config.sip.transfers.call_back,
    byeTimeoutMs: config.sip.transfers.bye_timeout * 1000,
    policy,
    beyond: cluster && {
      find: cluster.phones.call,
      enter: (bridge, channel, app) => bridgeOperations.bring(bridge, channel, app),
      end: (call) => void cluster.phones.endCall(call),
    },
  });
  createForwarding({ channels, facts, dialSessions, applications, objectOwnership, log });
  createReplacing({ channels, facts, swaps, log });
  const bridgeLinks = cluster && buildBridgeLinks(base, cluster, { media, bridges, views, channels });
  const bridgeOperations = createBridgeOperations({
    ...{ bridges, channels, playbacks, recordings, ids, clock, policy },
    variablesLimit: config.limits.channel_variables,
    beyond: bridgeLinks,
  });
  bridgeLinks?.attach({ ...bridgeOperations, ...swaps });
  const recordingOperations = createRecordingOperations({
    ...{ channels, facts, bridges, playbacks, recordings, policy },
  });
  const featureKeys = createFeatureKeys({
    ...{ ...shared, bridges, transfers, recordings, dialplan },
    settings: featureSettings(config),
  });
  const dials = new RunningDials(facts);
  createDialplanCalls({
    ...{ ...shared, dialplans, bridges, dialSessions, snoops, stored, broadcasts, featureKeys, media, running: dials },
  });
  return {
    ...{ bridges, transfers, consultations, dials, dialSessions, featureKeys, bridgeOperations, recordingOperations },
    bridgeLinks,
  };
}
