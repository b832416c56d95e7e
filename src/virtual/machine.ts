import type { Clock } from '../lib/clock.ts';
import type { VirtualHost } from './network.ts';

/** Services of a process, until the power fails. */
interface VirtualMachine {
  readonly clock: Clock;
  readonly openUdp: VirtualHost['openUdp'];
  readonly sockets: VirtualHost['sockets'];
  /** Ends everything: timers never fire, sockets are closed, later actions have no effect. */
  powerOff(): void;
}

/** A machine on a host, whose clock and sockets die together. */
export function createVirtualMachine(world: Clock, host: VirtualHost): VirtualMachine {
  let alive = true;
  const open = new Set<{ close(): unknown }>();
  const ifAlive = (fn: () => void) => () => {
    if (alive) fn();
  };
  const close = <T>(socket: { close(): T }): T => {
    open.delete(socket);
    return socket.close();
  };

  return {
    clock: {
      now: () => world.now(),
      monotonic: () => world.monotonic(),
      setTimeout: (fn, ms) => world.setTimeout(ifAlive(fn), ms),
      clearTimeout: (id) => world.clearTimeout(id),
      soon: (fn) => world.soon(ifAlive(fn)),
    },
    openUdp: async (options) => {
      const socket = await host.openUdp({
        ...options,
        onDatagram: (bytes, from) => {
          if (alive) options.onDatagram(bytes, from);
        },
      });
      open.add(socket);
      return {
        port: socket.port,
        send: (bytes, to, port, done) => {
          if (alive) socket.send(bytes, to, port, done);
        },
        close: () => close(socket),
      };
    },
    sockets: {
      async bind(address, port) {
        const socket = await host.sockets.bind(address, port);
        open.add(socket);
        return {
          port: socket.port,
          send: (packet, to, at) => {
            if (alive) socket.send(packet, to, at);
          },
          listen: (listener) => socket.listen(listener),
          close: () => close(socket),
        };
      },
    },
    powerOff() {
      alive = false;
      for (const socket of open) void socket.close();
    },
  };
}
