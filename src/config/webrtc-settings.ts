import { Type } from 'typebox';
import { videoFormatNames } from '../lib/formats.ts';
import { choice, group, list, number, text, whole } from './setting.ts';

/** Calls of browsers: `media.webrtc`. */
export const webrtc = group(
  {
    ice: choice(['lite', 'full'], {
      default: 'full',
      description:
        'ICE of the server (RFC 8445). full: it checks the candidates of browsers, too, and so opens filters and NATs before it. lite: it only answers their checks; its UDP ports have to be open to all.',
    }),
    candidates: whole(1, 100, {
      default: 16,
      unit: 'candidates',
      description:
        'ICE candidates of one browser that are taken, those that come later included. Further ones are left out. Each one is an address that somebody names and that the server sends checks to.',
    }),
    handshake_timeout: number(1, 60, {
      default: 10,
      unit: 's',
      description: 'Time that the DTLS handshake with a browser may take; then the call ends.',
    }),
    consent_timeout: number(5, 3600, {
      default: 30,
      unit: 's',
      description:
        'Time after which the call of a browser is hung up that no longer answers connectivity checks (RFC 7675), or, with `ice: lite`, makes none.',
    }),
    formats: list(Type.Enum(['opus', 'g722', 'ulaw', 'alaw']), {
      default: ['opus', 'ulaw', 'alaw'],
      minItems: 1,
      description: 'Formats of calls by `POST /hookswitch/webrtc`, the preferred one first.',
    }),
    video_codecs: list(Type.Enum([...videoFormatNames]), {
      default: ['vp8', 'h264'],
      description: 'Video codecs of these calls, the preferred one first: vp8, vp9, h264, av1. Empty: no video.',
    }),
    max_video_streams: whole(1, 64, {
      default: 9,
      unit: 'streams',
      description:
        'Video streams of such a call: its own camera and, in a video_sfu bridge, those of others. A page offers as many as it can show.',
    }),
    turn: group(
      {
        urls: list(text({ description: 'An address, e.g. `turn:turn.example.com:3478?transport=tcp`.' }), {
          default: [],
          description: 'Addresses of STUN and TURN servers that browsers are told.',
        }),
        secret: text({
          default: '',
          description:
            'Secret that the servers share (`static-auth-secret` of coturn). Browsers get passwords made with it, which end by themselves. Empty: the servers need none.',
        }),
        lifetime: whole(60, 604_800, {
          default: 86_400,
          unit: 's',
          description: 'How long such a password is good.',
        }),
      },
      "Servers for the browsers' side of ICE.",
    ),
    certificate: text({
      default: '',
      rule: 'file',
      description:
        'PEM file of the certificate that browsers see, with a key of the curve P-256. Empty: one is made at the first start.',
    }),
    key: text({ default: '', rule: 'file', description: 'PEM file of its private key.' }),
    udp_port: whole(0, 65_535, {
      default: 0,
      unit: 'port',
      description:
        'One UDP port for the calls of all browsers, e.g. 443. Datagrams from addresses that no call has proved are dropped. It needs one media thread, and a TURN server of the server by TCP or TLS. 0: each call has a port of `media.rtp_ports`.',
    }),
    udp_buffer: whole(65_536, 1_073_741_824, {
      default: 4_194_304,
      unit: 'bytes',
      description:
        'Packets that may wait in the kernel for that port. Further ones are lost. The system may allow less (net.core.rmem_max).',
    }),
    tcp: group(
      {
        port: whole(0, 65_535, {
          default: 0,
          unit: 'port',
          description: 'Port where browsers connect whose network blocks UDP (ICE-TCP, RFC 6544), e.g. 443. 0: none.',
        }),
        bind: text({
          default: '0.0.0.0',
          rule: 'address',
          description: 'Address to listen on. 0.0.0.0 listens on all.',
        }),
        connections: whole(1, 100_000, {
          default: 1000,
          unit: 'connections',
          description: 'Connections at the same time. One that belongs to no call yet makes room for a further one.',
        }),
        unproved: whole(1, 10_000, {
          default: 64,
          unit: 'connections',
          description: 'Connections that belong to no call yet. A further one ends the oldest of them.',
        }),
        unsent: whole(16_384, 16_777_216, {
          default: 262_144,
          unit: 'bytes',
          description: 'Packets that a browser may leave unread. Further ones are lost.',
        }),
      },
      'Calls of browsers by TCP.',
    ),
    gathering: group(
      {
        stun: text({
          default: '',
          rule: 'stunServer',
          description: 'Address of a STUN server, e.g. `192.0.2.1` or `192.0.2.1:3478`. Empty: none is asked.',
        }),
        turn: text({
          default: '',
          rule: 'turnServer',
          description:
            'Address of a TURN server that lends an address to each call, or its URI: `turn:192.0.2.1?transport=tcp` for TCP, `turns:192.0.2.1` for TLS. Empty: none is asked.',
        }),
        turn_name: text({
          default: '',
          description:
            'Name in the certificate of a TURN server with `turns:`. Empty: its address. `tls.authorities` must have signed it.',
        }),
        username: text({ default: '', description: 'User name at the TURN server.' }),
        password: text({ default: '', description: 'Password at the TURN server.' }),
        secret: text({
          default: '',
          description:
            'Secret that the TURN server shares (`static-auth-secret` of coturn). It makes passwords that end after a day, in place of `username` and `password`.',
        }),
        message: whole(2048, 65_535, {
          default: 4096,
          unit: 'bytes',
          description: 'Longest message that is read of a TURN server by TCP or TLS. A longer one ends its connection.',
        }),
        unsent: whole(16_384, 16_777_216, {
          default: 262_144,
          unit: 'bytes',
          description: 'Packets that such a server may leave unread. Further ones are lost.',
        }),
        wait: number(0.1, 10, {
          default: 1,
          unit: 's',
          description: 'How long a call waits for these servers. Addresses that come later are left out.',
        }),
      },
      "Servers for the server's side of ICE, for networks in which browsers cannot reach its own address.",
    ),
  },
  'Calls of browsers: endpoints with `webrtc: true`, and `POST /hookswitch/webrtc`.',
);
