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
    if (value !== undefined) json += `${json === '' ? '{' : ','}"${name}":${memberJson(value)}`;
  }
  return json;
}

const memberJson = (value: unknown): string => {
  if (typeof value === 'string') return textJson(value);
  return isChannel(value) ? channelJson(value) : JSON.stringify(value);
};

const isChannel = (value: unknown): value is Channel =>
  typeof value === 'object' && value !== null && 'protocol_id' in value && 'dialplan' in value;

/** A text as JSON. Most texts need no escape. */
function textJson(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Quotation mark, backslash, control characters, and all beyond ASCII, where lone surrogates are.
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return JSON.stringify(text);
  }
  return `"${text}"`;
}

function channelJson(channel: Channel): string {
  const { caller, connected, dialplan, channelvars } = channel;
  return (
    `{"id":${textJson(channel.id)},"name":${textJson(channel.name)},"state":"${channel.state}"` +
    `,"protocol_id":${textJson(channel.protocol_id)}` +
    `,"caller":{"name":${textJson(caller.name)},"number":${textJson(caller.number)}}` +
    `,"connected":{"name":${textJson(connected.name)},"number":${textJson(connected.number)}}` +
    `,"accountcode":${textJson(channel.accountcode)}` +
    `,"dialplan":{"context":${textJson(dialplan.context)},"exten":${textJson(dialplan.exten)}` +
    `,"priority":${dialplan.priority},"app_name":${textJson(dialplan.app_name)},"app_data":${textJson(dialplan.app_data)}}` +
    `,"creationtime":"${channel.creationtime}","language":${textJson(channel.language)}` +
    (channel.caller_rdnis === undefined ? '' : `,"caller_rdnis":${textJson(channel.caller_rdnis)}`) +
    (channelvars === undefined ? '' : `,"channelvars":${JSON.stringify(channelvars)}`) +
    (channel.tenantid === undefined ? '' : `,"tenantid":${textJson(channel.tenantid)}`) +
    '}'
  );
}
