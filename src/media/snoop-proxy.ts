import type { AudioDirection } from '../telephony/media.ts';
import { SessionProxy, type SessionProxyOptions } from './session-proxy.ts';

/** The main thread's side of a session that listens to another. */
export class SnoopProxy extends SessionProxy {
  readonly #target: SessionProxy;
  readonly #directions: { spy: AudioDirection; whisper: AudioDirection };

  constructor(
    options: SessionProxyOptions,
    target: SessionProxy,
    directions: { spy: AudioDirection; whisper: AudioDirection },
  ) {
    super(options);
    this.#target = target;
    this.#directions = directions;
    if (target.audible() === undefined) return;
    this.link = target.thread;
    this.place = this.link?.add(this);
    this.open();
  }

  override audible(): number | undefined {
    return this.ended ? undefined : this.place?.session;
  }

  protected override open(): void {
    const target = this.#target.audible();
    if (!this.place || target === undefined) return;
    const { session, slot } = this.place;
    this.link?.send({ type: 'openSnoop', session, slot, target, ...this.#directions });
  }
}
