import { Type } from 'typebox';
import {
  aorAttributes,
  endpointAttributes,
  identityAttributes,
  registrationAttributes,
} from '../models/endpoint-attributes.ts';
import { settingsOf } from './attribute-settings.ts';
import { choice, codec, flag, group, list, named, number, opaque, optional, port, text, whole } from './setting.ts';
import { sipLimits } from './sip-limits.ts';
import { opusSettings } from './sound-settings.ts';
import { endpointVideo, video } from './video-settings.ts';

/** Ports of `sip.transports` that name none. The ports of HTTP, which WebSockets have by right, are for a web server. */
export const standardSipPorts = { udp: 5060, tcp: 5060, tls: 5061, ws: 8080, wss: 8443 } as const;

const transport = group(
  {
    protocol: choice(['udp', 'tcp', 'tls', 'ws', 'wss'], {
      description: 'Transport protocol. tls and wss use a certificate of tls.certificates.',
    }),
    bind: text({ default: '127.0.0.1', rule: 'address', description: 'Address to listen on.' }),
    port: optional(
      port({
        description: 'Port to listen on. 0: the system chooses one. Left out: 5060, tls 5061, ws 8080, wss 8443.',
      }),
    ),
    client_certificates: optional(
      choice(['none', 'optional', 'required'], {
        description:
          'Whether peers must present a certificate signed by one of tls.client_authorities, over tls and wss. A certificate that is presented must always be valid. Left out: none.',
      }),
    ),
  },
  'An address that listens for SIP.',
);

const networks = (description: string) =>
  list(Type.String({ rule: 'network' }), { default: [], commaList: true, description });

const registration = group(
  {
    server: text({ rule: 'sipUri', description: 'SIP URI of the registrar, e.g. sip:sip.provider.example.' }),
    ...settingsOf(registrationAttributes),
  },
  'A registration at a provider.',
);

/** One endpoint of `sip.endpoints`. */
export const endpoint = group(
  {
    extends: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description:
        "Templates of sip.templates. Later templates win over earlier ones, and the endpoint's own settings win over all.",
    }),
    context: text({ default: 'default', description: 'Dialplan context of its calls.' }),
    auth: optional(
      group(
        {
          username: text({ description: 'Digest user name.' }),
          password: optional(
            text({
              description: 'Digest password. Left out: HOOKSWITCH_PASSWORD, or the random one made at start-up.',
            }),
          ),
        },
        'Credentials that the phone must send to register and to call. Left out: it may call only from an address in `match`.',
      ),
    ),
    outbound_auth: optional(
      group(
        {
          username: text({ description: 'Digest user name.' }),
          password: text({ description: 'Digest password.' }),
          realm: optional(text({ description: 'The only realm whose challenges are answered. Left out: any.' })),
        },
        "Credentials that answer the other side's challenges.",
      ),
    ),
    aor: group(
      {
        ...settingsOf(aorAttributes),
        contacts: list(Type.String({ rule: 'sipUri' }), {
          default: [],
          description: 'SIP URIs that reach the endpoint without registration, e.g. sip:10.0.0.7:5060.',
        }),
      },
      'Address of record: the contacts of the endpoint.',
    ),
    codecs: list(codec, {
      default: ['ulaw', 'alaw'],
      commaList: true,
      description: 'Codecs to offer and accept, the preferred one first.',
    }),
    opus: optional(group(opusSettings, 'Opus settings of this endpoint. They replace media.opus as a whole.')),
    ...endpointVideo,
    caller_id: text({
      default: '',
      description: 'Caller id of its calls, `"Name" <number>`. Empty: the phone\'s own.',
    }),
    trust_id: flag({
      default: false,
      description:
        "Trusts the identity that it asserts (P-Asserted-Identity) and sends it the caller's: trust_id_inbound and send_pai in one.",
    }),
    ...settingsOf(identityAttributes),
    ...settingsOf(endpointAttributes),
    variables: named(text({ description: 'The value of the variable.' }), {
      default: {},
      description: 'Variables set on its channels at their start.',
    }),
    registrations: list(registration, {
      default: [],
      description:
        'Registrations at providers. Calls to the endpoint go to the first registrar, unless aor.contacts names a target.',
    }),
    allow: group(
      {
        sources: networks('Networks that its requests outside dialogs may come from. Empty: anywhere.'),
        registration_sources: networks('Networks that its registrations may come from, in addition. Empty: anywhere.'),
        transports: list(Type.Enum(['udp', 'tcp', 'tls', 'ws', 'wss']), {
          default: [],
          commaList: true,
          description: 'Transports that its requests may use. Empty: any.',
        }),
        calls: whole(0, 1_000_000, {
          default: 0,
          unit: 'calls',
          description: 'Calls at the same time, in both directions. Further calls get busy. 0: no limit.',
        }),
        extensions: list(Type.String(), {
          default: [],
          description: 'Extensions and patterns (_0[1-9]X.) that it may call. Empty: all of its context.',
        }),
      },
      'Limits of the endpoint, which reduce the damage of a stolen password.',
    ),
    transfer_handling: choice(['core', 'client'], {
      default: 'core',
      description:
        'Who handles its transfers. core: this server. client: the application in control, which gets ChannelTransfer. PJSIP_TRANSFER_HANDLING() overrides it for one channel.',
    }),
    match: list(Type.String({ rule: 'network' }), {
      default: [],
      commaList: true,
      description:
        'Source addresses or networks (10.1.0.0/16) whose calls belong to this endpoint, without a password. Calls to a loopback address count as sent from that address.',
    }),
  },
  'A phone or a trunk. Its name follows PJSIP/ in a dial string.',
);

const timer = (milliseconds: number, about: string) =>
  whole(1, 600_000, { default: milliseconds, unit: 'ms', description: about });

/** The section `sip`. */
export const sip = group(
  {
    transports: list(transport, {
      default: [{ protocol: 'udp' }, { protocol: 'tcp' }],
      description: 'Addresses that listen for SIP.',
    }),
    allowed_origins: list(Type.String({ rule: 'origin' }), {
      default: [],
      commaList: true,
      description: 'Origins of web pages that may use SIP over WebSocket, e.g. https://desk.example.org, or * for any.',
    }),
    external_address: text({
      default: '',
      description: 'Public address to use in SIP messages and SDP when the server is behind a NAT.',
    }),
    stun_server: text({
      default: '',
      description:
        'STUN server that tells the public address, e.g. stun.example.org or 192.0.2.1:3478. Used if external_address is empty, once a minute. Empty: none.',
    }),
    local_networks: list(Type.String({ rule: 'network' }), {
      default: [],
      commaList: true,
      description: 'Networks on this side of the NAT. There the server uses its own address.',
    }),
    user_agent: text({ default: 'Hookswitch', description: 'Value of the User-Agent and Server headers.' }),
    realm: text({ default: 'hookswitch', description: 'Realm of the digest challenges to phones.' }),
    digest_algorithms: list(Type.Enum(['MD5', 'SHA-256']), {
      default: ['MD5'],
      commaList: true,
      description:
        'Digest algorithms offered to phones, the preferred one first. Some phones that only know MD5 fail when SHA-256 is offered beside it.',
    }),
    dns: group(
      {
        servers: list(Type.String({ rule: 'nameServer' }), {
          default: [],
          commaList: true,
          description: 'Name servers to use, e.g. 10.0.0.53 or 10.0.0.53:5353. Empty: those of the system.',
        }),
        minimum_ttl: number(1, 86_400, {
          default: 10,
          unit: 's',
          description: 'Shortest time that an answer is cached, negative answers included.',
        }),
        maximum_ttl: number(1, 86_400, {
          default: 3_600,
          unit: 's',
          description: 'Longest time that an answer is cached, even if its TTL is longer.',
        }),
        remembered: whole(10, 1_000_000, {
          default: 1_000,
          unit: 'answers',
          description: 'Answers in the cache. Beyond this the oldest are dropped.',
        }),
        most_records: whole(1, 100, {
          default: 8,
          unit: 'records',
          description: 'NAPTR or SRV records of one answer that are used, in order of preference.',
        }),
        most_addresses: whole(1, 100, {
          default: 8,
          unit: 'addresses',
          description: 'Addresses of one domain that a request tries, one after another.',
        }),
        failover_timeout: number(0.1, 32, {
          default: 4,
          unit: 's',
          description: 'Time to wait for one of several servers before the next is tried. The last one has 64 × T1.',
        }),
        most_probes: whole(0, 1_000, {
          default: 16,
          unit: 'sockets',
          description:
            'Sockets that listen for ICMP errors of silent UDP servers while others can be asked; 0 = such servers are waited for.',
        }),
        failed_server_time: number(0, 86_400, {
          default: 180,
          unit: 's',
          description: 'Time that a server which did not respond is tried only after all others.',
        }),
      },
      'DNS lookups of SIP servers (RFC 3263).',
    ),
    timers: group(
      {
        t1: timer(500, 'Estimated round trip (RFC 3261 T1), the base of all retransmissions.'),
        t2: timer(4_000, 'Longest interval between retransmissions (RFC 3261 T2).'),
        t4: timer(5_000, 'Longest time that a message stays in the network (RFC 3261 T4).'),
      },
      'Timers of SIP transactions.',
    ),
    trying_at_once: flag({
      default: false,
      description:
        'Sends 100 Trying for each call that comes in, also if it is answered within 200 ms. It costs a message for each call.',
    }),
    connected_line_delay: number(0, 30, {
      default: 0.5,
      unit: 's',
      description:
        'Time after its answer during which a phone without UPDATE gets no re-INVITE that only updates the connected line. Many phones send a re-INVITE of their own then.',
    }),
    most_redirections: whole(0, 100, {
      default: 5,
      unit: 'redirections',
      description:
        'Redirections of one call, earlier ones included, after which it is not forwarded again. A call is never forwarded twice to the same target.',
    }),
    most_branches: whole(1, 10_000, {
      default: 64,
      unit: 'places',
      description: 'Forked branches of one outgoing call that are followed. Responses of further branches are ignored.',
    }),
    waiting_provisional: whole(1, 100, {
      default: 8,
      unit: 'responses',
      description:
        'Reliable provisional responses of one call that may wait for the PRACK of the previous one. Beyond this the oldest are dropped.',
    }),
    transfers: group(
      {
        per_call: whole(1, 100, {
          default: 1,
          unit: 'transfers',
          description: 'Transfers of one call that may be in progress. Further ones are refused with 491.',
        }),
        timeout: number(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'Time limit of each step of a transfer, for the target or for the application that controls it.',
        }),
        bye_timeout: number(0, 30, {
          default: 0.5,
          unit: 's',
          description:
            'Time that a phone has to hang up after its transfer. After a success the server then sends BYE. After a failure a phone that hangs up within this time is called back.',
        }),
        call_back: flag({
          default: true,
          description: 'Calls a phone back that has hung up, or hangs up on the report, if its transfer fails.',
        }),
      },
      'Transfers that phones ask for (REFER).',
    ),
    video,
    limits: sipLimits,
    subscriptions: group(
      {
        most: whole(1, 10_000_000, {
          default: 10_000,
          unit: 'subscriptions',
          description: 'Subscriptions of all phones: BLF and waiting messages.',
        }),
        per_endpoint: whole(1, 1_000_000, {
          default: 100,
          unit: 'subscriptions',
          description: 'Subscriptions of one endpoint. Each BLF key needs one.',
        }),
        minimum_expiration: whole(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'Shortest subscription that is accepted. Shorter ones are refused with 423.',
        }),
        maximum_expiration: whole(60, 604_800, {
          default: 86_400,
          unit: 's',
          description: 'Longest subscription. Longer requests are shortened to this.',
        }),
        interval: number(0, 3_600, {
          default: 1,
          unit: 's',
          description:
            'Shortest interval between two NOTIFYs to one subscriber. The next one reports the latest state.',
        }),
        calls: whole(1, 1_000, {
          default: 32,
          unit: 'calls',
          description: 'Calls listed in one NOTIFY about an extension, the oldest first.',
        }),
      },
      'Subscriptions of phones to BLF (`hints` of the dialplan) and to waiting messages.',
    ),
    templates: opaque({
      default: {},
      description:
        'Shared settings of several endpoints, by name. An endpoint takes them over with `extends`. Groups such as aor are merged setting by setting.',
    }),
    endpoints: named(endpoint, {
      default: {
        alice: { auth: { username: 'alice' } },
        bob: { auth: { username: 'bob' } },
        anonymous: { match: ['127.0.0.1', '::1'] },
      },
      description: 'Phones and trunks, by name. The name follows PJSIP/ in a dial string.',
    }),
  },
  'SIP: phones, trunks and transports.',
);
