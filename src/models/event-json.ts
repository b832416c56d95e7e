import type { Channel } from './channel.ts';
import type { AriEventBody } from './events.ts';

/**
 * An event as JSON without its last brace, so that members can be added: equal to `JSON.stringify`, at a third of its
 * cost. Most of an event is its channels, whose members are known.
 */
export function openEventJson(event: AriEventBody): string {
  let json = '';
  for (const name in event) {
    const value: unknown = event[name as keyof AriEventBody];
    if (value !== undefined) json += `${json === '' ? '{' : ','}"${name}":${valueJson(value)}`;
  }
  return json;
}

/** A value as JSON: equal to `JSON.stringify`, and faster for channels. */
export const valueJson = (value: unknown): string => {
  if (typeof value === 'string') return textJson(value);
  return isChannel(value) ? channelJson(value) : JSON.stringify(value);
};

/** Whether a value is a channel as clients see it. */
export const isChannel = (value: unknown): value is Channel =>
  typeof value === 'object' && value !== null && 'protocol_id' in value && 'dialplan' in value;

/** A text as JSON. */
const textJson = (text: string): string => `"${escaped(text)}"`;

/** A text as it stands between quotation marks in JSON. Most need no escape: then it is the same string, no copy. */
function escaped(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Quotation mark, backslash, control characters, and all beyond ASCII, where lone surrogates are.
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return JSON.stringify(text).slice(1, -1);
  }
  return text;
}

/** Quotation marks are in the texts between the members: each piece that is put in costs an object of its own. */
function channelJson(channel: Channel): string {
  const { caller, connected, dialplan, channelvars } = channel;
  return (
    `{"id":"${escaped(channel.id)}","name":"${escaped(channel.name)}","state":"${channel.state}"` +
    `,"protocol_id":"${escaped(channel.protocol_id)}"` +
    `,"caller":{"name":"${escaped(caller.name)}","number":"${escaped(caller.number)}"}` +
    `,"connected":{"name":"${escaped(connected.name)}","number":"${escaped(connected.number)}"}` +
    `,"accountcode":"${escaped(channel.accountcode)}"` +
    `,"dialplan":{"context":"${escaped(dialplan.context)}","exten":"${escaped(dialplan.exten)}","priority":` +
    `${dialplan.priority},"app_name":"${escaped(dialplan.app_name)}","app_data":"${escaped(dialplan.app_data)}"}` +
    `,"creationtime":"${channel.creationtime}","language":"${escaped(channel.language)}"` +
    (channel.caller_rdnis === undefined ? '' : `,"caller_rdnis":${textJson(channel.caller_rdnis)}`) +
    (channelvars === undefined ? '' : `,"channelvars":${JSON.stringify(channelvars)}`) +
    (channel.tenantid === undefined ? '' : `,"tenantid":${textJson(channel.tenantid)}`) +
    '}'
  );
}
