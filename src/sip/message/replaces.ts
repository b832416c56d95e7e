import type { SipRequest } from './message.ts';

/** A dialog as another party names it (RFC 3891 6.1): `toTag` is the tag of whoever is asked, `fromTag` that of its peer. */
export type Replaces = {
  readonly callId: string;
  readonly toTag: string;
  readonly fromTag: string;
  /** It means the dialog only as long as that is not answered. */
  readonly earlyOnly: boolean;
};

/** Reads the value of a Replaces header; undefined when a part is missing, doubled or empty. */
export function parseReplaces(value: string): Replaces | undefined {
  const [callId = '', ...params] = value.split(';').map((part) => part.trim());
  const tags = new Map<string, string>();
  let earlyOnly = false;
  for (const param of params) {
    const equals = param.indexOf('=');
    const name = (equals < 0 ? param : param.slice(0, equals)).trim().toLowerCase();
    const text = equals < 0 ? '' : param.slice(equals + 1).trim();
    if (name === 'early-only') earlyOnly = true;
    else if (name === 'to-tag' || name === 'from-tag') {
      if (tags.has(name) || text === '') return undefined;
      tags.set(name, text);
    }
  }
  const [toTag, fromTag] = [tags.get('to-tag'), tags.get('from-tag')];
  if (!/^[^\s,;]+$/.test(callId) || toTag === undefined || fromTag === undefined) return undefined;
  return { callId, toTag, fromTag, earlyOnly };
}

/** The dialog that an INVITE wants to take the place of: undefined without such a wish, `malformed` when it makes no sense. */
export function replacesOf(request: SipRequest): Replaces | 'malformed' | undefined {
  const lines = request.headerLines('Replaces');
  if (lines.length === 0) return undefined;
  // RFC 3891 3: there is one at most.
  return (lines.length === 1 ? parseReplaces(lines[0]!) : undefined) ?? 'malformed';
}
