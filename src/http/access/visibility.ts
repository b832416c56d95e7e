import type { Narrow } from '../../bus/delivery.ts';
import type { Topic } from '../../bus/topics.ts';
import { AriError } from '../../models/errors.ts';
import type { AriEventBody } from '../../models/events.ts';
import type { Deps } from '../deps.ts';
import type { ThingNamed } from '../operation.ts';
import type { HttpUser } from '../user.ts';
import { accessOf } from './access.ts';
import type { OperationName, Scope } from './scope.ts';

/** The objects that a user with a scope sees. */
export interface Visibility {
  /** Whether it sees a thing; undefined when there is no such thing; its owner answers 404 then. */
  sees(kind: ThingNamed, id: string): boolean | undefined;
  /** Whether it sees what belongs to these applications and to no others. */
  seesAll(applications: Iterable<string>): boolean;
  /** Whether an event is about something that it sees. */
  hears(event: AriEventBody, topics: readonly Topic[]): boolean;
}

/** Owners that know which application owns an object. */
type VisibilityOwners = Pick<Deps, 'objectOwnership' | 'playbacks' | 'recordings' | 'calls'>;

/** The right that events of objects outside calls need. */
const endpointEvents: OperationName = { resource: 'endpoints', nickname: 'get', changesNothing: true };
const deviceEvents: OperationName = { resource: 'deviceStates', nickname: 'get', changesNothing: true };
const systemEvents: OperationName = { resource: 'asterisk', nickname: 'getGlobalVar', changesNothing: true };

/** The result of `get`; undefined if the object does not exist. */
function found<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch (error) {
    if (error instanceof AriError && error.status === 404) return undefined;
    throw error;
  }
}

/** The event filter of a user's application, beside its own events; undefined for all events. */
export function narrowOf(user: HttpUser, owners: VisibilityOwners): Narrow | undefined {
  const visibility = visibilityOf(user, owners);
  return visibility && { by: JSON.stringify([user.name, user.token?.name]), hears: visibility.hears };
}

/** The visibility of a user; undefined without a scope (everything is visible). */
export function visibilityOf(user: HttpUser, owners: VisibilityOwners): Visibility | undefined {
  const { scope, mayDo } = accessOf(user);
  return scope && createVisibility(user, scope, mayDo, owners);
}

function createVisibility(
  user: HttpUser,
  scope: Scope,
  mayDo: (operation: OperationName) => boolean,
  { objectOwnership, playbacks, recordings, calls }: VisibilityOwners,
): Visibility {
  const madeByUs = (kind: 'channel' | 'bridge', id: string): boolean => {
    const creator = objectOwnership?.creatorOf(kind, id);
    if (!creator) return false;
    return creator.user === user.name || (creator.application !== undefined && scope.application(creator.application));
  };
  const seesChannel = (id: string): boolean | undefined => {
    const application = objectOwnership?.applicationOf(id);
    if (application === undefined) return undefined;
    return application === '' ? madeByUs('channel', id) : scope.application(application);
  };
  const seesBridge = (id: string): boolean | undefined => {
    const members = objectOwnership?.membersOf(id);
    return madeByUs('bridge', id) || members?.some((member) => seesChannel(member) === true);
  };
  const seesAll = (applications: Iterable<string>): boolean => {
    const all = [...applications];
    return all.length > 0 && all.every((name) => scope.application(name));
  };
  /** Playbacks and recordings belong to their target: `channel:…`, `bridge:…`. */
  const seesTarget = (uri: string): boolean => {
    const id = uri.slice(uri.indexOf(':') + 1);
    return (uri.startsWith('bridge:') ? seesBridge(id) : seesChannel(id)) === true;
  };
  const sees: Visibility['sees'] = (kind, id) => {
    switch (kind) {
      case 'channel':
        return seesChannel(id);
      case 'bridge':
        return seesBridge(id);
      case 'playback': {
        const playback = found(() => playbacks?.get(id));
        return playback && seesTarget(playback.target_uri);
      }
      case 'recording': {
        const recording = found(() => recordings?.get(id));
        return recording && seesTarget(recording.target_uri);
      }
      case 'call': {
        const call = found(() => calls?.record?.(id));
        return call && seesAll(call.applications);
      }
    }
  };
  const hearsTopic = (topic: Topic): boolean | undefined => {
    const colon = topic.indexOf(':');
    const id = topic.slice(colon + 1);
    if (id === '') return undefined;
    if (topic.startsWith('channel:')) return seesChannel(id);
    return topic.startsWith('bridge:') ? seesBridge(id) : undefined;
  };
  return {
    sees,
    seesAll,
    hears(event, topics) {
      for (const topic of topics) if (hearsTopic(topic)) return true;
      if ('channel' in event && event.channel) return seesChannel(event.channel.id) === true;
      if ('bridge' in event && event.bridge) return seesBridge(event.bridge.id) === true;
      if (topics.some((topic) => topic.startsWith('channel:') || topic.startsWith('bridge:')))
        return 'value' in event && mayDo(systemEvents);
      if (event.type === 'DeviceStateChanged') return mayDo(deviceEvents);
      return mayDo(endpointEvents);
    },
  };
}
