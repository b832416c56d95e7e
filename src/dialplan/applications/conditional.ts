import { splitBranches } from '../branches.ts';
import { isTrue } from '../calculation.ts';
import type { Application } from './application.ts';

/** Name and arguments of `App(arguments)`; undefined for other text. */
export const readCall = (text: string): { name: string; data: string } | undefined => {
  const [, name, data = ''] = /^([A-Za-z]\w*)\s*(?:\((.*)\))?$/s.exec(text) ?? [];
  return name === undefined ? undefined : { name, data };
};

/**
 * Runs one of two other applications. Their names are constant: the text is split before its variables are replaced, so
 * that callers cannot choose one.
 * @param find the known applications.
 */
export function execIfOf(find: (name: string) => Application | undefined): Application {
  const problemOf = (text: string): string | undefined => {
    const called = readCall(text);
    if (!called) return `"${text}" is not a step; expected Application(arguments)`;
    const application = find(called.name);
    if (!application) return `unknown application "${called.name}"`;
    if (application.name === 'ExecIf' || application.name === 'While')
      return `${application.name} cannot be run by ExecIf`;
    return application.checkText?.(called.data);
  };
  return {
    name: 'ExecIf',
    usage: 'ExecIf(condition?App(arguments)[:App(arguments)]): runs an application by a condition',
    checkText(text) {
      const branches = splitBranches(text);
      if (!branches) return 'condition?App(arguments) is needed';
      return [branches.yes, branches.no]
        .filter((each) => each !== '')
        .map(problemOf)
        .find((each) => each !== undefined);
    },
    run(step) {
      const branches = splitBranches(step.text);
      const isSo = branches && isTrue(step.expand(branches.condition).trim());
      const called = branches && readCall(isSo ? branches.yes : branches.no);
      const application = called && find(called.name);
      if (!application) return undefined;
      return application.run({ ...step, text: called.data, ...step.expandArguments(called.data) });
    },
  };
}
