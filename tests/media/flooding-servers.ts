import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { audioSocketFrame } from '../../src/media/external/audio-socket.ts';
import type { ExternalRequest } from '../../src/telephony/external.ts';
import { Authority } from '../support/certificates.ts';

/** 20 ms that are no silence, as octets of linear samples. */
const loud = new Uint8Array(new Int16Array(160).fill(5000).buffer);
const everyMs = 10;
const mostUnsent = 100_000;

type Kind = 'tcp' | 'ws' | 'wss';

/** Servers of AudioSocket, WebSocket and WebSocket over TLS, which send audio twice as fast as it is heard. */
export class FloodingServers {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #authority = new Authority();
  readonly #ports: Record<Kind, number> = { tcp: 0, ws: 0, wss: 0 };
  /** Connections so far. */
  readonly connected: Record<Kind, number> = { tcp: 0, ws: 0, wss: 0 };

  static async open(): Promise<FloodingServers> {
    const servers = new FloodingServers();
    await servers.#open();
    return servers;
  }

  /** How each of them is reached. */
  get requests(): ExternalRequest[] {
    const { tcp, ws, wss } = this.#ports;
    const usual = { codec: 'slin', direction: 'both' } as const;
    const start = { connectionId: 'c', channel: 'WebSocket/ai/0x1', channelId: 'ai', variables: {} };
    const web = { transport: 'webSocket', headers: {}, protocols: [], json: false, frameOctets: 320, start } as const;
    const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
    const authorities = [this.#authority.own.certificate];
    return [
      { ...usual, transport: 'audioSocket', host: '127.0.0.1', port: tcp, uuid },
      { ...usual, ...web, url: `ws://127.0.0.1:${ws}` },
      { ...usual, ...web, url: `wss://127.0.0.1:${wss}`, authorities },
    ];
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #open(): Promise<void> {
    const { certificate: cert, key } = this.#authority.sign('127.0.0.1');
    const frame = audioSocketFrame(0x10, loud);
    const tcp = createServer((socket) => this.#flood('tcp', socket, () => socket.write(frame)));
    tcp.on('connection', (socket) => socket.resume());
    const [plain, secure] = [createHttpServer(), createHttpsServer({ cert, key })];
    for (const [kind, server] of [
      ['ws', plain],
      ['wss', secure],
    ] as const)
      new WebSocketServer({ server }).on('connection', (webSocket, { socket }) => {
        webSocket.on('error', () => {});
        this.#flood(kind, socket, () => webSocket.send(loud));
      });
    for (const [kind, server] of Object.entries({ tcp, ws: plain, wss: secure })) {
      this.#servers.push(server);
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      this.#ports[kind as Kind] = (server.address() as AddressInfo).port;
    }
  }

  #flood(kind: Kind, socket: Socket, send: () => void): void {
    this.connected[kind]++;
    this.#sockets.add(socket);
    const timer = setInterval(() => {
      if (socket.writableLength < mostUnsent) send();
    }, everyMs);
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      this.#sockets.delete(socket);
    });
  }
}
