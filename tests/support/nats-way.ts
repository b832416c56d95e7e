import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The network between a node and NATS: what passes can be late, and it can be cut. Each direction keeps its order. */
export class NatsWay {
  /** How late everything comes, in ms. */
  delayMs = 0;
  #isCut = false;
  readonly #server: Server;
  readonly #to: number;
  readonly #sockets = new Set<Socket>();
  /** Connections that were made while it was cut. */
  #held: Socket[] = [];

  private constructor(to: number) {
    this.#to = to;
    this.#server = createServer((near) => {
      this.#keep(near);
      if (this.#isCut) this.#held.push(near);
      else this.#join(near);
    });
  }

  static async open({ port }: { port: number }): Promise<NatsWay> {
    const way = new NatsWay(port);
    way.#server.listen(0, '127.0.0.1');
    await once(way.#server, 'listening');
    return way;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Nothing passes any more, and neither side is told. What is on its way waits, as TCP has it. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
    for (const near of this.#held.splice(0)) this.#join(near);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    if (this.#isCut) socket.pause();
    socket.on('close', () => this.#sockets.delete(socket));
    // The other side hears it by the end of the connection.
    socket.on('error', () => {});
  }

  #join(near: Socket): void {
    if (near.destroyed) return;
    const far = connect(this.#to, '127.0.0.1');
    this.#keep(far);
    this.#pass(near, far);
    this.#pass(far, near);
  }

  #pass(from: Socket, to: Socket): void {
    let last = Promise.resolve();
    const then = (run: () => void): void => {
      const due = this.delayMs === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, this.delayMs));
      last = last.then(() => due).then(run);
    };
    from.on('data', (data) => then(() => void (to.destroyed || to.write(data))));
    from.on('close', () => then(() => void to.destroy()));
  }
}
