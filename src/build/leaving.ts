import type { HttpServer } from '../http/server.ts';
import { atMost } from '../lib/at-most.ts';
import { leaveAudioIn, takeAudioIn } from '../stores/left-audio.ts';
import type { MediaPlane, MediaRest } from '../telephony/media.ts';
import type { Base } from './base.ts';
import type { Network } from './network.ts';
import type { State } from './state.ts';

/**
 * How one process leaves its calls to another, and their audio. While the next one restores the calls, the threads of the one
 * before go on; it stands still but for them. Then it writes how far its audio came, and the next one goes on there.
 */

/** Of the time that leaving may take, in ms: until then the next process has restored the calls. */
const standingShare = 1_000;

/** Writes the state, and ends the audio when the next process is ready. */
export async function leaveAudio(
  base: Base,
  media: MediaPlane,
  { lingers, written }: { lingers: boolean; written: () => void },
): Promise<void> {
  const { supervised } = base.io;
  // Sockets of Node are read in the main thread, and only this process can have their ports.
  const stays = lingers && supervised && media.linger && media.halt && base.config.media.sockets !== 'dgram';
  if (stays) await media.linger!();
  written();
  if (!stays) return;
  supervised.standStill(base.config.supervisor.leave_timeout * standingShare, () => {
    const rest = media.halt!();
    try {
      leaveAudioIn(base.config.general.data_directory, rest);
      return true;
    } catch (error) {
      base.log.error({ error }, 'cannot write the end of the audio: RTP numbers will skip some packets');
      return false;
    }
  });
}

/** Leaves the calls to another process: see `RunningServer`. */
export function leavingOf(
  base: Base,
  {
    network,
    state,
    http,
    keeping,
  }: {
    network: Network;
    state: State;
    http: Pick<HttpServer, 'leave' | 'cut'>;
    keeping: { handOver(): void } | undefined;
  },
): {
  leave(graceMs: number, lingers?: boolean): Promise<void>;
  moveCalls(graceMs: number): Promise<void>;
} {
  /** @returns what writes the state, and cuts the connections */
  const leaveConnections = async (graceMs: number): Promise<() => void> => {
    if (!keeping) throw new Error('there is no state store (state_store.on)');
    await Promise.all([http.leave(graceMs), atMost(base.clock, graceMs, network.connections.leave())]);
    return () => {
      keeping.handOver();
      // Nobody has to wait until the process ends for what only it has the keys of.
      for (const connections of [http, network.connections]) connections.cut();
    };
  };
  return {
    async leave(graceMs, lingers = false) {
      const written = await leaveConnections(graceMs);
      await leaveAudio(base, network.media, { lingers, written });
    },
    async moveCalls(graceMs) {
      if (!state.cluster) throw new Error('this server is no node of a cluster');
      const written = await leaveConnections(graceMs);
      await network.media.linger?.();
      written();
      await state.cluster.moveCalls(graceMs);
    },
  };
}

/** Waits for the end of the audio in the process before, and goes on with it. */
export async function goOnWithAudio(base: Base, media: MediaPlane): Promise<void> {
  const { supervised } = base.io;
  if (!supervised?.media.follows) return;
  await media.prepared?.();
  const { isWhole } = await supervised.restored();
  const { log, config } = base;
  let rest: MediaRest | undefined;
  try {
    // Without it, numbers of RTP are far enough behind those of the process before.
    if (isWhole) rest = takeAudioIn(config.general.data_directory) as MediaRest;
  } catch (error) {
    log.warn({ error }, 'the end of the audio before cannot be read: RTP numbers skip some packets');
  }
  try {
    media.goOn?.(rest);
  } catch (error) {
    log.warn({ error }, 'the end of the audio before makes no sense: what it says last is lost');
  }
}
