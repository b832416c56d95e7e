import type { Clock } from '../lib/clock.ts';
import {
  type AsteriskInfo,
  type AsteriskPing,
  type BuildInfo,
  type InfoSection,
  infoSections,
  type SetId,
} from '../models/system.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { Variable } from '../models/variable.ts';
import type { GlobalVariables } from './variables.ts';

type SystemOptions = {
  clock: Clock;
  /** `asterisk_id`. */
  entityId: string;
  version: string;
  build: BuildInfo;
  /** Name of the system; '' when it has none. */
  name: string;
  defaultLanguage: string;
  setid: SetId;
  /** 0 or absent: no limit. */
  limits: { max_channels?: number; max_open_files?: number; max_load?: number };
  variables: GlobalVariables;
};

/** Operations on the system as a whole. */
export interface System {
  ping(): AsteriskPing;
  /** The sections named, in any case of letters; all of them when undefined. Unknown names are ignored. */
  info(only: readonly string[] | undefined): AsteriskInfo;
  /** @throws AriError variableNameRequired */
  getGlobalVar(variable: string | undefined): Variable;
  /** @throws AriError variableNameRequired, functionFailed */
  setGlobalVar(variable: string | undefined, value: string | undefined): void;
}

/** Limits that are set; one of 0 says that there is none and is left out. */
const limitsOf = (limits: SystemOptions['limits']): SystemOptions['limits'] =>
  Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit > 0));

/** The running system as clients see it; its start-up time is the moment of this call. */
export function createSystem(options: SystemOptions): System {
  const { clock, entityId, version, build, name, defaultLanguage, setid, limits, variables } = options;
  const startup = formatTimestamp(clock.now());
  const sections: Required<AsteriskInfo> = {
    build,
    system: { version, entity_id: entityId },
    config: { name, default_language: defaultLanguage, setid, ...limitsOf(limits) },
    // Nothing is reloaded while the system runs.
    status: { startup_time: startup, last_reload_time: startup },
  };
  const isWanted = (section: InfoSection, only: readonly string[] | undefined): boolean =>
    only === undefined || only.some((word) => word.toLowerCase() === section);

  return {
    ping: () => ({ asterisk_id: entityId, ping: 'pong', timestamp: formatTimestamp(clock.now()) }),
    info: (only) =>
      Object.fromEntries(
        infoSections.filter((section) => isWanted(section, only)).map((section) => [section, sections[section]]),
      ),
    getGlobalVar: (variable) => variables.getGlobalVar(variable),
    setGlobalVar: (variable, value) => variables.setGlobalVar(variable, value),
  };
}
