import { Type } from 'typebox';
import { choice, codec, flag, group, list, named, number, optional, text, whole } from './setting.ts';

/** How Opus is sent, and what is asked for of far sides: for all, or for one endpoint. */
export const opusSettings = {
  bit_rate: whole(6_000, 510_000, {
    default: 24_000,
    unit: 'bit/s',
    description: 'Opus that we send, on average at most; a far side that asks for less is sent less.',
  }),
  complexity: whole(0, 10, {
    default: 3,
    unit: 'of 10',
    description: 'How much work is put into a packet: 9 costs twice as much as 3.',
  }),
  fec: flag({
    default: true,
    description:
      'Ask for packets that carry a poorer copy of the one before (useinbandfec), and send such to who asks for them.',
  }),
  expected_loss: whole(0, 100, {
    default: 5,
    unit: '%',
    description: 'Packets that are expected to get lost: how much of the bit rate goes into these copies.',
  }),
  dtx: flag({
    default: false,
    description: 'Ask for next to nothing in silence (usedtx). Who asks for that is sent so in any case.',
  }),
  cbr: flag({ default: false, description: 'Ask for a constant bit rate. Who asks for that is sent so in any case.' }),
  max_playback_rate: whole(8_000, 48_000, {
    default: 48_000,
    unit: 'Hz',
    description: 'Ask for nothing that only a higher rate could play (maxplaybackrate).',
  }),
  max_average_bit_rate: optional(
    whole(6_000, 510_000, {
      unit: 'bit/s',
      description: 'Ask for no more than this (maxaveragebitrate). Left out: what the far side likes.',
    }),
  ),
};

/** How video is passed on: `media.video`. */
const video = group(
  {
    streams: whole(1, 1000, {
      default: 32,
      unit: 'streams',
      description: 'Most streams of video of one call: the one it sends itself in, and those it is shown others in.',
    }),
    key_frames: number(0.1, 60, {
      default: 2,
      unit: 'per second',
      description:
        'Most key frames that a source is asked for, by however many that need one: a key frame is many times larger than others.',
    }),
    bitrate_interval: number(0.1, 60, {
      default: 0.5,
      unit: 's',
      description: 'Shortest time between two times that a source is told how much it may send (TMMBR, REMB).',
    }),
    lowest_bitrate: whole(1, 1_000_000, {
      default: 100,
      unit: 'kbit/s',
      description:
        'Least that a source is asked to send when somebody who is shown it takes less: that one has frames left out, and the others see it no worse than so.',
    }),
    largest_unit: whole(500, 65_000, {
      default: 60_000,
      unit: 'bytes',
      description:
        'Longest packet that is made for a phone that takes whole units of H.264 alone (packetization-mode 0) of what others send in parts: IP carries in parts what no network takes at once. A source that sends longer units is not shown to it.',
    }),
    resend_packets: whole(0, 8192, {
      default: 256,
      unit: 'packets',
      description:
        'Packets of each stream that are kept for who misses some; as many that we miss are asked for again. 0: none.',
    }),
    resend_time: whole(0, 60_000, {
      default: 1000,
      unit: 'ms',
      description: 'How long they are kept.',
    }),
    source_timeout: number(0.1, 3600, {
      default: 3,
      unit: 's',
      description: 'A source that sends nothing for this long is lost: somebody else is shown instead.',
    }),
    talker_after: whole(0, 60_000, {
      default: 500,
      unit: 'ms',
      description: 'How long somebody must have talked before all are shown them, where a bridge follows the talker.',
    }),
    talker_hold: whole(0, 600_000, {
      default: 2000,
      unit: 'ms',
      description: 'How long at least the same one is shown there.',
    }),
    control_packets: whole(50, 50_000, {
      default: 400,
      unit: 'per second',
      description: 'RTCP packets of one stream that are read; more are dropped.',
    }),
    thread_backlog: whole(65_536, 67_108_864, {
      default: 1_048_576,
      unit: 'bytes',
      description:
        'Video that may wait between two media threads for one call, in each direction; what does not fit is lost.',
    }),
  },
  'Video: how it is passed on in bridges.',
);

/** The section `media`. */
export const media = group(
  {
    rtp_address: optional(
      text({
        rule: 'address',
        description:
          'Address that audio (RTP) is sent from. Left out: that of SIP; where SIP has several, or all, each call has the one that leads to its far side.',
      }),
    ),
    reserved_descriptors: whole(0, 1_000_000, {
      default: 128,
      unit: 'descriptors',
      description:
        'File descriptors that audio leaves to HTTP and files: calls are refused when fewer are free. At most half of all; with `sockets: native` (or `auto` where that is so).',
    }),
    relayed_packets: whole(64, 1_000_000, {
      default: 4_096,
      unit: 'packets',
      description:
        'With `sockets: dgram`: packets that may wait between a media thread and its sockets, each way. Half a second of 100 calls is 4096; more packets are dropped.',
    }),
    rtp_ports: Type.Tuple([whole(0, 65_535, { description: 'first' }), whole(0, 65_535, { description: 'last' })], {
      default: [10_000, 20_000],
      unit: 'port',
      description: 'First and last UDP port for audio; a call takes two. [0, 0] lets the system choose.',
    }),
    codecs: list(codec, {
      default: ['ulaw', 'alaw', 'g722', 'opus', 'slin', 'slin16', 'slin24', 'slin48'],
      commaList: true,
      description: 'Codecs there are at all, the preferred one first.',
    }),
    opus: group(opusSettings, 'Opus, which is always mono: how it is sent, and what far sides are asked for.'),
    rtp_timeout: number(0, 86_400, {
      default: 0,
      unit: 's',
      description: 'Hang up a call that has sent no audio for this long although it should; 0 never.',
    }),
    nat_search: number(0, 86_400, {
      default: 30,
      unit: 's',
      description:
        'How long after offer and answer audio is taken from another address than a phone told, if none comes from there (a phone behind a NAT); 0 never.',
    }),
    threads: whole(0, 256, {
      default: 0,
      unit: 'threads',
      description:
        'Threads that audio is spread over: as many from the start, or with 0 one, and as calls come more, up to one less than the machine has cores.',
    }),
    sockets: choice(['auto', 'dgram', 'native'], {
      default: 'auto',
      description:
        'How audio is sent and heard: native with calls of the kernel (Linux; needs the optional package koffi, else it is dgram), dgram with sockets of Node, which the main thread holds for the media threads, auto native without a warning where it cannot be had.',
    }),
    warm_up: flag({
      default: true,
      description:
        'A new media thread runs warm-up calls over 127.0.0.1 for about two seconds, so that its code is compiled before many calls begin.',
    }),
    thread_backlog: whole(4_096, 1_048_576, {
      default: 16_384,
      unit: 'bytes',
      description: 'Audio that may wait between two of these threads for one call; what does not fit is lost.',
    }),
    report_backlog: whole(64, 1_000_000, {
      default: 2048,
      unit: 'messages',
      description:
        'Messages of one media thread (digits, talking, commands of servers) that may wait to be handled. Beyond that, connections to servers are not read, and events of other calls are dropped.',
    }),
    report_backlog_per_call: whole(4, 100_000, {
      default: 16,
      unit: 'messages',
      description: 'The same for one call.',
    }),
    thread_timeout: number(1, 3600, {
      default: 5,
      unit: 's',
      description:
        'A media thread that does nothing for this long is ended and started again; while it starts it may take twelve times as long.',
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
      description: 'Where prompts are looked for, in this order; `builtin` stands for the ones that come along.',
    }),
    music: list(Type.String({ minLength: 1 }), {
      default: ['builtin'],
      description:
        'Where music on hold is looked for, in this order: each sub-directory is a class. `builtin` stands for the one that comes along, `default`.',
    }),
    default_language: text({
      default: 'en',
      description: 'Language where none is asked for, or a prompt lacks in one.',
    }),
  },
  'Prompts.',
);

/** The section `recordings`. */
export const recordings = group(
  {
    directory: text({ default: 'recordings', rule: 'directory', description: 'Where recordings are kept.' }),
    live: whole(1, 1_000_000, {
      default: 1000,
      unit: 'recordings',
      description: 'Most recordings that are made at a time, those that wait for their turn included.',
    }),
    batch: whole(20, 60_000, {
      default: 1000,
      unit: 'ms',
      description: 'Audio that goes to the disk at once; as much is lost at most when the process is killed.',
    }),
    backlog: whole(65_536, 1_073_741_824, {
      default: 4_194_304,
      unit: 'bytes',
      description: 'What may wait for a slow disk, for each recording; one with more fails.',
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
      description: 'Most connections to servers that audio is exchanged with, by AudioSocket or WebSocket.',
    }),
    connection_timeout: number(0.1, 60, {
      default: 3,
      unit: 's',
      description: 'How long such a server may take to take a connection.',
    }),
    arrival_timeout: number(0.1, 3_600, {
      default: 30,
      unit: 's',
      description:
        'How long a server may take to open its WebSocket to a channel that waits for it (connection_type=server).',
    }),
    log_in: flag({
      default: true,
      description:
        'Whether it has to give the password of a user for that (http.users); the id of the connection is enough otherwise, as in Asterisk.',
    }),
    backlog: whole(60, 10_000, {
      default: 300,
      unit: 'ms',
      description: 'Audio that a server may have sent too early; of what is more only the latest 60 ms are played.',
    }),
    unsent: whole(4_096, 16_777_216, {
      default: 65_536,
      unit: 'bytes',
      description: 'What a server may leave unread; audio beyond that is left out.',
    }),
    stall_timeout: number(0.1, 3_600, {
      default: 5,
      unit: 's',
      description: 'A server that leaves as much unread for this long has lost its connection.',
    }),
    websocket_message: whole(1_024, 16_777_216, {
      default: 1_048_576,
      unit: 'bytes',
      description: 'Largest message that is taken of a WebSocket.',
    }),
    websockets: named(
      group(
        {
          url: text({ description: 'Where the server waits for our WebSocket, e.g. wss://ai.example.org/media.' }),
          protocols: list(Type.String({ minLength: 1 }), {
            default: ['media'],
            commaList: true,
            description: 'Sub-protocols offered.',
          }),
          headers: list(Type.String({ pattern: '^[A-Za-z0-9-]+: ?[ -~]+$' }), {
            default: [],
            description: 'Headers sent along, e.g. "X-Tenant: 7".',
          }),
          token: text({
            default: '',
            description: 'A token that we tell the server (`Authorization: Bearer`). Empty: none.',
          }),
        },
        'A server that waits for our WebSocket.',
      ),
      { default: {}, description: 'Servers that external media can name as external_host, by name.' },
    ),
  },
  'Channels whose far side is a server: external media.',
);

/** The section `bridges`. */
export const bridges = group(
  {
    most: whole(1, 1_000_000, { default: 10_000, unit: 'bridges', description: 'Most bridges at a time.' }),
    channels: whole(2, 100_000, { default: 1000, unit: 'channels', description: 'Most channels in one bridge.' }),
  },
  'Bridges.',
);
