import type { MixCommand } from '../../telephony/media.ts';
import type { VideoModeName } from '../../telephony/video.ts';
import type { VideoConfig } from '../config.ts';
import type { EngineReport } from '../protocol.ts';
import type { VideoMember } from './camera.ts';
import { Talker } from './talker.ts';

type ForwarderOptions = {
  /** Number of its mix. */
  mix: number;
  config: VideoConfig;
  /** A session's video, if it has any. */
  memberOf: (session: number) => VideoMember | undefined;
  report: (report: EngineReport) => void;
};

/** Assigns video sources to a mix's members. It repeats its decision each tick; an unchanged one costs a comparison. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #talker: Talker;
  /** In the order they came. */
  readonly #sessions = new Set<number>();
  readonly #shows = new Map<number, readonly (number | undefined)[]>();
  #mode: VideoModeName = 'none';
  /** The one source of all, and since when it is. */
  #source: { session: number | undefined; since: number } | undefined;
  /** Last reported source of all members. */
  #told: number | undefined;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const { talkerAfterMs: afterMs, talkerHoldMs: holdMs } = options.config;
    this.#talker = new Talker({ afterMs, holdMs });
  }

  join(session: number): void {
    this.#sessions.add(session);
  }

  leave(session: number): void {
    if (!this.#sessions.delete(session)) return;
    this.#shows.delete(session);
    this.#options.memberOf(session)?.showNoneFrom(0);
    const camera = this.#options.memberOf(session)?.camera;
    if (camera) for (const other of this.#sessions) this.#options.memberOf(other)?.hide(camera);
  }

  /** @param now monotonic ms. */
  apply(command: Extract<MixCommand, { type: 'video' | 'show' }>, now: number): void {
    if (command.type === 'show') {
      if (!this.#sessions.has(command.session)) return;
      this.#shows.set(command.session, command.sources);
      if (this.#mode === 'sfu') this.#showAll();
      return;
    }
    this.#mode = command.mode;
    this.#hideOthers();
    this.#source = command.mode === 'single' ? { session: command.source, since: now } : undefined;
    // The caller that asked for it knows it.
    this.#told = command.mode === 'single' ? command.source : undefined;
  }

  /** To be called once a tick. @param speaker the active speaker. @param now monotonic ms. */
  tick(speaker: number | undefined, now: number): void {
    switch (this.#mode) {
      case 'none':
        return;
      case 'sfu':
        this.#showAll();
        return;
      default:
        this.#showOne(speaker, now);
    }
  }

  #showAll(): void {
    const { memberOf } = this.#options;
    for (const [session, sources] of this.#shows) {
      const member = memberOf(session);
      if (!member) continue;
      for (const [stream, source] of sources.entries()) {
        const isHere = source !== undefined && this.#sessions.has(source);
        member.show(stream, isHere ? memberOf(source)?.camera : undefined);
      }
      member.showNoneFrom(sources.length);
    }
  }

  #showOne(speaker: number | undefined, now: number): void {
    const { memberOf, mix, report } = this.#options;
    const live: number[] = [];
    for (const session of this.#sessions) if (memberOf(session)?.camera?.live) live.push(session);
    this.#talker.decide(speaker, live, now);
    const asked = this.#asked(live, now);
    const all = asked ?? this.#talker.current;
    for (const session of this.#sessions) {
      const shown = asked ?? this.#talker.shownTo(session, live);
      memberOf(session)?.show(0, shown === undefined ? undefined : memberOf(shown)?.camera);
    }
    if (all === this.#told) return;
    this.#told = all;
    report({ type: 'videoSource', mix, session: all });
  }

  /** The one source of all, unless it is lost; one that was just asked for may still begin to send. */
  #asked(live: readonly number[], now: number): number | undefined {
    const { session, since = 0 } = this.#source ?? {};
    if (session === undefined || !this.#sessions.has(session)) return undefined;
    return live.includes(session) || now - since < this.#options.config.sourceTimeoutMs ? session : undefined;
  }

  /** Ends what the mode does not show; what may go on is shown until another camera is there. */
  #hideOthers(): void {
    const { memberOf } = this.#options;
    for (const session of this.#sessions) {
      const kept = { none: 0, single: 1, talker: 1, sfu: this.#shows.get(session)?.length ?? 0 }[this.#mode];
      memberOf(session)?.showNoneFrom(kept);
    }
  }
}
