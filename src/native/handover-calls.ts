import { openLibrary, requireLinux } from './system-calls.ts';

/**
 * System calls that give descriptors to another process, as in the C library: −1 is a failure. Memory is named by its
 * address and used in place; the caller keeps it alive.
 */
export type HandoverCalls = {
  addressOf(memory: Uint8Array): number;
  socketpair(family: number, type: number, protocol: number, pair: Int32Array): number;
  sendmsg(descriptor: number, messageAt: number, flags: number): number;
  recvmsg(descriptor: number, messageAt: number, flags: number): number;
  /** The same in a thread of its own, where it may block. */
  receiveLater(descriptor: number, messageAt: number, flags: number, told: (result: number) => void): void;
  listen(descriptor: number, backlog: number): number;
  getsockopt(descriptor: number, level: number, option: number, value: Int32Array, length: Uint32Array): number;
  memfd_create(name: string, flags: number): number;
  ftruncate(descriptor: number, length: number): number;
  /** Another descriptor of the same socket, which programs started by this one do not get. */
  fcntl(descriptor: number, command: number, argument: number): number;
  /** Memory of a descriptor, shared with every process that maps it, until this process ends. @throws Error */
  map(descriptor: number, length: number): Uint8Array;
};

const prototypes = {
  socketpair: 'int socketpair(int, int, int, void *)',
  sendmsg: 'int64_t sendmsg(int, uint64_t, int)',
  recvmsg: 'int64_t recvmsg(int, uint64_t, int)',
  listen: 'int listen(int, int)',
  getsockopt: 'int getsockopt(int, int, int, void *, void *)',
  memfd_create: 'int memfd_create(const char *, uint32_t)',
  ftruncate: 'int ftruncate(int, int64_t)',
  fcntl: 'int fcntl(int, int, int)',
} as const;

/** PROT_READ with PROT_WRITE, and MAP_SHARED of mmap(2). */
const readWrite = 3;
const shared = 1;

/** These calls through koffi. @throws Error with the reason where they are not to be had. */
export async function loadHandoverCalls(): Promise<HandoverCalls> {
  requireLinux();
  const { koffi, library, functionsOf, addressOf } = await openLibrary();
  const calls = functionsOf(prototypes);
  const mmap = library.func('intptr_t mmap(uint64_t, uint64_t, int, int, int, int64_t)');
  return {
    ...calls,
    addressOf,
    receiveLater(descriptor, messageAt, flags, told) {
      calls.recvmsg.async(descriptor, messageAt, flags, (_error: unknown, result: unknown) =>
        told(Number(result ?? -1)),
      );
    },
    map(descriptor, length) {
      const at = Number(mmap(0, length, readWrite, shared, descriptor, 0));
      if (at === -1) throw new Error('the memory of a descriptor cannot be mapped');
      return new Uint8Array(koffi.view(BigInt(at), length));
    },
  };
}
