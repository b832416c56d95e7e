import type { Config } from '../config/schema.ts';
import type { Logger } from '../lib/log.ts';
import type { Scope } from '../lib/scope.ts';
import { writeHep } from '../recorder/hep.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { callIdOf } from '../recorder/sip-text.ts';
import { type OpenUdp, openUdpSocket } from '../sip/transport/udp.ts';

/** Packets that may be on their way to the system; beyond it they are left out, counted, and told when it stops. */
const mostOnTheirWay = 1_000;

/**
 * Sends every SIP message to a collector of HEP3 packets, over UDP; nothing happens where none is configured. What cannot
 * be sent is counted: nothing waits for the collector. @throws ListenError (rejects) when no socket can be had.
 */
export async function buildHomer(
  { recorder: { hep } }: Config,
  recorder: Recorder | undefined,
  log: Logger,
  scope: Scope,
  open: OpenUdp = openUdpSocket,
): Promise<void> {
  if (hep.address === '' || !recorder) return;
  const socket = await open({
    listen: { protocol: 'udp', host: hep.address.includes(':') ? '::' : '0.0.0.0', port: 0 },
    onDatagram: () => {},
    onError: (error) => log.warn({ error }, 'the socket to the HEP collector reported an error'),
  });
  let onTheirWay = 0;
  let left = 0;
  const unlisten = recorder.listen((entry, call) => {
    if (entry?.kind !== 'sip') return;
    if (onTheirWay >= mostOnTheirWay) {
      if (++left === 1) log.warn({}, 'the HEP collector is not reached fast enough; some messages are left out');
      return;
    }
    onTheirWay++;
    const packet = writeHep(entry, callIdOf(entry.head), hep, call?.mask ?? recorder.settings.mask);
    socket.send(packet, hep.address, hep.port, (error) => {
      onTheirWay--;
      if (error && ++left === 1) log.warn({ error }, 'a message could not be sent to the HEP collector');
    });
  });
  scope.defer(async () => {
    unlisten();
    if (left > 0) log.warn({ messages: left }, 'messages were not sent to the HEP collector');
    await socket.close();
  });
}
