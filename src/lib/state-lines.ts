/** The state of a server as lines: what its file has, and what other nodes of a cluster are given. */

/** The value of an object as JSON text; undefined when it has ended. */
export type StateChange = readonly [key: string, json: string | undefined];

/** An event of an application by its number, and its JSON text as it was sent. */
export type KeptEvent = readonly [seq: number, json: string];
export type ApplicationEvent = readonly [application: string, ...KeptEvent];

/** Begins the line of an event, and the key of an application whose events are dropped. */
const eventMark = '!';
const forgotten = '~';

/** The key that drops the events of an application, when it is set. */
export const forgottenKey = (application: string): string => `${forgotten}${encodeURIComponent(application)}`;

/** The application whose events a key drops; undefined for another key. */
export const forgottenBy = (key: string): string | undefined =>
  key.startsWith(forgotten) ? decodeURIComponent(key.slice(forgotten.length)) : undefined;

/**
 * A line for each change: key, tab and value, or the key alone; then a line for each event. JSON texts and keys have no
 * line breaks and tabs.
 */
export function linesOf(changes: Iterable<StateChange>, events: Iterable<ApplicationEvent> = []): string {
  let text = '';
  for (const [key, json] of changes) {
    if (text !== '') text += '\n';
    text += json === undefined ? key : `${key}\t${json}`;
  }
  for (const [application, seq, json] of events) {
    if (text !== '') text += '\n';
    text += `${eventMark}${encodeURIComponent(application)}\t${seq}\t${json}`;
  }
  return text;
}

/** Takes what lines say. */
type LineReader = { change(...change: StateChange): void; event(...event: ApplicationEvent): void };

/** Reads lines in order. */
export function readLines(text: string, { change, event }: LineReader): void {
  for (const line of text.split('\n')) {
    const tab = line.indexOf('\t');
    if (line.startsWith(eventMark)) {
      const second = line.indexOf('\t', tab + 1);
      event(decodeURIComponent(line.slice(1, tab)), Number(line.slice(tab + 1, second)), line.slice(second + 1));
    } else if (tab < 0) change(line, undefined);
    else change(line.slice(0, tab), line.slice(tab + 1));
  }
}

/** Lines that programs of the same version of the data, but of an earlier format, cannot read have another number. */
export const stateFormat = 3;
/** Lines of format 2 have no parts of members. */
export const readFormats: readonly number[] = [2, stateFormat];
