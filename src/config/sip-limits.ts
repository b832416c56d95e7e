import { group, number, whole } from './setting.ts';

/** `sip.limits`: what strangers may cost. */
export const sipLimits = group(
  {
    stranger_rate: whole(1, 1_000_000, {
      default: 2_000,
      unit: 'messages/s',
      description:
        'Messages per second that are read from all unknown addresses together. Half of them is reserved for addresses that send little. Known addresses are registered, in a call, or in a `match`.',
    }),
    source_rate: whole(1, 1_000_000, {
      default: 50,
      unit: 'messages/s',
      description: 'Messages per second that are read from one unknown address.',
    }),
    source_burst: whole(20, 1_000_000, {
      default: 200,
      unit: 'messages',
      description: 'Messages that such an address may send in one burst.',
    }),
    sources: whole(100, 10_000_000, {
      default: 20_000,
      unit: 'addresses',
      description: 'Addresses whose rate is tracked. Beyond this those that were quiet longest are forgotten.',
    }),
    waiting: whole(100, 1_000_000, {
      default: 10_000,
      unit: 'messages',
      description:
        'UDP messages, also of known peers, that may wait while the server is busy. Beyond this they are dropped.',
    }),
    call_wait: number(0.01, 60, {
      default: 4,
      unit: 's',
      description:
        'Time that a new call may wait in this queue, behind the messages of calls that exist. It gets 100 Trying meanwhile. A call that waited longer gets 503 with Retry-After.',
    }),
    transactions: whole(100, 10_000_000, {
      default: 100_000,
      unit: 'transactions',
      description:
        'Server transactions kept for retransmissions. A call has two, for 32 s each. Beyond this calls get 503 and other answers are not repeated.',
    }),
    transaction_bytes: whole(1_048_576, 4_294_967_296, {
      default: 67_108_864,
      unit: 'bytes',
      description: 'Memory of these transactions.',
    }),
    source_transactions: whole(1, 1_000_000, {
      default: 200,
      unit: 'transactions',
      description:
        'Transactions of one unknown address. All unknown addresses together may use half of `transactions`.',
    }),
    source_transaction_bytes: whole(65_536, 1_073_741_824, {
      default: 1_048_576,
      unit: 'bytes',
      description: 'Memory of the transactions of one unknown address.',
    }),
    connections: whole(1, 1_000_000, {
      default: 1_000,
      unit: 'connections',
      description:
        'Connections (TCP, TLS, WebSocket) at the same time. At most a quarter of the file descriptors, because calls need the others.',
    }),
    source_connections: whole(1, 1_000_000, {
      default: 100,
      unit: 'connections',
      description: 'Connections of one unknown address.',
    }),
    source_handshakes: whole(1, 1_000_000, {
      default: 16,
      unit: 'connections',
      description: 'Connections of one unknown address that may be in their TLS or WebSocket handshake.',
    }),
    handshake: number(0.1, 600, {
      default: 10,
      unit: 's',
      description: 'Time limit for a TLS or WebSocket handshake.',
    }),
    connection_queue: whole(8_192, 16_777_216, {
      default: 65_536,
      unit: 'bytes',
      description: 'Bytes that one peer may leave unread. Beyond this its connection is closed.',
    }),
    connection_queues: whole(65_536, 1_073_741_824, {
      default: 16_777_216,
      unit: 'bytes',
      description:
        'Bytes that all peers together may leave unread. Beyond this the connection with the most is closed.',
    }),
    first_message: number(0.1, 600, {
      default: 10,
      unit: 's',
      description: 'Time limit for the first whole message of a connection.',
    }),
    partial_message: number(0.1, 600, {
      default: 30,
      unit: 's',
      description: 'Time limit for the rest of a message, and for a peer that reads nothing.',
    }),
    idle_connection: number(1, 86_400, {
      default: 1_800,
      unit: 's',
      description: 'Time after which a silent connection is closed.',
    }),
  },
  'Limits for unknown peers: not registered, not in a call, not in a `match`. See docs/security.md.',
);
