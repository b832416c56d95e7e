import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';

/** A part of the system that follows the configuration while it runs. */
export type Reloadable = {
  /** The settings it follows, e.g. `http.users`; those below them as well. */
  settings: readonly string[];
  /**
   * Applies settings without disturbing calls.
   * @returns a promise if that takes time.
   * @throws Error (or rejects) with the reason; then all of its settings are unchanged.
   */
  apply(next: Config): void | Promise<void>;
};

/** Changed settings that could not be applied: they are unchanged. */
export type RefusedChange = { readonly settings: readonly string[]; readonly reason: string };

/** Result of a reload: settings by path. */
export type ReloadReport = {
  /** Changed, and in force now. */
  applied: string[];
  /** Changed, and in force after a restart only. */
  needRestart: string[];
  /** Changed, and not in force for a reason that a restart would not mend either; left out where there are none. */
  refused?: RefusedChange[];
  /**
   * Resolves, if some of `applied` take time, with those that failed and are unchanged. Never rejects; left out if all
   * is decided.
   */
  later?: Promise<RefusedChange[]>;
};

type Tree = { readonly [key: string]: unknown };

const isGroup = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The paths of the settings that differ; of what is named or listed (endpoints, users) the whole, see `settings`. */
function changesBetween(before: unknown, after: unknown, path: string, depth: number): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (depth === 0 || !isGroup(before) || !isGroup(after)) return [path];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changesBetween(before[key], after[key], path === '' ? key : `${path}.${key}`, depth - 1),
  );
}

/** How many keys deep a setting is named: `http.limits.body`, `sip.endpoints.alice`. */
const depthOfNames = 3;

/**
 * Makes a function that applies a configuration and lists settings that need a restart. A part that refuses does not
 * affect others.
 * @param inForce holds the present configuration, also afterwards
 */
export function createReload(
  inForce: { config: Config },
  parts: readonly Reloadable[],
): (next: Config) => ReloadReport {
  const follows = ({ settings }: Reloadable, change: string): boolean =>
    settings.some((path) => change === path || change.startsWith(`${path}.`));
  return (next) => {
    const { generated_password: _was, ...was } = inForce.config;
    const { generated_password: _is, ...wanted } = next;
    const changes = changesBetween(was, wanted, '', depthOfNames);
    const refused: RefusedChange[] = [];
    const waiting: Promise<RefusedChange | undefined>[] = [];
    for (const part of parts) {
      const settings = changes.filter((path) => follows(part, path));
      if (settings.length === 0) continue;
      const refusal = (error: unknown): RefusedChange => ({ settings, reason: reasonIn(error) });
      try {
        const taken = part.apply(next);
        if (taken) waiting.push(taken.then(() => undefined, refusal));
      } catch (error) {
        refused.push(refusal(error));
      }
    }
    const isFollowed = (path: string): boolean => parts.some((part) => follows(part, path));
    const isRefused = (path: string): boolean => refused.some(({ settings }) => settings.includes(path));
    const report = {
      applied: changes.filter((path) => isFollowed(path) && !isRefused(path)),
      needRestart: changes.filter((path) => !isFollowed(path)),
      ...(refused.length > 0 && { refused }),
    };
    const before = inForce.config;
    inForce.config = withChanges(inForce.config, next, report.applied);
    if (waiting.length === 0) return report;
    const after = inForce.config;
    const later = Promise.all(waiting).then((outcomes) => {
      const late = outcomes.filter((outcome) => outcome !== undefined);
      // A later configuration has asked these parts again.
      if (inForce.config === after)
        inForce.config = withChanges(
          after,
          before,
          late.flatMap(({ settings }) => settings),
        );
      return late;
    });
    return { ...report, later };
  };
}

const reasonIn = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Adds a setting whose file counts from the start on, where another file is there now.
 * @param isOther throws where the next start could not use that file.
 */
export function withFile(report: ReloadReport, setting: string, isOther: () => boolean): ReloadReport {
  const needRestart = report.needRestart.filter((path) => path !== setting);
  try {
    return isOther() ? { ...report, needRestart: [...needRestart, setting] } : report;
  } catch (error) {
    const refused = [...(report.refused ?? []), { settings: [setting], reason: reasonIn(error) }];
    return { ...report, needRestart, refused };
  }
}

/**
 * The configuration in force: refused settings, and those that need a restart, stay as they were and are listed again
 * next time.
 */
function withChanges(current: Config, next: Config, applied: readonly string[]): Config {
  const result = structuredClone(current);
  for (const path of applied) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let into = result as unknown as Record<string, unknown>;
    let from = next as unknown as Tree;
    for (const key of keys) {
      into = into[key] as Record<string, unknown>;
      from = from[key] as Tree;
    }
    if (Object.hasOwn(from, last)) into[last] = from[last];
    else delete into[last];
  }
  return result;
}
