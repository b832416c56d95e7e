import {
  type Dialog,
  inOrder,
  isKnownSource,
  keyOfDialog,
  keyOfRequest,
  metAt,
  nextHop,
  nextRequest,
  refreshed,
  uasDialog,
} from '../../sip/dialog/dialog.ts';
import { locate } from '../../sip/dialog/locate.ts';
import { sendRequest } from '../../sip/dialog/requester.ts';
import { Timers } from '../../sip/dialog/stack.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { EndpointConfig } from './config.ts';
import { digestClient } from './identity.ts';
import { userOf } from './party.ts';
import { localHost, type Services } from './services.ts';

/** How many messages wait in a mailbox. */
export type MailboxCounts = { newMessages: number; oldMessages: number };

/** Phones that want to know about messages waiting (RFC 3842). */
export interface MailboxSubscriptions {
  /** A SUBSCRIBE, first or inside its dialog. */
  receive(transaction: ServerTransaction): void;
  /** Tells every subscriber of the mailbox how it stands now. */
  changed(mailbox: string): void;
  size(): number;
  close(): void;
  dump(): readonly MailboxSubscriptionData[];
  /** Goes on with what another process wrote down; of endpoints that are no more nothing is kept. */
  restore(data: readonly MailboxSubscriptionData[]): void;
}

/** A subscription as plain data; it ends in ms since the Unix epoch. */
export type MailboxSubscriptionData = {
  readonly key: string;
  readonly dialog: Dialog;
  readonly endpoint: string;
  readonly mailbox: string;
  readonly ends: number;
};

type Subscription = { dialog: Dialog; endpoint: EndpointConfig; mailbox: string; expiry: unknown; endsAt: number };

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 60;
const MAX_SECONDS = 86_400;
/** One phone needs one or two; more are a fault or an attack. */
const MAX_PER_ENDPOINT = 20;

/** @param counts tells how a mailbox stands; undefined when there is no such mailbox, which counts as empty. */
export function createMailboxSubscriptions(
  services: Services,
  counts: (mailbox: string) => MailboxCounts | undefined,
): MailboxSubscriptions {
  const { stack, agent, endpoints } = services;
  const timers = new Timers(stack, 'a mailbox subscription');
  const subscriptions = new Map<string, Subscription>();

  const remove = (key: string) => {
    timers.clear(subscriptions.get(key)?.expiry);
    subscriptions.delete(key);
  };

  const notify = (key: string, subscription: Subscription, state: string) => {
    const send = (target: Target | undefined) => {
      if (!target) return remove(key);
      const build = (): SipRequest => {
        const contact = agent.contactFor(target, subscription.dialog.remoteTarget);
        const [request, next] = nextRequest(subscription.dialog, 'NOTIFY', {
          ...(contact && { contact }),
          headers: [
            ['Event', 'message-summary'],
            ['Subscription-State', state],
            ['User-Agent', stack.userAgent],
          ],
          contentType: 'application/simple-message-summary',
          body: summary(subscription.mailbox, localHost(services, target), counts(subscription.mailbox)),
        });
        subscription.dialog = next;
        return request;
      };
      sendRequest(
        stack,
        { target, build, digest: digestClient(services, subscription.endpoint) },
        {
          // RFC 6665 4.2.2: a subscriber that does not answer, or knows nothing of it, has no subscription.
          onFinal: ({ status }) => status >= 300 && remove(key),
          onFailure: () => remove(key),
        },
      );
    };
    const hop = nextHop(subscription.dialog);
    if ('flow' in hop) send(hop.flow);
    else locate(stack, hop.uri, send);
  };

  const notifyNow = (key: string, subscription: Subscription) => {
    const seconds = Math.max(0, Math.round((subscription.endsAt - stack.clock.monotonic()) / 1000));
    notify(key, subscription, `active;expires=${seconds}`);
  };

  /** Answers, then tells how the mailbox stands; 0 seconds asks once and ends it (RFC 6665 4.4.3). */
  const grant = (transaction: ServerTransaction, key: string, subscription: Subscription, seconds: number) => {
    timers.clear(subscription.expiry);
    const contact = agent.contactFor(transaction.source, transaction.request.uri);
    transaction.reply(200, { ...(contact && { contact }), headers: [['Expires', String(seconds)]] });
    if (seconds === 0) {
      remove(key);
      return notify(key, subscription, 'terminated;reason=timeout');
    }
    keep(key, subscription, seconds * 1000);
    notifyNow(key, subscription);
  };

  const keep = (key: string, subscription: Subscription, ms: number) => {
    subscription.endsAt = stack.clock.monotonic() + ms;
    subscription.expiry = timers.start(() => {
      remove(key);
      notify(key, subscription, 'terminated;reason=timeout');
    }, ms);
    subscriptions.set(key, subscription);
  };

  const refresh = (transaction: ServerTransaction, seconds: number) => {
    const { request, source } = transaction;
    const key = keyOfRequest(request);
    const subscription = subscriptions.get(key);
    if (!subscription) return void transaction.reply(481);
    if (!isKnownSource(subscription.dialog, source)) {
      if (endpoints.challengeStranger(subscription.endpoint, transaction, subscription.dialog)) return;
      subscription.dialog = metAt(subscription.dialog, source);
    }
    const dialog = inOrder(subscription.dialog, request);
    if (!dialog) return void transaction.reply(500);
    subscription.dialog = refreshed(dialog, request, source);
    grant(transaction, key, subscription, seconds);
  };

  const subscribe = (transaction: ServerTransaction, seconds: number) => {
    const { request, source, toTag } = transaction;
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) return endpoints.challenge(transaction, identity);
    const { endpoint } = identity;
    const mailbox = mailboxOf(endpoint, userOf(request.uri));
    if (mailbox === undefined) return void transaction.reply(404);
    const others = [...subscriptions.values()].filter((each) => each.endpoint.name === endpoint.name);
    if (others.length >= MAX_PER_ENDPOINT) return void transaction.reply(403);
    const dialog = uasDialog(request, toTag, source, endpoint.symmetric ? source : undefined);
    grant(transaction, keyOfDialog(dialog), { dialog, endpoint, mailbox, expiry: undefined, endsAt: 0 }, seconds);
  };

  return {
    receive(transaction) {
      const { request } = transaction;
      const refusal = refuse(request);
      if (refusal) return void transaction.reply(refusal.status, { headers: refusal.headers });
      const seconds = Math.min(request.expires ?? DEFAULT_SECONDS, MAX_SECONDS);
      if (request.toTag === undefined) subscribe(transaction, seconds);
      else refresh(transaction, seconds);
    },
    changed(mailbox) {
      for (const [key, subscription] of [...subscriptions])
        if (subscription.mailbox === mailbox) notifyNow(key, subscription);
    },
    size: () => subscriptions.size,
    close() {
      subscriptions.clear();
      timers.clearAll();
    },
    dump() {
      const epoch = stack.clock.now() - stack.clock.monotonic();
      return [...subscriptions].map(([key, { dialog, endpoint, mailbox, endsAt }]) => ({
        key,
        dialog,
        endpoint: endpoint.name,
        mailbox,
        ends: epoch + endsAt,
      }));
    },
    restore(data) {
      for (const { key, dialog, endpoint: name, mailbox, ends } of data) {
        const endpoint = endpoints.named(name);
        const subscription = endpoint && { dialog, endpoint, mailbox, expiry: undefined, endsAt: 0 };
        if (subscription) keep(key, subscription, Math.max(0, ends - stack.clock.now()));
      }
    },
  };
}

/** An endpoint may watch the mailboxes it was given; without any, the one of its own name. */
function mailboxOf({ name, mailboxes = [name] }: EndpointConfig, wanted: string): string | undefined {
  const plain = wanted === '' ? name : wanted;
  return mailboxes.find((mailbox) => mailbox === plain || mailbox.split('@')[0] === plain);
}

function refuse(request: SipRequest): { status: number; headers: HeaderLines } | undefined {
  if (!/^message-summary\s*(;|$)/i.test(request.header('Event') ?? ''))
    return { status: 489, headers: [['Allow-Events', 'message-summary']] };
  const { expires } = request;
  const short = expires !== undefined && expires > 0 && expires < MIN_SECONDS;
  return short ? { status: 423, headers: [['Min-Expires', String(MIN_SECONDS)]] } : undefined;
}

/** The body of RFC 3842 5.2. */
function summary(mailbox: string, host: string, counts: MailboxCounts | undefined): string {
  const { newMessages, oldMessages } = counts ?? { newMessages: 0, oldMessages: 0 };
  const account = mailbox.includes('@') ? mailbox : `${mailbox}@${host}`;
  return [
    `Messages-Waiting: ${newMessages > 0 ? 'yes' : 'no'}`,
    `Message-Account: sip:${account}`,
    `Voice-Message: ${newMessages}/${oldMessages} (0/0)`,
    '',
  ].join('\r\n');
}
