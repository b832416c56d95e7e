import type { OperationName } from '../access/scope.ts';
import { type Api, inResources, type Operation } from '../operation.ts';
import { allowed } from './allowed.ts';
import { applications } from './applications.ts';
import { asterisk } from './asterisk.ts';
import { bans } from './bans.ts';
import { bridges } from './bridges.ts';
import { calls } from './calls.ts';
import { channels } from './channels.ts';
import { charts } from './charts.ts';
import { deviceStates } from './device-states.ts';
import { endpoints } from './endpoints.ts';
import { events } from './events.ts';
import { groups } from './groups.ts';
import { listening } from './listening.ts';
import { live } from './live.ts';
import { logging } from './logging.ts';
import { mailboxes } from './mailboxes.ts';
import { nodes } from './nodes.ts';
import { playbacks } from './playbacks.ts';
import { recordings } from './recordings.ts';
import { server } from './server.ts';
import { sessions } from './sessions.ts';
import { sounds } from './sounds.ts';
import { tokens } from './tokens.ts';
import { usage } from './usage.ts';
import { videoVisibility } from './video-visibility.ts';
import { webrtc } from './webrtc.ts';

const resources = inResources([
  asterisk,
  endpoints,
  bridges,
  channels,
  recordings,
  playbacks,
  deviceStates,
  mailboxes,
  events,
  applications,
  sounds,
]);

/** The interface of Asterisk. Operations that Asterisk lacks are elsewhere. */
export const ari: Api = {
  base: '/ari',
  title: 'Hookswitch',
  description: 'Call control over REST.',
  // As clients of Asterisk know it.
  version: '12.0.0',
  resources,
};

/** Operations of our own. */
export const hookswitch: Api = {
  base: '/hookswitch',
  title: 'Hookswitch, beyond ARI',
  description: 'Operations of this server beyond ARI.',
  version: '1.0.0',
  resources: inResources([
    allowed,
    bans,
    calls,
    charts,
    groups,
    listening,
    live,
    logging,
    nodes,
    server,
    sessions,
    videoVisibility,
    tokens,
    usage,
    webrtc,
  ]),
};

/** Everything that is served. */
export const apis: readonly Api[] = [ari, hookswitch];

/** Metrics, which are no operation but are covered by scopes like one. */
export const readMetrics: OperationName = { resource: 'metrics', nickname: 'get', changesNothing: true };

const operations = apis.flatMap(({ resources: all }) => all.flatMap((resource) => resource.operations));

/** Everything that a scope can name. */
export const operationNames: readonly OperationName[] = [...operations, readMetrics];

/** An operation by its name. @throws Error when there is none. */
export function operationNamed(resource: string, nickname: string): Operation {
  const found = operations.find((each) => each.resource === resource && each.nickname === nickname);
  if (!found) throw new Error(`there is no operation ${resource}:${nickname}`);
  return found;
}
