import type { Clock } from '../../lib/clock.ts';
import { guardedClock } from '../../lib/guard.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { formatRejection, type ParseFailure } from '../message/parse.ts';
import { firstViaEnd, formatVia, MAGIC_COOKIE, parseVia } from '../message/via.ts';
import { responseTarget, stampViaLine } from '../transport/routing.ts';
import type { SendFailure, Source, Target, Transports } from '../transport/transport.ts';
import { type ClientContext, RunningClient } from './client.ts';
import { clientKey, mergeKey, responseKey, serverKey } from './keys.ts';
import type { Step } from './runner.ts';
import { RunningServer, type ServerContext } from './server.ts';
import { defaultTimerValues, type TimerValues } from './tables.ts';
import type {
  ClientHandlers,
  ClientTransaction,
  ServerTransaction,
  TransactionCounts,
  TransactionLayer,
} from './transaction.ts';

export type TransactionLayerOptions = {
  readonly transports: Pick<Transports, 'onMessage' | 'onMalformed' | 'onConnectionClosed' | 'send' | 'localAddress'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** T1, T2 and T4 in ms; 500, 4000 and 5000 when left out. */
  readonly timers?: Partial<TimerValues> | undefined;
  /** Sees every table row that is taken: for tests and debugging. */
  readonly inspect?: ((step: Step) => void) | undefined;
};

/** The transaction layer over `transports`, whose receivers it becomes. */
export function createTransactionLayer(options: TransactionLayerOptions): TransactionLayer {
  return new Transactions(options);
}

class Transactions implements TransactionLayer {
  readonly #transports: TransactionLayerOptions['transports'];
  readonly #ids: Ids;
  readonly #log: Logger;
  readonly #context: ClientContext & ServerContext;
  readonly #clients = new Map<string, RunningClient>();
  readonly #servers = new Map<string, RunningServer>();
  /** How many server transactions live with a merge key. */
  readonly #mergeKeys = new Map<string, number>();
  #onRequest: ((transaction: ServerTransaction) => void) | undefined;
  #onAck: ((ack: SipRequest, source: Source) => void) | undefined;
  #onStray: ((response: SipResponse, source: Source) => void) | undefined;
  #closed = false;
  #retransmissions = 0;
  #timeouts = 0;
  #rejected = 0;
  #strays = 0;

  constructor({ transports, clock, ids, log, timers, inspect }: TransactionLayerOptions) {
    this.#transports = transports;
    this.#ids = ids;
    this.#log = log;
    this.#context = {
      clock: guardedClock(clock, log, 'a timer of a SIP transaction'),
      timers: { ...defaultTimerValues, ...timers },
      inspect,
      send: (bytes, target, onFailure) => transports.send(bytes, target, onFailure),
      sendCancel: (cancel, target) => this.#sendCancel(cancel, target),
      guard: (call) => this.#guard(call),
      newTag: () => ids.hex(10),
      tellAck: (ack, source) => this.#guard(() => this.#onAck?.(ack, source)),
      countRetransmission: () => this.#retransmissions++,
      countTimeout: () => this.#timeouts++,
      forgetClient: (transaction) => this.#clients.delete(transaction.key),
      forgetServer: (transaction) => this.#forgetServer(transaction),
    };
    transports.onMessage((message, source) => {
      if (this.#closed) return;
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
    const client = new RunningClient(message, target, clientKey(branch, message.method), handlers, this.#context);
    if (this.#closed) this.#refuseClosed(client, handlers);
    else this.#beginClient(client);
    return client;
  }

  sendAck(ack: SipRequest, target: Target, onFailure?: (failure: SendFailure) => void): Buffer {
    this.#addVia(ack, target);
    const bytes = ack.toBuffer();
    this.#transports.send(bytes, target, onFailure);
    return bytes;
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

  close(): void {
    this.#closed = true;
    for (const client of [...this.#clients.values()]) client.terminate();
    for (const server of [...this.#servers.values()]) server.terminate();
  }

  /** What was sent over a connection that is gone would wait 32 s for an answer that cannot come. */
  #connectionClosed(connection: number, { address, port }: Target): void {
    for (const client of [...this.#clients.values()]) {
      const { target } = client;
      if (target.protocol !== 'tcp') continue;
      if (target.connection === connection || (target.address === address && target.port === port))
        client.fail({ reason: 'closed', target });
    }
  }

  /** Puts our Via on top (RFC 3261 18.1.1, RFC 3581 3) and returns its fresh branch. */
  #addVia(message: SipRequest, target: Target): string {
    const branch = MAGIC_COOKIE + this.#ids.hex(20);
    // With nothing bound towards the target the send fails, and the user is told by the usual way.
    const { host, port } = this.#transports.localAddress(target) ?? { host: 'unbound.invalid', port: undefined };
    const params = { branch, rport: '' };
    message.prepend('Via', formatVia({ transport: target.protocol.toUpperCase(), host, port, params }));
    return branch;
  }

  #beginClient(client: RunningClient): void {
    this.#clients.set(client.key, client);
    client.begin();
  }

  #refuseClosed(client: RunningClient, handlers: ClientHandlers): void {
    queueMicrotask(() => {
      this.#guard(() => handlers.onTransportError({ reason: 'closed', target: client.target }));
      client.terminate();
    });
  }

  /** A CANCEL has the branch of its INVITE, so its Via is already there; nobody waits for its answer. */
  #sendCancel(cancel: SipRequest, target: Target): void {
    const key = clientKey(cancel.topVia!.params['branch']!, 'CANCEL');
    const nothing = () => {};
    const handlers = { onFinal: nothing, onTimeout: nothing, onTransportError: nothing };
    this.#beginClient(new RunningClient(cancel, target, key, handlers, this.#context));
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
    const transaction = this.#beginServer(request, source, key, mergeKey(request));
    if (!this.#onRequest) {
      transaction.reply(503);
      return;
    }
    try {
      this.#onRequest(transaction);
    } catch (error) {
      this.#log.error({ error, method: request.method }, 'the receiver of SIP requests threw');
      transaction.reply(500);
    }
  }

  /** RFC 3261 9.2: 481 when there is nothing to cancel; else 200, with the To tag of the INVITE's responses. */
  #receiveCancel(cancel: SipRequest, source: Source, key: string): void {
    const invite = this.#servers.get(serverKey(cancel, 'INVITE'));
    const transaction = this.#beginServer(cancel, source, key, undefined);
    if (!invite) {
      transaction.reply(481);
      return;
    }
    transaction.reply(200, { toTag: invite.toTag });
    invite.receiveCancel(cancel);
  }

  #beginServer(request: SipRequest, source: Source, key: string, merge: string | undefined): RunningServer {
    const alike = merge === undefined ? 0 : (this.#mergeKeys.get(merge) ?? 0);
    if (merge !== undefined) this.#mergeKeys.set(merge, alike + 1);
    const keys = { key, mergeKey: merge, merged: alike > 0 };
    const transaction = new RunningServer(request, source, keys, this.#context);
    this.#servers.set(key, transaction);
    transaction.begin();
    return transaction;
  }

  #forgetServer({ keys }: RunningServer): void {
    this.#servers.delete(keys.key);
    if (keys.mergeKey === undefined) return;
    const alike = this.#mergeKeys.get(keys.mergeKey) ?? 0;
    if (alike <= 1) this.#mergeKeys.delete(keys.mergeKey);
    else this.#mergeKeys.set(keys.mergeKey, alike - 1);
  }

  /** Answers what could not be parsed, without a transaction; silence when too little is left of it. */
  #reject(failure: ParseFailure, source: Source): void {
    const line = failure.answerable?.vias[0];
    if (line === undefined || this.#closed) return;
    const bytes = formatRejection(failure, this.#ids.hex(10), stampViaLine(line, source));
    if (!bytes) return;
    this.#rejected++;
    const via = parseVia(line.slice(0, firstViaEnd(line)).trim());
    this.#transports.send(bytes, responseTarget(via, source));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ error }, 'a handler of a SIP transaction threw');
    }
  }
}
