import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Env } from './env.ts';

/** Takes one upgrade; rejects for what it cannot make sense of. */
export type TakeUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => Promise<void>;

/** Why a handshake (RFC 6455 section 4.2.1) cannot be accepted; undefined when it can. `protocol` is the one there is. */
export function handshakeProblem(headers: Headers, protocol: string): string | undefined {
  if (!['8', '13'].includes(headers.get('sec-websocket-version') ?? '')) return 'Sec-WebSocket-Version must be 13';
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) return 'Sec-WebSocket-Key is missing';
  const offered = (headers.get('sec-websocket-protocol') ?? '').split(',').map((each) => each.trim());
  if (offered.some((each) => each !== '') && !offered.includes(protocol))
    return `the one sub-protocol is '${protocol}'`;
  return undefined;
}

/** Writes an answer, headers and body, to a request that will not be upgraded, and ends the connection. */
export async function writeRefusal(socket: Socket, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`];
  for (const [name, value] of response.headers) if (name !== 'connection') lines.push(`${name}: ${value}`);
  lines.push('Connection: close', `Content-Length: ${body.length}`, '', '');
  socket.write(lines.join('\r\n'));
  socket.end(body);
  socket.destroySoon();
}

/**
 * Gives a server's WebSocket upgrades to `take`. One that fails, or whose client goes away, ends its own connection
 * only. `refuseMethod` is the answer to a handshake that is no GET.
 */
export function takeUpgrades(server: Server, take: TakeUpgrade, refuseMethod: () => Response): void {
  server.on('upgrade', (request, stream, head) => {
    const socket = stream as Socket;
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      serveWithoutUpgrade(server, request, socket, head);
      return;
    }
    socket.on('error', () => socket.destroy());
    if (request.method !== 'GET') {
      void writeRefusal(socket, refuseMethod());
      return;
    }
    // An empty list of protocols is no list; ws would refuse it.
    if (!request.headers['sec-websocket-protocol']?.trim()) delete request.headers['sec-websocket-protocol'];
    take(request, socket, head).catch(() => socket.destroy());
  });
}

/** Takes upgrades for an app: one that it does not carry out is answered with what it says. */
export const upgradesOf =
  (app: { request(url: URL, init: RequestInit, env: Env['Bindings']): Response | Promise<Response> }): TakeUpgrade =>
  async (request, socket, head) => {
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headersDistinct)) headers.append(name, value?.join(', ') ?? '');
    const env: Env['Bindings'] = { incoming: request, head };
    const response = await app.request(new URL(request.url ?? '/', 'http://localhost'), { headers }, env);
    if (!env.upgraded) await writeRefusal(socket, response);
  };

const upgradeHeaders = new Set(['upgrade', 'connection', 'http2-settings']);

/**
 * Serves a request that offers another protocol as if it offered none (RFC 9110 7.8 allows that). Java's client offers
 * h2c with every first request. Node stops parsing such a request once there is a listener for upgrades. So it is put
 * back in front of the connection without the offer.
 */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/1.1`];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? '';
    if (!upgradeHeaders.has(name.toLowerCase())) lines.push(`${name}: ${request.rawHeaders[at + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
