import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Scope } from '../lib/scope.ts';
import { writeHep } from '../recorder/hep.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { callIdOf } from '../recorder/sip-text.ts';
import { openOutflow } from '../sip/transport/outflow.ts';
import { type OpenUdp, openUdpSocket } from '../sip/transport/udp.ts';

type HepSettings = Config['recorder']['hep'];

/** Where packets go: a collector, by one of two ways. */
type Way = {
  /** False when it is left out. */
  send(packet: Buffer): boolean;
  readonly left: number;
  close(): void | Promise<void>;
};

export type HomerOptions = {
  recorder: Recorder;
  clock: Clock;
  log: Logger;
  scope: Scope;
  open?: OpenUdp | undefined;
};

/** Packets that may be on their way to the system over UDP; beyond it they are left out. */
const mostOnTheirWay = 1_000;

async function openDatagrams({ address, port }: HepSettings, log: Logger, open: OpenUdp): Promise<Way> {
  const socket = await open({
    listen: { protocol: 'udp', host: address.includes(':') ? '::' : '0.0.0.0', port: 0 },
    onDatagram: () => {},
    onError: (error) => log.warn({ error }, 'the socket to the HEP collector reported an error'),
  });
  let onTheirWay = 0;
  let left = 0;
  let complained = false;
  return {
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

function openStream({ address, port, queue }: HepSettings, clock: Clock, log: Logger): Way {
  let isLost = false;
  return openOutflow({
    ...{ address, port, queue, clock },
    told(news) {
      if (news.type === 'connected') log.info({ address, port }, 'connected to the HEP collector');
      else if (!isLost) log.warn({ address, port, reason: news.reason }, 'the HEP collector is not connected');
      isLost = news.type === 'lost';
    },
  });
}

/**
 * Sends every SIP message to a collector of HEP3 packets, over UDP or TCP; nothing happens where none is configured. What
 * cannot be sent is counted, and told when the collector is left: nothing waits for it.
 * @returns what takes up other settings. @throws ListenError (rejects) when no socket can be had.
 */
export async function buildHomer(
  first: HepSettings,
  { recorder, clock, log, scope, open = openUdpSocket }: HomerOptions,
): Promise<(next: HepSettings) => void> {
  let settings = first;
  let way: Way | undefined;
  let complained = false;
  let unlisten: (() => void) | undefined;
  let changing: Promise<void> = Promise.resolve();

  const leave = async (): Promise<void> => {
    unlisten?.();
    unlisten = undefined;
    const gone = way;
    way = undefined;
    await gone?.close();
    if (gone && gone.left > 0) log.warn({ messages: gone.left }, 'messages were not sent to the HEP collector');
  };
  const openWay = async (wanted: HepSettings): Promise<Way | undefined> => {
    if (wanted.address === '') return undefined;
    return wanted.transport === 'tcp' ? openStream(wanted, clock, log) : openDatagrams(wanted, log, open);
  };
  const enter = (opened: Way | undefined): void => {
    if (!opened) return;
    way = opened;
    complained = false;
    unlisten = recorder.listen((entry, call) => {
      if (entry?.kind !== 'sip') return;
      const packet = writeHep(entry, callIdOf(entry.head), settings, call?.mask ?? recorder.settings.mask);
      if (way?.send(packet) !== false || complained) return;
      complained = true;
      log.warn({}, 'the HEP collector is not reached fast enough; some messages are left out');
    });
  };
  enter(await openWay(settings));
  scope.defer(async () => {
    await changing;
    await leave();
  });
  return (next) => {
    if (isDeepStrictEqual(next, settings)) return;
    // One change after the other; where no socket is to be had, what was before stays.
    const change = async (): Promise<void> => {
      const opened = await openWay(next);
      await leave();
      settings = next;
      enter(opened);
    };
    changing = changing
      .then(change)
      .catch((error: unknown) =>
        log.error({ error }, 'no socket to the HEP collector can be had: the one before stays'),
      );
  };
}
