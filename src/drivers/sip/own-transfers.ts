import { type OwnRefersEffect, type OwnRefersEvent, ownRefersTable } from '../../machines/own-refers.ts';
import { TableRun, type Watched } from '../../machines/table-run.ts';
import type { UsageAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { sipfragStatus } from './refer.ts';

/** Needs of a call to send REFERs to its far side. */
type OwnTransfersOptions = {
  /** Whether the far side was asked before, by another process. */
  readonly from: boolean;
  readonly watched: Watched;
  /** Sends a REFER inside the call. */
  send(headers: HeaderLines): void;
  /** It has called the target. */
  succeeded(): void;
};

/** Transfers that we request from the far side (RFC 3515), and its progress reports. */
export class OwnTransfers {
  readonly #run: TableRun<keyof typeof ownRefersTable, OwnRefersEvent, OwnRefersEffect>;

  constructor({ from, watched, send, succeeded }: OwnTransfersOptions) {
    const effects = {
      sendRefer: ({ uri }: Extract<OwnRefersEvent, { uri: string }>) => send([['Refer-To', `<${uri}>`]]),
      tellSucceeded: () => succeeded(),
    };
    this.#run = new TableRun(ownRefersTable, from ? 'sent' : 'none', effects, watched);
  }

  /** The call is over. */
  close(): void {
    this.#run.send({ type: 'call.over' });
  }

  /** The far side was asked at least once. */
  get asked(): boolean {
    return this.#run.state === 'sent';
  }

  /** Asks the far side to call a URI. */
  ask(uri: string): void {
    this.#run.send({ type: 'refer', uri });
  }

  /**
   * A NOTIFY inside the call. An unexpected one is refused without ending the call (RFC 6665 4.1.3, RFC 5057 5.1).
   * Otherwise its sender could hang up the call with it.
   */
  receive(request: SipRequest): UsageAnswer {
    const status = sipfragStatus(request);
    if (status === undefined) return 489;
    const type = status >= 200 && status < 300 ? 'notify.succeeded' : 'notify.progressed';
    return this.#run.send({ type }) ? 200 : 481;
  }
}
