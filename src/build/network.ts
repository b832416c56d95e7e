import { createMediaPlane } from '../media/media-plane.ts';
import { mediaSettings } from '../settings.ts';
import { createTransactionLayer } from '../sip/transaction/layer.ts';
import { createTransports } from '../sip/transport/transports.ts';
import type { Base } from './base.ts';

/** What packets come in by. Nothing listens yet: see `openSip` of the technologies. */
export type Network = ReturnType<typeof buildNetwork>;

/** The media plane, and SIP up to its transactions. */
export function buildNetwork({ config, clock, ids, log, scope }: Base) {
  const media = createMediaPlane({ config: mediaSettings(config), clock, log: log.child({ part: 'media' }) });
  scope.defer(() => media.close());
  const transports = createTransports({ clock, log: log.child({ part: 'sip' }) });
  scope.defer(() => transports.close());
  const { t1, t2, t4 } = config.sip.timers;
  const timers = { t1, t2, t4 };
  const transactions = createTransactionLayer({ transports, clock, ids, log: log.child({ part: 'sip' }), timers });
  scope.defer(() => transactions.close());
  return { media, transports, transactions };
}
