import type { Clock } from '../lib/clock.ts';
import { type History, type HistoryFigure, historyFigures } from '../models/alarm.ts';

/** Figures as they are now: counts since the start, and what is held now. */
export type PresentFigures = Readonly<Record<HistoryFigure, number>>;

/** Those that are held; the others count since the start. */
const held: ReadonlySet<HistoryFigure> = new Set(['live_calls', 'loop_delay_ms', 'memory_mb']);
const names = Object.keys(historyFigures) as HistoryFigure[];
const minuteMs = 60_000;

/** Figures of each minute since the start, in a ring of fixed size. */
export interface FigureHistory {
  /** All full minutes. */
  all(): History;
  /** How much a count grew in the last minutes, as of the last look at the figures. */
  grew(name: HistoryFigure, minutes: number): number;
  /** The lowest value of the last full minutes; 0 if there are not as many yet. */
  lowest(name: HistoryFigure, minutes: number): number;
  /** Looks at the figures now. Never rejects. */
  look(): Promise<void>;
  close(): void;
}

type FigureHistoryOptions = {
  clock: Clock;
  /** Hours that are kept; 0: none, and no timer runs. */
  hours: number;
  /** @param isMinute a minute ends: the event loop's delay is read only then, since reading it begins it anew. */
  read(isMinute: boolean): Promise<PresentFigures>;
};

/** Takes the figures of each minute, until it is closed. Memory: 44 octets a minute. */
export function createFigureHistory({ clock, hours, read }: FigureHistoryOptions): FigureHistory {
  const size = Math.max(1, Math.round(hours * 60));
  const rings = Object.fromEntries(names.map((name) => [name, new Float32Array(size)])) as Record<
    HistoryFigure,
    Float32Array
  >;
  /** Minutes that were taken, and when the last one was. */
  let taken = 0;
  let takenAt = clock.now();
  /** At the end of the last minute. */
  let before: PresentFigures | undefined;
  let now: PresentFigures | undefined;
  let timer: unknown;
  let isClosed = false;

  const valueIn = (name: HistoryFigure, figures: PresentFigures): number =>
    held.has(name) ? figures[name] : figures[name] - (before?.[name] ?? 0);

  const look = async (isMinute = false): Promise<void> => {
    try {
      now = await read(isMinute);
    } catch {
      // A media thread that does not answer is told of elsewhere: the figures stay as they were.
    }
  };

  const take = async (): Promise<void> => {
    await look(true);
    if (isClosed) return;
    if (now) {
      for (const name of names) rings[name][taken % size] = valueIn(name, now);
      taken++;
      before = now;
    }
    takenAt = clock.now();
    wait();
  };

  const wait = (): void => {
    timer = clock.setTimeout(() => void take(), minuteMs);
  };
  if (hours > 0) wait();

  /** The values of the last full minutes, newest first. */
  const last = (name: HistoryFigure, minutes: number): number[] =>
    Array.from({ length: Math.min(minutes, taken, size) }, (_, back) => rings[name][(taken - 1 - back) % size] ?? 0);

  return {
    look: () => look(),
    grew(name, minutes) {
      if (hours === 0) return 0;
      const present = now && now !== before ? valueIn(name, now) : 0;
      return last(name, minutes).reduce((sum, value) => sum + value, present);
    },
    lowest(name, minutes) {
      const values = last(name, minutes);
      return values.length < minutes ? 0 : Math.min(...values);
    },
    all() {
      const count = Math.min(taken, size);
      const values = (name: HistoryFigure): number[] =>
        Array.from(
          { length: count },
          (_, place) => Math.round((rings[name][(taken - count + place) % size] ?? 0) * 10) / 10,
        );
      return {
        interval_s: minuteMs / 1000,
        from: takenAt - Math.max(0, count - 1) * minuteMs,
        ...(Object.fromEntries(names.map((name) => [name, values(name)])) as Record<HistoryFigure, number[]>),
      };
    },
    close() {
      isClosed = true;
      clock.clearTimeout(timer);
    },
  };
}
