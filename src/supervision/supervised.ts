import { CallMark, callMarkOctets } from '../lib/call-mark.ts';
import type { Clock } from '../lib/clock.ts';
import type { ListeningSockets } from '../lib/listening-sockets.ts';
import { DescriptorLink } from '../native/descriptor-link.ts';
import { loadHandoverCalls } from '../native/handover-calls.ts';
import { HeldDescriptors } from '../native/held-descriptors.ts';
import { InheritedSockets, newInheritedTable } from '../native/inherited.ts';
import { HeldListeningSockets } from '../native/listening.ts';
import { loadSystemCalls } from '../native/system-calls.ts';
import {
  inheritedAt,
  type ServerMessage,
  type SupervisedRole,
  type SupervisorMessage,
  supervisedVariable,
} from './messages.ts';

/** How often a server that stands still looks for its end, in ms. */
const lookMs = 1;
const never = new Int32Array(new SharedArrayBuffer(4));

/** The parts that the supervisor provides. */
type Begin = {
  listening: ListeningSockets;
  media: {
    link: number;
    inherited: SharedArrayBuffer;
    inherit(descriptors: readonly number[]): void;
    /** The server before goes on with the audio of its calls. */
    follows: boolean;
  };
  mark: CallMark;
  leaveOut: readonly string[];
  /** Tells that the calls are restored, and waits for the end of their audio in the server before. */
  restored(): Promise<{ isWhole: boolean }>;
  /**
   * Stands still until the next server is restored, or for so many ms; then `silent` ends the audio.
   * @param silent tells whether the rest of the state is written. If not, the next server reads none.
   */
  standStill(mostMs: number, silent: () => boolean): void;
};

/** A server's side of its supervisor. */
export interface Supervised {
  /**
   * Tells that the configuration can be used, and waits for the sockets of the server before.
   * @param warmUp makes the start fast, while another server works: before an upgrade, or as long as this one stands by.
   * It must not reject. `isWanted` says whether it may go on.
   * @param threadsWarm the same in media threads: an upgrade waits for it.
   * @param claimMs how long sockets of the server before wait for their calls. Then they are closed.
   */
  begin(
    bounds: Extract<ServerMessage, { type: 'prepared' }>['bounds'],
    warmUp: (isWanted: () => boolean) => Promise<void>,
    threadsWarm: Promise<unknown>,
    claimMs: number,
  ): Promise<Begin>;
  /** Tells that the server takes calls. */
  ready(): void;
  /** Asks for the next version. Resolves when that is prepared. @throws (rejects) Error with the reason against it. */
  upgrade(): Promise<void>;
  /**
   * @param leave leaves everything to the next server and ends the process.
   * @param abandoned the supervisor is gone.
   */
  listen(leave: (lingers: boolean) => void, abandoned: () => void): void;
}

/** The supervisor that started this process; undefined: there is none. @throws Error */
export async function joinSupervisor(clock: Clock): Promise<Supervised | undefined> {
  const role = process.env[supervisedVariable] as SupervisedRole | undefined;
  if (role === undefined || !process.send) return undefined;
  delete process.env[supervisedVariable];
  const [calls, handover] = await Promise.all([loadSystemCalls(), loadHandoverCalls()]);
  const link = new DescriptorLink(handover, inheritedAt.link);
  const inherited = new InheritedSockets(newInheritedTable());
  const held = new HeldDescriptors(link, clock);
  const listening = new HeldListeningSockets({ calls, handover, inherited, held });
  const tell = (message: ServerMessage): void => void process.send?.(message, () => {});
  let claimsMs = 0;
  const closeRestLater = (): unknown => clock.setTimeout(() => listening.closeRest(), claimsMs);
  let upgrading: { resolve(): void; reject(error: Error): void } | undefined;

  let goesOn: Promise<{ isWhole: boolean }> | undefined;
  const restored = (): Promise<{ isWhole: boolean }> => {
    if (!goesOn) {
      goesOn = messageOf('goOn');
      tell({ type: 'restored' });
    }
    return goesOn;
  };
  const standStill = (mostMs: number, silent: () => boolean): void => {
    const tellNow = (message: ServerMessage): boolean => link.send(JSON.stringify(message));
    // Over the link: nothing else leaves without a turn of the event loop.
    if (!tellNow({ type: 'left' })) return;
    const until = clock.monotonic() + mostMs;
    while (!link.receive()) {
      if (clock.monotonic() > until) return;
      Atomics.wait(never, 0, 0, lookMs);
    }
    if (silent()) tellNow({ type: 'silent' });
  };

  return {
    async begin(bounds, warmUp, threadsWarm, claimMs) {
      claimsMs = claimMs;
      // Nothing is under way yet that somebody would have to end.
      const end = (): never => process.exit(0);
      process.once('disconnect', end);
      if (!process.connected) end();
      if (role === 'upgrade') await Promise.all([warmUp(() => true), threadsWarm]);
      let isAwaited = true;
      const told = messageOf('begin').finally(() => {
        isAwaited = false;
      });
      tell({ type: 'prepared', bounds });
      if (role === 'standby') await warmUp(() => isAwaited);
      const { messages, leaveOut, follows } = await told;
      process.off('disconnect', end);
      for (let each = 0; each < messages; each++) listening.inherit(link.receive()?.descriptors ?? []);
      const mark = new CallMark(handover.map(inheritedAt.mark, callMarkOctets));
      const media = {
        ...{ link: link.descriptor, inherited: inherited.table, follows },
        inherit(descriptors: readonly number[]) {
          listening.inherit(descriptors);
          closeRestLater();
        },
      };
      return { listening, media, mark, leaveOut, restored, standStill };
    },
    ready() {
      // Without waiting for others: a crash may come at any moment.
      held.flush();
      tell({ type: 'ready' });
      closeRestLater();
    },
    upgrade() {
      tell({ type: 'upgrade' });
      return new Promise((resolve, reject) => (upgrading = { resolve, reject }));
    },
    listen(leave, abandoned) {
      process.on('message', (message: SupervisorMessage) => {
        if (message.type === 'upgradeRefused') upgrading?.reject(new Error(message.reason));
        else if (message.type === 'leave') {
          upgrading?.resolve();
          // A supervisor of an earlier version ends the audio with the process.
          leave(message.lingers === true);
        }
      });
      process.once('disconnect', abandoned);
      if (!process.connected) abandoned();
    },
  };
}

/** The next message of a type. */
function messageOf<T extends SupervisorMessage['type']>(type: T): Promise<Extract<SupervisorMessage, { type: T }>> {
  return new Promise((resolve) => {
    const hear = (message: SupervisorMessage): void => {
      if (message.type !== type) return;
      process.off('message', hear);
      resolve(message as Extract<SupervisorMessage, { type: T }>);
    };
    process.on('message', hear);
  });
}
