import { markFor, markOf } from '../../lib/ids.ts';
import { createDigestClient } from '../../sip/auth/client.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipResponse } from '../../sip/message/message.ts';
import type { NameAddr } from '../../sip/message/name-addr.ts';
import { deltaSeconds } from '../../sip/message/scan.ts';
import { formatUri, parseUri, type SipUri, type Uri } from '../../sip/message/uri.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { RegistrationAnswer, RegistrationDetails, RegistrationDriver } from '../../telephony/registrations.ts';
import { proxyRoutes } from './bindings.ts';
import type { EndpointConfig, RegistrationConfig } from './config.ts';
import type { Services } from './services.ts';

/** Registers lines at their providers, and knows their calls again (RFC 3261 10.2). */
interface LineRegistrations extends Omit<RegistrationDriver, 'technology'> {
  /** The wanted registrations of the endpoints. */
  wanted(): RegistrationDetails[];
  /** The endpoint whose line a request was sent to: its Request-URI has the token that only the registrar was given. */
  endpointOf(requestUri: Uri): EndpointConfig | undefined;
  /** A connection is closed: reports the registrations over it. */
  connectionClosed(peer: Target): void;
  dump(): readonly LineData[];
  restore(data: readonly LineData[]): void;
  size(): number;
  close(): void;
}

/** Data of a registration: plain data. */
export type LineData = {
  readonly id: string;
  readonly callId: string;
  readonly cseq: number;
  /** User part of our Contact: incoming calls that dial it come from the registrar. */
  readonly token: string;
};

type Line = {
  readonly id: string;
  endpoint: EndpointConfig;
  config: RegistrationConfig;
  readonly callId: string;
  cseq: number;
  readonly token: string;
  /** Address of the registrar: it counts as known, so that its calls pass the rate limiter. */
  peer: Target | undefined;
};

/** Refusals that another try may overcome; all other 4xx and 6xx will come again (RFC 3261 21.4, 21.5). */
const temporary = new Set([408, 423, 425, 429, 430, 480, 482, 486, 487, 491, 494]);

const isPermanent = (status: number): boolean => (status < 500 || status >= 600) && !temporary.has(status);

/** The URI that a registration is for. @returns undefined when its server is no SIP URI. */
function registeredUri(endpoint: EndpointConfig, { server, client }: RegistrationConfig): SipUri | undefined {
  const uri = parseUri(client ?? server);
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') return undefined;
  if (client !== undefined) return uri;
  const { port: _, ...rest } = uri;
  return {
    ...rest,
    user: endpoint.outboundAuth?.username ?? endpoint.fromUser ?? endpoint.name,
    params: {},
    headers: {},
  };
}

function allDetailsOf(
  endpoint: EndpointConfig,
  config: RegistrationConfig,
  longestAnswerMs: number,
): RegistrationDetails[] {
  const client = registeredUri(endpoint, config);
  if (!client) return [];
  return [
    {
      id: `${endpoint.name};${config.server};${formatUri(client)}`,
      technology: 'PJSIP',
      endpoint: endpoint.name,
      server: config.server,
      client: formatUri(client),
      expiresMs: config.expirationSeconds * 1000,
      shortestRefreshMs: config.shortestRefreshMs,
      retryMs: config.retryMs,
      longestRetryMs: config.longestRetryMs,
      rejectedRetryMs: config.rejectedRetryMs,
      longestAnswerMs,
    },
  ];
}

/** How long a REGISTER takes at most, in ms: all servers but the last are given up early. */
const longestAnswerMs = ({ config, stack }: Services): number =>
  (config.location.addresses - 1) * config.failover.patienceMs + 64 * stack.timing.t1Ms;

/** Our Contact: the number that calls come in by, and the token that says whose they are. */
function contactOf({ config, token }: Line, client: SipUri, own: NameAddr): NameAddr {
  const uri = own.uri as SipUri;
  return { ...own, uri: { ...uri, user: config.contactUser ?? client.user, params: { ...uri.params, line: token } } };
}

/** Keeps the flow over which a line is registered; undefined: it is not any more. */
function hold({ peers, targets }: Services['stack'], line: Line, peer: Target | undefined): void {
  if (peer) {
    peers?.hold(peer);
    targets?.registered(peer, 1);
  }
  if (line.peer) {
    peers?.release(line.peer);
    targets?.registered(line.peer, -1);
  }
  line.peer = peer;
}

type Sent = {
  contact(own: NameAddr, target: Target, client: SipUri): NameAddr;
  headers: HeaderLines;
};

/** Sends a REGISTER of a line for one contact. @returns false if its server is no SIP URI */
function request(
  { stack, agent }: Services,
  line: Line,
  { contact, headers }: Sent,
  handlers: Parameters<Services['agent']['request']>[1],
): boolean {
  const { endpoint, config, callId } = line;
  const server = parseUri(config.server);
  const client = registeredUri(endpoint, config);
  if (!server || !client) return false;
  const self: NameAddr = { uri: client, params: {} };
  agent.request(
    {
      method: 'REGISTER',
      uri: { ...(server as SipUri), user: undefined, password: undefined },
      ...{ from: self, to: self, callId, headers, routes: proxyRoutes(endpoint) },
      nextCseq: () => ++line.cseq,
      contact: (own, target) => contact(own, target, client),
      digest: endpoint.outboundAuth && createDigestClient([endpoint.outboundAuth], stack.ids),
    },
    handlers,
  );
  return true;
}

/** Contacts that are taken back after one answer. */
const mostStale = 10;

/** Takes the contacts back of nodes whose processes have ended: calls would go there until they expire. */
function removeStale(services: Services, line: Line, response: SipResponse): void {
  const { stack, elsewhere } = services;
  const stale = response.contacts.filter(({ uri }) => {
    const node = uri.scheme === 'sip' || uri.scheme === 'sips' ? markOf(uri.params['line'] ?? '') : undefined;
    return node !== undefined && node !== elsewhere?.node && elsewhere?.isGone(node) === true;
  });
  for (const { uri } of stale.slice(0, mostStale)) {
    const told = (status: number): void =>
      stack.log.info(
        { registration: line.id, contact: formatUri(uri), status },
        'took back the contact of a lost node',
      );
    const contact = (): NameAddr => ({ uri, params: {} });
    request(
      services,
      line,
      { contact, headers: [['Expires', '0']] },
      { onFinal: ({ status }) => told(status), onFailure: told },
    );
  }
}

/** Sends REGISTER for a line. @param isCurrent whether the line is still wanted when the answer comes. */
function sendRegister(
  services: Services,
  line: Line,
  expiresMs: number,
  { isCurrent, answer }: { isCurrent(): boolean; answer(answer: RegistrationAnswer): void },
): void {
  const { stack, agent } = services;
  let peer: Target | undefined;
  let servers = 0;
  const seconds = Math.round(expiresMs / 1000);
  const isSent = request(
    services,
    line,
    {
      contact: (own, target, client) => {
        peer = target;
        return contactOf(line, client, own);
      },
      headers: [
        ['Expires', String(seconds)],
        ['Allow', agent.allow],
      ],
    },
    {
      onLocated: (count) => void (servers = count > 1 ? count : 0),
      onFinal(response) {
        const made = answerOf(response, line.token, seconds, servers * services.config.failover.patienceMs);
        if (made.type === 'accepted' && seconds > 0) removeStale(services, line, response);
        if (isCurrent()) hold(stack, line, made.type === 'accepted' && seconds > 0 ? peer : undefined);
        answer(made);
      },
      onFailure: (status) =>
        answer({ type: 'unanswered', reason: status === 408 ? 'no answer' : 'it cannot be reached' }),
    },
  );
  if (!isSent) answer({ type: 'refused', reason: 'its server is no SIP URI', permanent: true });
}

/**
 * Creates the registration part of the SIP driver.
 * @param connectionLost gets registrations whose connection is lost.
 */
export function createLineRegistrations(services: Services, connectionLost: (id: string) => void): LineRegistrations {
  const { stack, endpoints, elsewhere } = services;
  const lines = new Map<string, Line>();
  const byToken = new Map<string, Line>();

  const detailsOf = (endpoint: EndpointConfig, each: RegistrationConfig) =>
    allDetailsOf(endpoint, each, longestAnswerMs(services));

  const put = (line: Line): Line => {
    lines.set(line.id, line);
    byToken.set(line.token, line);
    return line;
  };

  /** The registration with the endpoint's present settings; with the last ones if the endpoint was removed. */
  const lineOf = ({ id, endpoint: name }: RegistrationDetails): Line | undefined => {
    const line = lines.get(id);
    const endpoint = endpoints.named(name);
    const config = endpoint?.registrations?.find((each) => detailsOf(endpoint, each).some((made) => made.id === id));
    if (!endpoint || !config) return line;
    if (line) return Object.assign(line, { endpoint, config });
    const { ids } = stack;
    const token = markFor(elsewhere?.node ?? '') + ids.secret(20);
    return put({ id, endpoint, config, callId: ids.uuid(), cseq: 0, token, peer: undefined });
  };

  return {
    wanted: () =>
      endpoints
        .all()
        .flatMap((endpoint) => (endpoint.registrations ?? []).flatMap((each) => detailsOf(endpoint, each))),
    register: (details, expiresMs) =>
      new Promise((resolve) => {
        const line = lineOf(details);
        if (line)
          sendRegister(services, line, expiresMs, {
            isCurrent: () => lines.get(line.id) === line,
            answer: resolve,
          });
        else resolve({ type: 'refused', reason: 'the endpoint is gone', permanent: true });
      }),
    ended({ id }) {
      const line = lines.get(id);
      if (!line) return;
      hold(stack, line, undefined);
      lines.delete(id);
      byToken.delete(line.token);
    },
    endpointOf(requestUri) {
      const token = requestUri.scheme === 'other' ? undefined : requestUri.params['line'];
      return token === undefined ? undefined : byToken.get(token)?.endpoint;
    },
    dump: () => [...lines.values()].map(({ id, callId, cseq, token }) => ({ id, callId, cseq, token })),
    restore(data) {
      const wanted = new Map<string, { endpoint: EndpointConfig; config: RegistrationConfig }>();
      for (const endpoint of endpoints.all())
        for (const config of endpoint.registrations ?? [])
          for (const { id } of detailsOf(endpoint, config)) wanted.set(id, { endpoint, config });
      for (const line of data) {
        const found = wanted.get(line.id);
        if (found) put({ ...line, ...found, peer: undefined });
      }
    },
    size: () => lines.size,
    close() {
      for (const line of lines.values()) hold(stack, line, undefined);
      lines.clear();
      byToken.clear();
    },
    connectionClosed({ protocol, address, port }) {
      for (const { id, peer } of [...lines.values()])
        if (peer?.protocol === protocol && peer.address === address && peer.port === port) connectionLost(id);
    },
  };
}

/** The result in a final response (RFC 3261 10.2.4, 10.2.8). */
function answerOf(response: SipResponse, token: string, asked: number, failoverMs: number): RegistrationAnswer {
  const { status } = response;
  if (status < 300) {
    const ours = response.contacts.find(({ uri }) => uri.scheme === 'sip' && uri.params['line'] === token);
    const seconds = deltaSeconds(ours?.params['expires']) ?? response.expires ?? asked;
    // A time of 0 means that we are not registered (RFC 3261 10.2.2).
    if (seconds === 0 && asked > 0)
      return { type: 'refused', reason: `${status}, but registered for 0 s`, permanent: false };
    return {
      type: 'accepted',
      expiresMs: Math.max(1, seconds) * 1000,
      ...(failoverMs > 0 && { failoverMs }),
    };
  }
  if (status === 423) {
    const minimum = deltaSeconds(response.headerLines('Min-Expires')[0]) ?? 0;
    return { type: 'tooBrief', minimumMs: minimum * 1000 };
  }
  const retryAfter = deltaSeconds(/^\d+/.exec(response.headerLines('Retry-After')[0] ?? '')?.[0]);
  return {
    type: 'refused',
    reason: `${status} ${response.reason}`.trim(),
    permanent: isPermanent(status),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter * 1000 }),
  };
}
