import type { SupervisionBounds } from '../machines/supervision.ts';

/** Bounds of the supervisor that are none of its chart. */
export type HolderBounds = {
  /** Most sockets that are held. */
  mostSockets: number;
  /** Crashes by the same call after which it is not taken up again. */
  callCrashes: number;
};

/** What a server tells its supervisor. */
export type ServerMessage =
  /** It has read its configuration and waits for its sockets. */
  | { type: 'prepared'; bounds: SupervisionBounds & HolderBounds }
  | { type: 'ready' }
  | { type: 'upgrade' }
  /** It has written its state and stands still, but for its audio. */
  | { type: 'left' }
  /** It has restored the state that another server has left, and waits for that one's audio to end. */
  | { type: 'restored' }
  /** Its audio has ended, and the rest of its state is written. */
  | { type: 'silent' };

/** What a supervisor tells its server. */
export type SupervisorMessage =
  /** Begin. So many messages with sockets have been sent over the link. */
  | {
      type: 'begin';
      messages: number;
      leaveOut: readonly string[];
      /** The server before goes on with the audio until this one is restored. */
      follows: boolean;
    }
  /** Write what there is to write and end; the next server goes on. `lingers`: keep the audio going until `silence`. */
  | { type: 'leave'; lingers?: boolean }
  /** The server before is silent. `isWhole`: it has written the rest of its state. */
  | { type: 'goOn'; isWhole: boolean }
  | { type: 'upgradeRefused'; reason: string };

/** Descriptors of a server that a supervisor started: behind the standard streams and the channel of messages. */
export const inheritedAt = { link: 4, mark: 5 } as const;

/** Environment variable that says so: its value is the role. */
export const supervisedVariable = 'HOOKSWITCH_SUPERVISED';

/** A server, or one that is prepared while another one works: to be there after a crash, or for an upgrade. */
export type SupervisedRole = 'server' | 'standby' | 'upgrade';
