import type { Clock } from '../../lib/clock.ts';
import { guarded } from '../../lib/guard.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { readBindingResponse, writeBindingRequest } from '../../lib/stun.ts';
import type { OpenUdp } from './udp.ts';

type ExternalAddressOptions = {
  /** The server's address; looked up each time. Rejects if it cannot be found. */
  readonly server: () => Promise<{ address: string; port: number }>;
  /** The address that we send from. */
  readonly bind: string;
  readonly openUdp: OpenUdp;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
};

/** Our address as the network outside sees it. */
export interface ExternalAddress {
  /** Undefined before it was learned; what was learned last stays, also when the server is gone. */
  readonly now: string | undefined;
  close(): Promise<void>;
}

/**
 * Transmissions of a request (RFC 8489 6.2.1), the first interval, which doubles, and the time between requests, in ms.
 */
const REQUESTS = 7;
const FIRST_WAIT_MS = 500;
const ASK_EVERY_MS = 60_000;

/** Asks a STUN server for our address periodically. Nothing of it throws; what fails is logged. */
export async function learnExternalAddress(options: ExternalAddressOptions): Promise<ExternalAddress> {
  const { clock, ids, log } = options;
  let known: string | undefined;
  let id = '';
  let timer: unknown;
  let closed = false;

  const later = (ms: number, act: () => void) => {
    clock.clearTimeout(timer);
    if (!closed) timer = clock.setTimeout(guarded(log, 'asking for the address outside', act), ms);
  };

  const socket = await options.openUdp({
    listen: { protocol: 'udp', host: options.bind, port: 0 },
    onDatagram: guarded(log, 'reading an answer of STUN', (bytes: Buffer) => {
      const mapped = readBindingResponse(bytes, id);
      if (!mapped || closed) return;
      if (mapped.address !== known) log.info({ address: mapped.address }, 'learned the public address');
      known = mapped.address;
      // One answer per request: later ones are ignored.
      id = '';
      later(ASK_EVERY_MS, ask);
    }),
    onError: () => {},
  });

  const send = (to: { address: string; port: number }, left: number, waitMs: number) => {
    if (left === 0) {
      log.warn({ server: to.address }, 'a STUN server does not answer');
      return later(ASK_EVERY_MS, ask);
    }
    socket.send(writeBindingRequest(id), to.address, to.port, () => {});
    later(waitMs, () => send(to, left - 1, waitMs * 2));
  };

  const ask = () => {
    id = ids.hex(24);
    options.server().then(
      (to) => closed || send(to, REQUESTS, FIRST_WAIT_MS),
      (error: unknown) => {
        log.warn({ reason: (error as Error).message }, 'cannot resolve a STUN server');
        later(ASK_EVERY_MS, ask);
      },
    );
  };
  ask();

  return {
    get now() {
      return known;
    },
    close() {
      closed = true;
      clock.clearTimeout(timer);
      return socket.close();
    },
  };
}
