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
      description: 'Transport protocol; tls and wss show a certificate of tls.certificates.',
    }),
    bind: text({ default: '127.0.0.1', rule: 'address', description: 'Address to listen on.' }),
    port: optional(
      port({
        description: 'Port to listen on; 0 lets the system choose. Left out: 5060, tls 5061, ws 8080, wss 8443.',
      }),
    ),
    client_certificates: optional(
      choice(['none', 'optional', 'required'], {
        description:
          'Over tls and wss: whether peers show a certificate that one of tls.client_authorities has signed; one that is shown must be good in any case. Left out: none.',
      }),
    ),
  },
  'One address that SIP is spoken on.',
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
      description: 'Extension that its calls come in by. Empty: the user that is registered.',
    }),
    expiration: whole(30, 604_800, { default: 3_600, unit: 's', description: 'How long to register for.' }),
    retry: number(1, 86_400, {
      default: 15,
      unit: 's',
      description: 'How long to wait after a failure; twice as long after each further one, less a part by chance.',
    }),
    longest_retry: number(1, 86_400, { default: 600, unit: 's', description: 'No longer than that.' }),
    rejected_retry: number(0, 604_800, {
      default: 3_600,
      unit: 's',
      description: 'How long to wait after a refusal that will not change by itself, such as 403; 0: until a restart.',
    }),
  },
  'A registration of ours.',
);

/** One endpoint of `sip.endpoints`. */
export const endpoint = group(
  {
    extends: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Templates of sip.templates that it has its settings from; later ones and its own win.',
    }),
    context: text({ default: 'default', description: 'Dialplan context that its calls enter.' }),
    subscribe_context: text({
      default: '',
      description: 'Dialplan context of the hints that it can subscribe to (BLF). Empty: the context of its calls.',
    }),
    auth: optional(
      group(
        {
          username: text({ description: 'User name in the digest.' }),
          password: optional(
            text({
              description: 'Password in the digest. Left out: HOOKSWITCH_PASSWORD, or the one made up at start-up.',
            }),
          ),
        },
        'What the phone must know to register and to call. Left out: it may call only from an address in `match`.',
      ),
    ),
    outbound_auth: optional(
      group(
        {
          username: text({ description: 'User name in the digest.' }),
          password: text({ description: 'Password in the digest.' }),
          realm: optional(text({ description: 'The only realm to answer. Left out: any.' })),
        },
        'What we answer when the other side asks us for a password.',
      ),
    ),
    aor: group(
      {
        max_contacts: whole(0, 100, {
          default: 1,
          unit: 'contacts',
          description:
            'How many places may be registered at once; 0 refuses registration. The newest replaces the oldest.',
        }),
        contacts: list(Type.String({ rule: 'sipUri' }), {
          default: [],
          description: 'SIP URIs where the endpoint is without registering, e.g. sip:10.0.0.7:5060.',
        }),
        qualify_frequency: number(0, 86_400, {
          default: 0,
          unit: 's',
          description: 'How often to ask (OPTIONS) whether a contact is there; 0 never.',
        }),
        qualify_timeout: number(0.1, 60, { default: 3, unit: 's', description: 'How long to wait for its answer.' }),
        minimum_expiration: whole(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'Shortest registration accepted; shorter ones are refused with 423.',
        }),
        maximum_expiration: whole(1, 604_800, {
          default: 7_200,
          unit: 's',
          description: 'Longest registration given; longer wishes are cut to this.',
        }),
        default_expiration: whole(1, 604_800, {
          default: 3_600,
          unit: 's',
          description: 'Registration given to a phone that names no time.',
        }),
      },
      'Address of record: where the endpoint can be reached.',
    ),
    codecs: list(codec, {
      default: ['ulaw', 'alaw'],
      commaList: true,
      description: 'Codecs to offer and accept, the preferred one first.',
    }),
    opus: optional(group(opusSettings, 'Opus for this endpoint, in place of all that media.opus says.')),
    ...endpointVideo,
    caller_id: text({
      default: '',
      description: 'Caller id of its calls, `"Name" <number>`. Empty: what the phone says.',
    }),
    trust_id: flag({
      default: false,
      description:
        'Believe who the other side says is calling (P-Asserted-Identity), and tell it who calls: trust_id_inbound and send_pai in one.',
    }),
    trust_id_inbound: flag({
      default: false,
      description: 'Believe who the other side says is calling (P-Asserted-Identity, Remote-Party-ID).',
    }),
    trust_id_outbound: flag({
      default: false,
      description:
        'Send it the identity of private callers too (CALLERID(pres)), marked as private. Otherwise they stay anonymous.',
    }),
    send_pai: flag({ default: false, description: 'Tell it who calls by P-Asserted-Identity (RFC 3325).' }),
    send_rpid: flag({ default: false, description: 'Tell it who calls by Remote-Party-ID.' }),
    send_diversion: flag({
      default: true,
      description: 'Tell it whom a call was meant for before it was redirected (Diversion, RFC 5806).',
    }),
    send_history_info: flag({ default: false, description: 'The same by History-Info (RFC 7044).' }),
    pass_identity: flag({
      default: false,
      description:
        'Pass signed caller identities (Identity headers, RFC 8224) of its calls on to other endpoints with this setting, untouched.',
    }),
    send_connected_line: flag({
      default: true,
      description:
        'Tell the other side who it is connected to when that changes (UPDATE, else re-INVITE); only with send_pai or send_rpid.',
    }),
    timers: choice(['no', 'yes', 'required', 'always'], {
      default: 'yes',
      description:
        'Whether its calls are watched by refreshing them (RFC 4028): no; yes, where it understands that (when it calls, where it asks for that); required, without it there is no call; always, by us alone where it does not.',
    }),
    timers_sess_expires: whole(90, 86_400, {
      default: 1_800,
      unit: 's',
      description: 'How long such a call may be without a refresh.',
    }),
    timers_min_se: whole(90, 86_400, { default: 90, unit: 's', description: 'The shortest such time that we take.' }),
    '100rel': choice(['no', 'yes', 'required', 'peer_supported'], {
      default: 'yes',
      description:
        'Reliable provisional responses (RFC 3262): no; yes, where the other side requires them; peer_supported, also where a caller understands them; required, without them there is no call.',
    }),
    language: text({ default: '', description: 'Language of prompts. Empty: sounds.default_language.' }),
    account_code: text({ default: '', description: 'Account code of its channels.' }),
    variables: named(text({ description: 'The value of the variable.' }), {
      default: {},
      description: 'Variables that its calls have from the start.',
    }),
    tenant_id: text({ default: '', description: 'Tenant that its channels belong to. Empty: that of who calls it.' }),
    digits: choice(['auto', 'info', 'inband', 'auto_inband'], {
      default: 'auto',
      description:
        'How digits travel: auto as events in the audio stream (RFC 4733) where the other side takes them, or else as SIP INFO; info always as SIP INFO; inband as tones, which are looked for in the audio; auto_inband as events, or else as tones.',
    }),
    media_encryption: choice(['off', 'optional', 'best_effort', 'required'], {
      default: 'off',
      description:
        'Secret audio (SRTP, keys in SDP): off; optional, where the other side offers it; best_effort, offered beside plain audio; required, without it there is no call. Keys are as secret as SIP is: use it over tls or wss.',
    }),
    symmetric: flag({
      default: true,
      description:
        'Send to where its messages come from rather than to what its Contact says: for phones behind a NAT.',
    }),
    from_user: text({ default: '', description: 'User part of our From towards it. Empty: the number of the caller.' }),
    from_domain: text({ default: '', description: 'Host part of our From towards it. Empty: our address.' }),
    outbound_proxy: text({
      default: '',
      description: 'SIP URI of the proxy that everything sent to it goes through. Empty: none.',
    }),
    registrations: list(registration, {
      default: [],
      description:
        'Registrars that are told where we are: a line at a provider. The first one is also where its calls go out, unless aor.contacts says otherwise.',
    }),
    allow: group(
      {
        sources: networks('Networks that its requests outside calls may come from. Empty: anywhere.'),
        registration_sources: networks('Networks that it may register from, besides. Empty: anywhere.'),
        transports: list(Type.Enum(['udp', 'tcp', 'tls', 'ws', 'wss']), {
          default: [],
          commaList: true,
          description: 'What its requests may come over. Empty: anything.',
        }),
        calls: whole(0, 1_000_000, {
          default: 0,
          unit: 'calls',
          description: 'Calls at once, in both directions; further ones find it busy. 0: any number.',
        }),
        extensions: list(Type.String(), {
          default: [],
          description: 'Extensions and patterns (_0[1-9]X.) that it may call. Empty: all that its context has.',
        }),
      },
      'What the endpoint may do. Limits the damage of a stolen password.',
    ),
    redirect_method: choice(['none', 'user', 'uri_core'], {
      default: 'none',
      description:
        'Whether calls that it forwards (302) go on there: none; user, to what it names as if it dialed that in its context, within allow.extensions; uri_core, to the address that it names.',
    }),
    allow_transfer: flag({
      default: true,
      description: 'Let it put calls through to others (REFER): to whom it may call by itself, see allow.extensions.',
    }),
    allow_replaces: flag({
      default: false,
      description:
        'Let it take over calls of other endpoints with the same context: by INVITE with Replaces (pickup by a BLF key), or by a REFER that names them. Its own calls it may always name in a REFER.',
    }),
    transfer_handling: choice(['core', 'client'], {
      default: 'core',
      description:
        'Who carries out the transfers that it asks for: core, this server; client, the application in control, which is told by ChannelTransfer. PJSIP_TRANSFER_HANDLING() says it for one channel.',
    }),
    match: list(Type.String({ rule: 'network' }), {
      default: [],
      commaList: true,
      description:
        'Source addresses or networks (10.1.0.0/16) whose calls are this endpoint, without a password. What a loopback address receives is of this machine, and counts as sent from that address.',
    }),
  },
  'A phone or a line: the name is what comes after PJSIP/ in a dial string.',
);

const timer = (milliseconds: number, about: string) =>
  whole(1, 600_000, { default: milliseconds, unit: 'ms', description: about });

/** The section `sip`. */
export const sip = group(
  {
    transports: list(transport, {
      default: [{ protocol: 'udp' }, { protocol: 'tcp' }],
      description: 'Where SIP is spoken.',
    }),
    allowed_origins: list(Type.String({ rule: 'origin' }), {
      default: [],
      commaList: true,
      description: 'Web pages whose browser may speak SIP over WebSocket, e.g. https://desk.example.org, or *.',
    }),
    external_address: text({
      default: '',
      description: 'Address to put into SIP messages and SDP instead of our own, when behind a NAT.',
    }),
    stun_server: text({
      default: '',
      description:
        'Server to learn that address from (STUN), e.g. stun.example.org or 192.0.2.1:3478, when external_address is empty. Asked once a minute. Empty: none.',
    }),
    local_networks: list(Type.String({ rule: 'network' }), {
      default: [],
      commaList: true,
      description: 'Networks on our side of the NAT: there our own address is told.',
    }),
    user_agent: text({ default: 'Hookswitch', description: 'What User-Agent and Server headers say.' }),
    realm: text({ default: 'hookswitch', description: 'Realm that phones are asked a password for.' }),
    digest_algorithms: list(Type.Enum(['MD5', 'SHA-256']), {
      default: ['MD5'],
      commaList: true,
      description:
        'Digests that phones may prove their password with, the preferred one first. Some phones that know MD5 alone give up when SHA-256 is offered beside it.',
    }),
    dns: group(
      {
        servers: list(Type.String({ rule: 'nameServer' }), {
          default: [],
          commaList: true,
          description:
            'Name servers to ask for SIP servers, e.g. 10.0.0.53 or 10.0.0.53:5353. Empty: those of the system.',
        }),
        minimum_ttl: number(1, 86_400, {
          default: 10,
          unit: 's',
          description: 'Shortest time that an answer is believed, also that there is none.',
        }),
        maximum_ttl: number(1, 86_400, {
          default: 3_600,
          unit: 's',
          description: 'Longest time that an answer is believed, whatever it says.',
        }),
        remembered: whole(10, 1_000_000, {
          default: 1_000,
          unit: 'answers',
          description: 'Answers remembered; beyond it the oldest are forgotten.',
        }),
        most_records: whole(1, 100, {
          default: 8,
          unit: 'records',
          description: 'NAPTR or SRV records of one answer that are followed, the preferred ones first.',
        }),
        most_addresses: whole(1, 100, {
          default: 8,
          unit: 'addresses',
          description: 'Addresses of one domain that a request tries in turn.',
        }),
        failover_timeout: number(0.1, 32, {
          default: 4,
          unit: 's',
          description: 'How long a server of several is waited for before the next one is asked; the last has 64 × T1.',
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
          description: 'How long a server that did not answer is asked after all others.',
        }),
      },
      'How SIP servers are found by name (RFC 3263).',
    ),
    timers: group(
      {
        t1: timer(500, 'Estimated round trip (RFC 3261 T1): the base of all retransmissions.'),
        t2: timer(4_000, 'Longest time between retransmissions (RFC 3261 T2).'),
        t4: timer(5_000, 'Longest time a message stays in the network (RFC 3261 T4).'),
      },
      'Times of the SIP transactions.',
    ),
    connected_line_delay: number(0, 30, {
      default: 0.5,
      unit: 's',
      description:
        'How long after its answer a phone without UPDATE gets no re-INVITE that only shows who it is connected to: many phones send one of their own then.',
    }),
    most_redirections: whole(0, 100, {
      default: 5,
      unit: 'redirections',
      description:
        'How often a call may have been redirected, here and before it came in, to be forwarded once more; nor is it forwarded twice to the same place.',
    }),
    most_branches: whole(1, 10_000, {
      default: 64,
      unit: 'places',
      description:
        'Places that one call may ring at where a proxy calls several; what further ones answer is left out.',
    }),
    waiting_provisional: whole(1, 100, {
      default: 8,
      unit: 'responses',
      description:
        'Reliable provisional responses of one call that may wait for the PRACK of the one before; of more the oldest are left out.',
    }),
    transfers: group(
      {
        per_call: whole(1, 100, {
          default: 1,
          unit: 'transfers',
          description: 'Transfers of one call that may be under way at a time; further ones are refused with 491.',
        }),
        timeout: number(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'How long the target of a transfer, or the application that carries it out, has in each step.',
        }),
        bye_timeout: number(0, 30, {
          default: 0.5,
          unit: 's',
          description:
            'How long a phone may take to hang up by itself after its transfer: when it has succeeded it is sent a BYE then; when it has failed a phone that hangs up within this time is called back.',
        }),
        call_back: flag({
          default: true,
          description:
            'Call back a phone that has hung up when the target of its transfer cannot be had, or hangs up when it is told so.',
        }),
      },
      'Calls that phones put through to others.',
    ),
    video,
    limits: sipLimits,
    subscriptions: group(
      {
        most: whole(1, 10_000_000, {
          default: 10_000,
          unit: 'subscriptions',
          description: 'Subscriptions of phones at once: BLF and waiting messages.',
        }),
        per_endpoint: whole(1, 1_000_000, {
          default: 100,
          unit: 'subscriptions',
          description: 'Those of one endpoint; a key that shows somebody is one.',
        }),
        minimum_expiration: whole(1, 86_400, {
          default: 60,
          unit: 's',
          description: 'Shortest subscription accepted; shorter ones are refused with 423.',
        }),
        maximum_expiration: whole(60, 604_800, {
          default: 86_400,
          unit: 's',
          description: 'Longest subscription given; longer wishes are cut to this.',
        }),
        interval: number(0, 3_600, {
          default: 1,
          unit: 's',
          description:
            'Shortest time between two messages to one subscriber; what changes meanwhile is told as it is then.',
        }),
        calls: whole(1, 1_000, {
          default: 32,
          unit: 'calls',
          description: 'Calls that one message about an extension tells of, the oldest first.',
        }),
      },
      'Phones that watch others, or their messages.',
    ),
    templates: opaque({
      default: {},
      description: 'What several endpoints have in common, by name: settings of endpoints, which `extends` takes over.',
    }),
    endpoints: named(endpoint, {
      default: {
        alice: { auth: { username: 'alice' } },
        bob: { auth: { username: 'bob' } },
        anonymous: { match: ['127.0.0.1', '::1'] },
      },
      description: 'Phones and lines by name.',
    }),
  },
  'The SIP side: phones, lines and where they connect.',
);
