/** The text messages of media over a WebSocket: words and `key:value` pairs, or JSON. */

/** A command of the far side. `id` names a mark. */
type MediaCommandMessage = { command: string; id: string; direction: string };

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

/** An event for the far side. */
export type MediaEvent = {
  event: string;
  channelId: string;
  /** `key:value` behind the word in text; the value alone for `correlation_id`, none when it is empty. */
  fields?: Readonly<Record<string, string | number | boolean>>;
  /** Only told in JSON. */
  more?: Readonly<Record<string, unknown>>;
  /** Members that Asterisk lacks; last in text form, for far sides that know them. */
  counts?: Readonly<Record<string, number>>;
};

/** Whether text messages are JSON, and whether members that Asterisk lacks are sent in text form too. */
export type MediaEventForm = { json: boolean; tellsCounts: boolean };

/** Formats an event for the far side. */
export function writeMediaEvent(
  { event, channelId, fields = {}, more = {}, counts = {} }: MediaEvent,
  { json, tellsCounts }: MediaEventForm,
): string {
  if (json) return JSON.stringify({ event, channel_id: channelId, ...fields, ...more, ...counts });
  const words = Object.entries({ ...fields, ...(tellsCounts && counts) })
    .filter(([, value]) => value !== '')
    .map(([key, value]) => (key === 'correlation_id' ? String(value) : `${key}:${value}`));
  return [event, ...words].join(' ');
}
