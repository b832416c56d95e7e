import { type Dialog, isKnownSource } from '../../sip/dialog/dialog.ts';
import { Timers } from '../../sip/dialog/stack.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import { DriverError } from '../../telephony/driver.ts';
import type { ReferRequest } from '../../telephony/messages.ts';
import type { EndpointConfig } from './config.ts';
import { digestClient, senderAddress } from './identity.ts';
import { resourceOf } from './messages.ts';
import { createRequestHeaders } from './request-headers.ts';
import { firstPlace, resolveResource, transferTarget } from './resource.ts';
import { localHost, type Services } from './services.ts';

/** Sends REFERs and hears what became of them. */
interface Referrals {
  /**
   * Resolves when the far side has accepted. @throws (rejects) DriverError without such an endpoint or contact, Error
   * with the status when it was refused.
   * @param leaves called when it has been sent
   */
  refer(request: ReferRequest, leaves?: () => void): Promise<void>;
  /** A NOTIFY outside calls. */
  receiveNotify(transaction: ServerTransaction): void;
  /** Referrals whose outcome is not known yet. */
  size(): number;
  close(): void;
}

/** A referral whose outcome is not known, and where its phone was asked. */
type Waiting = {
  endpoint: EndpointConfig;
  peer: Pick<Dialog, 'routes' | 'sources' | 'remoteTarget'>;
  told(status: number, done: boolean): void;
  limit: unknown;
};

/** How long a phone may be silent about a referral, in ms. */
const OUTCOME_TIMEOUT_MS = 180_000;

export function createReferrals(services: Services): Referrals {
  const timers = new Timers(services.stack, 'a referral');
  const waiting = new Map<string, Waiting>();

  const finish = (key: string) => {
    timers.clear(waiting.get(key)?.limit);
    waiting.delete(key);
  };

  const refer = async (request: ReferRequest, leaves = (): void => {}): Promise<void> => {
    const resolved = resolveResource(services, resourceOf(request.to));
    const { endpoint } = resolved;
    const destination = await firstPlace(resolved);
    const peer = destination.target ?? { protocol: 'udp', address: '127.0.0.1', port: 5060 };
    const target = resourceOf(request.referTo);
    // A whole URI names its host itself.
    const uri =
      request.toSelf && !target.includes('@')
        ? `sip:${target}@${localHost(services, peer)}`
        : await transferTarget(services, target, peer);
    if (uri === undefined) throw new DriverError('resource', `"${request.referTo}" cannot be called`);
    const headers = createRequestHeaders();
    for (const [name, value] of Object.entries(request.variables ?? {})) headers.add(name, value);
    await new Promise<void>((resolve, reject) => {
      const refused = (status: number) => {
        finish(key);
        reject(new Error(`the referral was not accepted: ${status}`));
      };
      const { callId, localTag } = services.agent.request(
        {
          ...destination,
          method: 'REFER',
          to: { uri: destination.uri, params: {} },
          from: (target) => senderAddress(services, endpoint, request.from ?? endpoint.name, target),
          headers: [['Refer-To', `<${uri}>`], ...headers.lines],
          digest: digestClient(services, endpoint),
        },
        { onFinal: ({ status }) => (status < 300 ? resolve() : refused(status)), onFailure: refused },
      );
      const key = `${callId}\n${localTag}`;
      const limit = timers.start(() => {
        waiting.delete(key);
        request.progress?.(408, true);
      }, OUTCOME_TIMEOUT_MS);
      const { uri: remoteTarget, routes, target } = destination;
      const peer = { remoteTarget, routes, sources: target ? [target] : [] };
      waiting.set(key, { endpoint, peer, told: (status, done) => request.progress?.(status, done), limit });
      leaves();
    });
  };

  return {
    refer,
    receiveNotify(transaction) {
      const { request } = transaction;
      const key = `${request.callId}\n${request.toTag ?? ''}`;
      const referral = waiting.get(key);
      const status = sipfragStatus(request);
      if (!referral) return void transaction.reply(481);
      const { endpoint, peer } = referral;
      if (!isKnownSource(peer, transaction.source) && services.endpoints.challengeStranger(endpoint, transaction, peer))
        return;
      if (status === undefined) return void transaction.reply(489);
      transaction.reply(200);
      // RFC 3515 2.4.7: a final status or the end of the subscription is the last word.
      const done = status >= 200 || /^terminated/i.test(request.header('Subscription-State') ?? '');
      if (done) finish(key);
      referral.told(status, done);
    },
    size: () => waiting.size,
    close() {
      waiting.clear();
      timers.clearAll();
    },
  };
}

/** The status in the body of a NOTIFY about a transfer (RFC 3515 2.4.5); undefined when it is about something else. */
export function sipfragStatus(request: SipRequest): number | undefined {
  if (!/^refer\b/i.test(request.header('Event') ?? '')) return undefined;
  const status = /^SIP\/2\.0 (\d{3})/i.exec(request.bodyText)?.[1];
  return status === undefined ? undefined : Number(status);
}
