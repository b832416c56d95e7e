import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';

/** As many signatures as one call has, each as long as so many characters; a call with more passes none on. */
const MOST_HEADERS = 8;
const LONGEST = 8_192;

/**
 * Signed identities of callers (the Identity headers of RFC 8224) of the calls that came in, by channel: they are neither
 * read nor made here, but go on with the call as they came.
 */
export class IdentityTokens {
  readonly #kept = new Map<string, HeaderLines>();

  /** Keeps those of a call until it is forgotten. */
  keep(channelId: string, invite: SipRequest): void {
    const values = invite.headerLines('Identity');
    if (values.length === 0 || values.length > MOST_HEADERS || values.some(({ length }) => length > LONGEST)) return;
    this.#kept.set(
      channelId,
      values.map((value) => ['Identity', value] as const),
    );
  }

  /** What a call goes out with that belongs to a channel; nothing where that brought none. */
  of(channelId: string | undefined): HeaderLines {
    return (channelId !== undefined && this.#kept.get(channelId)) || [];
  }

  forget(channelId: string): void {
    this.#kept.delete(channelId);
  }

  get size(): number {
    return this.#kept.size;
  }
}
