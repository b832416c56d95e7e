import { SlotMap } from '../../lib/slot-map.ts';
import type { IncomingCall, IncomingCallData } from '../../sip/dialog/incoming-call.ts';
import type { OutgoingCall, OutgoingCallData } from '../../sip/dialog/outgoing-call.ts';
import type { UsageHandlers } from '../../sip/dialog/usage-handlers.ts';
import { type EndpointConfig, sessionTermsOf } from './config.ts';
import { digestClient } from './identity.ts';
import type { Departing, Departures, Destination, Services } from './services.ts';

type Call = OutgoingCall | IncomingCall;

/** A call without a leg, as plain data. */
export type DepartingCallData = {
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly outgoing?: { readonly destination: Destination; readonly call: OutgoingCallData };
  readonly incoming?: IncomingCallData;
};

/**
 * Calls that were hung up and whose legs have ended, until their last transaction is over. The INVITE is cancelled and
 * undecided, or the BYE has no response yet.
 */
interface DepartingCalls extends Departures {
  /** Resolves when no call is left. */
  departed(): Promise<void>;
  dump(): readonly DepartingCallData[];
  /** Continues the calls of a previous process; calls of unknown endpoints are dropped. */
  restore(data: readonly DepartingCallData[]): void;
}

const keyOf = (call: Call): string =>
  'callId' in call
    ? `to ${call.callId}`
    : `from ${call.request.callId}\n${call.usage.dialog.local.params['tag'] ?? ''}`;

export function createDepartingCalls(services: Services): DepartingCalls {
  const { agent, endpoints, bindings } = services;
  const calls = new SlotMap<string, Departing & { call: Call }>();
  const waiting: (() => void)[] = [];

  const over = (key: string): void => {
    calls.delete(key);
    if (calls.size === 0) for (const done of waiting.splice(0)) done();
  };

  /** Takes a call up and keeps it, unless it is over by then. */
  const resume = (kept: Departing, begin: (onClosed: () => void) => Call): void => {
    let isClosed = false;
    let key = '';
    const call = begin(() => {
      isClosed = true;
      over(key);
    });
    if (isClosed) return;
    key = keyOf(call);
    calls.set(key, { ...kept, call });
  };

  const handlersOf = (endpoint: EndpointConfig, onClosed: () => void): UsageHandlers => ({
    answerOffer: () => undefined,
    makeOffer: () => '',
    acceptAnswer: () => false,
    challengeStranger: (transaction, dialog) => endpoints.challengeStranger(endpoint, transaction, dialog),
    registeredFlow: (dialog) => bindings.flowTo(endpoint.name, dialog.remoteTarget),
    onRequest: () => 481,
    onEnded() {},
    onClosed,
  });

  const placed = (endpoint: EndpointConfig, { destination, call }: NonNullable<DepartingCallData['outgoing']>) =>
    resume({ endpoint, destination }, (onClosed) =>
      agent.invite(
        {
          ...destination,
          to: { uri: destination.uri, params: {} },
          from: { uri: destination.uri, params: {} },
          sdp: '',
          session: sessionTermsOf(endpoint),
          digest: digestClient(services, endpoint),
          symmetric: endpoint.symmetric,
        },
        { ...handlersOf(endpoint, onClosed), onProvisional() {}, onAnswered() {}, onRefused() {}, onFailed() {} },
        call,
      ),
    );

  const received = (endpoint: EndpointConfig, call: IncomingCallData) =>
    resume({ endpoint }, (onClosed) =>
      agent.resume(
        call,
        { ...handlersOf(endpoint, onClosed), onCancelled() {} },
        {
          symmetric: endpoint.symmetric,
          session: sessionTermsOf(endpoint),
          digest: digestClient(services, endpoint),
        },
      ),
    );

  return {
    keep: (call, kept) => void calls.set(keyOf(call), { ...kept, call }),
    closed: (call) => over(keyOf(call)),
    departed: () => new Promise((done) => void (calls.size === 0 ? done() : waiting.push(done))),
    dump: () =>
      [...calls.values()].map(({ call, endpoint: { name }, destination }) =>
        destination
          ? { endpoint: name, outgoing: { destination, call: (call as OutgoingCall).dump() } }
          : { endpoint: name, incoming: (call as IncomingCall).dump() },
      ),
    restore(data) {
      for (const { endpoint: name, outgoing, incoming } of data) {
        const endpoint = endpoints.named(name);
        if (endpoint && outgoing) placed(endpoint, outgoing);
        else if (endpoint && incoming) received(endpoint, incoming);
      }
    },
  };
}
