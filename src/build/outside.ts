import { lookup } from 'node:dns/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';
import { addressMatcher } from '../lib/addresses.ts';
import { type ExternalAddress, learnExternalAddress } from '../sip/transport/external-address.ts';
import { openUdpSocket } from '../sip/transport/udp.ts';
import type { Base } from './base.ts';

/** The settings that say how others see us. */
export const outsideSettings = ['sip.external_address', 'sip.stun_server', 'sip.local_networks'];

/** Our address as others see it. */
interface Outside {
  /**
   * The address that a peer must use, if it is not our own. Undefined for peers in our own networks, and while nothing
   * is known.
   */
  of(peer: string | undefined): string | undefined;
  /** Applies other settings. The previous STUN result holds until the next one. */
  reconfigure(next: Config): void;
}

/** The server that is to be asked; '' for none, as where the address is configured. */
const serverOf = ({ sip }: Config): string => (sip.external_address === '' ? sip.stun_server : '');

/** As configured, or as a STUN server says. */
export async function buildOutside({ config, clock, ids, log: parent, scope, io }: Base): Promise<Outside> {
  const log = parent.child({ part: 'sip' });
  let settings = config.sip;
  let isLocal = settings.local_networks.map(addressMatcher);
  let server = serverOf(config);
  let learned: ExternalAddress | undefined;
  /** The previous server's result. */
  let before: string | undefined;
  let closed = false;

  const learn = async (asked: string): Promise<void> => {
    const next = await learnExternalAddress({
      server: () => stunServer(asked),
      bind: '0.0.0.0',
      openUdp: io.openUdp ?? openUdpSocket,
      ...{ clock, ids, log },
    });
    // Others may have been wanted while the socket was opened.
    if (closed || asked !== server) return void (await next.close());
    learned = next;
  };

  if (server !== '') await learn(server);
  scope.defer(() => {
    closed = true;
    return learned?.close();
  });

  return {
    of: (peer) =>
      peer !== undefined && isLocal.some((matches) => matches(peer))
        ? undefined
        : settings.external_address || (server === '' ? undefined : (learned?.now ?? before)),
    reconfigure(next) {
      if (!isDeepStrictEqual(next.sip.local_networks, settings.local_networks))
        isLocal = next.sip.local_networks.map(addressMatcher);
      settings = next.sip;
      if (serverOf(next) === server) return;
      server = serverOf(next);
      before = learned?.now ?? before;
      learned?.close().catch((error: unknown) => log.warn({ error }, 'a socket of STUN could not be closed'));
      learned = undefined;
      if (server !== '')
        learn(server).catch((error: unknown) => log.error({ error, server }, 'cannot send to a STUN server'));
    },
  };
}

/** `host` or `host:port`. @throws Error (rejects) when the host has no IPv4 address. */
async function stunServer(text: string): Promise<{ address: string; port: number }> {
  const [host = '', port = '3478'] = text.split(':');
  return { address: (await lookup(host, { family: 4 })).address, port: Number(port) };
}
