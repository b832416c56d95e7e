import type { LimitHit } from '../../lib/limit-counts.ts';
import type { OfferAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { SipConfig } from './config.ts';
import type { Negotiation, NegotiationData } from './negotiation.ts';

/** The early dialogs of a call that have described their audio: plain data. */
export type EarlyMediaData = {
  /** The branch whose audio is heard; undefined without one. */
  readonly heard?: string;
  /** In the order of their first descriptions. */
  readonly branches: readonly { readonly branch: string; readonly negotiation: NegotiationData }[];
};

type Bounds = { readonly config: Pick<SipConfig, 'mostBranches'>; hit: LimitHit };

/**
 * Early media of a call with several branches, each of which answers the same offer. The first branch with audio is
 * heard until it ends (RFC 6228), then the next. The answering branch is heard in any case.
 */
export class EarlyMedia {
  readonly #offered: Negotiation;
  readonly #services: Bounds;
  readonly #branches = new Map<string, Negotiation>();
  #heard: string | undefined;

  /**
   * @param offered the negotiation that made the offer.
   * @param services with how many early dialogs are kept; those beyond are heard when they answer the call.
   */
  constructor(offered: Negotiation, services: Bounds, data?: EarlyMediaData) {
    this.#offered = offered;
    this.#services = services;
    this.#heard = data?.heard;
    for (const { branch, negotiation } of data?.branches ?? [])
      this.#branches.set(branch, offered.fork(branch !== this.#heard, negotiation));
  }

  /** Takes the description that a branch answers our offer with; false when it makes no sense. */
  accept(branch: string, sdp: string): boolean {
    const known = this.#branches.get(branch);
    if (known) return known.accept(sdp);
    const { config, hit } = this.#services;
    if (this.#branches.size >= config.mostBranches) {
      hit('sip.most_branches');
      return false;
    }
    const fork = this.#offered.fork(true);
    if (!fork.accept(sdp)) return false;
    this.#branches.set(branch, fork);
    this.#hearSomebody();
    return true;
  }

  /** Our answer to a new offer of a branch (RFC 3311), or why there is none. */
  answer(branch: string, sdp: string): OfferAnswer {
    return this.#branches.get(branch)?.answer(sdp);
  }

  /** A branch is over. */
  end(branch: string): void {
    this.#branches.delete(branch);
    if (this.#heard !== branch) return;
    this.#heard = undefined;
    this.#hearSomebody();
  }

  /**
   * The negotiation of the branch that answered. If it never sent SDP, that of the branch that is heard; undefined without.
   */
  winner(branch: string): Negotiation | undefined {
    const negotiation = this.#branches.get(branch) ?? this.#branches.get(this.#heard ?? '');
    if (negotiation !== this.#branches.get(this.#heard ?? '')) negotiation?.speakUp();
    return negotiation;
  }

  dump(): EarlyMediaData {
    return {
      ...(this.#heard !== undefined && { heard: this.#heard }),
      branches: [...this.#branches].map(([branch, negotiation]) => ({ branch, negotiation: negotiation.dump() })),
    };
  }

  #hearSomebody(): void {
    const [first] = this.#branches;
    if (this.#heard !== undefined || !first) return;
    this.#heard = first[0];
    first[1].speakUp();
  }
}
