import { type Access, asNetwork, createAccess, together } from './access.ts';
import { bindOf, type Part } from './part.ts';
import { codecsOf } from './pjsip-codecs.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';
import { wizardSections } from './wizard.ts';

/** `pjsip.conf` and `pjsip_wizard.conf`: where SIP is spoken, phones and lines. */

/** An endpoint as the configuration file has it, in parts. */
type Endpoint = Record<string, unknown>;

const firewall =
  'its access list cannot be said as allow.sources: let a firewall say who may come, then write it into the output by hand';

/** What `pjsip.conf` and `pjsip_wizard.conf` say, with the lists of `acl.conf`. */
export function importPjsip(
  { plain, wizards, lists }: Record<'plain' | 'wizards' | 'lists', readonly Section[]>,
  report: Report,
): Part {
  const sections = [...plain, ...wizardSections(wizards, report)];
  const objects = new Map<string, Values[]>();
  for (const section of sections) {
    const values = new Values(section);
    const type = values.text('type').toLowerCase() || implied(section.name);
    if (type === '') report.missing(section.place, `[${section.name}] has no type: left out`);
    else objects.set(type, [...(objects.get(type) ?? []), values]);
  }
  const of = (type: string): Values[] => objects.get(type) ?? [];
  for (const type of objects.keys())
    if (!known.has(type))
      for (const { place } of of(type)) report.missing(place, `objects of the type ${type} are not there: left out`);
  const accessOf = createAccess(lists);
  const everywhere = together(of('acl').flatMap((each) => [accessOf(each), accessOf(each, 'contact_')]));
  const isRestricted = everywhere === 'unknown';
  for (const { place } of everywhere === 'everybody' ? [] : of('acl'))
    if (isRestricted)
      report.missing(
        place,
        'an access list says who may speak SIP in a way that allow.sources cannot: SIP is bound to 127.0.0.1 until a firewall does the same and you change `bind`',
      );
    else report.approximated(place, 'who may speak SIP is said of each endpoint (allow.sources)');
  const world: World = { of, report, notes: {}, accessOf, everywhere };
  const endpoints: Record<string, Endpoint> = {};
  for (const each of of('endpoint')) {
    const made = endpointOf(each, world);
    if (made) endpoints[each.name] = made;
  }
  report.took('endpoints', Object.keys(endpoints).length);
  importRegistrations(world);
  return {
    sip: {
      ...transportsOf(world, isRestricted),
      ...globalsOf(world),
      endpoints,
    },
    ...tlsOf(world),
    notes: world.notes,
  };
}

type World = {
  of(type: string): Values[];
  report: Report;
  notes: Record<string, string>;
  accessOf: ReturnType<typeof createAccess>;
  /** Whom the lists for all of SIP let in. */
  everywhere: Access;
};

/** Types of objects that are read. */
const known = new Set(['endpoint', 'aor', 'auth', 'identify', 'registration', 'transport', 'global', 'system', 'acl']);

/** The type that a section of a fixed name has. */
const implied = (name: string): string => (['global', 'system'].includes(name.toLowerCase()) ? name.toLowerCase() : '');

/* ---- Transports ---------------------------------------------------------------------------------------------- */

function transportsOf({ of, report }: World, isRestricted: boolean): Record<string, unknown> {
  const transports: Record<string, unknown>[] = [];
  const seen = new Set<string>();
  let external = '';
  const local = new Set<string>();
  for (const each of of('transport')) {
    const protocol = each.text('protocol').toLowerCase() || 'udp';
    if (!['udp', 'tcp', 'tls', 'ws', 'wss'].includes(protocol)) {
      report.missing(each.place, `SIP over ${protocol} is not there: left out`);
      continue;
    }
    if (['tls', 'wss'].includes(protocol) && each.text('cert_file') === '' && protocol === 'tls') {
      report.missing(each.place, 'the transport has no certificate: left out');
      continue;
    }
    const { address, port } = bindOf(each.text('bind') || '0.0.0.0');
    const isWeb = protocol.startsWith('ws');
    if (isWeb)
      report.approximated(
        each.place,
        `SIP over ${protocol} has a port of its own, 8080 for ws and 8443 for wss, rather than that of HTTP: point the phones there`,
      );
    const bind = isRestricted ? '127.0.0.1' : address;
    const transport = {
      protocol,
      bind,
      ...(isWeb || port === undefined ? {} : { port }),
      ...clientCertificates(each, protocol, report),
    };
    const key = `${protocol} ${bind} ${isWeb ? '' : port}`;
    if (seen.has(key)) continue;
    seen.add(key);
    transports.push(transport);
    external ||= each.text('external_signaling_address') || each.text('external_media_address');
    for (const net of each.list('local_net')) {
      const network = asNetwork(net);
      if (network === undefined) report.missing(each.place, `local_net ${net} is no network: left out`);
      else local.add(network);
    }
  }
  report.took('SIP transports', transports.length);
  return {
    transports,
    ...(external === '' ? {} : { external_address: external }),
    ...(local.size === 0 ? {} : { local_networks: [...local] }),
  };
}

function clientCertificates(each: Values, protocol: string, report: Report): Record<string, unknown> {
  if (!['tls', 'wss'].includes(protocol)) return {};
  if (each.flag('require_client_cert')) return { client_certificates: 'required' };
  if (each.flag('verify_client')) {
    report.approximated(each.place, 'verify_client: phones must show a certificate (client_certificates: required)');
    return { client_certificates: 'required' };
  }
  return {};
}

/** Certificates of the transports, and who signs those of phones. */
function tlsOf({ of, report }: World): Pick<Part, 'tls'> {
  const certificates: object[] = [];
  const authorities: string[] = [];
  for (const each of of('transport')) {
    const certificate = each.text('cert_file');
    const key = each.text('priv_key_file') || certificate;
    if (certificate !== '') certificates.push({ certificate, key });
    const list = each.text('ca_list_file');
    if (list !== '') authorities.push(list);
    if (each.text('ca_list_path') !== '')
      report.missing(each.place, 'ca_list_path: name the files in tls.client_authorities');
    if (list === '' && (each.flag('require_client_cert') || each.flag('verify_client')))
      report.missing(
        each.place,
        'certificates of phones are asked for, and no ca_list_file says who signs them: fill tls.client_authorities',
      );
  }
  return certificates.length === 0 ? {} : { tls: { certificates, client_authorities: [...new Set(authorities)] } };
}

function globalsOf({ of, report }: World): Record<string, unknown> {
  const [global] = of('global');
  const [system] = of('system');
  const t1 = system?.number('timer_t1', 100, 600_000);
  for (const each of [...of('global'), ...of('system')])
    report.took(`[${each.name}] of pjsip.conf, as far as it is here`);
  return {
    ...(global?.text('user_agent') ? { user_agent: global.text('user_agent') } : {}),
    ...(global?.text('default_realm') ? { realm: global.text('default_realm') } : {}),
    ...(t1 ? { timers: { t1: Math.round(t1) } } : {}),
  };
}

/* ---- Endpoints ----------------------------------------------------------------------------------------------- */

const byName = (objects: readonly Values[], name: string): Values | undefined =>
  objects.find((each) => each.name.toLowerCase() === name.toLowerCase());

/** Attributes whose loss nobody is less safe by, nor misses much: by name, and by how they begin. */
const quietNames = new Set(
  `type disallow allow ice_support rtcp_mux use_ptime bundle device_state_busy_at aggregate_mwi sub_min_expiry
  identify_by transport rewrite_contact force_rport tone_zone user_eq_phone inband_progress connected_line_method language
  srtp_tag_32 force_avp media_encryption_optimistic asymmetric_rtp_codec refer_blind_progress contact_user callerid_tag
  preferred_codec_only incoming_call_offer_pref outgoing_call_offer_pref follow_early_media_fork
  accept_multiple_sdp_answers bind_rtp_to_media_address media_address media_use_received_transport g726_non_standard
  message_context rpid_immediate webrtc use_avpf media_encryption stir_shaken security_negotiation`.split(/\s+/),
);
const quietBeginnings = [
  ...['direct_media', 'timers', 'send_', 'trust_', 'rtp_', 'tos_', 'cos_', 't38_', 'max_', 'allow_', 'sdp_', 'moh_'],
  ...['disable_direct_media', 'dtls_', 'suppress_', 'notify_early', 'fax_detect', 'codec_prefs_', 'mwi_', '@'],
];
const isQuiet = (key: string): boolean => {
  const name = key.toLowerCase();
  return quietNames.has(name) || quietBeginnings.some((beginning) => name.startsWith(beginning));
};

/** An endpoint with its AOR, credentials and addresses; undefined when it would be less safe here. */
function endpointOf(each: Values, world: World): Endpoint | undefined {
  const { report, notes } = world;
  const left = (why: string): undefined => {
    report.missing(each.place, `endpoint ${each.name} is left out: ${why}`);
    return undefined;
  };
  if (/[\s/@;]/.test(each.name)) return left('its name holds a space, / @ or ;');
  const encryption = each.text('media_encryption').toLowerCase();
  if (each.flag('webrtc')) return left('WebRTC (encrypted audio, ICE) is not there');
  if (encryption !== '' && encryption !== 'no' && encryption !== 'sdes')
    return left(`its audio is to be encrypted in a way that is not there (${encryption})`);
  if (each.flag('stir_shaken')) return left('its calls are to be signed (STIR/SHAKEN), which is not there');
  const aors = world.of('aor').filter((aor) => each.list('aors').includes(aor.name));
  const access = together([
    world.everywhere,
    ...[each, ...aors].flatMap((values) => [world.accessOf(values), world.accessOf(values, 'contact_')]),
  ]);
  if (access === 'unknown') return left(firewall);
  if (access !== 'everybody' && access.networks.length === 0) return left('its access list lets nobody in');
  if (access !== 'everybody') report.took('access lists of endpoints, as allow.sources');
  const secrets = credentialsOf(each, world);
  if (secrets === 'left')
    return left('only calls from its address with its password are let in there, here it would be one of both');
  const endpoint: Endpoint = {
    ...(each.text('context') ? { context: each.text('context') } : {}),
    ...(each.text('subscribe_context') ? { subscribe_context: each.text('subscribe_context') } : {}),
    ...secrets,
    ...(access === 'everybody' ? {} : { allow: { sources: access.networks } }),
    ...aorOf(each, world),
    ...codecsOf(each, report),
    ...callerOf(each),
    ...routingOf(each, report),
    ...(encryption === 'sdes'
      ? { media_encryption: each.flag('media_encryption_optimistic') ? 'best_effort' : 'required' }
      : {}),
    ...registrationsOf(each, world),
  };
  const variables = each.entries.flatMap(({ key, value }) => (key.toLowerCase() === 'set_var' ? [value] : []));
  each.text('set_var');
  if (variables.length > 0)
    endpoint['variables'] = Object.fromEntries(
      variables.flatMap((text) => {
        const equals = text.indexOf('=');
        return equals < 1 ? [] : [[text.slice(0, equals).trim(), text.slice(equals + 1)]];
      }),
    );
  if (each.text('mailboxes') !== '')
    report.missing(
      each.place,
      'mailboxes: voicemail is an application (examples/voicemail.ts), which tells the phones by PUT /mailboxes',
    );
  const groups = ['call_group', 'pickup_group', 'named_call_group', 'named_pickup_group'].map((key) => each.text(key));
  if (groups.some((group) => group !== ''))
    report.missing(each.place, 'picking up calls of a group: an application can redirect them');
  for (const { key, place } of each.unused())
    if (!isQuiet(key)) report.missing(place, `${key} of endpoints is not there: left out`);
  const comment = noteOf(endpoint);
  if (comment) notes[`sip.endpoints.${each.name}`] = comment;
  return endpoint;
}

/** A word above an endpoint that lets nobody in. */
function noteOf(endpoint: Endpoint): string | undefined {
  if (endpoint['auth'] || endpoint['match']) return undefined;
  return 'Nobody is let in as this endpoint: it has neither a password (auth) nor an address (match).';
}

/** What lets its calls in, and what we answer when it asks us. */
function credentialsOf(each: Values, { of, report }: World): Record<string, unknown> | 'left' {
  const found: Record<string, unknown> = {};
  const [name] = each.list('auth');
  const identifies = of('identify').filter(
    (identify) => identify.text('endpoint').toLowerCase() === each.name.toLowerCase(),
  );
  const addresses = identifies.flatMap((identify) => addressesOf(identify, report));
  if (name !== undefined) {
    const auth = byName(of('auth'), name);
    const isByAddress = /^ip$/i.test(each.text('identify_by').trim());
    if (isByAddress) return 'left';
    if (!auth)
      report.missing(each.place, `auth ${name} is not there: the password is made up, so that nobody is let in`);
    found['auth'] = { username: auth?.text('username') || auth?.name || name, ...passwordOf(auth, report) };
    if (addresses.length > 0)
      report.approximated(each.place, 'the password alone tells who calls, the addresses of identify are left out');
    else if (identifies.length === 0) report.took('passwords of endpoints');
  } else if (addresses.length > 0) {
    found['match'] = addresses;
    report.took('endpoints known by their address');
  } else
    report.approximated(
      each.place,
      'an endpoint without a password and without an address is whoever says so there; here nobody is let in: give it auth or match',
    );
  const [outbound] = each.list('outbound_auth');
  const ours = outbound === undefined ? undefined : byName(of('auth'), outbound);
  if (ours && ours.text('password') !== '')
    found['outbound_auth'] = {
      username: ours.text('username') || ours.name,
      password: ours.text('password'),
      ...(ours.text('realm') && !ours.text('realm').includes('*') ? { realm: ours.text('realm') } : {}),
    };
  else if (outbound !== undefined)
    report.missing(each.place, `outbound_auth ${outbound} has no password that can be read: fill in outbound_auth`);
  return found;
}

function passwordOf(auth: Values | undefined, report: Report): { password?: string } {
  if (!auth) return {};
  const password = auth.text('password');
  if (password !== '') return { password };
  report.missing(
    auth.place,
    'a password that is kept as a hash (md5_cred, password_digest): give `password`, until then one is made up that nobody knows',
  );
  return {};
}

function addressesOf(identify: Values, report: Report): string[] {
  if (identify.text('match_header') !== '' || identify.text('match_request_uri') !== '') {
    report.missing(identify.place, 'match_header and match_request_uri: only addresses tell who calls, left out');
    return [];
  }
  return identify.list('match').flatMap((match) => {
    const network = asNetwork(match);
    if (network === undefined)
      report.missing(identify.place, `match ${match}: names are not looked up, put its addresses there`);
    return network ?? [];
  });
}

function aorOf(each: Values, { of, report }: World): Record<string, unknown> {
  const names = each.list('aors');
  const [first] = names;
  const found = names.flatMap((name) => byName(of('aor'), name) ?? []);
  const [aor] = found;
  if (first === undefined || !aor) return { aor: { max_contacts: 0 } };
  if (first.toLowerCase() !== each.name.toLowerCase() && aor.number('max_contacts', 1, 1_000) !== undefined)
    report.approximated(each.place, `phones register as ${first} there, here as the endpoint's name, ${each.name}`);
  if (names.length > 1) report.approximated(each.place, 'several AORs of one endpoint are one here');
  const contacts = found
    .flatMap((each) => each.list('contact'))
    .filter((contact) => {
      const isUri = /^sips?:[^\s<>"]+$/i.test(contact);
      if (!isUri) report.missing(aor.place, `contact ${contact} is no SIP URI: left out`);
      return isUri;
    });
  const number = (key: string, least: number, most: number) => {
    const value = aor.number(key, least, most);
    return value === undefined ? {} : { [key]: value };
  };
  report.took('places where endpoints are (AORs)');
  return {
    aor: {
      max_contacts: Math.min(100, aor.number('max_contacts', 0, 1_000_000) ?? 0),
      ...(contacts.length === 0 ? {} : { contacts }),
      ...number('qualify_frequency', 0, 86_400),
      ...number('qualify_timeout', 0.1, 60),
      ...number('minimum_expiration', 1, 86_400),
      ...number('maximum_expiration', 1, 604_800),
      ...number('default_expiration', 1, 604_800),
    },
  };
}

/** What reliable provisional responses may be, where it is not as usual. */
const reliable = new Set(['no', 'required', 'peer_supported']);

/** Who is believed, and told, where that is not as usual. */
function trustOf(each: Values): Endpoint {
  const names = ['trust_id_inbound', 'trust_id_outbound', 'send_pai', 'send_rpid', 'send_history_info'];
  return {
    ...Object.fromEntries(names.flatMap((name) => (each.flag(name) ? [[name, true]] : []))),
    ...(each.flag('send_diversion') === false ? { send_diversion: false } : {}),
  };
}

function callerOf(each: Values): Endpoint {
  const text = (key: string, name: string) => (each.text(key) === '' ? {} : { [name]: each.text(key) });
  return {
    ...text('callerid', 'caller_id'),
    ...trustOf(each),
    ...(reliable.has(each.text('100rel').toLowerCase()) ? { '100rel': each.text('100rel').toLowerCase() } : {}),
    ...text('language', 'language'),
    ...text('accountcode', 'account_code'),
    ...text('tenantid', 'tenant_id'),
  };
}

/** How digits travel, where it is not as usual. */
const digitModes: Readonly<Record<string, string>> = { auto: 'auto_inband', inband: 'inband', info: 'info' };

/** Whether calls that a phone forwards go on, where that is said. */
const redirectMethods: Readonly<Record<string, string>> = {
  user: 'user',
  uri_core: 'uri_core',
  uri_pjsip: 'uri_core',
};

function routingOf(each: Values, report: Report): Endpoint {
  const digits = each.text('dtmf_mode').toLowerCase();
  const isDirect = each.flag('force_rport') === false && !each.flag('rewrite_contact') && !each.flag('rtp_symmetric');
  const redirects = each.text('redirect_method').toLowerCase();
  const proxy = each.text('outbound_proxy');
  const isUri = /^sips?:[^\s<>"]+$/i.test(proxy);
  if (proxy !== '' && !isUri) report.missing(each.place, `outbound_proxy ${proxy} is no SIP URI: left out`);
  return {
    ...(Object.hasOwn(digitModes, digits) ? { digits: digitModes[digits] } : {}),
    ...(Object.hasOwn(redirectMethods, redirects) ? { redirect_method: redirectMethods[redirects] } : {}),
    ...(isDirect ? { symmetric: false } : {}),
    ...(each.text('from_user') ? { from_user: each.text('from_user') } : {}),
    ...(each.text('from_domain') ? { from_domain: each.text('from_domain') } : {}),
    ...(proxy !== '' && isUri ? { outbound_proxy: proxy } : {}),
  };
}

/* ---- Registrations ------------------------------------------------------------------------------------------- */

/** The host of a SIP URI, in small letters. */
const hostOf = (uri: string): string =>
  uri
    .replace(/^sips?:/i, '')
    .replace(/^[^@]*@/, '')
    .replace(/[:;>].*$/s, '')
    .toLowerCase();

/** Whether a registration is an endpoint's: it says so, or has its credentials or its host. */
function belongsTo(registration: Values, each: Values, { of }: World): boolean {
  const named = registration.text('endpoint');
  if (named !== '') return named.toLowerCase() === each.name.toLowerCase();
  const [auth] = registration.list('outbound_auth');
  if (auth !== undefined && each.list('outbound_auth')[0] === auth) return true;
  const contacts = each.list('aors').flatMap((name) => byName(of('aor'), name)?.list('contact') ?? []);
  return contacts.some((contact) => hostOf(contact) === hostOf(registration.text('server_uri')));
}

function registrationsOf(each: Values, world: World): { registrations?: object[] } {
  const own = world.of('registration').filter((registration) => belongsTo(registration, each, world));
  const registrations = own.flatMap((registration) => {
    const server = registration.text('server_uri').replace(/\\/g, '');
    const client = registration.text('client_uri').replace(/\\/g, '');
    const isUri = (text: string): boolean => /^sips?:[^\s<>"]+$/i.test(text);
    if (!isUri(server))
      world.report.missing(registration.place, `the registration at ${server}: it is no SIP URI, left out`);
    const expiration = registration.number('expiration', 30, 604_800);
    const retry = registration.number('retry_interval', 1, 86_400);
    const rejected = registration.number('forbidden_retry_interval', 0, 604_800);
    return isUri(server)
      ? [
          {
            server,
            ...(isUri(client) ? { client } : {}),
            ...(registration.text('contact_user') ? { contact_user: registration.text('contact_user') } : {}),
            ...(expiration === undefined ? {} : { expiration }),
            ...(retry === undefined ? {} : { retry }),
            ...(rejected === undefined ? {} : { rejected_retry: rejected }),
          },
        ]
      : [];
  });
  world.report.took('registrations at providers', registrations.length);
  return registrations.length > 0 ? { registrations } : {};
}

/** Tells of registrations that no endpoint takes. */
function importRegistrations(world: World): void {
  for (const registration of world.of('registration'))
    if (!world.of('endpoint').some((each) => belongsTo(registration, each, world)))
      world.report.missing(
        registration.place,
        `the registration at ${registration.text('server_uri')} belongs to no endpoint that was found: write it into sip.endpoints.<line>.registrations`,
      );
}
