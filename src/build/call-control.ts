import { createAwayPolicies } from '../actors/away-policies.ts';
import { snapshotOf } from '../actors/channel-entry.ts';
import { createHeldObjects } from '../actors/held-objects.ts';
import { callOf as callIdOf } from '../machines/channel-vocabulary.ts';
import { hasApplication } from '../machines/ownership.ts';
import { awayPolicies, featureSettings } from '../settings.ts';
import { Cause } from '../telephony/causes.ts';
import type { Base } from './base.ts';
import { buildChannels, type ChannelFloor } from './channels.ts';
import { buildMeeting } from './meeting.ts';
import type { Network } from './network.ts';
import type { Reloadable } from './reload.ts';
import type { State } from './state.ts';

/** Call control for clients and the dialplan. */
export type CallControl = ReturnType<typeof buildCallControl>;

/** Creates channels, what connects them, and the policies for applications that are away. */
export function buildCallControl(base: Base, state: State, { media }: Network) {
  const { log } = base;
  const floor = buildChannels(base, state, media);
  const { channels, views, dialplan } = floor;
  const meeting = buildMeeting(base, state, media, floor);
  showObjects(state, floor, meeting.bridges);
  const callOf = (channel: string) => {
    const entry = channels.find(channel);
    return entry && callIdOf(snapshotOf(entry).context.linked);
  };
  const firstIn = (bridge: string) => meeting.bridges.find(bridge)?.actor.getSnapshot().context.members[0]?.channelId;
  log.nameCalls((kind, id) => callOf((kind === 'channel' ? id : firstIn(id)) ?? ''));
  const { limits } = base.config.http;
  state.later.held = createHeldObjects({
    ...{ channels, views, bridges: meeting.bridges, playbacks: floor.playbacks, recordings: floor.recordings },
    isSubscribed: (name, topic) => state.applications.isSubscribed(name, topic),
    most: limits.resume_objects,
    hit: () => base.limitCounts.hit('http.limits.resume_objects'),
  });
  const away = buildAwayPolicies(base, state, floor);
  const reloads: Reloadable[] = [
    away.reload,
    { settings: ['features'], apply: (next) => meeting.featureKeys.change(featureSettings(next)) },
    { settings: ['dialplan'], apply: (next) => dialplan.replace(next.dialplan) },
    { settings: ['general.channelvars'], apply: (next) => views.show(next.general.channelvars) },
  ];
  return { ...floor, reloads, meeting, away: away.saved, awayPolicyOf: away.policyOf };
}

/** Lets clients subscribe to channels and bridges, and see who made them. */
function showObjects(
  { eventSources, objectOwnership }: State,
  { channels, views }: ChannelFloor,
  bridges: ReturnType<typeof buildMeeting>['bridges'],
): void {
  eventSources.add({
    channel(id) {
      const entry = channels.findByIdOrName(id);
      return entry && views.model(entry);
    },
    bridge(id) {
      const bridge = bridges.find(id);
      const shown = bridge && bridges.model(bridge);
      return shown?.bridge_class === 'stasis' ? shown : undefined;
    },
  });
  objectOwnership.add({ channel: (id) => channels.findByIdOrName(id), bridge: bridges.find });
}

function buildAwayPolicies(
  { config, clock, log, runtime, scope, tables }: Base,
  { presenceChanged }: State,
  { channels, operations }: ChannelFloor,
) {
  const policies = { current: awayPolicies(config) };
  const policyOf = (name: string) => policies.current(name);
  const away = createAwayPolicies({
    tables,
    clock,
    log,
    policyOf,
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
    move: (id, app) => operations.move(id, { app }),
    saved: (application) => runtime.turn.changed?.({ chart: 'awayPolicy', id: application }),
    returnMs: config.general.return_timeout * 1000,
    play: (id, mohClass) => (mohClass === undefined ? operations.stopMoh(id) : operations.startMoh(id, { mohClass })),
  });
  presenceChanged.to = away.changed;
  scope.defer(() => away.close());
  const reload: Reloadable = {
    settings: ['away_policies'],
    apply(next) {
      policies.current = awayPolicies(next);
    },
  };
  return { policyOf, reload, saved: away };
}
