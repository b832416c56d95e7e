import { createSocket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports below those that Linux gives to programs that ask for any (`ip_local_port_range` begins at 32768): a port that
 * is free now is not given to another program before the program that it is for has bound it.
 */
const [first, end] = [20_000, 32_750];

/** Ports are claimed for a process in blocks: tests run side by side, in processes of their own. */
const blockSize = 50;
const blocks = (end - first) / blockSize;

/** The block to try next. Processes begin in different places, so that claims seldom meet. */
let nextBlock = (process.pid * 7) % blocks;

/** What is left of the block that `freePort` takes its ports from. */
let [next, blockEnd] = [0, 0];

/** Whether a server or socket listens after `bind`. */
async function listens(socket: EventEmitter, bind: () => unknown): Promise<boolean> {
  const listening = once(socket, 'listening').then(
    () => true,
    () => false,
  );
  bind();
  return listening;
}

/** Whether a socket can be bound; it is closed again. */
async function canBind(socket: EventEmitter & { close(): unknown }, bind: () => unknown): Promise<boolean> {
  if (!(await listens(socket, bind))) return false;
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  return true;
}

/** Whether a port of 127.0.0.1 is free over UDP and TCP. */
async function isFree(port: number): Promise<boolean> {
  const [udp, tcp] = [createSocket('udp4'), createServer()];
  return (
    (await canBind(udp, () => udp.bind(port, '127.0.0.1'))) && (await canBind(tcp, () => tcp.listen(port, '127.0.0.1')))
  );
}

/** Claims a block until this process ends: an abstract socket of Linux is a lock that no crash leaves behind. */
async function claim(block: number): Promise<boolean> {
  const lock = createServer().unref();
  return listens(lock, () => lock.listen(`\0hookswitch-tests-ports-${first + block * blockSize}`));
}

/**
 * Claims ports in a row that no other test process is given, and returns the first. A program outside the tests may
 * still hold one of them.
 */
export async function claimPorts(count: number): Promise<number> {
  const wanted = Math.ceil(count / blockSize);
  let inRow = 0;
  for (let tried = 0; tried < blocks + wanted; tried++) {
    const block = nextBlock;
    nextBlock = (nextBlock + 1) % blocks;
    if (block === 0) inRow = 0;
    inRow = (await claim(block)) ? inRow + 1 : 0;
    if (inRow === wanted) return first + (block + 1 - wanted) * blockSize;
  }
  throw new Error(`no ${count} ports of 127.0.0.1 in a row are free`);
}

/** A port of 127.0.0.1 for a program that is to be started or called; no other call in this test run returns it. */
export async function freePort(): Promise<number> {
  for (;;) {
    if (next === blockEnd) {
      next = await claimPorts(blockSize);
      blockEnd = next + blockSize;
    }
    const port = next++;
    if (await isFree(port)) return port;
  }
}
