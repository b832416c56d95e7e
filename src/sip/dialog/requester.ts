import { guarded } from '../../lib/guard.ts';
import type { Challenge, DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { ClientHandlers, ClientTransaction } from '../transaction/transaction.ts';
import type { Target } from '../transport/transport.ts';
import type { Stack } from './stack.ts';

/** A request that may have to be sent more than once until its credentials satisfy. */
export type Sending = {
  /** Builds the request for every try, because each has its own CSeq (RFC 3261 22.2). */
  build(): SipRequest;
  target: Target;
  /** Answers 401 and 407; without it they are final. */
  digest?: DigestClient | undefined;
  /** There is another server to ask: this one is waited for only so long, in ms. Left out, it has the transaction's time. */
  patienceMs?: number | undefined;
};

export type SendingHandlers = {
  onProvisional?(response: SipResponse, request: SipRequest): void;
  /** Once; for an INVITE again for every further 2xx. */
  onFinal(response: SipResponse, request: SipRequest): void;
  /**
   * No response (408), or the request could not be sent (503); in place of `onFinal`, never before `sendRequest`
   * returns.
   */
  onFailure(status: 408 | 503): void;
  /** A 2xx to an INVITE that has timed out: nobody needs it. */
  onLate?(response: SipResponse, request: SipRequest): void;
  /** The last callback: later responses are ignored. */
  onOver?(): void;
};

/** State of sending a request: plain data. */
export type SentData = {
  /** Key of its client transaction; undefined when it could not even be made. */
  readonly transaction?: string | undefined;
  /** Headers of `cancel`. */
  readonly cancelled?: HeaderLines | undefined;
};

export interface Sent {
  /** Cancels an INVITE as soon as that is allowed; its final answer still comes. */
  cancel(headers?: HeaderLines): void;
  readonly data: SentData;
}

/** Sends a request and, once per challenge, sends it again with credentials. */
export function sendRequest(stack: Stack, sending: Sending, handlers: SendingHandlers): Sent {
  const sender = new Sender(stack, sending, handlers);
  sender.attempt();
  return sender;
}

/**
 * Continues a request of a previous process. @returns undefined if its transaction is over: then no callbacks follow.
 */
export function resumeRequest(
  stack: Stack,
  sending: Sending,
  handlers: SendingHandlers,
  data: SentData,
): Sent | undefined {
  const sender = new Sender(stack, sending, handlers);
  return sender.resume(data) ? sender : undefined;
}

class Sender implements Sent {
  readonly #stack: Stack;
  readonly #sending: Sending;
  readonly #handlers: SendingHandlers;
  #transaction: ClientTransaction | undefined;
  #cancelled: HeaderLines | undefined;
  /** The last try went over TCP for its size; and whether that is not to be tried again. */
  #overStream = false;
  #overDatagrams = false;
  #challenges = 0;
  /** Makes the request and sends it; what it throws ends as if nothing could be sent. */
  readonly attempt: () => void;

  constructor(stack: Stack, sending: Sending, handlers: SendingHandlers) {
    this.#stack = stack;
    this.#sending = sending;
    this.#handlers = handlers;
    const unmade = guarded(stack.log, 'telling of a failed request', () => {
      handlers.onFailure(503);
      handlers.onOver?.();
    });
    this.attempt = guarded(
      stack.log,
      'making a request',
      () => this.#try(),
      () => queueMicrotask(unmade),
    );
  }

  get data(): SentData {
    return { transaction: this.#transaction?.key, ...(this.#cancelled && { cancelled: this.#cancelled }) };
  }

  cancel(headers: HeaderLines = []): void {
    this.#cancelled = headers;
    this.#transaction?.cancel(headers);
  }

  resume({ transaction, cancelled }: SentData): boolean {
    this.#cancelled = cancelled;
    if (transaction === undefined) return false;
    this.#transaction = this.#stack.transactions.adopt(transaction, this.#hearing());
    return this.#transaction !== undefined;
  }

  #try(): void {
    const { digest, target } = this.#sending;
    const request = this.#sending.build();
    for (const { name, value } of digest?.authorize(request.method, request.requestUri) ?? [])
      request.append(name, value);
    const to = this.#overDatagrams ? target : largeTarget(request, target, this.#stack);
    this.#overStream = to !== target;
    this.#transaction = this.#stack.transactions.request(request, to, this.#hearing());
  }

  /** Whether the request should be repeated with credentials. */
  #answersChallenge(response: SipResponse): boolean {
    const { digest, target } = this.#sending;
    if (!digest?.challenged(challengesOf(response))) return false;
    if (++this.#challenges <= mostChallenges) return true;
    const { method } = this.#transaction!.request;
    this.#stack.log.info({ method, target }, 'a server repeats its challenge; the request is abandoned');
    return false;
  }

  /**
   * Waits for a server while another can be asked. A UDP server that is silent for T1 may not be there: a probe asks.
   * @returns ends the wait.
   */
  #waitFor(target: Target, patienceMs: number, giveUp: (reason: string) => void): () => void {
    const { clock, log, probes, timing } = this.#stack;
    const tell = guarded(log, 'asking another server', giveUp);
    const patience = clock.setTimeout(() => tell(`silent for ${patienceMs} ms`), patienceMs);
    let endProbe = (): void => {};
    const ask = guarded(log, 'probing a server', () => {
      endProbe = probes?.ask(target, () => tell('refused by ICMP')) ?? endProbe;
    });
    const isHeardOtherwise = !probes || target.protocol !== 'udp' || this.#overStream || timing.t1Ms >= patienceMs;
    const silence = isHeardOtherwise ? undefined : clock.setTimeout(ask, timing.t1Ms);
    return () => {
      clock.clearTimeout(patience);
      clock.clearTimeout(silence);
      endProbe();
    };
  }

  /** Callbacks of one attempt; ignored once it is repeated. */
  #hearing(): ClientHandlers {
    const handlers = this.#handlers;
    const { targets } = this.#stack;
    const { target, patienceMs } = this.#sending;
    let retried = false;
    let heard = false;
    let givenUp = false;
    const giveUp = (reason: string): void => {
      stopWaiting();
      givenUp = true;
      targets?.failed(target);
      this.#stack.log.info({ target, reason }, 'a server does not answer; trying the next one');
      // An INVITE that arrives after all is cancelled as soon as that shows.
      this.#transaction?.cancel();
      handlers.onFailure(408);
    };
    const stopWaiting = patienceMs === undefined ? () => {} : this.#waitFor(target, patienceMs, giveUp);
    const answers = (): void => {
      heard = true;
      stopWaiting();
      targets?.heard(target);
    };
    return {
      onProvisional: (response) => {
        answers();
        if (givenUp) return;
        handlers.onProvisional?.(response, this.#transaction!.request);
      },
      onFinal: (response) => {
        answers();
        if (givenUp && response.status < 300) handlers.onLate?.(response, this.#transaction!.request);
        if (retried || givenUp) return;
        retried = this.#cancelled === undefined && isChallenge(response) && this.#answersChallenge(response);
        if (retried) this.attempt();
        else handlers.onFinal(response, this.#transaction!.request);
      },
      onTimeout: () => {
        if (givenUp) return;
        targets?.failed(target);
        handlers.onFailure(408);
      },
      onTransportError: (failure) => {
        stopWaiting();
        if (givenUp) return;
        if (this.#overStream && !heard && this.#cancelled === undefined) {
          // RFC 3261 18.1.1: without TCP the request goes by UDP in any size.
          retried = true;
          this.#overDatagrams = true;
          this.attempt();
          return;
        }
        this.#stack.log.debug(
          { method: this.#transaction?.request.method, reason: failure.reason, target: failure.target },
          'a request could not be sent',
        );
        targets?.failed(target);
        handlers.onFailure(503);
      },
      onTerminated: () => {
        stopWaiting();
        if (!retried && !givenUp) handlers.onOver?.();
      },
    };
  }
}

/** Repetitions of a request with credentials: for a proxy and a server, or for a stale nonce. */
const mostChallenges = 2;

/** Larger requests use TCP: with our Via they might exceed a network packet (RFC 3261 18.1.1). */
const MAX_DATAGRAM_REQUEST = 1_300;
/** Octets beside the present headers: our longest Via, ` SIP/2.0` and line ends, Content-Length. */
const OCTETS_AROUND = 120 + 15 + 25;

/** The destination of a request that may be too large for UDP. A flow opened by the peer is kept (RFC 5626 4.3). */
function largeTarget(request: SipRequest, target: Target, { transports }: Stack): Target {
  if (target.protocol !== 'udp' || target.listener !== undefined) return target;
  if (octetsOf(request) <= MAX_DATAGRAM_REQUEST) return target;
  const stream: Target = { ...target, protocol: 'tcp' };
  return transports.localAddress(stream) ? stream : target;
}

/** How many octets a request takes at most, without writing it. */
function octetsOf(request: SipRequest): number {
  let octets = OCTETS_AROUND + request.method.length + Buffer.byteLength(request.requestUri) + request.body.length;
  for (const [name, value] of request.headers()) octets += name.length + Buffer.byteLength(value) + ': \r\n'.length;
  return octets;
}

const isChallenge = ({ status }: SipResponse): boolean => status === 401 || status === 407;

function challengesOf(response: SipResponse): Challenge[] {
  return (['WWW-Authenticate', 'Proxy-Authenticate'] as const).flatMap((from) =>
    response.headerLines(from).map((value) => ({ from, value })),
  );
}
