import { AriError } from '../models/errors.ts';
import type { Module } from '../models/system.ts';

/**
 * The parts of the system as modules. They are built in: all run, and none can be loaded, unloaded or reloaded;
 * attempts get Asterisk's errors.
 */
export interface Modules {
  list(): Module[];
  /** @throws AriError moduleNotFound */
  get(name: string): Module;
  /** @throws AriError always: moduleAlreadyLoaded, or moduleLoadFailed for an unknown one. */
  load(name: string): never;
  /** @throws AriError always: moduleUnloadFailed, or moduleNotRunning for an unknown one. */
  unload(name: string): never;
  /** @throws AriError always: moduleReloadUnsupported, or moduleNotRunning for an unknown one. */
  reload(name: string): never;
}

/** @param describe what runs now, with its use counts. */
export function createModules(describe: () => readonly Module[]): Modules {
  const find = (name: string): Module | undefined => describe().find((module) => module.name === name);
  return {
    list: () => [...describe()],
    get(name) {
      const module = find(name);
      if (!module) throw new AriError('moduleNotFound');
      return module;
    },
    load(name) {
      throw new AriError(find(name) ? 'moduleAlreadyLoaded' : 'moduleLoadFailed');
    },
    unload(name) {
      throw new AriError(find(name) ? 'moduleUnloadFailed' : 'moduleNotRunning');
    },
    reload(name) {
      throw new AriError(find(name) ? 'moduleReloadUnsupported' : 'moduleNotRunning');
    },
  };
}
