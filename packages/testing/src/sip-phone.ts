import { defaultEndpoint, defaultSipConfig } from '../../../src/drivers/sip/config.ts';
import { createSipDriver } from '../../../src/drivers/sip/driver.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { defaultMediaConfig } from '../../../src/media/config.ts';
import { startInline } from '../../../src/media/inline-thread.ts';
import { createMediaPlane } from '../../../src/media/media-plane.ts';
import { fieldsOf, registrationAttributes } from '../../../src/models/endpoint-attributes.ts';
import type { AudioCodec } from '../../../src/sip/sdp/codecs.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import { createKnownPeers } from '../../../src/sip/transport/known-peers.ts';
import { createTransports } from '../../../src/sip/transport/transports.ts';
import type { Leg, LegReport } from '../../../src/telephony/driver.ts';
import type { ManualClock } from '../../../src/virtual/manual-clock.ts';
import type { VirtualHost } from '../../../src/virtual/network.ts';
import { createRandom, createRandom32, createSeededIds } from '../../../src/virtual/random.ts';

/** One call of a virtual phone. */
export type PhoneCall = { leg: Leg; reports: LegReport['type'][] };

/** What the person at the phone does. */
type Person = {
  /** A call comes in. */
  called(call: PhoneCall): void;
  /** Something happens to a call, and is written down already. */
  heard(call: PhoneCall, report: LegReport): void;
};

/** Answers at once and talks (a tone) as long as the call is up. */
const talker: Person = {
  called: ({ leg }) => leg.answer(),
  heard: ({ leg }, { type }) => {
    if (type === 'leg.answered') leg.media.indicate('ringing');
  },
};

type PhoneOptions = { person?: Person; soundsDirectory?: string; codecs?: readonly AudioCodec[] };

const quiet = (): void => {};
const silentLog: Logger = {
  ...{ trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet },
  child: () => silentLog,
  enabled: () => false,
};

/** A phone on a simulated network: our own SIP stack and audio, and a person. */
export async function createVirtualPhone(
  name: string,
  host: VirtualHost,
  { clock, seed }: { clock: ManualClock; seed: number },
  { person = talker, soundsDirectory, codecs = defaultEndpoint.codecs }: PhoneOptions = {},
) {
  const random = createRandom(seed);
  const ids = createSeededIds(clock, random);
  const startThread = startInline({ clock, sockets: host.sockets, random32: createRandom32(random) });
  const sounds = soundsDirectory === undefined ? {} : { soundsDirectories: [soundsDirectory] };
  const config = { ...defaultMediaConfig, address: host.address, ...sounds };
  const media = createMediaPlane({ config, clock, log: silentLog, startThread });
  const transports = createTransports({ clock, log: silentLog, openUdp: host.openUdp });
  await transports.bind([{ protocol: 'udp', host: host.address, port: 5060 }]);
  const peers = createKnownPeers();
  const timers = { t1: 500, t2: 4_000, t4: 5_000 };
  const transactions = createTransactionLayer({ transports, clock, ids, log: silentLog, timers, peers });
  const calls: PhoneCall[] = [];
  const messages: string[] = [];
  const contacts = new Map<string, string>();
  const aor = { ...defaultEndpoint.aor, maxContacts: 10 };
  const anybody = { ...defaultEndpoint, codecs, aor, name: 'anybody', match: ['0.0.0.0/0'] };
  const hears = (call: PhoneCall) => (report: LegReport) => {
    call.reports.push(report.type);
    person.heard(call, report);
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
        person.called(call);
        return true;
      },
    },
    contacts: {
      registered: ({ id, uri }) => void contacts.set(id, uri),
      removed: (id) => void contacts.delete(id),
    },
    messageReceived: ({ body }) => void messages.push(body),
    clock,
    ids,
    log: silentLog,
    peers,
  });
  driver.start();
  return {
    calls,
    /** Texts that came in. */
    messages,
    /** The URIs that are registered here, as at a provider. */
    contacts: () => [...contacts.values()],
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
    /** Registers at a SIP URI, or takes that back. @returns what the registrar said */
    async register(server: string, on = true): Promise<string> {
      const registration = { ...fieldsOf(registrationAttributes, {}), server, client: server };
      driver.setEndpoint({ ...anybody, name: 'line', match: [], registrations: [registration] });
      const [line] = driver.wantedRegistrations();
      const answer = await driver.register(line!, on ? line!.expiresMs : 0);
      return 'reason' in answer ? answer.reason : answer.type;
    },
    async close() {
      driver.close();
      transactions.close();
      await transports.close();
      await media.close();
    },
  };
}
