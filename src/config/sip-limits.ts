import { group, number, whole } from './setting.ts';

/** `sip.limits`: what strangers may cost. */
export const sipLimits = group(
  {
    stranger_rate: whole(1, 1_000_000, {
      default: 2_000,
      unit: 'messages/s',
      description:
        'Messages read of all addresses together where nobody is known: registered, in a call, or in a `match`. Half is for those that send little.',
    }),
    source_rate: whole(1, 1_000_000, {
      default: 50,
      unit: 'messages/s',
      description: 'Messages read of one address unless their sender is known.',
    }),
    source_burst: whole(20, 1_000_000, {
      default: 200,
      unit: 'messages',
      description: 'How many of them at once, after a quiet time.',
    }),
    sources: whole(100, 10_000_000, {
      default: 20_000,
      unit: 'addresses',
      description: 'Addresses whose rate is remembered; beyond it those quiet the longest are forgotten.',
    }),
    transactions: whole(100, 10_000_000, {
      default: 20_000,
      unit: 'transactions',
      description:
        'Requests remembered for repetition at once. Beyond it calls get 503, other answers are not repeated.',
    }),
    transaction_bytes: whole(1_048_576, 4_294_967_296, {
      default: 67_108_864,
      unit: 'bytes',
      description: 'What they may hold together.',
    }),
    source_transactions: whole(1, 1_000_000, {
      default: 200,
      unit: 'transactions',
      description: 'The same for one address that nobody knows; all such together have half of the whole.',
    }),
    source_transaction_bytes: whole(65_536, 1_073_741_824, {
      default: 1_048_576,
      unit: 'bytes',
      description: 'What those of one such address may hold.',
    }),
    connections: whole(1, 1_000_000, {
      default: 1_000,
      unit: 'connections',
      description:
        'Connections (TCP, TLS, WebSocket) at once; never more than a quarter of the file descriptors there are, as calls need them too.',
    }),
    source_connections: whole(1, 1_000_000, {
      default: 100,
      unit: 'connections',
      description: 'Connections of one address where nobody is known.',
    }),
    source_handshakes: whole(1, 1_000_000, {
      default: 16,
      unit: 'connections',
      description: 'Those of them that may be in the middle of their TLS or WebSocket handshake.',
    }),
    handshake: number(0.1, 600, {
      default: 10,
      unit: 's',
      description: 'How long the handshake of a TLS or WebSocket connection may take.',
    }),
    connection_queue: whole(8_192, 16_777_216, {
      default: 65_536,
      unit: 'bytes',
      description: 'What may wait to be read by the peer of a connection before it is closed.',
    }),
    connection_queues: whole(65_536, 1_073_741_824, {
      default: 16_777_216,
      unit: 'bytes',
      description: 'The same for all connections together; beyond it the one with most is closed.',
    }),
    first_message: number(0.1, 600, {
      default: 10,
      unit: 's',
      description: 'How long a connection may take to its first whole message.',
    }),
    partial_message: number(0.1, 600, {
      default: 30,
      unit: 's',
      description: 'How long the rest of a message may take, and how long a peer may read nothing of what waits.',
    }),
    idle_connection: number(1, 86_400, {
      default: 1_800,
      unit: 's',
      description: 'How long a connection may be silent.',
    }),
  },
  'Bounds on what strangers may cost.',
);
