import {
  type ReceivedRefersEffect,
  type ReceivedRefersEvent,
  receivedRefersTable,
} from '../../machines/received-refers.ts';
import { TableRun, type Watched } from '../../machines/table-run.ts';
import type { UsageAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { parseNameAddr } from '../../sip/message/name-addr.ts';
import { parseReplaces, type Replaces } from '../../sip/message/named-dialog.ts';
import { printable } from '../../sip/message/scan.ts';
import { reasonPhrase } from '../../sip/message/status.ts';
import { formatUri, percentDecode, type SipUri, type TelUri } from '../../sip/message/uri.ts';
import type { TransferRequest } from '../../telephony/driver.ts';
import type { EndpointConfig } from './config.ts';
import type { ReferReceiver, TellSubscriber } from './legs.ts';
import { extensionOf } from './party.ts';
import { transferableChannel } from './replacing.ts';
import { mayCall, type Services } from './services.ts';

/** A REFER of a far side with or without progress reports (RFC 4488): plain data. */
export type AskedTransfer = {
  /** CSeq of the REFER, which identifies its subscription in the call (RFC 3515 2.4.6). */
  readonly id: string;
  /** Event header of its NOTIFYs; without it none are sent. */
  readonly event?: string;
  /** For a REFER outside the call: key of its own dialog. */
  readonly outside?: string;
};

type AskedTransfersOptions = {
  services: Services;
  endpoint: EndpointConfig;
  /** Whether the call is established: transfers need that. */
  isUp(): boolean;
  /** Notifies the transferor inside the call. */
  send: TellSubscriber;
  /** Passes the request to call control. */
  ask(transfer: TransferRequest): void;
  /** Data of a previous process. */
  from?: readonly AskedTransfer[] | undefined;
  watched: Watched;
};

/** Transfers that the far side of one call asks for: REFER in a dialog, and the subscription that it makes (RFC 3515). */
export interface AskedTransfers {
  receiveRefer: ReferReceiver;
  /** SUBSCRIBE to how a transfer goes: refreshes the subscription, or ends it. */
  receiveSubscribe(request: SipRequest): UsageAnswer;
  /** Reports the progress of a transfer; a status of 200 or more ends it. Unknown ids are ignored. */
  tell(id: string, status: number): void;
  /** How a request sent under a label ended. */
  ended(label: string, status: number): void;
  dump(): readonly AskedTransfer[];
  /** The leg has ended: subscriptions outside the call get their last NOTIFY. */
  close(): void;
}

/** A REFER inside the call; quiet: without progress reports. */
type Accepted = { readonly id: string; readonly isQuiet: boolean };

type WithRequest = Extract<ReceivedRefersEvent<Accepted>, { request: Accepted }>;

/** The chart of the REFERs inside the call. It puts accepted ones among those that are pending. */
function createReceivedRefers({ from, watched }: AskedTransfersOptions, pending: Map<string, AskedTransfer>) {
  const subscribe = ({ id, isQuiet }: Accepted, event: string): void =>
    void pending.set(id, isQuiet ? { id } : { id, event });
  const isLater = from?.some(({ outside }) => outside === undefined);
  return new TableRun<keyof typeof receivedRefersTable, ReceivedRefersEvent<Accepted>, ReceivedRefersEffect>(
    receivedRefersTable,
    isLater ? 'received' : 'none',
    {
      subscribeFirst: ({ request }: WithRequest) => subscribe(request, 'refer'),
      subscribeById: ({ request }: WithRequest) => subscribe(request, `refer;id=${request.id}`),
    },
    watched,
  );
}

const LABEL = 'transfer:';

export function createAskedTransfers(options: AskedTransfersOptions): AskedTransfers {
  const { services, endpoint, send } = options;
  const { transferTimeoutMs, transfersPerCall } = services.config;
  const pending = new Map<string, AskedTransfer>();
  /** Senders of NOTIFYs outside the call. */
  const outside = new Map<string, TellSubscriber>();
  const seconds = Math.round(transferTimeoutMs / 1000);
  const refers = createReceivedRefers(options, pending);
  for (const transfer of options.from ?? []) {
    const told = transfer.outside === undefined ? undefined : services.outsideSubscriber(transfer.outside);
    if (told) outside.set(transfer.id, told);
    // A transfer whose dialog has ended continues without reports.
    pending.set(transfer.id, transfer.outside === undefined || told ? transfer : { id: transfer.id });
  }

  const notify = ({ id, event }: AskedTransfer, status: number): void => {
    if (event === undefined) return;
    const state = status < 200 ? `active;expires=${seconds}` : 'terminated;reason=noresource';
    const sendTo = outside.get(id) ?? send;
    sendTo(LABEL + id, about(event, state), `SIP/2.0 ${status} ${reasonPhrase(status)}\r\n`);
    if (status >= 200) outside.delete(id);
  };

  const tell = (id: string, status: number): void => {
    const transfer = pending.get(id);
    if (!transfer) return;
    if (status >= 200) pending.delete(id);
    notify(transfer, status);
  };

  return {
    tell,
    receiveRefer(request, transferor) {
      const wanted = readRefer(request);
      if ('status' in wanted) return refuse(services, endpoint, wanted);
      const refusal = refuseTransfer(services, endpoint, wanted);
      if (refusal) return refuse(services, endpoint, refusal);
      // A 481 would end the call (RFC 3261 12.2.1.2).
      if (!options.isUp()) return 603;
      if (pending.size >= transfersPerCall) {
        services.hit('sip.transfers.per_call');
        return 491;
      }
      // A dialog of its own has this one subscription; the call may have several (RFC 3515 2.4.6).
      const id = transferor ? `${request.callId}:${request.cseq.number}` : String(request.cseq.number);
      const isQuiet = request.header('Refer-Sub')?.trim().toLowerCase() === 'false';
      if (!transferor) refers.send({ type: 'refer.accepted', request: { id, isQuiet } });
      else if (isQuiet) pending.set(id, { id });
      else {
        pending.set(id, { id, event: 'refer', outside: transferor.key });
        outside.set(id, transferor.tell);
      }
      const transfer = pending.get(id) ?? { id };
      return {
        // RFC 4488 4: a request without subscription gets none, and the response says so.
        status: isQuiet ? 200 : 202,
        headers: isQuiet ? [['Refer-Sub', 'false']] : [],
        afterwards() {
          notify(transfer, 100);
          options.ask(requestOf(services, endpoint, { id, wanted, request }));
        },
      };
    },
    receiveSubscribe(request) {
      const event = request.header('Event') ?? '';
      const transfer = namedIn(
        event,
        [...pending.values()].filter(({ id }) => !outside.has(id)),
      );
      if (!/^refer\b/i.test(event.trim())) return 489;
      if (!transfer) return 481;
      const ends = request.expires === 0;
      if (ends) pending.set(transfer.id, { id: transfer.id });
      return {
        status: 200,
        headers: [['Expires', ends ? '0' : String(seconds)]],
        afterwards() {
          if (!ends) return notify(transfer, 100);
          const headers = about(transfer.event ?? 'refer', 'terminated;reason=timeout');
          send(LABEL + transfer.id, headers, 'SIP/2.0 100 Trying\r\n');
        },
      };
    },
    ended(label, status) {
      // After a refused NOTIFY no more are sent; the transfer continues.
      if (!label.startsWith(LABEL) || status < 300) return;
      const id = label.slice(LABEL.length);
      outside.delete(id);
      if (pending.has(id)) pending.set(id, { id });
    },
    dump: () => [...pending.values()],
    close() {
      for (const id of [...outside.keys()]) tell(id, 487);
      refers.send({ type: 'call.over' });
    },
  };
}

/** Headers of a NOTIFY. */
const about = (event: string, state: string): HeaderLines => [
  ['Event', event],
  ['Subscription-State', state],
];

/** The transfer whose progress an Event header names: the first of the call has no id (RFC 3515 2.4.6). */
function namedIn(event: string, transfers: readonly AskedTransfer[]): AskedTransfer | undefined {
  const id = /;\s*id=([^;\s]+)/i.exec(event)?.[1];
  return transfers.find((each) =>
    id === undefined ? each.event === 'refer' : each.id === id && each.event !== undefined,
  );
}

/** Contents of a REFER. */
type Wanted = { uri: SipUri | TelUri; replaces?: Replaces };
type Refused = { status: number; why: string };

/** Reads Refer-To (RFC 3515 2.1): there is one, an address to INVITE. */
function readRefer(request: SipRequest): Wanted | Refused {
  const lines = request.headerLines('Refer-To');
  const address = lines.length === 1 ? parseNameAddr(lines[0]!) : undefined;
  if (!address) return { status: 400, why: `${lines.length} Refer-To, or one that cannot be read` };
  const { uri } = address;
  if (uri.scheme === 'other') return { status: 603, why: 'a target that is no SIP address' };
  if (uri.scheme === 'tel') return { uri };
  const method = uri.params['method'];
  if (method !== undefined && method.toUpperCase() !== 'INVITE') return { status: 603, why: `a target to ${method}` };
  const named = Object.entries(uri.headers).filter(([name]) => name.toLowerCase() === 'replaces');
  if (named.length === 0) return { uri };
  const replaces = named.length === 1 ? parseReplaces(percentDecode(named[0]![1])) : undefined;
  return replaces ? { uri, replaces } : { status: 400, why: 'a Replaces that cannot be read' };
}

/** Why an endpoint may not transfer there: what bounds its calls bounds its transfers. */
function refuseTransfer(services: Services, endpoint: EndpointConfig, { uri, replaces }: Wanted): Refused | undefined {
  if (!endpoint.allowTransfer) return { status: 603, why: 'it may not transfer' };
  // A call that exists was allowed when it began.
  const extension = extensionOf(uri);
  if (replaces || mayCall(services, endpoint, extension)) return undefined;
  return { status: 403, why: `it may not transfer to ${extension}` };
}

function refuse({ stack }: Services, { name }: EndpointConfig, { status, why }: Refused): number {
  stack.log.info({ endpoint: name, status, why: printable(why) }, 'a transfer was refused');
  return status;
}

function requestOf(
  services: Services,
  endpoint: EndpointConfig,
  { id, wanted, request }: { id: string; wanted: Wanted; request: SipRequest },
): TransferRequest {
  const { uri, replaces } = wanted;
  const channelId = replaces && transferableChannel(services, endpoint, replaces);
  const referredBy = request.header('Referred-By');
  return {
    id,
    extension: extensionOf(uri),
    context: endpoint.context,
    target: formatUri(uri.scheme === 'tel' ? uri : { ...uri, headers: {} }),
    ...(referredBy !== undefined && { referredBy }),
    ...(replaces && {
      replaces: {
        protocolId: replaces.callId,
        localTag: replaces.toTag,
        remoteTag: replaces.fromTag,
        ...(channelId !== undefined && { channelId }),
      },
    }),
    handling: endpoint.transferHandling,
  };
}
