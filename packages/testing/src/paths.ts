import { systemClock } from '../../../src/lib/clock.ts';
import { createRandom } from '../../../src/virtual/random.ts';
import type { Disturbance } from './disturbances.ts';
import { toMs } from './duration.ts';
import { momentInWords, type SeenMoment } from './moments.ts';
import type { PathFinding, PathReport, PathsOptions } from './path-findings.ts';
import { reportInWords } from './path-report.ts';
import { Rig } from './path-run.ts';

type Path = { name: string; moment: SeenMoment; disturbance: Disturbance };

/** What differs: moments in the same states with the same command are one. */
function pathsOf(moments: readonly SeenMoment[]): Path[] {
  const found = new Map<string, Path>();
  for (const moment of moments)
    for (const disturbance of moment.disturbances) {
      const key = [disturbance.name, moment.states, moment.kind === 'command' && moment.name].join('|');
      const name = `${disturbance.name} ${momentInWords(moment)}`;
      if (!found.has(key)) found.set(key, { name, moment, disturbance });
    }
  return [...found.values()];
}

const isWanted = (name: string, only: string | RegExp): boolean =>
  typeof only === 'string' ? name === only : name.search(only) >= 0;

/** As many as `most`, by chance, in their order. */
function chosen<T>(all: readonly T[], most: number, seed: number): T[] {
  if (all.length <= most) return [...all];
  const random = createRandom(seed);
  const drawn = all.map((path, place) => ({ path, place, lot: random() })).sort((one, other) => one.lot - other.lot);
  return drawn
    .slice(0, most)
    .sort((one, other) => one.place - other.place)
    .map(({ path }) => path);
}

/**
 * Runs a normal call many times, and disturbs each run at another moment by something that the charts allow from
 * outside there: a party hangs up, is busy or never answers; a playback, a recording or a move fails; digits, hold, a transfer; a
 * bridge, the WebSocket or the media thread is lost; the server restarts. Then it looks whether the application has survived.
 * @throws what the first normal call throws, which nothing disturbs; TypeError for an unknown `only`.
 */
export async function paths(options: PathsOptions): Promise<PathReport> {
  const { most = 200, within = '2m', mostFindings = 20, seed = 1, only } = options;
  const until = systemClock.monotonic() + toMs(within);
  const runner = new PathRunner(options);
  try {
    const all = pathsOf(await runner.normal());
    const allowed = only === undefined ? all : all.filter(({ name }) => isWanted(name, only));
    if (only !== undefined && allowed.length === 0) throw new TypeError(`there is no path '${only}'`);
    const wanted = chosen(allowed, most, seed);
    for (const path of wanted) {
      if (systemClock.monotonic() > until || runner.findings.length >= mostFindings) break;
      await runner.run(path);
    }
    const { findings, seenOnce, missed, runs } = runner;
    const moments = new Set(all.map(({ moment }) => momentInWords(moment))).size;
    const report = { findings, seenOnce, runs, moments, leftOut: all.length - runs, missed };
    return { ...report, text: reportInWords(report) };
  } finally {
    await runner.close();
  }
}

/** Runs paths, one after the other on one server while nothing is wrong. */
class PathRunner {
  readonly findings: PathFinding[] = [];
  readonly seenOnce: PathFinding[] = [];
  readonly missed: string[] = [];
  runs = 0;
  readonly #options: PathsOptions;
  readonly #rests = new Set<string>();
  #rig: Rig | undefined;
  /** Disturbed calls of this server. */
  #calls = 0;

  constructor(options: PathsOptions) {
    this.#options = options;
  }

  async normal(): Promise<SeenMoment[]> {
    return (await this.#running()).normal(this.#rests);
  }

  async run(path: Path): Promise<void> {
    this.runs++;
    const after = this.#calls;
    const outcome = await this.#disturb(path);
    if (outcome === undefined) return;
    await this.close();
    if (outcome === 'missed') {
      this.missed.push(path.name);
      return;
    }
    // Is it this call alone?
    const alone = after > 0 ? await this.#disturb(path) : outcome;
    if (after > 0) await this.close();
    const isAlone = alone !== undefined && alone !== 'missed';
    add(isAlone ? this.findings : this.seenOnce, {
      ...(isAlone ? alone : outcome),
      path: path.name,
      disturbance: path.disturbance.name,
      cause: path.disturbance.kind,
      moment: momentInWords(path.moment),
      afterCalls: isAlone ? 0 : after,
      also: [],
    });
  }

  async close(): Promise<void> {
    await this.#rig?.close();
    this.#rig = undefined;
    this.#calls = 0;
  }

  async #disturb({ moment, disturbance }: Path) {
    const rig = await this.#running();
    this.#calls++;
    return rig.disturb(moment, disturbance, this.#rests);
  }

  async #running(): Promise<Rig> {
    this.#rig ??= await Rig.start(this.#options);
    return this.#rig;
  }
}

/** The same finding at a later moment is no other one. */
function add(findings: PathFinding[], finding: PathFinding): void {
  const same = findings.find(
    ({ kind, disturbance, stayed }) =>
      kind === finding.kind && disturbance === finding.disturbance && stayed.length === finding.stayed.length,
  );
  if (same) same.also.push(finding.moment);
  else findings.push(finding);
}
