import { createRuntime } from '../../../src/actors/spawn.ts';
import { createWatchers } from '../../../src/actors/watchers.ts';
import { defaultAor, defaultSipConfig } from '../../../src/drivers/sip/config.ts';
import { createSipDriver } from '../../../src/drivers/sip/driver.ts';
import { createIds } from '../../../src/lib/ids.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { Leg } from '../../../src/telephony/driver.ts';
import { FakeTransports, settle } from '../../sip/transaction/fake-transports.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { endpoint, FakeMedia } from './support.ts';

/** The driver on simulated time and network, with call control that does what each test says with every call. */
export function createVictim(onCall: (leg: Leg) => void) {
  const clock = new ManualClock();
  const transports = new FakeTransports(clock);
  const errors: string[] = [];
  const silent = () => {};
  const log: Logger = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: (fields, text) => errors.push(`${text} ${JSON.stringify(fields)}`),
    child: () => log,
    enabled: () => false,
  };
  const ids = createIds(clock);
  const media = new FakeMedia();
  const transactions = createTransactionLayer({ transports, clock, ids, log });
  const legs: Leg[] = [];
  const endpoints = [
    endpoint('everybody', { match: ['192.0.2.0/24'], aor: { ...defaultAor, maxContacts: 3 } }),
    endpoint('alice', { auth: { username: 'alice', password: 'x' } }),
  ];
  const watchers = createWatchers({ runtime: createRuntime(clock, log), log });
  const hinted = { devices: ['PJSIP/everybody', 'Stasis:desk'], state: 'INUSE' as const };
  const driver = createSipDriver({
    config: { ...defaultSipConfig, endpoints },
    transports: {
      send: (...args) => transports.send(...args),
      localAddress: () => transports.localAddress(),
      isConnected: () => true,
      onConnectionClosed: silent,
    },
    transactions,
    media,
    host: {
      incoming(call) {
        const leg: Leg = call.open(ids.channel(), ({ type }) => {
          if (type === 'leg.hungUp') leg.hangup(16);
          if (type === 'leg.ended') leg.release();
        });
        legs.push(leg);
        onCall(leg);
        return true;
      },
    },
    contacts: { registered: silent, removed: silent },
    watchers,
    hint: () => hinted,
    clock,
    ids,
    log,
    resolveHost,
  });
  watchers.attach(driver);
  driver.start();
  return { clock, transports, transactions, driver, media, legs, errors };
}

/** Names as resolvers answer them, also those that answer with nothing at all. */
async function resolveHost(host: string): Promise<string> {
  if (host === '' || host === 'silent.example') return null as unknown as string;
  if (host.endsWith('.invalid')) throw new Error('ENOTFOUND');
  return '192.0.2.7';
}

export type Victim = ReturnType<typeof createVictim>;

/** Lets everything run out: nothing may be left but registrations. */
export async function leftovers({ clock, driver, transactions, media, legs, errors }: Victim) {
  await settle();
  for (const leg of legs) {
    leg.hangup(16);
    leg.release();
  }
  for (let minute = 0; minute < 4; minute++) {
    clock.advance(60_000);
    await settle();
  }
  // The longest that a subscription lasts, and the time that its last NOTIFY may take.
  clock.advance(86_400_000 + 64_000);
  await settle();
  const { dialogs, pending, qualifying, subscriptions, referrals, legs: open } = driver.counts();
  const { clients, servers } = transactions.counts();
  const sessions = media.sessions.size;
  return {
    dialogs,
    pending,
    qualifying,
    referrals,
    subscriptions,
    legs: open,
    clients,
    servers,
    sessions,
    timers: clock.pending,
    errors,
  };
}

export const nothing = {
  dialogs: 0,
  pending: 0,
  qualifying: 0,
  referrals: 0,
  subscriptions: 0,
  legs: 0,
  clients: 0,
  servers: 0,
  sessions: 0,
  timers: 0,
  errors: [],
};
