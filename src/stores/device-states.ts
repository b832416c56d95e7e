import { type Bus, type Publication, readsNames } from '../bus/bus.ts';
import { deviceStateTopics, type Topic } from '../bus/topics.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap, valuesOf } from '../lib/slot-map.ts';
import type { ChannelState } from '../models/channel.ts';
import { type DeviceState, type DeviceStateWord, deviceStateWords } from '../models/device-state.ts';
import type { Endpoint } from '../models/endpoint.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import { together } from './hints.ts';
import { openKeptMap } from './kept-map.ts';

/**
 * How busy devices are: `Stasis:<name>`, set by clients, and `Custom:<name>`, set by the dialplan alone, both kept over a
 * restart; and endpoints (`PJSIP/alice`), derived from their channels and whether they can be reached. Every change is
 * published as DeviceStateChanged.
 */
export interface DeviceStates {
  /** The devices that clients set, in the order in which they were first set. */
  list(): DeviceState[];
  /** Any device; INVALID when there can be none of that name, UNKNOWN when clients never set it. */
  get(name: string): DeviceState;
  /**
   * Resolves once it is stored.
   * @throws AriError deviceUncontrolled, deviceNameMissing, deviceStateUnknown synchronously; storageFailed (rejects),
   * then nothing has changed.
   */
  update(name: string, state: string | undefined): Promise<void>;
  /** As {@link update}, for the dialplan, which does not wait: it is written as soon as the disk takes it. */
  updateSoon(name: string, state: string | undefined): void;
  /**
   * Removes a client's device; an unknown one is no error. Resolves once that is stored.
   * @throws AriError deviceUncontrolled, deviceNameMissing synchronously; storageFailed (rejects), then nothing has
   * changed.
   */
  delete(name: string): Promise<void>;
  /**
   * The state of an endpoint has changed at another node.
   * @param tells whether to publish that, if something else was published
   */
  heard(device: string, tells: boolean): void;
  /** Takes the state of a client's or the dialplan's device that was set at another node; undefined: it was removed. */
  adopt(name: string, state: DeviceStateWord | undefined): void;
  /** Hears devices whose state has changed without an event: another node has published it. */
  onHeard(listener: (device: string) => void): void;
  /** Tells other nodes the state of an endpoint as it is now. */
  share(device: string): void;
  /** Client states and the last published states of devices; of one device when it is named. */
  dump(device?: string): Omit<SavedDeviceStates, 'uses'>;
  /** The devices that channels use; that of one channel when its id is given. */
  dumpUses(channelId?: string): DeviceUseData[];
  /** Restores it before channels; no events are published. */
  restore(data: SavedDeviceStates): void;
  /** Stops listening; resolves once all changes are on disk. */
  close(): Promise<void>;
}

/** The devices of other nodes. */
export type SharedDevices = {
  /** The states of an endpoint at other nodes. */
  elsewhere(device: string): DeviceStateWord[];
  /** Tells the state of an endpoint at this node; undefined: it is not reached from here. */
  tell(device: string, state: DeviceStateWord | undefined, together: DeviceStateWord): void;
  /** Tells the state that a client or the dialplan has set; undefined: it was removed. */
  set(device: string, state: DeviceStateWord | undefined): void;
};

type DeviceStatesOptions = {
  bus: Bus;
  /** Of a cluster; left out: this server is on its own. */
  shared?: SharedDevices | undefined;
  clock: Clock;
  log: Logger;
  /** Data directory. */
  directory: string;
  /** An endpoint in its canonical spelling, found in any case of letters; undefined when there is none. */
  endpoint(technology: string, resource: string): Pick<Endpoint, 'technology' | 'resource' | 'state'> | undefined;
  /**
   * Whether a dialplan position exists: then `Local/<extension>@<context>` is a device, in use while a channel calls
   * it. Left out: Local channels are no devices.
   */
  localExists?(context: string, extension: string): boolean;
  /** States that clients may set; any number when left out. */
  limit?: number | undefined;
  /** Hears of each device of which something has changed. */
  changed?: ((device: string) => void) | undefined;
  /** Hears of each channel that makes something else of its device. */
  useChanged?: ((channelId: string) => void) | undefined;
};

/** Use of a device by a channel. */
export const deviceUses = ['idle', 'inUse', 'ringing', 'busy', 'onHold'] as const;
type Use = (typeof deviceUses)[number];

/** What a channel makes of a device. Each is saved by itself: a trunk has thousands of them. */
type DeviceUseData = [channelId: string, device: string, use: Use];
/** The same of all channels of a device, as version 0.2.0 saved it. */
type FormerUses = [device: string, channels: [channelId: string, use: Use][]];

/** Device states as plain data. */
type SavedDeviceStates = {
  kept: DeviceState[];
  uses: readonly (DeviceUseData | FormerUses)[];
  /** By device: what was published last. */
  published: [device: string, state: DeviceStateWord][];
};

const uses: Readonly<Record<ChannelState, Use>> = {
  Down: 'idle',
  Rsrvd: 'inUse',
  OffHook: 'inUse',
  Dialing: 'inUse',
  Ring: 'inUse',
  Ringing: 'ringing',
  Up: 'inUse',
  Busy: 'busy',
  'Dialing Offhook': 'inUse',
  'Pre-ring': 'ringing',
  Mute: 'inUse',
  Unknown: 'idle',
};

/** An endpoint's channels, counted by use, so that a trunk with thousands costs no more than a phone. */
class DeviceUse {
  readonly #channels = new Map<string, Use>();
  readonly #counts: Record<Use, number> = { idle: 0, inUse: 0, ringing: 0, busy: 0, onHold: 0 };

  set(channelId: string, use: Use): void {
    this.remove(channelId);
    this.#channels.set(channelId, use);
    this.#counts[use]++;
  }

  remove(channelId: string): void {
    const use = this.#channels.get(channelId);
    if (use === undefined) return;
    this.#channels.delete(channelId);
    this.#counts[use]--;
  }

  useOf(channelId: string): Use | undefined {
    return this.#channels.get(channelId);
  }

  get isEmpty(): boolean {
    return this.#channels.size === 0;
  }

  /** The state that its channels give a device; undefined when none of them says anything. */
  get state(): DeviceStateWord | undefined {
    const { inUse, ringing, busy, onHold } = this.#counts;
    if (ringing > 0) return inUse + onHold > 0 ? 'RINGINUSE' : 'RINGING';
    if (inUse > 0) return 'INUSE';
    if (onHold > 0) return 'ONHOLD';
    return busy > 0 ? 'BUSY' : undefined;
  }
}

/** The devices that channels use. */
class UsedDevices {
  readonly #uses = new Map<string, DeviceUse>();
  /** The device of each channel. */
  readonly #deviceOf = new SlotMap<string, string>();

  has(device: string): boolean {
    return this.#uses.has(device);
  }

  stateOf(device: string): DeviceStateWord | undefined {
    return this.#uses.get(device)?.state;
  }

  put(device: string, channelId: string, now: Use | 'gone'): void {
    const known = this.#uses.get(device) ?? new DeviceUse();
    if (now === 'gone') {
      known.remove(channelId);
      this.#deviceOf.delete(channelId);
    } else {
      known.set(channelId, now);
      this.#deviceOf.set(channelId, device);
    }
    if (known.isEmpty) this.#uses.delete(device);
    else this.#uses.set(device, known);
  }

  dump(channelId?: string): DeviceUseData[] {
    return (channelId === undefined ? [...this.#deviceOf.keys()] : [channelId]).flatMap((id): DeviceUseData[] => {
      const device = this.#deviceOf.get(id);
      const use = device === undefined ? undefined : this.#uses.get(device)?.useOf(id);
      return device === undefined || use === undefined ? [] : [[id, device, use]];
    });
  }
}

/** Prefix of client devices. */
const prefixOfClients = 'Stasis:';
const prefixOfDialplan = 'Custom:';
const hasPrefix = (name: string, prefix: string): boolean =>
  name.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase();
/** The name with its canonical prefix; undefined for other devices. */
const spoken = (name: string): string | undefined => {
  const prefix = [prefixOfClients, prefixOfDialplan].find((each) => hasPrefix(name, each));
  return prefix && prefix + name.slice(prefix.length);
};
const isWord = (word: unknown): word is DeviceStateWord => (deviceStateWords as readonly unknown[]).includes(word);

/** The name of a device that clients may set, or the dialplan as well, its prefix spelled canonically. */
function controlled(name: string, prefixes: readonly string[] = [prefixOfClients]): string {
  const own = prefixes.some((prefix) => hasPrefix(name, prefix)) ? spoken(name) : undefined;
  if (own === undefined) throw new AriError('deviceUncontrolled');
  if (own.endsWith(':') && prefixes.some(({ length }) => length === own.length))
    throw new AriError('deviceNameMissing');
  return own;
}

function readState(element: unknown): DeviceState {
  const { name, state } = (element ?? {}) as Partial<DeviceState>;
  if (typeof name !== 'string' || !isWord(state)) throw new TypeError(`not a device state: ${JSON.stringify(element)}`);
  return { name, state };
}

/** The state that a client may set. @throws AriError deviceStateUnknown */
function settable(state: string | undefined): DeviceStateWord {
  const word = state?.toUpperCase();
  if (!isWord(word) || word === 'UNKNOWN') throw new AriError('deviceStateUnknown');
  return word;
}

/** The device of the endpoint that a publication is about, among its topics. */
const deviceOf = (topics: readonly Topic[]): string | undefined =>
  topics.find((topic) => topic.startsWith('endpoint:') && topic.includes('/'))?.slice('endpoint:'.length);

/** The device of a Local channel, by the channel's name; undefined for another. */
const localDeviceOf = (name: string): string | undefined => /^(Local\/[^;]+)-[0-9a-f]{8};[12]$/.exec(name)?.[1];

/** The place that a Local device stands for. */
function placeOf(device: string): { extension: string; context: string } | undefined {
  const place = /^Local\//i.test(device) ? device.slice('Local/'.length) : '';
  const at = place.lastIndexOf('@');
  return at > 0 ? { extension: place.slice(0, at), context: place.slice(at + 1) } : undefined;
}

/** The pair of a key, if there is one; without a key all pairs. */
function pairsOf<V>(map: ReadonlyMap<string, V>, key: string | undefined): [string, V][] {
  if (key === undefined) return [...map];
  const value = map.get(key);
  return value === undefined ? [] : [[key, value]];
}

/** Whether a node has nothing to say about an endpoint. */
const isUnreached = (state: DeviceStateWord): boolean => state === 'UNAVAILABLE' || state === 'INVALID';

/** Derives the states of endpoints and of Local channels from the channels that use them. */
function createDeviceUses(options: DeviceStatesOptions, publish: (name: string, state: DeviceStateWord) => void) {
  const devices = new UsedDevices();
  /** Last published state of each endpoint. */
  const published = new Map<string, DeviceStateWord>();

  const derive = (technology: string, resource: string): DeviceState | undefined => {
    const known = options.endpoint(technology, resource);
    if (!known) return undefined;
    const name = `${known.technology}/${known.resource}`;
    return { name, state: devices.stateOf(name) ?? (known.state === 'offline' ? 'UNAVAILABLE' : 'NOT_INUSE') };
  };
  const deriveLocal = (name: string, { context, extension }: { context: string; extension: string }): DeviceState => {
    const idle = options.localExists?.(context, extension) ? 'NOT_INUSE' : 'INVALID';
    return { name, state: devices.has(name) ? 'INUSE' : idle };
  };
  const deriveByName = (name: string): DeviceState | undefined => {
    const place = options.localExists && placeOf(name);
    if (place) return deriveLocal(name, place);
    const slash = name.indexOf('/');
    return slash === -1 ? undefined : derive(name.slice(0, slash), name.slice(slash + 1));
  };

  const { shared } = options;
  /** What it is at all nodes together. */
  const togetherOf = (name: string): DeviceState | undefined => {
    const own = deriveByName(name);
    const others = (own && shared?.elsewhere(own.name)) ?? [];
    return own && others.length > 0 ? { ...own, state: together([own.state, ...others]) } : own;
  };
  const share = (device: string): void => {
    const state = shared && deriveByName(device)?.state;
    if (state === undefined) return;
    shared?.tell(device, isUnreached(state) ? undefined : state, togetherOf(device)!.state);
  };
  /** Tells what a device is now, if that is not what was told last. @param tells whether it is an event */
  const renew = (device: string, tells: boolean): void => {
    const derived = togetherOf(device);
    if (!derived || derived.state === published.get(device)) return;
    published.set(device, derived.state);
    if (tells) publish(device, derived.state);
    else options.changed?.(device);
  };
  const review = (device: string): void => {
    renew(device, true);
    share(device);
  };
  const heardListeners: ((device: string) => void)[] = [];
  const tellHeard = (device: string): void => {
    for (const listener of heardListeners) listener(device);
  };
  const heard = (device: string, tells: boolean): void => {
    renew(device, tells);
    tellHeard(device);
  };

  const use = (device: string, channelId: string, now: Use | 'gone'): void => {
    devices.put(device, channelId, now);
    options.useChanged?.(channelId);
    review(device);
  };
  const listen = ({ event, topics }: Publication): void => {
    switch (event.type) {
      case 'ChannelCreated':
      case 'ChannelStateChange':
      case 'ChannelUnhold':
      case 'ChannelHold':
      case 'ChannelDestroyed': {
        const { id, state, name } = event.channel;
        const device = deviceOf(topics) ?? (options.localExists && localDeviceOf(name));
        if (device === undefined) return;
        if (event.type === 'ChannelDestroyed') use(device, id, 'gone');
        else use(device, id, event.type === 'ChannelHold' ? 'onHold' : uses[state]);
        return;
      }
      case 'EndpointStateChange': {
        const { technology, resource } = event.endpoint;
        review(`${technology}/${resource}`);
      }
    }
  };

  return {
    ...{ listen, heard, tellHeard, share, stateOf: togetherOf },
    onHeard: (listener: (device: string) => void) => void heardListeners.push(listener),
    dump: (device?: string): Pick<SavedDeviceStates, 'published'> => ({ published: pairsOf(published, device) }),
    dumpUses: (channelId?: string) => devices.dump(channelId),
    restore(data: SavedDeviceStates): void {
      for (const each of data.uses)
        if (each.length === 3) devices.put(each[1], each[0], each[2]);
        else for (const [channelId, now] of each[1]) devices.put(each[0], channelId, now);
      for (const [device, state] of data.published) published.set(device, state);
    },
  };
}

/** Opens the states that were kept. @throws StorageError when their file cannot be read. */
export function createDeviceStates(options: DeviceStatesOptions): DeviceStates {
  const { bus, clock, log, directory, limit = Number.POSITIVE_INFINITY } = options;
  const kept = openKeptMap<DeviceState>({
    directory,
    name: 'device-states.json',
    clock,
    log,
    read: readState,
    keyOf: ({ name }) => name,
    onUndone({ name }) {
      publish(name, stateOf(name));
      options.shared?.set(name, kept.get(name)?.state);
    },
  });
  const stateOf = (name: string): DeviceStateWord => kept.get(name)?.state ?? 'UNKNOWN';

  const publish = (name: string, state: DeviceStateWord): void => {
    options.changed?.(name);
    const event = { type: 'DeviceStateChanged', device_state: { name, state } } as const;
    bus.publish({ event, topics: deviceStateTopics(name) });
  };
  const derived = createDeviceUses(options, publish);
  const unsubscribe = bus.subscribe(derived.listen, readsNames);

  /** Publishes what `change` makes of a device, when it makes anything of it. */
  const told = <T>(name: string, change: () => T): T => {
    const before = stateOf(name);
    const result = change();
    options.changed?.(name);
    const state = stateOf(name);
    if (state !== before) publish(name, state);
    options.shared?.set(name, kept.get(name)?.state);
    return result;
  };

  return {
    list: () =>
      kept
        .values()
        .filter(({ name }) => hasPrefix(name, prefixOfClients))
        .map((each) => ({ ...each })),

    get(name) {
      const own = spoken(name);
      if (own === undefined) return derived.stateOf(name) ?? { name, state: 'INVALID' };
      return { name: own, state: stateOf(own) };
    },

    update(device, word) {
      const name = controlled(device);
      const state = settable(word);
      if (state === stateOf(name)) return kept.settled();
      if (!kept.has(name)) requireWithin('device_states', kept.size + 1, limit);
      return told(name, () => kept.set(name, { name, state }));
    },

    updateSoon(device, word) {
      const name = controlled(device, [prefixOfClients, prefixOfDialplan]);
      const state = settable(word);
      if (state === stateOf(name)) return;
      if (!kept.has(name)) requireWithin('device_states', kept.size + 1, limit);
      told(name, () => kept.setSoon(name, { name, state }));
    },

    delete(device) {
      const name = controlled(device);
      return told(name, () => kept.delete(name));
    },

    ...{ heard: derived.heard, onHeard: derived.onHeard, share: derived.share },

    adopt(name, state) {
      if (state === undefined) kept.deleteSoon(name);
      else if (kept.has(name) || kept.size < limit) kept.setSoon(name, { name, state });
      options.changed?.(name);
      derived.tellHeard(name);
    },

    dump: (device) => ({ kept: valuesOf(kept, device), ...derived.dump(device) }),

    dumpUses: derived.dumpUses,

    restore(data) {
      kept.replaceSoon(data.kept);
      derived.restore(data);
    },

    close() {
      unsubscribe();
      return kept.close();
    },
  };
}
