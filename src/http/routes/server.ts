import Type from 'typebox';
import { Alarm, History } from '../../models/alarm.ts';
import { ContactView } from '../../models/contact.ts';
import { RegistrationView } from '../../models/registration.ts';
import { ServerInfo } from '../../models/server-info.ts';
import { WatcherView } from '../../models/watcher.ts';
import { operation, type Resource } from '../operation.ts';

/** Server: its identity, registered endpoints, and subscribers. */
export const server: Resource = {
  name: 'server',
  description: 'Server: version, addresses, contacts of phones and their subscriptions.',
  operations: [
    operation({
      method: 'GET',
      path: '/server',
      nickname: 'get',
      summary: "The server's version, start time, and SIP addresses.",
      owner: 'server',
      returns: ServerInfo,
      handle: (server) => server.get(),
    }),
    operation({
      method: 'POST',
      path: '/server/upgrade',
      nickname: 'upgrade',
      summary:
        'Start the installed version, which takes over all calls and connections of the running one. Answered when it is about to.',
      owner: 'server',
      errors: ['upgradeImpossible'],
      handle: (server) => server.upgrade(),
    }),
    operation({
      method: 'POST',
      path: '/server/drain',
      nickname: 'drain',
      summary: 'Take no new calls. Live calls continue and may place others.',
      notes:
        'New calls get 503 over SIP and over the interface. OPTIONS and `/health/ready` answer 503, so that proxies and balancers choose another server. INVITEs that replace a live call are taken. A restart ends it.',
      owner: 'server',
      returns: ServerInfo,
      handle: (server) => server.drain(),
    }),
    operation({
      method: 'POST',
      path: '/server/move',
      nickname: 'moveCalls',
      summary:
        'Have another node of the cluster go on with all calls, and end this server. Answered when it is about to.',
      notes:
        'Needs `cluster.replicate`, and another node that takes calls. The calls go on as those of a lost node, at once and with their whole state: same ids, a re-INVITE from the new address.',
      owner: 'server',
      errors: ['moveImpossible'],
      handle: (server) => server.moveCalls(),
    }),
    operation({
      method: 'DELETE',
      path: '/server/drain',
      nickname: 'undrain',
      summary: 'Take new calls again.',
      owner: 'server',
      returns: ServerInfo,
      handle: (server) => server.undrain(),
    }),
    operation({
      method: 'GET',
      path: '/alarms',
      nickname: 'listAlarms',
      summary: 'List the alarms, critical ones first.',
      notes: 'The settings `alarms` and `stuck` say when there is an alarm.',
      owner: 'alarms',
      returns: Type.Array(Alarm),
      handle: (alarms) => alarms.list(),
    }),
    operation({
      method: 'GET',
      path: '/history',
      nickname: 'getHistory',
      summary: 'Get the figures of each minute since the start, for as long as `alarms.history`.',
      owner: 'alarms',
      returns: History,
      handle: (alarms) => alarms.history(),
    }),
    operation({
      method: 'GET',
      path: '/contacts',
      nickname: 'listContacts',
      summary: 'List the contacts of all endpoints, registered and configured, with the result of their last check.',
      owner: 'contacts',
      returns: Type.Array(ContactView),
      handle: (contacts) => contacts.list(),
    }),
    operation({
      method: 'GET',
      path: '/registrations',
      nickname: 'listRegistrations',
      summary: 'List our registrations at providers, with their state and its next deadlines.',
      owner: 'registrations',
      returns: Type.Array(RegistrationView),
      handle: (registrations) => registrations.list(),
    }),
    operation({
      method: 'GET',
      path: '/watchers',
      nickname: 'listWatchers',
      summary: 'List the subscriptions of phones to BLF and to waiting messages.',
      owner: 'watchers',
      returns: Type.Array(WatcherView),
      handle: (watchers) => watchers.list(),
    }),
  ],
};
