import type { DialplanSystem, PhoneLookup } from '../dialplan/host.ts';
import { AriError } from '../models/errors.ts';

/** Variables of the whole system. */
interface GlobalVariables {
  get(name: string): string | undefined;
  /** False if the limit of variables is reached. */
  set(name: string, value: string | undefined): boolean;
}

/** Device states as channels change them. */
interface ChannelDeviceStates {
  get(name: string): { state: string };
  /** @throws AriError for a device that is not for applications, or a word that is no state. */
  update(name: string, state: string): void;
}

/** The parts of the system behind the dialplan's functions, added as they are built. A missing part has no values. */
type SystemParts = {
  globals: GlobalVariables;
  deviceStates: ChannelDeviceStates;
  dialplan: {
    hasContext(context: string): boolean;
    hasExtension(context: string, extension: string): boolean;
    find(context: string, extension: string, priority: number): unknown;
    resolveLabel(context: string, extension: string, label: string): number | undefined;
  };
  phones: PhoneLookup;
  channels: { all(): Iterable<{ name: string }> };
};

/** The system as the dialplan's functions see it. */
interface DialplanSystemDirectory extends DialplanSystem {
  /** From now on these are asked. */
  add(parts: Partial<SystemParts>): void;
}

/** A system of which nothing is known yet. */
export function createDialplanSystem(): DialplanSystemDirectory {
  const parts: Partial<SystemParts> = {};
  return {
    add: (added) => void Object.assign(parts, added),
    globalVariable: (name) => parts.globals?.get(name),
    setGlobalVariable: (name, value) => parts.globals?.set(name, value) ?? false,
    deviceState: (name) => parts.deviceStates?.get(name).state ?? 'UNKNOWN',

    setDeviceState(name, state) {
      try {
        parts.deviceStates?.update(name, state);
        return parts.deviceStates !== undefined;
      } catch (error) {
        if (error instanceof AriError) return false;
        throw error;
      }
    },

    priorityOf: (...place) => parts.dialplan?.resolveLabel(...place),

    placeExists(context, extension, priority) {
      const { dialplan } = parts;
      if (!dialplan || extension === undefined) return dialplan?.hasContext(context) ?? false;
      if (priority === undefined) return dialplan.hasExtension(context, extension);
      const step = /^\d{1,9}$/.test(priority) ? Number(priority) : dialplan.resolveLabel(context, extension, priority);
      return step !== undefined && dialplan.find(context, extension, step) !== undefined;
    },

    *channelNames() {
      for (const { name } of parts.channels?.all() ?? []) yield name;
    },

    phones: () => parts.phones,
  };
}
