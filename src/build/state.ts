import { type Applications, createApplications } from '../actors/applications.ts';
import type { AwayPolicies } from '../actors/away-policies.ts';
import { createContacts } from '../actors/contacts.ts';
import { createDialplanSystem } from '../actors/dialplan-system.ts';
import { createEventGroups, type EventGroups } from '../actors/event-groups.ts';
import { createEventSourceDirectory } from '../actors/event-sources.ts';
import type { createHeldObjects } from '../actors/held-objects.ts';
import { createObjectOwnership, type ObjectOwnership } from '../actors/object-ownership.ts';
import { createRegistrations } from '../actors/registrations.ts';
import { createWatchers } from '../actors/watchers.ts';
import { createBus } from '../bus/bus.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { policiesOf } from '../compatibility.ts';
import { readSystemFunction, writeSystemFunction } from '../dialplan/functions.ts';
import type { DialplanSystem } from '../dialplan/host.ts';
import type { Logger } from '../lib/log.ts';
import { createEventCheck } from '../models/check-event.ts';
import type { HeldObjects } from '../models/websocket-messages.ts';
import { banSettings } from '../settings.ts';
import { createBans } from '../stores/bans.ts';
import { createDeviceStates } from '../stores/device-states.ts';
import { createEndpoints } from '../stores/endpoints.ts';
import { type KeptAnswers, openKeptAnswers } from '../stores/kept-answers.ts';
import { createMailboxes } from '../stores/mailboxes.ts';
import { createGlobalVariables } from '../stores/variables.ts';
import type { Base } from './base.ts';
import { buildCluster } from './cluster.ts';
import type { Reloadable } from './reload.ts';
import { sharedCounts, sharedDevices, shareGlobal } from './shared-state.ts';

/** State beside calls, and its subscribers. */
export type State = ReturnType<typeof buildState>;

/** Live channels of users are counted at all nodes. */
const userCounts = (later: Later) => sharedCounts(() => later.cluster?.states, 'user:');

/** Creates the bus, the applications, and publishers beside calls. */
export function buildState(base: Base) {
  const { config, clock, ids, log, runtime, recorder, tracing, limitCounts, scope, entityId, changes, stateStore } =
    base;
  const { hear } = base.io;
  const { limits } = config;
  const policies = policiesOf(config.general);
  const kept = { directory: config.general.data_directory, clock, log };
  const bus = createBus({ log, request: () => runtime.turn.request });
  if (hear) bus.subscribe(({ event }) => hear(event));
  const eventSources = createEventSourceDirectory();
  const check = config.general.validate ? createEventCheck() : undefined;
  // Away policies are created above this floor.
  const keeping: Keeping = { early: [] };
  const presenceChanged: { to?: AwayPolicies['changed'] } = {};
  const later: Later = {};
  const objectOwnership = createObjectOwnership(bus, userCounts(later));
  scope.defer(() => objectOwnership.close());
  const ownApplications = createApplications({
    ...{ bus, clock, log, runtime, entityId, check, limits, resolve: eventSources },
    queueLimit: Math.floor(config.http.limits.websocket_queue / 2),
    hit: limitCounts.hit,
    traced: tracing && ((causedBy, channel) => tracing.fieldsOf(causedBy, channel)),
    recorder: config.state_store.on ? keptToo(recorder, keeping) : recorder,
    presenceChanged: (...presence) => presenceChanged.to?.(...presence),
    kept: keptIn(recorder, stateStore),
    epoch: () => ids.secret(10),
    ...knownLater(later),
  });
  scope.defer(() => ownApplications.close());
  const cluster = buildCluster(base, ownApplications, objectOwnership);
  later.cluster = cluster;
  const applications: Applications & { bring?: Cluster['bring'] } = { ...ownApplications, ...wrappedBy(cluster) };
  const eventGroups = groupsOf(base, applications, { objectOwnership, cluster });
  objectOwnership.forgetWhatIsGone();
  const endpoints = createEndpoints({ bus, onRemoved: applications.forget });
  eventSources.add({ endpoint: endpoints.find, technology: endpoints.technology });
  const contacts = createContacts({ bus, runtime, log, endpoints });
  scope.defer(() => contacts.close());
  const holding = { log: log.child({ part: 'registrations' }), holders: cluster?.registrations };
  const registrations = createRegistrations({ runtime, ids, endpoints, ...holding });
  const watchers = createWatchers({ runtime, log: log.child({ part: 'watchers' }) });
  const dialplanSystem = createDialplanSystem();
  const globals = createGlobalVariables({
    bus,
    limit: limits.global_variables,
    hit: limitCounts.hit,
    changed: (name) => changes.mark('globalVariable', name),
    ...(cluster && { share: shareGlobal(cluster.states) }),
    ...(policies.readsGlobalFunctions && { readFunction: (call) => readOf(dialplanSystem, call, log) }),
    writeFunction(call, value) {
      const written = writeSystemFunction(dialplanSystem, call, value);
      if (written.ok) return undefined;
      log.warn({}, written.message);
      return written.message;
    },
  });
  const mailboxes = createMailboxes({ ...kept, limit: limits.mailboxes });
  scope.defer(() => mailboxes.close());
  const deviceStates = createDeviceStates({
    ...{ ...kept, bus, shared: cluster && sharedDevices(cluster.states) },
    endpoint: endpoints.status,
    ...(policies.localDevices && {
      localExists: (context, extension) => dialplanSystem.placeExists(context, extension),
    }),
    limit: limits.device_states,
    changed: (device) => changes.mark('device', device),
    useChanged: (channelId) => changes.mark('deviceUse', channelId),
  });
  scope.defer(() => deviceStates.close());
  // A step of the dialplan does not wait for the disk.
  dialplanSystem.add({ globals, deviceStates: { get: deviceStates.get, update: deviceStates.updateSoon } });
  const bans = createBans({
    ...{ settings: banSettings(config), clock, log: log.child({ part: 'bans' }) },
    changed: (source) => changes.mark('ban', source),
  });
  scope.defer(() => bans.close());
  const reloads: Reloadable[] = [{ settings: ['bans'], apply: (next) => bans.reconfigure(banSettings(next)) }];
  return {
    keptAnswers: openAnswers(base, reloads),
    reloads,
    cluster,
    presenceChanged,
    later,
    dialplanSystem,
    bus,
    eventSources,
    objectOwnership,
    applications,
    eventGroups,
    endpoints,
    contacts,
    registrations,
    watchers,
    globals,
    mailboxes,
    deviceStates,
    bans,
    keeping,
  };
}

function openAnswers({ config, clock, log, limitCounts, scope, changes }: Base, reloads: Reloadable[]): KeptAnswers {
  const settings = { ...config.http.idempotency };
  reloads.push({
    settings: ['http.idempotency'],
    apply: (next) => void Object.assign(settings, next.http.idempotency),
  });
  const answers = openKeptAnswers({
    ...{ directory: config.general.data_directory, clock, log: log.child({ part: 'http' }), settings },
    ...{ hit: limitCounts.hit, changed: (id) => changes.mark('answer', id), commit: () => changes.commit() },
  });
  scope.defer(() => answers.close());
  return answers;
}

const groupsOf = (
  { recorder, entityId, clock, log, tables, changes }: Base,
  applications: Applications,
  { objectOwnership: { callOf }, cluster }: { objectOwnership: ObjectOwnership; cluster: Cluster | undefined },
): EventGroups => {
  const groups = createEventGroups({
    ...{ applications, entityId, clock, log, tables, callOf, origin: cluster?.origin },
    async recorded() {
      if (recorder.isBehind) await recorder.settled();
    },
    changed: (id) => changes.mark('groupCall', id),
  });
  return cluster ? { ...groups, connect: cluster.shareGroups(groups) } : groups;
};

/** Finds the events of applications in the recorder, else in the state store. */
const keptIn =
  (recorder: Base['recorder'], stateStore: Base['stateStore']) =>
  (...asked: [name: string, number: number, made: number]) => {
    const recorded = recorder.events.after(...asked);
    return recorded.lost === 0 ? recorded : (stateStore?.eventsAfter(...asked) ?? recorded);
  };

/** What applications ask that is created after them. */
type Later = { held?: ReturnType<typeof createHeldObjects>; cluster?: Cluster | undefined };

const knownLater = (later: Later) => ({
  held(...asked: Parameters<ReturnType<typeof createHeldObjects>>): HeldObjects {
    const held = later.held?.(...asked) ?? nothingHeld;
    // Other nodes have objects too.
    return later.cluster ? { ...held, complete: false } : held;
  },
  isAwaited: (name: string): boolean => later.cluster?.isAwaited(name) ?? false,
  handedOver: (...asked: Parameters<Cluster['handedOver']>) => later.cluster?.handedOver(...asked),
});

/** Applications are connected with the whole cluster. */
const wrappedBy = (cluster: Cluster | undefined) => cluster && { connect: cluster.connect, bring: cluster.bring };

/** Before there are calls. */
const nothingHeld: HeldObjects = { channels: [], bridges: [], playbacks: [], recordings: [], complete: true };

/** Stores the changes of applications. Set when the server has been built. */
type Keeping = {
  keeper?: {
    event(application: string, seq: number, json: string): void;
    subscribed(application: string, topic: string, count: number): void;
    changed(application: string): void;
  };
  /** Events of the start. */
  early: [application: string, seq: number, json: string][];
};

/** Events go to the recorder, while it is on, and to the state store. */
const keptToo = (recorder: Base['recorder'], keeping: Keeping) => ({
  on: true,
  changes: {
    subscribed: (...change: [name: string, topic: string, count: number]) => keeping.keeper?.subscribed(...change),
    changed: (name: string) => keeping.keeper?.changed(name),
  },
  sent(...event: Parameters<Base['recorder']['sent']>) {
    const [{ application, number: seq }, , json] = event;
    if (keeping.keeper) keeping.keeper.event(application, seq, json);
    else keeping.early.push([application, seq, json]);
    if (recorder.on) recorder.sent(...event);
  },
});

const readOf = (system: DialplanSystem, call: string, log: Logger): string | undefined => {
  const read = readSystemFunction(system, call);
  if (!read.ok) log.warn({}, read.message);
  return read.ok ? read.value : undefined;
};
