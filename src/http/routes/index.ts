import type { Api, Resource } from '../operation.ts';
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
import { listening } from './listening.ts';
import { live } from './live.ts';
import { logging } from './logging.ts';
import { mailboxes } from './mailboxes.ts';
import { playbacks } from './playbacks.ts';
import { recordings } from './recordings.ts';
import { server } from './server.ts';
import { sessions } from './sessions.ts';
import { sounds } from './sounds.ts';
import { usage } from './usage.ts';

const resources: readonly Resource[] = [
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
];

/** The interface that clients of the field know. What the field has not does not belong here. */
export const ari: Api = {
  base: '/ari',
  title: 'Hookswitch',
  description: 'Call control over REST.',
  // As clients of the field know it.
  version: '12.0.0',
  resources,
};

/** Operations of our own. */
export const hookswitch: Api = {
  base: '/hookswitch',
  title: 'Hookswitch, beyond ARI',
  description: 'What the server tells and does beside the interface that it shares with others.',
  version: '1.0.0',
  resources: [allowed, bans, calls, charts, listening, live, logging, server, sessions, usage],
};

/** Everything that is served. */
export const apis: readonly Api[] = [ari, hookswitch];
