import type { Application } from './applications/application.ts';
import { findApplication } from './applications.ts';
import { splitArguments } from './arguments.ts';
import { compile, isConstant, type Template } from './expressions.ts';
import { hintsKey, type ParsedHints, parseHints } from './hints.ts';
import {
  canGrow,
  compareSpecificity,
  isPattern,
  matchesPattern,
  type Pattern,
  parsePattern,
  withoutDashes,
} from './patterns.ts';

/** A step as configured: `App(arguments)`, or the same with a label to go to. */
type ConfiguredStep = string | { label: string; app: string };
/**
 * A dialplan as configured: context → extension or pattern → steps; under `include`, names of other contexts; under
 * `hints`, extension or pattern → devices.
 */
export type ConfiguredContexts = Readonly<
  Record<string, Readonly<Record<string, readonly ConfiguredStep[] | Readonly<Record<string, string>>>>>
>;

/** An error and its place: a JSON pointer into the contexts, e.g. `/default/_X./0`. */
type Problem = { path: string; message: string };

/** A step ready to run. `args` are there when the arguments are constant. */
export type ParsedStep = {
  application: Application;
  template: Template;
  args?: readonly string[];
  label?: string;
};

type NumberedStep = ParsedStep & { priority: number };

/** An extension ready to run: its steps, and the priority of each label. */
export type ParsedExtension = { name: string; steps: readonly NumberedStep[]; labels: ReadonlyMap<string, number> };

/** A context: extensions by exact name, then patterns, the most specific first. */
type ParsedContext = {
  exact: ReadonlyMap<string, ParsedExtension>;
  patterns: readonly { pattern: Pattern; extension: ParsedExtension }[];
  hints: ParsedHints;
  /** Contexts to search, in order: itself, then included ones with their own includes. */
  search: readonly ParsedContext[];
};

export type ParsedContexts = ReadonlyMap<string, ParsedContext>;

/** Every problem of a dialplan as configured, in its order; none means that it loads. Never throws. */
export const validate = (contexts: unknown): Problem[] => parseContexts(contexts).problems;

/** Parses all there is; what has a problem is left out. Never throws. */
export function parseContexts(configured: unknown): { contexts: ParsedContexts; problems: Problem[] } {
  const problems: Problem[] = [];
  const contexts = new Map<string, BuiltContext>();
  const tell = (path: readonly (string | number)[], message: string): void => {
    problems.push({ path: path.map((each) => `/${escapePointer(String(each))}`).join(''), message });
  };
  if (!isRecord(configured)) tell([], 'the dialplan must map contexts to extensions');
  else {
    for (const [name, extensions] of Object.entries(configured)) {
      if (isRecord(extensions)) contexts.set(name, parseContext(name, extensions, tell));
      else tell([name], 'a context must map extensions to lists of steps');
    }
    includeContexts(configured, contexts, tell);
  }
  checkCalls(contexts, tell);
  return { contexts, problems };
}

/** A context while what it includes is being found out. */
type BuiltContext = Omit<ParsedContext, 'search'> & { search: readonly ParsedContext[] };

type Tell = (path: readonly (string | number)[], message: string) => void;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 6901 section 3. */
const escapePointer = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

/** The key of a context that lists those it includes. A dialed extension of that name is the pattern `_i[n]clude`. */
const includeKey = 'include';

/** Resolves the includes of all contexts. Reports cycles and missing contexts. */
function includeContexts(configured: Record<string, unknown>, contexts: Map<string, BuiltContext>, tell: Tell): void {
  const own = new Map<string, readonly string[]>();
  for (const name of contexts.keys()) {
    const names = (configured[name] as Record<string, unknown>)[includeKey] ?? [];
    const isList = Array.isArray(names) && names.every((each) => typeof each === 'string');
    if (!isList) tell([name, includeKey], 'include must be a list of names of contexts');
    own.set(name, isList ? (names as string[]) : []);
  }
  for (const [name, names] of own)
    for (const [index, other] of names.entries())
      if (!contexts.has(other)) tell([name, includeKey, index], `there is no context "${other}"`);
  for (const [name, context] of contexts) {
    const found = new Set<string>([name]);
    const collect = (from: string): void => {
      for (const other of own.get(from) ?? []) {
        if (other === name)
          tell([name, includeKey], `the context includes itself${from === name ? '' : ` through "${from}"`}`);
        if (found.has(other) || !contexts.has(other)) continue;
        found.add(other);
        collect(other);
      }
    };
    collect(name);
    context.search = [...found].flatMap((each) => contexts.get(each) ?? []);
  }
}

function parseContext(context: string, extensions: Record<string, unknown>, tell: Tell): BuiltContext {
  const exact = new Map<string, ParsedExtension>();
  const patterns: { pattern: Pattern; extension: ParsedExtension }[] = [];
  for (const [name, steps] of Object.entries(extensions)) {
    if (name === includeKey || name === hintsKey) continue;
    const path = [context, name];
    const extension = parseExtension(name, steps, path, tell);
    if (isPattern(name)) {
      const pattern = parsePattern(name);
      if (typeof pattern === 'string') tell(path, pattern);
      else if (patterns.some((other) => compareSpecificity(other.pattern, pattern) === 0))
        tell(path, `another pattern is equivalent to "${name}"; remove one`);
      else patterns.push({ pattern, extension });
    } else if (exact.has(withoutDashes(name))) tell(path, `another extension is equivalent to "${name}"; remove one`);
    else exact.set(withoutDashes(name), extension);
  }
  patterns.sort((a, b) => compareSpecificity(a.pattern, b.pattern));
  const hints = parseHints(context, extensions[hintsKey], tell);
  return { exact, patterns, hints, search: [] };
}

function parseExtension(name: string, steps: unknown, path: string[], tell: Tell): ParsedExtension {
  const labels = new Map<string, number>();
  const parsed: NumberedStep[] = [];
  if (!Array.isArray(steps) || steps.length === 0) tell(path, 'an extension must have a list of steps');
  else
    for (const [index, configured] of steps.entries()) {
      const step = parseStep(configured);
      if (typeof step === 'string') {
        tell([...path, index], step);
        continue;
      }
      if (step.label !== undefined) {
        if (labels.has(step.label)) tell([...path, index], `the label "${step.label}" is already taken`);
        labels.set(step.label, index + 1);
      }
      parsed.push({ ...step, priority: index + 1 });
    }
  return { name, steps: parsed, labels };
}

/** Reads a step as configured; a string tells what is wrong with it. Never throws. */
export function parseStep(configured: unknown): ParsedStep | string {
  if (typeof configured === 'string') return parseCall(configured);
  if (!isRecord(configured)) return 'a step must be App(arguments), or label and app';
  const { label, app, ...others } = configured;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `unknown key "${unknown}"; a step has only \`label\` and \`app\``;
  if (typeof app !== 'string') return 'app must be App(arguments)';
  if (typeof label !== 'string' || !/^[A-Za-z_][\w-]*$/.test(label))
    return 'label must be a word that begins with a letter';
  const step = parseCall(app);
  return typeof step === 'string' ? step : { ...step, label };
}

function parseCall(text: string): ParsedStep | string {
  const found = /^([A-Za-z]\w*)\s*(?:\(([\s\S]*)\))?$/.exec(text.trim());
  if (!found) return `"${text}" is not a step; expected Application(arguments)`;
  const [, name = '', data = ''] = found;
  const application = findApplication(name);
  if (!application) return `unknown application "${name}"`;
  const template = compile(data);
  if (template.problem !== undefined) return template.problem;
  const problem = application.checkText?.(data);
  if (problem !== undefined) return `${application.name}: ${problem}`;
  return isConstant(template) ? { application, template, args: splitArguments(data) } : { application, template };
}

/** Lets applications look at their constant arguments, now that all places are known. */
function checkCalls(contexts: ParsedContexts, tell: Tell): void {
  const exists = (context: string, extension: string, target: string): boolean => {
    const place = contexts.get(context);
    // A step of a pattern names itself by the pattern's own text.
    const own = place?.patterns.find(({ pattern }) => pattern.text === extension)?.extension;
    const found = own ?? findExtension(place, extension);
    return (
      found !== undefined && (found.labels.has(target) || found.steps.some((step) => String(step.priority) === target))
    );
  };
  for (const [context, { exact, patterns }] of contexts)
    for (const { name, steps } of [...exact.values(), ...patterns.map((each) => each.extension)])
      for (const { application, args, template, priority } of steps) {
        const position = { context, extension: name, priority };
        const message = args && application.check?.({ args, data: template.text, position, exists });
        if (message !== undefined) tell([context, name, priority - 1], `${application.name}: ${message}`);
      }
}

/**
 * The extension for a dialed one in a context: an exact name wins, then the most specific matching pattern; then those
 * of included contexts, in order.
 */
export function findExtension(context: ParsedContext | undefined, dialed: string): ParsedExtension | undefined {
  if (!context) return undefined;
  const extension = withoutDashes(dialed);
  for (const { exact, patterns } of context.search) {
    const found = exact.get(extension) ?? patterns.find(({ pattern }) => matchesPattern(pattern, extension))?.extension;
    if (found) return found;
  }
  return undefined;
}

/** Whether more digits may match another extension of the context, so that waiting is useful. */
export function mayGrow(context: ParsedContext | undefined, digits: string): boolean {
  return (context?.search ?? []).some(
    ({ exact, patterns }) =>
      [...exact.keys()].some((name) => name.length > digits.length && name.startsWith(digits)) ||
      patterns.some(({ pattern }) => canGrow(pattern, digits)),
  );
}
