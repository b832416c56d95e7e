/** The text messages of media over a WebSocket: words and `key:value` pairs, or JSON. */

/** What the far side asks for. `id` names a mark. */
export type MediaCommandMessage = { command: string; id: string; direction: string };

/** Longest command that is read, in characters. */
const longestCommand = 4096;

/** Reads a command; undefined when it is none. */
export function readMediaCommand(text: string, json: boolean): MediaCommandMessage | undefined {
  if (text.length > longestCommand) return undefined;
  if (!json) {
    const [command = '', id = ''] = text.trim().split(/\s+/);
    return command === '' ? undefined : { command, id: id.replace(/^correlation_id:/, ''), direction: '' };
  }
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null) return undefined;
  const { command, correlation_id: id, direction } = read as Record<string, unknown>;
  if (typeof command !== 'string') return undefined;
  return { command, id: wordOf(id), direction: wordOf(direction) };
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Writes what is told to the far side.
 * @param fields are `key:value` behind the word in text; the value alone for `correlation_id`, none when it is empty.
 * @param more is only told in JSON.
 */
export function writeMediaEvent(
  event: string,
  fields: Readonly<Record<string, string | number | boolean>>,
  json: boolean,
  more: Readonly<Record<string, unknown>> = {},
): string {
  if (json) return JSON.stringify({ event, ...fields, ...more });
  const words = Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => (key === 'correlation_id' ? String(value) : `${key}:${value}`));
  return [event, ...words].join(' ');
}
