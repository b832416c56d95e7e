import { createIds } from '../../../src/lib/ids.ts';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import type { Logger } from '../../../src/lib/log.ts';
import type { DigestClient } from '../../../src/sip/auth/client.ts';
import type { IncomingCall } from '../../../src/sip/dialog/incoming-call.ts';
import type { Reliability } from '../../../src/sip/dialog/reliable.ts';
import type { SessionTerms } from '../../../src/sip/dialog/session-timer.ts';
import type { OfferAnswer } from '../../../src/sip/dialog/usage-handlers.ts';
import { createUserAgent } from '../../../src/sip/dialog/user-agent.ts';
import type { NameServer } from '../../../src/sip/location/names.ts';
import { type FailoverTimes, TargetMemory } from '../../../src/sip/location/target-memory.ts';
import {
  type BuildResponseOptions,
  buildRequest,
  buildResponse,
  type HeaderLines,
} from '../../../src/sip/message/build.ts';
import type { SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import { parseUri } from '../../../src/sip/message/uri.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import { type OpenProbe, Probes } from '../../../src/sip/transport/probes.ts';
import type { Source, Target } from '../../../src/sip/transport/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeTransports, peer, settle } from '../transaction/fake-transports.ts';

const silent = () => {};
export const target: Target = { protocol: 'udp', address: '192.0.2.9', port: 5070 };

/** A user agent on simulated time and network; the test is the peer, and `told` is what its user hears. */
export function createBench({
  names,
  mostBranches,
  waitingProvisional,
  failover,
  announceDelayMs,
  openProbe,
}: {
  names?: NameServer;
  mostBranches?: number;
  waitingProvisional?: number;
  failover?: FailoverTimes;
  announceDelayMs?: number;
  openProbe?: OpenProbe;
} = {}) {
  const clock = new ManualClock();
  const transports = new FakeTransports(clock);
  const errors: string[] = [];
  const limits = new LimitCounts();
  const log: Logger = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: (_, text) => errors.push(text),
    child: () => log,
    enabled: () => false,
  };
  const ids = createIds(clock);
  const transactions = createTransactionLayer({ transports, clock, ids, log });
  const agent = createUserAgent({
    transactions,
    transports,
    clock,
    ids,
    log,
    timing: { t1Ms: 500, t2Ms: 4000 },
    userAgent: 'Test',
    ...(names && { names }),
    ...(failover && { targets: new TargetMemory(clock, () => failover) }),
    ...(announceDelayMs !== undefined && { announceDelayMs: () => announceDelayMs }),
    ...(mostBranches !== undefined && { mostBranches }),
    ...(waitingProvisional !== undefined && { waitingProvisional }),
    ...(openProbe && { probes: new Probes(openProbe, () => 1, limits.hit) }),
    hit: limits.hit,
  });
  const told: string[] = [];
  /** Told of everything as it is said to the user. */
  const hook: { onTold?: (what: string) => void } = {};
  const incoming: IncomingCall[] = [];
  /** What the user answers; tests change it. */
  const user = {
    answer: 'our-answer' as OfferAnswer,
    rejection: 'all-refused' as string | undefined,
    accepts: true,
    status: 200,
    /** How calls that come in use reliable responses. */
    reliability: undefined as Reliability | undefined,
    /** How calls that come in are watched. */
    session: undefined as SessionTerms,
    /** What calls that come in answer challenges of the peer with. */
    digest: undefined as DigestClient | undefined,
    /** For a request from a place where the peer was not heard before. */
    challenge: undefined as HeaderLines | undefined,
    /** The connection that the peer has registered over. */
    registered: undefined as Source | undefined,
    /** Who the peer is to be told that it is connected to. */
    party: undefined as string | undefined,
  };
  /** Writes down what was asked, and gives the answer to it. */
  const asked = <T>(what: string, answer: T): T => {
    told.push(what);
    return answer;
  };
  const usage = {
    answerOffer: (sdp: string) => asked(`offer ${sdp}`, user.answer),
    rejectOffer: (sdp: string) => asked(`reject ${sdp}`, user.rejection),
    makeOffer: () => asked('make offer', 'our-offer'),
    acceptAnswer: (sdp: string) => asked(`answer ${sdp}`, user.accepts),
    standingHeaders: (): HeaderLines => (user.party === undefined ? [] : [['P-Asserted-Identity', user.party]]),
    onUpdated(request: SipRequest) {
      const party = request.header('P-Asserted-Identity');
      if (party !== undefined) told.push(`updated ${party}`);
    },
    onOfferRefused: (status: number) => void told.push(`offer refused ${status}`),
    challengeStranger: (transaction: ServerTransaction) =>
      user.challenge !== undefined && transaction.reply(401, { headers: user.challenge }),
    registeredFlow: () => user.registered,
    onRequest: (request: SipRequest) => asked(request.method, user.status),
    onRequestEnded: (label: string, status: number) => void told.push(`${label} ${status}`),
    onAcknowledged: () => void told.push('acknowledged'),
    onEnded(end: { by: string; status?: number }) {
      told.push(`ended ${end.by}${end.status ?? ''}`);
      hook.onTold?.(told.at(-1)!);
    },
    onClosed: () => void told.push('closed'),
  };
  agent.onInvite((offer) => {
    incoming.push(
      offer.take(
        {
          ...usage,
          onCancelled() {
            told.push('cancelled');
            hook.onTold?.('cancelled');
          },
          onAnswerSent: () => user.reliability && void told.push('answer sent'),
          onSetupFailed: (status) => void told.push(`setup failed ${status}`),
        },
        { reliability: user.reliability ?? 'asked', session: user.session, digest: user.digest },
      ),
    );
  });
  let cseq = 100;

  return {
    set onTold(fn: (what: string) => void) {
      hook.onTold = fn;
    },
    clock,
    transports,
    transactions,
    agent,
    limits,
    told,
    user,
    incoming,
    errors,
    /** Everything said to the user since the last call. */
    async heard() {
      await settle();
      return told.splice(0);
    },
    /** Everything sent since the last call, in short. */
    async sent() {
      await settle();
      return transports.take().map(([, what]) => what);
    },
    /** The last message sent, a request. */
    async request(): Promise<SipRequest> {
      await settle();
      const message = transports.sent.at(-1)?.message;
      if (message?.kind !== 'request') throw new Error('the last message is no request');
      return message;
    },
    async response(): Promise<SipResponse> {
      await settle();
      const message = transports.sent.at(-1)?.message;
      if (message?.kind !== 'response') throw new Error('the last message is no response');
      return message;
    },
    /** Lets time pass, in ms, after what is under way. */
    async advance(ms: number) {
      await settle();
      clock.advance(ms);
      await settle();
    },
    /** A call of ours to the peer. */
    call: (
      headers: HeaderLines = [],
      reliable?: 'supported' | 'required',
      session?: SessionTerms,
      uri = 'sip:bob@192.0.2.9:5070',
    ) =>
      agent.invite(
        {
          reliable,
          session,
          uri: parseUri(uri)!,
          from: { uri: parseUri('sip:us@192.0.2.1')!, params: {} },
          to: { uri: parseUri('sip:bob@192.0.2.9')!, params: {} },
          headers,
          sdp: 'our-offer',
        },
        {
          ...usage,
          onProvisional: ({ status }) => void told.push(`provisional ${status}`),
          onBranchEnded: (_branch, { toTag }) => void told.push(`branch ${toTag} ended`),
          answerEarlyOffer: (sdp, { fromTag }) => asked(`early offer ${sdp} of ${fromTag}`, user.answer),
          onAnswered: ({ status }) => void told.push(`answered ${status}`),
          onRefused: ({ status }) => void told.push(`refused ${status}`),
          onFailed: (status) => void told.push(`failed ${status}`),
        },
      ),
    /** The peer answers a request of ours. */
    answer(request: SipRequest, status: number, options: BuildResponseOptions = {}) {
      transports.deliver(
        buildResponse(request, status, {
          toTag: 'peer',
          contact: '<sip:bob@192.0.2.9:5070>',
          ...(status >= 200 &&
            status < 300 &&
            request.method === 'INVITE' && { contentType: 'application/sdp', body: 'their-answer' }),
          ...options,
        }),
      );
    },
    /** A request of the peer's outside any dialog, or inside one when it has the tags. */
    send(
      method: string,
      {
        toTag,
        fromTag = 'caller',
        callId = 'their-call',
        sdp,
        contentType = 'application/sdp',
        headers = [],
        number = ++cseq,
        branch = `z9hG4bK${number}${method}`,
        source = peer('udp'),
        uri = 'sip:us@192.0.2.1',
      }: {
        toTag?: string;
        fromTag?: string;
        callId?: string;
        sdp?: string;
        contentType?: string;
        headers?: HeaderLines;
        number?: number;
        branch?: string;
        source?: Source;
        uri?: string;
      } = {},
    ): number {
      const message = buildRequest({
        method,
        uri,
        from: `<sip:carol@192.0.2.9>;tag=${fromTag}`,
        to: `<sip:us@192.0.2.1>${toTag === undefined ? '' : `;tag=${toTag}`}`,
        callId,
        cseq: number,
        contact: '<sip:carol@192.0.2.9:5070>',
        headers,
        ...(sdp !== undefined && { contentType: contentType || undefined, body: sdp }),
      });
      transports.deliver(message.prepend('Via', `SIP/2.0/UDP 192.0.2.9:5070;branch=${branch};rport=5070`), source);
      return number;
    },
    /** Nothing may be left of any call: neither dialogs nor timers. */
    async leaks() {
      await settle();
      clock.advance(200_000);
      await settle();
      clock.advance(200_000);
      const { dialogs, pending } = agent.counts();
      const { clients, servers } = transactions.counts();
      return { dialogs, pending, clients, servers, timers: clock.pending, errors: errors.length };
    },
  };
}

/** A description beside another part, as the options of `send`. */
export const parts = (sdp: string) => ({
  contentType: 'multipart/mixed; boundary="-x"',
  sdp: `---x\r\nContent-Type: application/isup\r\n\r\n\u0001\r\n---x\r\nContent-Type: application/sdp\r\n\r\n${sdp}\r\n---x--`,
});

export const nothing = { dialogs: 0, pending: 0, clients: 0, servers: 0, timers: 0, errors: 0 };
