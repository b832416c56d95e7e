import { type BuildResponseOptions, buildResponse } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { responseTarget } from '../transport/routing.ts';
import type { SendFailure, Source, Target } from '../transport/transport.ts';
import { Runner, type RunnerContext } from './runner.ts';
import { inviteServer, nonInviteServer, type PlainEffect, type ServerInput } from './tables.ts';
import type { ServerHandlers, ServerState, ServerTransaction } from './transaction.ts';

/** What a server transaction needs from its layer. */
export type ServerContext = RunnerContext & {
  send(bytes: Buffer, target: Target, onFailure: (failure: SendFailure) => void): void;
  newTag(): string;
  /** Calls a handler of the user; what it throws is logged. */
  guard(call: () => void): void;
  /** Hands over an ACK that is the dialog's. */
  tellAck(ack: SipRequest, source: Source): void;
  countRetransmission(): void;
  forgetServer(transaction: RunningServer): void;
};

export type ServerKeys = { readonly key: string; readonly mergeKey: string | undefined; readonly merged: boolean };

/** A server transaction at work: effects of the tables become messages and calls to the user. */
export class RunningServer implements ServerTransaction {
  readonly request: SipRequest;
  readonly source: Source;
  readonly keys: ServerKeys;
  handlers: ServerHandlers = {};
  readonly #target: Target;
  readonly #context: ServerContext;
  readonly #runner: Runner<ServerState, ServerInput>;
  #toTag: string | undefined;
  #given: SipResponse | undefined;
  #last: SipResponse | undefined;
  #lastBytes: Buffer | undefined;
  #failure: SendFailure | undefined;
  #ack: { readonly message: SipRequest; readonly source: Source } | undefined;

  constructor(request: SipRequest, source: Source, keys: ServerKeys, context: ServerContext) {
    this.request = request;
    this.source = source;
    this.keys = keys;
    this.#target = responseTarget(request.topVia, source);
    this.#context = context;
    const shared = {
      reliable: source.protocol === 'tcp',
      context,
      perform: (effect: PlainEffect) => this.#perform(effect),
      onTerminated: () => this.#end(),
    };
    this.#runner = (
      request.method === 'INVITE'
        ? new Runner({ name: 'inviteServer', table: inviteServer, state: 'proceeding', ...shared })
        : new Runner({ name: 'nonInviteServer', table: nonInviteServer, state: 'trying', ...shared })
    ) as Runner<ServerState, ServerInput>;
  }

  get state(): ServerState {
    return this.#runner.state;
  }

  get merged(): boolean {
    return this.keys.merged;
  }

  get lastResponse(): SipResponse | undefined {
    return this.#last;
  }

  get toTag(): string {
    return (this.#toTag ??= this.request.toTag ?? this.#context.newTag());
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
  }

  /** Tells the user of a CANCEL, if there is still something to cancel. */
  receiveCancel(cancel: SipRequest): void {
    if (this.state === 'proceeding') this.#context.guard(() => this.handlers.onCancel?.(cancel));
  }

  respond(response: SipResponse): boolean {
    const input = response.status < 200 ? 'provisional' : response.status < 300 ? 'success' : 'failure';
    if (!this.#runner.accepts(input)) return false;
    this.#given = response;
    return this.#runner.input(input);
  }

  reply(status: number, options: BuildResponseOptions = {}): boolean {
    return this.respond(buildResponse(this.request, status, { toTag: this.toTag, ...options }));
  }

  /** Ends without a word to anyone but `onTerminated`. */
  terminate(): void {
    this.#runner.terminate();
  }

  #perform(effect: PlainEffect): void {
    const { guard } = this.#context;
    switch (effect) {
      case 'send':
        this.#send(this.#given!);
        break;
      case 'sendTrying':
        this.#send(buildResponse(this.request, 100));
        break;
      case 'resend':
        if (!this.#lastBytes) break;
        this.#context.countRetransmission();
        this.#sendBytes(this.#lastBytes);
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

  #send(response: SipResponse): void {
    this.#last = response;
    this.#lastBytes = response.toBuffer();
    this.#sendBytes(this.#lastBytes);
  }

  #sendBytes(bytes: Buffer): void {
    this.#context.send(bytes, this.#target, (failure) => {
      this.#failure = failure;
      this.#runner.input('transportError');
    });
  }

  #end(): void {
    this.#context.forgetServer(this);
    this.#context.guard(() => this.handlers.onTerminated?.());
  }
}
