import { createLifecycle } from '../../machines/lifecycle.ts';
import { type OutsideReferEvent, type OutsideReferRun, outsideReferTable } from '../../machines/outside-refer.ts';
import { TableRun } from '../../machines/table-run.ts';
import {
  type Dialog,
  inOrder,
  isKnownSource,
  keyOfDialog,
  keyOfRequest,
  metAt,
  uasDialog,
} from '../../sip/dialog/dialog.ts';
import { DialogRequests, type DialogRequestsData } from '../../sip/dialog/dialog-requests.ts';
import { replyTo } from '../../sip/dialog/offers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { EndpointConfig } from './config.ts';
import { digestClient } from './identity.ts';
import type { LegToken, OutsideSubscriber, TellSubscriber } from './legs.ts';
import { createRefusals } from './refusals.ts';
import { relatedTo } from './related.ts';
import type { Services } from './services.ts';

/** REFERs of phones outside calls: each asks for the transfer of the call that its Target-Dialog names (RFC 4538). */
interface OutsideRefers {
  receive(transaction: ServerTransaction): void;
  /**
   * A SUBSCRIBE inside the dialog of such a REFER: refreshes its subscription, or ends it; 481 where it is over.
   * @returns false for what is about something else.
   */
  receiveSubscribe(transaction: ServerTransaction): boolean;
  /** Reports to the sender of the REFER, by the key of its dialog; undefined after the last NOTIFY. */
  subscriber(key: string): TellSubscriber | undefined;
  dump(): readonly OutsideReferData[];
  /** Continues REFERs of a previous process; before their legs. */
  restore(data: readonly OutsideReferData[]): void;
  /** Subscriptions whose last word is not said. */
  size(): number;
  /** Forgets them without a word. */
  close(): void;
}

/** A subscription as it is saved: plain data. */
export type OutsideReferData = {
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly requests: DialogRequestsData;
  /** The last NOTIFY: Subscription-State, and message fragment. */
  readonly last: { readonly state: string; readonly fragment: string };
};

/** The subscription that a REFER made (RFC 3515 2.4.4), in a dialog of its own. */
type Subscription = {
  readonly endpoint: EndpointConfig;
  readonly requests: DialogRequests;
  readonly run: OutsideReferRun;
  /** The last NOTIFY. */
  last: { readonly state: string; readonly fragment: string };
};

type Notice = Extract<OutsideReferEvent, { fragment: string }>;

type SubscriptionOptions = {
  key: string;
  endpoint: EndpointConfig;
  dialog: Dialog;
  /** What was told last; undefined before the first NOTIFY. */
  last: Subscription['last'] | undefined;
  /** Those that later requests find, by key. */
  subscriptions: Map<string, Subscription>;
  isClosed: () => boolean;
};

/** The subscription of a REFER: its chart, and its requests. */
function openSubscription(services: Services, options: SubscriptionOptions): Subscription {
  const { key, endpoint, dialog, last, subscriptions, isClosed } = options;
  const requests = new DialogRequests(
    {
      stack: services.stack,
      contactFor: services.agent.contactFor,
      digest: digestClient(services, endpoint),
      isClosed,
      // After a refused NOTIFY no more are sent; the transfer continues.
      onFinal: (_label, { status }) => status >= 300 && subscription.run.send({ type: 'notify.failed' }),
      onFailure: () => void subscription.run.send({ type: 'notify.failed' }),
    },
    dialog,
  );
  const repeat = (state: string) => {
    const about: HeaderLines = [
      ['Event', 'refer'],
      ['Subscription-State', state],
    ];
    notify(requests, about, subscription.last.fragment);
  };
  const run: OutsideReferRun = new TableRun(
    outsideReferTable,
    last ? 'active' : 'asked',
    {
      keepSubscription: () => subscriptions.set(key, subscription),
      forgetSubscription: () => subscriptions.delete(key),
      notifySender({ headers, fragment }: Notice) {
        subscription.last = { state: stateIn(headers), fragment };
        notify(requests, headers, fragment);
      },
      repeatLast: () => repeat(subscription.last.state),
      tellTimeout: () => repeat('terminated;reason=timeout'),
    },
    { watch: services.tables, id: key },
  );
  const subscription: Subscription = { endpoint, requests, run, last: last ?? { state: '', fragment: '' } };
  return subscription;
}

/** Finds the call that a REFER outside it names. */
function createLegSearch(services: Services) {
  const { endpoints, stack } = services;
  const tellRefusal = createRefusals(stack.log, stack.clock, 'a transfer');

  const refuse = (transaction: ServerTransaction, status: number, why: string): void => {
    tellRefusal(transaction, status, why);
    transaction.reply(status);
  };

  /** The leg whose far side asks, and its endpoint; undefined when the request has been answered. */
  return (transaction: ServerTransaction): { leg: LegToken; endpoint: EndpointConfig } | undefined => {
    const related = relatedTo(services, transaction);
    if (related === 'malformed') return void refuse(transaction, 400, 'a Target-Dialog that cannot be read');
    const leg = typeof related === 'object' ? related.leg : undefined;
    const endpoint = leg && endpoints.named(leg.endpoint);
    if (leg && endpoint && typeof related === 'object' && related.isAware) return { leg, endpoint };
    // Before anything is said of calls: a stranger does not learn which there are.
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) return void endpoints.challenge(transaction, identity);
    if (related === undefined) return void refuse(transaction, 403, 'it names no call of its own');
    if (!leg || !endpoint) return void refuse(transaction, 481, 'it names a call that is not there');
    if (identity.endpoint !== endpoint) return void refuse(transaction, 403, `it names a call of ${endpoint.name}`);
    return { leg, endpoint };
  };
}

export function createOutsideRefers(services: Services): OutsideRefers {
  const { agent, endpoints } = services;
  const legOf = createLegSearch(services);
  const subscriptions = new Map<string, Subscription>();
  const lifecycle = createLifecycle();

  const open = (key: string, endpoint: EndpointConfig, dialog: Dialog, last?: Subscription['last']): Subscription =>
    openSubscription(services, {
      key,
      endpoint,
      dialog,
      last,
      subscriptions,
      isClosed: () => lifecycle.state === 'closed',
    });

  const teller =
    ({ run }: Subscription): TellSubscriber =>
    (_label, headers, fragment) => {
      const type = stateIn(headers).startsWith('terminated') ? 'transfer.ended' : 'transfer.progressed';
      run.send({ type, headers, fragment });
    };

  const subscribe = ({ request, source, toTag }: ServerTransaction, endpoint: EndpointConfig): OutsideSubscriber => {
    const dialog = uasDialog(request, toTag, source, endpoint.symmetric ? source : undefined);
    const key = keyOfDialog(dialog);
    return { key, tell: teller(open(key, endpoint, dialog)) };
  };

  return {
    receive(transaction) {
      const found = legOf(transaction);
      if (!found) return;
      const { leg, endpoint } = found;
      const contact = agent.contactFor(transaction.source, transaction.request.uri);
      const answer = leg.receiveRefer(transaction.request, subscribe(transaction, endpoint));
      replyTo(transaction, answer, agent.allow, contact);
    },
    receiveSubscribe(transaction) {
      const { request, source } = transaction;
      const key = keyOfRequest(request);
      const subscription = subscriptions.get(key);
      const isRefer = /^\s*refer\b/i.test(request.header('Event') ?? '');
      if (!subscription) {
        const isOver = isRefer && request.toTag !== undefined;
        if (isOver) transaction.reply(481);
        return isOver;
      }
      const { requests, endpoint, run } = subscription;
      if (!isKnownSource(requests.dialog, source)) {
        if (endpoints.challengeStranger(endpoint, transaction, requests.dialog)) return true;
        requests.update(metAt(requests.dialog, source));
      }
      const next = inOrder(requests.dialog, request);
      if (!next) transaction.reply(500);
      else if (!isRefer) transaction.reply(489);
      else {
        requests.update(next);
        const ends = request.expires === 0;
        const seconds = ends ? 0 : Math.round(services.config.transferTimeoutMs / 1000);
        const contact = agent.contactFor(source, request.uri);
        transaction.reply(200, { ...(contact && { contact }), headers: [['Expires', String(seconds)]] });
        run.send({ type: ends ? 'subscription.ended' : 'subscription.refreshed' });
      }
      return true;
    },
    subscriber(key) {
      const subscription = subscriptions.get(key);
      return subscription && teller(subscription);
    },
    size: () => subscriptions.size,
    dump: () =>
      [...subscriptions].map(([, { endpoint, requests, last }]) => ({
        endpoint: endpoint.name,
        requests: requests.dump(),
        last,
      })),
    restore(data) {
      for (const { endpoint: name, requests: sent, last } of data) {
        const endpoint = endpoints.named(name);
        // Subscriptions of removed endpoints end.
        if (!endpoint) continue;
        const key = keyOfDialog(sent.dialog);
        const subscription = open(key, endpoint, sent.dialog, last);
        subscriptions.set(key, subscription);
        subscription.requests.restore(sent);
      }
    },
    close() {
      lifecycle.send({ type: 'close' });
      for (const { run } of [...subscriptions.values()]) run.send({ type: 'system.closing' });
    },
  };
}

const stateIn = (headers: HeaderLines): string => headers.find(([name]) => name === 'Subscription-State')?.[1] ?? '';

const notify = (requests: DialogRequests, headers: HeaderLines, fragment: string): void =>
  requests.send('refer', 'NOTIFY', { headers, contentType: 'message/sipfrag;version=2.0', body: fragment });
