import {
  type PhoneSubscriptionEffect,
  type PhoneSubscriptionEvent,
  phoneSubscriptionTable,
} from '../../machines/phone-subscription.ts';
import { TableRun } from '../../machines/table-run.ts';
import {
  type Dialog,
  inOrder,
  isKnownSource,
  keyOfDialog,
  keyOfRequest,
  lacksContact,
  metAt,
  nextHop,
  nextRequest,
  refreshed,
  uasDialog,
} from '../../sip/dialog/dialog.ts';
import { locate } from '../../sip/dialog/locate.ts';
import { sendRequest } from '../../sip/dialog/requester.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest, SipResponse } from '../../sip/message/message.ts';
import { deltaSeconds } from '../../sip/message/scan.ts';
import { formatUri } from '../../sip/message/uri.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { WatcherAnswer, WatcherDriver, WatcherEnd } from '../../telephony/watchers.ts';
import type { EndpointConfig } from './config.ts';
import { contentTypes, type EventPackage, isEventPackage, type Subject } from './event-packages.ts';
import { digestClient } from './identity.ts';
import { userOf } from './party.ts';
import { relatedTo } from './related.ts';
import type { Services } from './services.ts';
import { createTelling, topicOf, topicsOf, type Watched } from './watched-state.ts';

/** Subscriptions of phones to BLF and to waiting messages: the SIP side (RFC 6665). */
interface Subscriptions extends Pick<WatcherDriver, 'tellWatcher' | 'watcherEnded'> {
  /** A SUBSCRIBE, first or inside its dialog. */
  receive(transaction: ServerTransaction): void;
  /** Whether there is a subscription with that id. */
  has(id: string): boolean;
  /** The dialplan has changed: hints may be others, or gone. */
  review(): void;
  /** An endpoint was removed. */
  endpointRemoved(name: string): void;
  size(): number;
  close(): void;
  dump(): readonly SubscriptionData[];
  /** Continues subscriptions of a previous process, except those of removed endpoints. */
  restore(data: readonly SubscriptionData[]): void;
}

/** A subscription as plain data; it ends in ms since the Unix epoch. */
export type SubscriptionData = {
  readonly key: string;
  readonly dialog: Dialog;
  readonly endpoint: string;
  readonly ends: number;
  /** Missing in data of earlier versions, which only knew mailboxes. */
  readonly event?: EventPackage;
  readonly mailbox?: string;
  readonly context?: string;
  readonly extension?: string;
  readonly eventId?: string;
  readonly version?: number;
  readonly told?: readonly string[];
  readonly last?: string;
};

type Subscription = {
  readonly run: SubscriptionRun;
  dialog: Dialog;
  /** Name of the endpoint. */
  endpoint: string;
  subject: Subject;
  /** `id` of Event, which every NOTIFY repeats (RFC 6665 8.2.1). */
  eventId: string | undefined;
  /** By the monotonic clock, in ms. */
  endsAt: number;
  /** Documents sent so far. */
  version: number;
  /** Ids of the calls in the last document. */
  told: readonly string[];
  /** The last document; undefined: the present state has to be sent. */
  last: string | undefined;
};

type SubscriptionEvent = PhoneSubscriptionEvent<ServerTransaction>;
type Of<Type extends SubscriptionEvent['type']> = Extract<SubscriptionEvent, { type: Type }>;
type SubscriptionRun = TableRun<keyof typeof phoneSubscriptionTable, SubscriptionEvent, PhoneSubscriptionEffect>;

/** Retry-After for phones when the server stops, in s. */
const RETRY_SECONDS = 10;

/** All subscriptions, and how many count against the limits. */
class SubscriptionTable extends Map<string, Subscription> {
  /** These, and the ended ones whose last NOTIFY is still repeated: in all and by endpoint. */
  #counted = 0;
  readonly #perEndpoint = new Map<string, number>();

  get counted(): number {
    return this.#counted;
  }

  countedOf(endpoint: string): number {
    return this.#perEndpoint.get(endpoint) ?? 0;
  }

  count(endpoint: string, by: 1 | -1): void {
    this.#counted += by;
    const now = this.countedOf(endpoint) + by;
    if (now > 0) this.#perEndpoint.set(endpoint, now);
    else this.#perEndpoint.delete(endpoint);
  }

  override clear(): void {
    super.clear();
    this.#perEndpoint.clear();
    this.#counted = 0;
  }
}

type Parts = { services: Services; watched: Watched; subscriptions: SubscriptionTable };

/** Sends NOTIFY requests. */
function createNotifier({ services, watched }: Parts) {
  const { stack, agent, endpoints } = services;
  const tellingOf = createTelling(services, watched);

  /** Sends a NOTIFY to a place; `done` hears what came of it, once. */
  const send = (
    subscription: Subscription,
    target: Target,
    end: WatcherEnd | undefined,
    done: (answer: WatcherAnswer) => void,
  ): void => {
    const { subject, eventId } = subscription;
    const telling = tellingOf(subscription, target);
    if (end === undefined && telling.state === subscription.last) return void done({ type: 'unneeded' });
    const body = telling.document(subscription.version++);
    subscription.told = telling.calls;
    subscription.last = telling.state;
    const endpoint = endpoints.named(subscription.endpoint);
    const build = (): SipRequest => {
      const contact = agent.contactFor(target, subscription.dialog.remoteTarget);
      const seconds = Math.max(0, Math.round((subscription.endsAt - stack.clock.monotonic()) / 1000));
      const [request, next] = nextRequest(subscription.dialog, 'NOTIFY', {
        ...(contact && { contact }),
        headers: [
          ['Event', eventId === undefined ? subject.event : `${subject.event};id=${eventId}`],
          ['Subscription-State', end === undefined ? `active;expires=${seconds}` : terminated(end)],
          ['User-Agent', stack.userAgent],
        ],
        contentType: contentTypes[subject.event],
        body,
      });
      subscription.dialog = next;
      return request;
    };
    sendRequest(
      stack,
      { target, build, ...(endpoint && { digest: digestClient(services, endpoint) }) },
      {
        onFinal: (response) => done(answerOf(response)),
        onFailure: (status) => done({ type: 'lost', reason: status === 408 ? 'no answer' : 'nothing could be sent' }),
      },
    );
  };

  return (subscription: Subscription, end: WatcherEnd | undefined, done: (answer: WatcherAnswer) => void): void => {
    const told = (target: Target | undefined): void =>
      target ? send(subscription, target, end, done) : done({ type: 'lost', reason: 'its address cannot be found' });
    const hop = nextHop(subscription.dialog);
    if ('flow' in hop) told(hop.flow);
    else locate(stack, hop.uri, told);
  };
}

/** Makes subscriptions: their charts, and what these do. */
function createOpening(parts: Parts) {
  const { services, watched, subscriptions } = parts;
  const { stack, agent, config } = services;
  const { watchers } = watched;
  const notify = createNotifier(parts);

  return (key: string, state: SubscriptionRun['state'], data: Omit<Subscription, 'run'>): Subscription => {
    const run: SubscriptionRun = new TableRun(
      phoneSubscriptionTable,
      state,
      {
        keepSubscription() {
          subscriptions.set(key, subscription);
          subscriptions.count(subscription.endpoint, 1);
        },
        forgetSubscription: () => subscriptions.delete(key),
        uncount: () => subscriptions.count(subscription.endpoint, -1),
        acceptSubscribe({ request: transaction, seconds }: Of<'subscribe.accepted'>) {
          const contact = agent.contactFor(transaction.source, transaction.request.uri);
          transaction.reply(200, { ...(contact && { contact }), headers: [['Expires', String(seconds)]] });
          subscription.endsAt = stack.clock.monotonic() + seconds * 1000;
          subscription.last = undefined;
        },
        startWatcher: ({ seconds }: Of<'subscribe.accepted'>) =>
          watchers.subscribed({
            id: key,
            technology: 'PJSIP',
            endpoint: subscription.endpoint,
            topics: topicsOf(watched, subscription.subject),
            expiresMs: seconds * 1000,
            intervalMs: config.subscriptions.intervalMs,
          }),
        endWatcher: () => watchers.unsubscribed(key),
        sendNotify: ({ told }: Of<'notify'>) => notify(subscription, undefined, told),
        sendLastNotify: ({ end, told }: Of<'notify.last'>) =>
          notify(subscription, end, (answer) => {
            run.send({ type: 'last.answered' });
            told(answer);
          }),
      },
      { watch: services.tables, id: key },
    );
    const subscription: Subscription = { run, ...data };
    return subscription;
  };
}

/** The objects that a phone may subscribe to at an address; undefined if there are none. */
function subjectOf(
  hint: Watched['hint'],
  endpoint: EndpointConfig,
  event: EventPackage,
  user: string,
): Subject | undefined {
  if (event === 'message-summary') {
    const name = mailboxOf(endpoint, user);
    return name === undefined ? undefined : { event, mailbox: name };
  }
  const context = endpoint.subscribeContext ?? endpoint.context;
  return hint(context, user) && { event, context, extension: user };
}

/** Answers SUBSCRIBE requests, first and later ones. */
function createReceiver({ services, watched, subscriptions }: Parts, open: ReturnType<typeof createOpening>) {
  const { endpoints, config } = services;
  const { hint } = watched;

  const refresh = (transaction: ServerTransaction, event: EventPackage, seconds: number): void => {
    const { request, source } = transaction;
    const subscription = subscriptions.get(keyOfRequest(request));
    const endpoint = subscription && endpoints.named(subscription.endpoint);
    if (!subscription || !endpoint) return void transaction.reply(481);
    if (subscription.subject.event !== event) return void transaction.reply(489, { headers: [allowEvents] });
    if (!isKnownSource(subscription.dialog, source)) {
      if (endpoints.challengeStranger(endpoint, transaction, subscription.dialog)) return;
      subscription.dialog = metAt(subscription.dialog, source);
    }
    const dialog = inOrder(subscription.dialog, request);
    if (!dialog) return void transaction.reply(500);
    subscription.dialog = refreshed(dialog, request, source);
    subscription.run.send(
      seconds === 0
        ? { type: 'subscribe.withdrawn', request: transaction, seconds }
        : { type: 'subscribe.accepted', request: transaction, seconds },
    );
  };

  /** Refuses a subscription above a limit. @returns whether it did. */
  const refuseAbove = (transaction: ServerTransaction, endpoint: string): boolean => {
    const { perEndpoint, most, minimumSeconds } = config.subscriptions;
    if (subscriptions.countedOf(endpoint) >= perEndpoint) {
      services.hit('sip.subscriptions.per_endpoint');
      transaction.reply(403);
      return true;
    }
    if (subscriptions.counted < most) return false;
    services.hit('sip.subscriptions.most');
    transaction.reply(503, { headers: [['Retry-After', String(minimumSeconds)]] });
    return true;
  };

  /** Who subscribes. Others are challenged. */
  const identify = (
    transaction: ServerTransaction,
    related: ReturnType<typeof relatedTo>,
  ): EndpointConfig | undefined => {
    const identity = endpoints.identify(transaction);
    if ('endpoint' in identity) return identity.endpoint;
    // RFC 4538 4: a request that names a dialog is authorised as its far side.
    const known = typeof related === 'object' && related.isPeer ? endpoints.named(related.leg.endpoint) : undefined;
    const isUnproved = 'challenge' in identity && identity.guessed === undefined && identity.forbidden === undefined;
    if (isUnproved && known) return known;
    if ('challenge' in identity) endpoints.challenge(transaction, identity);
    return undefined;
  };

  const subscribe = (transaction: ServerTransaction, event: EventPackage, seconds: number): void => {
    const { request, source, toTag } = transaction;
    if (lacksContact(request)) return void transaction.reply(400);
    const related = relatedTo(services, transaction);
    if (related === 'malformed') return void transaction.reply(400);
    const endpoint = identify(transaction, related);
    if (!endpoint) return;
    const subject = subjectOf(hint, endpoint, event, userOf(request.uri));
    if (!subject) return void transaction.reply(404);
    if (refuseAbove(transaction, endpoint.name)) return;
    // Every document repeats it, once for each call.
    if (formatUri(request.to.uri).length > LONGEST_URI) return void transaction.reply(414);
    const dialog = uasDialog(request, toTag, source, endpoint.symmetric ? source : undefined);
    const eventId = /;\s*id\s*=\s*([\w.!%*+`'~-]+)/i.exec(request.header('Event') ?? '')?.[1];
    const { run } = open(keyOfDialog(dialog), 'asked', {
      ...{ dialog, endpoint: endpoint.name, subject, eventId, endsAt: 0, version: 0, told: [], last: undefined },
    });
    run.send({ type: 'subscribe.accepted', request: transaction, seconds });
  };

  return (transaction: ServerTransaction): void => {
    const { request } = transaction;
    const event = (request.header('Event') ?? '').split(';')[0]!.trim().toLowerCase();
    if (!isEventPackage(event)) return void transaction.reply(489, { headers: [allowEvents] });
    const type = contentTypes[event];
    if (!takes(request, type)) return void transaction.reply(406, { headers: [['Accept', type]] });
    const { expires } = request;
    if (expires !== undefined && expires > 0 && expires < config.subscriptions.minimumSeconds)
      return void transaction.reply(423, { headers: [['Min-Expires', String(config.subscriptions.minimumSeconds)]] });
    const seconds = Math.min(expires ?? DEFAULT_SECONDS, config.subscriptions.maximumSeconds);
    if (request.toTag === undefined) subscribe(transaction, event, seconds);
    else refresh(transaction, event, seconds);
  };
}

/** Dump and restore of all subscriptions. */
function createSaved({ services: { stack, endpoints }, subscriptions }: Parts, open: ReturnType<typeof createOpening>) {
  return {
    dump(): readonly SubscriptionData[] {
      const epoch = stack.clock.now() - stack.clock.monotonic();
      return [...subscriptions].map(([key, { run: _run, endsAt, subject, eventId, last, ...rest }]) => ({
        key,
        ...rest,
        ...subject,
        ...(eventId !== undefined && { eventId }),
        ...(last !== undefined && { last }),
        ends: epoch + endsAt,
      }));
    },

    restore(data: readonly SubscriptionData[]): void {
      const epoch = stack.clock.now() - stack.clock.monotonic();
      for (const { key, ends, event = 'message-summary', mailbox: name = '', ...rest } of data) {
        const { context = '', extension = '', version = 0, told = [], last, eventId, dialog, endpoint } = rest;
        if (!endpoints.named(endpoint)) continue;
        const subject: Subject = event === 'message-summary' ? { event, mailbox: name } : { event, context, extension };
        const known = { dialog, endpoint, subject, eventId, version, told, last, endsAt: ends - epoch };
        subscriptions.set(key, open(key, 'active', known));
        subscriptions.count(endpoint, 1);
      }
    },
  };
}

export function createSubscriptions(services: Services, watched: Watched): Subscriptions {
  const { hint, watchers } = watched;
  const subscriptions = new SubscriptionTable();
  const parts: Parts = { services, watched, subscriptions };
  const open = createOpening(parts);

  services.legs.onChanged((endpoint) => subscriptions.size > 0 && watchers.changed(topicOf(`PJSIP/${endpoint}`)));

  return {
    receive: createReceiver(parts, open),

    tellWatcher: (id, end) =>
      new Promise((told) => {
        const { run } = subscriptions.get(id) ?? {};
        if (!run) told({ type: 'lost', reason: 'it is not known any more' });
        else run.send(end === undefined ? { type: 'notify', told } : { type: 'notify.last', end, told });
      }),

    watcherEnded: (id) => void subscriptions.get(id)?.run.send({ type: 'watcher.ended' }),
    has: (id) => subscriptions.has(id),

    review() {
      for (const [key, { subject }] of [...subscriptions]) {
        if (subject.event === 'message-summary') continue;
        if (hint(subject.context, subject.extension)) watchers.moved(key, topicsOf(watched, subject));
        else watchers.gone(key, 'noresource');
      }
    },

    endpointRemoved(name) {
      for (const [key, { endpoint }] of [...subscriptions]) if (endpoint === name) watchers.gone(key, 'rejected');
    },

    size: () => subscriptions.size,

    close: () => subscriptions.clear(),
    ...createSaved(parts, open),
  };
}

const DEFAULT_SECONDS = 3600;

/** Characters of a URI to watch. */
const LONGEST_URI = 512;

const allowEvents = ['Allow-Events', Object.keys(contentTypes).join(', ')] as const satisfies HeaderLines[number];

/** An endpoint may watch the mailboxes it was given; without any, the one of its own name. */
function mailboxOf({ name, mailboxes = [name] }: EndpointConfig, wanted: string): string | undefined {
  const plain = wanted === '' ? name : wanted;
  return mailboxes.find((mailbox) => mailbox === plain || mailbox.split('@')[0] === plain);
}

/** Whether a phone accepts the content type (RFC 6665 3.1.3); without Accept it does. */
function takes(request: SipRequest, type: string): boolean {
  if (request.headerLines('Accept').length === 0) return true;
  const types = request.headerList('Accept').map((value) => value.split(';')[0]!.trim().toLowerCase());
  return types.some((each) => each === type || each === '*/*' || each === `${type.split('/')[0]}/*`);
}

/** `Subscription-State` of the last NOTIFY (RFC 6665 4.1.3). */
const terminated = (end: WatcherEnd): string =>
  `terminated;reason=${end}${end === 'probation' ? `;retry-after=${RETRY_SECONDS}` : ''}`;

/** A phone that refuses a NOTIFY has no subscription, unless it says when to come back (RFC 6665 4.2.2). */
function answerOf(response: SipResponse): WatcherAnswer {
  if (response.status < 300) return { type: 'answered' };
  const seconds = deltaSeconds(/^\d+/.exec(response.header('Retry-After') ?? '')?.[0]);
  if (seconds !== undefined && response.status !== 481) return { type: 'deferred', waitMs: seconds * 1000 };
  return { type: 'lost', reason: `${response.status} ${response.reason}` };
}
