import type { Path, Problem } from './check.ts';
import { nearest } from './check.ts';
import type { DialplanConfig } from './schema.ts';

/**
 * What can be said of a dialplan without running it: the form of steps and patterns, labels, and the contexts that
 * `Goto` names. `applications` are the names there are; undefined when that is not to be checked.
 */
export function checkDialplan(dialplan: DialplanConfig, applications: readonly string[] | undefined): Problem[] {
  const problems: Problem[] = [];
  for (const [context, extensions] of Object.entries(dialplan)) {
    for (const [extension, steps] of Object.entries(extensions)) {
      const path = ['dialplan', context, extension];
      const wrongPattern = explainPattern(extension);
      if (wrongPattern) problems.push({ path, message: wrongPattern, atKey: true });
      const labels = new Set<string>();
      for (const [index, step] of steps.entries()) {
        const at = typeof step === 'string' ? [...path, index] : [...path, index, 'app'];
        problems.push(...checkStep(typeof step === 'string' ? step : step.app, at, dialplan, applications));
        if (typeof step === 'string') continue;
        if (labels.has(step.label))
          problems.push({ path: [...path, index, 'label'], message: `the label \`${step.label}\` is used twice` });
        if (!/^[A-Za-z_][\w-]*$/.test(step.label))
          problems.push({
            path: [...path, index, 'label'],
            message: 'a label is a letter followed by letters and digits',
          });
        labels.add(step.label);
      }
    }
  }
  return problems;
}

function checkStep(
  step: string,
  path: Path,
  dialplan: DialplanConfig,
  applications: readonly string[] | undefined,
): Problem[] {
  const [, name, rest] = /^\s*([A-Za-z]\w*)\s*(.*)$/s.exec(step) ?? [];
  if (name === undefined || rest === undefined)
    return [{ path, message: `expected \`App(arguments)\`, found ${JSON.stringify(step)}` }];
  const unclosed = explainBrackets(rest.trim());
  if (unclosed) return [{ path, message: `${unclosed} in ${JSON.stringify(step)}` }];
  if (applications && !applications.some((known) => known.toLowerCase() === name.toLowerCase())) {
    const near = nearest(name, applications);
    return [{ path, message: `no application \`${name}\`${near ? `; did you mean \`${near}\`?` : ''}` }];
  }
  return name.toLowerCase() === 'goto' ? checkGoto(rest, path, dialplan) : [];
}

/** Says what is wrong with the part behind an application's name: nothing, or one balanced pair of parentheses. */
function explainBrackets(rest: string): string | undefined {
  if (rest === '') return undefined;
  if (!rest.startsWith('(')) return 'expected `(` after the name of the application';
  const open: string[] = [];
  for (let i = 0; i < rest.length; i++) {
    const letter = rest[i]!;
    if (letter === '\\') i++;
    else if (letter === '(' || letter === '{') open.push(letter);
    else if (letter === ')' || letter === '}') {
      if (open.pop() !== (letter === ')' ? '(' : '{')) return `a \`${letter}\` too many`;
      if (open.length === 0 && i < rest.length - 1) return 'something stands after the closing `)`';
    }
  }
  return open.length > 0 ? `\`${open.at(-1)}\` is not closed` : undefined;
}

/** `Goto(context,extension,priority)` must name a context there is, unless it is made from variables. */
function checkGoto(rest: string, path: Path, dialplan: DialplanConfig): Problem[] {
  const target = rest.trim().slice(1, -1).split(',');
  const context = target.length === 3 ? target[0]!.trim() : '';
  if (context === '' || context.includes('${') || Object.hasOwn(dialplan, context)) return [];
  return [{ path, message: unknownContext(context, dialplan) }];
}

/** What to say of a context that the dialplan does not have. */
export function unknownContext(context: string, dialplan: DialplanConfig): string {
  const near = nearest(context, Object.keys(dialplan));
  return `the dialplan has no context \`${context}\`${near ? `; did you mean \`${near}\`?` : ''}`;
}

/** Says what is wrong with an extension or, with a leading `_`, a pattern; undefined when it is well formed. */
function explainPattern(extension: string): string | undefined {
  if (!extension.startsWith('_')) return /\s/.test(extension) ? 'an extension holds no spaces' : undefined;
  const pattern = extension.slice(1);
  if (pattern === '') return 'the pattern is empty';
  if (/\s/.test(pattern)) return 'a pattern holds no spaces';
  const sets = pattern.replaceAll(/\[[^[\]]+\]/g, '');
  if (/[[\]]/.test(sets)) return 'a `[` or `]` of the pattern has no partner';
  if (/[.!](?!$)/.test(sets)) return '`.` and `!` stand only at the end of a pattern';
  return undefined;
}
