import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileIn = (directory: string): string => join(directory, 'audio.json');

/** Leaves data to the next process, directly. Nothing is synced to the disk. @throws Error */
export function leaveAudioIn(directory: string, data: object): void {
  writeFileSync(fileIn(directory), JSON.stringify(data), { mode: 0o600 });
}

/** What the process before has left, which is there once. @throws Error if it cannot be read. */
export function takeAudioIn(directory: string): unknown {
  try {
    return JSON.parse(readFileSync(fileIn(directory), 'utf8'));
  } finally {
    rmSync(fileIn(directory), { force: true });
  }
}
