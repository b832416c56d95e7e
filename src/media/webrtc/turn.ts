import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { headerOctets, isStun, readXorAddress, writeXorAddress } from '../../lib/stun.ts';
import { iceServers } from '../../lib/turn-credentials.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import {
  type AllocationAction,
  type AllocationEvent,
  type AllocationState,
  allocationTable,
} from './allocation-table.ts';
import { attribute, attributesOf, hasIntegrity, proved, writeMessage } from './stun-message.ts';
import { isChannelData, TurnChannels } from './turn-channels.ts';

/** Methods of TURN (RFC 8656 17), as types of requests. */
const method = {
  binding: 0x0001,
  allocate: 0x0003,
  refresh: 0x0004,
  createPermission: 0x0008,
  channelBind: 0x0009,
} as const;
const indication = { send: 0x0016, data: 0x0017 } as const;
const success = 0x0100;
const failure = 0x0110;
const udp = Uint8Array.of(17, 0, 0, 0);

/** Requests are repeated at these times after the first, and given up at the last, in ms (RFC 8489 6.2.1, shortened). */
const repeatsAt = [500, 1500, 3500, 7500] as const;
/** A permission ends after 300 s (RFC 8656 9). */
const permissionEveryMs = 240_000;
/** Lifetimes that a server may give, in s; a refresh comes a minute before the end, or in the middle. */
const [shortest, longest] = [30, 3600];
/** Octets of a realm or nonce (RFC 8489 14.9, 14.10). */
const longestText = 763;

/** Where the server is, and who we are there. */
export type TurnServer = PacketAddress & {
  readonly username: string;
  readonly password: string;
  /** Shared with the server: it makes names and passwords that end; '' = those above count. */
  readonly secret: string;
  /** How it is reached; left out: by UDP from the port of the call. */
  readonly transport?: 'tcp' | 'tls';
  /** By TCP or TLS: octets of the longest message that is read, and octets that it may leave unread. */
  readonly messageBytes: number;
  readonly unsentBytes: number;
  /** Addresses that may send to the relayed one at once. */
  readonly permissions: number;
  /** By TLS: the name in its certificate; left out: its address. */
  readonly name?: string;
  /** By TLS: authorities of its certificate, in PEM; left out: those of Node. */
  readonly authorities?: readonly string[];
};

/** How long credentials of a shared secret are good, in s. */
const lifetime = 86_400;

type RelayOptions = {
  readonly clock: Clock;
  readonly server: TurnServer;
  /** To the server. */
  readonly send: (datagram: Uint8Array) => void;
  /** It has given us an address. @param mapped ours as it sees it. */
  readonly allocated: (relayed: PacketAddress, mapped: PacketAddress | undefined) => void;
  /** There is none, or no longer one. @param reason in words. */
  readonly failed: (reason: string) => void;
  /** A datagram has come to the relayed address. */
  readonly data: (datagram: Uint8Array, from: PacketAddress) => void;
};

type Transaction = {
  readonly request: Buffer;
  readonly type: number;
  readonly done: (answer: Answer | undefined) => void;
  readonly isProved: boolean;
  sent: number;
  timer: unknown;
};

/** A request about a peer, and who hears whether it was granted. */
type AboutPeer = {
  readonly type: number;
  readonly more?: Parameters<typeof writeMessage>[2];
  readonly done?: (granted: boolean) => void;
};

type Attributes = NonNullable<ReturnType<typeof attributesOf>>;

type Answer = { readonly message: Buffer; readonly found: ReadonlyMap<number, Buffer>; readonly code: number };

/** One allocation at a TURN server (RFC 8656), with long-term credentials (RFC 8489 9.2). */
export class Relay {
  readonly #options: RelayOptions;
  #state: AllocationState = 'new';
  #realm = Buffer.alloc(0);
  #nonce = Buffer.alloc(0);
  #key: Buffer | undefined;
  #lifetime: number = shortest;
  readonly #account: { readonly username: string; readonly password: string };
  #timer: unknown;
  #permissionTimer: unknown;
  readonly #permitted = new Set<string>();
  readonly #transactions = new Map<string, Transaction>();
  readonly #channels = new TurnChannels((...asked) => this.#askChannel(...asked));
  /** The answer that the present step is about. */
  #answer: Answer | undefined;
  /** Why there is no connection. */
  #lostBy: string | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { server, clock } = options;
    const [made] = iceServers({ urls: [server.address], secret: server.secret, lifetime }, 'hookswitch', clock.now());
    const { username = server.username, credential: password = server.password } = made ?? {};
    this.#account = { username, password };
  }

  get state(): AllocationState {
    return this.#state;
  }

  /** Asks for an address. */
  open(): void {
    this.#happen('open');
  }

  /** The connection to the server has ended. @param reason in words. */
  lost(reason: string): void {
    this.#lostBy = reason;
    this.#happen('lost');
  }

  /** Packets go to this peer from now on, by a channel where the server grants one; undefined: to none. */
  use(peer: PacketAddress | undefined): void {
    if (this.#isThere) this.#channels.use(peer);
  }

  /** Gives it back. */
  close(): void {
    this.#happen('close');
  }

  /** Lets these addresses send to the relayed one; the first of them count. */
  permit(addresses: Iterable<string>): void {
    for (const address of addresses) {
      if (this.#permitted.has(address)) continue;
      if (this.#permitted.size >= this.#options.server.permissions) return;
      this.#permitted.add(address);
      if (this.#isThere) this.#askPermission(address);
    }
  }

  /** Sends a datagram from the relayed address. */
  send(datagram: Uint8Array, to: PacketAddress): void {
    if (!this.#isThere) return;
    const wrapped = this.#channels.wrap(datagram, to);
    if (wrapped) {
      this.#options.send(wrapped);
      return;
    }
    const id = randomBytes(12);
    const peer = writeXorAddress(to, writeMessage(0, id, []));
    if (!peer) return;
    this.#options.send(
      writeMessage(indication.send, id, [
        [attribute.peerAddress, peer],
        [attribute.data, datagram],
      ]),
    );
  }

  /** Takes a datagram of the server. */
  receive(datagram: Uint8Array): void {
    if (isChannelData(datagram)) {
      const heard = this.#isThere && this.#channels.read(datagram);
      if (heard) this.#options.data(heard.data, heard.peer);
      return;
    }
    const message = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length);
    const attributes = isStun(message) && attributesOf(message);
    if (!attributes) return;
    const found = new Map<number, Buffer>();
    for (const { type, value } of attributes) if (!found.has(type)) found.set(type, value);
    if (message.readUInt16BE() === indication.data) this.#takeData(message, found);
    else this.#takeAnswer(message, found, attributes);
  }

  #takeAnswer(message: Buffer, found: ReadonlyMap<number, Buffer>, attributes: Attributes): void {
    const type = message.readUInt16BE();
    const id = message.toString('hex', 8, headerOctets);
    const transaction = this.#transactions.get(id);
    if (!transaction || (type !== (transaction.type | success) && type !== (transaction.type | failure))) return;
    const code = type & 0x10 ? codeOf(found.get(attribute.errorCode)) : 0;
    const integrity = attributes.find((each) => each.type === attribute.integrity);
    // Those that tell another nonce have no proof (RFC 8489 9.2.4).
    const needsProof = transaction.isProved && code !== 401 && code !== 438;
    if (needsProof && !(integrity && this.#key && hasIntegrity(message, integrity, this.#key))) return;
    this.#end(id, transaction);
    transaction.done({ message, found, code });
  }

  get #isThere(): boolean {
    return this.#state === 'allocated' || this.#state.startsWith('refreshing');
  }

  #takeData(message: Buffer, found: ReadonlyMap<number, Buffer>): void {
    const [peer, data] = [found.get(attribute.peerAddress), found.get(attribute.data)];
    const from = this.#isThere && peer && readXorAddress(peer, message);
    if (from && data) this.#options.data(Uint8Array.from(data), from);
  }

  #happen(event: AllocationEvent): void {
    const step = allocationTable[this.#state][event];
    if (!step) return;
    this.#state = step.to;
    if (step.to === 'failed' || step.to === 'closed') this.#stop();
    if (step.act) this.#actions[step.act]();
  }

  readonly #actions: Readonly<Record<AllocationAction, () => void>> = {
    ask: () => this.#allocate(),
    prove: () => {
      this.#takeChallenge();
      this.#allocate();
    },
    keep: () => this.#keep(),
    refresh: () => {
      if (this.#answer) this.#takeChallenge();
      this.#ask(method.refresh, [], this.#decides);
    },
    planRefresh: () => this.#planRefresh(),
    release: () => this.#options.send(this.#write(method.refresh, [[attribute.lifetime, Buffer.alloc(4)]])),
    fail: () => this.#options.failed(this.#lostBy ?? reasonOf(this.#answer)),
  };

  #allocate(): void {
    this.#ask(method.allocate, [[attribute.requestedTransport, udp]], this.#decides);
  }

  /** What an answer about the allocation means to it. */
  readonly #decides = (answer: Answer | undefined): void => {
    this.#answer = answer;
    const { code = -1, found } = answer ?? {};
    const isChallenge = (code === 401 || code === 438) && isText(found?.get(attribute.nonce));
    if (!answer) this.#happen('silence');
    else if (code === 0 && (this.#isThere || this.#addressIn(answer, attribute.relayedAddress)))
      this.#happen('granted');
    else if (isChallenge && code === 438) this.#happen('stale');
    else if (isChallenge && isText(found?.get(attribute.realm))) this.#happen('challenged');
    else this.#happen('refused');
    this.#answer = undefined;
  };

  #takeChallenge(answer = this.#answer): void {
    const { found } = answer ?? {};
    this.#nonce = Buffer.from(found?.get(attribute.nonce) ?? this.#nonce);
    this.#realm = Buffer.from(found?.get(attribute.realm) ?? this.#realm);
    const { username, password } = this.#account;
    this.#key = createHash('md5').update(`${username}:`).update(this.#realm).update(`:${password}`).digest();
  }

  #keep(): void {
    const answer = this.#answer!;
    this.#planRefresh();
    this.#permissionTimer = this.#options.clock.setTimeout(() => this.#renewPermissions(), permissionEveryMs);
    for (const peer of this.#permitted) this.#askPermission(peer);
    const [relayed, mapped] = [attribute.relayedAddress, attribute.mappedAddress].map((name) =>
      this.#addressIn(answer, name),
    );
    this.#options.allocated(relayed!, mapped);
  }

  #addressIn({ message, found }: Answer, name: number): PacketAddress | undefined {
    const value = found.get(name);
    return value && readXorAddress(value, message);
  }

  #planRefresh(): void {
    const said = this.#answer?.found.get(attribute.lifetime);
    if (said?.length === 4) this.#lifetime = Math.min(longest, Math.max(shortest, said.readUInt32BE()));
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    const after = Math.max(this.#lifetime - 60, this.#lifetime / 2);
    this.#timer = clock.setTimeout(() => this.#happen('refreshDue'), after * 1000);
  }

  #renewPermissions(): void {
    for (const peer of this.#permitted) this.#askPermission(peer);
    this.#channels.renew();
    this.#permissionTimer = this.#options.clock.setTimeout(() => this.#renewPermissions(), permissionEveryMs);
  }

  /** One request for each: a server refuses all of one in which it forbids one (RFC 8656 9.2). */
  #askPermission(address: string): void {
    this.#askFor({ address, port: 0 }, { type: method.createPermission });
  }

  #askChannel(number: number, peer: PacketAddress, done: (granted: boolean) => void): void {
    const value = Uint8Array.of(number >> 8, number & 255, 0, 0);
    this.#askFor(peer, { type: method.channelBind, more: [[attribute.channelNumber, value]], done });
  }

  /** A request about a peer. One with a nonce that is too old is asked once more. */
  #askFor(peer: PacketAddress, { type, more = [], done = () => {} }: AboutPeer, mayRepeat = true): void {
    const id = randomBytes(12);
    const place = writeXorAddress(peer, writeMessage(0, id, []));
    if (!place) {
      done(false);
      return;
    }
    const heard = (answer: Answer | undefined): void => {
      const isStale = answer?.code === 438 && isText(answer.found.get(attribute.nonce));
      if (!isStale || !mayRepeat || !this.#isThere) {
        done(answer?.code === 0);
        return;
      }
      this.#takeChallenge(answer);
      this.#askFor(peer, { type, more, done }, false);
    };
    this.#ask(type, [...more, [attribute.peerAddress, place]], heard, id);
  }

  #write(type: number, attributes: Parameters<typeof writeMessage>[2], id: Uint8Array = randomBytes(12)): Buffer {
    const key = this.#key;
    if (!key) return writeMessage(type, id, attributes);
    const who = [
      [attribute.username, Buffer.from(this.#account.username)],
      [attribute.realm, this.#realm],
      [attribute.nonce, this.#nonce],
    ] as const;
    return proved(writeMessage(type, id, [...attributes, ...who]), key);
  }

  #ask(
    type: number,
    attributes: Parameters<typeof writeMessage>[2],
    done: Transaction['done'],
    id: Uint8Array = randomBytes(12),
  ): void {
    const request = this.#write(type, attributes, id);
    const isProved = this.#key !== undefined;
    const transaction: Transaction = { request, type, done, isProved, sent: 0, timer: undefined };
    this.#transactions.set(Buffer.from(id).toString('hex'), transaction);
    this.#send(Buffer.from(id).toString('hex'), transaction);
  }

  #send(id: string, transaction: Transaction): void {
    const now = repeatsAt[transaction.sent - 1] ?? 0;
    const next = repeatsAt[transaction.sent];
    if (next === undefined) {
      this.#end(id, transaction);
      transaction.done(undefined);
      return;
    }
    transaction.sent++;
    transaction.timer = this.#options.clock.setTimeout(() => this.#send(id, transaction), next - now);
    // A connection loses nothing (RFC 8489 6.2.2).
    if (transaction.sent === 1 || !this.#options.server.transport) this.#options.send(transaction.request);
  }

  #end(id: string, { timer }: Transaction): void {
    this.#options.clock.clearTimeout(timer);
    this.#transactions.delete(id);
  }

  #stop(): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    clock.clearTimeout(this.#permissionTimer);
    for (const [id, transaction] of this.#transactions) this.#end(id, transaction);
  }
}

/** Why there is no allocation, in words. */
const reasonOf = (answer: Answer | undefined): string =>
  !answer ? 'it does not answer' : answer.code === 0 ? 'its answer has no address' : `it answers ${answer.code}`;

const isText = (value: Buffer | undefined): boolean =>
  value !== undefined && value.length > 0 && value.length <= longestText;

/** The number of ERROR-CODE (RFC 8489 14.8); 0 is none. */
const codeOf = (value: Buffer | undefined): number =>
  value && value.length >= 4 ? 100 * (value[2]! & 7) + value[3]! || 500 : 500;
