import type { MixCommand } from '../../telephony/media.ts';
import type { VideoModeName } from '../../telephony/video.ts';

type Asked = { mode: VideoModeName; source: string | undefined };

/**
 * The lasting state of a mix's video on the main thread: the sources of its members. Members get new numbers when
 * threads are lost, and may be named before they join. So the state is sent again whenever that changes. Sessions are
 * named by id.
 */
export class MixVideo {
  readonly #send: (command: MixCommand) => void;
  readonly #numberOf: (session: string) => number | undefined;
  #asked: Asked = { mode: 'none', source: undefined };
  readonly #shows = new Map<string, readonly (string | undefined)[]>();

  /** @param numberOf a member's number in the mix's thread; undefined if it is no member. */
  constructor(send: (command: MixCommand) => void, numberOf: (session: string) => number | undefined) {
    this.#send = send;
    this.#numberOf = numberOf;
  }

  /** See {@link VideoMix.video}. */
  ask(asked: Asked): void {
    this.#asked = asked;
    this.#sendMode();
  }

  /** See {@link VideoMix.show}. */
  show(session: string, sources: readonly (string | undefined)[]): void {
    this.#shows.set(session, sources);
    this.#sendShow(session, sources);
  }

  /** A member has joined under a new number. */
  admitted(member: string): void {
    if (this.#asked.source === member) this.#sendMode();
    for (const [session, sources] of this.#shows)
      if (session === member || sources.includes(member)) this.#sendShow(session, sources);
  }

  /** A member has left: drops the state of its view. */
  left(session: string): void {
    this.#shows.delete(session);
  }

  /** The mix lives elsewhere. `moving` is done meanwhile: members that leave by it are shown the same when they come again. */
  moved(moving: () => void): void {
    const shows = [...this.#shows];
    moving();
    for (const [session, sources] of shows) this.#shows.set(session, sources);
    this.again();
  }

  /** Says all that holds. */
  again(): void {
    if (this.#asked.mode !== 'none') this.#sendMode();
    for (const [session, sources] of this.#shows) this.#sendShow(session, sources);
  }

  #sendMode(): void {
    const { mode, source } = this.#asked;
    const number = source === undefined ? undefined : this.#numberOf(source);
    this.#send({ type: 'video', mode, ...(number !== undefined && { source: number }) });
  }

  #sendShow(member: string, sources: readonly (string | undefined)[]): void {
    const session = this.#numberOf(member);
    if (session === undefined) return;
    this.#send({
      type: 'show',
      session,
      sources: sources.map((source) => (source === undefined ? undefined : this.#numberOf(source))),
    });
  }
}
