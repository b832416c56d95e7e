import { test as once } from 'uvu';
import { MediaEngine, type MediaEngineOptions } from '../../src/media/engine.ts';
import { newRing } from '../../src/media/pipe/ring.ts';
import { newWakeUp, numberOf, type WakeUps } from '../../src/media/pipe/wake-up.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import type { MixCommand, SessionCommand } from '../../src/telephony/media.ts';
import { noExternal } from './support.ts';

/** How many threads engines of tests stand for. */
let threads = 1;

export const threadCount = (): number => threads;

type Test = (title: string, run: () => Promise<void> | void) => void;

/** Registers a test twice: with all in one thread, and spread over three. Its engine comes of {@link openEngine}. */
export const test: Test & Pick<typeof once, 'run' | 'after'> = Object.assign(
  (title: string, run: () => Promise<void> | void) => {
    for (const count of [1, 3])
      once(count === 1 ? title : `${title} (over ${count} threads)`, async () => {
        threads = count;
        try {
          await run();
        } finally {
          threads = 1;
        }
      });
  },
  { run: () => once.run(), after: once.after },
);

type Asked = Pick<
  MediaEngine,
  | 'openRtp'
  | 'openLocal'
  | 'openSnoop'
  | 'openMix'
  | 'apply'
  | 'applyToMix'
  | 'forwarded'
  | 'statistics'
  | 'usage'
  | 'close'
>;

/** An engine, or several that stand for as many threads. `settle` lets these answer each other's wake-ups. */
export type TestEngine = Asked & { settle(): void };

export function openEngine(options: MediaEngineOptions): TestEngine {
  if (threads > 1) return new SpreadEngines(options, threads);
  return Object.assign(new MediaEngine(options), { settle: () => {} });
}

/** Numbers of what stands for sessions in other threads. */
const firstOther = 1000;

/** Several engines on one clock: session n lives in the one n modulo their number, and mixes likewise. */
class SpreadEngines implements TestEngine {
  readonly #engines: MediaEngine[];
  readonly #wakeUps: SharedArrayBuffer[];
  readonly #options: MediaEngineOptions;
  readonly #homes = new Map<number, number>();
  /** What each session is joined by: its mix, and what stands for it there. */
  readonly #pipes = new Map<number, { mix: number; other: number; pipe: number }>();
  readonly #woken = new Map<number, () => void>();
  readonly #rung = new Set<number>();
  #next = 0;

  constructor(options: MediaEngineOptions, count: number) {
    this.#options = options;
    const wakeUps: WakeUps = {
      ring: (wakeUp) => void this.#rung.add(numberOf(wakeUp)),
      watch: (wakeUp, woken) => void this.#woken.set(numberOf(wakeUp), woken),
    };
    this.#wakeUps = Array.from({ length: count }, (_, index) => newWakeUp(index));
    this.#engines = this.#wakeUps.map(
      (wakeUp, index) =>
        new MediaEngine({
          ...options,
          wakeUp,
          wakeUps,
          place: { at: index, of: count },
          report: (report) => this.#report(report),
        }),
    );
  }

  settle(): void {
    while (this.#rung.size > 0) {
      const rung = [...this.#rung];
      this.#rung.clear();
      for (const number of rung) this.#woken.get(number)?.();
    }
  }

  openRtp: MediaEngine['openRtp'] = (session, how) => this.#of(session).openRtp(session, how);

  openLocal(session: number, memory?: Parameters<MediaEngine['openLocal']>[1], peer?: number): void {
    if (peer !== undefined) this.#homes.set(session, this.#home(peer));
    this.#of(session).openLocal(session, memory, peer);
  }

  openSnoop: MediaEngine['openSnoop'] = (session, target, ...rest) => {
    this.#homes.set(session, this.#home(target));
    this.#of(session).openSnoop(session, target, ...rest);
  };

  openMix(mix: number, kind: 'mixing' | 'holding'): void {
    this.#ofMix(mix).openMix(mix, kind);
  }

  apply(command: SessionCommand & { session: number }): void {
    this.#of(command.session).apply(command);
    if (command.type === 'close') this.#leave(command.session);
  }

  applyToMix(mix: number, command: MixCommand): void {
    if (command.type === 'join') this.#join(mix, command);
    else if (command.type === 'leave') {
      const pipe = this.#pipes.get(command.session);
      if (pipe) this.#leave(command.session);
      else this.#ofMix(mix).applyToMix(mix, command);
    } else this.#ofMix(mix).applyToMix(mix, command);
    this.settle();
  }

  forwarded = (session: number): number => this.#of(session).forwarded(session);

  statistics: MediaEngine['statistics'] = (session) => this.#of(session).statistics(session);

  usage(): ReturnType<MediaEngine['usage']> {
    const sum = { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal };
    for (const engine of this.#engines)
      for (const [name, count] of Object.entries(engine.usage())) sum[name as keyof typeof sum] += count;
    return sum;
  }

  close(): void {
    for (const engine of this.#engines) engine.close();
  }

  #home(session: number): number {
    return this.#homes.get(session) ?? session % this.#engines.length;
  }

  #of(session: number): MediaEngine {
    return this.#engines[this.#home(session)]!;
  }

  #ofMix(mix: number): MediaEngine {
    return this.#engines[mix % this.#engines.length]!;
  }

  #join(mix: number, command: Extract<MixCommand, { type: 'join' }>): void {
    const { session } = command;
    const known = this.#pipes.get(session);
    if (known && known.mix !== mix) this.#leave(session);
    const [home, there] = [this.#home(session), mix % this.#engines.length];
    if (home === there) {
      this.#ofMix(mix).applyToMix(mix, command);
      return;
    }
    const { other } = this.#pipes.get(session) ?? this.#pipe(session, mix);
    this.#ofMix(mix).applyToMix(mix, { ...command, session: other });
  }

  #pipe(session: number, mix: number) {
    const [home, there] = [this.#home(session), mix % this.#engines.length];
    const [pipe, far] = [this.#next++, this.#next++];
    const other = firstOther * (pipe + 1) + session;
    const [up, down] = [newRing(16_384), newRing(16_384)];
    const plan = { outgoing: down, incoming: up, pipe: far, farWakeUp: this.#wakeUps[home]!, farPipe: pipe };
    this.#engines[there]!.openPipeEnd(other, plan);
    const back = { outgoing: up, incoming: down, pipe, farWakeUp: this.#wakeUps[there]!, farPipe: far };
    this.#engines[home]!.openPipe(session, back);
    const made = { mix, other, pipe };
    this.#pipes.set(session, made);
    return made;
  }

  #leave(session: number): void {
    const known = this.#pipes.get(session);
    if (!known) return;
    this.#pipes.delete(session);
    this.#ofMix(known.mix).apply({ type: 'close', session: known.other });
    this.#of(session).closePipe(session, known.pipe);
  }

  #report(report: EngineReport): void {
    if ('session' in report && report.session !== undefined && report.session >= firstOther)
      this.#options.report({ ...report, session: report.session % firstOther });
    else this.#options.report(report);
  }
}
