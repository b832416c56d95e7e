import { buildResponse } from '../message/build.ts';
import { keepRequest } from '../message/kept.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { kindOf } from '../transport/kind.ts';
import type { SendFailure, Source, Target } from '../transport/transport.ts';
import type { Quota, Reservation } from './quota.ts';
import { type Run, Runner, type RunnerContext } from './runner.ts';
import { inviteServer, nonInviteServer, type PlainEffect, type ServerInput } from './tables.ts';
import type { Repeatable, ServerData, ServerHandlers, ServerState } from './transaction.ts';

/** Needs of a server transaction from its layer. */
export type ServerContext = RunnerContext & {
  readonly quota: Quota;
  send(bytes: Buffer, target: Target, onFailure: (failure: SendFailure) => void): void;
  /** Calls a handler of the user; what it throws is logged. */
  guard(call: () => void): void;
  /** Hands over an ACK that is the dialog's. */
  tellAck(ack: SipRequest, source: Source): void;
  countRetransmission(): void;
  forgetServer(transaction: RunningServer): void;
};

type ServerKeys = { readonly key: string; readonly mergeKey: string | undefined };

/** The request as its user sees it, with the To tag of all responses, created on first use. */
type Answered = {
  readonly request: SipRequest;
  readonly source: Source;
  readonly toTag: string;
  readonly target: Target;
};

type ServerOptions = {
  readonly keys: ServerKeys;
  readonly invite: boolean;
  readonly source: Source;
  readonly target: Target;
  /** Released at the end. */
  readonly reservation: Reservation;
  readonly context: ServerContext;
};

/**
 * A server transaction at work: effects of the tables become messages and calls to the user. After the final response it
 * holds that response's octets and nothing of the request.
 */
export class RunningServer implements Repeatable, Run {
  readonly keys: ServerKeys;
  handlers: ServerHandlers = {};
  /** The hop it came from, which alone may cancel it. */
  readonly source: Source;
  readonly #invite: boolean;
  readonly #callId: string;
  readonly #method: string;
  readonly #target: Target;
  readonly #reservation: Reservation;
  readonly #context: ServerContext;
  readonly #runner: Runner<ServerState, ServerInput>;
  /** Forgotten with the final response. */
  #arrived: Answered | undefined;
  #toTag = '';
  #bytes: Buffer | undefined;
  #failure: SendFailure | undefined;
  #ack: { readonly message: SipRequest; readonly source: Source } | undefined;

  /** @param arrived undefined for one that is restored after its final response. */
  constructor(arrived: Answered | undefined, { keys, invite, source, target, reservation, context }: ServerOptions) {
    this.keys = keys;
    this.source = source;
    this.#invite = invite;
    this.#arrived = arrived;
    this.#target = target;
    this.#reservation = reservation;
    this.#context = context;
    this.#callId = arrived?.request.callId ?? '';
    this.#method = arrived?.request.method ?? '';
    const { reliable } = kindOf(target.protocol);
    this.#runner = (
      invite
        ? new Runner({ name: 'inviteServer', table: inviteServer, state: 'proceeding', reliable, context, run: this })
        : new Runner({ name: 'nonInviteServer', table: nonInviteServer, state: 'trying', reliable, context, run: this })
    ) as Runner<ServerState, ServerInput>;
  }

  get key(): string {
    return this.keys.key;
  }

  get state(): ServerState {
    return this.#runner.state;
  }

  /** The To tag of all its responses. */
  get toTag(): string {
    return this.#arrived?.toTag ?? this.#toTag;
  }

  /** Starts what runs before the first response. */
  begin(): void {
    this.#runner.input('begin');
  }

  /** Takes the same request again. */
  receiveAgain(): void {
    this.#runner.input('request');
  }

  receiveAck(ack: SipRequest, source: Source): void {
    this.#ack = { message: ack, source };
    this.#runner.input('ack');
    this.#ack = undefined;
  }

  /** Tells the user of a CANCEL, if there is still something to cancel. */
  receiveCancel(cancel: SipRequest): void {
    if (this.state === 'proceeding') this.#context.guard(() => this.handlers.onCancel?.(cancel));
  }

  /** Sends a response if the state allows one; false when it is ignored. */
  respond(response: SipResponse): boolean {
    const input = response.status < 200 ? 'provisional' : response.status < 300 ? 'success' : 'failure';
    if (!this.#runner.accepts(input)) return false;
    this.#bytes = response.toBuffer();
    if (response.status >= 200) {
      this.#toTag = response.toTag ?? '';
      this.#arrived = undefined;
      this.#context.quota.resize(this.#reservation, this.#bytes.length);
    }
    return this.#runner.input(input);
  }

  repeat(): void {
    if (this.state === 'accepted') this.#runner.input('success');
  }

  dump(): ServerData {
    const arrived = this.#arrived;
    return {
      key: this.keys.key,
      mergeKey: this.keys.mergeKey,
      invite: this.#invite,
      runner: this.#runner.dump(),
      source: this.source,
      target: this.#target,
      toTag: this.toTag,
      ...(this.#bytes && { response: this.#bytes.toString('base64') }),
      ...(arrived && { request: keepRequest(arrived.request) }),
    };
  }

  /** Goes on where another process left off. */
  restore({ runner, toTag, response }: ServerData): void {
    this.#toTag = toTag;
    if (response !== undefined) this.#bytes = Buffer.from(response, 'base64');
    this.#runner.restore(runner);
  }

  /** Ends without a word to anyone but `onTerminated`. */
  terminate(): void {
    this.#runner.terminate();
  }

  perform(effect: PlainEffect): void {
    const { guard } = this.#context;
    switch (effect) {
      case 'send':
        this.#send(this.#bytes!);
        break;
      case 'sendTrying':
        this.#bytes = buildResponse(this.#arrived!.request, 100).toBuffer();
        this.#send(this.#bytes);
        break;
      case 'resend':
        if (!this.#bytes) break;
        this.#context.countRetransmission();
        this.#send(this.#bytes);
        break;
      case 'tellConfirmed':
        guard(() => this.handlers.onConfirmed?.());
        break;
      case 'tellAck':
        this.#context.tellAck(this.#ack!.message, this.#ack!.source);
        break;
      case 'tellTimeout':
        guard(() => this.handlers.onTimeout?.());
        break;
      case 'tellTransportError':
        guard(() => this.handlers.onTransportError?.(this.#failure!));
        break;
    }
  }

  #send(bytes: Buffer): void {
    this.#context.send(bytes, this.#target, (failure) => {
      this.#failure = failure;
      this.#runner.input('transportError');
    });
  }

  changed(): void {
    this.#context.changed?.('server', this.keys.key, this.#callId, this.#method);
  }

  ended(): void {
    this.#context.quota.leave(this.#reservation);
    this.#context.forgetServer(this);
    this.#context.guard(() => this.handlers.onTerminated?.());
  }
}
