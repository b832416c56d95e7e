/** The media plane of the video benchmark, in a process of its own: opens sessions and reports their ports. */
import { systemClock } from '../src/lib/clock.ts';
import type { Logger } from '../src/lib/log.ts';
import { defaultMediaConfig, type MediaConfig } from '../src/media/config.ts';
import { createMediaPlane } from '../src/media/media-plane.ts';
import type { RtpSession } from '../src/telephony/media.ts';

/** Task: bridges of that size, with far sides at these ports. */
export type VideoTask = { ports: number[]; group: number; threads: number; sockets: MediaConfig['sockets'] };

const address = '127.0.0.1';
const say = (fields: object, message: string) => console.log(message, fields);
const log: Logger = {
  ...{
    trace: () => {},
    debug: () => {},
    info: () => {},
    warn: say,
    error: say,
    child: () => log,
    enabled: () => false,
  },
};

async function open({ ports, group, threads, sockets }: VideoTask): Promise<number[]> {
  const config = { ...defaultMediaConfig, address, ports: { first: 0, last: 0 }, threads, sockets };
  const plane = createMediaPlane({ config, clock: systemClock, log });
  const cameras: number[] = [];
  for (let first = 0; first < ports.length; first += group) {
    const mix = plane.openMix(`m${first}`, 'mixing', () => {});
    const sessions: RtpSession[] = [];
    mix.video({ mode: 'sfu' });
    for (const [index, port] of ports.slice(first, first + group).entries()) {
      const session = await plane.openRtp(`c${first + index}`, () => {}, sessions[0]?.id);
      for (let stream = 0; stream < group - 1; stream++) {
        const local = await session.openVideo(stream);
        if (stream === 0) cameras.push(local.port);
        session.configureVideo(stream, {
          ...{ remote: { address, port }, codec: 'vp8', payloadType: 96, send: true, receive: stream === 0 },
          feedback: { nack: true, pli: true, fir: true, tmmbr: false, remb: false },
        });
      }
      mix.join(session, { role: 'participant', muted: false, passDigits: false });
      sessions.push(session);
    }
    for (const session of sessions)
      mix.show(
        session,
        sessions.filter((other) => other !== session),
      );
  }
  await plane.usage();
  return cameras;
}

process.on('message', (task: VideoTask) => void open(task).then((ports) => process.send?.(ports)));
process.on('disconnect', () => process.exit(0));
