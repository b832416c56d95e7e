import { type Access, createAccess } from './access.ts';
import { bindOf, type Part } from './part.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';
import { tellUnused } from './unused.ts';

/** `ari.conf`, `http.conf` and `websocket_client.conf`: who uses the interface, and where. */

type InterfaceFiles = Record<'ari' | 'http' | 'clients' | 'lists', readonly Section[]>;

/** Translates these files. */
export function importInterface({ ari, http, clients, lists }: InterfaceFiles, report: Report): Part {
  const general = new Values(ari.find(({ name }) => name === 'general') ?? empty('ari.conf'));
  const users = usersOf(ari, { isOn: general.flag('enabled') !== false, accessOf: createAccess(lists) }, report);
  const web = webOf(http, report);
  const connections = connectionsOf(ari, clients, users, report);
  const origins = general.list('allowed_origins');
  const channelvars = general.list('channelvars');
  const realm = general.text('auth_realm');
  const isPretty = general.flag('pretty');
  tellUnused('ari', [general], report);
  const hasAri = ari.length > 0;
  if (hasAri && users.length === 0)
    report.approximated(
      'ari.conf',
      'it has no user: the user hookswitch was added, with HOOKSWITCH_PASSWORD or a new random password at each start',
    );
  return {
    general: {
      ...(isPretty ? { pretty: true } : {}),
      ...(channelvars.length > 0 ? { channelvars } : {}),
    },
    http: {
      ...web.http,
      ...(origins.length > 0 ? { allowed_origins: origins } : {}),
      ...(realm ? { auth_realm: realm } : {}),
      ...(users.length > 0 ? { users } : {}),
    },
    ...(web.tls ? { tls: web.tls } : {}),
    ...connections,
    notes: {},
  };
}

const empty = (place: string): Section => ({ name: 'general', place, entries: [] });

type User = {
  name: string;
  password?: string;
  read_only?: boolean;
  allowed_addresses?: readonly string[];
  denied_addresses?: readonly string[];
};

/** Allowed addresses of a user; undefined if they cannot be translated or are none. */
function addressesOf(access: Access): Pick<User, 'allowed_addresses' | 'denied_addresses'> | undefined {
  if (access === 'everybody') return {};
  if (access === 'unknown' || access.allowed?.length === 0) return undefined;
  const { allowed, denied } = access;
  return { ...(allowed && { allowed_addresses: allowed }), ...(denied.length > 0 && { denied_addresses: denied }) };
}

function usersOf(
  ari: readonly Section[],
  { isOn, accessOf }: { isOn: boolean; accessOf: (values: Values) => Access },
  report: Report,
): User[] {
  const users: User[] = [];
  for (const section of ari) {
    const values = new Values(section);
    if (section.name === 'general' || values.text('type').toLowerCase() !== 'user') continue;
    if (section.name.includes(':')) {
      report.missing(section.place, 'a user name with a colon is dropped');
      continue;
    }
    if (!isOn) {
      report.missing(section.place, 'ARI is off (enabled=no): its users are dropped');
      continue;
    }
    const addresses = addressesOf(accessOf(values));
    if (!addresses) {
      report.missing(
        section.place,
        `the user ${section.name} is dropped: its access list cannot be expressed by allowed_addresses and denied_addresses`,
      );
      continue;
    }
    const isHash = values.text('password_format').toLowerCase() === 'crypt';
    if (isHash)
      report.missing(
        section.place,
        `the password of ${section.name} is an unsupported hash: run \`hookswitch hash\` and set password_hash; until then it has a random password`,
      );
    const password = isHash ? '' : values.text('password');
    users.push({
      name: section.name,
      ...(password === '' ? {} : { password }),
      // A read-only user keeps its role as a client: calls enter its applications.
      ...(values.flag('read_only') ? { read_only: true } : {}),
      ...addresses,
    });
    tellUnused('user', [values], report);
  }
  report.took('users of the HTTP interface', users.length);
  return users;
}

function webOf(
  http: readonly Section[],
  report: Report,
): { http: Record<string, unknown>; tls?: Record<string, unknown> } {
  const section = http.find(({ name }) => name === 'general');
  const values = new Values(section ?? empty('http.conf'));
  if (values.flag('enabled') !== true && values.flag('tlsenable') !== true) {
    if (section)
      report.approximated(section.place, 'HTTP is off in Asterisk; here it is always on, for this machine only');
    return { http: {} };
  }
  tellUnused('http', [values], report);
  if (values.text('prefix') !== '')
    report.missing(values.place, `prefix ${values.text('prefix')} is dropped: paths begin with /ari`);
  if (values.text('enablestatic') !== '' && values.flag('enablestatic'))
    report.missing(values.place, 'enablestatic: use a web server for files');
  if (values.flag('tlsenable')) return encryptedWebOf(values, report);
  report.took('address of the HTTP interface');
  return { http: { bind: values.text('bindaddr') || '0.0.0.0', port: values.number('bindport', 1, 65_535) ?? 8088 } };
}

/** The HTTP interface over TLS; on this machine only if there is no certificate. */
function encryptedWebOf(values: Values, report: Report): ReturnType<typeof webOf> {
  const certificate = values.text('tlscertfile');
  if (certificate === '') {
    report.missing(
      values.place,
      'tlsenable without tlscertfile: the HTTP interface listens on this machine only until you set tls.certificates and http.tls',
    );
    return { http: {} };
  }
  const { address, port } = bindOf(values.text('tlsbindaddr') || '0.0.0.0:8089');
  if (values.flag('enabled'))
    report.approximated(values.place, 'the HTTP interface has one port: the encrypted one is used');
  report.took('address of the HTTP interface');
  return {
    http: { bind: address, port: port ?? 8089, tls: true },
    tls: { certificates: [{ certificate, key: values.text('tlsprivatekey') || certificate }] },
  };
}

/** Programs that are connected to: applications (ari.conf), and servers of audio (websocket_client.conf alone). */
function connectionsOf(
  ari: readonly Section[],
  clients: readonly Section[],
  users: readonly User[],
  report: Report,
): Pick<Part, 'applications' | 'external_media'> {
  const applications: Record<string, unknown> = {};
  const used = new Set<string>();
  // The first one of a name counts.
  const clientsByName = new Map([...clients].reverse().map((client) => [client.name, client] as const));
  const userNames = new Set(users.map((user) => user.name));
  for (const section of ari) {
    const values = new Values(section);
    if (values.text('type').toLowerCase() !== 'outbound_websocket') continue;
    const name = values.text('websocket_client_id') || section.name;
    used.add(name);
    const client = clientsByName.get(name);
    const user = values.text('local_ari_user');
    if (!client) report.missing(section.place, `the WebSocket ${name} does not exist and is dropped`);
    else if (!userNames.has(user))
      report.missing(section.place, `the user ${user} of ${section.name} does not exist and is dropped`);
    else {
      const target = targetOf(new Values(client), report);
      if (target)
        applications[section.name] = {
          ...target,
          apps: values.list('apps'),
          local_user: user,
          ...(values.flag('subscribe_all') ? { subscribe_all: true } : {}),
        };
    }
  }
  report.took('outbound WebSockets', Object.keys(applications).length);
  const websockets: Record<string, unknown> = {};
  for (const client of clients) {
    const values = new Values(client);
    if (used.has(client.name) || !/^(websocket_client|)$/.test(values.text('type'))) continue;
    const url = urlOf(values, report);
    const headers = logInOf(values);
    if (url !== undefined) websockets[client.name] = { url, ...protocolsOf(values), ...headers };
    tellUnused('client', [values], report);
  }
  report.took('media servers', Object.keys(websockets).length);
  return {
    ...(Object.keys(applications).length > 0 ? { applications } : {}),
    ...(Object.keys(websockets).length > 0 ? { external_media: { websockets } } : {}),
  };
}

const protocolsOf = (values: Values): { protocols?: readonly string[] } => {
  const protocols = values.list('protocols');
  return protocols.length > 0 ? { protocols } : {};
};

/** User and password of a media server, as the header that sends them (RFC 7617). */
function logInOf(values: Values): { headers?: readonly string[] } {
  const [username, password] = [values.text('username'), values.text('password')];
  if (username + password === '') return {};
  return { headers: [`Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`] };
}

/** The URL of a WebSocket; undefined when it is none, or one without encryption that is to be encrypted. */
function urlOf(values: Values, report: Report): string | undefined {
  const url = values.text('uri');
  const isSecret = /^wss:\/\/[^\s@]+$/.test(url);
  if (!isSecret && (values.flag('tls_enabled') || !/^ws:\/\/[^\s@]+$/.test(url))) {
    report.missing(
      values.place,
      `${url} is dropped: it is not a WebSocket URL, or not wss:// although it has to be encrypted`,
    );
    return undefined;
  }
  if (isSecret)
    report.approximated(
      values.place,
      'certificates of programs are always verified: add their authorities to tls.authorities',
    );
  return url;
}

function targetOf(values: Values, report: Report): Record<string, unknown> | undefined {
  const url = urlOf(values, report);
  if (url === undefined) return undefined;
  const seconds = (key: string) => values.number(key, 10, 3_600_000);
  const [connection, reconnect] = [seconds('connection_timeout'), seconds('reconnect_interval')];
  const attempts = values.number('reconnect_attempts', 0, 1_000);
  const isPerCall = /^per_call/.test(values.text('connection_type'));
  const [username, password] = [values.text('username'), values.text('password')];
  const protocols = protocolsOf(values);
  tellUnused('client', [values], report);
  return {
    url,
    ...(isPerCall ? { type: 'per_call' } : {}),
    ...protocols,
    ...(username ? { username, password } : {}),
    ...(connection === undefined ? {} : { connection_timeout: Math.min(60, connection / 1000) }),
    ...(reconnect === undefined ? {} : { reconnect_interval: reconnect / 1000 }),
    ...(attempts === undefined ? {} : { reconnect_attempts: attempts }),
  };
}
