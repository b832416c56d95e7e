import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { callMarkOctets, readCallMark } from '../lib/call-mark.ts';
import { type DescriptorLink, openLink } from '../native/descriptor-link.ts';
import type { HandoverCalls } from '../native/handover-calls.ts';
import type { HoldMessage } from '../native/held-descriptors.ts';
import { type ServerMessage, type SupervisedRole, type SupervisorMessage, supervisedVariable } from './messages.ts';

/** How a server's process ended. */
export type ServerEnd = {
  how: 'done' | 'refused' | 'crashed';
  code: number;
  signal: string | null;
  /** What it was working on. */
  mark: string | undefined;
};

type Options = {
  role: SupervisedRole;
  /** Arguments of Node, the program first. */
  command: readonly string[];
  /** A message, or descriptors to hold. */
  told: (message: ServerMessage) => void;
  holds: (message: HoldMessage, descriptors: readonly number[]) => void;
  /** The process is gone, and all that it had sent is received. */
  ended: (end: ServerEnd) => void;
};

const internalError = 70;
const pageOctets = 4_096;

/** A server that runs as a child process. */
export class ServerProcess {
  readonly link: DescriptorLink;
  readonly #child: ChildProcess;

  /** @throws Error */
  constructor(calls: HandoverCalls, { role, command, told, holds, ended }: Options) {
    const { link, other } = openLink(calls);
    this.link = link;
    const memory = calls.memfd_create('mark', 1);
    calls.ftruncate(memory, pageOctets);
    const mark = calls.map(memory, pageOctets);
    this.#child = spawn(process.execPath, command, {
      // The descriptors of `inheritedAt`.
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', other, memory],
      env: { ...process.env, [supervisedVariable]: role },
    });
    closeSync(other);
    closeSync(memory);
    const exit = new Promise<Pick<ServerEnd, 'code' | 'signal'>>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code: code ?? internalError, signal }));
      // It could not be started.
      this.#child.once('error', () => resolve({ code: internalError, signal: null }));
    });
    const silent = new Promise<void>((resolve) => {
      link.listen((message) => {
        if (!message) return resolve();
        const text = JSON.parse(message.text) as ServerMessage | HoldMessage;
        if ('type' in text) told(text);
        else holds(text, message.descriptors);
      });
    });
    this.#child.on('message', (message) => told(message as ServerMessage));
    void Promise.all([exit, silent]).then(([{ code, signal }]) => {
      closeSync(link.descriptor);
      const text = readCallMark(mark.subarray(0, callMarkOctets));
      ended({ how: howOf(code, signal), code, signal, mark: text });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  tell(message: SupervisorMessage): void {
    // A process that ends meanwhile gets no more messages.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Has a server that stands still end its audio. */
  silence(): void {
    this.link.send('{}');
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

/** Exit codes 1 and 2: the configuration or an address cannot be used. */
function howOf(code: number, signal: string | null): ServerEnd['how'] {
  if (signal !== null) return 'crashed';
  if (code === 0) return 'done';
  return code <= 2 ? 'refused' : 'crashed';
}
