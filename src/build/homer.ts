import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Scope } from '../lib/scope.ts';
import type { HepCollector } from '../models/server-info.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { writeHep } from '../recorder/hep.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { callIdOf } from '../recorder/sip-text.ts';
import { openOutflow } from '../sip/transport/outflow.ts';
import { type OpenUdp, openUdpSocket } from '../sip/transport/udp.ts';

type HepSettings = Config['recorder']['hep'];

/** How it goes with a collector. */
type Standing = Pick<HepCollector, 'state' | 'reason'> & { since: number };

/** A collector, by one of two transports. */
type Way = {
  readonly settings: HepSettings;
  /** False when it is left out. */
  send(packet: Buffer): boolean;
  readonly left: number;
  /** Whether the collector is there, as far as anybody can tell, and since when. */
  readonly standing: Standing;
  close(): void | Promise<void>;
};

type HomerOptions = {
  recorder: Recorder;
  clock: Clock;
  log: Logger;
  scope: Scope;
  open?: OpenUdp | undefined;
};

/** Packets that may be on their way to the system over UDP; beyond it they are left out. */
const mostOnTheirWay = 1_000;

async function openDatagrams(settings: HepSettings, clock: Clock, log: Logger, open: OpenUdp): Promise<Way> {
  const { address, port } = settings;
  const standing: Standing = { state: 'sending', since: clock.now() };
  const socket = await open({
    listen: { protocol: 'udp', host: address.includes(':') ? '::' : '0.0.0.0', port: 0 },
    onDatagram: () => {},
    onError: (error) => log.warn({ error }, 'the socket to the HEP collector reported an error'),
  });
  let onTheirWay = 0;
  let left = 0;
  let complained = false;
  return {
    settings,
    standing,
    send(packet) {
      if (onTheirWay >= mostOnTheirWay) {
        left++;
        return false;
      }
      onTheirWay++;
      socket.send(packet, address, port, (error) => {
        onTheirWay--;
        if (!error) return;
        left++;
        if (!complained) log.warn({ error }, 'a message could not be sent to the HEP collector');
        complained = true;
      });
      return true;
    },
    get left() {
      return left;
    },
    close: () => socket.close(),
  };
}

function openStream(settings: HepSettings, clock: Clock, log: Logger): Way {
  const { address, port, queue } = settings;
  let standing: Standing = { state: 'connecting', since: clock.now() };
  const outflow = openOutflow({
    ...{ address, port, queue, clock },
    told(news) {
      const since = clock.now();
      switch (news.type) {
        case 'connected':
          log.info({ address, port }, 'connected to the HEP collector');
          standing = { state: 'sending', since };
          break;
        case 'full':
          standing = { state: 'behind', since, reason: 'it does not read what is sent' };
          break;
        case 'drained':
          log.info({ address, port }, 'the HEP collector reads again');
          standing = { state: 'sending', since };
          break;
        case 'lost': {
          const before = standing;
          if (before.state !== 'lost')
            log.warn({ address, port, reason: news.reason }, 'the HEP collector is not connected');
          standing = { state: 'lost', since: before.state === 'lost' ? before.since : since, reason: news.reason };
        }
      }
    },
  });
  return {
    settings,
    get standing() {
      return standing;
    },
    send: outflow.send,
    get left() {
      return outflow.left;
    },
    close: outflow.close,
  };
}

/** Sends SIP messages to a collector. */
export type Homer = {
  /**
   * Applies other settings; resolves when they are in force. @throws Error (rejects) with the reason; then the previous
   * ones stay.
   */
  take(next: HepSettings): Promise<void>;
  /** Its state; undefined without a collector and without a failure. */
  standing(): HepCollector | undefined;
};

/**
 * Sends every SIP message to a HEP3 collector over UDP or TCP, if one is configured. Undeliverable messages are counted
 * and reported; nothing waits for it.
 * @throws ListenError (rejects) if no socket can be opened.
 */
export async function buildHomer(
  first: HepSettings,
  { recorder, clock, log, scope, open = openUdpSocket }: HomerOptions,
): Promise<Homer> {
  let asked: HepSettings | undefined = first;
  let way: Way | undefined;
  let unlisten: (() => void) | undefined;
  /** The change that was asked for last; and the same, which never rejects. */
  let changed: Promise<void> = Promise.resolve();
  let changing = changed;
  /** Messages that collectors did not get which were left since. */
  let leftBefore = 0;
  /** A failed change of settings. */
  let refused: { wanted: HepSettings; reason: string; since: number } | undefined;

  const leave = async (): Promise<void> => {
    unlisten?.();
    unlisten = undefined;
    const gone = way;
    way = undefined;
    await gone?.close();
    if (!gone || gone.left === 0) return;
    leftBefore += gone.left;
    log.warn({ messages: gone.left }, 'messages were not sent to the HEP collector');
  };
  const openWay = async (wanted: HepSettings): Promise<Way | undefined> => {
    if (wanted.address === '') return undefined;
    return wanted.transport === 'tcp' ? openStream(wanted, clock, log) : openDatagrams(wanted, clock, log, open);
  };
  const enter = (opened: Way | undefined): void => {
    if (!opened) return;
    way = opened;
    /** Since when it stands as it did when it was said last that messages are left out. */
    let told: number | undefined;
    unlisten = recorder.listen((entry, call) => {
      if (entry?.kind !== 'sip') return;
      const packet = writeHep(entry, callIdOf(entry.head), opened.settings, call?.mask ?? recorder.settings.mask);
      if (opened.send(packet) || told === opened.standing.since) return;
      told = opened.standing.since;
      log.warn({}, 'the HEP collector is too slow; messages are dropped');
    });
  };
  const change = async (next: HepSettings): Promise<void> => {
    try {
      const opened = await openWay(next);
      await leave();
      enter(opened);
      refused = undefined;
    } catch (error) {
      refused = { wanted: next, reason: (error as Error).message, since: clock.now() };
      throw new Error(`no socket to the HEP collector could be opened: ${refused.reason}`, { cause: error });
    }
  };
  enter(await openWay(first));
  scope.defer(async () => {
    await changing;
    await leave();
  });
  return {
    take(next) {
      if (isDeepStrictEqual(next, asked)) return changed;
      asked = next;
      // Changes run one after another. Without a socket the previous settings stay, and a repeated request tries again.
      changed = changing.then(() => change(next));
      changing = changed.catch(() => {
        if (asked === next) asked = undefined;
      });
      return changed;
    },
    standing() {
      const settings = way?.settings ?? refused?.wanted;
      if (!settings) return undefined;
      const { address, port, transport } = settings;
      const { since, ...told }: Standing = way?.standing ?? {
        ...{ state: 'lost', since: refused?.since ?? clock.now(), reason: refused?.reason ?? '' },
      };
      return {
        ...{ address, port, transport, ...told },
        since: formatTimestamp(since),
        left_out: leftBefore + (way?.left ?? 0),
        ...(way && refused && { refused: refused.reason }),
      };
    },
  };
}
