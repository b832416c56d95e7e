import { splitArguments } from './arguments.ts';
import type { DialplanFunction, SystemFunction } from './function.ts';
import type { DialplanChannel } from './host.ts';

/** The functions of SIP calls, phones and their places. */

const trimmed = (text: string): string[] => splitArguments(text).map((each) => each.trim());

/** A header name is a token (RFC 3261 25.1), and a value is one line, so neither can inject a header. */
const headerName = /^[A-Za-z0-9\-.!%*_+`'~]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controls = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const place = /^[1-9]\d{0,5}$/;

const isSip = ({ technology }: DialplanChannel): boolean => technology === 'PJSIP';

/** The beginning of names that `X-*` stands for; undefined for a name of its own. */
const prefixOf = (name: string): string | undefined => (name.endsWith('*') ? name.slice(0, -1) : undefined);

/** `PJSIP_HEADER(read,name[,n])`, `(add,name)`, `(update,name)`, `(remove,name or beginning*)`. */
const header: DialplanFunction = {
  takes: 'on a SIP channel, the items are add, update and remove with the name of a header, and values are one line',
  read: (channel, text) => {
    const [action = '', name = '', index = '1'] = trimmed(text);
    if (!isSip(channel) || action.toLowerCase() !== 'read' || !place.test(index)) return undefined;
    return headerName.test(name) ? channel.header(name, Number(index)) : undefined;
  },
  write: (channel, text, value) => {
    const [action = '', name = ''] = trimmed(text);
    if (!isSip(channel) || !headerName.test(name) || controls.test(value)) return false;
    switch (action.toLowerCase()) {
      case 'add':
        return channel.addHeader(name, value) || `the header ${name} is not for applications, or the call is under way`;
      case 'update':
        return channel.updateHeader(name, value);
      case 'remove': {
        const prefix = prefixOf(name);
        const names = prefix === undefined ? [name] : (channel.sip()?.headerNames(prefix) ?? []);
        for (const each of names) channel.removeHeader(each);
        return true;
      }
      default:
        return false;
    }
  },
};

/** `PJSIP_HEADERS(beginning)`: names of headers that begin so, joined by commas. */
const headers: DialplanFunction = {
  read: (channel, text) => channel.sip()?.headerNames(text.trim().replace(/\*$/, '')).join(','),
};

/** `PJSIP_RESPONSE_HEADER(read,name[,n])`: a header of the answer to a call that was placed. */
const responseHeader: DialplanFunction = {
  read: (channel, text) => {
    const [action = '', name = '', index = '1'] = trimmed(text);
    if (action.toLowerCase() !== 'read' || !place.test(index) || !headerName.test(name)) return undefined;
    return channel.sip()?.responseHeader(name, Number(index));
  },
};

const responseHeaders: DialplanFunction = {
  read: (channel, text) => channel.sip()?.responseHeaderNames(text.trim().replace(/\*$/, '')).join(','),
};

/**
 * `PJSIP_SEND_SESSION_REFRESH()=invite` sends a re-offer. `update` refreshes the session timer, if the peer supports
 * UPDATE.
 */
const sessionRefresh: DialplanFunction = {
  takes: 'it is invite or update, on a SIP channel that is Up',
  write: (channel, _text, value) => {
    const method = value.trim().toLowerCase();
    if (method !== 'invite' && method !== 'update') return false;
    return channel.sip()?.refresh(method) ?? false;
  },
};

/** `PJSIP_DTMF_MODE()`: how digits travel on this call. */
const dtmfMode: DialplanFunction = {
  takes: 'it is rfc4733, inband, info, auto or auto_info, on a SIP channel',
  read: (channel) => channel.sip()?.digitMode,
  write: (channel, _text, value) => channel.sip()?.setDigitMode(value.trim().toLowerCase()) ?? false,
};

/** Formats of a list such as `!all,alaw,ulaw`, without the excluded ones. */
function offered(value: string): string[] {
  let chosen: string[] = [];
  for (const item of value.toLowerCase().split(/[,&|]/)) {
    const name = item.trim();
    if (name === '' || name === 'all') continue;
    if (name === '!all') chosen = [];
    else if (name.startsWith('!')) chosen = chosen.filter((each) => each !== name.slice(1));
    else if (!chosen.includes(name)) chosen.push(name);
  }
  return chosen;
}

/** `PJSIP_MEDIA_OFFER(audio)`, `PJSIP_MEDIA_OFFER(video)`: the formats that are offered and accepted from now on. */
const mediaOffer: DialplanFunction = {
  takes: 'the items are audio and video with formats that there are, on a SIP channel',
  read(channel, text) {
    const formats = { audio: channel.formats, video: channel.videoFormats }[text.trim().toLowerCase()];
    return formats && channel.sip() && `(${formats.join('|') || 'nothing'})`;
  },
  write(channel, text, value) {
    const medium = text.trim().toLowerCase();
    if (medium === 'audio') return channel.sip()?.setFormats(offered(value)) ?? false;
    return medium === 'video' && (channel.sip()?.setVideoFormats(offered(value)) ?? false);
  },
};

/** By name, in capitals. */
export const pjsipFunctions: readonly (readonly [string, DialplanFunction])[] = [
  ['PJSIP_DTMF_MODE', dtmfMode],
  ['PJSIP_HEADER', header],
  ['PJSIP_HEADERS', headers],
  ['PJSIP_MEDIA_OFFER', mediaOffer],
  ['PJSIP_RESPONSE_HEADER', responseHeader],
  ['PJSIP_RESPONSE_HEADERS', responseHeaders],
  ['PJSIP_SEND_SESSION_REFRESH', sessionRefresh],
];

/**
 * `PJSIP_DIAL_CONTACTS(endpoint[,aor[,user]])`: what to dial to reach every place it is registered at, joined by `&`. If
 * other nodes of a cluster reach it, that is the endpoint: it rings at all nodes.
 */
const dialContacts: SystemFunction = {
  read: (system, text) => {
    const [endpoint = '', aor = '', user = ''] = trimmed(text);
    const contacts = system.phones()?.contacts(endpoint, aor || undefined, user || undefined);
    return contacts?.map((resource) => `PJSIP/${resource}`).join('&');
  },
};

/** `PJSIP_ENDPOINT(endpoint,attribute)`, by the names of dynamic configuration. */
const endpoint: SystemFunction = {
  read: (system, text) => {
    const [name = '', attribute = ''] = trimmed(text);
    return system.phones()?.attribute('endpoint', name, attribute);
  },
};

/** `PJSIP_AOR(aor,attribute)`: likewise; `contact` are the ids of its places, joined by commas. */
const aor: SystemFunction = {
  read: (system, text) => {
    const [name = '', attribute = ''] = trimmed(text);
    const phones = system.phones();
    if (attribute.toLowerCase() !== 'contact') return phones?.attribute('aor', name, attribute);
    return phones?.attribute('aor', name, 'max_contacts') === undefined
      ? undefined
      : phones
          .places()
          .filter((each) => each.aor.toLowerCase() === name.toLowerCase())
          .map(({ id }) => id)
          .join(',');
  },
};

/** `PJSIP_CONTACT(id,field)`: a place where an endpoint is, by the id that PJSIP_AOR and the interface tell. */
const contact: SystemFunction = {
  read: (system, text) => {
    const [id = '', field = ''] = trimmed(text);
    const found = system
      .phones()
      ?.places()
      .find((each) => each.id === id);
    switch (found && field.toLowerCase()) {
      case 'uri':
        return found?.uri;
      case 'aor':
        return found?.aor;
      case 'endpoint_name':
        return found?.endpoint;
      case 'status':
        return found?.status;
      // In µs, as Asterisk has it.
      case 'rtt':
        return found?.roundtrip ?? '0';
      default:
        return undefined;
    }
  },
};

/** `PJSIP_PARSE_URI(uri,part)`; a URI with commas stands in quotation marks. */
const parseUri: SystemFunction = {
  read: (system, text) => {
    const [uri = '', part = ''] = trimmed(text);
    return system.phones()?.uriPart(uri, part.toLowerCase());
  },
};

/** By name, in capitals: what needs no channel. */
export const pjsipSystemFunctions: readonly (readonly [string, SystemFunction])[] = [
  ['PJSIP_AOR', aor],
  ['PJSIP_CONTACT', contact],
  ['PJSIP_DIAL_CONTACTS', dialContacts],
  ['PJSIP_ENDPOINT', endpoint],
  ['PJSIP_PARSE_URI', parseUri],
];
