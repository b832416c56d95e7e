import { addressMatcher } from '../../lib/addresses.ts';
import { AriError } from '../../models/errors.ts';
import type { HttpUser } from '../user.ts';
import { intersection, type OperationName, readScope, type Scope } from './scope.ts';

/** What one user may do, read once from its settings. This is the one place that decides. */
export type Access = {
  /** What the user is limited to; undefined when nothing is but, for `read_only`, what may be changed. */
  readonly scope: Scope | undefined;
  /** Whether the user may come from an address. */
  mayCome(address: string): boolean;
  /** Whether the user may do it at all, whatever it is done to. */
  mayDo(operation: OperationName): boolean;
};

const known = new WeakMap<HttpUser, Access>();

/** What a user may do. Objects of users are not changed, so it is read once for each. */
export function accessOf(user: HttpUser): Access {
  const before = known.get(user);
  if (before) return before;
  const access = readAccess(user);
  known.set(user, access);
  return access;
}

function readAccess({ read_only, scope, token, ...user }: HttpUser): Access {
  const settings = [...(scope ? [scope] : []), ...(token?.scopes ?? [])];
  const whole = settings.length > 0 ? intersection(settings.map(readScope)) : undefined;
  return {
    scope: whole,
    mayCome: sourceTest(user.allowed_addresses, user.denied_addresses),
    mayDo: (operation) => (!read_only || operation.changesNothing) && (whole?.operation(operation) ?? true),
  };
}

/** Who is denied is, also when it is allowed; without a list of the allowed everybody else is. */
function sourceTest(allowed: readonly string[] | undefined, denied: readonly string[] = []) {
  if (allowed === undefined && denied.length === 0) return () => true;
  const [within, without] = [allowed?.map(addressMatcher), denied.map(addressMatcher)];
  return (address: string): boolean =>
    !without.some((matches) => matches(address)) && (within?.some((matches) => matches(address)) ?? true);
}

/** What stands behind a refusal, in words. */
export const notCovered = (user: HttpUser, what: string): AriError =>
  new AriError('scopeDenied', { user: user.name, what });

/**
 * Refuses what a user may not do, whatever it is done to.
 * @param operation undefined where nothing is declared: then only looking is let through of who may only look.
 * @throws AriError writeAccessDenied, scopeDenied.
 */
export function requireMayDo(user: HttpUser, method: string, operation: OperationName | undefined): void {
  if (!user.read_only && user.scope === undefined && user.token === undefined) return;
  const looks = operation?.changesNothing ?? (method === 'GET' || method === 'OPTIONS');
  if (user.read_only && !looks && method !== 'OPTIONS') throw new AriError('writeAccessDenied');
  if (operation && !accessOf(user).mayDo(operation))
    throw notCovered(user, `the operation ${operation.resource}:${operation.nickname}`);
}
