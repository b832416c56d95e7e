import type { FastRelayPlan } from './fast-relays.ts';
import type { PacketAddress } from './source-lock.ts';

/** Hears one datagram. The octets are the listener's to keep and to change. */
export type PacketListener = (packet: Uint8Array, address: string, port: number) => void;

/** A bound UDP port. */
export interface PacketSocket {
  readonly port: number;
  /** What is sent has been copied when `send` returns: its octets may change then. */
  readonly copies?: boolean | undefined;
  /** Sends at once; what cannot be sent is lost, as anything on UDP may be. The octets must not change afterwards, unless it {@link copies}. */
  send(packet: Uint8Array, port: number, address: string): void;
  /** Sets who hears arriving packets; undefined = they are dropped. */
  listen(listener: PacketListener | undefined): void;
  close(): void;
  /**
   * Passes packets that come in order from who was heard last on to another socket and a far side there by itself, until
   * {@link endFastRelays}: see {@link FastRelays}. False = nothing is passed on that way; absent = nothing ever is.
   */
  passOn?(to: PacketSocket, target: PacketAddress, plan: FastRelayPlan): boolean;
  /** Tells what was passed on that way, so that the plan's numbers are those of this moment. */
  settleFastRelay?(): void;
  /** Ends what it passes on that way; with `both`, also what is passed on to it. */
  endFastRelays?(both: boolean): void;
}

/** Where the engine gets its sockets from; tests give it simulated ones. */
export interface Sockets {
  /** Binds a UDP port; 0 = any. @throws Error with `code` EADDRINUSE when the port is taken. */
  bind(address: string, port: number): Promise<PacketSocket>;
}

/** What the kernel keeps until a socket is read: a second of 50 packets fits many times; it takes the memory only when it is used. */
export const receiveBufferBytes = 256 * 1024;
