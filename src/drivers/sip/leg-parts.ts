import type { DialogRequestOptions } from '../../sip/dialog/dialog.ts';
import type { Timers } from '../../sip/dialog/stack.ts';
import type { UsageAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { hasBody } from '../../sip/message/session-body.ts';
import { Cause } from '../../telephony/causes.ts';
import type { LegReport } from '../../telephony/driver.ts';
import { type AskedTransfers, createAskedTransfers } from './asked-transfers.ts';
import { InfoDigits, isFlash, parseInfoDigit, unknownInfo } from './info-digits.ts';
import type { LegCoreData, LegCoreOptions } from './leg-data.ts';
import type { Negotiation } from './negotiation.ts';
import { OwnTransfers } from './own-transfers.ts';
import { PictureUpdates } from './picture-updates.ts';
import { receiveTrickled } from './trickle.ts';

/** What its parts need of a leg. */
interface LegOfParts {
  readonly isUp: boolean;
  readonly video: { askKeyFrame(): void } | undefined;
  tell(report: LegReport): void;
  pressed(digit: string, durationMs: number): void;
  gone(cause: number): void;
  request(label: string, method: string, content: DialogRequestOptions): boolean;
}

/** Parts of a leg that most calls do not need: each is created by its first use. */
export class LegParts {
  readonly #leg: LegOfParts;
  readonly #options: LegCoreOptions;
  readonly #timers: Timers;
  #infos: InfoDigits | undefined;
  #pictures: PictureUpdates | undefined;
  #transfers: AskedTransfers | undefined;
  #ownTransfers: OwnTransfers | undefined;

  constructor(leg: LegOfParts, options: LegCoreOptions, timers: Timers) {
    this.#leg = leg;
    this.#options = options;
    this.#timers = timers;
  }

  /** Digits to the far side as INFO requests. */
  get infos(): InfoDigits {
    return (this.#infos ??= new InfoDigits(this.#timers, this.#options.services.stack.clock, (body) =>
      this.#leg.request('digit', 'INFO', { contentType: 'application/dtmf-relay', body }),
    ));
  }

  /** Takes an INFO: a digit, a request for a picture, or candidates of ICE. */
  receiveInfo(request: SipRequest, trickle: Negotiation['trickle']): UsageAnswer {
    const pressed = parseInfoDigit(request);
    if (pressed) this.#leg.pressed(pressed.digit, pressed.durationMs);
    // RFC 6086 4.2.2: an INFO without a body only asks whether we are there.
    if (pressed || !hasBody(request) || isFlash(request)) return 200;
    return this.pictures.receive(request) ?? receiveTrickled(request, trickle) ?? unknownInfo;
  }

  /** Key frames that either side asks for by INFO. */
  get pictures(): PictureUpdates {
    const { stack, config } = this.#options.services;
    return (this.#pictures ??= new PictureUpdates({
      ...{ clock: stack.clock, watched: this.#watched },
      intervalMs: config.video.keyFrameIntervalMs,
      send: (info) => this.#leg.isUp && this.#leg.request(PictureUpdates.label, 'INFO', info),
      show: () => this.#leg.video?.askKeyFrame(),
    }));
  }

  /** Transfers that the far side asks for. */
  get transfers(): AskedTransfers {
    return (this.#transfers ??= this.#createTransfers());
  }

  /** Transfers that we ask the far side for. */
  get ownTransfers(): OwnTransfers {
    return (this.#ownTransfers ??= this.#createOwnTransfers(false));
  }

  /** Goes on with the parts of another process. */
  restore({ transfers, referred, infos }: LegCoreData): void {
    if (transfers) this.#transfers = this.#createTransfers(transfers);
    if (referred) this.#ownTransfers = this.#createOwnTransfers(referred);
    if (infos.length > 0) this.infos.send(infos);
  }

  /** Tells the far side how the transfer goes that it asked for. */
  tellTransfer(id: string, status: number): void {
    this.#transfers?.tell(id, status);
  }

  /** How a request of theirs ended. */
  ended(label: string, status: number): void {
    this.#transfers?.ended(label, status);
    this.#pictures?.ended(label, status);
  }

  dump(): Pick<LegCoreData, 'infos' | 'referred' | 'transfers'> {
    const transfers = this.#transfers?.dump() ?? [];
    return {
      infos: this.#infos?.waiting ?? [],
      ...(this.#ownTransfers?.asked && { referred: true }),
      ...(transfers.length > 0 && { transfers }),
    };
  }

  /** The leg has ended. */
  close(): void {
    for (const part of [this.#transfers, this.#ownTransfers, this.#pictures]) part?.close();
  }

  get #watched() {
    const { services, channelId } = this.#options;
    return { watch: services.tables, id: channelId, lazily: true } as const;
  }

  #createTransfers(from?: LegCoreData['transfers']): AskedTransfers {
    const { services, endpoint } = this.#options;
    return createAskedTransfers({
      ...{ services, endpoint, from, watched: this.#watched },
      isUp: () => this.#leg.isUp,
      send: (label, headers, body) =>
        void this.#leg.request(label, 'NOTIFY', { headers, contentType: 'message/sipfrag;version=2.0', body }),
      ask: (transfer) => this.#leg.tell({ type: 'leg.transferAsked', transfer }),
    });
  }

  #createOwnTransfers(from: boolean): OwnTransfers {
    return new OwnTransfers({
      ...{ from, watched: this.#watched },
      send: (headers) => void this.#leg.request('refer', 'REFER', { headers }),
      succeeded: () => this.#leg.gone(Cause.normalClearing),
    });
  }
}
