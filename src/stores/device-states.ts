import type { Bus, Publication } from '../bus/bus.ts';
import { deviceStateTopics, type Topic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import type { ChannelState } from '../models/channel.ts';
import { type DeviceState, type DeviceStateWord, deviceStateWords } from '../models/device-state.ts';
import type { Endpoint } from '../models/endpoint.ts';
import { AriError } from '../models/errors.ts';
import { createJsonFile } from './json-file.ts';

/**
 * How busy devices are. Two kinds: `Stasis:<name>`, set by clients and kept over a restart; and endpoints
 * (`PJSIP/alice`), derived from their channels and whether they can be reached. Every change is published as
 * DeviceStateChanged.
 */
export interface DeviceStates {
  /** The devices that clients set, in the order in which they were first set. */
  list(): DeviceState[];
  /** Any device; INVALID when there can be none of that name, UNKNOWN when clients never set it. */
  get(name: string): DeviceState;
  /** @throws AriError deviceUncontrolled, deviceNameMissing, deviceStateUnknown */
  update(name: string, state: string | undefined): void;
  /** Forgets a device that clients set; an unknown one is no error. @throws AriError deviceUncontrolled, deviceNameMissing */
  delete(name: string): void;
  /** Stops listening; resolves once all changes are on disk. */
  close(): Promise<void>;
}

export type DeviceStatesOptions = {
  bus: Bus;
  log: Logger;
  /** Data directory. */
  directory: string;
  /** An endpoint in its canonical spelling, found in any case of letters; undefined when there is none. */
  endpoint(technology: string, resource: string): Pick<Endpoint, 'technology' | 'resource' | 'state'> | undefined;
};

/** What a channel makes of its device. */
type Use = 'idle' | 'inUse' | 'ringing' | 'busy' | 'onHold';

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

/** The channels of one endpoint, counted by use so that a trunk with thousands of them costs no more than a phone. */
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

const prefix = 'Stasis:';
const hasPrefix = (name: string): boolean => name.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase();
const isWord = (word: unknown): word is DeviceStateWord => (deviceStateWords as readonly unknown[]).includes(word);

/** The name of a device that clients may set, its prefix spelled canonically. */
function controlled(name: string): string {
  if (!hasPrefix(name)) throw new AriError('deviceUncontrolled');
  if (name.length === prefix.length) throw new AriError('deviceNameMissing');
  return prefix + name.slice(prefix.length);
}

function readStates(json: unknown): DeviceState[] {
  if (!Array.isArray(json)) throw new TypeError('a list of device states is expected');
  for (const entry of json as Partial<DeviceState>[])
    if (typeof entry?.name !== 'string' || !isWord(entry.state))
      throw new TypeError(`not a device state: ${JSON.stringify(entry)}`);
  return json as DeviceState[];
}

/** The device of the endpoint that a publication is about, among its topics. */
const deviceOf = (topics: readonly Topic[]): string | undefined =>
  topics.find((topic) => topic.startsWith('endpoint:') && topic.includes('/'))?.slice('endpoint:'.length);

export function createDeviceStates({ bus, log, directory, endpoint }: DeviceStatesOptions): DeviceStates {
  const file = createJsonFile({ directory, name: 'device-states.json', log, read: readStates });
  const kept = new Map((file.load() ?? []).map(({ name, state }) => [name, state]));
  const devices = new Map<string, DeviceUse>();
  /** What was published of each endpoint last. */
  const told = new Map<string, DeviceStateWord>();

  const publish = (name: string, state: DeviceStateWord): void =>
    bus.publish({
      event: { type: 'DeviceStateChanged', device_state: { name, state } },
      topics: deviceStateTopics(name),
    });

  const derive = (technology: string, resource: string): DeviceState | undefined => {
    const known = endpoint(technology, resource);
    if (!known) return undefined;
    const name = `${known.technology}/${known.resource}`;
    return { name, state: devices.get(name)?.state ?? (known.state === 'offline' ? 'UNAVAILABLE' : 'NOT_INUSE') };
  };
  const deriveByName = (name: string): DeviceState | undefined => {
    const slash = name.indexOf('/');
    return slash === -1 ? undefined : derive(name.slice(0, slash), name.slice(slash + 1));
  };

  const review = (device: string): void => {
    const derived = deriveByName(device);
    if (!derived || derived.state === told.get(device)) return;
    told.set(device, derived.state);
    publish(device, derived.state);
  };

  const use = (device: string, channelId: string, now: Use | 'gone'): void => {
    const known = devices.get(device) ?? new DeviceUse();
    if (now === 'gone') known.remove(channelId);
    else known.set(channelId, now);
    if (known.isEmpty) devices.delete(device);
    else devices.set(device, known);
    review(device);
  };

  const listen = ({ event, topics }: Publication): void => {
    switch (event.type) {
      case 'ChannelCreated':
      case 'ChannelStateChange':
      case 'ChannelUnhold':
      case 'ChannelHold':
      case 'ChannelDestroyed': {
        const device = deviceOf(topics);
        if (device === undefined) return;
        const { id, state } = event.channel;
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
  const unsubscribe = bus.subscribe(listen);

  const keep = (name: string, state: DeviceStateWord): void => {
    const before = kept.get(name) ?? 'UNKNOWN';
    if (state === 'UNKNOWN') kept.delete(name);
    else kept.set(name, state);
    if (state === before) return;
    file.save(() => [...kept].map(([device, word]) => ({ name: device, state: word })));
    publish(name, state);
  };

  return {
    list: () => [...kept].map(([name, state]) => ({ name, state })),

    get(name) {
      if (!hasPrefix(name)) return deriveByName(name) ?? { name, state: 'INVALID' };
      const own = prefix + name.slice(prefix.length);
      return { name: own, state: kept.get(own) ?? 'UNKNOWN' };
    },

    update(name, state) {
      const own = controlled(name);
      const word = state?.toUpperCase();
      if (!isWord(word) || word === 'UNKNOWN') throw new AriError('deviceStateUnknown');
      keep(own, word);
    },

    delete: (name) => keep(controlled(name), 'UNKNOWN'),

    close() {
      unsubscribe();
      return file.flush();
    },
  };
}
