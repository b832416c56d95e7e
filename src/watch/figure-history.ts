import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type History, type HistoryFigure, historyFigures } from '../models/alarm.ts';
import { openJsonFile } from '../stores/json-file.ts';

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
  /** Takes no more, and stores what was not stored yet. */
  close(): Promise<void>;
}

type FigureHistoryOptions = {
  clock: Clock;
  /** Hours that are kept; 0: none, and no timer runs. */
  hours: number;
  /** @param isMinute a minute ends: the event loop's delay is read only then, since reading it resets it. */
  read(isMinute: boolean): Promise<PresentFigures>;
  /** Where the minutes are kept over a restart, in `history.json`; left out: nowhere. */
  kept?: { directory: string; log: Logger };
};

/** Minutes between two writings: so many are lost when the process is killed. */
const storedEvery = 5;

/** The values of one figure, as they are stored: those of the last minutes, oldest first. */
type KeptSeries = { name: HistoryFigure; until: number; values: number[] };

/** @throws Error when it is none. */
function readSeries(element: unknown): KeptSeries {
  const { name, until, values } = element as { name?: unknown; until?: unknown; values?: unknown };
  const numbers = typeof values === 'string' && values !== '' ? values.split(' ').map(Number) : [];
  if (
    typeof until !== 'number' ||
    !names.includes(name as HistoryFigure) ||
    numbers.some((each) => !Number.isFinite(each))
  )
    throw new Error('no history of figures');
  return { name: name as HistoryFigure, until, values: numbers };
}

type Rings = Readonly<Record<HistoryFigure, Float32Array>>;

/** Fills rings with the minutes that are stored; those without a server since then are 0. @returns how many there are. */
function refill(rings: Rings, series: readonly KeptSeries[], now: number): number {
  const size = rings.live_calls.length;
  const until = Math.max(...series.map((each) => each.until));
  const away = Math.max(0, Math.round((now - until) / minuteMs));
  const most = Math.min(size, Math.max(0, ...series.map(({ values }) => values.length)));
  if (most === 0 || away >= size) return 0;
  for (const { name, values } of series)
    for (const [back, value] of values.toReversed().slice(0, most).entries()) rings[name][most - 1 - back] = value;
  for (let minute = 0; minute < away; minute++) for (const name of names) rings[name][(most + minute) % size] = 0;
  return most + away;
}

/** Takes the figures of each minute, until it is closed. Memory: 44 octets a minute. */
export function createFigureHistory({ clock, hours, read, kept }: FigureHistoryOptions): FigureHistory {
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
      // A media thread that does not answer is reported elsewhere. The figures stay as they were.
    }
  };

  /** The values of a figure, oldest first. */
  const valuesOf = (name: HistoryFigure): number[] => {
    const count = Math.min(taken, size);
    return Array.from(
      { length: count },
      (_, place) => Math.round((rings[name][(taken - count + place) % size] ?? 0) * 10) / 10,
    );
  };
  const stored =
    kept && hours > 0
      ? openJsonFile<KeptSeries>({
          ...{ ...kept, name: 'history.json', clock, read: readSeries },
          write: () => names.map((name) => ({ name, until: takenAt, values: valuesOf(name).join(' ') })),
        })
      : undefined;

  taken = refill(rings, stored?.elements ?? [], clock.now());

  const take = async (): Promise<void> => {
    await look(true);
    if (isClosed) return;
    if (now) {
      for (const name of names) rings[name][taken % size] = valueIn(name, now);
      taken++;
      before = now;
    }
    takenAt = clock.now();
    if (taken % storedEvery === 0) stored?.file.keepSoon();
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
      return {
        interval_s: minuteMs / 1000,
        from: takenAt - Math.max(0, count - 1) * minuteMs,
        ...(Object.fromEntries(names.map((name) => [name, valuesOf(name)])) as Record<HistoryFigure, number[]>),
      };
    },
    async close() {
      isClosed = true;
      clock.clearTimeout(timer);
      if (taken > 0) stored?.file.keepSoon();
      await stored?.file.close();
    },
  };
}
