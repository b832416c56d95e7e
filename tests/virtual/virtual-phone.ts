import { defaultEndpoint, defaultSipConfig } from '../../src/drivers/sip/config.ts';
import { createSipDriver } from '../../src/drivers/sip/driver.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { startInline } from '../../src/media/inline-thread.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { createTransactionLayer } from '../../src/sip/transaction/layer.ts';
import { createKnownPeers } from '../../src/sip/transport/known-peers.ts';
import { createTransports } from '../../src/sip/transport/transports.ts';
import type { Leg, LegReport } from '../../src/telephony/driver.ts';
import type { ManualClock } from '../../src/virtual/manual-clock.ts';
import type { VirtualHost } from '../../src/virtual/network.ts';
import { createRandom, createRandom32, createSeededIds } from '../../src/virtual/random.ts';
import { silentLog } from '../support/log.ts';

/** One call of a virtual phone. */
export type PhoneCall = { leg: Leg; reports: LegReport['type'][] };

/**
 * A phone on a simulated network: our own SIP stack and audio with a person who answers at once and talks (a tone)
 * as long as the call is up.
 */
export async function createVirtualPhone(name: string, host: VirtualHost, clock: ManualClock, seed: number) {
  const random = createRandom(seed);
  const ids = createSeededIds(clock, random);
  const startThread = startInline({ clock, sockets: host.sockets, random32: createRandom32(random) });
  const config = { ...defaultMediaConfig, address: host.address };
  const media = createMediaPlane({ config, clock, log: silentLog, startThread });
  const transports = createTransports({ clock, log: silentLog, openUdp: host.openUdp });
  await transports.bind([{ protocol: 'udp', host: host.address, port: 5060 }]);
  const peers = createKnownPeers();
  const timers = { t1: 500, t2: 4_000, t4: 5_000 };
  const transactions = createTransactionLayer({ transports, clock, ids, log: silentLog, timers, peers });
  const calls: PhoneCall[] = [];
  const anybody = { ...defaultEndpoint, name: 'anybody', match: ['0.0.0.0/0'] };
  const hears = (call: PhoneCall) => (report: LegReport) => {
    call.reports.push(report.type);
    if (report.type === 'leg.answered') call.leg.media.indicate('ringing');
    if (report.type === 'leg.hungUp') call.leg.hangup(16);
    if (report.type === 'leg.ended') call.leg.release();
  };
  const driver = createSipDriver({
    config: { ...defaultSipConfig, endpoints: [anybody] },
    transports,
    transactions,
    media,
    host: {
      incoming(incoming) {
        const call = { reports: [] } as unknown as PhoneCall;
        call.leg = incoming.open(`${name}-in-${calls.length}`, hears(call));
        calls.push(call);
        call.leg.answer();
        return true;
      },
    },
    contacts: { registered: () => {}, removed: () => {} },
    clock,
    ids,
    log: silentLog,
    peers,
  });
  driver.start();
  return {
    calls,
    /** Calls a SIP URI. */
    dial(uri: string): PhoneCall {
      const call = { reports: [] } as unknown as PhoneCall;
      const caller = { name, number: name };
      const resource = `anybody/${uri}`;
      const request = { channelId: `${name}-out-${calls.length}`, resource, caller, variables: {} };
      call.leg = driver.open(request, hears(call)).leg;
      calls.push(call);
      call.leg.dial();
      return call;
    },
    async close() {
      driver.close();
      transactions.close();
      await transports.close();
      await media.close();
    },
  };
}
