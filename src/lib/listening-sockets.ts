/** Where a socket listens; `host` is an IP address. */
export type ListenAddress = {
  host: string;
  port: number;
  /** `::` takes no IPv4. */
  ipv6Only: boolean;
};

/** Whether a socket takes datagrams (UDP) or connections (TCP). */
export type SocketUse = 'datagrams' | 'connections';

/** Sockets that listen and that another process holds: their descriptors are for `dgram` and `net` to use. */
export interface ListeningSockets {
  /** @returns a descriptor, the caller's to close. @throws Error with `code`, such as EADDRINUSE. */
  open(use: SocketUse, address: ListenAddress): number;
  /** Whether the process before has left a socket on that address, which nobody has taken up yet. */
  isLeft(use: SocketUse, address: ListenAddress): boolean;
  /** Leaves established connections to the next process: they stay open when this one ends. */
  leave(descriptors: readonly number[]): void;
  /** The established connections that the process before has left, once. The caller closes them. */
  takeLeft(): number[];
}
