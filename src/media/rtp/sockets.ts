import type { IceCredentials } from '../../lib/webrtc.ts';
import type { FastRelayPlan } from './fast-relays.ts';
import type { PacketAddress } from './source-lock.ts';

/** Hears one datagram. The octets are the listener's to keep and to change. */
export type PacketListener = (packet: Uint8Array, address: string, port: number) => void;

/** By what a browser and we name and prove ourselves. */
export type IceNames = { readonly local: IceCredentials; readonly remote: IceCredentials };

/** A bound UDP port. */
export interface PacketSocket {
  readonly port: number;
  /** Whether sent octets may be reused when `send` returns. */
  readonly copies?: boolean | undefined;
  /** Sends a packet; errors lose it, as UDP may. The octets must not change afterwards, unless it {@link copies}. */
  send(packet: Uint8Array, port: number, address: string): void;
  /** Sets who hears arriving packets; undefined = they are dropped. */
  listen(listener: PacketListener | undefined): void;
  close(): void;
  /** It will be closed soon: no supervisor holds it any longer, so that its port is free then. */
  retire?(): void;
  /**
   * Where sessions share a port: packets whose checks have these credentials are for this one, from now on.
   * @param found where it was found in another thread or process.
   */
  identify?(ice: IceNames, found: PacketAddress | undefined): void;
  /**
   * Relays in-order packets of the current source to another socket and far side, until {@link endFastRelays}: see
   * {@link FastRelays}. False: no relay was started; absent: not supported.
   */
  passOn?(to: PacketSocket, target: PacketAddress, plan: FastRelayPlan): boolean;
  /** Tells what was passed on that way, so that the plan's numbers are those of this moment. */
  settleFastRelay?(): void;
  /** Ends what it passes on that way; with `both`, also what is passed on to it. */
  endFastRelays?(both: boolean): void;
}

/** Sockets of the engine; tests supply simulated ones. */
export interface Sockets {
  /** Binds a UDP port; 0 = any. @param bufferBytes of the kernel; left out: {@link receiveBufferBytes}. @throws Error with `code` EADDRINUSE when the port is taken. */
  bind(address: string, port: number, bufferBytes?: number): Promise<PacketSocket>;
  /** Reads nothing until {@link goOn}. Left out: it reads at once. */
  hold?(): void;
  goOn?(): void;
}

/** Kernel buffer of a socket: many seconds of 50 packets; memory is only used on demand. */
export const receiveBufferBytes = 256 * 1024;
