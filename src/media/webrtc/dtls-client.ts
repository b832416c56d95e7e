import { createECDH, type ECDH, randomBytes, sign } from 'node:crypto';
import { DtlsEnd, type DtlsOptions, HandshakeFailure } from './dtls-end.ts';
import { type HandshakeMessage, writeHandshake } from './fragments.ts';
import type { HandshakeAction } from './handshake-table.ts';
import {
  certificateMessage,
  clientHello,
  handshakeType,
  ourScheme,
  pointMessage,
  readCertificateRequest,
  readHelloVerifyRequest,
  readKeyExchange,
  readServerHello,
  type ServerHello,
  signed,
} from './messages.ts';
import { masterSecret, recordKeys, verifyData } from './secrets.ts';

/** The client of one association. Nothing that the server says counts before its certificate has signed the key exchange. */
export class DtlsClient extends DtlsEnd {
  readonly #random = randomBytes(32);
  readonly #ecdh: ECDH = createECDH('prime256v1');
  #hello: ServerHello | undefined;
  #premaster: Buffer = Buffer.alloc(0);
  #isAsked = false;

  constructor(options: DtlsOptions) {
    super(options, 'client', 'idle');
  }

  override begin(): void {
    if (this.state !== 'idle') return;
    this.#sayHello(Buffer.alloc(0));
    this.enter('helloVerify');
  }

  override receive(datagram: Uint8Array, from: string): void {
    if (this.state !== 'idle') super.receive(datagram, from);
  }

  protected override get lastOfFlight(): number {
    return handshakeType.serverHelloDone;
  }

  protected override take(action: HandshakeAction, message: HandshakeMessage, body: Buffer): void {
    if (action === 'takeVerifyRequest') this.#takeVerifyRequest(body);
    else if (action === 'takeServerHello') this.#takeServerHello(message, body);
    else if (action === 'takeCertificate') {
      this.takeCertificate(message, body);
      this.enter('serverKeyExchange');
    } else if (action === 'takeServerKeyExchange') this.#takeKeyExchange(message, body);
    else if (action === 'takeRequest') this.#takeRequest(message, body);
    else if (action === 'takeHelloDone') this.#takeHelloDone(message, body);
    else if (action === 'takeFinished') {
      this.takeFinished(message, body);
      this.connect(this.#hello!.srtp.suite);
    }
  }

  #sayHello(cookie: Uint8Array): void {
    const { nextSequence } = this.flight;
    const hello = writeHandshake(handshakeType.clientHello, nextSequence, clientHello(this.#random, cookie));
    this.restartTranscript();
    this.remember(hello);
    this.beginFlight();
    this.flight.begin([hello]);
  }

  #takeVerifyRequest(body: Buffer): void {
    const cookie = readHelloVerifyRequest(body);
    if (!cookie) throw new HandshakeFailure('the HelloVerifyRequest is malformed');
    this.#sayHello(cookie);
    this.enter('serverHello');
  }

  #takeServerHello(message: HandshakeMessage, body: Buffer): void {
    this.#hello = readServerHello(body);
    if (!this.#hello) throw new HandshakeFailure('the far side chooses what was not offered');
    this.remember(message);
    this.enter('serverCertificate');
  }

  #takeKeyExchange(message: HandshakeMessage, body: Buffer): void {
    const said = readKeyExchange(body);
    if (!said) throw new HandshakeFailure('the ServerKeyExchange is malformed');
    this.requireSigned([this.#random, this.#hello!.random, said.parameters], said);
    this.#ecdh.generateKeys();
    // Refuses points that are not on the curve.
    this.#premaster = this.#ecdh.computeSecret(said.point);
    this.remember(message);
    this.enter('certificateRequest');
  }

  #takeRequest(message: HandshakeMessage, body: Buffer): void {
    if (!readCertificateRequest(body)?.includes(ourScheme))
      throw new HandshakeFailure('the far side takes no certificate with ECDSA and SHA-256');
    this.#isAsked = true;
    this.remember(message);
    this.enter('serverHelloDone');
  }

  #takeHelloDone(message: HandshakeMessage, body: Buffer): void {
    if (body.length > 0) throw new HandshakeFailure('the ServerHelloDone is malformed');
    this.remember(message);
    this.#prove();
    this.enter('changeCipher');
  }

  /** Sends our certificate if it was asked for, our half of the key, and Finished. */
  #prove(): void {
    const { certificate, key } = this.options.identity;
    const { suite, random: serverRandom } = this.#hello!;
    let sequence = this.flight.nextSequence;
    const say = (type: number, body: Buffer): HandshakeMessage => {
      const message = writeHandshake(type, sequence++, body);
      this.remember(message);
      return message;
    };
    const certified = this.#isAsked ? [say(handshakeType.certificate, certificateMessage(certificate))] : [];
    const plain = [...certified, say(handshakeType.clientKeyExchange, pointMessage(this.#ecdh.getPublicKey()))];
    const master = masterSecret(suite, this.#premaster, this.digest(suite.hash));
    const secrets = { suite, master, clientRandom: this.#random, serverRandom };
    this.agree(secrets);
    if (this.#isAsked) {
      const signature = sign('sha256', Buffer.concat(this.transcript), key);
      plain.push(say(handshakeType.certificateVerify, signed(signature)));
    }
    const finished = say(handshakeType.finished, verifyData(secrets, 'client', this.digest(suite.hash)));
    this.beginFlight();
    this.flight.finish(plain, finished, recordKeys(secrets).client);
  }
}
