import type { DigestClient } from '../auth/client.ts';
import type { HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { Target } from '../transport/transport.ts';
import { ackRequest, type Dialog, type DialogRequestOptions, nextHop, nextRequest } from './dialog.ts';
import { locate } from './locate.ts';
import { type SendingHandlers, type Sent, sendRequest } from './requester.ts';
import type { Stack } from './stack.ts';

export type DialogRequestsOptions = {
  stack: Stack;
  dialog: Dialog;
  /** Our Contact towards a target. */
  contactFor(target: Target): NameAddr | undefined;
  digest?: DigestClient | undefined;
  /** Whether nothing may be sent any more. */
  isClosed(): boolean;
};

export type DialogSendingHandlers = SendingHandlers & {
  /** The request is on its way, which may be later than the call: the next hop had to be found first. */
  onSent?(sent: Sent): void;
};

/** Our side of a dialog: its state, and the requests that we send in it. */
export interface DialogRequests {
  readonly dialog: Dialog;
  /** The dialog after something that the peer sent. */
  update(next: Dialog): void;
  /** Sends a request with the next number, to the route set, the flow or the target; 503 when that leads nowhere. */
  send(method: string, extra: DialogRequestOptions, told: DialogSendingHandlers): void;
  /** Acknowledges a 2xx to an INVITE of ours; a repeated one gets the same ACK, octet by octet (RFC 3261 13.2.2.4). */
  acknowledge(response: SipResponse): void;
}

/** ACKs kept for 2xx that come again. One is current, the one before it may still be repeated. */
const KEPT_ACKS = 2;

export function createDialogRequests(options: DialogRequestsOptions): DialogRequests {
  const { stack } = options;
  const acks = new Map<number, { bytes: Buffer; target: Target }>();
  let dialog = options.dialog;

  const toTarget = (found: (target: Target | undefined) => void) => {
    const hop = nextHop(dialog);
    if ('flow' in hop) found(hop.flow);
    else locate(stack, hop.uri, found);
  };

  const build = (method: string, extra: DialogRequestOptions, target: Target): SipRequest => {
    const contact = method === 'BYE' ? undefined : options.contactFor(target);
    const headers: HeaderLines = [['User-Agent', stack.userAgent], ...(extra.headers ?? [])];
    const [request, next] = nextRequest(dialog, method, { ...extra, ...(contact && { contact }), headers });
    dialog = next;
    return request;
  };

  const keep = (cseq: number, bytes: Buffer, target: Target) => {
    acks.set(cseq, { bytes, target });
    for (const old of acks.keys()) if (acks.size > KEPT_ACKS) acks.delete(old);
  };

  return {
    get dialog() {
      return dialog;
    },
    update(next) {
      dialog = next;
    },
    send(method, extra, told) {
      toTarget((target) => {
        if (options.isClosed()) return;
        if (!target) return told.onFailure(503);
        const sending = { target, digest: options.digest, build: () => build(method, extra, target) };
        const sent = sendRequest(stack, sending, told);
        told.onSent?.(sent);
      });
    },
    acknowledge(response) {
      const cseq = response.cseq.number;
      const sent = acks.get(cseq);
      if (sent) return stack.transports.send(sent.bytes, sent.target);
      const ack = ackRequest(dialog, cseq, { headers: [['User-Agent', stack.userAgent]] });
      toTarget((target) => {
        if (target) keep(cseq, stack.transactions.sendAck(ack, target), target);
      });
    },
  };
}
