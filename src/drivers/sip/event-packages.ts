import type { DeviceStateWord } from '../../models/device-state.ts';
import type { CallView } from './legs.ts';

/**
 * Event packages for subscriptions of phones (RFC 6665 5), and their documents: pure functions of the present state.
 */

/** How many messages wait in a mailbox. */
export type MailboxCounts = { newMessages: number; oldMessages: number };

/** The subject of a subscription, as plain data. */
export type Subject =
  | { readonly event: 'message-summary'; readonly mailbox: string }
  | { readonly event: 'dialog' | 'presence'; readonly context: string; readonly extension: string };

export type EventPackage = Subject['event'];

/** Content types of the packages. */
export const contentTypes: Readonly<Record<EventPackage, string>> = {
  'message-summary': 'application/simple-message-summary',
  dialog: 'application/dialog-info+xml',
  presence: 'application/pidf+xml',
};

export const isEventPackage = (name: string): name is EventPackage => Object.hasOwn(contentTypes, name);

/** The body of RFC 3842 5.2. @param account the mailbox with a host. */
export function messageSummary(account: string, { newMessages, oldMessages }: MailboxCounts): string {
  return [
    `Messages-Waiting: ${newMessages > 0 ? 'yes' : 'no'}`,
    `Message-Account: sip:${account}`,
    `Voice-Message: ${newMessages}/${oldMessages} (0/0)`,
    '',
  ].join('\r\n');
}

/** The state of an extension for BLF. */
export type BlfState = {
  /** URI of the extension. */
  entity: string;
  extension: string;
  state: DeviceStateWord;
  calls: readonly CallView[];
};

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
/** Escapes text for XML. Leaves out characters that XML cannot hold. */
const xml = (text: string): string =>
  [...text]
    .filter((char) => char >= ' ' && char !== '\u{fffe}' && char !== '\u{ffff}')
    .map((char) => escapes[char] ?? char)
    .join('');
const attributes = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${xml(value)}"`))
    .join('');

/** The state of devices without visible calls: those of applications and other technologies. */
const unseen: Partial<Record<DeviceStateWord, Pick<CallView, 'state' | 'direction' | 'held'>>> = {
  RINGING: { state: 'early', direction: 'recipient', held: false },
  RINGINUSE: { state: 'early', direction: 'recipient', held: false },
  INUSE: { state: 'confirmed', direction: 'recipient', held: false },
  BUSY: { state: 'confirmed', direction: 'recipient', held: false },
  ONHOLD: { state: 'confirmed', direction: 'recipient', held: true },
};

type Call = Pick<CallView, 'id'> & Partial<CallView>;

/** The live calls of an extension. */
export function callsOf({ calls, extension, state }: BlfState): readonly Call[] {
  const standIn = unseen[state];
  return calls.length > 0 || !standIn ? calls : [{ id: extension, ...standIn }];
}

/**
 * Dialog information (RFC 4235 4.1), always in full, so that lost messages do no harm. Calls of the last document that
 * have ended are listed once as terminated. An extension without calls has one terminated dialog, because phones ignore
 * a document without dialogs.
 * @param version number of the document in its subscription, from 0.
 * @param told ids of the calls in the last document.
 */
export function dialogInfo(blf: BlfState, version: number, told: readonly string[]): string {
  const calls = callsOf(blf);
  const over = told.filter((id) => !calls.some((call) => call.id === id));
  const dialogs = [...calls.map(dialogOf), ...over.map(terminated)];
  if (dialogs.length === 0) dialogs.push(terminated(blf.extension));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info"${attributes({ version: String(version), state: 'full', entity: blf.entity })}>`,
    ...dialogs,
    '</dialog-info>',
    '',
  ].join('\r\n');

  function dialogOf({ id, callId, localTag, remoteTag, direction, state, held }: Call): string {
    const about = attributes({ id, 'call-id': callId, 'local-tag': localTag, 'remote-tag': remoteTag, direction });
    // RFC 4235 4.1.6.2, RFC 5628: a phone that does not render the call has it on hold.
    const rendering = held ? '<param pname="+sip.rendering" pvalue="no"/>' : '';
    const target = `<local><target${attributes({ uri: blf.entity })}>${rendering}</target></local>`;
    return `<dialog${about}><state>${state}</state>${target}</dialog>`;
  }
}

const terminated = (id: string): string => `<dialog${attributes({ id })}><state>terminated</state></dialog>`;

/** Whether it can be reached, what it does (RFC 4480 3.2), and that in words. */
type Presence = { basic: 'open' | 'closed'; activities: readonly string[]; note: string };

const reachable: Presence = { basic: 'open', activities: [], note: 'Ready' };
const ringing: Presence = { basic: 'open', activities: ['busy'], note: 'Ringing' };
const talking: Presence = { basic: 'open', activities: ['on-the-phone', 'busy'], note: 'On the phone' };
const away: Presence = { basic: 'closed', activities: ['away'], note: 'Unavailable' };

const presences: Readonly<Record<DeviceStateWord, Presence>> = {
  UNKNOWN: reachable,
  NOT_INUSE: reachable,
  INUSE: talking,
  BUSY: talking,
  INVALID: away,
  UNAVAILABLE: away,
  RINGING: ringing,
  RINGINUSE: talking,
  ONHOLD: { ...talking, note: 'On hold' },
};

/** Presence information (RFC 3863, with the person of RFC 4479 and activities of RFC 4480). */
export function presence({ entity, extension, state }: BlfState): string {
  const { basic, activities, note } = presences[state];
  const id = `id-${Buffer.from(extension).toString('hex')}`;
  const doing = activities.length === 0 ? ['unknown'] : activities;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<presence xmlns="urn:ietf:params:xml:ns:pidf" xmlns:dm="urn:ietf:params:xml:ns:pidf:data-model"' +
      ` xmlns:rpid="urn:ietf:params:xml:ns:pidf:rpid"${attributes({ entity })}>`,
    `<tuple id="${id}"><status><basic>${basic}</basic></status>` +
      `<contact priority="1">${xml(entity)}</contact><note>${note}</note></tuple>`,
    `<dm:person id="p-${id}"><rpid:activities>${doing.map((each) => `<rpid:${each}/>`).join('')}</rpid:activities>` +
      `<dm:note>${note}</dm:note></dm:person>`,
    '</presence>',
    '',
  ].join('\r\n');
}
