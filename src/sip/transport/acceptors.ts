import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { certificateFailure, handshakeFailure } from '../../lib/handshake-failure.ts';
import type { TlsKeys } from '../../lib/tls.ts';
import { MAX_MESSAGE_BYTES } from '../message/parse.ts';
import { kindOf } from './kind.ts';
import type { ClientCertificates, Listen } from './transport.ts';
import { sipSubProtocol, WebSocketStream } from './web-socket.ts';

/** Completes what precedes SIP on a new connection: nothing, TLS, an HTTP upgrade, or both. */
export interface Acceptor {
  /**
   * Calls `entered` when the connection is ready, and closes it when it is refused. The caller closes one that takes too long.
   */
  enter(socket: Socket, entered: (stream: Duplex) => void): void;
}

type AcceptorOptions = {
  /** Certificates; TLS needs one. */
  readonly tls: TlsKeys | undefined;
  /** Whether a page of that origin may connect over WebSocket. */
  readonly allowsOrigin: (origin: string) => boolean;
  /** Is called with the reason of each refusal. */
  readonly onRefused: (peer: Peer, reason: string) => void;
};

/** A refused peer. */
export type Peer = { readonly address: string | undefined; readonly port: number | undefined };

/** The largest head of the HTTP request that becomes a WebSocket, in bytes. */
const MAX_UPGRADE_HEAD_BYTES = 8_192;

/** Needs no handshake. */
const plainAcceptor: Acceptor = { enter: (socket, entered) => entered(socket) };

/** @throws Error when it needs a certificate and there is none. */
export function createAcceptor({ protocol, clientCertificates = 'none' }: Listen, options: AcceptorOptions): Acceptor {
  const { secure, webSocket } = kindOf(protocol);
  const outer = secure ? tlsAcceptor(options, clientCertificates) : plainAcceptor;
  if (!webSocket) return outer;
  const inner = webSocketAcceptor(options);
  return { enter: (socket, entered) => outer.enter(socket, (stream) => inner.enter(stream as Socket, entered)) };
}

/** The options of a TLS server, set again when certificates change. */
function tlsOptions(keys: TlsKeys | undefined, clientCertificates: ClientCertificates) {
  const asks = clientCertificates !== 'none';
  const server = asks ? keys?.askingServer : keys?.server;
  if (!server) throw new Error('there is no certificate to show (tls.certificates)');
  return { ...server, requestCert: asks, rejectUnauthorized: clientCertificates === 'required' };
}

function tlsAcceptor({ tls, onRefused }: AcceptorOptions, clientCertificates: ClientCertificates): Acceptor {
  /** Handshakes in progress, by address and port. */
  const waiting = new Map<string, (stream: Duplex) => void>();
  const server: TlsServer = createTlsServer(tlsOptions(tls, clientCertificates));
  tls?.onChanged(() => server.setSecureContext(tlsOptions(tls, clientCertificates)));
  server.on('secureConnection', (socket: TLSSocket) => {
    const key = keyOf(socket);
    const entered = waiting.get(key);
    waiting.delete(key);
    // A certificate may be missing; one that is presented must be signed by a trusted authority.
    const isWrong = clientCertificates === 'optional' && !socket.authorized && socket.getPeerX509Certificate();
    if (isWrong) onRefused(peerOf(socket), certificateFailure(socket));
    if (isWrong || !entered) socket.destroy();
    else entered(socket);
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    onRefused(peerOf(socket), handshakeFailure(error, socket));
    socket.destroy();
  });
  return {
    enter(socket, entered) {
      const key = keyOf(socket);
      waiting.set(key, entered);
      socket.once('close', () => waiting.delete(key));
      server.emit('connection', socket);
    },
  };
}

function webSocketAcceptor({ allowsOrigin, onRefused }: AcceptorOptions): Acceptor {
  const waiting = new WeakMap<Duplex, (stream: Duplex) => void>();
  const upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: () => sipSubProtocol,
  });
  const server: HttpServer = createHttpServer({ maxHeaderSize: MAX_UPGRADE_HEAD_BYTES }, (_request, response) => {
    response.writeHead(426, { Connection: 'close', Upgrade: 'websocket' }).end();
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refusal = refusalOf(request, allowsOrigin);
    if (refusal) {
      onRefused(peerOf(request.socket), refusal.reason);
      socket.end(`HTTP/1.1 ${refusal.status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    socket.on('error', () => {});
    upgrades.handleUpgrade(request, socket, head, (webSocket: WebSocket) =>
      waiting.get(socket)?.(new WebSocketStream(webSocket)),
    );
  });
  return {
    enter(socket, entered) {
      waiting.set(socket, entered);
      server.emit('connection', socket);
    },
  };
}

/** Why a WebSocket is refused, if it is: not for SIP (RFC 7118 4.1), or from a foreign page. */
function refusalOf(
  { headers }: IncomingMessage,
  allowsOrigin: AcceptorOptions['allowsOrigin'],
): { status: string; reason: string } | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim().toLowerCase());
  if (!offered.includes(sipSubProtocol))
    return { status: '400 Bad Request', reason: `its WebSocket is not for the sub-protocol ${sipSubProtocol}` };
  const { origin } = headers;
  if (origin !== undefined && !allowsOrigin(origin))
    return { status: '403 Forbidden', reason: `the page comes from ${origin}, which is not in sip.allowed_origins` };
  return undefined;
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const peerOf = ({ remoteAddress, remotePort }: Socket): Peer => ({ address: remoteAddress, port: remotePort });
