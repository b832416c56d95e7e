import {
  asteriskName,
  asteriskWords,
  type EndpointAttribute,
  type EndpointAttributes,
} from '../../../src/models/endpoint-attributes.ts';
import type { Values } from './source.ts';

/** The settings of a table that an Asterisk object sets to other values than our defaults, except `except`. */
export const settingsIn = (
  each: Values,
  table: EndpointAttributes,
  except: readonly string[] = [],
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, attribute]) => {
      const theirs = asteriskName(name, attribute);
      if (theirs === undefined || except.includes(name)) return [];
      const value = valueIn(each, theirs, attribute);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Numbers are taken as they stand; other values only if they are not the default. */
function valueIn(each: Values, name: string, attribute: EndpointAttribute): unknown {
  if ('least' in attribute) {
    const value = each.number(name, attribute.least, attribute.most);
    return value !== undefined && attribute.kind === 'whole' ? Math.round(value) : value;
  }
  const value = attribute.kind === 'flag' ? each.flag(name) : wordIn(each.text(name), attribute);
  return value === attribute.default ? undefined : value;
}

const wordIn = (text: string, attribute: EndpointAttribute & { kind: 'text' | 'choice' }): string | undefined =>
  attribute.kind === 'text' ? text : asteriskWords(attribute)[text.toLowerCase()];
