import type { Resource } from '../operation.ts';
import { applications } from './applications.ts';
import { asterisk } from './asterisk.ts';
import { channels } from './channels.ts';
import { deviceStates } from './device-states.ts';
import { endpoints } from './endpoints.ts';
import { events } from './events.ts';
import { mailboxes } from './mailboxes.ts';
import { playbacks } from './playbacks.ts';
import { sounds } from './sounds.ts';

/** Old clients download the description of all eleven resources and give up when one is missing. */
const described = (name: string, description: string, requiresModules: string[]): Resource => ({
  name,
  description,
  requiresModules,
  operations: [],
});

/** Every resource of the interface. */
export const resources: readonly Resource[] = [
  asterisk,
  endpoints,
  described('bridges', 'Bridges: channels that hear each other.', ['res_stasis_recording', 'res_stasis_playback']),
  channels,
  described('recordings', 'Recordings of channels and bridges.', ['res_stasis_recording']),
  playbacks,
  deviceStates,
  mailboxes,
  events,
  applications,
  sounds,
];
