import { createHmac } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { guardedClock } from '../../lib/guard.ts';
import type { Ids } from '../../lib/ids.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import { keptRequest } from '../message/kept.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { formatRejection, type ParseFailure } from '../message/parse.ts';
import { firstViaEnd, formatVia, MAGIC_COOKIE, parseVia } from '../message/via.ts';
import { kindOf } from '../transport/kind.ts';
import type { KnownPeers } from '../transport/known-peers.ts';
import { ownerMark } from '../transport/node-flows.ts';
import { responseTarget, stampViaLine } from '../transport/routing.ts';
import type { SendFailure, Source, Target, Transports } from '../transport/transport.ts';
import { type ArrivalContext, ArrivedRequest, type KeepReason } from './arrived-request.ts';
import { type ClientContext, RunningClient } from './client.ts';
import { clientKey, mergeKey, responseKey, serverKey } from './keys.ts';
import { defaultTransactionLimits, Quota, type TransactionLimits } from './quota.ts';
import type { Step, TransactionChanged } from './runner.ts';
import { RunningServer, type ServerContext } from './server.ts';
import { defaultTimerValues, type TimerValues } from './tables.ts';
import type {
  ClientData,
  ClientHandlers,
  ClientTransaction,
  Repeatable,
  ServerData,
  ServerTransaction,
  TransactionCounts,
  TransactionLayer,
  TransactionsData,
} from './transaction.ts';

type TransactionLayerOptions = {
  readonly transports: Pick<Transports, 'onMessage' | 'onMalformed' | 'onConnectionClosed' | 'send' | 'localAddress'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** T1, T2 and T4 in ms; 500, 4000 and 5000 when left out. */
  readonly timers?: Partial<TimerValues> | undefined;
  /** Limits of server transactions; missing ones have defaults. */
  readonly limits?: Partial<TransactionLimits> | undefined;
  /** Counts limits that were reached. */
  readonly hit?: LimitHit | undefined;
  /** Whether the message that is being handled waited too long for a new call to be begun; without it none did. */
  readonly isLate?: (() => boolean) | undefined;
  /** Known peers; left out: all are known. */
  readonly peers?: KnownPeers | undefined;
  /** Nothing that comes in before {@link TransactionLayer.restore} is heard: peers retransmit. */
  readonly awaitsRestore?: boolean | undefined;
  /** Sees every table row that is taken: for tests and debugging. */
  readonly inspect?: ((step: Step) => void) | undefined;
  /** Hears of every change of a transaction, and of every ACK to a 2xx. */
  readonly changed?: TransactionChanged | undefined;
};

/** The transaction layer over `transports`, whose receivers it becomes. */
export function createTransactionLayer(options: TransactionLayerOptions): TransactionLayer {
  return new Transactions(options);
}

/** Callbacks of a transaction without user. */
const unheard: ClientHandlers = { onFinal() {}, onTimeout() {}, onTransportError() {} };

class Transactions implements TransactionLayer {
  readonly #transports: TransactionLayerOptions['transports'];
  readonly #ids: Ids;
  readonly #log: Logger;
  readonly #peers: KnownPeers | undefined;
  readonly #isLate: () => boolean;
  readonly #context: ClientContext & ServerContext & ArrivalContext;
  readonly #clients = new SlotMap<string, RunningClient>();
  readonly #servers = new SlotMap<string, RunningServer>();
  /** Requests restored that wait for their user and their final response. */
  readonly #resumed = new SlotMap<string, ArrivedRequest>();
  /** How many server transactions live with a merge key. */
  readonly #mergeKeys = new Map<string, number>();
  /** Created on first use: the key for tags of stateless responses. */
  #tagSecret: string | undefined;
  #onRequest: ((transaction: ServerTransaction) => void) | undefined;
  #onAck: ((ack: SipRequest, source: Source) => void) | undefined;
  #onStray: ((response: SipResponse, source: Source) => void) | undefined;
  #closed = false;
  #deaf: boolean;
  #retransmissions = 0;
  #timeouts = 0;
  #rejected = 0;
  #strays = 0;

  constructor({
    transports,
    clock,
    ids,
    log,
    timers,
    limits,
    hit,
    peers,
    isLate = () => false,
    inspect,
    changed,
    awaitsRestore = false,
  }: TransactionLayerOptions) {
    this.#deaf = awaitsRestore;
    this.#transports = transports;
    this.#peers = peers;
    this.#isLate = isLate;
    this.#ids = ids;
    this.#log = log;
    this.#context = {
      clock: guardedClock(clock, log, 'a timer of a SIP transaction'),
      timers: { ...defaultTimerValues, ...timers },
      inspect,
      changed,
      quota: new Quota({ ...defaultTransactionLimits, ...limits }, hit),
      send: (bytes, target, onFailure) => transports.send(bytes, target, onFailure),
      sendCancel: (cancel, target) => this.#sendCancel(cancel, target),
      guard: (call) => this.#guard(call),
      newTag: () => ids.mark + ids.hex(10),
      tagOf: (key) => this.#tagOf(key),
      keep: (request, why) => this.#keep(request, why),
      tellAck: (ack, source) => {
        this.#guard(() => this.#onAck?.(ack, source));
        changed?.('server', '', ack.callId, 'ACK');
      },
      countRetransmission: () => this.#retransmissions++,
      countTimeout: () => this.#timeouts++,
      forgetClient: (transaction) => this.#forgetClient(transaction),
      forgetServer: (transaction) => this.#forgetServer(transaction),
    };
    transports.onMessage((message, source) => {
      if (this.#closed || this.#deaf) return;
      if (message.kind === 'response') this.#receiveResponse(message, source);
      else this.#receiveRequest(message, source);
    });
    transports.onMalformed((failure, source) => this.#reject(failure, source));
    transports.onConnectionClosed((connection, target) => this.#connectionClosed(connection, target));
  }

  onRequest(handler: (transaction: ServerTransaction) => void): void {
    this.#onRequest = handler;
  }

  onAck(handler: (ack: SipRequest, source: Source) => void): void {
    this.#onAck = handler;
  }

  onStrayResponse(handler: (response: SipResponse, source: Source) => void): void {
    this.#onStray = handler;
  }

  request(message: SipRequest, target: Target, handlers: ClientHandlers): ClientTransaction {
    const branch = this.#addVia(message, target);
    const client = new RunningClient(
      { request: message, target, key: clientKey(branch, message.method) },
      handlers,
      this.#context,
    );
    if (this.#closed) this.#refuseClosed(client, handlers);
    else this.#beginClient(client);
    return client;
  }

  sendAck(ack: SipRequest, target: Target, onFailure?: (failure: SendFailure) => void): Buffer {
    this.#addVia(ack, target);
    this.#context.changed?.('client', '', ack.callId, 'ACK');
    const bytes = ack.toBuffer();
    this.#transports.send(bytes, target, onFailure);
    return bytes;
  }

  reconfigure(limits: TransactionLimits): void {
    this.#context.quota.reconfigure(limits);
  }

  counts(): TransactionCounts {
    return {
      clients: this.#clients.size,
      servers: this.#servers.size,
      retransmissions: this.#retransmissions,
      timeouts: this.#timeouts,
      rejected: this.#rejected,
      strays: this.#strays,
    };
  }

  keys(kind: 'client' | 'server'): readonly string[] {
    return [...(kind === 'client' ? this.#clients : this.#servers).values()].map(({ key }) => key);
  }

  dumpOne(kind: 'client' | 'server', key: string): ClientData | ServerData | undefined {
    return (kind === 'client' ? this.#clients : this.#servers).get(key)?.dump();
  }

  dump(): TransactionsData {
    const dumped = <T>(transactions: SlotMap<string, { dump(): T }>) =>
      [...transactions.values()].map((each) => each.dump());
    return { clients: dumped(this.#clients), servers: dumped(this.#servers) };
  }

  restore({ clients, servers }: TransactionsData): void {
    this.#deaf = false;
    for (const data of clients) this.#restoreClient(data);
    for (const data of servers) this.#restoreServer(data);
  }

  adopt(key: string, handlers: ClientHandlers): ClientTransaction | undefined {
    const client = this.#clients.get(key);
    client?.adoptedBy(handlers);
    return client;
  }

  pending(key: string): ServerTransaction | undefined {
    const arrived = this.#resumed.get(key);
    this.#resumed.delete(key);
    return arrived;
  }

  isBegun(request: SipRequest): boolean {
    return this.#servers.has(serverKey(request));
  }

  answered(key: string): Repeatable | undefined {
    return this.#servers.get(key);
  }

  #restoreClient(data: ClientData): void {
    const request = keptRequest(data.octets);
    const key = clientKey(request.topVia!.params['branch']!, request.method);
    const client = new RunningClient({ request, target: data.target, key }, unheard, this.#context);
    this.#clients.set(key, client);
    this.#peers?.hold(client.target);
    client.restore(data);
  }

  #restoreServer(data: ServerData): void {
    const { key, mergeKey: merge, source, target, invite, request, response = '' } = data;
    const reservation = this.#context.quota.take(undefined, Buffer.byteLength(request ?? response, 'base64'));
    if (!reservation) return;
    const context = this.#context;
    const arrived =
      request === undefined
        ? undefined
        : new ArrivedRequest(
            { request: keptRequest(request), source, target, key, merged: false, isKnown: true },
            context,
          );
    const server = new RunningServer(arrived, {
      keys: { key, mergeKey: merge },
      invite,
      source,
      target,
      reservation,
      context,
    });
    this.#remember(server);
    server.restore(data);
    if (!arrived) return;
    arrived.resume(server, data.toTag);
    this.#resumed.set(key, arrived);
  }

  close(): void {
    this.#closed = true;
    for (const client of [...this.#clients.values()]) client.terminate();
    for (const server of [...this.#servers.values()]) server.terminate();
  }

  /** Requests over a closed connection fail now instead of after 32 s. */
  #connectionClosed(connection: number, { address, port }: Target): void {
    for (const client of [...this.#clients.values()]) {
      const { target } = client;
      if (target.via || !kindOf(target.protocol).reliable) continue;
      if (target.connection === connection || (target.address === address && target.port === port))
        client.fail({ reason: 'closed', target });
    }
  }

  /** Puts our Via on top (RFC 3261 18.1.1, RFC 3581 3) and returns its fresh branch. */
  #addVia(message: SipRequest, target: Target): string {
    const branch = MAGIC_COOKIE + ownerMark(target) + this.#ids.hex(20);
    // Without a listener towards the target the send fails and is reported as usual.
    const { host, port } = this.#transports.localAddress(target) ?? { host: 'unbound.invalid', port: undefined };
    const params = { branch, rport: '' };
    message.prepend('Via', formatVia({ transport: target.protocol.toUpperCase(), host, port, params }));
    return branch;
  }

  /** The peer is known while it is asked something: its answer must come through. */
  #beginClient(client: RunningClient): void {
    this.#clients.set(client.key, client);
    this.#peers?.hold(client.target);
    client.begin();
  }

  #forgetClient(client: RunningClient): void {
    if (this.#clients.delete(client.key)) this.#peers?.release(client.target);
  }

  #refuseClosed(client: RunningClient, handlers: ClientHandlers): void {
    queueMicrotask(() => {
      this.#guard(() => handlers.onTransportError({ reason: 'closed', target: client.target }));
      client.terminate();
    });
  }

  /** A CANCEL has the branch and Via of its INVITE; its response is ignored. */
  #sendCancel(cancel: SipRequest, target: Target): void {
    const key = clientKey(cancel.topVia!.params['branch']!, 'CANCEL');
    this.#beginClient(new RunningClient({ request: cancel, target, key }, unheard, this.#context));
  }

  #receiveResponse(response: SipResponse, source: Source): void {
    // RFC 3261 8.1.3.3: a response with further hops is not for a user agent.
    const key = response.viaCount > 1 ? undefined : responseKey(response);
    const client = key === undefined ? undefined : this.#clients.get(key);
    if (client) {
      client.receive(response);
      return;
    }
    this.#strays++;
    if (this.#onStray) this.#guard(() => this.#onStray?.(response, source));
  }

  #receiveRequest(request: SipRequest, source: Source): void {
    const key = serverKey(request);
    const known = this.#servers.get(key);
    if (request.method === 'ACK') {
      if (known) known.receiveAck(request, source);
      else this.#context.tellAck(request, source);
    } else if (known) known.receiveAgain();
    else if (request.method === 'CANCEL') this.#receiveCancel(request, source, key);
    else this.#receiveNew(request, source, key);
  }

  #receiveNew(request: SipRequest, source: Source, key: string): void {
    // Refusing a call costs a tenth of taking it: those that are up, and those taken, go on as if nothing were.
    if (request.method === 'INVITE' && request.toTag === undefined && this.#isLate()) {
      this.#arrivedFrom(request, source, key).refuseForRoom();
      return;
    }
    const arrived = this.#arrive(request, source, key);
    try {
      if (this.#onRequest) this.#onRequest(arrived);
      else arrived.reply(503);
    } catch (error) {
      this.#log.error({ error, method: request.method }, 'the receiver of SIP requests failed');
      arrived.reply(500);
    }
    arrived.settle();
  }

  /** RFC 3261 9.2: 481 when there is nothing to cancel; else 200, with the To tag of the INVITE's responses. */
  #receiveCancel(cancel: SipRequest, source: Source, key: string): void {
    const invite = this.#servers.get(serverKey(cancel, 'INVITE'));
    const arrived = this.#arrive(cancel, source, key);
    // The branch is no secret: only the hop of the INVITE may cancel it, and CANCEL cannot be challenged (22.1).
    if (!invite || !isSameHop(invite.source, source)) {
      arrived.reply(481);
      return;
    }
    arrived.reply(200, { toTag: invite.toTag });
    invite.receiveCancel(cancel);
  }

  /** A known peer's request becomes a transaction directly, within the quota; a stranger's when it is admitted. */
  #arrive(request: SipRequest, source: Source, key: string): ArrivedRequest {
    const arrived = this.#arrivedFrom(request, source, key);
    if (arrived.isKnown) arrived.keep('accepted');
    return arrived;
  }

  #arrivedFrom(request: SipRequest, source: Source, key: string): ArrivedRequest {
    const merge = mergeKey(request);
    const merged = merge !== undefined && this.#mergeKeys.has(merge);
    const isKnown = this.#peers?.isKnown(source) ?? true;
    const target = responseTarget(request.topVia, source, isKnown);
    return new ArrivedRequest({ request, source, target, key, merged, isKnown }, this.#context);
  }

  #keep(arrived: ArrivedRequest, why: KeepReason): RunningServer | undefined {
    const { request, source, target, key } = arrived;
    const stranger = why === 'accepted' ? undefined : source.address;
    const reservation = this.#context.quota.take(stranger, request.octets);
    if (!reservation) return undefined;
    const keys = { key, mergeKey: mergeKey(request) };
    const invite = request.method === 'INVITE';
    const transaction = new RunningServer(arrived, {
      keys,
      invite,
      source,
      target,
      reservation,
      context: this.#context,
    });
    this.#remember(transaction);
    return transaction;
  }

  #remember(server: RunningServer): void {
    const { key, mergeKey: merge } = server.keys;
    if (merge !== undefined) this.#mergeKeys.set(merge, (this.#mergeKeys.get(merge) ?? 0) + 1);
    this.#servers.set(key, server);
  }

  #tagOf(key: string): string {
    this.#tagSecret ??= this.#ids.secret(40);
    return this.#ids.mark + createHmac('sha256', this.#tagSecret).update(key).digest('hex').slice(0, 16);
  }

  #forgetServer({ keys }: RunningServer): void {
    this.#servers.delete(keys.key);
    this.#resumed.delete(keys.key);
    if (keys.mergeKey === undefined) return;
    const alike = this.#mergeKeys.get(keys.mergeKey) ?? 0;
    if (alike <= 1) this.#mergeKeys.delete(keys.mergeKey);
    else this.#mergeKeys.set(keys.mergeKey, alike - 1);
  }

  /** Answers what could not be parsed, without a transaction; silence when too little is left of it. */
  #reject(failure: ParseFailure, source: Source): void {
    const line = failure.answerable?.vias[0];
    if (line === undefined || this.#closed || this.#deaf) return;
    const bytes = formatRejection(failure, this.#ids.hex(10), stampViaLine(line, source));
    if (!bytes) return;
    this.#rejected++;
    const via = parseVia(line.slice(0, firstViaEnd(line)).trim());
    this.#transports.send(bytes, responseTarget(via, source, this.#peers?.isKnown(source) ?? true));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ error }, 'the handler of a SIP transaction failed');
    }
  }
}

/** Over connections a hop may have opened another connection meanwhile, from another port. */
function isSameHop(one: Source, other: Source): boolean {
  if (one.protocol !== other.protocol || one.address !== other.address) return false;
  return kindOf(one.protocol).reliable || one.port === other.port;
}
