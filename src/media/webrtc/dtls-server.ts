import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  type ECDH,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
  X509Certificate,
} from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { CertifiedKey } from '../../lib/self-made-certificate.ts';
import type { SrtpKeys } from '../../lib/srtp.ts';
import type { Fingerprint } from '../../lib/webrtc.ts';
import { Flight } from './flight.ts';
import { Fragments, type HandshakeMessage, handshakeHeaderOctets, writeHandshake } from './fragments.ts';
import { type HandshakeAction, type HandshakeEvent, type HandshakeState, handshakeTable } from './handshake-table.ts';
import {
  type ClientHello,
  certificateMessage,
  certificateRequest,
  ecdhParameters,
  handshakeType,
  helloVerifyRequest,
  readCertificate,
  readClientHello,
  readPoint,
  readSignature,
  serverHello,
  signatureSchemes,
  signed,
} from './messages.ts';
import { contentType, type DtlsRecord, RecordOpener, readRecords } from './records.ts';
import { exportSrtpKeys, masterSecret, recordKeys, type Secrets, verifyData } from './secrets.ts';

/** The certificate of this server, read. */
export type Identity = { readonly certificate: Buffer; readonly key: KeyObject };

/** Reading one takes OpenSSL 0.7 ms, and all calls of a thread have the same. */
const identities = new WeakMap<CertifiedKey, Identity>();

/** Reads a certificate with its key; that of the same object once. @throws Error if they cannot be read. */
export function identityOf(certified: CertifiedKey): Identity {
  const known = identities.get(certified);
  if (known) return known;
  const { certificate, key } = certified;
  const identity = { certificate: new X509Certificate(certificate).raw, key: createPrivateKey(key) };
  identities.set(certified, identity);
  return identity;
}

type DtlsServerOptions = {
  readonly clock: Clock;
  readonly identity: Identity;
  /** What signalling says of the client's certificate (RFC 8122 section 5). */
  readonly fingerprint: Fingerprint;
  /** The handshake is given up after this time, in ms. */
  readonly handshakeMs: number;
  readonly send: (datagram: Uint8Array) => void;
  /** Both sides have proved themselves. Called once. */
  readonly connected: (keys: SrtpKeys) => void;
  /** It failed, or the client has ended it. Called at most once. @param reason in words. */
  readonly ended: (reason: string) => void;
};

/** A message that must not be: ends the handshake. */
class HandshakeFailure extends Error {}

const alertLevel = { warning: 1, fatal: 2 } as const;
const alerts = { closeNotify: 0, handshakeFailure: 40, noRenegotiation: 100 } as const;
const firstResendMs = 250;
/** Times that a flight is sent again, by the clock or for a repeated message. */
const maximumResends = 12;
const cookieOctets = 20;

const messageEvents: Readonly<Record<number, HandshakeEvent>> = {
  [handshakeType.clientHello]: 'clientHello',
  [handshakeType.certificate]: 'certificate',
  [handshakeType.clientKeyExchange]: 'clientKeyExchange',
  [handshakeType.certificateVerify]: 'certificateVerify',
  [handshakeType.finished]: 'finished',
};

/**
 * The server of one DTLS 1.2 association (RFC 6347) that only agrees on keys of SRTP (RFC 5764). {@link
 * handshakeTable} decides what each message does. It never throws for a datagram. Until a cookie has proved the
 * client's address, it sends no more than it got.
 */
export class DtlsServer {
  readonly #options: DtlsServerOptions;
  readonly #fragments = new Fragments();
  readonly #flight: Flight;
  readonly #cookieSecret = randomBytes(32);
  #state: HandshakeState = 'hello';
  /** All handshake messages since the ClientHello with a cookie. */
  #transcript: Buffer[] = [];
  #hello: ClientHello | undefined;
  #ecdh: ECDH | undefined;
  #serverRandom: Buffer = Buffer.alloc(0);
  #peerKey: KeyObject | undefined;
  #secrets: Secrets | undefined;
  #opener: RecordOpener | undefined;
  /** Octets that came beyond those that were sent, before the cookie. */
  #credit = 0;
  #from = '';
  #resends = 0;
  #resendTimer: unknown;
  readonly #endTimer: unknown;

  constructor(options: DtlsServerOptions) {
    this.#options = options;
    this.#flight = new Flight(options.send);
    this.#endTimer = options.clock.setTimeout(() => this.#happen('timeUp'), options.handshakeMs);
  }

  get state(): HandshakeState {
    return this.#state;
  }

  /** Takes a datagram. @param from address and port of its sender, as text. */
  receive(datagram: Uint8Array, from: string): void {
    this.#from = from;
    if (this.#state === 'hello') this.#credit += datagram.length;
    for (const record of readRecords(datagram)) this.#receive(record);
  }

  /** Says goodbye, if there is anybody, and forgets the timers. Nothing is reported. */
  close(): void {
    if (this.#state === 'connected') this.#flight.sendAlert(alertLevel.warning, alerts.closeNotify);
    this.#leave('closed');
  }

  #receive(record: DtlsRecord): void {
    if (record.epoch > 0) {
      const opened = record.epoch === 1 && (this.#state === 'finished' || this.#state === 'connected');
      const plain = opened ? this.#opener?.open(record) : undefined;
      if (plain) this.#read(plain);
    } else if (this.#state !== 'finished' && this.#state !== 'connected') this.#read(record);
  }

  #read({ type, content, sequence, epoch }: DtlsRecord): void {
    if (type === contentType.handshake) this.#readMessages(content, sequence);
    else if (type === contentType.changeCipherSpec) this.#happen('changeCipherSpec');
    else if (type === contentType.alert && epoch > 0 && content.length === 2) {
      if (content[1] === alerts.closeNotify) this.#happen('closeNotify');
      else if (content[0] === alertLevel.fatal) this.#happen('fatalAlert');
    }
  }

  #readMessages(content: Uint8Array, record: number): void {
    if (this.#state === 'hello') this.#expectHello(content, record);
    const repeated = this.#fragments.take(content);
    const last = this.#state === 'connected' ? handshakeType.finished : handshakeType.clientHello;
    if (repeated?.includes(last)) this.#happen('repeatedFlight');
    for (let message = this.#fragments.next(); message; message = this.#fragments.next())
      this.#happen(messageEvents[message.type] ?? 'otherMessage', message);
  }

  /** A client begins with any number: one that lost our answer begins again (RFC 6347 4.2.2). */
  #expectHello(content: Uint8Array, record: number): void {
    if (content.length < handshakeHeaderOctets || content[0] !== handshakeType.clientHello) return;
    const sequence = (content[4]! << 8) | content[5]!;
    if (!this.#fragments.expects(sequence)) this.#fragments.expect(sequence);
    this.#flight.numberFrom(record);
  }

  #happen(event: HandshakeEvent, message?: HandshakeMessage): void {
    const action = handshakeTable[this.#state][event];
    try {
      this.#act(action, message);
    } catch (error) {
      // node:crypto throws for certificates, points and signatures that are none.
      this.#fail(error instanceof HandshakeFailure ? error.message : 'a message of the handshake cannot be read');
    }
  }

  #act(action: HandshakeAction, message: HandshakeMessage | undefined): void {
    const body = message?.octets.subarray(handshakeHeaderOctets) ?? Buffer.alloc(0);
    if (action === 'takeHello') this.#takeHello(message!, body);
    else if (action === 'takeCertificate') this.#takeCertificate(message!, body);
    else if (action === 'takeKeyExchange') this.#takeKeyExchange(message!, body);
    else if (action === 'takeVerify') this.#takeVerify(message!, body);
    else if (action === 'changeCipher') this.#changeCipher();
    else if (action === 'takeFinished') this.#takeFinished(message!, body);
    else if (action === 'resend') this.#resend();
    else if (action === 'refuseRenegotiation') this.#flight.sendAlert(alertLevel.warning, alerts.noRenegotiation);
    else if (action === 'close') this.#end('closed', 'the far side has closed DTLS');
    else if (action === 'giveUp') this.#end('failed', 'the DTLS handshake took too long');
    else if (action === 'fail') throw new HandshakeFailure('a message of the handshake came out of turn');
  }

  #takeHello(message: HandshakeMessage, body: Buffer): void {
    const hello = readClientHello(body);
    if (!hello) return;
    const cookie = this.#cookieFor(hello);
    if (cookie.length !== hello.cookie.length || !timingSafeEqual(cookie, hello.cookie)) {
      const request = writeHandshake(handshakeType.helloVerifyRequest, 0, helloVerifyRequest(cookie));
      this.#credit -= this.#flight.sendAtMost(request, this.#credit);
      return;
    }
    if (!hello.isUsable || !hello.suite) throw new HandshakeFailure('DTLS has no cipher suite in common');
    if (!hello.srtp) throw new HandshakeFailure('DTLS has no SRTP suite in common');
    this.#hello = hello;
    this.#transcript = [message.octets];
    this.#sendHello(hello, message.sequence);
    this.#enter('certificate');
  }

  #sendHello(hello: ClientHello, sequence: number): void {
    const { certificate, key } = this.#options.identity;
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
    this.#transcript.push(...messages.map(({ octets }) => octets));
    this.#flight.begin(messages);
  }

  #takeCertificate(message: HandshakeMessage, body: Buffer): void {
    const der = readCertificate(body);
    if (!der) throw new HandshakeFailure('the far side has no certificate');
    const { hash, digest } = this.#options.fingerprint;
    const actual = createHash(hash).update(der).digest();
    if (actual.toString('hex') !== digest)
      throw new HandshakeFailure("the far side's certificate has another fingerprint than its SDP says");
    this.#peerKey = new X509Certificate(der).publicKey;
    this.#transcript.push(message.octets);
    this.#enter('keyExchange');
  }

  #takeKeyExchange(message: HandshakeMessage, body: Buffer): void {
    const point = readPoint(body);
    if (!point) throw new HandshakeFailure('the ClientKeyExchange is malformed');
    const { suite, random: clientRandom } = this.#hello!;
    // Refuses points that are not on the curve.
    const premaster = this.#ecdh!.computeSecret(point);
    this.#transcript.push(message.octets);
    const master = masterSecret(suite!, premaster, this.#digest());
    this.#secrets = { suite: suite!, master, clientRandom, serverRandom: this.#serverRandom };
    this.#enter('certificateVerify');
  }

  #takeVerify(message: HandshakeMessage, body: Buffer): void {
    const { scheme, signature } = readSignature(body) ?? {};
    const known = signatureSchemes.find(({ id }) => id === scheme);
    const key = this.#peerKey!;
    const isProved =
      known?.key === key.asymmetricKeyType &&
      signature !== undefined &&
      verify(known!.hash, Buffer.concat(this.#transcript), key, signature);
    if (!isProved) throw new HandshakeFailure('the far side does not prove that the certificate is its own');
    this.#transcript.push(message.octets);
    this.#enter('changeCipher');
  }

  #changeCipher(): void {
    this.#opener = new RecordOpener(recordKeys(this.#secrets!).client);
    this.#enter('finished');
  }

  #takeFinished(message: HandshakeMessage, body: Buffer): void {
    const secrets = this.#secrets!;
    const expected = verifyData(secrets, 'client', this.#digest());
    if (body.length !== expected.length || !timingSafeEqual(body, expected))
      throw new HandshakeFailure('the far side saw another handshake');
    this.#transcript.push(message.octets);
    // Our messages are numbered on: five were in the flight before, behind the number of the ClientHello.
    const finished = writeHandshake(
      handshakeType.finished,
      this.#flight.nextSequence,
      verifyData(secrets, 'server', this.#digest()),
    );
    this.#resends = 0;
    this.#flight.finish(finished, recordKeys(secrets).server);
    const keys = exportSrtpKeys(secrets, this.#hello!.srtp!.suite);
    this.#transcript = [];
    this.#leave('connected');
    this.#options.connected(keys);
  }

  #resend(): void {
    if (this.#resends >= maximumResends) return;
    this.#resends++;
    this.#flight.resend();
    if (this.#state !== 'connected') this.#expectAnswer();
  }

  /** Sends the flight again when nothing comes, and waits twice as long each time (RFC 6347 4.2.4.1). */
  #expectAnswer(): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#resendTimer);
    const wait = firstResendMs * 2 ** Math.min(this.#resends, 6);
    this.#resendTimer = clock.setTimeout(() => this.#happen('resendDue'), wait);
  }

  #cookieFor({ parameters }: ClientHello): Buffer {
    const hmac = createHmac('sha256', this.#cookieSecret).update(this.#from);
    for (const parameter of parameters) hmac.update(parameter);
    return hmac.digest().subarray(0, cookieOctets);
  }

  /** The hash of all messages so far. */
  #digest(): Buffer {
    const hash = createHash(this.#hello!.suite!.hash);
    for (const octets of this.#transcript) hash.update(octets);
    return hash.digest();
  }

  #enter(state: HandshakeState): void {
    this.#state = state;
    this.#expectAnswer();
  }

  #leave(state: HandshakeState): void {
    const { clock } = this.#options;
    this.#state = state;
    clock.clearTimeout(this.#resendTimer);
    clock.clearTimeout(this.#endTimer);
  }

  #fail(reason: string): void {
    this.#flight.sendAlert(alertLevel.fatal, alerts.handshakeFailure);
    this.#end('failed', reason);
  }

  #end(state: HandshakeState, reason: string): void {
    this.#leave(state);
    this.#options.ended(reason);
  }
}
