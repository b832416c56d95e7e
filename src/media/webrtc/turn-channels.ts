import type { PacketAddress } from '../rtp/source-lock.ts';

/**
 * Channels of an allocation (RFC 8656 12): data of a peer with four octets before it, where an indication has 36 more.
 *
 * ```text
 * |         Channel Number        |            Length             |
 * /                       Application Data                        /
 * ```
 */

/** The first number of a channel (RFC 8656 12). */
const firstNumber = 0x4000;
/** Peers that have had a channel: a number stays with its peer. Further ones go by indications. */
const mostChannels = 8;
export const channelHeaderOctets = 4;

/** Whether data goes by a channel: it does once it is bound. One that was refused is not asked for again before {@link TurnChannels.renew}. */
type ChannelState = 'unbound' | 'binding' | 'bound' | 'refused';

type Channel = { readonly number: number; readonly peer: PacketAddress; state: ChannelState };

/** Asks the server for a channel. @param done hears whether it was granted. */
type Bind = (number: number, peer: PacketAddress, done: (granted: boolean) => void) => void;

/** Whether a message is data of a channel: its first two bits are 01 (RFC 8656 12). */
export const isChannelData = (message: Uint8Array): boolean => message.length > 0 && message[0]! >> 6 === 1;

export class TurnChannels {
  readonly #bind: Bind;
  readonly #channels: Channel[] = [];
  /** That of the peer that packets go to. */
  #current: Channel | undefined;

  constructor(bind: Bind) {
    this.#bind = bind;
  }

  /** Packets go to that peer from now on; undefined: to none. */
  use(peer: PacketAddress | undefined): void {
    this.#current = peer && (this.#find(peer) ?? this.#add(peer));
    if (this.#current?.state === 'unbound') this.#ask(this.#current);
  }

  /** To be called before the five minutes of permissions are over; the ten of bindings are then, too (RFC 8656 12). */
  renew(): void {
    for (const channel of this.#channels)
      if (channel === this.#current) this.#ask(channel);
      else if (channel.state !== 'binding') channel.state = 'unbound';
  }

  /** A datagram as data of a channel; undefined: its peer has none. */
  wrap(datagram: Uint8Array, { address, port }: PacketAddress): Uint8Array | undefined {
    const channel = this.#current;
    if (channel?.state !== 'bound' || channel.peer.port !== port || channel.peer.address !== address) return undefined;
    const message = new Uint8Array(channelHeaderOctets + datagram.length);
    message[0] = channel.number >> 8;
    message[1] = channel.number;
    message[2] = datagram.length >> 8;
    message[3] = datagram.length;
    message.set(datagram, channelHeaderOctets);
    return message;
  }

  /** What data of a channel says, and its peer; undefined where it is too short, or of no channel of ours. */
  read(message: Uint8Array): { data: Uint8Array; peer: PacketAddress } | undefined {
    if (message.length < channelHeaderOctets) return undefined;
    const [high, low, ...length] = message.subarray(0, channelHeaderOctets) as unknown as [
      number,
      number,
      number,
      number,
    ];
    const end = channelHeaderOctets + (length[0] << 8) + length[1];
    const channel = this.#channels[(high << 8) + low - firstNumber];
    return channel && end <= message.length
      ? { data: message.slice(channelHeaderOctets, end), peer: channel.peer }
      : undefined;
  }

  #find({ address, port }: PacketAddress): Channel | undefined {
    return this.#channels.find(({ peer }) => peer.port === port && peer.address === address);
  }

  #add({ address, port }: PacketAddress): Channel | undefined {
    const number = firstNumber + this.#channels.length;
    if (this.#channels.length >= mostChannels) return undefined;
    const channel: Channel = { number, peer: { address, port }, state: 'unbound' };
    this.#channels.push(channel);
    return channel;
  }

  /** A channel that is bound stays so while it is asked for again. */
  #ask(channel: Channel): void {
    if (channel.state !== 'bound') channel.state = 'binding';
    this.#bind(channel.number, channel.peer, (granted) => {
      channel.state = granted ? 'bound' : 'refused';
    });
  }
}
