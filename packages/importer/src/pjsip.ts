import { aorAttributes, endpointAttributes, identityAttributes } from '../../../src/models/endpoint-attributes.ts';
import { asNetwork, createAccess, together } from './access.ts';
import { settingsIn } from './attributes.ts';
import { bindOf, type Part } from './part.ts';
import { codecsOf } from './pjsip-codecs.ts';
import { credentialsOf } from './pjsip-credentials.ts';
import { aorsOf, Objects, tellStrays, type World } from './pjsip-objects.ts';
import { registrationsOf, tellStrayRegistrations } from './pjsip-registrations.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';
import { tellUnused } from './unused.ts';
import { wizardSections } from './wizard.ts';

/** `pjsip.conf` and `pjsip_wizard.conf`: where SIP is spoken, phones and lines. */

/** An endpoint as the configuration file has it, in parts. */
type Endpoint = Record<string, unknown>;

const firewall =
  'its access list cannot be expressed by allow.sources: restrict it by a firewall, then add the endpoint by hand';

/** Translates `pjsip.conf` and `pjsip_wizard.conf`, with the lists of `acl.conf`. */
export function importPjsip(
  { plain, wizards, lists }: Record<'plain' | 'wizards' | 'lists', readonly Section[]>,
  report: Report,
): Part {
  const sections = [...plain, ...wizardSections(wizards, report)];
  const objects = new Objects();
  for (const section of sections) {
    const values = new Values(section);
    const type = values.text('type').toLowerCase() || implied(section.name);
    if (type === '') report.missing(section.place, `[${section.name}] has no type and is dropped`);
    else objects.add(type, values);
  }
  const { of, named, having } = objects;
  for (const type of objects.types())
    if (!known.has(type))
      for (const { place } of of(type))
        report.missing(place, `objects of the type ${type} are not supported and are dropped`);
  const accessOf = createAccess(lists);
  const everywhere = together(of('acl').flatMap((each) => [accessOf(each), accessOf(each, 'contact_')]));
  const isRestricted = everywhere === 'unknown' || (everywhere !== 'everybody' && everywhere.denied.length > 0);
  for (const { place } of everywhere === 'everybody' ? [] : of('acl'))
    if (isRestricted)
      report.missing(
        place,
        'a SIP access list cannot be expressed by allow.sources: SIP is bound to 127.0.0.1; set up a firewall, then change `bind`',
      );
    else report.approximated(place, 'the SIP access list was copied to each endpoint (allow.sources)');
  const world: World = { of, named, having, report, notes: {}, accessOf, everywhere };
  const endpoints: Record<string, Endpoint> = {};
  for (const each of of('endpoint')) {
    const made = endpointOf(each, world);
    if (made) endpoints[each.name] = made;
  }
  report.took('endpoints', Object.keys(endpoints).length);
  tellStrayRegistrations(world);
  tellStrays(world);
  const part = {
    sip: {
      ...transportsOf(world, isRestricted),
      ...globalsOf(world),
      endpoints,
    },
    ...tlsOf(world),
    notes: world.notes,
  };
  for (const type of ['transport', 'global', 'system'] as const) tellUnused(type, of(type), report);
  return part;
}

/** Types of objects that are read. */
const known = new Set(['endpoint', 'aor', 'auth', 'identify', 'registration', 'transport', 'global', 'system', 'acl']);

/** The type that a section of a fixed name has. */
const implied = (name: string): string => (['global', 'system'].includes(name.toLowerCase()) ? name.toLowerCase() : '');

/* ---- Transports ---------------------------------------------------------------------------------------------- */

type Transport = { protocol: string; bind: string; port?: number };

/** One transport; undefined, with a line of the report, if it cannot exist here. */
function transportOf(each: Values, isRestricted: boolean, report: Report): Transport | undefined {
  const protocol = each.text('protocol').toLowerCase() || 'udp';
  if (!['udp', 'tcp', 'tls', 'ws', 'wss'].includes(protocol)) {
    report.missing(each.place, `SIP over ${protocol} is not supported and is dropped`);
    return undefined;
  }
  if (protocol === 'tls' && each.text('cert_file') === '') {
    report.missing(each.place, 'the transport has no certificate and is dropped');
    return undefined;
  }
  const { address, port } = bindOf(each.text('bind') || '0.0.0.0');
  const isWeb = protocol.startsWith('ws');
  if (isWeb)
    report.approximated(
      each.place,
      `SIP over ${protocol} has its own port, 8080 for ws and 8443 for wss, not the HTTP port: reconfigure the phones`,
    );
  return {
    protocol,
    bind: isRestricted ? '127.0.0.1' : address,
    ...(isWeb || port === undefined ? {} : { port }),
    ...clientCertificates(each, protocol, report),
  };
}

function transportsOf({ of, report }: World, isRestricted: boolean): Record<string, unknown> {
  const transports: Transport[] = [];
  const seen = new Set<string>();
  let external = '';
  const local = new Set<string>();
  for (const each of of('transport')) {
    const transport = transportOf(each, isRestricted, report);
    if (!transport) continue;
    const { protocol, bind, port } = transport;
    const key = `${protocol} ${bind} ${port}`;
    if (seen.has(key)) continue;
    seen.add(key);
    transports.push(transport);
    external ||= each.text('external_signaling_address') || each.text('external_media_address');
    for (const net of each.list('local_net')) {
      const network = asNetwork(net);
      if (network === undefined) report.missing(each.place, `local_net ${net} is not a network and is dropped`);
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

/** Certificates of the transports, and authorities of phones. */
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
      report.missing(each.place, 'ca_list_path is dropped: list the files in tls.client_authorities');
    if (list === '' && (each.flag('require_client_cert') || each.flag('verify_client')))
      report.missing(
        each.place,
        'client certificates are required, but there is no ca_list_file: fill tls.client_authorities',
      );
  }
  return certificates.length === 0 ? {} : { tls: { certificates, client_authorities: [...new Set(authorities)] } };
}

function globalsOf({ of, report }: World): Record<string, unknown> {
  const [global] = of('global');
  const [system] = of('system');
  const t1 = system?.number('timer_t1', 100, 600_000);
  for (const each of [...of('global'), ...of('system')])
    report.took(`[${each.name}] of pjsip.conf, as far as supported`);
  return {
    ...(global?.text('user_agent') ? { user_agent: global.text('user_agent') } : {}),
    ...(global?.text('default_realm') ? { realm: global.text('default_realm') } : {}),
    ...(t1 ? { timers: { t1: Math.round(t1) } } : {}),
  };
}

/* ---- Endpoints ----------------------------------------------------------------------------------------------- */

/** Its media encryption; with `webrtc=yes` it is DTLS, and what it says besides counts for nothing. */
const encryptionOf = (each: Values): string => (each.flag('webrtc') ? '' : each.text('media_encryption').toLowerCase());

/** An endpoint with its AOR, credentials and addresses; undefined when it would be less safe here. */
/** The addresses that an endpoint may call from, none for all; the reason if `allow.sources` cannot express its lists. */
function sourcesOf(each: Values, world: World): { sources: readonly string[] } | string {
  const access = together([
    world.everywhere,
    ...[each, ...aorsOf(each, world)].flatMap((values) => [world.accessOf(values), world.accessOf(values, 'contact_')]),
  ]);
  if (access === 'everybody') return { sources: [] };
  if (access === 'unknown' || access.denied.length > 0) return firewall;
  const sources = access.allowed ?? [];
  if (sources.length === 0) return 'its access list admits no address';
  world.report.took('access lists of endpoints, as allow.sources');
  return { sources };
}

/** The variables of `set_var`. */
function variablesOf(each: Values): { variables?: Record<string, string> } {
  each.text('set_var');
  const settings = each.entries.filter(({ key }) => key.toLowerCase() === 'set_var');
  const variables = settings.flatMap(({ value }) => {
    const equals = value.indexOf('=');
    return equals < 1 ? [] : [[value.slice(0, equals).trim(), value.slice(equals + 1)]];
  });
  return settings.length === 0 ? {} : { variables: Object.fromEntries(variables) };
}

function endpointOf(each: Values, world: World): Endpoint | undefined {
  const { report, notes } = world;
  const left = (why: string): undefined => {
    report.missing(each.place, `endpoint ${each.name} is dropped: ${why}`);
    return undefined;
  };
  if (/[\s/@;]/.test(each.name)) return left('its name contains a space, "/", "@" or ";"');
  const encryption = encryptionOf(each);
  if (encryption !== '' && encryption !== 'no' && encryption !== 'sdes')
    return left(`its media encryption is not supported (${encryption})`);
  if (each.flag('stir_shaken')) return left('signing calls (STIR/SHAKEN) is not supported');
  const aors = aorsOf(each, world);
  const access = sourcesOf(each, world);
  if (typeof access === 'string') return left(access);
  const secrets = credentialsOf(each, world);
  if (secrets === 'left')
    return left('Asterisk requires both its address and its password; here one of them would be enough');
  const endpoint: Endpoint = {
    ...(each.text('context') ? { context: each.text('context') } : {}),
    ...subscriptionsOf(each, report),
    ...secrets,
    ...(access.sources.length === 0 ? {} : { allow: access }),
    ...aorOf(each, world),
    ...codecsOf(each, report),
    ...attributesOf(each),
    ...routingOf(each, report),
    ...(encryption === 'sdes'
      ? { media_encryption: each.flag('media_encryption_optimistic') ? 'best_effort' : 'required' }
      : {}),
    ...registrationsOf(each, world),
    ...variablesOf(each),
  };
  if (each.text('mailboxes') !== '')
    report.missing(
      each.place,
      'mailboxes: voicemail is an application (examples/voicemail.ts) that sets message counts with PUT /mailboxes',
    );
  const groups = ['call_group', 'pickup_group', 'named_call_group', 'named_pickup_group'].map((key) => each.text(key));
  if (groups.some((group) => group !== ''))
    report.missing(each.place, 'pickup groups are dropped: an application can redirect calls');
  tellUnused('endpoint', [each], report);
  tellUnused('aor', aors, report);
  const comment = noteOf(endpoint);
  if (comment) notes[`sip.endpoints.${each.name}`] = comment;
  return endpoint;
}

/** A context that has no hints: who may not subscribe finds nothing to watch there. */
const nothingToWatch = 'no-subscriptions';

/** Which context's hints it may watch. */
function subscriptionsOf(each: Values, report: Report): Endpoint {
  const context = each.text('subscribe_context');
  if (each.flag('allow_subscribe') !== false) return context === '' ? {} : { subscribe_context: context };
  report.approximated(
    each.place,
    `allow_subscribe=no: its subscribe_context is ${nothingToWatch}, a context without hints`,
  );
  return { subscribe_context: nothingToWatch };
}

/** A comment for an endpoint that admits no calls. */
function noteOf(endpoint: Endpoint): string | undefined {
  if (endpoint['auth'] || endpoint['match']) return undefined;
  return 'This endpoint admits no calls: set a password (auth) or an address (match).';
}

/** Contacts of AORs: many endpoints may share one AOR. */
const readContacts = new WeakMap<Values, readonly string[]>();

/** The SIP URIs where an AOR is, each once. */
function contactsOf(aor: Values, report: Report): readonly string[] {
  const known = readContacts.get(aor);
  if (known) return known;
  const contacts = [...new Set(aor.list('contact'))].filter((contact) => {
    const isUri = /^sips?:[^\s<>"]+$/i.test(contact);
    if (!isUri) report.missing(aor.place, `contact ${contact} is not a SIP URI and is dropped`);
    return isUri;
  });
  readContacts.set(aor, contacts);
  return contacts;
}

function aorOf(each: Values, { named, report }: World): Record<string, unknown> {
  const names = each.list('aors');
  const [first] = names;
  const found = aorsOf(each, { named });
  const [aor] = found;
  if (first === undefined || !aor) return { aor: { max_contacts: 0 } };
  if (first.toLowerCase() !== each.name.toLowerCase() && aor.number('max_contacts', 1, 1_000) !== undefined)
    report.approximated(each.place, `phones register as ${first} there, here as the endpoint's name, ${each.name}`);
  if (names.length > 1) report.approximated(each.place, 'the AORs of one endpoint were merged');
  const contacts =
    found.length > 1 ? [...new Set(found.flatMap((each) => contactsOf(each, report)))] : contactsOf(aor, report);
  report.took('contacts of endpoints (AORs)');
  return {
    aor: {
      max_contacts: Math.min(100, aor.number('max_contacts', 0, 1_000_000) ?? 0),
      ...(contacts.length === 0 ? {} : { contacts }),
      ...settingsIn(aor, aorAttributes, ['max_contacts']),
    },
  };
}

/** Attributes that have a rule of their own here. */
const special = [
  ...[
    'subscribe_context',
    'symmetric',
    'outbound_proxy',
    'redirect_method',
    'max_video_streams',
    'max_video_bandwidth',
  ],
];

const attributesOf = (each: Values): Endpoint => ({
  ...(each.text('callerid') === '' ? {} : { caller_id: each.text('callerid') }),
  ...settingsIn(each, identityAttributes),
  ...settingsIn(each, endpointAttributes, special),
});

/** Our names for redirect methods. */
const redirectMethods: Readonly<Record<string, string>> = {
  uri_core: 'uri_core',
  uri_pjsip: 'uri_core',
};

function routingOf(each: Values, report: Report): Endpoint {
  const isDirect = each.flag('force_rport') === false && !each.flag('rewrite_contact') && !each.flag('rtp_symmetric');
  const proxy = each.text('outbound_proxy');
  const isUri = /^sips?:[^\s<>"]+$/i.test(proxy);
  if (proxy !== '' && !isUri) report.missing(each.place, `outbound_proxy ${proxy} is not a SIP URI and is dropped`);
  return {
    redirect_method: redirectMethods[each.text('redirect_method').toLowerCase()] ?? 'user',
    ...(isDirect ? { symmetric: false } : {}),
    ...(proxy !== '' && isUri ? { outbound_proxy: proxy } : {}),
  };
}
