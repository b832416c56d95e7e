import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SrtpKeys } from '../../src/lib/srtp.ts';
import type { PacketListener, PacketSocket } from '../../src/media/rtp/sockets.ts';
import { SecurePair } from '../../src/media/srtp/secure-pair.ts';
import { readCheck, writeCheckAnswer } from '../../src/media/webrtc/checks.ts';
import { type Identity, identityOf } from '../../src/media/webrtc/dtls-end.ts';
import { handshakeType } from '../../src/media/webrtc/messages.ts';
import { certifiedKey, DtlsClient, fingerprintOf } from './dtls-client.ts';
import { check } from './ice-check.ts';
import { untilHolds } from './waiting.ts';

/** Time between connectivity checks, in ms (RFC 7675 5.1: 5 s on average). */
const checkMs = 2500;

/** What a browser says of ICE. */
const ours = { ufrag: 'leg0', password: 'a+password+of+a+leg+in+tests' };

/** A browser's side of a call without a browser: it offers PCMU, checks, shakes hands and talks SRTP, over UDP. */
export class BrowserLeg {
  readonly #socket: Socket;
  readonly #dtls: DtlsClient;
  readonly #identity: Identity;
  readonly #looks = new Set<() => void>();
  #secure: SecurePair | undefined;
  #inside: PacketListener | undefined;
  #timer: NodeJS.Timeout | undefined;
  #server = { ufrag: '', password: '', address: '', port: 0 };
  #greeted = 0;
  #proves = false;
  #isOpen = true;
  /** RTP that came, opened. */
  heard: (packet: Uint8Array) => void = () => {};

  private constructor(socket: Socket, identity: Identity) {
    this.#socket = socket;
    this.#identity = identity;
    this.#dtls = new DtlsClient({}, identity);
    socket.on('message', (datagram) => this.#receive(datagram));
  }

  /** @param identity its certificate; left out: a fresh one. */
  static async open(identity: Identity = identityOf(certifiedKey('browser'))): Promise<BrowserLeg> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new BrowserLeg(socket, identity);
  }

  get port(): number {
    return (this.#socket.address() as AddressInfo).port;
  }

  /** Its keys of SRTP, once both sides are proved. */
  get keys(): SrtpKeys {
    return this.#dtls.keys;
  }

  /** Alerts of the server, as level and description. */
  get alerts(): readonly number[][] {
    return this.#dtls.alerts;
  }

  readonly password = ours.password;

  /** Its offer. @param direction `sendonly` holds. */
  offer(direction = 'sendrecv'): string {
    const pairs = fingerprintOf(this.#identity).digest.toUpperCase().match(/../g)!;
    return [
      ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0'],
      ...['m=audio 9 UDP/TLS/RTP/SAVPF 0', 'c=IN IP4 0.0.0.0', 'a=mid:0', 'a=rtcp-mux', 'a=setup:actpass'],
      ...[`a=ice-ufrag:${ours.ufrag}`, `a=ice-pwd:${ours.password}`, `a=fingerprint:sha-256 ${pairs.join(':')}`],
      ...['a=rtpmap:0 PCMU/8000', `a=${direction}`, ''],
    ].join('\r\n');
  }

  /** Takes an answer, and begins. */
  begin(answer: string): void {
    const value = (pattern: RegExp): string => pattern.exec(answer)?.[1] ?? '';
    this.#server = {
      ufrag: value(/^a=ice-ufrag:(\S+)/m),
      password: value(/^a=ice-pwd:(\S+)/m),
      address: value(/^a=candidate:\S+ 1 udp \d+ (\S+)/m),
      port: Number(value(/^m=audio (\d+)/m)),
    };
    this.#check();
    this.#timer = setInterval(() => this.#check(), checkMs);
  }

  /** Resolves when both sides are proved. */
  connected(): Promise<void> {
    return untilHolds(
      this.#looks,
      () => this.#secure !== undefined,
      () => 'DTLS did not come to its end',
    );
  }

  /** Resolves when the server has refused it. */
  refused(): Promise<void> {
    return untilHolds(
      this.#looks,
      () => this.alerts.length > 0,
      () => 'DTLS was not refused',
    );
  }

  /** Sends RTP. */
  send(packet: Uint8Array): void {
    this.#secure?.rtp.send(packet, 0, '');
  }

  close(): void {
    this.#isOpen = false;
    clearInterval(this.#timer);
    this.#socket.close();
  }

  #check(): void {
    const { ufrag, password } = this.#server;
    this.#out(check({ username: `${ufrag}:${ours.ufrag}`, password, nominates: true }));
  }

  #out(datagram: Uint8Array): void {
    if (this.#isOpen) this.#socket.send(datagram, this.#server.port, this.#server.address);
  }

  #receive(datagram: Buffer): void {
    const first = datagram[0] ?? 255;
    if (first < 4) {
      this.#answerCheck(datagram);
      this.#greet(1);
    } else if (first >= 20 && first < 64) this.#shakeHands(datagram);
    else this.#inside?.(datagram, this.#server.address, this.#server.port);
    for (const look of [...this.#looks]) look();
  }

  #answerCheck(datagram: Buffer): void {
    const { address, port, ...server } = this.#server;
    if (readCheck(datagram, ours, server)) this.#out(writeCheckAnswer(datagram, { address, port }, ours.password)!);
  }

  /** The first ClientHello follows the first check, the second one the cookie. */
  #greet(time: number): void {
    if (this.#greeted >= time) return;
    this.#greeted = time;
    for (const hello of this.#dtls.hello()) this.#out(hello);
  }

  #shakeHands(datagram: Buffer): void {
    this.#dtls.receive(datagram);
    const { received } = this.#dtls;
    if (received.includes(handshakeType.helloVerifyRequest)) this.#greet(2);
    if (received.includes(handshakeType.serverHelloDone) && !this.#proves) {
      this.#proves = true;
      for (const part of this.#dtls.proof()) this.#out(part);
    }
    if (this.#dtls.proved) this.#secure ??= this.#open();
  }

  #open(): SecurePair {
    const socket: PacketSocket = {
      port: this.port,
      send: (packet) => this.#out(packet),
      listen: (listener) => {
        this.#inside = listener;
      },
      close() {},
    };
    const silent: PacketSocket = { ...socket, listen() {} };
    // The keys are those of the server as it has them.
    const { local, remote } = this.keys;
    const secure = new SecurePair(
      { rtp: socket, rtcp: silent },
      { local: remote, remote: local },
      new Float64Array(16),
    );
    secure.rtp.listen((packet) => this.heard(packet));
    return secure;
  }
}
