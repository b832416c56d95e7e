import { defaultAor, defaultSipConfig, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { createSipDriver, type SipDriver } from '../../../src/drivers/sip/driver.ts';
import { createIds } from '../../../src/lib/ids.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { TransactionLayer } from '../../../src/sip/transaction/transaction.ts';
import type { MessageHandler } from '../../../src/sip/transport/transport.ts';
import type { Leg, LegData, LegReport } from '../../../src/telephony/driver.ts';
import type { MediaReport, RtpSession } from '../../../src/telephony/media.ts';
import { FakeTransports, settle } from '../../sip/transaction/fake-transports.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { createProcessClock } from '../../support/process-clock.ts';
import { driverData } from '../../support/snapshots.ts';
import { endpoint, FakeMedia } from './support.ts';

/** Gives a leg that is restored the port that it had. */
class StableMedia extends FakeMedia {
  readonly #locals = new Map<string, { address: string; port: number }>();

  override async openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession> {
    const session = await super.openRtp(id, told);
    const local = this.#locals.get(id) ?? session.local;
    this.#locals.set(id, local);
    return Object.assign(session, { local });
  }
}

/** One call as call control has it. */
export type BesetCall = {
  readonly id: string;
  leg: Leg;
  /** What was told of it. */
  readonly told: LegReport['type'][];
};

/** A server on simulated time and network that is saved and restored whenever the test likes. */
export class Beset {
  readonly clock = new ManualClock();
  readonly transports = new FakeTransports(this.clock);
  readonly media = new StableMedia();
  readonly errors: string[] = [];
  readonly calls: BesetCall[] = [];
  readonly #start = this.clock.now();
  readonly #ids = createIds(this.clock);
  readonly #log: Logger;
  readonly #terms: Partial<EndpointConfig>;
  #handler: MessageHandler = () => {};
  #process: { driver: SipDriver; transactions: TransactionLayer; end(): void };

  constructor(terms: Partial<EndpointConfig>) {
    const silent = () => {};
    const log: Logger = {
      ...{ trace: silent, debug: silent, info: silent, warn: silent },
      error: (fields, text) => this.errors.push(`${text} ${String((fields as { error?: Error }).error?.stack)}`),
      child: () => log,
      enabled: () => false,
    };
    this.#log = log;
    this.#terms = terms;
    this.transports.onMessage((message, source) => this.#handler(message, source));
    this.#process = this.#begin();
  }

  /** ms. */
  get sinceStart(): number {
    return this.clock.now() - this.#start;
  }

  get driver(): SipDriver {
    return this.#process.driver;
  }

  /** Calls somebody. */
  call(resource: string): void {
    const id = `out-${this.calls.length}`;
    const call: BesetCall = { id, told: [], leg: undefined as unknown as Leg };
    const request = { channelId: id, resource, caller: { name: 'Us', number: '100' }, variables: {} };
    call.leg = this.driver.open(request, this.#reportOf(call)).leg;
    this.calls.push(call);
    call.leg.dial();
  }

  /**
   * Another process takes the place of this one. Not while an INVITE is open whose call was hung up already: that is
   * nobody's by then, and would be forgotten.
   */
  restoreSnapshot(): void {
    const old = this.#process;
    const hungUp = this.calls.some(({ id, told }) => id.startsWith('out') && told.includes('leg.ended'));
    if (hungUp && old.driver.counts().pending > 0) return;
    const put = JSON.stringify({
      transactions: old.transactions.dump(),
      driver: driverData(old.driver),
      legs: this.calls.map(({ id, leg, told }) => (told.includes('leg.ended') ? undefined : { id, data: leg.dump() })),
    });
    old.end();
    this.#process = this.#begin();
    const { transactions, driver, legs } = JSON.parse(put);
    this.#process.transactions.restore(transactions);
    this.#process.driver.restore(driver);
    for (const { id, data } of (legs as ({ id: string; data: LegData } | null)[]).filter((each) => each !== null)) {
      const call = this.calls.find((each) => each.id === id)!;
      call.leg = this.driver.resume(data, id, this.#reportOf(call));
    }
  }

  /** Lets everything run out; what is left then. */
  async leftovers() {
    await settle();
    for (const { leg } of this.calls) {
      leg.hangup(16);
      leg.release();
    }
    for (let minute = 0; minute < 6; minute++) {
      this.clock.advance(60_000);
      await settle();
    }
    const { dialogs, pending, qualifying, subscriptions, referrals, legs } = this.driver.counts();
    const { clients, servers } = this.#process.transactions.counts();
    return {
      ...{ dialogs, pending, qualifying, subscriptions, referrals, legs, clients, servers },
      sessions: this.media.sessions.size,
      timers: this.clock.pending,
      errors: this.errors,
    };
  }

  #reportOf(call: BesetCall): (report: LegReport) => void {
    return ({ type }) => {
      call.told.push(type);
      if (type === 'leg.hungUp' || type === 'leg.forwarded') call.leg.hangup(16);
      if (type === 'leg.ended') call.leg.release();
    };
  }

  #begin() {
    const { clock, transports } = this;
    const life = createProcessClock(clock);
    const own = life.clock;
    const socket = {
      onMessage: (handler: MessageHandler) => {
        this.#handler = handler;
      },
      onMalformed() {},
      onConnectionClosed() {},
      localAddress: () => transports.localAddress(),
      isConnected: () => true,
      send: (...args: Parameters<FakeTransports['send']>) => {
        if (life.alive) transports.send(...args);
      },
    };
    const ids = this.#ids;
    const log = this.#log;
    const transactions = createTransactionLayer({ transports: socket, clock: own, ids, log });
    const driver = createSipDriver({
      config: {
        ...defaultSipConfig,
        endpoints: [
          endpoint('peer', {
            match: ['192.0.2.0/24'],
            aor: { ...defaultAor, contacts: ['sip:peer@192.0.2.9:5070'] },
            ...this.#terms,
          }),
        ],
      },
      transports: socket,
      transactions,
      media: this.media,
      host: {
        incoming: (incoming) => {
          const call: BesetCall = { id: `in-${this.calls.length}`, told: [], leg: undefined as unknown as Leg };
          this.calls.push(call);
          call.leg = incoming.open(call.id, this.#reportOf(call));
          return true;
        },
      },
      contacts: { registered() {}, removed() {} },
      clock: own,
      ids,
      log,
      resolveHost: async () => '192.0.2.9',
    });
    driver.start();
    return {
      driver,
      transactions,
      end() {
        life.end();
      },
    };
  }
}

/** What a server holds of which everything has ended. */
export const nothingHeld = {
  ...{ dialogs: 0, pending: 0, qualifying: 0, subscriptions: 0, referrals: 0, legs: 0, clients: 0, servers: 0 },
  ...{ sessions: 0, timers: 0, errors: [] },
};
