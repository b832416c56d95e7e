/**
 * The plain attributes of endpoints, declared once. The configuration schema, the SIP driver's fields and defaults, the
 * run-time objects (in res_pjsip's words) and the import all follow from these tables. Attributes with a structure or
 * rule of their own (credentials, codecs, addresses) are declared where they are read.
 */

/** How Asterisk has an attribute, where that differs. `false`: Asterisk has none that means the same. */
type InAsterisk =
  | false
  | {
      readonly name?: string;
      /** Value of a new object. Left out: ours. */
      readonly initial?: string;
      /** Only whole numbers are taken. */
      readonly whole?: true;
      /** Asterisk's words for our choices; the first word for a choice is the one shown. */
      readonly words?: Readonly<Record<string, string>>;
    };

type Shared = {
  /** Field of the driver's settings. */
  readonly field: string;
  readonly description: string;
  readonly asterisk?: InAsterisk;
};

/** An attribute. Texts that are empty, and numbers that are 0 with `absentAtZero`, give the driver no field. */
export type EndpointAttribute = Shared &
  (
    | { readonly kind: 'text'; readonly default: ''; readonly form?: 'host' | 'sipUri' }
    | { readonly kind: 'flag'; readonly default: boolean }
    | { readonly kind: 'choice'; readonly default: string; readonly values: readonly string[] }
    | {
        readonly kind: 'whole' | 'number';
        readonly default: number;
        readonly least: number;
        readonly most: number;
        readonly unit: string;
        /** The driver's field is this many times the setting: 1000 for ms of a setting in s. */
        readonly scale?: number;
        readonly absentAtZero?: true;
      }
  );

export type EndpointAttributes = Readonly<Record<string, EndpointAttribute>>;

/** Properties of an attribute beside its type. */
type More = { readonly asterisk?: InAsterisk };

const text = <F extends string>(field: F, description: string, more: More & { form?: 'host' | 'sipUri' } = {}) => ({
  ...{ kind: 'text' as const, field, default: '' as const, description },
  ...more,
});

const flag = <F extends string>(field: F, initial: boolean, description: string, more: More = {}) => ({
  ...{ kind: 'flag' as const, field, default: initial, description },
  ...more,
});

/** The first value is the default unless `more` says otherwise. */
const choice = <F extends string, const V extends readonly string[]>(
  field: F,
  values: V,
  description: string,
  more: More & { default?: V[number] } = {},
) => ({ ...{ kind: 'choice' as const, field, values, default: values[0]!, description }, ...more });

type Bounds = { least: number; most: number; default: number; unit: string };

const whole = <F extends string, M extends More & { scale?: number; absentAtZero?: true }>(
  field: F,
  bounds: Bounds,
  description: string,
  more?: M,
) => ({ ...{ kind: 'whole' as const, field, ...bounds, description }, ...(more as M) });

/** A time in seconds, of which the driver has ms. */
const seconds = <F extends string>(field: F, bounds: Omit<Bounds, 'unit'>, description: string, more: More = {}) => ({
  ...{ kind: 'number' as const, field, ...bounds, unit: 's', scale: 1000, description },
  ...more,
});

/** Identity of callers and answering parties that an endpoint gets. */
export const identityAttributes = {
  trust_id_outbound: flag(
    'restricted',
    false,
    'Sends it private identities too (CALLERID(pres)), marked as private. Otherwise they are withheld.',
  ),
  send_pai: flag('pai', false, "Sends it the caller's identity in P-Asserted-Identity (RFC 3325)."),
  send_rpid: flag('rpid', false, "Sends it the caller's identity in Remote-Party-ID."),
  send_diversion: flag('diversion', true, 'Sends it the original target of a redirected call (Diversion, RFC 5806).'),
  send_history_info: flag('historyInfo', false, 'Sends it the redirections of a call as History-Info (RFC 7044).'),
  pass_identity: flag(
    'identityTokens',
    false,
    'Passes signed caller identities (Identity headers, RFC 8224) unchanged to other endpoints with this setting.',
    { asterisk: false },
  ),
} satisfies EndpointAttributes;

/** Calls of an endpoint, and how it is talked to. */
export const endpointAttributes = {
  max_video_streams: whole(
    'maxVideoStreams',
    { least: 1, most: 32, default: 1, unit: 'streams' },
    'Video streams of a call: its own camera and, in a video_sfu bridge, those of others. Each uses two ports, those of browsers none.',
  ),
  max_video_bandwidth: whole(
    'maxVideoBitrate',
    { least: 0, most: 1_000_000, default: 0, unit: 'kbit/s' },
    'Largest bit rate that its camera is asked to send, in each stream (b=AS and b=TIAS). 0: no limit is sent.',
    { scale: 1000, absentAtZero: true },
  ),
  subscribe_context: text(
    'subscribeContext',
    'Dialplan context of the hints that it may subscribe to (BLF). Empty: `context`.',
  ),
  trust_id_inbound: flag(
    'trustIdentity',
    false,
    'Trusts the identity that it asserts (P-Asserted-Identity, Remote-Party-ID).',
  ),
  send_connected_line: flag(
    'sendConnectedLine',
    true,
    'Sends it changes of the connected line (UPDATE, else re-INVITE). Needs send_pai or send_rpid.',
  ),
  timers: choice(
    'timers',
    ['no', 'yes', 'required', 'always'],
    'Session timers (RFC 4028). no: none. yes: if the peer supports them; on its own calls, if it requests them. required: calls without them fail. always: the server refreshes alone if the peer does not support them.',
    {
      default: 'yes',
      asterisk: { words: { no: 'no', yes: 'yes', required: 'required', always: 'always', forced: 'always' } },
    },
  ),
  timers_sess_expires: whole(
    'sessionSeconds',
    { least: 90, most: 86_400, default: 1_800, unit: 's' },
    'Session interval: a call ends if it is not refreshed for this long.',
  ),
  timers_min_se: whole(
    'shortestSessionSeconds',
    { least: 90, most: 86_400, default: 90, unit: 's' },
    'Shortest session interval that is accepted (Min-SE).',
  ),
  '100rel': choice(
    'reliable',
    ['no', 'yes', 'required', 'peer_supported'],
    'Reliable provisional responses (RFC 3262). no: none. yes: if the peer requires them. peer_supported: also if a caller supports them. required: calls without them fail.',
    { default: 'yes' },
  ),
  language: text('language', 'Language of prompts. Empty: sounds.default_language.'),
  account_code: text('accountCode', 'Account code of its channels.', { asterisk: { name: 'accountcode' } }),
  tenant_id: text('tenantId', 'Tenant of its channels. Empty: that of the caller.', { asterisk: { name: 'tenantid' } }),
  digits: choice(
    'digits',
    ['auto', 'info', 'inband', 'auto_inband'],
    'How digits are sent. auto: RFC 4733 events if the peer supports them, else SIP INFO. info: SIP INFO. inband: tones, which are also detected. auto_inband: RFC 4733 events, else tones.',
    {
      asterisk: {
        name: 'dtmf_mode',
        words: { rfc4733: 'auto', info: 'info', inband: 'inband', auto: 'auto_inband', auto_info: 'auto' },
      },
    },
  ),
  webrtc: flag(
    'webrtc',
    false,
    'It is a browser: audio takes ICE and DTLS-SRTP, and nothing else, and video is in the same transport. `media_encryption` says nothing then.',
  ),
  media_encryption: choice(
    'mediaEncryption',
    ['off', 'optional', 'best_effort', 'required'],
    'SRTP with keys in SDP. off: never. optional: if the peer offers it. best_effort: offered beside plain RTP. required: calls without it fail. Use it over tls or wss: the keys are only as secret as SIP.',
    { asterisk: false },
  ),
  symmetric: flag(
    'symmetric',
    true,
    'Sends to the source address of its messages instead of its Contact. For phones behind a NAT.',
    { asterisk: { name: 'rewrite_contact' } },
  ),
  from_user: text('fromUser', "User part of the From header towards it. Empty: the caller's number."),
  from_domain: text('fromDomain', "Host part of the From header towards it. Empty: the server's address.", {
    form: 'host',
  }),
  outbound_proxy: text('outboundProxy', 'SIP URI of the proxy for all requests to it. Empty: none.', {
    form: 'sipUri',
  }),
  redirect_method: choice(
    'redirects',
    ['none', 'user', 'uri_core'],
    'Whether calls that it redirects (302) are forwarded. none: no. user: to the named user, dialed in its context within allow.extensions. uri_core: to the named address.',
    {
      asterisk: {
        initial: 'user',
        words: { none: 'none', user: 'user', uri_core: 'uri_core', uri_pjsip: 'uri_core' },
      },
    },
  ),
  allow_transfer: flag(
    'allowTransfer',
    true,
    'Accepts transfers (REFER) from it, to targets that it may call itself: see allow.extensions.',
  ),
  allow_replaces: flag(
    'allowReplaces',
    false,
    'Lets it take over calls of other endpoints with the same context: by INVITE with Replaces (pickup by a BLF key) or by REFER. Its own calls are always allowed in a REFER.',
    { asterisk: false },
  ),
} satisfies EndpointAttributes;

/** Contacts of an endpoint. */
export const aorAttributes = {
  max_contacts: whole(
    'maxContacts',
    { least: 0, most: 100, default: 1, unit: 'contacts' },
    'Contacts that may be registered. The newest replaces the oldest. 0 refuses registration.',
    // An AOR of Asterisk takes no registrations unless told to.
    { asterisk: { initial: '0' } },
  ),
  qualify_frequency: seconds(
    'qualifyFrequencyMs',
    { least: 0, most: 86_400, default: 0 },
    'Interval between OPTIONS requests that check each contact. 0: never.',
    { asterisk: { whole: true } },
  ),
  qualify_timeout: seconds(
    'qualifyTimeoutMs',
    { least: 0.1, most: 60, default: 3 },
    'Time limit for the response to such a check.',
  ),
  minimum_expiration: whole(
    'minimumExpirationSeconds',
    { least: 1, most: 86_400, default: 60, unit: 's' },
    'Shortest registration that is accepted. Shorter ones are refused with 423.',
  ),
  maximum_expiration: whole(
    'maximumExpirationSeconds',
    { least: 1, most: 604_800, default: 7_200, unit: 's' },
    'Longest registration. Longer requests are shortened to this.',
  ),
  default_expiration: whole(
    'defaultExpirationSeconds',
    { least: 1, most: 604_800, default: 3_600, unit: 's' },
    'Registration time of a phone that requests none.',
  ),
} satisfies EndpointAttributes;

/** A registration at a provider, beside the registrar. */
export const registrationAttributes = {
  client: text('client', 'SIP URI to register. Empty: the user of outbound_auth at the server.', {
    form: 'sipUri',
    asterisk: { name: 'client_uri' },
  }),
  contact_user: text('contactUser', 'Extension that its calls enter. Empty: the registered user.'),
  expiration: whole(
    'expirationSeconds',
    { least: 30, most: 604_800, default: 3_600, unit: 's' },
    'Requested registration time.',
  ),
  shortest_refresh: seconds(
    'shortestRefreshMs',
    { least: 1, most: 3_600, default: 5 },
    'Shortest time between a registration and its refresh, even if the registrar grants less.',
    { asterisk: false },
  ),
  retry: seconds(
    'retryMs',
    { least: 1, most: 86_400, default: 15 },
    'Pause after a failure. It doubles with each further failure, less a random part.',
    { asterisk: { name: 'retry_interval', initial: '60', whole: true } },
  ),
  longest_retry: seconds('longestRetryMs', { least: 1, most: 86_400, default: 600 }, 'Longest such pause.', {
    asterisk: false,
  }),
  rejected_retry: seconds(
    'rejectedRetryMs',
    { least: 0, most: 604_800, default: 3_600 },
    'Pause after a permanent refusal such as 403. 0: no further attempt until a restart.',
    { asterisk: { name: 'forbidden_retry_interval', initial: '0', whole: true } },
  ),
} satisfies EndpointAttributes;

/** The type of an attribute's value. */
type ValueOf<A> = A extends { kind: 'text' }
  ? string
  : A extends { kind: 'flag' }
    ? boolean
    : A extends { kind: 'choice'; values: readonly (infer V)[] }
      ? V
      : number;

type MayBeAbsent = { kind: 'text' } | { absentAtZero: true };
type FieldOf<A> = A extends { field: infer F extends string } ? F : never;

/** The driver's fields of a table. */
export type FieldsOf<T> = {
  -readonly [K in keyof T as T[K] extends MayBeAbsent ? never : FieldOf<T[K]>]: ValueOf<T[K]>;
} & {
  -readonly [K in keyof T as T[K] extends MayBeAbsent ? FieldOf<T[K]> : never]?: ValueOf<T[K]>;
};

type Value = string | number | boolean;

/** Values of settings as the driver's fields. A setting that is left out has its default. */
export function fieldsOf<T extends EndpointAttributes>(table: T, values: { readonly [K in keyof T]?: unknown }) {
  const fields: Record<string, unknown> = {};
  for (const [name, attribute] of Object.entries<EndpointAttribute>(table)) {
    const value = (values[name] ?? attribute.default) as Value;
    if (value === '' || (value === 0 && 'absentAtZero' in attribute)) continue;
    fields[attribute.field] = typeof value === 'number' ? value * scaleOf(attribute) : value;
  }
  return fields as FieldsOf<T>;
}

const scaleOf = (attribute: EndpointAttribute): number => ('scale' in attribute && attribute.scale) || 1;

/** Asterisk's name of an attribute; undefined if Asterisk has none that means the same. */
export const asteriskName = (name: string, { asterisk }: EndpointAttribute): string | undefined =>
  asterisk === false ? undefined : (asterisk?.name ?? name);

/** Asterisk's words for the values of a choice. */
export function asteriskWords(attribute: EndpointAttribute & { kind: 'choice' }): Readonly<Record<string, string>> {
  const words = attribute.asterisk !== false && attribute.asterisk?.words;
  if (words) return words;
  return Object.fromEntries(attribute.values.map((value) => [value, value]));
}

/** A value of a setting as Asterisk writes it. */
export function toAsterisk(attribute: EndpointAttribute, value: unknown): string {
  if (attribute.kind === 'flag') return value ? 'yes' : 'no';
  if (attribute.kind !== 'choice') return String(value);
  return Object.entries(asteriskWords(attribute)).find(([, own]) => own === value)?.[0] ?? '';
}

/** A value that Asterisk writes as the value of the setting. Words that it does not know, and no number, are the default. */
export function fromAsterisk<A extends EndpointAttribute>(attribute: A, text: string): ValueOf<A> {
  return valueFrom(attribute, text) as ValueOf<A>;
}

function valueFrom(attribute: EndpointAttribute, text: string): Value {
  switch (attribute.kind) {
    case 'text':
      return text;
    case 'flag':
      return text === 'yes';
    case 'choice':
      return asteriskWords(attribute)[text] ?? attribute.default;
    default:
      return text === '' ? attribute.default : Number(text);
  }
}

/** A driver's fields in the words of Asterisk, by Asterisk's names. */
export function fieldsToAsterisk<T extends EndpointAttributes>(table: T, fields: FieldsOf<T>): Record<string, string> {
  const known = fields as Readonly<Record<string, Value | undefined>>;
  return Object.fromEntries(
    Object.entries<EndpointAttribute>(table).flatMap(([name, attribute]) => {
      const theirs = asteriskName(name, attribute);
      const field = known[attribute.field] ?? (typeof attribute.default === 'number' ? 0 : attribute.default);
      const value = typeof field === 'number' ? field / scaleOf(attribute) : field;
      return theirs === undefined ? [] : [[theirs, toAsterisk(attribute, value)]];
    }),
  );
}

/** Asterisk's values as the driver's fields; missing ones have their defaults. */
export function fieldsFromAsterisk<T extends EndpointAttributes>(table: T, values: Readonly<Record<string, string>>) {
  const settings = Object.entries<EndpointAttribute>(table).flatMap(([name, attribute]) => {
    const theirs = asteriskName(name, attribute);
    return theirs === undefined ? [] : [[name, fromAsterisk(attribute, values[theirs] ?? '')]];
  });
  return fieldsOf(table, Object.fromEntries(settings));
}
