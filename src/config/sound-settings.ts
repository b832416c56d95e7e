import { Type } from 'typebox';
import { choice, codec, flag, group, list, named, number, optional, text, whole } from './setting.ts';
import { webrtc } from './webrtc-settings.ts';

/** How Opus is sent, and what is asked for of far sides: for all, or for one endpoint. */
export const opusSettings = {
  bit_rate: whole(6_000, 510_000, {
    default: 24_000,
    unit: 'bit/s',
    description: 'Highest average bit rate that is sent. A peer that requests less gets less.',
  }),
  complexity: whole(0, 10, {
    default: 3,
    unit: 'of 10',
    description: 'Encoder complexity. 9 costs twice as much CPU as 3.',
  }),
  fec: flag({
    default: true,
    description: 'Requests forward error correction (useinbandfec), and sends it on request.',
  }),
  expected_loss: whole(0, 100, {
    default: 5,
    unit: '%',
    description: 'Expected packet loss. It decides how much of the bit rate is used for error correction.',
  }),
  dtx: flag({
    default: false,
    description: 'Requests discontinuous transmission (usedtx). It is always sent on request.',
  }),
  cbr: flag({ default: false, description: 'Requests a constant bit rate. It is always sent on request.' }),
  max_playback_rate: whole(8_000, 48_000, {
    default: 48_000,
    unit: 'Hz',
    description: 'Highest sampling rate that peers are asked to send (maxplaybackrate).',
  }),
  max_average_bit_rate: optional(
    whole(6_000, 510_000, {
      unit: 'bit/s',
      description: 'Highest average bit rate that peers are asked to send (maxaveragebitrate). Left out: their choice.',
    }),
  ),
};

/** How video is passed on: `media.video`. */
const video = group(
  {
    streams: whole(1, 1000, {
      default: 32,
      unit: 'streams',
      description: 'Video streams of one call: its own and those that it receives.',
    }),
    key_frames: number(0.1, 60, {
      default: 2,
      unit: 'per second',
      description:
        'Highest rate of key-frame requests to one source, however many viewers need one. A key frame is many times larger than other frames.',
    }),
    bitrate_interval: number(0.1, 60, {
      default: 0.5,
      unit: 's',
      description: 'Shortest interval between two bit-rate requests to a source (TMMBR, REMB).',
    }),
    lowest_bitrate: whole(1, 1_000_000, {
      default: 100,
      unit: 'kbit/s',
      description:
        'Lowest bit rate that a source is asked to send because of a slow viewer. Below it that viewer loses frames and the others do not.',
    }),
    largest_unit: whole(500, 65_000, {
      default: 60_000,
      unit: 'bytes',
      description:
        'Longest packet made for a phone that only takes whole H.264 units (packetization-mode 0) when the source sends fragments. IP fragments it. A source with longer units is not shown to that phone.',
    }),
    resend_packets: whole(0, 8192, {
      default: 256,
      unit: 'packets',
      description:
        'Packets of each stream kept for retransmission, and requested again when they are missing. 0: none.',
    }),
    resend_time: whole(0, 60_000, {
      default: 1000,
      unit: 'ms',
      description: 'Time that these packets are kept.',
    }),
    source_timeout: number(0.1, 3600, {
      default: 3,
      unit: 's',
      description: 'Time without packets after which a source is lost. Another one is shown.',
    }),
    talker_after: whole(0, 60_000, {
      default: 500,
      unit: 'ms',
      description: 'Time that a member must talk before all see it, in bridges that follow the talker.',
    }),
    talker_hold: whole(0, 600_000, {
      default: 2000,
      unit: 'ms',
      description: 'Shortest time that the same talker is shown.',
    }),
    control_packets: whole(50, 50_000, {
      default: 400,
      unit: 'per second',
      description: 'RTCP packets of one stream that are read. Further ones are dropped.',
    }),
    thread_backlog: whole(65_536, 67_108_864, {
      default: 1_048_576,
      unit: 'bytes',
      description: 'Video of one call that may wait between two media threads, in each direction. The rest is lost.',
    }),
  },
  'Video forwarding in bridges.',
);

/** The section `media`. */
export const media = group(
  {
    rtp_address: optional(
      text({
        rule: 'address',
        description:
          'Local address of RTP. Left out: that of SIP. If SIP has several addresses or all, each call uses the one that routes to its peer.',
      }),
    ),
    reserved_descriptors: whole(0, 1_000_000, {
      default: 128,
      unit: 'descriptors',
      description:
        'File descriptors reserved for HTTP and files. Calls are refused when fewer are free. At most half of all; applies to native sockets.',
    }),
    relayed_packets: whole(64, 1_000_000, {
      default: 4_096,
      unit: 'packets',
      description:
        'Packets that may wait between a media thread and its `dgram` sockets, in each direction. Further ones are dropped. 100 calls send 4096 packets in about half a second.',
    }),
    rtp_ports: Type.Tuple([whole(0, 65_535, { description: 'first' }), whole(0, 65_535, { description: 'last' })], {
      default: [10_000, 20_000],
      unit: 'port',
      description:
        'First and last UDP port of RTP. A call uses two. [0, 0]: the system chooses, and another program may take the port of a call whose media thread restarts.',
    }),
    codecs: list(codec, {
      default: ['ulaw', 'alaw', 'g722', 'opus', 'slin', 'slin16', 'slin24', 'slin48'],
      commaList: true,
      description: 'Codecs of the server, the preferred one first.',
    }),
    opus: group(opusSettings, 'Opus, always mono: what the server sends and what it requests.'),
    rtp_timeout: number(0, 86_400, {
      default: 0,
      unit: 's',
      description: 'Time without audio after which a call is hung up, unless it is on hold. 0: never.',
    }),
    webrtc,
    nat_search: number(0, 86_400, {
      default: 30,
      unit: 's',
      description:
        'Time after offer and answer in which RTP may come from another address than SDP announced, for phones behind a NAT. It applies while nothing comes from the announced one. 0: never.',
    }),
    threads: whole(0, 256, {
      default: 0,
      unit: 'threads',
      description: 'Media threads from the start. 0: one, and more as calls come, up to the number of cores less one.',
    }),
    sockets: choice(['auto', 'dgram', 'native'], {
      default: 'auto',
      description:
        "RTP sockets. native: system calls (Linux, optional package koffi), else dgram. dgram: Node's sockets, held by the main thread. auto: native if available, without a warning.",
    }),
    warm_up: flag({
      default: true,
      description:
        'Runs warm-up calls over 127.0.0.1 for about two seconds in each new media thread. They compile its code before many calls begin. A server that stands by also restores warm-up calls.',
    }),
    thread_backlog: whole(4_096, 1_048_576, {
      default: 16_384,
      unit: 'bytes',
      description: 'Audio of one call that may wait between two media threads. The rest is lost.',
    }),
    report_backlog: whole(64, 1_000_000, {
      default: 2048,
      unit: 'messages',
      description:
        "Messages of one media thread (digits, talking, server commands) that may wait. Beyond an eighth of it connections to servers are not read. Beyond all of it other calls' events are dropped.",
    }),
    report_backlog_per_call: whole(4, 100_000, {
      default: 16,
      unit: 'messages',
      description: 'Messages of one call that may wait.',
    }),
    passed_digits: whole(1, 1_000, {
      default: 20,
      unit: 'digits',
      description:
        'Digits that other members of a bridge pressed and that wait to be sent to a member. More are left out, so that the member still hears audio.',
    }),
    thread_timeout: number(1, 3600, {
      default: 5,
      unit: 's',
      description:
        'Time without progress after which a media thread is restarted. While it starts it may take twelve times as long.',
    }),
    video,
    tone_zone: choice(['us', 'gb', 'uk', 'de', 'fr'], {
      default: 'us',
      description: 'Country whose call-progress tones are played.',
    }),
  },
  'Audio.',
);

/** The section `sounds`. */
export const sounds = group(
  {
    directories: list(Type.String({ minLength: 1 }), {
      default: ['builtin'],
      description:
        'Directories of prompts, in search order. `builtin` stands for the included ones. The layout is <language>/<name>.<format>.',
    }),
    music: list(Type.String({ minLength: 1 }), {
      default: ['builtin'],
      description:
        'Directories of music on hold, in search order. Each sub-directory is a class. `builtin` stands for the included class `default`.',
    }),
    default_language: text({
      default: 'en',
      description: 'Language of prompts when none is requested, or when a prompt lacks in the requested one.',
    }),
  },
  'Prompts.',
);

/** The section `recordings`. */
export const recordings = group(
  {
    directory: text({ default: 'recordings', rule: 'directory', description: 'Directory of recordings.' }),
    live: whole(1, 1_000_000, {
      default: 1000,
      unit: 'recordings',
      description: 'Recordings in progress, waiting ones included.',
    }),
    batch: whole(20, 60_000, {
      default: 1000,
      unit: 'ms',
      description: 'Audio that is written to the disk in one go. At most this much is lost when the process is killed.',
    }),
    backlog: whole(65_536, 1_073_741_824, {
      default: 4_194_304,
      unit: 'bytes',
      description: 'Bytes of one recording that may wait for a slow disk. Beyond this the recording fails.',
    }),
  },
  'Recordings.',
);

/** The section `external_media`. */
export const externalMedia = group(
  {
    connections: whole(1, 1_000_000, {
      default: 2_000,
      unit: 'connections',
      description: 'Connections to external media servers, by AudioSocket or WebSocket.',
    }),
    connection_timeout: number(0.1, 60, {
      default: 3,
      unit: 's',
      description: 'Time limit for a server to accept a connection.',
    }),
    arrival_timeout: number(0.1, 3_600, {
      default: 30,
      unit: 's',
      description: 'Time limit for a server to open its WebSocket to a waiting channel (connection_type=server).',
    }),
    reconnect_attempts: whole(0, 1_000, {
      default: 10,
      unit: 'attempts',
      description:
        'Further attempts to connect a channel again after the server restored its state. Then it ends with cause 41.',
    }),
    reconnect_interval: number(0.1, 60, {
      default: 1,
      unit: 's',
      description: 'Pause between these attempts.',
    }),
    log_in: optional(
      Type.Boolean({
        description:
          "Whether such a server must send the password of a user (http.users). Otherwise the connection's id suffices, as in Asterisk. Left out: true, but false where the server is to behave as Asterisk.",
      }),
    ),
    backlog: whole(60, 10_000, {
      default: 300,
      unit: 'ms',
      description: 'Audio that a server may send too early. Beyond this all but the last 60 ms is dropped.',
    }),
    unsent: whole(4_096, 16_777_216, {
      default: 65_536,
      unit: 'bytes',
      description: 'Bytes that a server may leave unread. Further audio is dropped.',
    }),
    stall_timeout: number(0.1, 3_600, {
      default: 5,
      unit: 's',
      description: 'Time that a server may leave that much unread. Then its connection is closed.',
    }),
    websocket_message: whole(1_024, 16_777_216, {
      default: 1_048_576,
      unit: 'bytes',
      description: 'Largest WebSocket message that is accepted.',
    }),
    websockets: named(
      group(
        {
          url: text({ description: 'URL of the server, e.g. wss://ai.example.org/media.' }),
          protocols: list(Type.String({ minLength: 1 }), {
            default: ['media'],
            commaList: true,
            description: 'Sub-protocols offered.',
          }),
          headers: list(Type.String({ pattern: '^[A-Za-z0-9-]+: ?[ -~]+$' }), {
            default: [],
            description: 'Additional headers, e.g. "X-Tenant: 7".',
          }),
          token: text({
            default: '',
            description: 'Bearer token sent to the server (`Authorization: Bearer`). Empty: none.',
          }),
        },
        'A server that accepts a WebSocket.',
      ),
      {
        default: {},
        description: 'Servers that external media can name as external_host with transport=websocket, by name.',
      },
    ),
  },
  'External media: channels whose far side is a server.',
);

/** The section `bridges`. */
export const bridges = group(
  {
    most: whole(1, 1_000_000, { default: 10_000, unit: 'bridges', description: 'Bridges at the same time.' }),
    channels: whole(2, 100_000, { default: 1000, unit: 'channels', description: 'Channels in one bridge.' }),
  },
  'Bridges.',
);
