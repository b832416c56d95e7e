import { guarded } from '../../lib/guard.ts';
import type { DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { Uri } from '../message/uri.ts';
import { kindOf } from '../transport/kind.ts';
import type { Target } from '../transport/transport.ts';
import { ackRequest, type Dialog, type DialogRequestOptions, nextHop, nextRequest } from './dialog.ts';
import { locate } from './locate.ts';
import {
  resumeRequest,
  type Sending,
  type SendingHandlers,
  type Sent,
  type SentData,
  sendRequest,
} from './requester.ts';
import type { Stack } from './stack.ts';

type DialogRequestsOptions = {
  stack: Stack;
  /** Our Contact towards a target. */
  contactFor(target: Target, asked?: Uri): NameAddr | undefined;
  digest?: DigestClient | undefined;
  /** Whether sending is no longer allowed. */
  isClosed(): boolean;
  /** The connection that the peer has registered over. */
  registeredFlow?: ((dialog: Dialog) => Target | undefined) | undefined;
  /** The final response to the request sent as `label`; of an INVITE every 2xx that comes. */
  onFinal(label: string, response: SipResponse): void;
  /** No response (408), or the request could not be sent (503); in place of `onFinal`. */
  onFailure(label: string, status: 408 | 503): void;
};

/** A request of ours of which something may still be heard: plain data. */
type PendingRequestData = {
  readonly label: string;
  readonly method: string;
  readonly extra: DialogRequestOptions;
  /** Its destination; undefined during the lookup. */
  readonly target?: Target;
  readonly sent?: SentData;
  /** Further destinations if this one does not respond. */
  readonly others?: readonly Target[];
};

/** Our side of a dialog: plain data. */
export type DialogRequestsData = {
  readonly dialog: Dialog;
  /** ACKs to 2xx that may come again, their octets in base64. */
  readonly acks: readonly { readonly cseq: number; readonly octets: string; readonly target: Target }[];
  readonly pending: readonly PendingRequestData[];
};

/** ACKs kept for 2xx that come again. One is current, the one before it may still be repeated. */
const KEPT_ACKS = 2;

type Pending = Omit<PendingRequestData, 'sent' | 'target' | 'others'> & {
  target?: Target;
  sent?: Sent;
  others?: readonly Target[];
  /** It waits so long for the peer to connect again before it is tried once more, in ms; and since when. */
  pauseMs?: number;
  waitsSince?: number;
};

/** Our side of a dialog: its state, and our requests in it, each with a label for its purpose. */
export class DialogRequests {
  readonly #options: DialogRequestsOptions;
  readonly #acks = new Map<number, { bytes: Buffer; target: Target }>();
  readonly #pending = new Set<Pending>();
  /** Waits for the peer to connect again. */
  #reconnectTimer: unknown;
  #dialog: Dialog;

  constructor(options: DialogRequestsOptions, dialog: Dialog) {
    this.#options = options;
    this.#dialog = dialog;
  }

  get dialog(): Dialog {
    return this.#dialog;
  }

  /** The dialog after something that the peer sent. */
  update(next: Dialog): void {
    this.#dialog = next;
  }

  /** The peer was heard at `source`: over another connection when it has lost the one before. */
  heardAt(source: Target): void {
    const { flow } = this.#dialog;
    if (flow?.connection === undefined || source.connection === undefined || this.#isConnected(flow)) return;
    this.#dialog = { ...this.#dialog, flow: source };
    this.#sendWaiting();
  }

  /** The dialog is over: nothing waits any more. */
  stop(): void {
    this.#options.stack.clock.clearTimeout(this.#reconnectTimer);
  }

  /** Sends a request with the next number, to the route set, the flow or the target; 503 when that leads nowhere. */
  send(label: string, method: string, extra: DialogRequestOptions = {}): void {
    const pending: Pending = { label, method, extra };
    this.#pending.add(pending);
    this.#find(pending);
  }

  /** Cancels the INVITE that was sent as `label` as soon as that is allowed. */
  cancel(label: string): void {
    for (const pending of this.#pending) if (pending.label === label) pending.sent?.cancel();
  }

  /** Acknowledges a 2xx to an INVITE of ours; a repeated one gets the same ACK, octet by octet (RFC 3261 13.2.2.4). */
  acknowledge(response: SipResponse): void {
    const { stack } = this.#options;
    const cseq = response.cseq.number;
    const sent = this.#acks.get(cseq);
    if (sent) return void stack.transports.send(sent.bytes, sent.target);
    const ack = ackRequest(this.#dialog, cseq, { headers: [['User-Agent', stack.userAgent]] });
    this.#toTarget((target, others) => this.#sendAck(cseq, ack, [...(target ? [target] : []), ...others]));
  }

  /** The ACK has no answer: it goes elsewhere only when it cannot have arrived (RFC 3263 4.3). */
  #sendAck(cseq: number, ack: SipRequest, [target, ...others]: readonly Target[]): void {
    if (!target) return;
    const { transactions } = this.#options.stack;
    const elsewhere = () => {
      ack.remove('Via');
      this.#sendAck(cseq, ack, others);
    };
    this.#keepAck(cseq, transactions.sendAck(ack, target, others.length > 0 ? elsewhere : undefined), target);
  }

  dump(): DialogRequestsData {
    return {
      dialog: this.#dialog,
      acks: [...this.#acks].map(([cseq, { bytes, target }]) => ({ cseq, octets: bytes.toString('base64'), target })),
      pending: [...this.#pending].map(({ sent, pauseMs: _pause, waitsSince: _since, ...rest }) => ({
        ...rest,
        ...(sent && { sent: sent.data }),
      })),
    };
  }

  /** Continues the requests of a previous process; the dialog is already set. */
  restore({ acks, pending }: DialogRequestsData): void {
    for (const { cseq, octets, target } of acks) this.#acks.set(cseq, { bytes: Buffer.from(octets, 'base64'), target });
    for (const { sent, target, ...rest } of pending) this.#resume({ ...rest } as Pending, target, sent);
  }

  #find(pending: Pending): void {
    this.#toTarget((target, others) => {
      pending.others = others;
      if (this.#options.isClosed()) this.#pending.delete(pending);
      else if (target) this.#go(pending, target);
      else if (!this.#waitForPeer(pending)) {
        this.#pending.delete(pending);
        this.#options.onFailure(pending.label, 503);
      }
    });
  }

  /**
   * A request to a peer whose connection is gone, and that cannot be connected to, waits for the peer to connect: as long, and
   * with the pauses, of a request over UDP without an answer (RFC 3261 17.1.2.2).
   * @returns whether it waits.
   */
  #waitForPeer(pending: Pending): boolean {
    const { clock, timing } = this.#options.stack;
    const { flow, routes } = this.#dialog;
    if (flow?.connection === undefined || routes.length > 0 || this.#options.isClosed()) return false;
    pending.waitsSince ??= clock.monotonic();
    if (clock.monotonic() - pending.waitsSince >= 64 * timing.t1Ms) return false;
    delete pending.sent;
    delete pending.target;
    pending.pauseMs = Math.min(2 * (pending.pauseMs ?? timing.t1Ms / 2), timing.t2Ms);
    clock.clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = clock.setTimeout(
      guarded(this.#options.stack.log, 'sending to a peer that has connected again', () => this.#sendWaiting()),
      pending.pauseMs,
    );
    return true;
  }

  #sendWaiting(): void {
    this.stop();
    for (const pending of [...this.#pending])
      if (pending.waitsSince !== undefined && !pending.target) this.#find(pending);
  }

  #isConnected(target: Target): boolean {
    return this.#options.stack.transports.isConnected(target);
  }

  #go(pending: Pending, target: Target): void {
    pending.target = target;
    pending.sent = sendRequest(this.#options.stack, this.#sending(pending, target), this.#hearing(pending));
  }

  #resume(pending: Pending, target: Target | undefined, sent: SentData | undefined): void {
    this.#pending.add(pending);
    if (!target || !sent) return void this.#find(pending);
    pending.target = target;
    const resumed = resumeRequest(this.#options.stack, this.#sending(pending, target), this.#hearing(pending), sent);
    if (resumed) pending.sent = resumed;
    else this.#pending.delete(pending);
  }

  #sending({ method, extra, others = [] }: Pending, target: Target): Sending {
    const { digest, stack } = this.#options;
    // An offer within the call is not made to a second server while the first one may still answer it.
    const isPatient = method === 'INVITE' || others.length === 0;
    const patienceMs = isPatient ? undefined : stack.targets?.patienceMs;
    return { target, digest, patienceMs, build: () => this.#build(method, extra, target) };
  }

  #hearing(pending: Pending): SendingHandlers {
    const { label, target } = pending;
    return {
      onFinal: (response) => {
        if (response.status !== 503 || !this.#goElsewhere(pending)) this.#options.onFinal(label, response);
      },
      onFailure: (status) => {
        if (this.#goElsewhere(pending) || (status === 503 && this.#waitForPeer(pending))) return;
        this.#options.onFailure(label, status);
      },
      onOver: () => {
        if (pending.target === target) this.#pending.delete(pending);
      },
    };
  }

  /** Tries the next place where the last one gave no sign of life (RFC 3263 4.3); false when there is none. */
  #goElsewhere(pending: Pending): boolean {
    const [next, ...others] = pending.others ?? [];
    if (!next || this.#options.isClosed()) return false;
    pending.others = others;
    this.#go(pending, next);
    return true;
  }

  #toTarget(found: (target: Target | undefined, others: readonly Target[]) => void): void {
    const { stack, registeredFlow } = this.#options;
    const hop = nextHop(this.#dialog);
    if ('uri' in hop) return void locate(stack, hop.uri, found);
    const places = [hop.flow, registeredFlow?.(this.#dialog)];
    const flow = places.find((each) => each && this.#isConnected(each));
    if (flow) {
      if (flow !== hop.flow) this.#dialog = { ...this.#dialog, flow };
      return void found(flow, []);
    }
    // Its Contact may be good for a connection of ours; over WebSocket it never is (RFC 7118 5).
    if (kindOf(hop.flow.protocol).webSocket) found(undefined, []);
    else locate(stack, this.#dialog.remoteTarget, found);
  }

  #build(method: string, extra: DialogRequestOptions, target: Target): SipRequest {
    const contact = method === 'BYE' ? undefined : this.#options.contactFor(target, this.#dialog.remoteTarget);
    const headers: HeaderLines = [['User-Agent', this.#options.stack.userAgent], ...(extra.headers ?? [])];
    const [request, next] = nextRequest(this.#dialog, method, { ...extra, ...(contact && { contact }), headers });
    this.#dialog = next;
    return request;
  }

  #keepAck(cseq: number, bytes: Buffer, target: Target): void {
    this.#acks.set(cseq, { bytes, target });
    for (const old of this.#acks.keys()) if (this.#acks.size > KEPT_ACKS) this.#acks.delete(old);
  }
}
