import { createAwayPolicies } from '../actors/away-policies.ts';
import { createBroadcasts } from '../actors/broadcasts.ts';
import { createChannelOperations } from '../actors/channel-operations.ts';
import { createChannels } from '../actors/channels.ts';
import { createOutboundConnections } from '../actors/outbound-connections.ts';
import { createPlaybacks } from '../actors/playbacks.ts';
import { createRecordings } from '../actors/recordings.ts';
import { createDialplan } from '../dialplan/dialplan.ts';
import { videoFormatNames } from '../lib/formats.ts';
import { hasApplication } from '../machines/ownership.ts';
import { awayPolicies, featureSettings, outboundConnections } from '../settings.ts';
import { createStoredRecordings } from '../stores/stored-recordings.ts';
import { Cause } from '../telephony/causes.ts';
import type { Base } from './base.ts';
import { buildMeeting } from './meeting.ts';
import type { Network } from './network.ts';
import type { Reloadable } from './reload.ts';
import type { State } from './state.ts';

/** Call control for clients and the dialplan. */
export type CallControl = ReturnType<typeof buildCallControl>;

/** Creates playbacks, the dialplan, channels with their operations, and WebSockets for calls. */
export function buildCallControl(
  { config, clock, ids, log, runtime, scope, story, tracing, limitCounts, io }: Base,
  state: State,
  { media }: Network,
) {
  const { general, limits } = config;
  const { bus, applications, objectOwnership, eventSources, endpoints, dialplanSystem } = state;
  const playbacks = createPlaybacks({ bus, runtime, ids, log, queueLimit: limits.playbacks });
  const dialplan = createDialplan({
    contexts: config.dialplan,
    clock,
    log: log.child({ part: 'dialplan' }),
    subroutineDepth: limits.subroutines,
    hit: limitCounts.hit,
  });
  dialplanSystem.add({ dialplan });
  const outbound = createOutboundConnections({
    connections: outboundConnections(config),
    applications,
    bus,
    runtime,
    log: log.child({ part: 'outbound' }),
    headersOf: tracing && ((channel) => tracing.headersOf(channel)),
    queueLimit: Math.floor(config.http.limits.websocket_queue / 2),
    hit: limitCounts.hit,
  });
  const stored = io.stored ?? createStoredRecordings({ directory: config.recordings.directory, log });
  const recordings = createRecordings({
    bus,
    runtime,
    log,
    stored,
    most: config.recordings.live,
    onStarted: ({ kind, id }, name) =>
      story.recorded(kind, kind === 'channel' ? (meeting.snoopDriver.targetOf(id) ?? id) : id, name),
  });
  const channels = createChannels({
    bus,
    runtime,
    ids,
    dialplan,
    applications: { ...applications, admit: outbound.admit },
    playbacks,
    recordings,
    endpoints,
    system: dialplanSystem,
    story,
    settings: {
      channelvars: general.channelvars,
      defaultLanguage: config.sounds.default_language,
      variablesLimit: limits.channel_variables,
      hit: limitCounts.hit,
      asteriskEvents: general.compatibility === 'asterisk',
    },
  });
  eventSources.add({
    channel(id) {
      const entry = channels.findByIdOrName(id);
      return entry && channels.model(entry);
    },
  });
  objectOwnership.add({ channel: channels.findByIdOrName });
  const operations = createChannelOperations({
    channels,
    playbacks,
    applications,
    dialplan,
    formats: new Set([...config.media.codecs, ...videoFormatNames]),
    variablesLimit: limits.channel_variables,
    clock,
  });
  const broadcasts = createBroadcasts({ bus, clock, ids, applications, model: channels.model });
  const meeting = buildMeeting({ config, clock, ids, log, runtime, limitCounts }, state, media, {
    channels,
    playbacks,
    recordings,
    stored,
    broadcasts,
    dialplan,
  });
  const callOf = (channel: string) => channels.find(channel)?.actor.getSnapshot().context.linked.id;
  const firstIn = (bridge: string) => meeting.bridges.find(bridge)?.actor.getSnapshot().context.members[0]?.channelId;
  log.nameCalls((kind, id) => callOf((kind === 'channel' ? id : firstIn(id)) ?? ''));
  const policies = { current: awayPolicies(config) };
  const awayPolicyOf = (name: string) => policies.current(name);
  const away = createAwayPolicies({
    clock,
    log,
    policyOf: awayPolicyOf,
    channelsOf: (name) =>
      channels.all().flatMap(({ id, ownership }) => {
        const owner = ownership.getSnapshot();
        return hasApplication(owner) && owner.context.app === name ? [id] : [];
      }),
    lost(id) {
      const entry = channels.find(id);
      if (entry) channels.tell(entry, { type: 'application.lost' });
    },
    hangup(id) {
      // A caller that was never answered is not rejected: there was no answer.
      const isWaiting = channels.find(id)?.actor.getSnapshot().value === 'ring';
      operations.hangup(id, isWaiting ? { reason_code: String(Cause.subscriberAbsent) } : {});
    },
    goOn: (id) => operations.continueInDialplan(id, {}),
  });
  state.presenceChanged.to = away.changed;
  scope.defer(() => away.close());
  const reloads: Reloadable[] = [
    {
      settings: ['away_policies'],
      apply(next) {
        policies.current = awayPolicies(next);
      },
    },
    { settings: ['features'], apply: (next) => meeting.featureKeys.change(featureSettings(next)) },
    { settings: ['dialplan'], apply: (next) => dialplan.replace(next.dialplan) },
    { settings: ['general.channelvars'], apply: (next) => channels.show(next.general.channelvars) },
  ];
  return {
    ...{ reloads, playbacks, dialplan, outbound, channels, operations, recordings, stored, broadcasts, meeting },
    awayPolicyOf,
  };
}
