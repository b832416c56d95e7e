import { createSocket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports below those that Linux gives to whoever asks for any (`ip_local_port_range` begins at 32768): a port that is free
 * now is not given to somebody else before the program that it is for has bound it.
 */
const [first, end] = [20_002, 32_768];

/** The next one to look at. Other runs of the tests on this machine begin elsewhere. */
let next = first + ((process.pid * 97) % (end - first));

/** Whether what `bind` begins to bind can be bound; it is let go of again. */
async function canHave(socket: EventEmitter & { close(): unknown }, bind: () => unknown): Promise<boolean> {
  const had = once(socket, 'listening').then(
    () => true,
    () => false,
  );
  bind();
  if (!(await had)) return false;
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  return true;
}

/** Whether a port of 127.0.0.1 can be had over UDP and TCP. */
async function isFree(port: number): Promise<boolean> {
  const [udp, tcp] = [createSocket('udp4'), createServer()];
  return (
    (await canHave(udp, () => udp.bind(port, '127.0.0.1'))) && (await canHave(tcp, () => tcp.listen(port, '127.0.0.1')))
  );
}

/** A port of 127.0.0.1 for a program that is to be started or called, each another one in a run. */
export async function freePort(): Promise<number> {
  for (let tried = first; tried < end; tried++) {
    const port = next;
    next = next + 1 < end ? next + 1 : first;
    if (await isFree(port)) return port;
  }
  throw new Error('no port of 127.0.0.1 is free');
}
