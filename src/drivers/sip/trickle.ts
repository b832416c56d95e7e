import type { IceCredentials, RemoteCandidate } from '../../lib/webrtc.ts';
import { TableRun, type Watched } from '../../machines/table-run.ts';
import { type TrickleEffect, type TrickleEvent, trickleTable } from '../../machines/trickle.ts';
import type { UsageAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { candidatesOf, credentialsIn, endsCandidates } from '../../sip/sdp/ice-fragment.ts';
import type { CandidateBound } from '../../sip/sdp/webrtc.ts';
import type { EndpointConfig } from './config.ts';

/** The INFO package, and the option tag (RFC 8840 section 10). */
const name = 'trickle-ice';
const receives: HeaderLines = [['Recv-Info', name]];

/** What our INVITE and the responses to one say: candidates may come by INFO (RFC 8840 section 5). */
export const trickleHeaders = ({ webrtc }: Pick<EndpointConfig, 'webrtc'>): HeaderLines =>
  webrtc ? [['Supported', name], ...receives] : [];

/** The response to an INFO with candidates; undefined for others. @param trickle undefined: the call has no ICE. */
export function receiveTrickled(
  request: SipRequest,
  trickle: Pick<Trickle, 'take'> | undefined,
): UsageAnswer | undefined {
  if (!trickle || request.contentType !== 'application/trickle-ice-sdpfrag') return undefined;
  // RFC 6086 4.2.2.
  if (request.header('Info-Package')?.split(';', 1)[0]?.trim().toLowerCase() !== name)
    return { status: 469, headers: receives };
  return trickle.take(request.body.toString('latin1')) ? 200 : 400;
}

type Told = IceCredentials & { readonly candidates: readonly RemoteCandidate[] };

const isSame = (one: IceCredentials | undefined, other: IceCredentials): boolean =>
  one?.ufrag === other.ufrag && one.password === other.password;

/** Candidates that the far side of a call tells by INFO. Those of other credentials than the agreed ones change nothing. */
export class Trickle {
  readonly #run: TableRun<keyof typeof trickleTable, TrickleEvent<Told>, TrickleEffect>;
  readonly #bound: CandidateBound;
  #agreed: IceCredentials | undefined;
  #kept: Told | undefined;

  /** @param agreed credentials of the far side, where the call is restored. @param bound of those that are kept. */
  constructor(
    add: (candidates: readonly RemoteCandidate[]) => void,
    agreed: IceCredentials | undefined,
    bound: CandidateBound = (all) => all,
    watched?: Watched,
  ) {
    this.#agreed = agreed;
    this.#bound = bound;
    this.#run = new TableRun<keyof typeof trickleTable, TrickleEvent<Told>, TrickleEffect>(
      trickleTable,
      agreed ? 'open' : 'early',
      {
        keepCandidates: (event) => 'told' in event && this.#keep(event.told),
        addKept: () => this.#kept && isSame(this.#agreed, this.#kept) && add(this.#kept.candidates),
        addCandidates: (event) => 'told' in event && add(event.told.candidates),
      },
      watched,
    );
  }

  /** Takes a fragment of SDP. @returns false for one that cannot be read. */
  take(fragment: string): boolean {
    const credentials = credentialsIn(fragment);
    if (!credentials) return false;
    if (this.#agreed && !isSame(this.#agreed, credentials)) return true;
    this.#run.send({ type: 'candidates.came', told: { ...credentials, candidates: candidatesOf(fragment) } });
    if (endsCandidates(fragment)) this.#run.send({ type: 'candidates.ended' });
    return true;
  }

  /** Offer and answer are through. @param remote credentials of the far side. */
  agree(remote: IceCredentials): void {
    if (isSame(this.#agreed, remote)) return;
    this.#agreed = remote;
    this.#run.send({ type: 'ice.agreed' });
  }

  #keep(told: Told): void {
    const before = isSame(this.#kept, told) ? this.#kept!.candidates : [];
    this.#kept = { ...told, candidates: this.#bound([...before, ...told.candidates]) };
  }
}
