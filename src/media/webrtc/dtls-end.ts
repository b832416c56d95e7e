import { createHash, createPrivateKey, type KeyObject, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { CertifiedKey } from '../../lib/self-made-certificate.ts';
import type { SrtpKeys, SrtpSuite } from '../../lib/srtp.ts';
import type { DtlsRole, Fingerprint } from '../../lib/webrtc.ts';
import { Flight } from './flight.ts';
import { Fragments, type HandshakeMessage, handshakeHeaderOctets } from './fragments.ts';
import { type HandshakeAction, type HandshakeEvent, type HandshakeState, handshakeTable } from './handshake-table.ts';
import { handshakeType, readCertificate, type Signature, signatureSchemes } from './messages.ts';
import { contentType, type DtlsRecord, RecordOpener, readRecords } from './records.ts';
import { exportSrtpKeys, recordKeys, type Secrets, verifyData } from './secrets.ts';

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

export type DtlsOptions = {
  readonly clock: Clock;
  readonly identity: Identity;
  /** What signalling says of the far side's certificate (RFC 8122 section 5). */
  readonly fingerprint: Fingerprint;
  /** The handshake is given up after this time, in ms. */
  readonly handshakeMs: number;
  readonly send: (datagram: Uint8Array) => void;
  /** Both sides have proved themselves. Called once. */
  readonly connected: (keys: SrtpKeys) => void;
  /** It failed, or the far side has ended it. Called at most once. @param reason in words. */
  readonly ended: (reason: string) => void;
};

/** A message that must not be: ends the handshake. */
export class HandshakeFailure extends Error {}

const alertLevel = { warning: 1, fatal: 2 } as const;
const alerts = { closeNotify: 0, handshakeFailure: 40, noRenegotiation: 100 } as const;
const firstResendMs = 250;
/** Times that a flight is sent again, by the clock or for a repeated message. */
const maximumResends = 12;

const messageEvents: Readonly<Record<number, HandshakeEvent>> = {
  [handshakeType.helloRequest]: 'helloRequest',
  [handshakeType.clientHello]: 'clientHello',
  [handshakeType.serverHello]: 'serverHello',
  [handshakeType.helloVerifyRequest]: 'helloVerifyRequest',
  [handshakeType.certificate]: 'certificate',
  [handshakeType.serverKeyExchange]: 'serverKeyExchange',
  [handshakeType.certificateRequest]: 'certificateRequest',
  [handshakeType.serverHelloDone]: 'serverHelloDone',
  [handshakeType.clientKeyExchange]: 'clientKeyExchange',
  [handshakeType.certificateVerify]: 'certificateVerify',
  [handshakeType.finished]: 'finished',
};

const farSideOf: Readonly<Record<DtlsRole, DtlsRole>> = { client: 'server', server: 'client' };

/**
 * One side of a DTLS 1.2 association (RFC 6347) that only agrees on keys of SRTP (RFC 5764). {@link handshakeTable}
 * decides what each message does. It never throws for a datagram.
 */
export abstract class DtlsEnd {
  protected readonly options: DtlsOptions;
  protected readonly flight: Flight;
  protected readonly fragments = new Fragments();
  readonly #role: DtlsRole;
  #state: HandshakeState;
  /** All handshake messages since the ClientHello with a cookie. */
  #transcript: Buffer[] = [];
  #peerKey: KeyObject | undefined;
  #secrets: Secrets | undefined;
  #opener: RecordOpener | undefined;
  #resends = 0;
  #resendTimer: unknown;
  readonly #endTimer: unknown;

  constructor(options: DtlsOptions, role: DtlsRole, state: HandshakeState) {
    this.options = options;
    this.#role = role;
    this.#state = state;
    this.flight = new Flight(options.send);
    this.#endTimer = options.clock.setTimeout(() => this.#happen('timeUp'), options.handshakeMs);
  }

  get state(): HandshakeState {
    return this.#state;
  }

  /** There is an address for what a client sends: it says hello. A server waits. Later calls change nothing. */
  begin(): void {}

  /** Takes a datagram. @param _from address and port of its sender, as text. */
  receive(datagram: Uint8Array, _from: string): void {
    for (const record of readRecords(datagram)) this.#receive(record);
  }

  /** Says goodbye, if there is anybody, and forgets the timers. Nothing is reported. */
  close(): void {
    if (this.#state === 'connected') this.flight.sendAlert(alertLevel.warning, alerts.closeNotify);
    this.#leave('closed');
  }

  /** Reads a message for one of the actions `take…`. @throws HandshakeFailure, and whatever node:crypto throws. */
  protected abstract take(action: HandshakeAction, message: HandshakeMessage, body: Buffer): void;

  /** The last message of the far side's earlier flight: it comes again when ours was lost. */
  protected abstract get lastOfFlight(): number;

  /** Looks at the content of a record with handshake messages before they are read. */
  protected beforeMessages(_content: Uint8Array, _record: number): void {}

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
    this.beforeMessages(content, record);
    const repeated = this.fragments.take(content);
    if (repeated?.includes(this.lastOfFlight)) this.#happen('repeatedFlight');
    for (let message = this.fragments.next(); message; message = this.fragments.next())
      this.#happen(messageEvents[message.type] ?? 'otherMessage', message);
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
    if (action === 'ignore') return;
    if (action === 'changeCipher') this.#changeCipher();
    else if (action === 'resend') this.#resend();
    else if (action === 'refuseRenegotiation') this.flight.sendAlert(alertLevel.warning, alerts.noRenegotiation);
    else if (action === 'close') this.#end('closed', 'the far side has closed DTLS');
    else if (action === 'giveUp') this.#end('failed', 'the DTLS handshake took too long');
    else if (action === 'fail') throw new HandshakeFailure('a message of the handshake came out of turn');
    else this.take(action, message!, message!.octets.subarray(handshakeHeaderOctets));
  }

  /** Forgets the messages so far: the handshake begins with the next one. */
  protected restartTranscript(): void {
    this.#transcript = [];
  }

  protected remember(...messages: readonly HandshakeMessage[]): void {
    this.#transcript.push(...messages.map(({ octets }) => octets));
  }

  /** The messages so far. */
  protected get transcript(): readonly Buffer[] {
    return this.#transcript;
  }

  /** The hash of all messages so far. */
  protected digest(hash: string): Buffer {
    const made = createHash(hash);
    for (const octets of this.#transcript) made.update(octets);
    return made.digest();
  }

  protected get secrets(): Secrets | undefined {
    return this.#secrets;
  }

  /** Both sides know the master secret. */
  protected agree(secrets: Secrets): void {
    this.#secrets = secrets;
  }

  /** Takes the far side's certificate. @throws HandshakeFailure if signalling names another one. */
  protected takeCertificate(message: HandshakeMessage, body: Buffer): void {
    const der = readCertificate(body);
    if (!der) throw new HandshakeFailure('the far side has no certificate');
    const { hash, digest } = this.options.fingerprint;
    if (createHash(hash).update(der).digest('hex') !== digest)
      throw new HandshakeFailure("the far side's certificate has another fingerprint than its SDP says");
    this.#peerKey = new X509Certificate(der).publicKey;
    this.remember(message);
  }

  /** @throws HandshakeFailure unless the key of the far side's certificate has signed these octets. */
  protected requireSigned(octets: readonly Uint8Array[], said: Signature | undefined): void {
    const known = signatureSchemes.find(({ id }) => id === said?.scheme);
    const key = this.#peerKey!;
    const isProved =
      said !== undefined &&
      known?.key === key.asymmetricKeyType &&
      verify(known!.hash, Buffer.concat(octets), key, said.signature);
    if (!isProved) throw new HandshakeFailure('the far side does not prove that the certificate is its own');
  }

  /** Takes Finished. @throws HandshakeFailure if the far side saw another handshake. */
  protected takeFinished(message: HandshakeMessage, body: Buffer): void {
    const secrets = this.#secrets!;
    const expected = verifyData(secrets, farSideOf[this.#role], this.digest(secrets.suite.hash));
    if (body.length !== expected.length || !timingSafeEqual(body, expected))
      throw new HandshakeFailure('the far side saw another handshake');
    this.remember(message);
  }

  /** Both sides are proved. */
  protected connect(srtp: SrtpSuite): void {
    this.#transcript = [];
    this.#leave('connected');
    this.options.connected(exportSrtpKeys(this.#secrets!, srtp, this.#role));
  }

  #changeCipher(): void {
    this.#opener = new RecordOpener(recordKeys(this.#secrets!)[farSideOf[this.#role]]);
    this.enter('finished');
  }

  #resend(): void {
    if (this.#resends >= maximumResends) return;
    this.#resends++;
    this.flight.resend();
    if (this.#state !== 'connected') this.#expectAnswer();
  }

  /** A new flight is sent: it may be sent again as often as each. */
  protected beginFlight(): void {
    this.#resends = 0;
  }

  /** Sends the flight again when nothing comes, and waits twice as long each time (RFC 6347 4.2.4.1). */
  #expectAnswer(): void {
    const { clock } = this.options;
    clock.clearTimeout(this.#resendTimer);
    const wait = firstResendMs * 2 ** Math.min(this.#resends, 6);
    this.#resendTimer = clock.setTimeout(() => this.#happen('resendDue'), wait);
  }

  protected enter(state: HandshakeState): void {
    this.#state = state;
    this.#expectAnswer();
  }

  #leave(state: HandshakeState): void {
    const { clock } = this.options;
    this.#state = state;
    clock.clearTimeout(this.#resendTimer);
    clock.clearTimeout(this.#endTimer);
  }

  #fail(reason: string): void {
    this.flight.sendAlert(alertLevel.fatal, alerts.handshakeFailure);
    this.#end('failed', reason);
  }

  #end(state: HandshakeState, reason: string): void {
    this.#leave(state);
    this.options.ended(reason);
  }
}
