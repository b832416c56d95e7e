import { guarded } from '../../lib/guard.ts';
import type { Challenge, DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { ClientTransaction } from '../transaction/transaction.ts';
import type { Target } from '../transport/transport.ts';
import type { Stack } from './stack.ts';

/** A request that may have to be sent more than once until its credentials satisfy. */
export type Sending = {
  /** Makes the request anew for every try: each has its own CSeq (RFC 3261 22.2). */
  build(): SipRequest;
  target: Target;
  /** Answers 401 and 407; without it they are final. */
  digest?: DigestClient | undefined;
};

export type SendingHandlers = {
  onProvisional?(response: SipResponse, request: SipRequest): void;
  /** Once; for an INVITE again for every further 2xx. */
  onFinal(response: SipResponse, request: SipRequest): void;
  /** Nobody answered (408) or nothing could be sent (503); instead of `onFinal`, never before `sendRequest` returns. */
  onFailure(status: 408 | 503): void;
};

export interface Sent {
  /** Cancels an INVITE as soon as that is allowed; its final answer still comes. */
  cancel(headers?: HeaderLines): void;
}

/** Sends a request and, once per challenge, sends it again with credentials. */
export function sendRequest(stack: Stack, sending: Sending, handlers: SendingHandlers): Sent {
  let transaction: ClientTransaction | undefined;
  let cancelled: HeaderLines | undefined;

  const unmade = () => queueMicrotask(guarded(stack.log, 'telling of a failed request', () => handlers.onFailure(503)));
  const attempt = guarded(stack.log, 'making a request', () => tryOnce(), unmade);

  const tryOnce = () => {
    const request = sending.build();
    for (const { name, value } of sending.digest?.authorize(request.method, request.requestUri) ?? [])
      request.append(name, value);
    let retried = false;
    transaction = stack.transactions.request(request, sending.target, {
      onProvisional: (response) => handlers.onProvisional?.(response, request),
      onFinal: (response) => {
        if (retried) return;
        retried =
          cancelled === undefined && isChallenge(response) && !!sending.digest?.challenged(challengesOf(response));
        if (retried) attempt();
        else handlers.onFinal(response, request);
      },
      onTimeout: () => handlers.onFailure(408),
      onTransportError: (failure) => {
        stack.log.debug(
          { method: request.method, reason: failure.reason, target: failure.target },
          'a request could not be sent',
        );
        handlers.onFailure(503);
      },
    });
  };

  attempt();
  return {
    cancel(headers = []) {
      cancelled = headers;
      transaction?.cancel(headers);
    },
  };
}

const isChallenge = ({ status }: SipResponse): boolean => status === 401 || status === 407;

function challengesOf(response: SipResponse): Challenge[] {
  return (['WWW-Authenticate', 'Proxy-Authenticate'] as const).flatMap((from) =>
    response.headerLines(from).map((value) => ({ from, value })),
  );
}
