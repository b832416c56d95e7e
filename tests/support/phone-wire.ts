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

/** Opens a connection to a server. @param server `address:port`. */
export async function openStreamWire(protocol: 'TCP' | 'WS', server: string): Promise<PhoneWire> {
  const [address = '', port = ''] = server.split(':');
  const from = { address, port: Number(port) };
  if (protocol === 'WS') {
    const socket = new WebSocket(`ws://${server}/`, ['sip']);
    await once(socket, 'open');
    return {
      ...{ protocol, port: 5060, send: (text) => socket.send(text), close: () => socket.terminate() },
      hear: (take) => void socket.on('message', (data) => take(String(data), from)),
    };
  }
  const socket = connect(Number(port), address);
  await once(socket, 'connect');
  return {
    ...{
      protocol,
      port: socket.localPort!,
      send: (text) => void socket.write(text),
      close: () => void socket.destroy(),
    },
    hear(take) {
      let waiting = '';
      socket.setEncoding('latin1').on('data', (text: string) => {
        waiting += text;
        for (let end = endOf(waiting); end !== undefined; end = endOf(waiting)) {
          take(waiting.slice(0, end), from);
          waiting = waiting.slice(end);
        }
      });
    },
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
