/** The least that forwarding can cost: `forwarder.c`, compiled and run. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Forwarder = {
  pid: number;
  /** Ports of its legs on 127.0.0.1. */
  ports: number[];
  close(): void;
};

/** Starts it with so many legs, of which `group` hear each other; undefined where it cannot be compiled. */
export async function startForwarder(legs: number, group = 2): Promise<Forwarder | undefined> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-forwarder-'));
  const program = join(directory, 'forwarder');
  try {
    execFileSync('cc', ['-O2', '-o', program, fileURLToPath(new URL('forwarder.c', import.meta.url))], {
      stdio: 'ignore',
    });
  } catch {
    console.log('media: forwarder.c cannot be compiled here, nothing is compared with it');
    rmSync(directory, { recursive: true });
    return undefined;
  }
  const forwarder = spawn(program, [String(legs), String(group)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ports = (await firstLine(forwarder.stdout)).split(' ').map(Number);
  return {
    pid: forwarder.pid!,
    ports,
    close: () => {
      forwarder.kill();
      rmSync(directory, { recursive: true });
    },
  };
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  return text.trim();
}
