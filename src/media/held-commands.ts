import type { MediaCommand } from './protocol.ts';

/** They begin where the process before ends: at its position, at the end of its file. */
const items: ReadonlySet<string> = new Set(['play', 'control', 'seek', 'record', 'controlRecording']);

/**
 * Commands that wait as long as another process has the audio: what plays or records, and connections to servers, with
 * all that concerns them. Everything else is done beforehand.
 */
export class HeldCommands {
  readonly #commands: MediaCommand[] = [];
  /** Sessions that are not opened yet. */
  readonly #sessions = new Set<number>();

  /** Keeps a command that has to wait. @returns whether it does. */
  take(command: MediaCommand): boolean {
    const about = command.type === 'mix' ? command.command : command;
    const concerned = [
      ...('session' in about ? [about.session] : []),
      ...('target' in about ? [about.target] : []),
    ].some((session) => this.#sessions.has(session));
    if (!concerned && !items.has(about.type) && command.type !== 'openExternal') return false;
    if (command.type === 'openExternal' || command.type === 'openSnoop') this.#sessions.add(command.session);
    this.#commands.push(command);
    return true;
  }

  all(): readonly MediaCommand[] {
    return this.#commands;
  }
}
