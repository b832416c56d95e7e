import { check, nearest, type Path, type Problem } from './check.ts';
import { endpoint } from './sip-settings.ts';

/** Endpoints that have most of their settings from templates (`sip.templates`), by `extends`. */

type Group = Readonly<Record<string, unknown>>;

const isGroup = (value: unknown): value is Group =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The names behind `extends`, written as a list or with commas between them; what else stands there is for the checks. */
function namesOf({ extends: names }: Group): string[] {
  const list = typeof names === 'string' ? names.split(',') : Array.isArray(names) ? names : [];
  return list.flatMap((name) => (typeof name === 'string' && name.trim() !== '' ? [name.trim()] : []));
}

/** Groups are merged setting by setting; everything else of the latter stands in place of the former. */
function merge(former: Group, latter: Group): Group {
  const merged: Record<string, unknown> = { ...former };
  for (const [key, value] of Object.entries(latter)) {
    const before = merged[key];
    // A key with nothing behind it means the same as no key.
    if (value !== null && value !== undefined)
      merged[key] = isGroup(before) && isGroup(value) ? merge(before, value) : value;
  }
  return merged;
}

/**
 * Merges templates into endpoints: later templates win over earlier ones, the endpoint's own settings over all.
 * Templates may extend others.
 * @param raw contents of the file; not changed.
 * @param problems gets missing, circular and wrong templates.
 * @returns the same with complete endpoints, and a test for inherited settings.
 */
export function applyTemplates(
  raw: Readonly<Record<string, unknown>>,
  problems: Problem[],
): { raw: Record<string, unknown>; isInherited(path: Path): boolean } {
  const sip = raw['sip'];
  const templates = isGroup(sip) && isGroup(sip['templates']) ? sip['templates'] : {};
  const endpoints = isGroup(sip) ? sip['endpoints'] : undefined;
  const at = (name: string): Path => ['sip', 'templates', name];

  /** Templates with what they extend; each is made once, however many extend it. */
  const known = new Map<string, Group>();
  const templateOf = (name: string, template: Group, trail: readonly string[]): Group => {
    const found = known.get(name) ?? whole(template, at(name), [...trail, name]);
    known.set(name, found);
    return found;
  };

  const whole = (own: Group, path: Path, trail: readonly string[]): Group => {
    let merged: Group = {};
    for (const name of namesOf(own)) {
      const template = Object.hasOwn(templates, name) ? templates[name] : undefined;
      if (trail.includes(name)) {
        const round = trail.slice(trail.indexOf(name));
        problems.push({
          path: [...at(name), 'extends'],
          message: `the template extends itself: ${[...round, name].join(' → ')}`,
        });
      } else if (!isGroup(template)) {
        const near = nearest(name, Object.keys(templates));
        const hint = near ? `; did you mean \`${near}\`?` : '';
        problems.push({
          path: [...path, 'extends'],
          message: `sip.templates has no template \`${name}\`${hint}`,
        });
      } else merged = merge(merged, templateOf(name, template, trail));
    }
    return merge(merged, own);
  };

  const before = problems.length;
  for (const [name, template] of Object.entries(templates)) {
    check(endpoint, template, problems, at(name));
    if (isGroup(template)) templateOf(name, template, []);
  }
  const areWrong = problems.length > before;
  if (!isGroup(endpoints)) return { raw: { ...raw }, isInherited: () => false };
  const made = Object.entries(endpoints).map(([name, each]) => [
    name,
    isGroup(each) && !areWrong ? whole(each, ['sip', 'endpoints', name], []) : each,
  ]);
  return {
    raw: { ...raw, sip: { ...(sip as Group), endpoints: Object.fromEntries(made) } },
    isInherited: ([first, second, ...path]) => {
      if (first !== 'sip' || second !== 'endpoints') return false;
      let value: unknown = endpoints;
      for (const key of path) value = (value as Group | undefined)?.[key];
      return value === undefined;
    },
  };
}
