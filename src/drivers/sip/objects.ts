import { isNetwork } from '../../lib/addresses.ts';
import { absentFormatNames, isVideoFormat, videoFormatNames } from '../../lib/formats.ts';
import {
  aorAttributes,
  asteriskName,
  asteriskWords,
  type EndpointAttribute,
  type EndpointAttributes,
  endpointAttributes,
  fieldsFromAsterisk,
  identityAttributes,
  registrationAttributes,
  toAsterisk,
} from '../../models/endpoint-attributes.ts';
import { parseUri } from '../../sip/message/uri.ts';
import { audioCodecs, isAudioCodec } from '../../sip/sdp/codecs.ts';
import { transferHandlingIn } from '../../telephony/driver.ts';
import type { Party } from '../../telephony/party.ts';
import {
  type AorConfig,
  defaultAor,
  defaultEndpoint,
  type EndpointConfig,
  type EndpointSecret,
  type RegistrationConfig,
} from './config.ts';

/**
 * Endpoints, AORs and credentials with Asterisk's attributes (`res_pjsip`), as clients create them at run time. Attributes
 * without effect here are kept, so that provisioning programs work. Attributes whose loss would make an endpoint less
 * safe (encryption, access lists) only accept "no", or do not exist.
 */

/** An attribute; see `Attribute` of the store that keeps the objects. */
export type Attribute = {
  initial: string;
  secret?: true;
  changes?: string;
  refusal?: string;
  read(given: string, before: string, again: boolean): string | undefined;
};
type Values = Readonly<Record<string, string>>;
export type SipObject = { readonly id: string; readonly values: Values };

/** Caller ids as text: the dialplan's business. */
export type CallerIds = { parse(text: string): Party; format(party: Party): string };

/* ---- Values ---------------------------------------------------------------------------------------------------- */

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const isPlain = (value: string): boolean => value.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(value);

const text = (initial = ''): Attribute => ({ initial, read: (given) => (isPlain(given) ? given.trim() : undefined) });
const secret = (form: RegExp): Attribute => ({
  initial: '',
  secret: true,
  read: (given) => (isPlain(given) && form.test(given) ? given : undefined),
});

const truths: Readonly<Record<string, 'yes' | 'no'>> = {
  yes: 'yes',
  true: 'yes',
  on: 'yes',
  '1': 'yes',
  no: 'no',
  false: 'no',
  off: 'no',
  '0': 'no',
};
const truthOf = (given: string) =>
  Object.hasOwn(truths, given.toLowerCase()) ? truths[given.toLowerCase()] : undefined;
const flag = (initial: 'yes' | 'no'): Attribute => ({ initial, read: truthOf });
const host: Attribute = { initial: '', read: (given) => (/^[\w.:[\]-]{0,255}$/.test(given) ? given : undefined) };
/** Unsupported attributes that an endpoint would be less safe without: only "no" is accepted. */
const never: Attribute = {
  initial: 'no',
  refusal: 'is not there: without it the endpoint would be less safe than it is meant to be. Only "no" is taken',
  read: (given) => (truthOf(given) === 'no' ? 'no' : undefined),
};
/** The same of what is named rather than switched on. */
const nothing: Attribute = {
  initial: '',
  refusal: 'is not there: without it the endpoint would be less safe than it is meant to be. Only nothing is taken',
  read: (given) => (given.trim() === '' ? '' : undefined),
};

const noSecret: Attribute = { ...nothing, secret: true };

/** Attributes that only tune: kept as they are given, and shown. */
const kept = (names: string): Record<string, Attribute> =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, text()]),
  );

const word = (initial: string, ...words: string[]): Attribute => ({
  initial,
  read: (given) => (words.includes(given.toLowerCase()) ? given.toLowerCase() : undefined),
});

const number = (initial: number, least: number, most: number, whole = true): Attribute => ({
  initial: String(initial),
  read(given) {
    const value = /^\d{1,9}(\.\d{1,6})?$/.test(given.trim()) ? Number(given) : Number.NaN;
    return value >= least && value <= most && (!whole || Number.isInteger(value)) ? String(value) : undefined;
  },
});

const itemsOf = (list: string): string[] => list.split(',').flatMap((item) => item.trim() || []);

const isSipUri = (uri: string): boolean => /^sips?:/i.test(uri) && parseUri(uri) !== undefined;

const uriOrNothing: Attribute = {
  initial: '',
  read: (given) => (given === '' || (isPlain(given) && isSipUri(given)) ? given : undefined),
};

/** Contacts that need not register; the first of a request replaces those there are, further ones are added. */
const uris: Attribute = {
  initial: '',
  read(given, before, again) {
    const items = itemsOf(given);
    if (!isPlain(given) || !items.every(isSipUri)) return undefined;
    return [...new Set([...(again ? itemsOf(before) : []), ...items])].join(',');
  },
};

/* ---- Codecs ---------------------------------------------------------------------------------------------------- */

/** Formats of Asterisk that there are no codecs for: they may be asked for, and are left out. */
const otherFormats: ReadonlySet<string> = new Set(absentFormatNames);

const isCodec = (name: string): boolean => isAudioCodec(name) || isVideoFormat(name);

/** `ulaw,vp8`, `all`, `!alaw`: item by item on a list of codecs. Video has to be named: `all` of what is let in is all audio. */
function changeCodecs(list: string, given: string, allow: boolean): string | undefined {
  let chosen = itemsOf(list);
  for (const item of itemsOf(given.toLowerCase())) {
    const excluded = item.startsWith('!');
    // A packet length (`ulaw:20`) is the far side's to choose here.
    const name = (excluded ? item.slice(1) : item).replace(/:\d+$/, '');
    if (name !== 'all' && !isCodec(name) && !otherFormats.has(name)) return undefined;
    const letsIn = allow !== excluded;
    const all = letsIn ? audioCodecs : [...audioCodecs, ...videoFormatNames];
    const named: readonly string[] = name === 'all' ? all : [name].filter(isCodec);
    chosen = chosen.filter((codec) => !named.includes(codec));
    if (letsIn) chosen.push(...named);
  }
  return chosen.join(',');
}

const allow: Attribute = {
  initial: defaultEndpoint.codecs.join(','),
  read: (given, before, again) => changeCodecs(again ? before : '', given, true),
};
const disallow: Attribute = {
  initial: '',
  changes: 'allow',
  read: (given, before) => changeCodecs(before, given, false),
};

/** Source addresses and networks; the first of a request replaces those there are, further ones are added. */
const networks: Attribute = {
  initial: '',
  refusal: 'takes IP addresses and networks only: a name could become another address',
  read(given, before, again) {
    const items = itemsOf(given);
    if (!isPlain(given) || !items.every(isNetwork)) return undefined;
    return [...new Set([...(again ? itemsOf(before) : []), ...items])].join(',');
  },
};

/** `NAME=value` of the variables of its calls; further ones of a request are added. */
const settings: Attribute = {
  initial: '',
  refusal: 'is NAME=value',
  read(given, before, again) {
    if (given === '') return again ? before : '';
    if (!isPlain(given) || !/^[A-Za-z_]\w{0,79}=/.test(given)) return undefined;
    // `;` separates several values, so no value may contain it. In Asterisk's files it begins a comment.
    const all = [...(again && before !== '' ? before.split(';') : []), given];
    return given.includes(';') || all.length > mostVariables ? undefined : all.join(';');
  },
};
const mostVariables = 100;

/** `set_var` of an endpoint as variables. */
const variablesOf = (kept: string): Record<string, string> =>
  Object.fromEntries(
    kept.split(';').flatMap((each) => {
      const equals = each.indexOf('=');
      return equals < 1 ? [] : [[each.slice(0, equals), each.slice(equals + 1)]];
    }),
  );

/** An attribute of an endpoint, or a variable of its `set_var`; undefined if it is neither. */
export function attributeOf({ values }: SipObject, name: string): string | undefined {
  if (Object.hasOwn(values, name)) return values[name];
  const variables = variablesOf(values['set_var'] ?? '');
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/* ---- The kinds of objects -------------------------------------------------------------------------------------- */

const isId = (id: string): boolean => id.length >= 1 && id.length <= 80 && isPlain(id) && !/[\s/@;,<>"]/.test(id);

/** The attributes of a table as Asterisk has them. */
const attributesOf = (table: EndpointAttributes): Record<string, Attribute> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, each]) => {
      const theirs = asteriskName(name, each);
      return theirs === undefined ? [] : [[theirs, attributeFor(each)]];
    }),
  );

function attributeFor(each: EndpointAttribute): Attribute {
  const { initial, whole } = { initial: toAsterisk(each, each.default), whole: false, ...each.asterisk };
  if (each.kind === 'flag') return flag(initial === 'yes' ? 'yes' : 'no');
  if (each.kind === 'choice') return word(initial, ...Object.keys(asteriskWords(each)));
  if (each.kind !== 'text') return number(Number(initial), each.least, each.most, whole || each.kind === 'whole');
  return each.form === 'host' ? host : each.form === 'sipUri' ? uriOrNothing : text();
}

/** Attributes that tune details which work otherwise here, and whose loss makes nothing less safe. */
const keptByEndpoints = `
  accept_multiple_sdp_answers allow_overlap allow_unauthenticated_options asymmetric_rtp_codec
  bind_rtp_to_media_address bundle codec_prefs_incoming_answer codec_prefs_incoming_offer codec_prefs_outgoing_answer
  codec_prefs_outgoing_offer contact_user cos_audio cos_video direct_media_glare_mitigation
  disable_direct_media_on_nat dtls_auto_generate_cert dtls_ca_file dtls_ca_path dtls_cert_file dtls_cipher
  dtls_fingerprint dtls_private_key dtls_rekey dtls_setup dtls_verify fax_detect fax_detect_timeout
  follow_early_media_fork force_avp g726_non_standard geoloc_incoming_call_profile geoloc_outgoing_call_profile
  ignore_183_without_sdp incoming_call_offer_pref incoming_mwi_mailbox max_audio_streams media_address
  media_encryption_optimistic media_use_received_transport moh_passthrough mwi_from_user
  mwi_subscribe_replaces_unsolicited notify_early_inuse_ringing one_touch_recording outgoing_call_offer_pref
  overlap_context preferred_codec_only record_off_feature record_on_feature refer_blind_progress rpid_immediate rtcp_mux
  rtp_engine rtp_ipv6 sdp_owner sdp_session security_mechanisms send_aoc
  srtp_tag_32 sub_min_expiry suppress_moh_on_sendonly suppress_q850_reason_headers t38_bind_udptl_to_media_address
  t38_udptl t38_udptl_ec t38_udptl_ipv6 t38_udptl_maxdatagram t38_udptl_nat  tos_audio
  tos_video trust_connected_line use_ptime`;

export const sipObjectTypes = {
  endpoint: {
    isId,
    check: ({ allow: chosen }: Values) => (itemsOf(chosen ?? '').some(isAudioCodec) ? undefined : 'no codec is left'),
    attributes: {
      context: text('default'),
      disallow,
      allow,
      auth: text(),
      outbound_auth: text(),
      aors: text(),
      callerid: text(),
      ...attributesOf(endpointAttributes),
      ...attributesOf(identityAttributes),
      // The following attributes are only kept.
      aggregate_mwi: flag('yes'),
      allow_subscribe: flag('yes'),
      call_group: text(),
      callerid_privacy: text('allowed_not_screened'),
      callerid_tag: text(),
      connected_line_method: text('invite'),
      device_state_busy_at: number(0, 0, 1_000_000),
      direct_media: flag('yes'),
      direct_media_method: text('invite'),
      force_rport: flag('yes'),
      ice_support: never,
      identify_by: text('username,ip'),
      inband_progress: flag('no'),
      mailboxes: text(),
      media_encryption: never,
      message_context: text(),
      moh_suggest: text('default'),
      named_call_group: text(),
      named_pickup_group: text(),
      pickup_group: text(),
      rtp_keepalive: number(0, 0, 86_400),
      rtp_symmetric: flag('no'),
      rtp_timeout: number(0, 0, 86_400),
      rtp_timeout_hold: number(0, 0, 86_400),
      tone_zone: text(),
      transport: text(),
      use_avpf: never,
      user_eq_phone: flag('no'),
      voicemail_extension: text(),
      stir_shaken: never,
      security_negotiation: never,
      stir_shaken_profile: nothing,
      acl: nothing,
      permit: nothing,
      deny: nothing,
      contact_acl: nothing,
      contact_permit: nothing,
      contact_deny: nothing,
      set_var: settings,
      ...kept(keptByEndpoints),
    },
  },
  aor: {
    isId,
    check: ({ minimum_expiration: least, maximum_expiration: most }: Values) =>
      Number(least) > Number(most) ? 'minimum_expiration must not exceed maximum_expiration' : undefined,
    attributes: {
      contact: uris,
      ...attributesOf(aorAttributes),
      // The following attributes are only kept: the newest contact always replaces the oldest.
      remove_existing: flag('no'),
      remove_unavailable: flag('no'),
      authenticate_qualify: flag('no'),
      mailboxes: text(),
      support_path: flag('no'),
      qualify_2xx_only: flag('no'),
      outbound_proxy: uriOrNothing,
      voicemail_extension: text(),
    },
  },
  auth: {
    isId,
    check: ({ auth_type: type, md5_cred: hash }: Values) =>
      type === 'md5' && hash === '' ? 'md5_cred is missing' : undefined,
    attributes: {
      auth_type: word('userpass', 'userpass', 'digest', 'md5'),
      username: text(),
      password: secret(/^/),
      md5_cred: secret(/^([0-9a-f]{32})?$/i),
      realm: text(),
      nonce_lifetime: number(32, 1, 86_400),
      password_digest: noSecret,
      oauth_clientid: noSecret,
      oauth_secret: noSecret,
      refresh_token: noSecret,
      ...kept('supported_algorithms_uac supported_algorithms_uas'),
    },
  },
  identify: {
    isId,
    check: ({ endpoint }: Values) => (endpoint === '' ? 'endpoint is missing' : undefined),
    attributes: {
      endpoint: text(),
      match: networks,
      match_header: nothing,
      match_request_uri: nothing,
      srv_lookups: flag('yes'),
      transport: text(),
    },
  },
  registration: {
    isId,
    check: ({ server_uri: server }: Values) => (server === '' ? 'server_uri is missing' : undefined),
    attributes: {
      server_uri: uriOrNothing,
      ...attributesOf(registrationAttributes),
      endpoint: text(),
      outbound_auth: text(),
      security_negotiation: never,
      // Calls that a registration brings are known by its Contact in any case; proxies are those of the endpoint.
      ...kept(`line transport max_retries fatal_retry_interval auth_rejection_permanent support_path support_outbound
        outbound_proxy contact_header_params max_random_initial_delay user_agent security_mechanisms`),
    },
  },
} as const;

export type SipObjectKind = keyof typeof sipObjectTypes;

/** Finds objects, of the configuration file and of clients alike. */
export type FindObject = (kind: SipObjectKind, id: string) => SipObject | undefined;

/* ---- From objects to the driver's settings, and back ----------------------------------------------------------- */

/** The ids that an attribute of an endpoint names. */
export const namesIn = (endpoint: SipObject, attribute: 'auth' | 'aors' | 'outbound_auth'): string[] =>
  itemsOf(endpoint.values[attribute] ?? '');

/** The credentials that the first of some ids which exists stands for; without a user name or secret there are none. */
export function credentialsOf(ids: readonly string[], find: FindObject) {
  const values = ids.map((id) => find('auth', id)?.values).find((found) => found !== undefined);
  if (!values?.['username']) return undefined;
  const { username, password = '', md5_cred: hash = '', realm = '' } = values;
  const known: EndpointSecret | undefined =
    values['auth_type'] === 'md5' ? { ha1: hash.toLowerCase() } : password === '' ? undefined : { password };
  return known && { username, ...known, ...(realm === '' ? {} : { realm }) };
}

/** The address of record of an endpoint: limits of its first AOR, contacts of all. Without one it is unreachable. */
function aorOf(endpoint: SipObject, find: FindObject): AorConfig {
  const found = namesIn(endpoint, 'aors').flatMap((id) => find('aor', id) ?? []);
  const [first] = found;
  const contacts = found.flatMap(({ values }) => itemsOf(values['contact'] ?? ''));
  if (!first) return { ...defaultAor, maxContacts: 0, contacts };
  return {
    name: first.id,
    ...fieldsFromAsterisk(aorAttributes, first.values),
    contacts,
  };
}

/** Whether a registration is an endpoint's: it names it, or, where it names none, has its credentials. */
function belongsTo({ values }: SipObject, endpoint: SipObject): boolean {
  const named = (values['endpoint'] ?? '').toLowerCase();
  if (named !== '') return named === endpoint.id.toLowerCase();
  const credentials = itemsOf(values['outbound_auth'] ?? '');
  return credentials.length > 0 && namesIn(endpoint, 'outbound_auth')[0] === credentials[0];
}

/** Where an endpoint registers; tries are at most ten minutes apart, or as far as asked for. */
const registrationsOf = (endpoint: SipObject, made: readonly SipObject[]): RegistrationConfig[] =>
  made
    .filter((registration) => belongsTo(registration, endpoint))
    .map(({ values }) => {
      const fields = fieldsFromAsterisk(registrationAttributes, values);
      return {
        ...fields,
        server: values['server_uri'] ?? '',
        longestRetryMs: Math.max(fields.retryMs, fields.longestRetryMs),
      };
    });

/**
 * An endpoint as the driver has it. Credentials that do not exist give it no password, so it admits no requests.
 * `identifies` are its source addresses: used only without a password, as an address would otherwise bypass it.
 */
export function endpointOf(
  endpoint: SipObject,
  find: FindObject,
  callerIds: CallerIds,
  { identifies = [], registrations = [] }: Partial<Record<'identifies' | 'registrations', readonly SipObject[]>> = {},
): EndpointConfig {
  const value = (attribute: string): string => endpoint.values[attribute] ?? '';
  const inbound = credentialsOf(namesIn(endpoint, 'auth'), find);
  const outbound = credentialsOf(namesIn(endpoint, 'outbound_auth'), find);
  const lines = registrationsOf(endpoint, registrations);
  return {
    ...defaultEndpoint,
    name: endpoint.id,
    context: value('context'),
    ...(inbound && { auth: inbound }),
    ...(outbound && { outboundAuth: outbound }),
    match: value('auth').trim() === '' ? matchOf(endpoint, identifies) : [],
    ...(value('set_var') === '' ? {} : { variables: variablesOf(value('set_var')) }),
    aor: aorOf(endpoint, find),
    ...(lines.length > 0 && { registrations: lines }),
    codecs: itemsOf(value('allow')).filter(isAudioCodec),
    videoCodecs: itemsOf(value('allow')).filter(isVideoFormat),
    ...fieldsFromAsterisk(endpointAttributes, endpoint.values),
    identity: fieldsFromAsterisk(identityAttributes, endpoint.values),
    transferHandling: transferHandlingIn(variablesOf(value('set_var'))) ?? 'core',
    ...(value('callerid') === '' ? {} : { callerId: callerIds.parse(value('callerid')) }),
  };
}

/** The source addresses that objects name for an endpoint. */
const matchOf = ({ id }: SipObject, identifies: readonly SipObject[]): string[] =>
  identifies.flatMap(({ values }) =>
    (values['endpoint'] ?? '').toLowerCase() === id.toLowerCase() ? itemsOf(values['match'] ?? '') : [],
  );
