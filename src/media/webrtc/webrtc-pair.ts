import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import type { SrtpKeys } from '../../lib/srtp.ts';
import type { EstablishedDtls, IceAddress, WebrtcTransport } from '../../lib/webrtc.ts';
import type { PortPair } from '../rtp/ports.ts';
import type { PacketListener, PacketSocket } from '../rtp/sockets.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import type { SessionMemory } from '../session-memory.ts';
import { forgetIndices, SecurePair } from '../srtp/secure-pair.ts';
import type { Bundle } from './bundle.ts';
import { DtlsClient } from './dtls-client.ts';
import type { DtlsEnd, DtlsOptions, Identity } from './dtls-end.ts';
import { DtlsServer } from './dtls-server.ts';
import type { Gathering } from './gathering.ts';
import { IceAgent } from './ice-agent.ts';
import type { TcpOut } from './tcp-out.ts';

type WebrtcPairOptions = {
  readonly clock: Clock;
  readonly memory: SessionMemory;
  readonly identity: Identity;
  /** The streams beside this one. */
  readonly bundle: Bundle;
  /** Candidates beside the port's address. */
  readonly gathering?: Gathering | undefined;
  /** Sends a packet by TCP. */
  readonly tcp?: TcpOut | undefined;
  /** See {@link DtlsOptions}. */
  readonly handshakeMs: number;
  /** See {@link IceAgentOptions}. */
  readonly consentMs: number;
  /** Media goes to and comes from this address; undefined: nothing may be sent. */
  readonly selected: (source: PacketAddress | undefined) => void;
  /** DTLS has agreed on keys, or the far side has moved since, within {@link movesMs}. */
  readonly secured: (established: EstablishedDtls) => void;
  /** DTLS failed, or the far side has ended it. @param reason in words. */
  readonly ended: (reason: string) => void;
  /** A datagram could not be handled: a fault of ours, never of the datagram. */
  readonly faulted: (error: unknown) => void;
};

/** The least time between two reports of a new address, in ms: a browser could change it with every packet. */
const movesMs = 1000;

/** Payload types of RTCP packets that share a port with RTP (RFC 5761 section 4), without the mark. */
const isControl = (packet: Uint8Array): boolean => (packet[1]! & 127) >= 64 && (packet[1]! & 127) < 96;

/**
 * One port with STUN, DTLS, SRTP and SRTCP, told apart by the first octet (RFC 7983). Only addresses that ICE has proved
 * reach DTLS and SRTP. Nothing is sent or heard before DTLS has verified the fingerprint.
 */
export class WebrtcPair implements PortPair {
  readonly rtp: PacketSocket;
  readonly rtcp: PacketSocket;
  readonly #plain: PacketSocket;
  readonly #options: WebrtcPairOptions;
  readonly #ice: IceAgent;
  /** The transport of SRTP: this port without STUN and DTLS. */
  readonly #inner: PortPair;
  #transport: WebrtcTransport;
  /** None while the keys of another process hold. */
  #dtls: DtlsEnd | undefined;
  #dtlsFrom: IceAddress | undefined;
  #secure: SecurePair | undefined;
  #keys: SrtpKeys | undefined;
  /** When keys and address were told, monotonic ms. */
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #listeners: { rtp?: PacketListener | undefined; rtcp?: PacketListener | undefined } = {};
  readonly #inside: { rtp?: PacketListener | undefined; rtcp?: PacketListener | undefined } = {};

  constructor({ rtp: plain }: PortPair, transport: WebrtcTransport, options: WebrtcPairOptions) {
    this.#plain = plain;
    this.#options = options;
    this.#transport = transport;
    const { established } = transport;
    const resumed = isDeepStrictEqual(established?.fingerprint, transport.fingerprint) ? established : undefined;
    plain.identify?.(transport, resumed?.source.via ? undefined : resumed?.source);
    this.#ice = new IceAgent(transport, {
      ...{ clock: options.clock, consentMs: options.consentMs },
      expired: () =>
        options.ended(
          this.#ice.isFull
            ? 'the far side no longer answers connectivity checks'
            : 'the browser has stopped its connectivity checks',
        ),
      send: (datagram, to) => this.#send(datagram, to),
      selected: (source) => {
        options.selected(source);
        options.gathering?.use(source);
        if (source) this.#dtls?.begin();
        options.bundle.moved(source);
        if (options.clock.monotonic() - this.#toldAt >= movesMs) this.#tellSecured();
      },
    });
    this.#inner = { rtp: this.#innerSocket('rtp'), rtcp: this.#innerSocket('rtcp') };
    this.rtp = this.#outerSocket('rtp');
    this.rtcp = this.#outerSocket('rtcp');
    if (resumed) {
      this.#ice.resume(resumed.source);
      this.#begin(resumed.keys);
    } else this.#dtls = this.#openDtls();
    plain.listen((packet, address, port) => {
      if (!options.gathering?.hears(packet, address, port)) this.#hear(packet, { address, port });
    });
    options.gathering?.listen((packet, address, port) => this.#hear(packet, { address, port, via: 'relay' }));
    options.gathering?.permit(transport.places ?? []);
  }

  /** Packets go by a relay or by TCP: the port cannot send them. */
  get isIndirect(): boolean {
    return this.#ice.selected?.via !== undefined;
  }

  /** SRTP on this port; undefined before the end of the handshake. */
  get secure(): SecurePair | undefined {
    return this.#secure;
  }

  /** What a later offer or answer says: other credentials restart ICE, another certificate or side of DTLS restarts that. */
  use(transport: WebrtcTransport): void {
    const before = this.#transport;
    this.#transport = transport;
    this.#plain.identify?.(transport, undefined);
    this.#ice.use(transport);
    this.#options.gathering?.permit(transport.places ?? []);
    const { fingerprint, role } = transport;
    if (isDeepStrictEqual(before.fingerprint, fingerprint) && before.role === role) return;
    this.#dtls?.close();
    this.#secure = undefined;
    this.#keys = undefined;
    this.#options.bundle.end();
    this.#dtls = this.#openDtls();
    if (this.#ice.selected) this.#dtls.begin();
  }

  /** Says goodbye and stops hearing; the port stays with its owner. */
  close(): void {
    this.#dtls?.close();
    this.#ice.close();
    this.#secure = undefined;
    this.#options.bundle.end();
    this.#plain.listen(undefined);
  }

  #openDtls(): DtlsEnd {
    const { clock, identity, handshakeMs, ended } = this.#options;
    const { fingerprint, role } = this.#transport;
    const options: DtlsOptions = {
      ...{ clock, identity, handshakeMs, ended, fingerprint },
      send: (datagram) => {
        const to = this.#ice.selected ?? this.#dtlsFrom;
        if (to) this.#send(datagram, to);
      },
      connected: (keys) => {
        forgetIndices(this.#options.memory);
        this.#options.bundle.forgetIndices();
        this.#begin(keys);
      },
    };
    return role === 'client' ? new DtlsClient(options) : new DtlsServer(options);
  }

  #begin(keys: SrtpKeys): void {
    const secure = new SecurePair(this.#inner, keys, this.#options.memory);
    this.#secure = secure;
    secure.rtp.listen(this.#listeners.rtp);
    const { bundle } = this.#options;
    secure.rtcp.listen((packet, address, port) => bundle.control(packet, address, port));
    const { rtp } = this.#inner;
    const port = {
      ...{ port: rtp.port, copies: rtp.copies, now: () => this.#options.clock.monotonic() },
      send: (packet: Uint8Array) => rtp.send(packet, 0, ''),
    };
    bundle.begin(port, keys, (...heard) => this.#listeners.rtcp?.(...heard));
    this.#keys = keys;
    this.#tellSecured();
  }

  #tellSecured(): void {
    const [keys, source] = [this.#keys, this.#ice.selected];
    if (!keys || !source) return;
    this.#toldAt = this.#options.clock.monotonic();
    this.#options.secured({ fingerprint: this.#transport.fingerprint, keys, source });
  }

  #send(datagram: Uint8Array, to: IceAddress): void {
    if (to.via === 'relay') this.#options.gathering?.send(datagram, to);
    else if (to.via === 'tcp') this.#options.tcp?.send(datagram, to);
    else this.#plain.send(datagram, to.port, to.address);
  }

  /** A packet has come by TCP. */
  hearTcp(packet: Uint8Array, { address, port }: PacketAddress): void {
    this.#hear(packet, { address, port, via: 'tcp' });
  }

  #hear(packet: Uint8Array, source: IceAddress): void {
    try {
      this.#receive(packet, source);
    } catch (error) {
      this.#options.faulted(error);
    }
  }

  #receive(packet: Uint8Array, source: IceAddress): void {
    const [first = 255] = packet;
    if (first < 4) {
      this.#ice.receive(packet, source);
    } else if (first >= 20 && first < 64) {
      if (!this.#ice.isProved(source)) return;
      this.#dtlsFrom = source;
      // The cookie counts for all of them: a browser may take another pair between its two ClientHellos.
      this.#dtls?.receive(packet, 'proved by ICE');
    } else if (first >= 128 && first < 192 && packet.length >= 2) {
      const { selected } = this.#ice;
      // Media may come by every valid pair (RFC 8445 12.2): SRTP proves it, and it counts as from the selected one.
      if (!selected || !this.#ice.isProved(source)) return;
      const control = isControl(packet);
      const stream = this.#options.bundle.streamOf(packet, control);
      if (stream) stream.receive(packet, control, selected);
      else this.#inside[control ? 'rtcp' : 'rtp']?.(packet, selected.address, selected.port);
    }
  }

  #innerSocket(kind: 'rtp' | 'rtcp'): PacketSocket {
    const plain = this.#plain;
    return {
      port: plain.port,
      copies: plain.copies,
      // RTCP goes where RTP goes, whatever port is said.
      send: (packet) => {
        const to = this.#ice.selected;
        if (to && this.#ice.state !== 'expired') this.#send(packet, to);
      },
      listen: (listener) => {
        this.#inside[kind] = listener;
      },
      close() {},
    };
  }

  #outerSocket(kind: 'rtp' | 'rtcp'): PacketSocket {
    const plain = this.#plain;
    return {
      port: plain.port,
      copies: plain.copies,
      send: (packet, port, address) => this.#secure?.[kind].send(packet, port, address),
      listen: (listener) => {
        this.#listeners[kind] = listener;
        if (kind === 'rtp') this.#secure?.rtp.listen(listener);
      },
      close() {},
    };
  }
}
