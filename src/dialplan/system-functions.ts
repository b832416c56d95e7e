import { splitArguments } from './arguments.ts';
import type { DialplanSystem } from './host.ts';

/** The functions that ask and tell the whole system: they work with a channel and without one. */

/** A function's text is what stands between its parentheses, as written. Undefined or false means that it failed. */
export type SystemFunction = {
  read?: (system: DialplanSystem, text: string) => string | undefined;
  /** True when written. */
  write?: (system: DialplanSystem, text: string, value: string) => boolean;
};

const global: SystemFunction = {
  read: (system, text) => system.globalVariable(text.trim()) ?? '',
  write: (system, text, value) => {
    const name = text.trim();
    return name !== '' && system.setGlobalVariable(name, value);
  },
};

/** `GLOBAL_DELETE(name)`; what is assigned does not matter. */
const globalDelete: SystemFunction = {
  write: (system, text) => {
    const name = text.trim();
    return name !== '' && system.setGlobalVariable(name, undefined);
  },
};

const deviceState: SystemFunction = {
  read: (system, text) => (text.trim() === '' ? undefined : system.deviceState(text.trim())),
  write: (system, text, value) => system.setDeviceState(text.trim(), value.trim()),
};

const trimmed = (text: string): string[] => splitArguments(text).map((each) => each.trim());

/** `DIALPLAN_EXISTS(context[,extension[,priority or label]])`: 1 or 0. */
const dialplanExists: SystemFunction = {
  read: (system, text) => {
    const [context = '', extension = '', priority = ''] = trimmed(text);
    if (context === '') return undefined;
    return system.placeExists(context, extension || undefined, priority || undefined) ? '1' : '0';
  },
};

/** `PJSIP_DIAL_CONTACTS(endpoint[,aor[,user]])`: what to dial to reach every place it is registered at, joined by `&`. */
const dialContacts: SystemFunction = {
  read: (system, text) => {
    const [endpoint = '', aor = '', user = ''] = trimmed(text);
    const contacts = system.phones()?.contacts(endpoint, aor || undefined, user || undefined);
    return contacts?.map((uri) => `PJSIP/${endpoint}/${uri}`).join('&');
  },
};

/** `PJSIP_ENDPOINT(endpoint,attribute)`, by the names of dynamic configuration. */
const pjsipEndpoint: SystemFunction = {
  read: (system, text) => {
    const [endpoint = '', attribute = ''] = trimmed(text);
    return system.phones()?.attribute(endpoint, attribute);
  },
};

/** By name, in capitals. */
export const systemFunctions: ReadonlyMap<string, SystemFunction> = new Map<string, SystemFunction>([
  ['DEVICE_STATE', deviceState],
  ['DIALPLAN_EXISTS', dialplanExists],
  ['GLOBAL', global],
  ['GLOBAL_DELETE', globalDelete],
  ['GLOBAL_EXISTS', { read: (system, text) => (system.globalVariable(text.trim()) === undefined ? '0' : '1') }],
  ['PJSIP_DIAL_CONTACTS', dialContacts],
  ['PJSIP_ENDPOINT', pjsipEndpoint],
]);
