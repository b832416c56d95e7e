import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';

/** As many signatures as one call has, each as long as so many characters; a call with more passes none on. */
const MOST_HEADERS = 8;
const LONGEST = 8_192;

/**
 * Signed identities of callers (Identity headers, RFC 8224) of inbound calls, by channel. They are neither verified nor
 * created here, but passed on unchanged with the call.
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

  /** The identity tokens of an outbound call for a channel; none if the channel has none. */
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
