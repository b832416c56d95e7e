import { Type } from 'typebox';
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
    client: text({
      default: '',
      description: 'SIP URI to register. Empty: the user of outbound_auth at the server.',
    }),
    contact_user: text({
      default: '',
      description: 'Extension that its calls enter. Empty: the registered user.',
    }),
    expiration: whole(30, 604_800, { default: 3_600, unit: 's', description: 'Requested registration time.' }),
    retry: number(1, 86_400, {
      default: 15,
      unit: 's',
      description: 'Pause after a failure. It doubles with each further failure, less a random part.',
    }),
    longest_retry: number(1, 86_400, { default: 600, unit: 's', description: 'Longest such pause.' }),
    rejected_retry: number(0, 604_800, {
      default: 3_600,
      unit: 's',
      description: 'Pause after a permanent refusal such as 403. 0: no further attempt until a restart.',
    }),
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
    subscribe_context: text({
      default: '',
      description: 'Dialplan context of the hints that it may subscribe to (BLF). Empty: `context`.',
    }),
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
        max_contacts: whole(0, 100, {
          default: 1,
          unit: 'contacts',
          description: 'Contacts that may be registered. The newest replaces the oldest. 0 refuses registration.',
        }),
        contacts: list(Type.String({ rule: 'sipUri' }), {
          default: [],
          description: 'SIP URIs that reach the endpoint without registration, e.g. sip:10.0.0.7:5060.',
        }),
        qualify_frequency: number(0, 86_400, {
          default: 0,
          unit: 's',
          description: 'Interval between OPTIONS requests that check each contact. 0: never.',
        }),
        qualify_timeout: number(0.1, 60, {
          default: 3,
          unit: 's',
          description: 'Time limit for the response to such a check.',
        }),
        minimum_expiration: whole(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'Shortest registration that is accepted. Shorter ones are refused with 423.',
        }),
        maximum_expiration: whole(1, 604_800, {
          default: 7_200,
          unit: 's',
          description: 'Longest registration. Longer requests are shortened to this.',
        }),
        default_expiration: whole(1, 604_800, {
          default: 3_600,
          unit: 's',
          description: 'Registration time of a phone that requests none.',
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
    trust_id_inbound: flag({
      default: false,
      description: 'Trusts the identity that it asserts (P-Asserted-Identity, Remote-Party-ID).',
    }),
    trust_id_outbound: flag({
      default: false,
      description: 'Sends it private identities too (CALLERID(pres)), marked as private. Otherwise they are withheld.',
    }),
    send_pai: flag({
      default: false,
      description: "Sends it the caller's identity in P-Asserted-Identity (RFC 3325).",
    }),
    send_rpid: flag({ default: false, description: "Sends it the caller's identity in Remote-Party-ID." }),
    send_diversion: flag({
      default: true,
      description: 'Sends it the original target of a redirected call (Diversion, RFC 5806).',
    }),
    send_history_info: flag({
      default: false,
      description: 'Sends it the redirections of a call as History-Info (RFC 7044).',
    }),
    pass_identity: flag({
      default: false,
      description:
        'Passes signed caller identities (Identity headers, RFC 8224) unchanged to other endpoints with this setting.',
    }),
    send_connected_line: flag({
      default: true,
      description: 'Sends it changes of the connected line (UPDATE, else re-INVITE). Needs send_pai or send_rpid.',
    }),
    timers: choice(['no', 'yes', 'required', 'always'], {
      default: 'yes',
      description:
        'Session timers (RFC 4028). no: none. yes: if the peer supports them; on its own calls, if it requests them. required: calls without them fail. always: the server refreshes alone if the peer does not support them.',
    }),
    timers_sess_expires: whole(90, 86_400, {
      default: 1_800,
      unit: 's',
      description: 'Session interval: a call ends if it is not refreshed for this long.',
    }),
    timers_min_se: whole(90, 86_400, {
      default: 90,
      unit: 's',
      description: 'Shortest session interval that is accepted (Min-SE).',
    }),
    '100rel': choice(['no', 'yes', 'required', 'peer_supported'], {
      default: 'yes',
      description:
        'Reliable provisional responses (RFC 3262). no: none. yes: if the peer requires them. peer_supported: also if a caller supports them. required: calls without them fail.',
    }),
    language: text({ default: '', description: 'Language of prompts. Empty: sounds.default_language.' }),
    account_code: text({ default: '', description: 'Account code of its channels.' }),
    variables: named(text({ description: 'The value of the variable.' }), {
      default: {},
      description: 'Variables set on its channels at their start.',
    }),
    tenant_id: text({ default: '', description: 'Tenant of its channels. Empty: that of the caller.' }),
    digits: choice(['auto', 'info', 'inband', 'auto_inband'], {
      default: 'auto',
      description:
        'How digits are sent. auto: RFC 4733 events if the peer supports them, else SIP INFO. info: SIP INFO. inband: tones, which are also detected. auto_inband: RFC 4733 events, else tones.',
    }),
    media_encryption: choice(['off', 'optional', 'best_effort', 'required'], {
      default: 'off',
      description:
        'SRTP with keys in SDP. off: never. optional: if the peer offers it. best_effort: offered beside plain RTP. required: calls without it fail. Use it over tls or wss: the keys are only as secret as SIP.',
    }),
    symmetric: flag({
      default: true,
      description: 'Sends to the source address of its messages instead of its Contact. For phones behind a NAT.',
    }),
    from_user: text({
      default: '',
      description: "User part of the From header towards it. Empty: the caller's number.",
    }),
    from_domain: text({
      default: '',
      description: "Host part of the From header towards it. Empty: the server's address.",
    }),
    outbound_proxy: text({
      default: '',
      description: 'SIP URI of the proxy for all requests to it. Empty: none.',
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
    redirect_method: choice(['none', 'user', 'uri_core'], {
      default: 'none',
      description:
        'Whether calls that it redirects (302) are forwarded. none: no. user: to the named user, dialed in its context within allow.extensions. uri_core: to the named address.',
    }),
    allow_transfer: flag({
      default: true,
      description: 'Accepts transfers (REFER) from it, to targets that it may call itself: see allow.extensions.',
    }),
    allow_replaces: flag({
      default: false,
      description:
        'Lets it take over calls of other endpoints with the same context: by INVITE with Replaces (pickup by a BLF key) or by REFER. Its own calls are always allowed in a REFER.',
    }),
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
