import { applications } from '../../../src/dialplan/applications.ts';
import { functionNames } from '../../../src/dialplan/functions.ts';
import { parseStep, validate } from '../../../src/dialplan/parse.ts';
import { isPattern, parsePattern, withoutDashes } from '../../../src/dialplan/patterns.ts';
import { translateHint } from './hints.ts';
import type { Part } from './part.ts';
import type { Report } from './report.ts';
import type { Entry, Place, Section } from './source.ts';
import { translate } from './steps.ts';

/** `extensions.conf`: contexts, extensions and patterns, includes, labels, steps. */

type Step = { app: string; label?: string; place: Place };
type Extension = { steps: Map<number, Step>; last: number };
type Context = {
  place: Place;
  /** `times`: only at these, as GotoIfTime has them. */
  include: { name: string; place: Place; times?: string }[];
  extensions: Map<string, Extension>;
  /** The devices that BLF shows for extensions. */
  hints: Map<string, { devices: string; place: Place }>;
};

const emptyContext = (place: Place): Context => ({ place, include: [], extensions: new Map(), hints: new Map() });

/** A step as it stands in the output. */
type Written = string | { label: string; app: string };

/** Highest priority that is read: what lies between is filled. */
const highestPriority = 2_000;

/** Sections that are no contexts. */
const special = new Set(['general', 'globals']);

/** Translates `extensions.conf`. @param contextsNeeded contexts that phones name. */
export function importExtensions(
  sections: readonly Section[],
  contextsNeeded: readonly string[],
  report: Report,
): Part {
  const globals = new Map<string, string>();
  for (const { name, entries } of sections)
    if (name === 'globals') for (const { key, value } of entries) globals.set(key, value);
  report.took('global variables, inserted where they are read', globals.size);
  const contexts = new Map<string, Context>();
  for (const section of sections) if (!special.has(section.name)) readContext(section, contexts, report);
  for (const name of contextsNeeded)
    if (!contexts.has(name)) {
      contexts.set(name, emptyContext('pjsip.conf'));
      report.approximated('extensions.conf', `the context ${name} of the phones does not exist; an empty one was made`);
    }
  const written = constantsOf(sections, globals);
  const dialplan: Record<string, Record<string, unknown>> = {};
  for (const [name, context] of contexts)
    dialplan[name] = writeContext(context, contexts, { globals: written, report });
  cutCircles(dialplan, contexts, report);
  mend(dialplan, contexts, report);
  report.took('contexts', contexts.size);
  return { dialplan, notes: {} };
}

/** Global variables that nothing of the dialplan sets: only these are the same all the time. */
function constantsOf(sections: readonly Section[], globals: ReadonlyMap<string, string>): Map<string, string> {
  const set = new Set<string>();
  for (const { entries } of sections)
    for (const { value } of entries)
      for (const [, name = ''] of value.matchAll(/GLOBAL\((\w{1,100})\)\s?=/g)) set.add(name);
  return new Map([...globals].filter(([name]) => !set.has(name)));
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

function readContext(section: Section, contexts: Map<string, Context>, report: Report): void {
  const context = contexts.get(section.name) ?? emptyContext(section.place);
  contexts.set(section.name, context);
  let current: string | undefined;
  for (const entry of section.entries) {
    switch (entry.key.toLowerCase()) {
      case 'exten':
        current = readExten(entry, context, report);
        break;
      case 'same':
        if (current === undefined) report.missing(entry.place, '`same` follows no imported extension and is dropped');
        else readStep(`${current},${entry.value}`, entry.place, context, report);
        break;
      case 'include':
        readInclude(entry, context, report);
        break;
      case 'ignorepat':
        break;
      default:
        report.missing(entry.place, `${entry.key}: switches are not supported; dropped`);
    }
  }
}

function readInclude({ value, place }: Entry, context: Context, report: Report): void {
  const [name = '', ...times] = value.split(/[,|]/).map((each) => each.trim());
  if (times.every((each) => each === '' || each === '*')) context.include.push({ name, place });
  else if (times.length > 4 || times.some((each) => /[?,:()$]/.test(each.replace(/\d:\d/g, ''))))
    report.missing(place, `the include of ${name}: its times are invalid; dropped`);
  else context.include.push({ name, place, times: [...times, '*', '*', '*'].slice(0, 4).join(',') });
}

/** The name of the extension; undefined when it is left out with all that belongs to it. */
function readExten({ value, place }: Entry, context: Context, report: Report): string | undefined {
  const comma = value.indexOf(',');
  const name = (comma < 0 ? value : value.slice(0, comma)).trim().replace(/^"(.*)"$/, '$1');
  if (name.includes('/')) {
    report.missing(place, `extensions for one caller (${name}) are dropped; use GotoIf on CALLERID(num)`);
    return undefined;
  }
  const pattern = isPattern(name) ? parsePattern(name) : undefined;
  if (name === '' || typeof pattern === 'string') {
    report.missing(place, `the extension "${name}" is invalid and is dropped`);
    return undefined;
  }
  if (['T', 'e', 'o', 'a'].includes(name))
    report.missing(place, `the extension ${name} is kept, but no call enters it without a dialplan step`);
  readStep(`${name},${value.slice(comma + 1)}`, place, context, report);
  return name;
}

/** `name,priority(label),App(arguments)`. */
function readStep(text: string, place: Place, context: Context, report: Report): void {
  const [name = '', where = '', ...rest] = text.split(',');
  const open = where.indexOf('(');
  const number = open < 0 ? where : where.slice(0, open);
  const label = open < 0 ? undefined : where.slice(open + 1).replace(/\).*$/s, '');
  const app = rest.join(',');
  if (number.trim().toLowerCase() === 'hint') {
    context.hints.set(isPattern(name) ? name : withoutDashes(name), { devices: app, place });
    return;
  }
  const extension = context.extensions.get(withoutDashes(name)) ?? { steps: new Map<number, Step>(), last: 0 };
  const priority = priorityOf(number.trim(), extension.last);
  if (priority === undefined || app.trim() === '') {
    report.missing(place, 'an invalid step is dropped');
    return;
  }
  const key = isPattern(name) ? name : withoutDashes(name);
  const known = context.extensions.get(key) ?? extension;
  context.extensions.set(key, known);
  if (known.steps.has(priority)) {
    report.missing(place, 'the priority is used twice; the step is dropped');
    return;
  }
  known.steps.set(priority, { app: app.trim(), place, ...(label === undefined ? {} : { label: label.trim() }) });
  known.last = priority;
}

/** `n`, `n+2`, `s` (the same again) or a number; undefined for anything else. */
function priorityOf(text: string, last: number): number | undefined {
  const [, letter, plus] = /^([ns])(?:\+(\d{1,4}))?$/i.exec(text) ?? [];
  const base = letter === undefined ? 0 : letter.toLowerCase() === 'n' ? last + 1 : last;
  const priority = letter === undefined ? (/^\d{1,4}$/.test(text) ? Number(text) : 0) : base + Number(plus ?? 0);
  return priority >= 1 && priority <= highestPriority ? priority : undefined;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

type Translation = { globals: ReadonlyMap<string, string>; report: Report };

const names: ReadonlySet<string> = new Set(functionNames());
const known: ReadonlySet<string> = new Set(applications.map(({ name }) => name.toLowerCase()));

/** Extensions whose names mean something else in a context of ours, as patterns that stand for the same. */
const reserved: Readonly<Record<string, string>> = { include: '_i[n]clude', hints: '_h[i]nts' };

function writeContext(
  { include, extensions, hints }: Context,
  contexts: ReadonlyMap<string, Context>,
  { globals, report }: Translation,
): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  const there = include.filter(({ name, place }) => {
    if (!contexts.has(name)) report.missing(place, `the included context ${name} does not exist and is dropped`);
    return contexts.has(name);
  });
  const always = there.filter(({ times }) => times === undefined);
  if (always.length > 0) written['include'] = [...new Set(always.map(({ name }) => name))];
  const devices = [...hints].flatMap(([name, hint]) => {
    const translated = translateHint(hint.devices, hint.place, { globals, report });
    return translated === undefined ? [] : [[name, translated] as const];
  });
  if (devices.length > 0) written['hints'] = Object.fromEntries(devices);
  report.took('hints', devices.length);
  const labels = { known, functions: names, globals, report };
  for (const [name, { steps }] of extensions) {
    const last = Math.max(...steps.keys());
    const list: Written[] = [];
    for (let priority = 1; priority <= last; priority++) {
      const step = steps.get(priority);
      // A missing priority ends the call.
      const app = step ? checked(translate(step.app, step.place, labels), step.place, report) : 'Hangup';
      list.push(step?.label && /^[A-Za-z_][\w-]*$/.test(step.label) ? { label: step.label, app } : app);
      if (step?.label && !/^[A-Za-z_][\w-]*$/.test(step.label))
        report.missing(step.place, `the label ${step.label} does not begin with a letter and is dropped`);
    }
    report.took('steps of the dialplan', steps.size);
    written[reserved[name] ?? name] = list;
  }
  for (const [name, list] of timedExtensions(there, extensions, contexts, report)) written[name] = list;
  report.took('extensions', extensions.size);
  return written;
}

/**
 * Extensions of contexts that are included at certain times: the same extensions with a time condition. At other times
 * they continue in another include, or the call ends.
 */
function timedExtensions(
  include: Context['include'],
  own: Context['extensions'],
  contexts: ReadonlyMap<string, Context>,
  report: Report,
): Map<string, Written[]> {
  const made = new Map<string, Written[]>();
  for (const { name, place, times } of include) {
    if (times === undefined) continue;
    report.approximated(
      place,
      `${name} is included at certain times: its extensions are copied with GotoIfTime; outside these times its patterns hide wider ones of other includes`,
    );
    for (const extension of contexts.get(name)?.extensions.keys() ?? []) {
      if (own.has(extension) || made.has(extension)) continue;
      const steps: Written[] = [];
      for (const other of include) {
        if (!contexts.get(other.name)?.extensions.has(extension)) continue;
        const target = `${other.name},${'${EXTEN}'},1`;
        steps.push(other.times === undefined ? `Goto(${target})` : `GotoIfTime(${other.times}?${target})`);
        if (other.times === undefined) break;
      }
      if (!steps.at(-1)?.toString().startsWith('Goto(')) steps.push('Hangup(UNALLOCATED)');
      made.set(extension, steps);
    }
  }
  return made;
}

/** A valid step of our dialplan; an invalid one ends the call, because its purpose is unknown. */
function checked(app: string, place: Place, report: Report): string {
  const parsed = parseStep(app);
  if (typeof parsed !== 'string') return app;
  report.missing(place, `${parsed}: the call is hung up there, because the step may have protected what follows`);
  return 'Hangup(FACILITY_NOT_IMPLEMENTED)';
}

/** Takes out includes that lead back to where they began. */
function cutCircles(
  dialplan: Record<string, Record<string, unknown>>,
  contexts: ReadonlyMap<string, Context>,
  report: Report,
): void {
  const done = new Set<string>();
  const visit = (name: string, trail: ReadonlySet<string>): void => {
    if (done.has(name)) return;
    const context = dialplan[name];
    const include = (context?.['include'] as string[] | undefined) ?? [];
    const inside = new Set([...trail, name]);
    const kept = include.filter((other) => {
      if (inside.has(other))
        report.approximated(
          contexts.get(name)?.place ?? '',
          `${name} includes ${other}, which includes it again; the second include is dropped`,
        );
      else visit(other, inside);
      return !inside.has(other);
    });
    if (context && include.length !== kept.length) {
      if (kept.length > 0) context['include'] = kept;
      else delete context['include'];
    }
    done.add(name);
  };
  for (const name of Object.keys(dialplan)) visit(name, new Set());
}

/** Steps that lead nowhere, or whose arguments make no sense, end the call; labels that are there twice go. */
function mend(
  dialplan: Record<string, Record<string, unknown>>,
  contexts: ReadonlyMap<string, Context>,
  report: Report,
): void {
  for (const { path, message } of validate(dialplan)) {
    const [context = '', name = '', index] = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const steps = dialplan[context]?.[name];
    if (name === 'hints' && index !== undefined) {
      report.missing(contexts.get(context)?.hints.get(index)?.place ?? '', `${message}; dropped`);
      delete (steps as Record<string, unknown>)[index];
      continue;
    }
    const place =
      contexts
        .get(context)
        ?.extensions.get(name)
        ?.steps.get(Number(index) + 1)?.place ??
      contexts.get(context)?.place ??
      '';
    if (!Array.isArray(steps)) continue;
    if (index === undefined) {
      report.missing(place, `${message}; dropped`);
      delete dialplan[context]?.[name];
      continue;
    }
    const step = steps[Number(index)] as Written;
    if (/^the label/.test(message) && typeof step !== 'string') steps[Number(index)] = step.app;
    else if (typeof step === 'string') steps[Number(index)] = 'Hangup';
    else steps[Number(index)] = { label: step.label, app: 'Hangup' };
    report.approximated(place, `${message}: the call is hung up there`);
  }
}
