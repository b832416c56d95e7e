import { createECDH, createHash, type ECDH, sign } from 'node:crypto';
import { type CertifiedKey, createCertificate } from '../../src/lib/self-made-certificate.ts';
import type { SrtpKeys } from '../../src/lib/srtp.ts';
import type { Fingerprint } from '../../src/lib/webrtc.ts';
import { type Identity, identityOf } from '../../src/media/webrtc/dtls-end.ts';
import {
  Fragments,
  fragmentsOf,
  type HandshakeMessage,
  handshakeHeaderOctets,
  writeHandshake,
} from '../../src/media/webrtc/fragments.ts';
import { certificateMessage, handshakeType, signed } from '../../src/media/webrtc/messages.ts';
import { contentType, RecordOpener, readRecords, sealRecord, writeRecord } from '../../src/media/webrtc/records.ts';
import {
  cipherSuites,
  exportSrtpKeys,
  masterSecret,
  recordKeys,
  type Secrets,
  srtpProfiles,
  verifyData,
} from '../../src/media/webrtc/secrets.ts';

/** A certificate of one of the two sides. */
export function certifiedKey(name: string): CertifiedKey {
  const from = Date.UTC(2026, 0, 1);
  return createCertificate({ names: [name], from, until: from + 86_400_000, serial: '0011223344556677' });
}

/** The fingerprint of a certificate, as SDP has it. */
export const fingerprintOf = ({ certificate }: Identity): Fingerprint => ({
  hash: 'sha256',
  digest: createHash('sha256').update(certificate).digest('hex'),
});

/** What a client does otherwise than it should. */
export type Mischief = {
  /** Number of the cipher suite and of the SRTP suite that it offers. */
  readonly suite?: number;
  readonly srtp?: number;
  /** Without the extended master secret. */
  readonly plainMaster?: boolean;
  /** Signs CertificateVerify with another key than its certificate's. */
  readonly verifiesWith?: Identity;
  /** Changes the octets of a message before it is sent. */
  readonly change?: (type: number, body: Buffer) => Buffer;
};

const u16 = (value: number) => Buffer.of(value >> 8, value & 255);
const vector = (octets: 1 | 2, content: Buffer) =>
  Buffer.concat([octets === 1 ? Buffer.of(content.length) : u16(content.length), content]);

/** A DTLS client for tests: each flight is asked for, and is datagrams that the test may keep, change or repeat. */
export class DtlsClient {
  readonly identity: Identity;
  readonly random = Buffer.alloc(32, 7);
  readonly #mischief: Mischief;
  readonly #fragments = new Fragments();
  readonly #received = new Map<number, Buffer>();
  readonly #ecdh: ECDH = createECDH('prime256v1');
  #transcript: Buffer[] = [];
  #sequence = 0;
  #record = 0;
  #sealed = 0;
  #secrets: Secrets | undefined;
  #opener: RecordOpener | undefined;
  /** Alerts that came, as level and description. */
  readonly alerts: number[][] = [];
  /** The server has proved that it saw the same handshake. */
  proved = false;

  constructor(mischief: Mischief = {}, identity: Identity = identityOf(certifiedKey('browser'))) {
    this.#mischief = mischief;
    this.identity = identity;
  }

  /** The keys of SRTP as the server should have them. */
  get keys(): SrtpKeys {
    const profile = srtpProfiles.find(({ id }) => id === (this.#mischief.srtp ?? 7))!;
    return exportSrtpKeys(this.#secrets!, profile.suite, 'server');
  }

  /** The message types that came, in order. */
  get received(): number[] {
    return [...this.#received.keys()];
  }

  /** Takes a datagram of the server. */
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

  /** A ClientHello, with the cookie once there is one. */
  hello(): Buffer[] {
    const request = this.#received.get(handshakeType.helloVerifyRequest);
    const cookie = request ? request.subarray(3) : Buffer.alloc(0);
    const { suite = 0xc02b, srtp = 7, plainMaster } = this.#mischief;
    const extensions = [
      [10, vector(2, u16(23))],
      [14, Buffer.concat([vector(2, u16(srtp)), Buffer.of(0)])],
      ...(plainMaster ? [] : [[23, Buffer.alloc(0)]]),
      [0xff01, Buffer.of(0)],
    ] as [number, Buffer][];
    const body = Buffer.concat([
      ...[u16(0xfefd), this.random, Buffer.of(0), vector(1, cookie)],
      ...[vector(2, u16(suite)), Buffer.of(1, 0)],
      vector(2, Buffer.concat(extensions.map(([type, content]) => Buffer.concat([u16(type), vector(2, content)])))),
    ]);
    if (request) this.#transcript = [];
    return [this.#plain(this.#message(handshakeType.clientHello, body))];
  }

  /** Certificate, ClientKeyExchange, CertificateVerify, ChangeCipherSpec and Finished, a datagram each. */
  proof(): Buffer[] {
    const { verifiesWith = this.identity } = this.#mischief;
    const certificate = this.#message(handshakeType.certificate, certificateMessage(this.identity.certificate));
    const point = this.#ecdh.generateKeys();
    const exchange = this.#message(handshakeType.clientKeyExchange, vector(1, point));
    const serverHello = this.#received.get(handshakeType.serverHello)!;
    const serverKey = this.#received.get(handshakeType.serverKeyExchange)!;
    const premaster = this.#ecdh.computeSecret(serverKey.subarray(4, 4 + serverKey[3]!));
    const suite = cipherSuites.find(({ id }) => id === (this.#mischief.suite ?? 0xc02b))!;
    const master = masterSecret(suite, premaster, this.#digest(suite.hash));
    const serverRandom = serverHello.subarray(2, 34);
    this.#secrets = { suite, master, clientRandom: this.random, serverRandom };
    this.#opener = new RecordOpener(recordKeys(this.#secrets).server);
    const signature = signed(sign('sha256', Buffer.concat(this.#transcript), verifiesWith.key));
    const verify = this.#message(handshakeType.certificateVerify, signature);
    const change = writeRecord(contentType.changeCipherSpec, this.#record++, Buffer.of(1));
    const said = verifyData(this.#secrets, 'client', this.#digest(suite.hash));
    const finished = this.#message(handshakeType.finished, said);
    const plain = [certificate, exchange, verify].map((message) => this.#plain(message));
    return [...plain, change, this.seal(contentType.handshake, finished.octets)];
  }

  /** An encrypted record. */
  seal(type: number, content: Uint8Array): Buffer {
    return sealRecord(recordKeys(this.#secrets!).client, { type, epoch: 1, sequence: this.#sealed++, content });
  }

  /** The same messages again, in the clear, cut into fragments of so many octets: one datagram each. */
  cut(datagram: Buffer, octets: number): Buffer[] {
    const fragments = new Fragments();
    const { content } = readRecords(datagram)[0]!;
    fragments.expect((content[4]! << 8) | content[5]!);
    fragments.take(content);
    const pieces = fragmentsOf(fragments.next()!, octets);
    return pieces.map((piece) => writeRecord(contentType.handshake, this.#record++, piece));
  }

  #take(message: HandshakeMessage): void {
    const body = message.octets.subarray(handshakeHeaderOctets);
    if (message.type === handshakeType.finished)
      this.proved = body.equals(verifyData(this.#secrets!, 'server', this.#digest(this.#secrets!.suite.hash)));
    this.#received.set(message.type, body);
    if (message.type !== handshakeType.helloVerifyRequest) this.#transcript.push(message.octets);
  }

  #message(type: number, body: Buffer): HandshakeMessage {
    const message = writeHandshake(type, this.#sequence++, this.#mischief.change?.(type, body) ?? body);
    this.#transcript.push(message.octets);
    return message;
  }

  #plain({ octets }: HandshakeMessage): Buffer {
    return writeRecord(contentType.handshake, this.#record++, octets);
  }

  #digest(hash: string): Buffer {
    return createHash(hash).update(Buffer.concat(this.#transcript)).digest();
  }
}
