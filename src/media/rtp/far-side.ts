import { isIP } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { SrtpKeys } from '../../lib/srtp.ts';
import type { EstablishedDtls, WebrtcTransport } from '../../lib/webrtc.ts';
import type { RtpFlow } from '../../telephony/media.ts';
import type { MediaConfig } from '../config.ts';
import type { SessionMemory } from '../session-memory.ts';
import { SecurePair } from '../srtp/secure-pair.ts';
import { Bundle, BundledPair } from '../webrtc/bundle.ts';
import { identityOf } from '../webrtc/dtls-end.ts';
import type { Gathering } from '../webrtc/gathering.ts';
import { TcpOut } from '../webrtc/tcp-out.ts';
import { WebrtcPair } from '../webrtc/webrtc-pair.ts';
import type { FastRelayPlan } from './fast-relays.ts';
import type { PortPair } from './ports.ts';
import { type Displacement, type PacketAddress, SourceLock, type SourceNumbers } from './source-lock.ts';

type FarSideOptions = {
  clock: Clock;
  /** Without it flows of WebRTC stay silent. */
  webrtc?: MediaConfig['webrtc'] | undefined;
  /** Keys and address of a browser that has proved itself; again when it has moved. */
  secured?: (established: EstablishedDtls) => void;
  /** Packets are to be sent to a browser by TCP; left out: none can. */
  tcp?: (to: PacketAddress, packets: readonly Uint8Array[]) => void;
  /** A browser has closed its transport, or could not prove itself. */
  ended?: (reason: string) => void;
  /** Numbers of SRTP that must go on. */
  memory: SessionMemory;
  /** See {@link MediaConfig.natSearchMs}. */
  natSearchMs: number;
  /** The far side was found elsewhere than its SDP says. */
  located: (source: PacketAddress) => void;
  /** A datagram that may be RTP; whether it is the far side's is for {@link FarSide.admits} to say. */
  packet: (packet: Uint8Array, address: string, port: number) => void;
  /** RTCP from the address of the far side. @returns whether it was any. */
  control: (packet: Uint8Array) => boolean;
  /** A datagram could not be handled: a fault of ours, never of the datagram. */
  faulted: (error: unknown) => void;
};

/** Consecutive packets, and their longest time in ms, that identify a far side behind a NAT. */
const natRow = { needed: 4, withinMs: 1000 };

/** The part of a flow that decides the far side. */
type Agreed = Pick<RtpFlow, 'remote' | 'srtp' | 'webrtc' | 'receive' | 'fixedRemote'>;

/** Where nothing is sent: a browser's address before ICE has found it. */
const nowhere: PacketAddress = { address: '0.0.0.0', port: 9 };

/** The far side of a port pair: its source, its destination, and SRTP. */
export class FarSide {
  readonly #options: FarSideOptions;
  readonly #lock: SourceLock;
  #pair: PortPair | undefined;
  /** The port pair, or SRTP over it. */
  #wire: PortPair | undefined;
  #keys: SrtpKeys | undefined;
  #transport: WebrtcTransport | undefined;
  #bundle: Bundle | undefined;
  #gathering: Gathering | undefined;
  /** Where ICE has found a browser. */
  #selected: PacketAddress | undefined;
  #expecting = false;
  /** Nothing is heard before offer and answer agree. */
  #agreed = false;
  /** Source of the far side's RTCP, and the far side then. */
  #controlFrom: { port: number; target: PacketAddress } | undefined;
  /** Last destination, if there is one. */
  #target: PacketAddress | undefined;
  #reachable = false;

  constructor(options: FarSideOptions) {
    this.#options = options;
    const { natSearchMs: searchMs, located } = options;
    this.#lock = new SourceLock({ ...natRow, searchMs, located });
  }

  /** Packets of a browser have come by TCP. */
  hearTcp(from: PacketAddress, packets: readonly Uint8Array[]): void {
    for (const packet of packets) if (this.#wire instanceof WebrtcPair) this.#wire.hearTcp(packet, from);
  }

  /** Streams that share the transport of a browser with this one. */
  get bundle(): Bundle {
    this.#bundle ??= new Bundle();
    return this.#bundle;
  }

  /** Whether a packet on the port is of such a stream. */
  isBeside(packet: Uint8Array): boolean {
    return this.#bundle?.carries(packet) ?? false;
  }

  /** The ports, once they are bound. */
  get pair(): PortPair | undefined {
    return this.#pair;
  }

  /** Begins to hear what arrives. @param gathering candidates of a browser's port beside its own address. */
  attach(pair: PortPair, gathering?: Gathering): void {
    this.#pair = pair;
    this.#gathering = gathering;
    if (pair instanceof BundledPair) pair.follow((source) => this.#locate(source));
    this.#hear();
  }

  /** Goes on with a far side that was found before: see {@link SourceLock.resume}. */
  resume(source: PacketAddress): void {
    this.#lock.resume(source);
  }

  /** Applies the result of offer and answer. @param now monotonic ms. */
  agree({ remote, srtp, webrtc, receive, fixedRemote }: Agreed, now: number): void {
    this.#keys = srtp;
    this.#transport = webrtc;
    this.#agreed = true;
    this.#expecting = receive;
    const hasIce = webrtc !== undefined || this.#pair instanceof BundledPair;
    const place = hasIce ? (this.#selected ?? nowhere) : remote;
    this.#lock.signal(place, { expecting: receive, isFixed: hasIce || fixedRemote === true }, now);
    this.#hear();
  }

  /** Whether a packet is to be used: see {@link SourceLock.admits}. */
  admits(address: string, port: number, numbers: SourceNumbers, now: number): boolean {
    const { target } = this.#lock;
    const isAdmitted = this.#lock.admits(address, port, numbers, now);
    if (this.#lock.target !== target) this.endFastRelays();
    return isAdmitted;
  }

  /**
   * Lets the socket relay in-order packets of the current source to another far side. It ends with {@link
   * endFastRelays}, or with a packet that needs inspection. Does nothing if the sockets cannot.
   */
  passOn(to: FarSide, plan: FastRelayPlan): void {
    const [from, there, target] = [this.#pair?.rtp, to.#pair?.rtp, to.#lock.target];
    if (!this.#wire || !to.#wire || !from?.passOn || !there || !target || !isReachable(target)) return;
    if (this.#isUnready || to.#isUnready) return;
    plan.open = this.#secure;
    plan.seal = to.#secure;
    from.passOn(there, target, plan);
  }

  /** Reports relayed packets to the plan. */
  settleFastRelay(): void {
    this.#pair?.rtp.settleFastRelay?.();
  }

  /** Ends what is passed on that way from here; with `both`, also what is passed on to here. */
  endFastRelays(both = true): void {
    this.#pair?.rtp.endFastRelays?.(both);
  }

  /** The located address and the one in its SDP; undefined if they are equal. */
  get displaced(): Displacement | undefined {
    return this.#lock.displaced;
  }

  /** See {@link SourceLock.beside}. @param others where other streams of it were found. */
  seek(others: () => Displacement | undefined): void {
    const found = this.#lock.locked ? undefined : others();
    if (found) this.#lock.beside(found);
  }

  /** See {@link SourceLock.greeted}. @param others as above. */
  greeted(address: string, port: number, others: () => Displacement | undefined): void {
    if (this.#lock.locked) return;
    this.seek(others);
    this.#lock.greeted(address, port);
  }

  /** Whether this is the far side that was found. */
  isFound(address: string, port: number): boolean {
    const { locked, source } = this.#lock;
    return locked && source?.address === address && source.port === port;
  }

  /** Whether sent octets may be reused immediately. */
  get copies(): boolean {
    return this.#wire?.rtp.copies === true;
  }

  /** Sends a packet, if it can go anywhere. */
  send(packet: Uint8Array): void {
    const { target } = this.#lock;
    if (target !== this.#target) {
      this.#target = target;
      this.#reachable = target !== undefined && isReachable(target);
    }
    if (this.#reachable) this.#wire?.rtp.send(packet, target!.port, target!.address);
  }

  /** Sends RTCP to the source of the far side's RTCP, or else to the port above its RTP port. */
  sendControl(packet: Uint8Array): void {
    const { target } = this.#lock;
    if (!target || !isReachable(target)) return;
    const port = this.#controlFrom?.target === target ? this.#controlFrom.port : target.port + 1;
    if (port <= 0xffff) this.#wire?.rtcp.send(packet, port, target.address);
  }

  /** SRTP, where there is any. */
  get #secure(): SecurePair | undefined {
    if (this.#wire instanceof WebrtcPair) return this.#wire.secure;
    return this.#wire instanceof SecurePair ? this.#wire : undefined;
  }

  /** A browser's keys are not agreed on yet, or its packets do not go by its port. */
  get #isUnready(): boolean {
    return this.#wire instanceof WebrtcPair && (this.#wire.secure === undefined || this.#wire.isIndirect);
  }

  /** Stops hearing. The ports stay with their owner. */
  close(): void {
    if (this.#wire instanceof WebrtcPair) this.#wire.close();
    this.#gathering?.close();
    this.#wire?.rtp.listen(undefined);
    this.#wire?.rtcp.listen(undefined);
    this.#wire = undefined;
  }

  #hear(): void {
    const pair = this.#pair;
    const keys = this.#keys;
    if (!pair || !this.#agreed) return;
    const transport = this.#transport;
    const old = this.#wire;
    if (transport && old instanceof WebrtcPair) {
      old.use(transport);
      return;
    }
    if (old instanceof WebrtcPair) old.close();
    else if (keys && old instanceof SecurePair) old.use(keys);
    if (old && !transport && !(old instanceof WebrtcPair) && old instanceof SecurePair === (keys !== undefined)) return;
    const wire = transport
      ? this.#openWebrtc(pair, transport)
      : keys
        ? new SecurePair(pair, keys, this.#options.memory)
        : pair;
    if (!wire) return;
    this.#wire = wire;
    const { packet: heard, control, faulted } = this.#options;
    wire.rtp.listen((packet, address, port) => {
      try {
        heard(packet, address, port);
      } catch (error) {
        faulted(error);
      }
    });
    wire.rtcp.listen((packet, address, port) => {
      try {
        const { target } = this.#lock;
        if (target && address === target.address && control(packet)) this.#controlFrom = { port, target };
      } catch (error) {
        faulted(error);
      }
    });
  }

  /** Undefined where there is no certificate: then nothing is sent and heard. */
  #openWebrtc(pair: PortPair, transport: WebrtcTransport): WebrtcPair | undefined {
    const { clock, memory, webrtc, faulted, ended = () => {}, secured = () => {}, tcp } = this.#options;
    if (!webrtc) return undefined;
    return new WebrtcPair(pair, transport, {
      ...{ ...webrtc, clock, memory, faulted, ended, secured },
      identity: identityOf(webrtc.certificate),
      ...{ bundle: this.bundle, gathering: this.#gathering, tcp: tcp && new TcpOut(clock, tcp) },
      selected: (source) => this.#locate(source),
    });
  }

  /** ICE has found the far side there; undefined: nothing may be sent. */
  #locate(source: PacketAddress | undefined): void {
    this.#selected = source;
    this.endFastRelays();
    const now = this.#options.clock.monotonic();
    this.#lock.signal(source ?? nowhere, { expecting: this.#expecting, isFixed: true }, now);
  }
}

/** Never a name (no lookups), port 0 (a refused stream) or the unspecified address (an old hold). */
function isReachable({ address, port }: PacketAddress): boolean {
  return (
    Number.isInteger(port) &&
    port > 0 &&
    port <= 0xffff &&
    isIP(address) !== 0 &&
    address !== '0.0.0.0' &&
    address !== '::'
  );
}
