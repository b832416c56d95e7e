import { isNetwork } from '../../../src/lib/addresses.ts';
import { type Section, Values } from './source.ts';

/** Access lists: `acl.conf`, and `permit`, `deny` and `acl` of objects in `pjsip.conf`. */

/**
 * Addresses that a list admits: all, those of `allowed` (left out: all) except `denied`, or `unknown` for nested
 * exceptions that cannot be translated.
 */
export type Access =
  | 'everybody'
  | 'unknown'
  | { readonly allowed?: readonly string[]; readonly denied: readonly string[] };

/** Every IPv4 or IPv6 address. */
const everything = new Set(['0.0.0.0/0', '0.0.0.0/0.0.0.0', '0.0.0.0', '::/0', '::']);

/** `192.0.2.1:5060`, `[2001:db8::1]:5060`, `[2001:db8::1]`, `sip.example.org:5060`: the host, and whether a port is named. */
export function splitPort(text: string): { host: string; hasPort: boolean } {
  const [, bracketed, plain, port, mask = ''] = /^(?:\[([^\]]*)\]|([^:/]*))(:\d{1,5})?(\/.*)?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? { host: text, hasPort: false } : { host: `${host}${mask}`, hasPort: port !== undefined };
}

/** `10.0.0.0/255.255.0.0` as `10.0.0.0/16`, `[::1]` as `::1`; undefined for a name. */
export function asNetwork(given: string): string | undefined {
  const text = given.replace(/^\[([^\]]*)\]/, '$1');
  const [address = '', mask = ''] = text.split('/');
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(mask)) return isNetwork(text) ? text : undefined;
  const bits = mask
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits) && isNetwork(address)
    ? `${address}/${bits.indexOf('0') < 0 ? 32 : bits.indexOf('0')}`
    : undefined;
}

/** Makes what knows the lists of `acl.conf` by name. */
export function createAccess(sections: readonly Section[]): (values: Values, prefix?: 'contact_') => Access {
  const lists = new Map(sections.map((section) => [section.name.toLowerCase(), new Values(section)]));

  /** The result of one list's rules: the last matching one decides; addresses without a match are admitted. */
  const ownOf = (values: Values, prefix: string): Access => {
    // Both are read, so that neither is reported as unused.
    for (const name of ['permit', 'deny']) values.text(`${prefix}${name}`);
    let allowed: string[] | undefined;
    let denied: string[] = [];
    for (const { key, value } of values.entries) {
      const name = key.toLowerCase();
      const isPermit = name === `${prefix}permit`;
      if (!isPermit && name !== `${prefix}deny`) continue;
      for (const item of value.split(',').map((each) => each.trim())) {
        if (item === '') continue;
        const network = asNetwork(item);
        if (everything.has(item)) [allowed, denied] = [isPermit ? undefined : [], []];
        else if (network === undefined) return 'unknown';
        else if (!isPermit) denied.push(network);
        else if (denied.length > 0) return 'unknown';
        else allowed?.push(network);
      }
    }
    if (allowed === undefined && denied.length === 0) return 'everybody';
    return { ...(allowed && { allowed }), denied };
  };

  /** Results by object and prefix: many may share an object. */
  const known = new WeakMap<Values, Map<string, Access>>();
  const once = (values: Values, kind: string, find: () => Access): Access => {
    const found = known.get(values) ?? new Map<string, Access>();
    known.set(values, found);
    const access = found.get(kind) ?? find();
    found.set(kind, access);
    return access;
  };
  const accessTo = (values: Values, prefix: string): Access => {
    const named = values.list(`${prefix}acl`).map((name) => {
      const list = lists.get(name.toLowerCase());
      return list ? once(list, 'list', () => ownOf(list, '')) : 'unknown';
    });
    return together([ownOf(values, prefix), ...named]);
  };
  return (values, prefix = '' as never) => once(values, `of ${prefix}`, () => accessTo(values, prefix));
}

/** Addresses that all lists admit. */
export function together(all: readonly Access[]): Access {
  const bounds = all.filter((access) => access !== 'everybody');
  const [first = 'everybody'] = bounds;
  return bounds.every((access) => JSON.stringify(access) === JSON.stringify(first)) ? first : 'unknown';
}
