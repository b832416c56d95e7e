import { readTransferHandling } from '../telephony/driver.ts';
import { shownParty } from '../telephony/party.ts';
import { parseSeconds, splitArguments } from './arguments.ts';
import { parseCallerId, parsePresentation, presentationName, wholeCallerId } from './caller-id.ts';
import type { DialplanFunction, SystemFunction } from './function.ts';
import type { DialplanChannel, DialplanSystem, Identity } from './host.ts';
import { pjsipFunctions } from './pjsip-functions.ts';
import { readRedirection, redirectionChange, redirectionItems, withParty } from './redirecting.ts';
import { setWithin } from './subroutines.ts';
import { systemFunctions } from './system-functions.ts';
import { textFunctions, type Values } from './text-functions.ts';
import { timeoutMs, timeoutVariable } from './timeouts.ts';
import { toneDetect } from './tone-detect.ts';

/** Result of reading a function. `unknown`: no such function; `failed`: invalid arguments, or not readable. */
export type FunctionRead = { ok: true; value: string } | FunctionFailure;
/** Result of writing a function. `unknown`: no such function; `failed`: not writable with this value. */
type FunctionWrite = { ok: true } | FunctionFailure;
type FunctionFailure = { ok: false; reason: 'unknown' | 'failed'; message: string };

/** Whether a variable name asks for a function: it ends with `)`. */
export const isFunction = (name: string): boolean => name.endsWith(')');

/** The functions there are, in capitals as in the documentation; calls may use any case. */
export const functionNames = (): string[] => [...functions.keys()];

/** Reads a function such as `CALLERID(num)`. `${…}` inside is not replaced. Never throws. */
export function readFunction(channel: DialplanChannel, expression: string, values: Values): FunctionRead {
  const call = lookUp(functions, expression);
  return 'ok' in call ? call : asRead(expression, call.found.read?.(channel, call.text, values));
}

/** Writes a function such as `CHANNEL(language)`. Never throws. */
export function writeFunction(channel: DialplanChannel, expression: string, value: string): FunctionWrite {
  const call = lookUp(functions, expression);
  return 'ok' in call ? call : asWrite(expression, call.found, call.found.write?.(channel, call.text, value));
}

/** Reads a function that needs no channel. Never throws. */
export function readSystemFunction(system: DialplanSystem, expression: string): FunctionRead {
  const call = lookUp(systemFunctions, expression);
  return 'ok' in call ? call : asRead(expression, call.found.read?.(system, call.text));
}

/** Writes a function that needs no channel, such as `GLOBAL(name)`. Never throws. */
export function writeSystemFunction(system: DialplanSystem, expression: string, value: string): FunctionWrite {
  const call = lookUp(systemFunctions, expression);
  return 'ok' in call ? call : asWrite(expression, call.found, call.found.write?.(system, call.text, value));
}

const asRead = (expression: string, value: string | undefined): FunctionRead =>
  value === undefined ? failed(`${expression} cannot be read`) : { ok: true, value };
const asWrite = (
  expression: string,
  { takes = 'it can be read only' }: { takes?: string },
  written: boolean | string | undefined,
): FunctionWrite =>
  written === true ? { ok: true } : failed(`${expression} cannot be written so: ${written || takes}`);

const failed = (message: string): FunctionFailure => ({ ok: false, reason: 'failed', message });

/**
 * Asterisk's functions beyond calls: programs, files, databases, other servers. They are refused by name, so that their
 * absence is noticed.
 */
const refused = new Set([
  ...['SHELL', 'FILE', 'FILE_COUNT_LINE', 'FILE_FORMAT', 'STAT', 'ENV', 'IMPORT', 'AST_CONFIG', 'AST_SORCERY'],
  ...['CURL', 'CURLOPT', 'ODBC', 'REALTIME'],
  ...['REALTIME_DESTROY', 'REALTIME_FIELD', 'REALTIME_HASH', 'REALTIME_STORE'],
]);

function lookUp<F>(known: ReadonlyMap<string, F>, expression: string): { found: F; text: string } | FunctionFailure {
  const open = expression.indexOf('(');
  if (open < 1 || !expression.endsWith(')')) return failed(`"${expression}" is no call of a function`);
  const name = expression.slice(0, open).trim().toUpperCase();
  if (refused.has(name)) return failed(`the function ${name} is refused: it reaches beyond calls`);
  const found = known.get(name);
  if (!found) return { ok: false, reason: 'unknown', message: `there is no function ${name}` };
  return { found, text: expression.slice(open + 1, -1) };
}

/** The items of CALLERID and CONNECTEDLINE. */
const readableItems: ReadonlyMap<string, (identity: Identity) => string> = new Map(
  Object.entries({
    all: wholeCallerId,
    name: ({ name }: Identity) => name,
    num: ({ number }: Identity) => number,
    ani: ({ ani = '' }: Identity) => ani,
    dnid: ({ dnid = '' }: Identity) => dnid,
    rdnis: ({ redirection }: Identity) => redirection?.from.number ?? '',
    pres: (identity: Identity) => presentationName(shownParty(identity).presentation ?? 0),
    'num-pres': ({ presentation = 0 }: Identity) => presentationName(presentation),
    'name-pres': ({ presentation = 0, namePresentation = presentation }: Identity) =>
      presentationName(namePresentation),
    'num-valid': ({ number }: Identity) => (number === '' ? '0' : '1'),
    'name-valid': ({ name }: Identity) => (name === '' ? '0' : '1'),
  }),
);

/** CALLERID and CONNECTEDLINE: one item of an identity; empty for an unknown item, as in Asterisk. */
const readIdentity = (identity: Identity, item: string): string | undefined =>
  item === '' ? undefined : (readableItems.get(item)?.(identity) ?? '');

/** The change by writing an item; undefined if it cannot be written. */
function identityChange(identity: Identity, item: string, value: string): Partial<Identity> | undefined {
  switch (item) {
    case 'all':
      return parseCallerId(value);
    case 'name':
      return { name: value };
    case 'num':
      return { number: value };
    case 'ani':
      return { ani: value };
    case 'dnid':
      return { dnid: value };
    case 'rdnis':
      return { redirection: withParty(identity.redirection, 'from', { number: value }) };
    case 'pres':
    case 'num-pres':
    case 'name-pres':
      return presentationChange(identity, item, parsePresentation(value));
    default:
      return undefined;
  }
}

function presentationChange(
  identity: Identity,
  item: 'pres' | 'num-pres' | 'name-pres',
  presentation: number | undefined,
): Partial<Identity> | undefined {
  if (presentation === undefined) return undefined;
  if (item === 'name-pres') return { namePresentation: presentation };
  const { presentation: before = 0, namePresentation = before } = identity;
  if (item === 'num-pres') return { presentation, namePresentation };
  return { presentation, ...(identity.namePresentation !== undefined && { namePresentation: presentation }) };
}

/** Items with two names. */
const itemAliases: ReadonlyMap<string, string> = new Map([
  ['number', 'num'],
  ['ani-num', 'ani'],
]);

/** The item that a call of a function names, by its first name. */
const identityItem = (text: string): string => {
  const item = (splitArguments(text)[0] ?? '').trim().toLowerCase();
  return itemAliases.get(item) ?? item;
};

const identityItems =
  'the items are all, name, num, ani, dnid, rdnis, and pres, num-pres, name-pres with a presentation (allowed, prohib, unavailable …)';

const callerId: DialplanFunction = {
  takes: identityItems,
  read: (channel, text) => readIdentity(channel.caller(), identityItem(text)),
  write: (channel, text, value) => {
    const change = identityChange(channel.caller(), identityItem(text), value);
    if (change) channel.setCaller(change);
    return change !== undefined;
  },
};

const connectedLine: DialplanFunction = {
  takes: identityItems,
  read: (channel, text) => readIdentity(channel.connectedLine(), identityItem(text)),
  write: (channel, text, value) => {
    const change = identityChange(channel.connectedLine(), identityItem(text), value);
    const quietly = (splitArguments(text)[1] ?? '').trim().toLowerCase() === 'i';
    if (change) channel.setConnectedLine(change, quietly);
    return change !== undefined;
  },
};

/** `REDIRECTING(from-num)` and its like: how the call came here, or came to where this channel calls. */
const redirecting: DialplanFunction = {
  takes: redirectionItems,
  read: (channel, text) => readRedirection(channel.caller().redirection, identityItem(text)),
  write: (channel, text, value) => {
    const redirection = redirectionChange(channel.caller().redirection, identityItem(text), value);
    if (redirection) channel.setCaller({ redirection });
    return redirection !== undefined;
  },
};

/** As Asterisk writes it. */
const formatList = (formats: readonly string[]): string => `(${formats.join('|') || 'nothing'})`;

const channelItems: Readonly<Record<string, (channel: DialplanChannel) => string>> = {
  name: (channel) => channel.channel().name,
  state: (channel) => channel.channel().state,
  language: (channel) => channel.channel().language,
  accountcode: (channel) => channel.channel().accountcode,
  tenantid: (channel) => channel.channel().tenantid ?? '',
  hangupsource: ({ hangupSource }) => hangupSource,
  musicclass: ({ musicClass }) => musicClass,
  peeraccount: ({ peerAccount }) => peerAccount,
  channeltype: (channel) => channel.technology,
  uniqueid: (channel) => channel.id,
  linkedid: (channel) => channel.linkedId,
  context: (channel) => channel.channel().dialplan.context,
  exten: (channel) => channel.channel().dialplan.exten,
  endpoint: (channel) => channel.endpoint?.[1] ?? '',
  priority: (channel) => String(channel.channel().dialplan.priority ?? ''),
  audionativeformat: ({ formats }) => formatList(formats),
  audioreadformat: ({ formats: [current = 'slin'] }) => current,
  audiowriteformat: ({ formats: [current = 'slin'] }) => current,
  videonativeformat: ({ videoFormats }) => formatList(videoFormats),
  'pjsip,call-id': (channel) => channel.channel().protocol_id,
};

const channelFunction: DialplanFunction = {
  takes: 'the items are language, accountcode, peeraccount, musicclass and tenantid',
  read: (channel, text) => {
    const item = text.replaceAll(/\s/g, '').toLowerCase();
    if (item === 'pjsip,remote_addr') return channel.source;
    return Object.hasOwn(channelItems, item) ? channelItems[item]!(channel) : undefined;
  },
  write: (channel, text, value) => {
    const item = text.trim().toLowerCase();
    if (item === 'language') channel.setLanguage(value);
    else if (item === 'accountcode') channel.setAccountCode(value);
    else if (item === 'peeraccount') channel.setPeerAccount(value);
    else if (item === 'musicclass') channel.setMusicClass(value);
    else if (item === 'tenantid') channel.setTenantId(value);
    else return false;
    return true;
  },
};

/** Default silence that ends talking, in ms, and default level of talking. */
const standardTalk = { silenceMs: 2_500, thresholdLevel: 256 } as const;

/** `TALK_DETECT(set)=[silence in ms][,level]`, `TALK_DETECT(remove)`. */
const talkDetect: DialplanFunction = {
  takes: 'the items are remove, and set with [silence in ms][,level], whole numbers',
  write: (channel, text, value) => {
    const action = text.trim().toLowerCase();
    if (action === 'remove') channel.detectTalking(undefined);
    if (action !== 'set') return action === 'remove';
    const [silence = '', level = ''] = splitArguments(value).map((each) => each.trim());
    if (![silence, level].every((each) => /^\d{0,9}$/.test(each))) return false;
    channel.detectTalking({
      silenceMs: Number(silence) || standardTalk.silenceMs,
      thresholdLevel: Number(level) || standardTalk.thresholdLevel,
    });
    return true;
  },
};

/** `HOLD_INTERCEPT(set)`, `HOLD_INTERCEPT(remove)`; what is assigned does not matter. */
const holdIntercept: DialplanFunction = {
  takes: 'the items are set and remove',
  write: (channel, text) => {
    const action = text.trim().toLowerCase();
    if (action === 'set' || action === 'remove') channel.interceptHold(action === 'set');
    return action === 'set' || action === 'remove';
  },
};

/** `PJSIP_TRANSFER_HANDLING()`: `core`, as without a value, or `ari-only`, for which `client` is another word. */
const transferHandling: DialplanFunction = {
  takes: 'it is core or ari-only',
  write: (channel, _text, value) => {
    const handling = readTransferHandling(value);
    if (handling) channel.handleTransfers(handling);
    return handling !== undefined;
  },
};

/** A function of the system, asked on a channel. */
const ofSystem = ({ read, write, takes }: SystemFunction): DialplanFunction => ({
  ...(takes && { takes }),
  ...(read && { read: ({ system }, text) => read(system, text) }),
  ...(write && { write: ({ system }, text, value) => write(system, text, value) }),
});

const isAbsolute = (item: string): boolean => item.trim().toLowerCase() === 'absolute';

/** The longest time that a timer can measure. */
const longestTimeMs = 2_147_483_647;

/**
 * How long to wait for keys, in s: `TIMEOUT(digit)` for the next one, `TIMEOUT(response)` for the first. And
 * `TIMEOUT(absolute)`, the longest time of the channel from now on: 0 without a limit, and what is left of it when read.
 */
const timeout: DialplanFunction = {
  takes: 'the items are absolute, digit and response, in seconds',
  read: (channel, text) => {
    if (isAbsolute(text)) return String((channel.timeLeft() ?? 0) / 1000);
    const name = timeoutVariable(text);
    return name && String(timeoutMs(channel, name) / 1000);
  },
  write: (channel, text, value) => {
    const ms = parseSeconds(value);
    if (isAbsolute(text) && ms !== undefined && ms <= longestTimeMs) {
      channel.limitTime(ms || undefined);
      return true;
    }
    const name = timeoutVariable(text);
    if (!name || ms === undefined) return false;
    channel.note(name, value.trim());
    return true;
  },
};

/** The items of a hash are variables whose names begin so. */
const hashPrefix = (name: string): string => `~HASH~${name}~`;
const hashItem = (name: string, key: string): string => `${hashPrefix(name)}${key}~`;

/** `HASH(name,key)`: one of the items of a hash, each a variable of the channel. */
const hash: DialplanFunction = {
  takes: 'it names a hash and a key',
  read: (channel, text) => {
    const [name = '', key] = splitArguments(text);
    return name === '' || key === undefined ? undefined : (channel.variable(hashItem(name, key)) ?? '');
  },
  write: (channel, text, value) => {
    const [name = '', key] = splitArguments(text);
    if (name === '' || key === undefined) return false;
    return channel.setVariable(hashItem(name, key), value) || 'the channel has as many variables as it may';
  },
};

/** `HASHKEYS(name)`: the keys of a hash, the latest first. */
const hashKeys: DialplanFunction = {
  read: (channel, text) => {
    const start = hashPrefix(text);
    const keys = channel.variableNames().filter((name) => name.startsWith(start) && name.endsWith('~'));
    return keys
      .map((name) => name.slice(start.length, -1))
      .toReversed()
      .join(',');
  },
};

/** `LOCAL(name)`: a variable that is as it was before when the subroutine is over. */
const local: DialplanFunction = {
  takes: 'it is for subroutines, and names a variable',
  read: (channel, text) => channel.variable(text.trim()) ?? '',
  write: (channel, text, value) => {
    const frame = channel.subroutines.at(-1);
    const name = text.trim();
    return frame !== undefined && name !== '' && setWithin(channel, frame, name, value);
  },
};

/** What a call detail record has that is known before it is made. */
const recordItems: Readonly<Record<string, (channel: DialplanChannel) => string>> = {
  accountcode: (channel) => channel.channel().accountcode,
  src: (channel) => channel.caller().number,
  clid: (channel) => wholeCallerId(channel.caller()),
  dst: (channel) => channel.channel().dialplan.exten,
  dcontext: (channel) => channel.channel().dialplan.context,
  lastapp: (channel) => channel.channel().dialplan.app_name,
  lastdata: (channel) => channel.channel().dialplan.app_data,
  channel: (channel) => channel.channel().name,
  uniqueid: (channel) => channel.id,
  linkedid: (channel) => channel.linkedId,
};

/** Fields that exist only in the record of a leg that has ended. */
const endedItems: ReadonlySet<string> = new Set([
  'start',
  'answer',
  'end',
  'duration',
  'billsec',
  'disposition',
  'dstchannel',
  'amaflags',
  'sequence',
]);

/** `CDR(name)`: a field of the call detail record, or one of the user's own, kept as the variable of that name. */
const callDetail: DialplanFunction = {
  takes: 'the items are accountcode, userfield, and names of your own',
  read: (channel, text) => {
    const item = callDetailItem(text);
    if (item === '' || endedItems.has(item)) return undefined;
    return Object.hasOwn(recordItems, item) ? recordItems[item]!(channel) : (channel.variable(`CDR(${item})`) ?? '');
  },
  write: (channel, text, value) => {
    const item = callDetailItem(text);
    if (item === 'accountcode') channel.setAccountCode(value);
    else if (item === '' || endedItems.has(item) || Object.hasOwn(recordItems, item)) return false;
    else return channel.setVariable(`CDR(${item})`, value) || 'there are too many variables';
    return true;
  },
};

const callDetailItem = (text: string): string => (splitArguments(text)[0] ?? '').trim().toLowerCase();

const functions: ReadonlyMap<string, DialplanFunction> = new Map<string, DialplanFunction>([
  ['CALLERID', callerId],
  ['CDR', callDetail],
  ['CHANNEL', channelFunction],
  ['CONNECTEDLINE', connectedLine],
  ['HASH', hash],
  ['HASHKEYS', hashKeys],
  ['HOLD_INTERCEPT', holdIntercept],
  ['LOCAL', local],
  ...pjsipFunctions,
  ['PJSIP_TRANSFER_HANDLING', transferHandling],
  ['REDIRECTING', redirecting],
  ['TALK_DETECT', talkDetect],
  ['TONE_DETECT', toneDetect],
  ['TIMEOUT', timeout],
  ['TRANSFER_HANDLING', transferHandling],
  ...Object.entries(textFunctions).map(([name, read]): [string, DialplanFunction] => [
    name,
    { read: (_channel, text, values) => read(text, values) },
  ]),
  ...[...systemFunctions].map(([name, each]): [string, DialplanFunction] => [name, ofSystem(each)]),
]);
