import type { PathFinding, PathReport } from './path-findings.ts';

const list = (words: readonly string[]): string => words.join(', ');
const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;

/** What is wrong, in a sentence. */
function sentence({ kind, stayed, unhandled }: PathFinding): string {
  const after = unhandled.length > 0 ? ` after ${list(unhandled)}` : '';
  const left = stayed.length > 0 ? ` It left ${list(stayed)}.` : '';
  const sentences: Readonly<Record<PathFinding['kind'], string>> = {
    ended: 'The program ended.',
    unhandled: `The application did nothing${after}.${left}`,
    stranded: `The call stays as no normal call does.${left}`,
    left: `Not everything ended when the callers had gone.${left}`,
    disconnected: 'The application did not connect again.',
    nextCall: 'The next normal call failed.',
    serverError: 'The server answered with an error of its own: please report it.',
  };
  return sentences[kind];
}

const indented = (text: string): string => text.trimEnd().replaceAll(/^/gm, '     ');

function inWords(finding: PathFinding, place: number): string {
  const { disturbance, moment, refused, details, also, afterCalls, path } = finding;
  return [
    `${place + 1}. ${disturbance}, ${moment}`,
    `   ${sentence(finding)}`,
    ...(refused.length > 0 ? [`   Refused in this call: ${list(refused)}`] : []),
    ...(details !== undefined && details !== '' ? [indented(details)] : []),
    ...(also.length > 0 ? [`   The same ${list(also)}`] : []),
    ...(afterCalls > 0
      ? [`   After ${count(afterCalls, 'earlier call')} with the same server; not again on a new one`]
      : []),
    `   Run it alone: paths({ ..., only: ${JSON.stringify(path)} })`,
  ].join('\n');
}

/** A report as a person reads it. */
export function reportInWords({
  findings,
  seenOnce,
  runs,
  moments,
  leftOut,
  missed,
}: Omit<PathReport, 'text'>): string {
  const left = leftOut > 0 ? `; the bounds left out ${leftOut}` : '';
  const again = missed.length > 0 ? `; ${missed.length} did not come to their moment again` : '';
  const head = `${count(runs, 'disturbed call')} at ${count(moments, 'moment')}${left}${again}: `;
  const unsure = seenOnce.length > 0 ? ['Seen once:', ...seenOnce.map(inWords)] : [];
  const end = findings.length === 0 ? 'the application survived all.' : `${count(findings.length, 'finding')}.`;
  return [head + end, ...findings.map(inWords), ...unsure].join('\n\n');
}
