import Type from 'typebox';
import { Ban } from '../../models/ban.ts';
import { AriError } from '../../models/errors.ts';
import { operation, pathParam, type Resource } from '../operation.ts';

/** Bans: who gave wrong passwords. */
export const bans: Resource = {
  name: 'bans',
  description: 'Bans: addresses that gave wrong passwords of late, by SIP or HTTP, and are slowed or ignored for it.',
  operations: [
    operation({
      method: 'GET',
      path: '/bans',
      nickname: 'list',
      summary: 'List the addresses that something counts against.',
      notes: 'Those with `ignored_until` are ignored; in the order of their last wrong log-in.',
      owner: 'bans',
      returns: Type.Array(Ban),
      handle: (bans) => bans.list(),
    }),
    operation({
      method: 'DELETE',
      path: '/bans/{address}',
      nickname: 'lift',
      summary: 'Clear the wrong log-ins of an address and stop ignoring it.',
      owner: 'bans',
      params: { address: pathParam('The address, as listed (with `/` as `%2F`) or any that belongs to it.') },
      errors: ['banNotFound'],
      handle: (bans, { address }) => lift(bans, address),
    }),
  ],
};

function lift(bans: { lift(address: string): boolean }, address: string): void {
  if (!bans.lift(address)) throw new AriError('banNotFound');
}
