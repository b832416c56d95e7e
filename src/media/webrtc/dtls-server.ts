import { createECDH, createHmac, type ECDH, randomBytes, sign, timingSafeEqual } from 'node:crypto';
import { DtlsEnd, type DtlsOptions, HandshakeFailure } from './dtls-end.ts';
import { type HandshakeMessage, handshakeHeaderOctets, writeHandshake } from './fragments.ts';
import type { HandshakeAction } from './handshake-table.ts';
import {
  type ClientHello,
  certificateMessage,
  certificateRequest,
  ecdhParameters,
  handshakeType,
  helloVerifyRequest,
  readClientHello,
  readPoint,
  readSignature,
  serverHello,
  signed,
} from './messages.ts';
import { masterSecret, recordKeys, verifyData } from './secrets.ts';

const cookieOctets = 20;

/** The server of one association. Until a cookie has proved the client's address, it sends no more than it got. */
export class DtlsServer extends DtlsEnd {
  readonly #cookieSecret = randomBytes(32);
  #hello: ClientHello | undefined;
  #ecdh: ECDH | undefined;
  #serverRandom: Buffer = Buffer.alloc(0);
  /** Octets that came beyond those that were sent, before the cookie. */
  #credit = 0;
  #from = '';

  constructor(options: DtlsOptions) {
    super(options, 'server', 'hello');
  }

  override receive(datagram: Uint8Array, from: string): void {
    this.#from = from;
    if (this.state === 'hello') this.#credit += datagram.length;
    super.receive(datagram, from);
  }

  protected override get lastOfFlight(): number {
    return this.state === 'connected' ? handshakeType.finished : handshakeType.clientHello;
  }

  /** A client begins with any number: one that lost our answer begins again (RFC 6347 4.2.2). */
  protected override beforeMessages(content: Uint8Array, record: number): void {
    if (this.state !== 'hello') return;
    if (content.length < handshakeHeaderOctets || content[0] !== handshakeType.clientHello) return;
    const sequence = (content[4]! << 8) | content[5]!;
    if (!this.fragments.expects(sequence)) this.fragments.expect(sequence);
    this.flight.numberFrom(record);
  }

  protected override take(action: HandshakeAction, message: HandshakeMessage, body: Buffer): void {
    if (action === 'takeHello') this.#takeHello(message, body);
    else if (action === 'takeCertificate') {
      this.takeCertificate(message, body);
      this.enter('keyExchange');
    } else if (action === 'takeKeyExchange') this.#takeKeyExchange(message, body);
    else if (action === 'takeVerify') this.#takeVerify(message, body);
    else if (action === 'takeFinished') this.#takeFinished(message, body);
  }

  #takeHello(message: HandshakeMessage, body: Buffer): void {
    const hello = readClientHello(body);
    if (!hello) return;
    const cookie = this.#cookieFor(hello);
    if (cookie.length !== hello.cookie.length || !timingSafeEqual(cookie, hello.cookie)) {
      const request = writeHandshake(handshakeType.helloVerifyRequest, 0, helloVerifyRequest(cookie));
      this.#credit -= this.flight.sendAtMost(request, this.#credit);
      return;
    }
    if (!hello.isUsable || !hello.suite) throw new HandshakeFailure('DTLS has no cipher suite in common');
    if (!hello.srtp) throw new HandshakeFailure('DTLS has no SRTP suite in common');
    this.#hello = hello;
    this.restartTranscript();
    this.remember(message);
    this.#sendHello(hello, message.sequence);
    this.enter('certificate');
  }

  #sendHello(hello: ClientHello, sequence: number): void {
    const { certificate, key } = this.options.identity;
    this.#ecdh = createECDH('prime256v1');
    this.#serverRandom = randomBytes(32);
    const parameters = ecdhParameters(this.#ecdh.generateKeys());
    const signature = sign('sha256', Buffer.concat([hello.random, this.#serverRandom, parameters]), key);
    const bodies: readonly (readonly [number, Buffer])[] = [
      [handshakeType.serverHello, serverHello(this.#serverRandom, hello, hello.suite!)],
      [handshakeType.certificate, certificateMessage(certificate)],
      [handshakeType.serverKeyExchange, Buffer.concat([parameters, signed(signature)])],
      [handshakeType.certificateRequest, certificateRequest()],
      [handshakeType.serverHelloDone, Buffer.alloc(0)],
    ];
    const messages = bodies.map(([type, content], index) => writeHandshake(type, sequence + index, content));
    this.remember(...messages);
    this.flight.begin(messages);
  }

  #takeKeyExchange(message: HandshakeMessage, body: Buffer): void {
    const point = readPoint(body);
    if (!point) throw new HandshakeFailure('the ClientKeyExchange is malformed');
    const { random: clientRandom } = this.#hello!;
    const suite = this.#hello!.suite!;
    // Refuses points that are not on the curve.
    const premaster = this.#ecdh!.computeSecret(point);
    this.remember(message);
    const master = masterSecret(suite, premaster, this.digest(suite.hash));
    this.agree({ suite, master, clientRandom, serverRandom: this.#serverRandom });
    this.enter('certificateVerify');
  }

  #takeVerify(message: HandshakeMessage, body: Buffer): void {
    this.requireSigned(this.transcript, readSignature(body));
    this.remember(message);
    this.enter('changeCipher');
  }

  #takeFinished(message: HandshakeMessage, body: Buffer): void {
    this.takeFinished(message, body);
    const secrets = this.secrets!;
    // Our messages are numbered on: five were in the flight before, behind the number of the ClientHello.
    const said = verifyData(secrets, 'server', this.digest(secrets.suite.hash));
    const finished = writeHandshake(handshakeType.finished, this.flight.nextSequence, said);
    this.beginFlight();
    this.flight.finish([], finished, recordKeys(secrets).server);
    this.connect(this.#hello!.srtp!.suite);
  }

  #cookieFor({ parameters }: ClientHello): Buffer {
    const hmac = createHmac('sha256', this.#cookieSecret).update(this.#from);
    for (const parameter of parameters) hmac.update(parameter);
    return hmac.digest().subarray(0, cookieOctets);
  }
}
