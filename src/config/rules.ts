import { isNetwork } from '../lib/addresses.ts';
import { describe, type Node, nearest, type Path, type Problem } from './check.ts';
import { parsePasswordHash } from './password-hash.ts';
import type { Config, DialplanConfig } from './schema.ts';
import type { Rule } from './setting.ts';
import { standardSipPorts } from './sip-settings.ts';
import { turnAddress } from './stun-servers.ts';

/** External knowledge of the checks. */
export type Known = {
  /**
   * The dialplan's own check: problems with a JSON pointer (RFC 6901) into the contexts. Left out: only the form of the
   * dialplan is checked.
   */
  checkDialplan?: (contexts: DialplanConfig) => readonly { path: string; message: string }[];
  /** The error of an operation pattern; undefined if it matches. Left out: only its form is checked. */
  checkOperation?: (pattern: string) => string | undefined;
};

/**
 * Rules that types cannot say: addresses, names that must exist elsewhere, things that must go together.
 * @param config checked by type; sections named in `broken` have wrong types and are only looked at text by text.
 */
export function checkRules(config: Config, schema: object, known: Known, broken: ReadonlySet<unknown>): Problem[] {
  const sections: Record<string, () => Problem[]> = {
    http: () => [...checkUsers(config), ...checkScopes(config, known), ...checkHttpTls(config, broken)],
    applications: () => checkApplications(config, broken),
    away_policies: () => checkAwayPolicies(config),
    sip: () => [...checkSip(config, known), ...checkSipTls(config, broken)],
    media: () => [...checkMedia(config), ...checkBrowserCertificate(config), ...checkBrowserPort(config)],
    external_media: () => checkMediaServers(config),
    cluster: () => checkCluster(config),
    dialplan: () => checkDialplan(config, known),
  };
  const whole = Object.keys(sections).filter((section) => !broken.has(section));
  return [...checkTexts(schema as Node, config, []), ...whole.flatMap((section) => sections[section]?.() ?? [])];
}

const rules: Record<Exclude<Rule, 'directory' | 'file'>, { test(text: string): boolean; wanted: string }> = {
  address: { test: isAddress, wanted: 'expected an IP address' },
  network: { test: isNetwork, wanted: 'expected an IP address or a network such as 10.1.0.0/16' },
  nameServer: { test: isNameServer, wanted: 'expected an address such as 10.0.0.53 or 10.0.0.53:5353' },
  stunServer: {
    test: (text) => text === '' || isNameServer(text),
    wanted: 'expected an address such as 192.0.2.1 or 192.0.2.1:3478',
  },
  turnServer: {
    test: (text) => text === '' || isNameServer(turnAddress(text) ?? ''),
    wanted:
      'expected an address such as 192.0.2.1:3478, or a URI such as turn:192.0.2.1:3478?transport=tcp or turns:192.0.2.1',
  },
  passwordHash: {
    test: (text) => parsePasswordHash(text) !== undefined,
    wanted: 'expected a hash made by `hookswitch hash`',
  },
  sipUri: { test: (text) => /^sips?:[^\s<>"]+$/i.test(text), wanted: 'expected a SIP URI such as sip:10.0.0.7:5060' },
  webSocketUrl: { test: isWebSocketUrl, wanted: 'expected a URL such as ws://10.0.0.9:9000/ari, without a user' },
  httpUrl: { test: isHttpUrl, wanted: 'expected a URL such as https://billing.example.org/calls, without a user' },
  header: {
    test: (text) => /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e]*$/.test(text),
    wanted: 'expected a header such as `Authorization: Bearer secret`',
  },
  token: {
    test: (text) => /^[!#$%&'*+.^_`|~\w-]+$/.test(text),
    wanted: 'expected the name of a protocol, such as ari',
  },
  origin: { test: isOrigin, wanted: 'expected an origin such as https://desk.example.org, or *' },
};

/** `address`, `address:port`, `[address]:port`. */
function isNameServer(text: string): boolean {
  const [, bracketed, plain, port = '53'] = /^(?:\[([^\]]{1,60})\]|([\d.]{7,15}))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return (isAddress(bracketed ?? plain ?? '') && Number(port) >= 1 && Number(port) <= 65_535) || isAddress(text);
}

/** Walks along the schema and checks every string that has a rule. */
function checkTexts(node: Node, value: unknown, path: Path): Problem[] {
  if (value === undefined) return [];
  if (typeof value === 'string') {
    const rule = rules[node.rule as keyof typeof rules];
    return rule && !rule.test(value) ? [{ path, message: `${rule.wanted}, found ${describe(value)}` }] : [];
  }
  if (Array.isArray(value))
    return value.flatMap((item, index) => checkTexts((node.items ?? {}) as Node, item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  const each = node.patternProperties && Object.values(node.patternProperties)[0];
  return Object.entries(value).flatMap(([key, child]) =>
    checkTexts(each ?? node.properties?.[key] ?? {}, child, [...path, key]),
  );
}

/** Calls can only be moved to another application. */
const checkAwayPolicies = ({ away_policies: policies }: Config): Problem[] =>
  Object.entries(policies).flatMap(([name, { action, move_to: target }]) => {
    if (action !== 'move' || (target !== '' && target !== name)) return [];
    const message = target === '' ? '`action: move` needs move_to' : 'names the application that is away itself';
    return [{ path: ['away_policies', name, 'move_to'], message }];
  });

/** A node needs a name, and time-outs that follow each other. */
function checkCluster({ cluster, state_store }: Config): Problem[] {
  if (cluster.nats.length === 0) return [];
  const problems: Problem[] = [];
  const add = (name: string, message: string) => problems.push({ path: ['cluster', name], message });
  if (cluster.name === '') add('name', 'a node of a cluster needs a name that no other node has');
  if (cluster.suspect_after <= cluster.heartbeat) add('suspect_after', 'must be longer than cluster.heartbeat');
  if (cluster.away_after <= cluster.suspect_after) add('away_after', 'must be longer than cluster.suspect_after');
  if (cluster.replicate && cluster.take_over_after <= cluster.retry)
    add('take_over_after', 'must be longer than cluster.retry');
  if (
    cluster.replicate &&
    cluster.take_over_silent_after > 0 &&
    cluster.isolated_after >= cluster.take_over_silent_after
  )
    add('isolated_after', 'must be shorter than cluster.take_over_silent_after');
  if (cluster.replicate && !state_store?.on) add('replicate', 'needs state_store.on: true');
  if ((cluster.certificate === '') !== (cluster.key === '')) add('key', 'give `certificate` and `key`, or neither');
  for (const [index, url] of cluster.nats.entries())
    if (!isNatsUrl(url))
      problems.push({
        path: ['cluster', 'nats', index],
        message: `expected a URL such as nats://10.0.0.5:4222, without a user, found ${describe(url)}`,
      });
  return problems;
}

/** `nats://host:port` or `tls://host:port`. */
const isNatsUrl = (text: string): boolean => /^(?:nats|tls):\/\/[^\s/@?#]{1,255}$/.test(text);

const noCertificate = 'needs a certificate; add one to tls.certificates';

function checkHttpTls({ http, tls }: Config, broken: ReadonlySet<unknown>): Problem[] {
  if (!http.tls || broken.has('tls') || tls.certificates.length > 0) return [];
  return [{ path: ['http', 'tls'], message: noCertificate }];
}

function checkSipTls({ sip, tls }: Config, broken: ReadonlySet<unknown>): Problem[] {
  if (broken.has('tls')) return [];
  return sip.transports.flatMap(({ protocol, client_certificates: asked = 'none' }, index) => {
    const path = ['sip', 'transports', index];
    if (protocol !== 'tls' && protocol !== 'wss') return [];
    if (tls.certificates.length === 0)
      return [{ path: [...path, 'protocol'], message: `${protocol} ${noCertificate}` }];
    if (asked === 'none' || tls.client_authorities.length > 0) return [];
    const message = 'needs tls.client_authorities to verify client certificates';
    return [{ path: [...path, 'client_certificates'], message }];
  });
}

function checkUsers({ http }: Config): Problem[] {
  const problems: Problem[] = [];
  const names = new Set<string>();
  for (const [index, user] of http.users.entries()) {
    const path = ['http', 'users', index];
    if (names.has(user.name))
      problems.push({ path, message: `there are two users named \`${user.name}\`; give each a name of its own` });
    if (user.password !== undefined && user.password_hash !== undefined)
      problems.push({ path, message: 'give `password` or `password_hash`, not both' });
    if (user.password === '') problems.push({ path: [...path, 'password'], message: 'the password is empty' });
    names.add(user.name);
  }
  return problems;
}

function checkScopes({ http }: Config, { checkOperation }: Known): Problem[] {
  return http.users.flatMap(({ scope }, user) =>
    (scope?.operations ?? []).flatMap((pattern, index) => {
      const message = checkOperation?.(pattern);
      return message === undefined ? [] : [{ path: ['http', 'users', user, 'scope', 'operations', index], message }];
    }),
  );
}

/** Valid text behind `Bearer` (RFC 6750 2.1); may be empty. */
const isBearerToken = (text: string): boolean => /^[\w.~+/-]*=*$/.test(text);

function checkApplications({ applications, http }: Config, broken: ReadonlySet<unknown>): Problem[] {
  const problems: Problem[] = [];
  const taken = new Map<string, string>();
  for (const [name, { apps, local_user, username, token, local_token }] of Object.entries(applications)) {
    for (const [index, app] of apps.entries()) {
      const other = taken.get(app);
      if (other !== undefined)
        problems.push({
          path: ['applications', name, 'apps', index],
          message: `\`${app}\` is already listed under \`${other}\``,
        });
      taken.set(app, name);
    }
    // The value is not shown: it may be a secret.
    if (!isBearerToken(token))
      problems.push({
        path: ['applications', name, 'token'],
        message: 'not a bearer token (RFC 6750 2.1); allowed are letters, digits and -._~+/, then =',
      });
    if (!/^(?:hst_\w+)?$/.test(local_token))
      problems.push({
        path: ['applications', name, 'local_token'],
        message: 'not a token of this server; its tokens begin with hst_',
      });
    if (token !== '' && username !== '')
      problems.push({ path: ['applications', name, 'token'], message: 'give `token` or `username`, not both' });
    if (!broken.has('http') && !http.users.some((user) => user.name === local_user))
      problems.push({
        path: ['applications', name, 'local_user'],
        message: `there is no user \`${local_user}\` in http.users`,
      });
  }
  return problems;
}

function checkSip(config: Config, known: Known): Problem[] {
  const { t1, t2 } = config.sip.timers;
  return [
    ...checkEndpoints(config, known),
    ...checkTransports(config),
    ...(t1 > t2 ? [{ path: ['sip', 'timers'], message: 't1 must not exceed t2' }] : []),
  ];
}

function checkEndpoints({ sip, dialplan }: Config, known: Known): Problem[] {
  const problems: Problem[] = [];
  for (const [name, endpoint] of Object.entries(sip.endpoints)) {
    const path = ['sip', 'endpoints', name];
    if (!Object.hasOwn(Object(dialplan), endpoint.context))
      problems.push({ path: [...path, 'context'], message: unknownContext(endpoint.context, dialplan) });
    if (/[\s/@;]/.test(name))
      problems.push({ path, message: 'a name must not contain spaces, "/", "@" or ";"', atKey: true });
    const { minimum_expiration, maximum_expiration } = endpoint.aor;
    if (minimum_expiration > maximum_expiration)
      problems.push({ path: [...path, 'aor'], message: 'minimum_expiration must not exceed maximum_expiration' });
    if (endpoint.outbound_proxy && !rules.sipUri.test(endpoint.outbound_proxy))
      problems.push({ path: [...path, 'outbound_proxy'], message: rules.sipUri.wanted });
    // The dialplan says what an extension is.
    for (const [index, extension] of endpoint.allow.extensions.entries())
      for (const { message } of known.checkDialplan?.({ [endpoint.context]: { [extension]: ['Hangup'] } }) ?? [])
        problems.push({ path: [...path, 'allow', 'extensions', index], message });
    for (const [index, { client }] of endpoint.registrations.entries())
      if (client && !rules.sipUri.test(client))
        problems.push({ path: [...path, 'registrations', index, 'client'], message: rules.sipUri.wanted });
    if (endpoint.codecs.length === 0)
      problems.push({ path: [...path, 'codecs'], message: 'the list is empty; expected at least one entry' });
  }
  return problems;
}

function checkTransports({ sip }: Config): Problem[] {
  const problems: Problem[] = [];
  const taken = new Set<string>();
  for (const [index, { protocol, bind, port = standardSipPorts[protocol] }] of sip.transports.entries()) {
    const key = `${protocol === 'udp' ? 'udp' : 'tcp'} ${bind} ${port}`;
    if (port !== 0 && taken.has(key))
      problems.push({
        path: ['sip', 'transports', index],
        message: `${protocol} ${bind} ${port} is configured twice; give each transport its own address or port`,
      });
    taken.add(key);
  }
  return problems;
}

function checkMediaServers({ external_media: { websockets } }: Config): Problem[] {
  return Object.entries(websockets).flatMap(([name, { headers, token }]) => {
    const path = ['external_media', 'websockets', name, 'token'];
    const isTwice = token !== '' && headers.some((header) => /^authorization:/i.test(header));
    return [
      ...(isBearerToken(token)
        ? []
        : [{ path, message: 'not a bearer token (RFC 6750 2.1); allowed are letters, digits and -._~+/, then =' }]),
      ...(isTwice ? [{ path, message: 'give `token` or a header `Authorization`, not both' }] : []),
    ];
  });
}

function checkMedia({ media }: Config): Problem[] {
  const [first, last] = media.rtp_ports;
  const path = ['media', 'rtp_ports'];
  const problems: Problem[] = [];
  if (first > last) problems.push({ path, message: `the first port (${first}) must not exceed the last (${last})` });
  else if (first !== 0 && last - first < 1)
    problems.push({ path, message: 'the range is too small: each call needs two ports' });
  else if (first === 0 && last !== 0)
    problems.push({ path, message: 'port 0 is only allowed as [0, 0], which lets the system choose' });
  if (media.codecs.length === 0)
    problems.push({ path: ['media', 'codecs'], message: 'the list is empty; expected at least one entry' });
  return problems;
}

function checkBrowserCertificate({ media }: Config): Problem[] {
  const { certificate, key } = media.webrtc;
  if ((certificate === '') === (key === '')) return [];
  return [{ path: ['media', 'webrtc', 'key'], message: 'give `certificate` and `key`, or neither' }];
}

/** Of one port for all browsers: nothing else may have it, and one socket is all there is. */
function checkBrowserPort({ media, sip }: Config): Problem[] {
  const { udp_port: port, gathering } = media.webrtc;
  if (port === 0) return [];
  const [first, last] = media.rtp_ports;
  const isSip = sip.transports.some(
    ({ protocol, port: taken = standardSipPorts[protocol] }) => protocol === 'udp' && taken === port,
  );
  const refused = [
    port >= first && port <= last && 'is one of media.rtp_ports; choose a port outside',
    isSip && 'is a port of SIP by UDP (sip.transports); choose another one',
    media.threads > 1 && 'needs one media thread; set media.threads to 1 or 0',
    // An allocation belongs to a port (RFC 8656 5), and the calls have one together.
    gathering.turn !== '' &&
      !/^turns:|transport=tcp$/.test(gathering.turn) &&
      'needs a TURN server by TCP or TLS; add ?transport=tcp to media.webrtc.gathering.turn',
  ];
  const path = ['media', 'webrtc', 'udp_port'];
  return refused.flatMap((reason) => (reason ? [{ path, message: `the port (${port}) ${reason}` }] : []));
}

function checkDialplan({ dialplan }: Config, known: Known): Problem[] {
  const problems = known.checkDialplan?.(dialplan) ?? [];
  return problems.map(({ path, message }) => {
    const keys = path.split('/').slice(1);
    const plain = keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    // Third comes the position of a step.
    return { path: ['dialplan', ...plain.map((key, index) => (index === 2 ? Number(key) : key))], message };
  });
}

function unknownContext(context: string, dialplan: DialplanConfig): string {
  const near = nearest(context, Object.keys(dialplan));
  return `the dialplan has no context \`${context}\`${near ? `; did you mean \`${near}\`?` : ''}`;
}

/** IPv4 or IPv6 as numbers. */
function isAddress(text: string): boolean {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text)) return text.split('.').every((part) => Number(part) <= 255);
  // The URL parser knows IPv6; node:net is only for the layers that open sockets.
  return text.includes(':') && /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`);
}

function isWebSocketUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'ws:' || protocol === 'wss:') && username === '' && password === '' && hash === '';
}

function isHttpUrl(text: string): boolean {
  if (text === '') return true;
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '' && hash === '';
}

function isOrigin(text: string): boolean {
  return text === '*' || text === 'null' || (URL.canParse(text) && new URL(text).origin === text);
}
