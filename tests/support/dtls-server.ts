import { createECDH, createHash, randomBytes, sign } from 'node:crypto';
import { type Identity, identityOf } from '../../src/media/webrtc/dtls-end.ts';
import {
  Fragments,
  type HandshakeMessage,
  handshakeHeaderOctets,
  writeHandshake,
} from '../../src/media/webrtc/fragments.ts';
import {
  certificateMessage,
  certificateRequest,
  ecdhParameters,
  handshakeType,
  helloVerifyRequest,
  readClientHello,
  readPoint,
  serverHello,
  signed,
} from '../../src/media/webrtc/messages.ts';
import { contentType, RecordOpener, readRecords, sealRecord, writeRecord } from '../../src/media/webrtc/records.ts';
import { masterSecret, recordKeys, type Secrets, verifyData } from '../../src/media/webrtc/secrets.ts';
import { certifiedKey } from './dtls-client.ts';

/** What a server does otherwise than it should. */
export type ServerMischief = {
  /** Signs its half of the key with another key than its certificate's. */
  readonly signsWith?: Identity;
  /** Asks for no cookie, or for no certificate of the client. */
  readonly withoutCookie?: boolean;
  readonly withoutRequest?: boolean;
  /** Changes the content of a message before it is sent. */
  readonly change?: (type: number, body: Buffer) => Buffer;
};

const suite = { id: 0xc02b, cipher: 'aes-128-gcm', keyOctets: 16, hash: 'sha256' } as const;

/** A DTLS server for tests: it believes everything, and each of its flights is datagrams that the test may change. */
export class FakeDtlsServer {
  readonly identity: Identity;
  readonly #mischief: ServerMischief;
  readonly #fragments = new Fragments();
  readonly #received = new Map<number, Buffer>();
  readonly #ecdh = createECDH('prime256v1');
  readonly #random = randomBytes(32);
  readonly #transcript: Buffer[] = [];
  #sequence = 0;
  #record = 0;
  #sealed = 0;
  #secrets: Secrets | undefined;
  #opener: RecordOpener | undefined;
  /** Alerts that came, as level and description. */
  readonly alerts: number[][] = [];
  /** The client has proved that it saw the same handshake. */
  proved = false;

  constructor(mischief: ServerMischief = {}, identity: Identity = identityOf(certifiedKey('browser'))) {
    this.#mischief = mischief;
    this.identity = identity;
    this.#ecdh.generateKeys();
  }

  /** The message types that came, in order. */
  get received(): number[] {
    return [...this.#received.keys()];
  }

  /** Takes a datagram of the client. */
  receive(datagram: Uint8Array): void {
    for (const record of readRecords(datagram)) {
      const plain = record.epoch === 0 ? record : this.#opener?.open(record);
      if (!plain) continue;
      if (plain.type === contentType.alert) this.alerts.push([...plain.content]);
      if (plain.type !== contentType.handshake) continue;
      this.#fragments.take(plain.content);
      for (let message = this.#fragments.next(); message; message = this.#fragments.next()) this.#take(message);
    }
  }

  /** HelloVerifyRequest: the ClientHello before it does not count. */
  verify(): Buffer {
    this.#transcript.length = 0;
    return this.#plain(
      writeHandshake(handshakeType.helloVerifyRequest, this.#sequence++, helloVerifyRequest(Buffer.alloc(20, 9))),
    );
  }

  /** ServerHello to ServerHelloDone, a datagram each. */
  flight(): Buffer[] {
    const { signsWith = this.identity, withoutRequest } = this.#mischief;
    const hello = readClientHello(this.#received.get(handshakeType.clientHello)!)!;
    const parameters = ecdhParameters(this.#ecdh.getPublicKey());
    const signature = sign('sha256', Buffer.concat([hello.random, this.#random, parameters]), signsWith.key);
    const request = withoutRequest ? [] : ([[handshakeType.certificateRequest, certificateRequest()]] as const);
    const bodies: readonly (readonly [number, Buffer])[] = [
      [handshakeType.serverHello, serverHello(this.#random, hello, suite)],
      [handshakeType.certificate, certificateMessage(this.identity.certificate)],
      [handshakeType.serverKeyExchange, Buffer.concat([parameters, signed(signature)])],
      ...request,
      [handshakeType.serverHelloDone, Buffer.alloc(0)],
    ];
    return bodies.map(([type, body]) => this.#plain(this.#message(type, body)));
  }

  /** ChangeCipherSpec and Finished, a datagram each. */
  finish(): Buffer[] {
    const change = writeRecord(contentType.changeCipherSpec, this.#record++, Buffer.of(1));
    const finished = this.#message(handshakeType.finished, verifyData(this.#secrets!, 'server', this.#digest()));
    return [change, this.seal(contentType.handshake, finished.octets)];
  }

  /** An encrypted record. */
  seal(type: number, content: Uint8Array): Buffer {
    return sealRecord(recordKeys(this.#secrets!).server, { type, epoch: 1, sequence: this.#sealed++, content });
  }

  #take(message: HandshakeMessage): void {
    const body = message.octets.subarray(handshakeHeaderOctets);
    this.#received.set(message.type, body);
    if (message.type === handshakeType.finished)
      this.proved = body.equals(verifyData(this.#secrets!, 'client', this.#digest()));
    this.#transcript.push(message.octets);
    if (message.type === handshakeType.clientKeyExchange) this.#agree(readPoint(body)!);
  }

  #agree(point: Buffer): void {
    const clientRandom = readClientHello(this.#received.get(handshakeType.clientHello)!)!.random;
    const master = masterSecret(suite, this.#ecdh.computeSecret(point), this.#digest());
    this.#secrets = { suite, master, clientRandom, serverRandom: this.#random };
    this.#opener = new RecordOpener(recordKeys(this.#secrets).client);
  }

  #message(type: number, body: Buffer): HandshakeMessage {
    const message = writeHandshake(type, this.#sequence++, this.#mischief.change?.(type, body) ?? body);
    this.#transcript.push(message.octets);
    return message;
  }

  #plain({ octets }: HandshakeMessage): Buffer {
    return writeRecord(contentType.handshake, this.#record++, octets);
  }

  #digest(): Buffer {
    return createHash('sha256').update(Buffer.concat(this.#transcript)).digest();
  }
}
