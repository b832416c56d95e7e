import { addressMatcher } from '../../lib/addresses.ts';
import { AriError } from '../../models/errors.ts';
import type { HttpUser } from '../user.ts';
import { intersection, type OperationName, readScope, type Scope } from './scope.ts';

/** The rights of one user, read once from its settings. Only this file decides about them. */
export type Access = {
  /** The user's scope; undefined without one (`read_only` still limits changes). */
  readonly scope: Scope | undefined;
  /** Whether the user may come from an address. */
  mayCome(address: string): boolean;
  /** Whether the user may use the operation at all, on any object. */
  mayDo(operation: OperationName): boolean;
};

const known = new WeakMap<HttpUser, Access>();

/** The rights of a user, computed once: user objects are immutable. */
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

/** Denied addresses win over allowed ones; without a list of allowed ones all others pass. */
function sourceTest(allowed: readonly string[] | undefined, denied: readonly string[] = []) {
  if (allowed === undefined && denied.length === 0) return () => true;
  const [within, without] = [allowed?.map(addressMatcher), denied.map(addressMatcher)];
  return (address: string): boolean =>
    !without.some((matches) => matches(address)) && (within?.some((matches) => matches(address)) ?? true);
}

/** The error text of a refused right. */
export const notCovered = (user: HttpUser, what: string): AriError =>
  new AriError('scopeDenied', { user: user.name, what });

/**
 * Refuses operations that a user may not use on any object.
 * @param operation undefined for undeclared ones: read-only users may then only read.
 * @throws AriError writeAccessDenied, scopeDenied.
 */
export function requireMayDo(user: HttpUser, method: string, operation: OperationName | undefined): void {
  if (!user.read_only && user.scope === undefined && user.token === undefined) return;
  const looks = operation?.changesNothing ?? (method === 'GET' || method === 'OPTIONS');
  if (user.read_only && !looks && method !== 'OPTIONS') throw new AriError('writeAccessDenied');
  if (operation && !accessOf(user).mayDo(operation))
    throw notCovered(user, `the operation ${operation.resource}:${operation.nickname}`);
}
