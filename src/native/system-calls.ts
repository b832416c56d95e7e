import { arch, endianness, platform } from 'node:os';
import { getSystemErrorName } from 'node:util';
import type { LibraryHandle } from 'koffi';

/** Numbers of Linux, of socket(2), socket(7) and ipv6(7). */
export const nonBlocking = 0o4000;
export const closeOnExec = 0o2000000;
export const socketLevel = 1;
export const ipv6Level = 41;
export const ipv6Only = 26;

/**
 * System calls for UDP sockets, as in the C library: −1 is a failure, and `errno` has the reason. None of them blocks.
 * Memory is used in place. The hot path names memory by its address, which is computed once; the caller keeps it alive.
 */
export type SystemCalls = {
  /** The address of memory outside the heap; valid while the memory is referenced. */
  addressOf(memory: Uint8Array | Int32Array | Uint32Array): number;
  socket(family: number, type: number, protocol: number): number;
  bind(descriptor: number, address: Uint8Array, length: number): number;
  /** @param length of `address`; the real one is written there. */
  getsockname(descriptor: number, address: Uint8Array, length: Uint32Array): number;
  setsockopt(descriptor: number, level: number, option: number, value: Int32Array, length: number): number;
  recvfrom(
    descriptor: number,
    packetAt: number,
    room: number,
    flags: number,
    sourceAt: number,
    sourceLengthAt: number,
  ): number;
  sendto(
    descriptor: number,
    packet: Uint8Array,
    length: number,
    flags: number,
    destinationAt: number,
    destinationLength: number,
  ): number;
  /** The same of a packet that is named by where it is, which its sender holds. */
  sendtoAt(
    descriptor: number,
    packetAt: number,
    length: number,
    flags: number,
    destinationAt: number,
    destinationLength: number,
  ): number;
  epoll_create1(flags: number): number;
  epoll_ctl(waiting: number, operation: number, descriptor: number, event: Int32Array): number;
  epoll_wait(waiting: number, eventsAt: number, most: number, timeoutMs: number): number;
  close(descriptor: number): number;
  /** Writes the octets of an address; 0 = it is none of that family. */
  inet_pton(family: number, text: string, octets: Uint8Array): number;
  /** Writes an address as text that ends with a 0. */
  inet_ntop(family: number, octets: Uint8Array, text: Uint8Array, room: number): unknown;
  /** Number of a network interface; 0 = there is none of that name. */
  if_nametoindex(name: string): number;
  /** Writes the name of a network interface, which ends with a 0. */
  if_indextoname(index: number, name: Uint8Array): unknown;
  /** Returns free memory of the C library to the system (malloc_trim(3)). Only glibc has it. */
  malloc_trim: ((pad: number) => number) | undefined;
  /** Sets a parameter of the C library's memory (mallopt(3)). Only glibc has it. */
  mallopt: ((parameter: number, value: number) => number) | undefined;
  /** Code of the failure of the last call. */
  errno(): number;
};

const prototypes = {
  socket: 'int socket(int, int, int)',
  bind: 'int bind(int, const void *, uint32_t)',
  getsockname: 'int getsockname(int, void *, void *)',
  setsockopt: 'int setsockopt(int, int, int, const void *, uint32_t)',
  recvfrom: 'int64_t recvfrom(int, uint64_t, uint64_t, int, uint64_t, uint64_t)',
  sendto: 'int64_t sendto(int, const void *, uint64_t, int, uint64_t, uint32_t)',
  sendtoAt: 'int64_t sendto(int, uint64_t, uint64_t, int, uint64_t, uint32_t)',
  epoll_create1: 'int epoll_create1(int)',
  epoll_ctl: 'int epoll_ctl(int, int, int, const void *)',
  epoll_wait: 'int epoll_wait(int, uint64_t, int, int)',
  close: 'int close(int)',
  inet_pton: 'int inet_pton(int, const char *, void *)',
  inet_ntop: 'uintptr_t inet_ntop(int, const void *, void *, uint32_t)',
  if_nametoindex: 'uint32_t if_nametoindex(const char *)',
  if_indextoname: 'uintptr_t if_indextoname(uint32_t, void *)',
} satisfies Record<Exclude<keyof SystemCalls, 'errno' | 'addressOf' | 'malloc_trim' | 'mallopt'>, string>;

/**
 * System calls through koffi. @throws Error with the reason: no 64-bit Linux, or koffi (optional) is missing or does
 * not work here.
 */
export async function loadSystemCalls(): Promise<SystemCalls> {
  requireLinux();
  const { koffi, library, functionsOf, addressOf } = await openLibrary();
  const malloc_trim = glibcOnly(library, 'int malloc_trim(size_t)');
  const mallopt = glibcOnly(library, 'int mallopt(int, int)');
  return { ...functionsOf(prototypes), errno: koffi.errno, addressOf, malloc_trim, mallopt };
}

/** @throws Error where numbers and layouts of system calls are not known: outside 64-bit Linux. */
export function requireLinux(): void {
  if (platform() !== 'linux' || !['x64', 'arm64'].includes(arch()) || endianness() !== 'LE')
    throw new Error(`not known on ${platform()} (${arch()})`);
}

/** The libraries of the process itself, through koffi. @throws Error (rejects) where koffi is missing or does not work. */
export async function openLibrary() {
  const koffi = (await import('koffi')).default;
  const library = koffi.load(null);
  return {
    koffi,
    library,
    /** Functions by their prototypes. */
    functionsOf: <Name extends string>(of: Readonly<Record<Name, string>>) =>
      Object.fromEntries(
        Object.entries<string>(of).map(([name, prototype]) => [name, library.func(prototype)]),
      ) as Record<Name, ReturnType<LibraryHandle['func']>>,
    addressOf: (memory: Uint8Array | Int32Array | Uint32Array) => Number(koffi.address(memory)),
  };
}

/** @returns the result of a call. @throws Error with its `code` when the call has failed. */
export function checked(calls: Pick<SystemCalls, 'errno'>, call: string, result: number): number {
  if (result >= 0) return result;
  throw failure(call, getSystemErrorName(-calls.errno()));
}

/** The error of a call, as Node's own are. */
export const failure = (call: string, code: string): Error =>
  Object.assign(new Error(`${call} ${code}`), { code, syscall: call });

/**
 * The functions of OpenSSL that packets of SRTP need, from the library that Node itself is linked with. 0 is a failure. Contexts,
 * ciphers and memory are named by their addresses; 0 stands for none.
 */
export type LibCrypto = {
  addressOf(memory: Uint8Array): number;
  EVP_CIPHER_CTX_new(): number;
  EVP_aes_128_ctr(): number;
  EVP_aes_128_gcm(): number;
  EVP_aes_256_gcm(): number;
  EVP_CipherInit_ex(context: number, cipher: number, engine: number, key: number, start: number, seals: number): number;
  EVP_CipherUpdate(context: number, out: number, outLength: number, octets: number, length: number): number;
  EVP_CipherFinal_ex(context: number, out: number, outLength: number): number;
  EVP_CIPHER_CTX_ctrl(context: number, type: number, length: number, octets: number): number;
  SHA1_Init(state: number): number;
  SHA1_Update(state: number, octets: number, length: number): number;
  SHA1_Final(out: number, state: number): number;
};

const cryptoPrototypes = {
  EVP_CIPHER_CTX_new: 'uintptr_t EVP_CIPHER_CTX_new()',
  EVP_aes_128_ctr: 'uintptr_t EVP_aes_128_ctr()',
  EVP_aes_128_gcm: 'uintptr_t EVP_aes_128_gcm()',
  EVP_aes_256_gcm: 'uintptr_t EVP_aes_256_gcm()',
  EVP_CipherInit_ex: 'int EVP_CipherInit_ex(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, int)',
  EVP_CipherUpdate: 'int EVP_CipherUpdate(uintptr_t, uintptr_t, uintptr_t, uintptr_t, int)',
  EVP_CipherFinal_ex: 'int EVP_CipherFinal_ex(uintptr_t, uintptr_t, uintptr_t)',
  EVP_CIPHER_CTX_ctrl: 'int EVP_CIPHER_CTX_ctrl(uintptr_t, int, int, uintptr_t)',
  SHA1_Init: 'int SHA1_Init(uintptr_t)',
  SHA1_Update: 'int SHA1_Update(uintptr_t, uintptr_t, uintptr_t)',
  SHA1_Final: 'int SHA1_Final(uintptr_t, uintptr_t)',
} satisfies Record<Exclude<keyof LibCrypto, 'addressOf'>, string>;

/** OpenSSL through koffi. @throws Error where koffi is missing, or Node does not show these functions. */
export async function loadLibCrypto(): Promise<LibCrypto> {
  const { functionsOf, addressOf } = await openLibrary();
  return { ...functionsOf(cryptoPrototypes), addressOf };
}

function glibcOnly(library: LibraryHandle, prototype: string) {
  try {
    return library.func(prototype);
  } catch {
    return undefined;
  }
}

/** 32-bit words of an `epoll_event`, and the first of its data: packed only on x64 (epoll_ctl(2)). */
export const epollEvent = arch() === 'x64' ? { words: 3, data: 1 } : { words: 4, data: 2 };
