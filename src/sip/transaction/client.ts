import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { kindOf } from '../transport/kind.ts';
import type { SendFailure, Target } from '../transport/transport.ts';
import { ackFor, cancelFor } from './derived.ts';
import { Runner, type RunnerContext } from './runner.ts';
import { type ClientInput, inviteClient, nonInviteClient, type PlainEffect } from './tables.ts';
import type { ClientData, ClientHandlers, ClientState, ClientTransaction } from './transaction.ts';

/** Needs of a client transaction from its layer. */
export type ClientContext = RunnerContext & {
  send(bytes: Buffer, target: Target, onFailure: (failure: SendFailure) => void): void;
  /** Sends a CANCEL in a transaction of its own. */
  sendCancel(cancel: SipRequest, target: Target): void;
  /** Calls a handler of the user; what it throws is logged. */
  guard(call: () => void): void;
  countRetransmission(): void;
  countTimeout(): void;
  forgetClient(transaction: RunningClient): void;
};

/** A client transaction at work: effects of the tables become messages and calls to the user. */
export class RunningClient implements ClientTransaction {
  readonly request: SipRequest;
  readonly target: Target;
  readonly key: string;
  readonly #bytes: Buffer;
  #handlers: ClientHandlers;
  readonly #context: ClientContext;
  readonly #runner: Runner<ClientState, ClientInput>;
  #response: SipResponse | undefined;
  #failure: SendFailure | undefined;
  #cancelHeaders: HeaderLines | undefined;
  #held = false;

  constructor(
    { request, target, key }: Pick<RunningClient, 'request' | 'target' | 'key'>,
    handlers: ClientHandlers,
    context: ClientContext,
  ) {
    this.request = request;
    this.target = target;
    this.key = key;
    this.#bytes = request.toBuffer();
    this.#handlers = handlers;
    this.#context = context;
    const shared = { reliable: kindOf(target.protocol).reliable, context, run: this };
    this.#runner = (
      request.method === 'INVITE'
        ? new Runner({ name: 'inviteClient', table: inviteClient, state: 'calling', ...shared })
        : new Runner({ name: 'nonInviteClient', table: nonInviteClient, state: 'trying', ...shared })
    ) as Runner<ClientState, ClientInput>;
  }

  get state(): ClientState {
    return this.#runner.state;
  }

  /** Sends the request for the first time. */
  begin(): void {
    this.#runner.input('begin');
  }

  /** Takes a response that matches. */
  receive(response: SipResponse): void {
    this.#response = response;
    this.#runner.input(response.status < 200 ? 'provisional' : response.status < 300 ? 'success' : 'failure');
  }

  cancel(headers: HeaderLines = []): void {
    if (this.#cancelHeaders) return;
    // Remembered even if it comes too late: a second call must not find another state.
    this.#cancelHeaders = headers;
    this.#runner.input('cancel');
  }

  dump(): ClientData {
    return {
      octets: this.#bytes.toString('base64'),
      target: this.target,
      runner: this.#runner.dump(),
      ...(this.#cancelHeaders && { cancel: this.#cancelHeaders }),
      held: this.#held,
    };
  }

  /** Goes on where another process left off. */
  restore({ runner, cancel, held }: ClientData): void {
    this.#cancelHeaders = cancel;
    this.#held = held;
    this.#runner.restore(runner);
  }

  /** Its user, found after it was restored. */
  adoptedBy(handlers: ClientHandlers): void {
    this.#handlers = handlers;
  }

  /** Ends without a word to anyone but `onTerminated`. */
  terminate(): void {
    this.#runner.terminate();
  }

  perform(effect: PlainEffect): void {
    const { guard } = this.#context;
    switch (effect) {
      case 'resend':
        this.#context.countRetransmission();
        this.#send(this.#bytes);
        break;
      case 'send':
        this.#send(this.#bytes);
        break;
      case 'sendAck':
        this.#send(ackFor(this.request, this.#response!).toBuffer());
        break;
      case 'holdCancel':
        this.#held = true;
        break;
      case 'sendHeldCancel':
        if (this.#held) this.#runner.input('cancel');
        break;
      case 'sendCancel':
        this.#context.sendCancel(cancelFor(this.request, this.#cancelHeaders ?? []), this.target);
        break;
      case 'tellProvisional':
        guard(() => this.#handlers.onProvisional?.(this.#response!));
        break;
      case 'tellFinal':
        guard(() => this.#handlers.onFinal(this.#response!));
        break;
      case 'tellTimeout':
        this.#context.countTimeout();
        guard(() => this.#handlers.onTimeout());
        break;
      case 'tellTransportError':
        guard(() => this.#handlers.onTransportError(this.#failure!));
        break;
    }
  }

  /** Takes that the request cannot have arrived, or its answer cannot come. */
  fail(failure: SendFailure): void {
    this.#failure = failure;
    this.#runner.input('transportError');
  }

  #send(bytes: Buffer): void {
    this.#context.send(bytes, this.target, (failure) => this.fail(failure));
  }

  changed(): void {
    const { callId, method } = this.request;
    this.#context.changed?.('client', this.key, callId, method);
  }

  ended(): void {
    this.#context.forgetClient(this);
    this.#context.guard(() => this.#handlers.onTerminated?.());
  }
}
