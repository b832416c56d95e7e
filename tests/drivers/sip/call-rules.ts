import type { SipMessage, SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import type { LegReport } from '../../../src/telephony/driver.ts';

/** A message as it went by; `at` in ms since the start. */
export type Said = { readonly by: 'peer' | 'server'; readonly message: SipMessage; readonly at: number };

/** What the peer has asked, how often it came, and what it was answered. */
export type Exchange = {
  readonly request: SipRequest;
  deliveries: number;
  readonly responses: { readonly octets: string; readonly status: number; readonly at: number }[];
};

/** A response to an INVITE is sent eleven times in 32 s when no ACK comes, a reliable one seven times. */
const MOST_REPEATS = 60;
/** How long a transaction of an INVITE is sure to wait for its first response, in ms. */
const WAITS_MS = 30_000;

const nameOf = ({ message, at }: Said): string => {
  const what = message.kind === 'request' ? message.method : `${message.status} ${message.cseq.method}`;
  return `${what} ${message.cseq.number} of ${message.callId} at ${at} ms`;
};
export const branchOf = (message: SipMessage): string => message.topVia?.params['branch'] ?? '';
const asks = (message: SipMessage, method: string): message is SipRequest =>
  message.kind === 'request' && message.method === method;
const answers = (message: SipMessage, method: string): message is SipResponse =>
  message.kind === 'response' && message.cseq.method === method;
const isAccepted = (message: SipMessage, method: string): boolean =>
  answers(message, method) && message.status >= 200 && message.status < 300;
const describes = (message: SipMessage): boolean =>
  message.contentType === 'application/sdp' && message.body.length > 0;
const linesIn = (message: SipMessage): number => message.bodyText.split('\nm=').length - 1;

/** RFC 3261 17.2: a request has one final response, which is the last, and each time that it comes it is answered once at most. */
export function wronglyAnswered(exchanges: readonly Exchange[]): string[] {
  return exchanges.flatMap(({ request, responses, deliveries }) => {
    const what = `${request.method} ${request.cseq.number} of ${request.callId}: ${responses.map(({ status }) => status)}`;
    const first = responses.findIndex(({ status }) => status >= 200);
    const finals = new Set(responses.filter(({ status }) => status >= 200).map(({ octets }) => octets));
    const most = deliveries + (request.method === 'INVITE' ? MOST_REPEATS : 0);
    return [
      ...(finals.size === 1 ? [] : [`${what}, ${finals.size} final responses`]),
      ...(responses.slice(first).some(({ status }) => status < 200) && first >= 0 ? [`${what}, it goes on`] : []),
      ...(responses.length > most ? [`${what}, more than there may be`] : []),
    ];
  });
}

/** Requests of the server's without those that are repeated, each as it came first. */
function requestsOf(said: readonly Said[]): Said[] {
  const known = new Set<string>();
  return said.filter(({ by, message }) => {
    if (by !== 'server' || message.kind !== 'request') return false;
    const key = `${branchOf(message)} ${message.method}`;
    return known.size < known.add(key).size;
  });
}

/** RFC 3261 12.2.1.1, 15.1.1: requests in a dialog are numbered upwards, and a BYE is the last. */
export function wronglyNumbered(said: readonly Said[]): string[] {
  const last = new Map<string, { number: number; over: boolean }>();
  return requestsOf(said).flatMap((each) => {
    const { message } = each;
    if (message.kind !== 'request' || message.method === 'ACK' || message.method === 'CANCEL') return [];
    const key = `${message.callId} ${message.fromTag} ${message.toTag}`;
    const before = last.get(key);
    last.set(key, { number: message.cseq.number, over: message.method === 'BYE' || before?.over === true });
    return [
      ...(before && message.cseq.number <= before.number ? [`${nameOf(each)} after ${before.number}`] : []),
      ...(before?.over ? [`${nameOf(each)} after BYE`] : []),
    ];
  });
}

/** RFC 3261 13.2.2.4, 17.1.1.3: a final response to an INVITE is acknowledged. 14.1: until then there is no other INVITE. */
export function wronglyInvited(said: readonly Said[]): string[] {
  return requestsOf(said).flatMap((each) => {
    const { message, at } = each;
    if (!asks(message, 'INVITE')) return [];
    const { callId, cseq } = message;
    const later = said.slice(said.indexOf(each) + 1).filter((other) => other.message.callId === callId);
    const isDecision = (other: Said) =>
      other.by === 'peer' &&
      answers(other.message, 'INVITE') &&
      other.message.status >= 200 &&
      branchOf(other.message) === branchOf(message);
    const decided = later.findIndex((other) => isDecision(other) || other.at >= at + WAITS_MS);
    const meanwhile = later.slice(0, decided < 0 ? later.length : decided);
    const other = meanwhile.find(
      ({ by, message: next }) => by === 'server' && asks(next, 'INVITE') && branchOf(next) !== branchOf(message),
    );
    const isAcknowledged = later
      .slice(decided)
      .some(({ by, message: next }) => by === 'server' && asks(next, 'ACK') && next.cseq.number === cseq.number);
    const wantsAck = decided >= 0 && isDecision(later[decided]!) && later[decided]!.at < at + WAITS_MS;
    return [
      ...(other ? [`${nameOf(other)} while ${nameOf(each)} is open`] : []),
      ...(wantsAck && !isAcknowledged ? [`no ACK to ${nameOf(later[decided]!)}`] : []),
    ];
  });
}

/** RFC 3261 15: who is called does not end with BYE what it has not answered. */
export function wronglyEnded(said: readonly Said[]): string[] {
  return requestsOf(said).flatMap((each) => {
    const { message } = each;
    if (!asks(message, 'BYE')) return [];
    const before = said.slice(0, said.indexOf(each)).filter((other) => other.message.callId === message.callId);
    const stood = before.some((other) => isAccepted(other.message, 'INVITE'));
    return stood ? [] : [`${nameOf(each)} in an early dialog`];
  });
}

/** RFC 3264 5, 6: what is accepted is described, line by line; a description that stays the same keeps its version (8). */
export function wronglyDescribed(said: readonly Said[]): string[] {
  const found: string[] = [];
  const octets = new Set<string>();
  const versions = new Map<string, { version: number; text: string }>();
  for (const [index, each] of said.entries()) {
    const { by, message } = each;
    if (by === 'peer') {
      const method = message.kind === 'request' && describes(message) ? message.method : '';
      const answer = said
        .slice(index)
        .find((other) => isAccepted(other.message, method) && branchOf(other.message) === branchOf(message))?.message;
      if (answer && method === 'UPDATE' && !describes(answer)) found.push(`no answer to ${nameOf(each)}`);
      if (answer && describes(answer) && linesIn(answer) !== linesIn(message))
        found.push(`other lines than ${nameOf(each)}`);
      continue;
    }
    const written = message.toBuffer().toString('latin1');
    const isRepeated = octets.has(written);
    octets.add(written);
    if (isRepeated) continue;
    const isSettled = said
      .slice(0, index)
      .some(({ message: before }) => before.callId === message.callId && before.header('RSeq') && describes(before));
    if (isAccepted(message, 'INVITE') && !describes(message) && !isSettled)
      found.push(`${nameOf(each)} without a description`);
    const [, id, number] = (describes(message) && /^o=- (\d+) (\d+) /m.exec(message.bodyText)) || [];
    if (id === undefined) continue;
    const key = `${message.callId} ${id}`;
    const [before, version] = [versions.get(key), Number(number)];
    if (before && (version < before.version || (version === before.version && message.bodyText !== before.text)))
      found.push(`${nameOf(each)}: version ${version} after ${before.version}`);
    versions.set(key, { version, text: message.bodyText });
  }
  return found;
}

/** What the port promises of reports: each of these once at most, and one end that is the last. */
export function wronglyTold(calls: readonly { id: string; told: readonly LegReport['type'][] }[]): string[] {
  const once = ['leg.answered', 'leg.hungUp', 'leg.ringing', 'leg.forwarded', 'leg.ended'] as const;
  return calls
    .filter(
      ({ told }) => told.at(-1) !== 'leg.ended' || once.some((type) => told.filter((each) => each === type).length > 1),
    )
    .map(({ id, told }) => `${id} is told ${told}`);
}
