import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';

/** What a phone speaks SIP over. */
export type PhoneWire = {
  /** As Via and `transport` name it. */
  readonly protocol: 'UDP' | 'TCP' | 'WS';
  readonly port: number;
  /** Over connections to the one server. */
  send(text: string, to: { address: string; port: number }): void;
  hear(take: (text: string, from: { address: string; port: number }) => void): void;
  close(): void;
};

/** @param port chosen by the system when 0. */
export async function openUdpWire(port: number): Promise<PhoneWire> {
  const socket = createSocket('udp4');
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return {
    protocol: 'UDP',
    port: socket.address().port,
    send: (text, to) => socket.send(text, to.port, to.address),
    hear: (take) => void socket.on('message', (data, from) => take(String(data), from)),
    close: () => void socket.close(),
  };
}

/** A connection, which takes what it is to send before it is open. */
type Stream = { isOver(): boolean; send(text: string): void; hear(take: (text: string) => void): void; close(): void };

/**
 * Opens a connection to a server. When that is closed, the next message opens another one.
 * @param server `address:port`.
 */
export async function openStreamWire(protocol: 'TCP' | 'WS', server: string): Promise<PhoneWire> {
  const [address = '', port = ''] = server.split(':');
  const from = { address, port: Number(port) };
  let local = 5060;
  let take = (_text: string): void => {};
  const open = async (): Promise<Stream> => {
    const stream = protocol === 'WS' ? await openWebSocket(server) : await openTcp(from);
    if (stream.port !== undefined) local = stream.port;
    stream.hear((text) => take(text));
    return stream;
  };
  let stream = await open();
  let next: Promise<Stream> | undefined;
  return {
    protocol,
    get port() {
      return local;
    },
    send(text) {
      if (!stream.isOver()) {
        stream.send(text);
        return;
      }
      next ??= open().then((opened) => {
        next = undefined;
        stream = opened;
        return opened;
      });
      void next.then((opened) => opened.send(text));
    },
    hear(to) {
      take = (text) => to(text, from);
    },
    close: () => stream.close(),
  };
}

async function openWebSocket(server: string): Promise<Stream & { port?: number }> {
  const socket = new WebSocket(`ws://${server}/`, ['sip']);
  await once(socket, 'open');
  // It closes then.
  socket.on('error', () => {});
  return {
    isOver: () => socket.readyState !== WebSocket.OPEN,
    send: (text) => socket.send(text),
    hear: (take) => void socket.on('message', (data) => take(String(data))),
    close: () => socket.terminate(),
  };
}

async function openTcp({ address, port }: { address: string; port: number }): Promise<Stream & { port?: number }> {
  const socket = connect(port, address);
  await once(socket, 'connect');
  // It closes then.
  socket.on('error', () => {});
  return {
    port: socket.localPort!,
    isOver: () => socket.destroyed || socket.readableEnded,
    send: (text) => void socket.write(text),
    hear(take) {
      let waiting = '';
      socket.setEncoding('latin1').on('data', (text: string) => {
        waiting += text;
        for (let end = endOf(waiting); end !== undefined; end = endOf(waiting)) {
          take(waiting.slice(0, end));
          waiting = waiting.slice(end);
        }
      });
    },
    close: () => void socket.destroy(),
  };
}

/** Where the first message of a stream ends (RFC 3261 18.3); undefined before it is whole. */
function endOf(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /^Content-Length: *(\d+)/im.exec(text.slice(0, head))?.[1] ?? '0';
  const end = head + 4 + Number(length);
  return text.length < end ? undefined : end;
}
